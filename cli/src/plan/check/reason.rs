//! Why a gap is what it is: what the simulator saw that the closed form does not have.

use super::Part;
use tilewright_sim::engine::{Class, Engine};
use tilewright_sim::machine::Machine;
use tilewright_sim::timing::Timing;

/// Loads and products that together fill so much of the time take turns.
const IN_TURNS: f64 = 95.0;

pub fn reason(part: Part, t: &Timing, machine: &Machine) -> String {
    match part {
        Part::Merge => merge(t),
        Part::Prefill => prefill(t),
        Part::Core | Part::Whole => core(t, machine),
    }
}

fn share(t: &Timing, engine: Engine, class: Class) -> f64 {
    t.share(engine, class) * 100.0
}

fn merge(t: &Timing) -> String {
    format!(
        "The kernels pass partial results from PE to PE and merge them one after another on the vector engine; the closed form \
         prices a sum over the ranks at the rates of links. CPUs wait for messages {:.0} % of the launch.",
        share(t, Engine::Cpu, Class::WaitLink)
    )
}

fn prefill(t: &Timing) -> String {
    format!(
        "The kernel's root reads every tile and passes it down the group, so that the whole context goes through each PE; the \
         closed form sends a shard a hop at the rate of the link inside a cube. Messages are under way {:.0} % of the time, \
         loads {:.0} %, products {:.0} %.",
        share(t, Engine::Ipcq, Class::Busy),
        share(t, Engine::Dma, Class::Busy),
        share(t, Engine::Gemm, Class::Busy)
    )
}

fn core(t: &Timing, machine: &Machine) -> String {
    let (loads, products) = (share(t, Engine::Dma, Class::Busy), share(t, Engine::Gemm, Class::Busy));
    if loads + products > IN_TURNS {
        let kib = |bytes: u64| bytes / 1024;
        let held = t.pes.iter().map(|pe| pe.scratch_peak.0).max().unwrap_or(0);
        return format!(
            "Loads ({loads:.0} % of the time) and products ({products:.0} %) take turns; in the closed form HBM never waits. A PE \
             holds up to {} of {} KiB on the chip.",
            kib(held),
            kib(machine.scratch.capacity.0)
        );
    }
    let waits = [
        (Class::WaitInput, "for what other engines of the PE make"),
        (Class::WaitSpace, "for room on the chip"),
        (Class::WaitLink, "for messages"),
        (Class::WaitIssue, "for the CPU to issue"),
        (Class::Idle, "before the first or after the last command"),
    ];
    let waits = waits.map(|(class, what)| (share(t, Engine::Dma, class), what));
    let longest = waits.into_iter().fold((0.0, ""), |best, next| if next.0 > best.0 { next } else { best });
    format!(
        "In the closed form HBM never waits; simulated, loads are under way {loads:.0} % of the time, products {products:.0} %, \
         the vector engine {:.0} %, and loads wait mostly {} ({:.0} %).",
        share(t, Engine::Math, Class::Busy),
        longest.1,
        longest.0
    )
}
