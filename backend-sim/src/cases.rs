//! One committed kernel with its launch, in the text form: what the speed of the simulator is measured on, and what its
//! tests compare with the published decode tables. The kernel that users run is written in the kernel language (`kernels`).

use crate::engine::{EventSet, Wheel};
use crate::machine::Machine;
use crate::timing::{Limits, Operand, Timing, User, time_with};
use crate::units::Ps;
use tilewright_core::diag::Diagnostics;
use tilewright_core::elem::ElemType;
use tilewright_core::ir::text::parse;
use tilewright_core::ir::{Literal, Module};
use tilewright_core::launch::{Grid, LaunchConfig};
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;

/// Rows of queries per KV head, length of a head, KV heads, tokens of a tile.
const ROWS: usize = 8;
const HEAD: usize = 64;
const KV_HEADS: usize = 8;
const TILE: usize = 1024;
const FILE: &str = "decode.tir";

/// Short-context GQA decode (LANGUAGE.md 7) with `kv_per_cube` KV heads in each cube, and the tensors' shapes.
#[derive(Debug)]
pub struct Decode {
    module: Module,
    tensors: [AnyTensor; 4],
    /// Cubes of one user.
    pub cubes: usize,
    tiles: i32,
}

impl Decode {
    /// `kv_per_cube` divides 8; each PE of a group of `8 / kv_per_cube` has the same number of whole tiles of the `s_kv`
    /// tokens.
    ///
    /// # Errors
    /// The text of the kernel does not parse.
    pub fn new(kv_per_cube: usize, s_kv: usize) -> Result<Decode, Diagnostics> {
        let group = KV_HEADS / kv_per_cube;
        let module = {
            let text = text(group);
            parse(&text, FILE).map_err(|fault| Diagnostics::from(fault.diagnostic(&text, FILE)))?
        };
        let cubes = KV_HEADS / kv_per_cube;
        let heads = Placement::over_cubes(0, cubes);
        let tokens = heads.clone().over_pes(&[(0, kv_per_cube), (1, group)]);
        let tensor = |len: usize, placement: Placement| AnyTensor {
            elem: ElemType::F16,
            dims: vec![KV_HEADS, len, HEAD],
            data: None,
            placement,
        };
        let tensors =
            [tensor(ROWS, heads.clone()), tensor(s_kv, tokens.clone()), tensor(s_kv, tokens), tensor(ROWS, heads)];
        Ok(Decode { module, tensors, cubes, tiles: (s_kv / group / TILE) as i32 })
    }
    /// A user from cube `first_cube` on.
    pub fn user(&self, first_cube: usize, start: Ps) -> User<'_> {
        let views = self.tensors.iter().map(Operand::View);
        let args = views.chain([Operand::Scalar(Literal::from(self.tiles))]).collect();
        let config = LaunchConfig { grid: Grid::cubes(self.cubes).pes(8), ..LaunchConfig::default() };
        User { module: &self.module, args, config, first_cube, start, trace: None }
    }
    /// So many users side by side on one machine.
    ///
    /// # Errors
    /// As `timing::time`.
    pub fn time<Q: EventSet>(&self, machine: &Machine, users: usize) -> Result<Timing, Diagnostics> {
        let starts = machine.user_starts(users, self.cubes);
        let users: Vec<User<'_>> = (0..).zip(starts).map(|(u, start)| self.user(u * self.cubes, start)).collect();
        time_with::<Q>(machine, &users, Limits::default())
    }
    /// Bytes of K and V that the kernel reads.
    pub fn kv_bytes(&self) -> u64 {
        self.tensors[1..3].iter().map(|t| t.len() as u64 * t.elem.bytes()).sum()
    }
}

/// The case that `tilewright bench sim` times: 64 PEs, 64 Ki tokens of 8 KV heads.
///
/// # Errors
/// As `timing::time`.
pub fn bench_case(machine: &Machine) -> Result<BenchRun, Diagnostics> {
    let decode = Decode::new(1, 65536)?;
    let timing = decode.time::<Wheel>(machine, 1)?;
    Ok(BenchRun { events: timing.events, kv_bytes: decode.kv_bytes(), hash: timing.event_hash })
}

/// What a run of the bench case did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BenchRun {
    pub events: u64,
    pub kv_bytes: u64,
    pub hash: u64,
}

/// The kernel for groups of so many PEs.
fn text(group: usize) -> String {
    let (per_cube, cols) = (KV_HEADS / group, group.min(4));
    let mut t = Text { out: String::new(), depth: 0 };
    t.line("kernel @gqa_decode(%q: view<?x8x64xf16>, %k: view<?x?x64xf16>, %v: view<?x?x64xf16>, %o: view_mut<?x8x64xf16>, %tiles: i32) {");
    t.depth = 1;
    t.line("%cube = cube_id : i32");
    t.line("%pe = pe_id : i32");
    t.line(&format!("%head.a = mul %cube, {per_cube} : i32"));
    t.line(&format!("%head.b = div %pe, {group} : i32"));
    t.line("%head = add %head.a, %head.b : i32");
    t.line(&format!("%rank = rem %pe, {group} : i32"));
    t.line("%first.a = mul %rank, %tiles : i32");
    t.line(&format!("%first = mul %first.a, {TILE} : i32"));
    t.line("%query = load %q[%head, 0, 0] : tile<8x64xf16>");
    t.tile("%first", "0");
    t.line("%sum.m, %sum.l, %sum.o = for %t in 1..%tiles carry (%run.m = %m0, %run.l = %l0, %run.o = %o0) {");
    t.depth = 2;
    t.line(&format!("%at.a = mul %t, {TILE} : i32"));
    t.line("%at = add %first, %at.a : i32");
    t.tile("%at", "1");
    t.merge("run", ("%m1", "%l1", "%o1"), "new");
    t.line("yield %new.m, %new.l, %new.o");
    t.depth = 1;
    t.line("}");
    t.line(&format!("%col = rem %rank, {cols} : i32"));
    t.line(&format!("%row = div %rank, {cols} : i32"));
    let mut sum = "sum".to_string();
    if cols > 1 {
        sum = t.reduce("col", cols, &sum, "east", "west");
    }
    if group > cols {
        t.line("%top = cmp eq %col, 0:i32 : i1");
        t.line("%all.m, %all.l, %all.o = if %top {");
        t.depth += 1;
        let inner = t.reduce("row", group / cols, &sum, "south", "north");
        t.line(&format!("yield %{inner}.m, %{inner}.l, %{inner}.o"));
        t.otherwise(&sum);
        sum = "all".to_string();
    }
    t.line("%root = cmp eq %rank, 0:i32 : i1");
    t.line("if %root {");
    t.depth += 1;
    t.line(&format!("%wide = broadcast %{sum}.l axis 1 : tile<8x64xf16>"));
    t.line(&format!("%normal = div %{sum}.o, %wide : tile<8x64xf16>"));
    t.line("store %o[%head, 0, 0], %normal");
    t.depth -= 1;
    t.line("}");
    t.depth = 0;
    t.line("}");
    t.out
}

struct Text {
    out: String,
    depth: usize,
}

impl Text {
    fn line(&mut self, line: &str) {
        (0..self.depth).for_each(|_| self.out.push_str("  "));
        self.out.push_str(line);
        self.out.push('\n');
    }
    /// Loads a tile of K and V; `%m`, `%l`, `%o` with the mark are its softmax partial.
    fn tile(&mut self, at: &str, mark: &str) {
        for line in [
            format!("%k{mark} = load %k[%head, {at}, 0] : tile<1024x64xf16>"),
            format!("%v{mark} = load %v[%head, {at}, 0] : tile<1024x64xf16>"),
            format!("%kt{mark} = trans %k{mark} : tile<64x1024xf16>"),
            format!("%s{mark} = dot %query, %kt{mark} : tile<8x1024xf16>"),
            format!("%m{mark} = reduce_max %s{mark} axis 1 : tile<8xf16>"),
            format!("%mw{mark} = broadcast %m{mark} axis 1 : tile<8x1024xf16>"),
            format!("%d{mark} = sub %s{mark}, %mw{mark} : tile<8x1024xf16>"),
            format!("%p{mark} = exp %d{mark} : tile<8x1024xf16>"),
            format!("%l{mark} = reduce_sum %p{mark} axis 1 : tile<8xf16>"),
            format!("%o{mark} = dot %p{mark}, %v{mark} : tile<8x64xf16>"),
        ] {
            self.line(&line);
        }
    }
    /// Merges two partials.
    fn merge(&mut self, a: &str, (m, l, o): (&str, &str, &str), to: &str) {
        for line in [
            format!("%{to}.m = maximum %{a}.m, {m} : tile<8xf16>"),
            format!("%{to}.da = sub %{a}.m, %{to}.m : tile<8xf16>"),
            format!("%{to}.a = exp %{to}.da : tile<8xf16>"),
            format!("%{to}.db = sub {m}, %{to}.m : tile<8xf16>"),
            format!("%{to}.b = exp %{to}.db : tile<8xf16>"),
            format!("%{to}.la = mul %{a}.l, %{to}.a : tile<8xf16>"),
            format!("%{to}.lb = mul {l}, %{to}.b : tile<8xf16>"),
            format!("%{to}.l = add %{to}.la, %{to}.lb : tile<8xf16>"),
            format!("%{to}.aw = broadcast %{to}.a axis 1 : tile<8x64xf16>"),
            format!("%{to}.oa = mul %{a}.o, %{to}.aw : tile<8x64xf16>"),
            format!("%{to}.bw = broadcast %{to}.b axis 1 : tile<8x64xf16>"),
            format!("%{to}.ob = mul {o}, %{to}.bw : tile<8x64xf16>"),
            format!("%{to}.o = add %{to}.oa, %{to}.ob : tile<8x64xf16>"),
        ] {
            self.line(&line);
        }
    }
    /// One chain along `pos`: receives from the larger position, sends to the smaller. Returns the sum's name.
    fn reduce(&mut self, pos: &str, len: usize, sum: &str, larger: &str, smaller: &str) -> String {
        let to = format!("{pos}.sum");
        self.line(&format!("%{pos}.inner = cmp lt %{pos}, {}:i32 : i1", len - 1));
        self.line(&format!("%{to}.m, %{to}.l, %{to}.o = if %{pos}.inner {{"));
        self.depth += 1;
        for (part, ty) in [("m", "tile<8xf16>"), ("l", "tile<8xf16>"), ("o", "tile<8x64xf16>")] {
            self.line(&format!("%{pos}.in.{part} = recv pe.{larger} : {ty}"));
        }
        let from = ["m", "l", "o"].map(|part| format!("%{pos}.in.{part}"));
        self.merge(sum, (&from[0], &from[1], &from[2]), &format!("{pos}.new"));
        self.line(&format!("yield %{pos}.new.m, %{pos}.new.l, %{pos}.new.o"));
        self.otherwise(sum);
        self.line(&format!("%{pos}.outer = cmp gt %{pos}, 0:i32 : i1"));
        self.line(&format!("if %{pos}.outer {{"));
        self.depth += 1;
        for part in ["m", "l", "o"] {
            self.line(&format!("send pe.{smaller}, %{to}.{part}"));
        }
        self.depth -= 1;
        self.line("}");
        to
    }
    /// The other arm of an `if`, which hands a partial on as it is.
    fn otherwise(&mut self, sum: &str) {
        self.depth -= 1;
        self.line("} else {");
        self.depth += 1;
        self.line(&format!("yield %{sum}.m, %{sum}.l, %{sum}.o"));
        self.depth -= 1;
        self.line("}");
    }
}
