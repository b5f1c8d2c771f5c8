//! What a run measures while it runs: log records, and what every engine of every PE did or waited for.
//!
//! A PE's situation is what its CPU does and which of its engines are busy. Time is added to the situation that ends, once
//! per change; per engine it is read out at the end. So the classes of each engine sum to the wall exactly.

use crate::units::Ps;

/// An engine of a PE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Engine {
    /// Issues commands; busy while it spends issue costs.
    Cpu,
    /// Busy while a load or store of this PE is under way.
    Dma,
    /// Busy while a message of this PE is in transmission.
    Ipcq,
    /// Busy with `dot`s and composite tiles.
    Gemm,
    /// Busy with elementwise commands, reductions and copies.
    Math,
}

impl Engine {
    pub const ALL: [Engine; 5] = [Engine::Cpu, Engine::Dma, Engine::Ipcq, Engine::Gemm, Engine::Math];
    pub fn name(self) -> &'static str {
        match self {
            Engine::Cpu => "cpu",
            Engine::Dma => "dma",
            Engine::Ipcq => "ipcq",
            Engine::Gemm => "gemm",
            Engine::Math => "math",
        }
    }
}

/// What an engine does, or what the CPU that would feed it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    Busy,
    /// For another engine of the same PE, or at a barrier.
    WaitInput,
    /// For scratch.
    WaitSpace,
    /// For memory.
    WaitHbm,
    /// For a message or for a free slot of a queue.
    WaitLink,
    /// For the CPU to issue, or for the fixed overhead of a command.
    WaitIssue,
    /// The program has not begun, or is over.
    Idle,
}

impl Class {
    pub const ALL: [Class; CLASSES] = [
        Class::Busy,
        Class::WaitInput,
        Class::WaitSpace,
        Class::WaitHbm,
        Class::WaitLink,
        Class::WaitIssue,
        Class::Idle,
    ];
    pub fn name(self) -> &'static str {
        match self {
            Class::Busy => "busy",
            Class::WaitInput => "wait-input",
            Class::WaitSpace => "wait-space",
            Class::WaitHbm => "wait-hbm",
            Class::WaitLink => "wait-link",
            Class::WaitIssue => "wait-issue",
            Class::Idle => "idle",
        }
    }
}
const CLASSES: usize = 7;
/// One bit per engine but the CPU, whose state is the situation's class.
const MASKS: usize = 16;

/// Time per engine and class of one PE, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls([[Ps; CLASSES]; Engine::ALL.len()]);

impl Stalls {
    pub fn get(&self, engine: Engine, class: Class) -> Ps {
        self.0[engine as usize][class as usize]
    }
    /// The sum over the classes: the wall for one PE, so many walls for so many PEs.
    pub fn total(&self, engine: Engine) -> Ps {
        Ps(self.0[engine as usize].iter().map(|t| t.0).sum())
    }
    /// Adds another PE's times.
    pub fn add(&mut self, other: &Stalls) {
        for (mine, theirs) in self.0.iter_mut().flatten().zip(other.0.iter().flatten()) {
            *mine += *theirs;
        }
    }
}

/// Summed durations of log records, by kind, and bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSums {
    /// `dot`s.
    pub gemm: Ps,
    /// Tiles of composites, from arrival at the GEMM engine to completion.
    pub gemm_tiles: Ps,
    /// Elementwise commands and reductions; without copies.
    pub math: Ps,
    /// Prologues of composites on the MATH engine.
    pub math_tiles: Ps,
    /// Copies that loops and `if`s make, and transposes.
    pub copy: Ps,
    /// Loads and stores, from issue to completion.
    pub dma: Ps,
    /// Streamed tiles of composites.
    pub dma_tiles: Ps,
    /// Messages, from the first flit to arrival, every hop.
    pub ipcq: Ps,
    /// Bytes of loads.
    pub read_bytes: u64,
    /// Bytes of stores.
    pub write_bytes: u64,
    /// Bytes of streamed tiles of composites.
    pub stream_bytes: u64,
    /// Every hop counted.
    pub ipcq_bytes: u64,
}

/// First start and last end over log records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub start: Ps,
    pub end: Ps,
}
impl Extent {
    pub fn wall(self) -> Ps {
        self.end - self.start
    }
    fn cover(extent: &mut Option<Extent>, start: Ps, end: Ps) {
        match extent {
            None => *extent = Some(Extent { start, end }),
            Some(e) => *e = Extent { start: e.start.min(start), end: e.end.max(end) },
        }
    }
}

/// What one PE did.
#[derive(Debug)]
struct PeRecord {
    user: u32,
    logged: bool,
    cpu: Class,
    /// Jobs under way per engine (the CPU's is not used).
    jobs: [u32; Engine::ALL.len()],
    mask: u8,
    since: Ps,
    /// When a blocking command's engine is done; then the CPU spends the command's overhead.
    done: Option<(Ps, Engine)>,
    /// Time per situation, up to the last log end known.
    sums: Box<[[Ps; MASKS]; CLASSES]>,
    /// Later situations (start, class, mask): they count as far as the last log end of the run will reach.
    later: Vec<(Ps, Class, u8)>,
}

/// The records of a run.
#[derive(Debug, Default)]
pub struct Recorder {
    pes: Vec<PeRecord>,
    users: Vec<Option<Extent>>,
    all: Option<Extent>,
    pub sums: LogSums,
}

impl Recorder {
    /// A recorder for PEs that are added with `add_pe`, for so many users.
    pub fn new(users: usize) -> Recorder {
        Recorder { users: vec![None; users], ..Recorder::default() }
    }
    /// Adds the next PE; its number is the count of those before.
    pub fn add_pe(&mut self, user: u32) {
        self.pes.push(PeRecord {
            user,
            logged: false,
            cpu: Class::Idle,
            jobs: [0; Engine::ALL.len()],
            mask: 0,
            since: Ps::ZERO,
            done: None,
            sums: Box::default(),
            later: Vec::new(),
        });
    }
    /// A log record of this PE begins now. The first one of the run is clock zero.
    pub fn open(&mut self, pe: u32, now: Ps) {
        self.log(pe, now, now);
    }
    /// A log record of this PE.
    pub fn log(&mut self, pe: u32, start: Ps, end: Ps) {
        let record = &mut self.pes[pe as usize];
        record.logged = true;
        Extent::cover(&mut self.users[record.user as usize], start, end);
        Extent::cover(&mut self.all, start, end);
    }
    /// What the CPU does from now on: `Busy` with issuing, or a wait.
    pub fn cpu(&mut self, pe: u32, class: Class, now: Ps) {
        let known = self.all;
        let record = &mut self.pes[pe as usize];
        record.settle(known, now);
        record.cpu = class;
    }
    /// A command that blocks the CPU runs on an engine for a known time.
    pub fn run(&mut self, pe: u32, engine: Engine, now: Ps, time: Ps) {
        self.cpu(pe, Class::WaitInput, now);
        self.begin(pe, engine, now);
        self.pes[pe as usize].done = Some((now + time, engine));
    }
    /// One more job of an engine is under way.
    pub fn begin(&mut self, pe: u32, engine: Engine, now: Ps) {
        let known = self.all;
        let record = &mut self.pes[pe as usize];
        record.settle(known, now);
        record.jobs[engine as usize] += 1;
        record.mask |= bit(engine);
    }
    /// A job of an engine has ended.
    pub fn end(&mut self, pe: u32, engine: Engine, now: Ps) {
        let known = self.all;
        let record = &mut self.pes[pe as usize];
        record.settle(known, now);
        record.leave(engine);
    }
    pub fn extent(&self) -> Option<Extent> {
        self.all
    }
    pub fn user_extent(&self, user: usize) -> Option<Extent> {
        self.users.get(user).copied().flatten()
    }
    /// Whether the PE logged anything.
    pub fn logged(&self, pe: usize) -> bool {
        self.pes.get(pe).is_some_and(|p| p.logged)
    }
    /// The times of each PE, cut to the extent of the records. `now`: the end of the run.
    pub fn stalls(mut self, now: Ps) -> Vec<Stalls> {
        let Some(all) = self.all else { return vec![Stalls::default(); self.pes.len()] };
        for pe in &mut self.pes {
            pe.settle(Some(all), now.max(all.end));
            pe.flush(all, all.end);
        }
        self.pes.iter().map(PeRecord::read_out).collect()
    }
}

fn bit(engine: Engine) -> u8 {
    match engine {
        Engine::Cpu => 0,
        Engine::Dma => 1,
        Engine::Ipcq => 2,
        Engine::Gemm => 4,
        Engine::Math => 8,
    }
}

impl PeRecord {
    /// Ends the situation that began at `since`. `all`: the extent of the records so far; before the first record
    /// nothing counts.
    fn settle(&mut self, all: Option<Extent>, now: Ps) {
        if let Some((at, engine)) = self.done
            && at <= now
        {
            self.close(all, at);
            self.done = None;
            self.cpu = Class::WaitIssue;
            self.leave(engine);
        }
        self.close(all, now);
    }
    fn leave(&mut self, engine: Engine) {
        self.jobs[engine as usize] -= 1;
        if self.jobs[engine as usize] == 0 {
            self.mask &= !bit(engine);
        }
    }
    fn close(&mut self, all: Option<Extent>, now: Ps) {
        let from = self.since;
        self.since = now;
        if now == from {
            return;
        }
        let Some(all) = all else { return };
        if !self.later.is_empty() {
            self.flush(all, from);
        }
        if now <= all.end && self.later.is_empty() {
            self.add(self.cpu, self.mask, from.max(all.start), now);
        } else {
            self.later.push((from.max(all.start), self.cpu, self.mask));
        }
    }
    /// Adds the later situations that the records have reached by now; the last one ends at `end`.
    fn flush(&mut self, all: Extent, end: Ps) {
        let mut done = 0;
        while let Some(&(from, class, mask)) = self.later.get(done) {
            let to = self.later.get(done + 1).map_or(end, |next| next.0);
            if to > all.end {
                // Reached in part: what is left of it waits on.
                if from < all.end {
                    self.add(class, mask, from, all.end);
                    self.later[done].0 = all.end;
                }
                break;
            }
            self.add(class, mask, from, to);
            done += 1;
        }
        self.later.drain(..done);
    }
    fn add(&mut self, class: Class, mask: u8, from: Ps, to: Ps) {
        self.sums[class as usize][usize::from(mask)] += to.saturating_sub(from);
    }
    fn read_out(&self) -> Stalls {
        let mut out = Stalls::default();
        for class in Class::ALL {
            for (mask, time) in self.sums[class as usize].iter().enumerate() {
                for engine in Engine::ALL {
                    let seen = match (engine, class) {
                        (Engine::Cpu, class) => class,
                        (engine, _) if mask as u8 & bit(engine) != 0 => Class::Busy,
                        // While the CPU issues, the others wait for it.
                        (_, Class::Busy) => Class::WaitIssue,
                        (_, class) => class,
                    };
                    out.0[engine as usize][seen as usize] += *time;
                }
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_of_every_pe_is_accounted_for_from_the_first_record_to_the_last() {
        let mut r = Recorder::new(1);
        r.add_pe(0);
        r.add_pe(0);
        r.cpu(0, Class::Busy, Ps(0)); // issues a load: 9, before clock zero
        r.open(0, Ps(9));
        r.begin(0, Engine::Dma, Ps(9));
        r.cpu(0, Class::WaitHbm, Ps(9));
        r.end(0, Engine::Dma, Ps(30));
        r.log(0, Ps(9), Ps(30));
        r.cpu(0, Class::Busy, Ps(30)); // issues a dot: 10
        r.cpu(0, Class::WaitInput, Ps(40));
        r.begin(0, Engine::Gemm, Ps(40));
        r.log(0, Ps(40), Ps(50));
        r.end(0, Engine::Gemm, Ps(50));
        r.cpu(0, Class::WaitIssue, Ps(50)); // overhead behind the last record: not in the wall
        r.cpu(0, Class::Idle, Ps(51));
        assert_eq!(r.extent().map(Extent::wall), Some(Ps(41)));
        let stalls = r.stalls(Ps(51));
        let of = |e, c| stalls[0].get(e, c);
        assert_eq!(of(Engine::Dma, Class::Busy), Ps(21));
        assert_eq!(of(Engine::Gemm, Class::WaitHbm), Ps(21));
        assert_eq!(of(Engine::Gemm, Class::WaitIssue), Ps(10));
        assert_eq!(of(Engine::Cpu, Class::Busy), Ps(10));
        assert_eq!(of(Engine::Gemm, Class::Busy), Ps(10));
        assert_eq!(of(Engine::Math, Class::WaitInput), Ps(10));
        assert_eq!(stalls[1].get(Engine::Cpu, Class::Idle), Ps(41));
        for pe in &stalls {
            Engine::ALL.iter().for_each(|e| assert_eq!(pe.total(*e), Ps(41), "{e:?}"));
        }
    }
}
