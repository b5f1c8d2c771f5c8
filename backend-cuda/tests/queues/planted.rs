//! Faults planted in the emitted protocol are caught, in any order of blocks and of what lands.

use super::{emulator, how, of_ring, on, ring, schedules};
use std::sync::Arc;
use tilewright_core::diag::Diagnostics;
use tilewright_cuda::emulator::{Emulator, Loaded};
use tilewright_cuda::launch::{Address, Ctas, Device};
use tilewright_cuda::{Compiled, Target};

/// The emulator, with a change to the text of each kernel.
struct Changed<'c> {
    emulator: Emulator,
    change: &'c dyn Fn(&str) -> String,
}
impl Device for Changed<'_> {
    as_the_emulator_does!();
    fn load(&mut self, compiled: Arc<Compiled>) -> Result<Loaded, Diagnostics> {
        let mut compiled = (*compiled).clone();
        let changed = (self.change)(&compiled.printed.text);
        assert_ne!(changed, compiled.printed.text, "nothing changes");
        compiled.printed.text = changed;
        self.emulator.load(Arc::new(compiled))
    }
    fn alloc(&mut self, bytes: u64) -> Result<Address, Diagnostics> {
        self.emulator.alloc(bytes)
    }
}
/// The vote of a barrier, without the barrier.
fn without_barrier(line: &str) -> String {
    let to = line.trim().trim_start_matches("bar.red.or.pred ").split(',').next().unwrap_or_default();
    format!("    setp.ne.u32 {to}, 0, 0;")
}
/// Lines with a word, changed.
fn lines(text: &str, word: &str, change: impl Fn(&str) -> String) -> String {
    text.lines().map(|line| if line.contains(word) { change(line) } else { line.to_string() } + "\n").collect()
}

#[test]
fn planted_faults_in_the_protocol_of_a_cluster_are_caught_in_any_order() {
    type Change = (&'static str, fn(&str) -> String, &'static [&'static str]);
    let dropped: fn(&str) -> String = |_| String::new();
    let planted: [Change; 5] = [
        // Nobody says that a slot is free; nobody says how many bytes come.
        ("mbarrier.arrive.shared::cluster", dropped, &["TW-E0303", "TW-E0301"]),
        ("mbarrier.arrive.expect_tx", dropped, &["TW-E0301", "TW-E0302", "TW-E0660"]),
        // The parity of the other phase, to send and to receive.
        ("mbarrier.try_wait", |line| format!("{}0;", &line[..line.rfind('%').unwrap_or(0)]), &["TW-E0660", "TW-E030"]),
        // A slot is given back before it is read.
        ("bar.red.or.pred", without_barrier, &["TW-E0660"]),
        // The others may not have begun.
        ("barrier.cluster.wait", dropped, &["TW-E0660"]),
    ];
    for (word, change, codes) in planted {
        for schedule in schedules() {
            let change = |text: &str| lines(text, word, change);
            let mut device = Changed { emulator: emulator(Target::Sm90a, schedule), change: &change };
            let ran = on(&mut device, &ring(4), how(4, 128, 2), &of_ring(4, 9));
            let told = ran.errors.unwrap_or_else(|| panic!("{word} is not caught, {schedule:?}"));
            let caught = told.0.iter().any(|d| codes.iter().any(|code| d.code.starts_with(code)));
            assert!(caught, "{word}, {schedule:?}: {told}");
        }
    }
}

#[test]
fn planted_faults_in_the_protocol_through_global_memory_are_caught_in_any_order() {
    type Change = (&'static str, fn(&str) -> String, &'static [&'static str]);
    let planted: [Change; 5] = [
        // Nobody tells that a message is there, or that it is read.
        ("st.release.gpu", |_| String::new(), &["TW-E0301", "TW-E0302", "TW-E0303"]),
        // What was written is not published, or not learnt.
        ("st.release.gpu", |line| line.replace("st.release", "st.relaxed"), &["TW-E0660"]),
        ("ld.acquire.gpu", |line| line.replace("ld.acquire", "ld.relaxed"), &["TW-E0660"]),
        // The first thread tells before the others have written or read.
        ("bar.sync 0;", |_| String::new(), &["TW-E0660"]),
        // The others go on before it has waited.
        ("bar.red.or.pred", without_barrier, &["TW-E0660"]),
    ];
    for (word, change, codes) in planted {
        for schedule in schedules() {
            let change = |text: &str| lines(text, word, change);
            let mut device = Changed { emulator: emulator(Target::Sm80, schedule), change: &change };
            let ran = on(&mut device, &ring(4), how(4, 128, 2), &of_ring(4, 9));
            let told = ran.errors.unwrap_or_else(|| panic!("{word} is not caught, {schedule:?}"));
            assert!(told.0.iter().any(|d| codes.contains(&d.code)), "{word}, {schedule:?}: {told}");
        }
    }
}
