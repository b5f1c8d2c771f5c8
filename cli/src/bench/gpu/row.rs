//! A row of results as cells.

use super::case::{Timed, Who};
use super::peers::Peer;
use super::work::Work;
use tilewright_core::diag::Diagnostics;
use tilewright_harness::cli::Cell;

/// The first six are those of other programs that measure the same. `of_copy`, `of_peer`: the other's time over ours.
pub const COLUMNS: [&str; 16] = [
    "peer",
    "op",
    "shape",
    "us",
    "tflops",
    "gbs",
    "of_copy",
    "best_peer",
    "peer_us",
    "of_peer",
    "threads",
    "programs",
    "registers",
    "ptx_ms",
    "config",
    "note",
];
/// Of `--list`.
pub const LISTED: [&str; 5] = ["op", "shape", "instance", "best_peer", "peer_us"];

const OWN: &str = "tilewright";

/// A row that was timed, with the fastest peer of the same work.
pub fn cells(work: &Work, timed: &Timed, best: Option<&Peer>) -> Vec<Cell> {
    let head = match timed.who {
        Who::Kernel => work.cells(OWN),
        Who::Copy => ["device".into(), "copy".into(), work.shape.to_string().into()],
    };
    let best = best.filter(|_| timed.who == Who::Kernel);
    let count = |n: Option<u32>| n.map_or(Cell::Empty, |n| u64::from(n).into());
    head.into_iter()
        .chain([
            rounded(timed.us, 100.0),
            rounded(timed.tflops, 10.0),
            rounded(timed.gbs, 10.0),
            timed.of_copy.map_or(Cell::Empty, |share| rounded(share, 1e4)),
        ])
        .chain(beside(best))
        .chain([
            best.map_or(Cell::Empty, |best| rounded(best.us / timed.us, 1e4)),
            count(timed.threads),
            count(timed.programs),
            count(timed.registers),
            timed.ptx_ms.map_or(Cell::Empty, |ms| rounded(ms, 100.0)),
            config(work, timed),
            text(&timed.note),
        ])
        .collect()
}

/// A row that says why there is no time.
pub fn failed(work: &Work, why: &Diagnostics, best: Option<&Peer>) -> Vec<Cell> {
    let reason = why.0.first().map(|d| format!("failed: {} {}", d.code, d.message)).unwrap_or_default();
    let empty = |n| std::iter::repeat_n(Cell::Empty, n);
    let known = work.cells(OWN).into_iter().chain(empty(4)).chain(beside(best)).chain(empty(5));
    known.chain([work.instance.to_string().into(), reason.into()]).collect()
}

/// What something costs the host.
pub fn overhead(op: &str, us: f64, note: &str) -> Vec<Cell> {
    let mut cells = vec![OWN.into(), op.into(), Cell::Empty, us.into()];
    cells.resize(COLUMNS.len() - 1, Cell::Empty);
    cells.push(note.into());
    cells
}

/// A row of `--list`.
pub fn listed(work: &Work, best: Option<&Peer>) -> Vec<Cell> {
    let [_, op, shape] = work.cells(OWN);
    [op, shape, work.instance.to_string().into()].into_iter().chain(beside(best)).collect()
}

fn beside(best: Option<&Peer>) -> [Cell; 2] {
    best.map_or([Cell::Empty, Cell::Empty], |best| [best.name.as_str().into(), best.us.into()])
}

/// The instance, and what its kernel chose beside.
fn config(work: &Work, timed: &Timed) -> Cell {
    match timed.who {
        Who::Copy => Cell::Empty,
        Who::Kernel if timed.config.is_empty() => work.instance.to_string().into(),
        Who::Kernel => format!("{}; {}", work.instance, timed.config).into(),
    }
}
fn text(text: &str) -> Cell {
    if text.is_empty() { Cell::Empty } else { text.into() }
}
fn rounded(x: f64, by: f64) -> Cell {
    Cell::Real((x * by).round() / by)
}

#[cfg(test)]
mod tests {
    use super::*;
    use insta::assert_snapshot;
    use tilewright_core::diag::Diagnostic;

    fn work() -> Work {
        let word = "matmul:m=64,n=64,k=64,elem=f16";
        Work::of(tilewright_kernels::all().instance(word).unwrap(), 1).unwrap()
    }
    fn peer(us: f64) -> Peer {
        Peer { name: "cublas".to_string(), op: "gemm".to_string(), shape: work().shape, us }
    }
    fn line(cells: Vec<Cell>) -> String {
        assert_eq!(cells.len(), COLUMNS.len());
        COLUMNS
            .iter()
            .zip(&cells)
            .filter(|(_, c)| **c != Cell::Empty)
            .map(|(n, c)| format!("{n} {}\n", c.csv()))
            .collect()
    }

    #[test]
    fn a_peer_stands_beside_the_kernel_with_its_time_over_ours() {
        let timed = Timed { us: 2.5, tflops: 0.2097, gbs: 9.8304, config: "128 x 128".into(), ..Timed::default() };
        assert_snapshot!(line(cells(&work(), &timed, Some(&peer(2.0)))), @r"
        peer tilewright
        op gemm
        shape m=64,n=64,k=64,dtype=float16
        us 2.5
        tflops 0.2
        gbs 9.8
        best_peer cublas
        peer_us 2.0
        of_peer 0.8
        config matmul:m=64,n=64,k=64,elem=f16; 128 x 128
        ");
        let copy = Timed { who: Who::Copy, us: 2.0, ..Timed::default() };
        assert!(!line(cells(&work(), &copy, Some(&peer(2.0)))).contains("cublas"), "a copy does not multiply");
    }
    #[test]
    fn a_row_without_a_time_says_why_and_still_shows_the_peer() {
        let why = Diagnostic::new("TW-E0610", "`recv` has no PTX yet".to_string()).into();
        assert_snapshot!(line(failed(&work(), &why, Some(&peer(2.0)))), @r"
        peer tilewright
        op gemm
        shape m=64,n=64,k=64,dtype=float16
        best_peer cublas
        peer_us 2.0
        config matmul:m=64,n=64,k=64,elem=f16
        note failed: TW-E0610 `recv` has no PTX yet
        ");
    }
    #[test]
    fn what_the_host_pays_has_a_name_a_time_and_what_it_is_of() {
        assert_snapshot!(line(overhead("launch_warm", 4.6, "host")), @r"
        peer tilewright
        op launch_warm
        us 4.6
        note host
        ");
    }
}
