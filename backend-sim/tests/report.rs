//! The summary of a run, as text and as JSON.

use insta::assert_snapshot;
use tilewright_sim::cases::Decode;
use tilewright_sim::engine::{Class, Engine, Recorder, Stalls};
use tilewright_sim::machine::{FieldSet, Machine, field};
use tilewright_sim::report::{Fidelity, Provenance, Summary};
use tilewright_sim::units::Ps;

/// Two PEs over 300 ns: one loads for 100 ns and multiplies for 200, the other loads for 150 ns and is done.
fn stalls() -> Vec<Stalls> {
    let mut r = Recorder::new(1);
    for (pe, load, end) in [(0, 100, 300), (1, 150, 150)] {
        let ns = Ps::from_ns;
        r.add_pe(0);
        r.open(pe, Ps::ZERO);
        r.begin(pe, Engine::Dma, Ps::ZERO);
        r.cpu(pe, Class::WaitHbm, Ps::ZERO);
        r.end(pe, Engine::Dma, ns(load));
        r.begin(pe, Engine::Gemm, ns(load));
        r.cpu(pe, Class::WaitInput, ns(load));
        r.log(pe, Ps::ZERO, ns(end));
        r.end(pe, Engine::Gemm, ns(end));
        r.cpu(pe, Class::Idle, ns(end));
    }
    r.stalls(Ps::from_ns(300))
}

fn summary(machine: &Machine) -> Summary {
    let mut used = FieldSet::default();
    used.extend([field::cpu::load, field::cpu::dot, field::cpu::select]);
    let provenance = Provenance::of(machine, &used, Fidelity::Events, Some(7), 0x0123_4567_89ab_cdef);
    Summary::of(Ps::from_ns(300), &stalls(), provenance)
}

/// The machine's hash moves with every constant; what it guards has tests of its own.
fn without_hash(text: &str, machine: &Machine) -> String {
    text.replace(&format!("{:016x}", machine.hash()), "HASH")
}

#[test]
fn a_summary_shows_every_engine_and_what_the_numbers_rest_on() {
    let ahbm = Machine::ahbm();
    assert_snapshot!(without_hash(&summary(&ahbm).to_string(), &ahbm), @r"
    0.300 us on 2 PEs*
    % of time  busy  wait-input  wait-space  wait-hbm  wait-link  wait-issue  idle  busy us: min  median    max  imbalance
    cpu         0.0        33.3         0.0      41.7        0.0         0.0  25.0         0.000   0.000  0.000      0.0 %
    dma        41.7        33.3         0.0       0.0        0.0         0.0  25.0         0.100   0.100  0.150     20.0 %
    ipcq        0.0        33.3         0.0      41.7        0.0         0.0  25.0         0.000   0.000  0.000      0.0 %
    gemm       33.3         0.0         0.0      41.7        0.0         0.0  25.0         0.000   0.000  0.200    100.0 %
    math        0.0        33.3         0.0      41.7        0.0         0.0  25.0         0.000   0.000  0.000      0.0 %
    sim, machine AHBM (HASH), fidelity events, seed 7, event hash 0123456789abcdef; model, not validated on hardware
    * assumed, never measured or published: cpu.select
    ");
}

#[test]
fn values_that_the_user_set_stand_beside_the_result() {
    let sets = ["hbm.slice_rate=512 GB/s".to_owned(), "cpu.select=3 cycles".to_owned()];
    let machine = Machine::load("ahbm", &sets).unwrap();
    let text = without_hash(&summary(&machine).provenance.to_string(), &machine);
    assert_snapshot!(text, @r"
    sim, machine AHBM (HASH), fidelity events, seed 7, event hash 0123456789abcdef; model, not validated on hardware
    set: cpu.select = 3 cycles, hbm.slice_rate = 512 GB/s
    ");
}

#[test]
fn json_has_the_same_rows_with_times_in_picoseconds() {
    let ahbm = Machine::ahbm();
    let json = serde_json::to_value(summary(&ahbm)).unwrap();
    assert_eq!(json["wall_ps"], 300_000);
    assert_snapshot!(json["engines"][1], @r#"{"engine":"dma","classes":[{"class":"busy","time_ps":250000,"percent":41.7},{"class":"wait-input","time_ps":200000,"percent":33.3},{"class":"wait-space","time_ps":0,"percent":0.0},{"class":"wait-hbm","time_ps":0,"percent":0.0},{"class":"wait-link","time_ps":0,"percent":0.0},{"class":"wait-issue","time_ps":0,"percent":0.0},{"class":"idle","time_ps":150000,"percent":25.0}],"busy":{"min_ps":100000,"median_ps":100000,"max_ps":150000,"imbalance":0.19999999999999996}}"#);
    assert_snapshot!(without_hash(&json["provenance"].to_string(), &ahbm), @r#"{"backend":"sim","machine":"AHBM","machine_hash":"HASH","fidelity":"events","seed":7,"event_hash":"0123456789abcdef","note":"model, not validated on hardware","assumed":["cpu.select"],"set":[]}"#);
}

/// Short decode of 8192 tokens, one KV head a cube: the PEs wait for memory, and PE 0 merges most.
#[test]
fn the_summary_of_a_decode_run() {
    let ahbm = Machine::ahbm();
    let timing = Decode::new(8192).and_then(|d| d.time(&ahbm)).unwrap_or_else(|e| panic!("{e}"));
    let summary = Summary::of_run(&ahbm, &timing, Fidelity::Events, None);
    for row in &summary.engines {
        assert_eq!(row.classes.iter().map(|c| c.percent.0).sum::<u32>(), 1000, "{}", row.engine);
        assert_eq!(row.classes.iter().map(|c| c.time.0).sum::<u64>(), timing.wall.0 * 64, "{}", row.engine);
    }
    let text = summary.to_string().replace(&format!("{:016x}", timing.event_hash), "EVENTS");
    assert_snapshot!(without_hash(&text, &ahbm), @r"
    2.244 us on 64 PEs
    % of time  busy  wait-input  wait-space  wait-hbm  wait-link  wait-issue  idle  busy us: min  median    max  imbalance
    cpu        12.4        15.3         0.0      34.8        9.2         0.9  27.4         0.107   0.305  0.492     76.4 %
    dma        46.9         6.6         0.0       0.0        9.2        10.1  27.2         1.046   1.046  1.088      3.5 %
    ipcq        1.8        15.2         0.0      34.8        9.2        12.6  26.4         0.000   0.045  0.045     14.3 %
    gemm       11.7         3.6         0.0      34.8        9.2        13.3  27.4         0.262   0.262  0.262      0.0 %
    math        3.6        11.7         0.0      34.8        9.2        13.3  27.4         0.064   0.082  0.102     27.5 %
    sim, machine AHBM (HASH), fidelity events, event hash EVENTS; model, not validated on hardware
    ");
}
