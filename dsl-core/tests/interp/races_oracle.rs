//! The check for races against a plain definition: vector clocks over all programs, and every pair of accesses.

use crate::support::Launch;
use tilewright_core::interp::Order;
use tilewright_core::launch::Grid;

const CUBES: usize = 2;
const PES: usize = 2;
const PROGRAMS: usize = CUBES * PES;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Read,
    Write,
    Atomic,
}

#[derive(Debug)]
struct Access {
    pe: usize,
    kind: Kind,
    /// The first of two elements.
    at: usize,
    line: u32,
    /// The program's clock, and what it had seen of all.
    clock: usize,
    seen: [usize; PROGRAMS],
}

struct Random(u64);
impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n
    }
}

/// A kernel of phases, each a few accesses and then barriers of some cubes or of the launch; and its accesses.
fn kernel(random: &mut Random) -> (String, Vec<Access>) {
    let mut lines: Vec<String> = vec![
        "kernel @random(%x: view_mut<?xi32>) {".into(),
        "%id = program_id : i32".into(),
        "%cube = cube_id : i32".into(),
        "%v = splat %id : tile<2xi32>".into(),
    ];
    lines.extend((0..PROGRAMS).map(|pe| format!("%is{pe} = cmp eq %id, {pe}:i32 : i1")));
    lines.extend((0..CUBES).map(|cube| format!("%in{cube} = cmp eq %cube, {cube}:i32 : i1")));
    let (mut accesses, mut seen) = (Vec::new(), [[0; PROGRAMS]; PROGRAMS]);
    for _ in 0..4 {
        for (pe, seen) in seen.iter_mut().enumerate() {
            if random.below(2) == 0 {
                continue;
            }
            lines.push(format!("if %is{pe} {{"));
            let (kind, at) = ([Kind::Read, Kind::Write, Kind::Atomic][random.below(3)], random.below(24));
            lines.push(match kind {
                Kind::Read => format!("%l{} = load %x[{at}] : tile<2xi32>", lines.len()),
                Kind::Write => format!("store %x[{at}], %v"),
                Kind::Atomic => format!("atomic_add %x[{at}], %v"),
            });
            seen[pe] += 1;
            accesses.push(Access { pe, kind, at, line: lines.len() as u32, clock: seen[pe], seen: *seen });
            lines.push("}".into());
        }
        let members: std::ops::Range<usize> = match random.below(4) {
            0 => 0..0,
            1 => {
                lines.push("barrier launch".into());
                0..PROGRAMS
            }
            _ => {
                let cube = random.below(CUBES);
                lines.extend([format!("if %in{cube} {{"), "barrier cube".into(), "}".into()]);
                cube * PES..(cube + 1) * PES
            }
        };
        let joined = std::array::from_fn(|i| members.clone().map(|pe| seen[pe][i]).max().unwrap_or(0));
        members.for_each(|pe| seen[pe] = joined);
    }
    lines.push("}".into());
    (lines.join("\n") + "\n", accesses)
}

fn race(a: &Access, b: &Access) -> bool {
    let overlap = a.at.abs_diff(b.at) < 2;
    let conflict = a.kind == Kind::Write || b.kind == Kind::Write || a.kind != b.kind;
    let ordered = b.seen[a.pe] >= a.clock || a.seen[b.pe] >= b.clock;
    a.pe != b.pe && overlap && conflict && !ordered
}

#[test]
fn there_is_a_report_iff_there_is_a_race_and_every_report_is_one() {
    let (mut random, mut racy) = (Random(1), 0);
    for case in 0..150 {
        let (text, accesses) = kernel(&mut random);
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for a in &accesses {
            pairs.extend(accesses.iter().filter(|b| race(a, b)).map(|b| (a.line, b.line)));
        }
        racy += usize::from(!pairs.is_empty());
        let order = [Order::Ascending, Order::Descending, Order::LateStores, Order::Shuffled(case)][case as usize % 4];
        let launch = Launch::new(&text).output(&[25], vec![0i32; 25]).grid(Grid::cubes(CUBES).pes(PES)).order(order);
        let result = launch.check_races().run().result;
        let reports = result.err().map_or(Vec::new(), |e| e.0);
        assert_eq!(reports.is_empty(), pairs.is_empty(), "{order:?}\n{text}");
        for report in reports {
            let line = |i: usize| report.labels[i].place.line;
            assert!(pairs.contains(&(line(0), line(1))), "{order:?}\n{report:?}\n{text}");
        }
    }
    assert!((30..120).contains(&racy), "{racy} of 150 kernels race");
}
