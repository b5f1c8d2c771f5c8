//! What commands cost, as sums: small kernels whose wall can be added up by hand from the constants of AHBM.md.
//! A wall begins when the first load or store is issued, and ends with the last record.

use std::sync::Arc;
use tilewright_core::data::Data;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::text::read;
use tilewright_core::ir::{Literal, Module};
use tilewright_core::launch::{Arg, Backend, Grid, LaunchConfig, Ready};
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;
use tilewright_sim::engine::{Class, Engine};
use tilewright_sim::machine::Machine;
use tilewright_sim::timing::{Limits, Operand, SimBackend, Timing, User, time};
use tilewright_sim::units::Ps;

fn module(body: &str) -> Module {
    let text = format!("kernel @k(%x: view<?x?xf16>, %y: view_mut<?x?xf16>, %n: i32) {{\n{body}\n}}\n");
    read(&text, "k.tir").unwrap_or_else(|e| panic!("{e}\n{text}"))
}
/// Views of 4096 x 4096 in PE 0 of cube 0; `%n` is 3.
fn run(grid: Grid, body: &str) -> Timing {
    run_on(&Machine::ahbm(), grid, body)
}
fn run_on(machine: &Machine, grid: Grid, body: &str) -> Timing {
    let module = module(body);
    let tensor = AnyTensor::new(ElemType::F16, vec![4096, 4096], None, Placement::at(0, 0));
    let user = User {
        module: &module,
        args: vec![Operand::View(&tensor), Operand::View(&tensor), Operand::Scalar(Literal::from(3i32))],
        config: LaunchConfig { grid, ..LaunchConfig::default() },
        first_cube: 0,
        start: Ps::ZERO,
        trace: None,
    };
    time(machine, &[user], Limits::default()).unwrap_or_else(|e| panic!("{e}\n{body}"))
}

const ONE: Grid = Grid::cubes(1);
/// A tile of 8192 B, two flits of 16 ns each at the port.
const TILE: &str = "tile<64x64xf16>";

/// A tile in two flits, and 13 ns behind the last.
const LOAD: f64 = 2.0 * 16.0 + 13.0;
const OVERHEAD: f64 = 1.11;

#[test]
fn commands_add_up() {
    let load = format!("%a = load %x[0, 0] : {TILE}");
    let rows = [
        // A keep waits for its operand.
        (format!("{load} keep %a"), LOAD),
        (format!("%s = splat 0.5 : {TILE} store %y[0, 0], %s"), 2.0 * 16.0 + 13.0),
        // The second load is issued at 9, and served behind the first.
        (format!("{load} %b = load %x[64, 0] : {TILE} keep %b"), 4.0 * 16.0 + 13.0),
        // One element moves 64 B: not less than 4.25 ns at the port.
        ("%s = load %x[0, 0] : f16 keep %s".into(), 4.25 + 13.0),
        // Issue after the operand's arrival; 2 * 64 * 64 * 64 / 8000.
        (format!("{load} %d = dot %a, %a : {TILE} keep %d"), LOAD + 10.0 + 65.536),
        (format!("{load} %t = trans %a : {TILE} %d = dot %a, %t : {TILE} keep %d"), LOAD + 10.0 + 65.536),
        // 4096 elements at 256 a ns; the overhead of a command is behind its record.
        (format!("{load} %e = exp %a : {TILE} keep %e"), LOAD + 9.0 + 16.0),
        (
            format!("{load} %e = exp %a : {TILE} %b = add %e, %a : {TILE} keep %b"),
            LOAD + 9.0 + 16.0 + OVERHEAD + 10.0 + 16.0,
        ),
        (format!("{load} %m = reduce_max %a axis 1 : tile<64xf16> keep %m"), LOAD + 10.0),
        // A transposed tile that no dot takes is a copy.
        (
            format!("{load} %t = trans %a : {TILE} %b = add %t, %a : {TILE} keep %b"),
            LOAD + 10.0 + 16.0 + OVERHEAD + 26.0,
        ),
        // Broadcast, reshape, and a cast to the same type cost nothing.
        (format!("{load} %r = reshape %a : tile<32x128xf16> %c = cast %r : tile<32x128xf16> keep %c"), LOAD),
        // What memory does not hold is not moved: 8 columns.
        ("%a = load %x[0, 4088] limit 0: 32 else 0.0 : tile<64x64xf16> keep %a".into(), 4.25 + 13.0),
    ];
    for (body, ns) in rows {
        assert_eq!(run(ONE, &body).wall, Ps((ns * 1e3).round() as u64), "{body}");
    }
}

#[test]
fn a_loop_copies_what_an_engine_made_and_names_the_rest() {
    let carried = |next: &str| {
        format!(
            "%a = load %x[0, 0] : {TILE}
             %end = for %t in 0..1 carry (%run = %a) {{ {next} yield %next }}
             keep %end"
        )
    };
    let made = run(ONE, &carried(&format!("%next = add %run, %a : {TILE}")));
    assert_eq!(made.commands.get("copy"), Some(&1));
    assert_eq!(made.wall.as_ns(), LOAD + 26.0 + OVERHEAD + 26.0);
    for named in [
        format!("%next = load %x[64, 0] : {TILE}"),
        format!(
            "%in = add %run, %a : {TILE} %yes = cmp eq %t, 0:i32 : i1 %next = if %yes {{ yield %run }} else {{ yield %a }}"
        ),
        format!("%t1 = load %x[64, 0] : {TILE} %next = reshape %t1 : {TILE}"),
    ] {
        assert_eq!(run(ONE, &carried(&named)).commands.get("copy"), None, "{named}");
    }
    let two = format!("%u = add %run, %a : {TILE} %next = reshape %u : {TILE}");
    assert_eq!(run(ONE, &carried(&two)).commands.get("copy"), Some(&1)); // seen through a name
}

/// One program loads a tile and sends it, another receives it.
/// No turn of the loop reads the number that it hands on.
#[test]
fn what_a_loop_only_hands_on_decides_how_much_comes_after_it() {
    for before in [
        "%e = for %j in 0..4 carry (%c = 7:i32) {\nyield %n\n}",
        "%e = for %j in 4..4 carry (%c = %n) {\nyield 7:i32\n}",
        "%go, %e = while carry (%g = true, %c = 7:i32) {\nwhile %g\nyield false, %n\n}",
    ] {
        let after = format!("%s = splat 0.5 : {TILE}\nfor %i in 0..%e {{\nstore %y[%i, 0], %s\n}}");
        let stores = run(ONE, &format!("{before}\n{after}")).commands.get("store").copied();
        assert_eq!(stores, Some(3), "{before}");
    }
}

fn message(grid: Grid, me: &str, to: &str, from: &str, receiver: u32) -> Timing {
    run(
        grid,
        &format!(
            "%me = {me} : i32
             %sends = cmp eq %me, 0:i32 : i1
             %takes = cmp eq %me, {receiver}:i32 : i1
             if %sends {{ %a = load %x[0, 0] : {TILE} send {to}, %a }}
             if %takes {{ %b = recv {from} : {TILE} keep %b }}"
        ),
    )
}
#[test]
fn messages_add_up() {
    // Operand, issue, setup; then flit by flit through the sender's port and the receiver's.
    let start = LOAD + 10.0 + 10.0;
    let near = message(ONE.pes(8), "pe_id", "pe.east", "pe.west", 1);
    assert_eq!(near.wall.as_ns(), start + 2.0 * (16.0 + 2.4 + 16.0));
    let cube = message(Grid::cubes(8), "cube_id", "cube.south", "cube.north", 4);
    assert_eq!(cube.wall.as_ns(), start + 2.0 * (16.0 + 2.4 + 32.0 + 2.4) + 20.0);
    let sip = message(Grid::cubes(1).sips(2), "cube_id", "sip.east", "sip.west", 1);
    assert_eq!(sip.wall, Ps((start * 1e3) as u64 + 2 * (18_400 + 81_920 + 2_400) + 1_000_000));
    // PE 0 to PE 6: two hops along the row, one along the column, each a message of its own.
    let far = message(ONE.pes(8), "pe_id", "peer.6", "peer.0", 6);
    assert_eq!(far.wall.as_ns(), start + 3.0 * 2.0 * (16.0 + 2.4 + 16.0) + 2.0 * 10.0);
    assert_eq!(far.sums.ipcq_bytes, 3 * 8192);
}

/// The same load by PEs near and far, alone.
fn loaded_by(grid: Grid, me: &str, who: u32) -> f64 {
    let body = format!(
        "%me = {me} : i32
         %mine = cmp eq %me, {who}:i32 : i1
         if %mine {{ %a = load %x[0, 0] : {TILE} keep %a }}"
    );
    run(grid, &body).wall.as_ns()
}
#[test]
fn distance_adds_to_a_read() {
    assert_eq!(loaded_by(ONE.pes(8), "pe_id", 0), LOAD);
    assert_eq!(loaded_by(ONE.pes(8), "pe_id", 7), LOAD + 4.0 * 20.0); // a row down, three columns
    // Another cube: 16 ns to the egress, two flits of 32 ns through it.
    assert_eq!(loaded_by(Grid::cubes(2), "cube_id", 1), 16.0 + 2.0 * 32.0 + 13.0 + 60.0);
}

#[test]
fn a_barrier_waits_for_the_slowest_and_for_what_it_stored() {
    let t = run(
        ONE.pes(2),
        &format!(
            "%p = pe_id : i32
             %first = cmp eq %p, 0:i32 : i1
             if %first {{ %s = splat 0.5 : {TILE} store %y[0, 0], %s }}
             barrier cube
             if %first {{ %a = load %x[0, 0] : {TILE} keep %a }}"
        ),
    );
    // The store ends at 45; issue of the barrier, a hop, issue of the load.
    assert_eq!(t.wall.as_ns(), 45.0 + 10.0 + 20.0 + 9.0 + LOAD);
}

#[test]
fn a_command_waits_for_scratch_that_a_message_still_drains() {
    let big = "tile<512x512xf16>";
    let body = format!(
        "%p = pe_id : i32
         %first = cmp eq %p, 0:i32 : i1
         if %first {{
           %a = load %x[0, 0] : {big} send pe.east, %a
           %b = load %x[512, 0] : {big} keep %b
           %c = load %x[0, 512] : {big} keep %c keep %b
         }} else {{
           %d = recv pe.west : {big} keep %d
         }}"
    );
    let t = run(ONE.pes(2), &body);
    assert!(t.pes[0].stalls.get(Engine::Dma, Class::WaitSpace) > Ps::ZERO);
    assert_eq!(t.pes[0].scratch_peak.0, 1 << 20);
    assert_eq!(t.pes[0].stalls.total(Engine::Dma), t.wall);
}

#[test]
fn a_slot_is_free_again_when_the_receiver_has_taken_the_message() {
    let depth = |queue_depth| {
        let body = format!(
            "%p = pe_id : i32
             %first = cmp eq %p, 0:i32 : i1
             %a = load %x[0, 0] : {TILE}
             if %first {{
               send pe.east, %a send pe.east, %a %e = exp %a : {TILE} keep %e
             }} else {{
               %d = dot %a, %a : {TILE} keep %d
               %b = recv pe.west : {TILE} %c = recv pe.west : {TILE} keep %b keep %c
             }}"
        );
        let module = module(&body);
        let tensor = AnyTensor::new(ElemType::F16, vec![4096, 4096], None, Placement::at(0, 0));
        let user = User {
            module: &module,
            args: vec![Operand::View(&tensor), Operand::View(&tensor), Operand::Scalar(Literal::from(3i32))],
            config: LaunchConfig { grid: ONE.pes(2), queue_depth, ..LaunchConfig::default() },
            first_cube: 0,
            start: Ps::ZERO,
            trace: None,
        };
        let t = time(&Machine::ahbm(), &[user], Limits::default()).unwrap_or_else(|e| panic!("{e}"));
        t.pes[0].stalls.get(Engine::Cpu, Class::WaitLink)
    };
    assert_eq!(depth(Some(2)), Ps::ZERO);
    assert!(depth(Some(1)) > Ps::ZERO);
}

/// A loop bound that only a run with values knows comes from its control trace.
#[test]
fn values_and_time_go_together_where_control_depends_on_data() {
    let body = "%p = pe_id : i32
                %first = cmp eq %p, 0:i32 : i1
                if %first {
                  %v = load %x[0, 2] : f16 %turns = cast %v : i32 send pe.east, %turns
                } else {
                  %turns.in = recv pe.west : i32
                  for %t in 0..%turns.in { %a = load %x[0, 0] : tile<4xf16> store %y[%t, 0], %a }
                }";
    let values: Vec<tilewright_core::half::f16> =
        (0..64).map(|i| tilewright_core::half::f16::from_f32((i % 8) as f32)).collect();
    let tensor = |data| AnyTensor::new(ElemType::F16, vec![8, 8], data, Placement::at(0, 0));
    let (x, mut y) = (tensor(Some(Data::F16(values))), tensor(Some(Data::zeros(ElemType::F16, 64))));
    let ready = Ready {
        module: Arc::new(module(body)),
        args: vec![Arg::View(&x), Arg::ViewMut(&mut y), Arg::Scalar(Literal::from(3i32))],
        config: LaunchConfig { grid: ONE.pes(2), ..LaunchConfig::default() },
    };
    let report = SimBackend::new(Machine::ahbm()).execute(ready).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(report.estimate.timing.commands.get("store"), Some(&2));
    let row = |r: usize| y.data.as_ref().unwrap().get(r * 8 + 3).as_float();
    assert_eq!([row(0), row(1), row(2)], [Some(3.0), Some(3.0), Some(0.0)]);
}

/// One query tile against 2048 tokens that are streamed, tile by tile, from PE 0 of cube 0. Walls and sums in ns are those
/// of the executable reading of AHBM.md.
#[test]
fn a_composite_streams_its_second_operand() {
    let scores = "%q = load %x[0, 0] : tile<8x128xf16>
                  %s = composite {
                    %k = load %x[0, 0] : tile<2048x128xf16> %kt = trans %k : tile<128x2048xf16>
                    %d = dot %q, %kt : tile<8x2048xf16> yield %d
                  }";
    let one_pe = run(
        ONE,
        &format!(
            "{scores}
             %m = reduce_max %s axis 1 : tile<8xf16> %mw = broadcast %m axis 1 : tile<8x2048xf16>
             %t = sub %s, %mw : tile<8x2048xf16> %p = exp %t : tile<8x2048xf16>
             %l = reduce_sum %p axis 1 : tile<8xf16>
             %o = composite {{
               %v = load %x[0, 128] : tile<2048x128xf16> %e = dot %p, %v : tile<8x128xf16> yield %e
             }}
             %lw = broadcast %l axis 1 : tile<8x128xf16> %n2 = div %o, %lw : tile<8x128xf16>
             store %y[0, 0], %n2"
        ),
    );
    let near = |got: Ps, want: f64| assert!((got.as_ns() / want - 1.0).abs() < 1e-6, "{got}, want {want}");
    near(one_pe.wall, 4830.002);
    near(one_pe.sums.gemm_tiles, 6616.48);
    near(one_pe.sums.dma_tiles, 267_438.72);
    assert_eq!(one_pe.sums.stream_bytes, 2 * 2048 * 128 * 2);
    // A PE of the same cube and one of another stream from the same slice at once.
    let two_cubes = run(
        Grid::cubes(2),
        &format!("{scores} %one = splat 0.5 : tile<8x2048xf16> %t = sub %s, %one : tile<8x2048xf16> keep %t"),
    );
    near(two_cubes.wall, 6501.034);
    near(two_cubes.sums.dma_tiles, 601_358.72);
}

/// Blocks of 32: eight of them, of 2 * 32^3 / 8000 ns each. Before each, both operands' parts of 2 KiB are loaded, and nobody
/// waits for them; the dot itself waits for the whole operand.
#[test]
fn a_product_in_blocks_loads_the_parts_of_what_was_loaded_again() {
    let machine = Machine::load("ahbm", &["gemm.dot_block=32".into()]).unwrap_or_else(|e| panic!("{e}"));
    let body = format!("%a = load %x[0, 0] : {TILE} %t = trans %a : {TILE} %d = dot %a, %t : {TILE} keep %d");
    let t = run_on(&machine, ONE, &body);
    let dot = 10.0 + 8.192 + OVERHEAD;
    // The last part is issued two issues into the last block, and arrives after the last dot has ended.
    let ns = LOAD + dot + 6.0 * (9.0 + 9.0 + dot) + 9.0 + 9.0 + 8.0 + 13.0;
    assert_eq!(t.wall, Ps((ns * 1e3_f64).round() as u64));
    assert_eq!((t.commands["load"], t.commands["dot"]), (1 + 2 * 8, 8));
    assert_eq!(t.sums.read_bytes, 8192 + 2 * 8 * 2048);
    // What was computed is on chip; what does not fill a block is a smaller one: 64 = 48 + 16 along every side.
    let machine = Machine::load("ahbm", &["gemm.dot_block=48".into()]).unwrap_or_else(|e| panic!("{e}"));
    let body = format!("%a = load %x[0, 0] : {TILE} %e = exp %a : {TILE} %d = dot %e, %a : {TILE} keep %d");
    let t = run_on(&machine, ONE, &body);
    assert_eq!((t.commands["load"], t.commands["dot"]), (1 + 8, 8));
    assert_eq!(t.sums.read_bytes, 2 * 8192 + 8192); // each part of the operand for both rows of blocks
    assert_eq!(t.sums.gemm, Ps(65536)); // 2 * 64^3 / 8000 ns, as in one piece
}

#[test]
fn a_composite_streams_from_the_place_that_is_computed_inside_it() {
    let composite = |inside: &str| {
        format!(
            "%q = load %x[0, 0] : tile<8x64xf16>
             %s = composite {{ {inside} %b = load %x[%at, 0] limit 0: %n else 0.0 : {TILE} %d = dot %q, %b : tile<8x64xf16> yield %d }}
             keep %s"
        )
    };
    let place = "%at = mul %n, 64 : i32";
    let outside = run(ONE, &format!("{place}\n{}", composite("")));
    let inside = run(ONE, &composite(place));
    assert_eq!((inside.wall, inside.sums), (outside.wall, outside.sums));
    assert!(inside.sums.stream_bytes > 0);
    // A limit that is computed inside counts as well: with 0 places nothing is streamed.
    let none = run(ONE, &composite("%at = mul %n, 64 : i32").replace("limit 0: %n", "limit 0: 0"));
    assert_eq!(none.sums.dma_tiles, Ps::ZERO);
}
