//! The three times side by side, and in a line each what lies between them.

use super::roofline::{Bound, Roofline, ps};
use crate::engine::{Class, Engine};
use crate::timing::Timing;
use crate::units::Ps;
use serde::Serialize;
use std::fmt;

/// Shares of the CPUs' time that a line names.
const NAMED: usize = 3;

/// Roofline, schedule and events of one run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gap {
    #[serde(rename = "roofline_ps", serialize_with = "ps")]
    pub roofline: Ps,
    #[serde(rename = "schedule_ps", serialize_with = "ps")]
    pub schedule: Ps,
    #[serde(rename = "events_ps", serialize_with = "ps")]
    pub events: Ps,
    /// The largest bound of each resource that a PE has for itself, and of servers that PEs share.
    pub bounds: Roofline,
    /// What the CPUs do in the schedule: shares of their time, 0 to 1, largest first.
    pub cpu: Vec<(&'static str, f64)>,
    pub queueing: Queueing,
}

/// By how much requests take longer where they meet others: sums over all requests, in picoseconds. A request may take
/// less time than in the schedule, where it follows its predecessor earlier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Queueing {
    /// Loads, stores and atomics.
    #[serde(rename = "memory_ps")]
    pub memory: i64,
    /// Streamed tiles of composites.
    #[serde(rename = "tiles_ps")]
    pub tiles: i64,
    /// Messages, from the first flit to the arrival.
    #[serde(rename = "messages_ps")]
    pub messages: i64,
}

impl Gap {
    pub(super) fn of(roofline: &Roofline, schedule: &Timing, events: &Timing) -> Gap {
        let more = |a: Ps, b: Ps| i64::try_from(i128::from(a.0) - i128::from(b.0)).unwrap_or(i64::MAX);
        let (with, without) = (&events.sums, &schedule.sums);
        let mut cpu: Vec<(&'static str, f64)> =
            Class::ALL.iter().map(|c| (c.name(), schedule.share(Engine::Cpu, *c))).filter(|(_, s)| *s > 0.0).collect();
        cpu.sort_by(|a, b| b.1.total_cmp(&a.1));
        Gap {
            roofline: roofline.time(),
            schedule: schedule.wall,
            events: events.wall,
            bounds: roofline.clone(),
            cpu,
            queueing: Queueing {
                memory: more(with.dma, without.dma),
                tiles: more(with.dma_tiles, without.dma_tiles),
                messages: more(with.ipcq, without.ipcq),
            },
        }
    }
    /// By how much the schedule is above the roofline, in percent.
    pub fn schedule_percent(&self) -> f64 {
        percent(self.roofline, self.schedule)
    }
    /// By how much events are above the schedule, in percent.
    pub fn events_percent(&self) -> f64 {
        percent(self.schedule, self.events)
    }
    /// What the schedule adds.
    pub fn why_schedule(&self) -> String {
        let named = self.cpu.iter().take(NAMED).map(|(class, share)| {
            // A CPU is busy with nothing else.
            let class = if *class == Class::Busy.name() { "issue" } else { class };
            format!("{class} {:.1} %", share * 100.0)
        });
        format!("latencies and order; the CPUs' time: {}", named.collect::<Vec<_>>().join(", "))
    }
    /// What events add.
    pub fn why_events(&self) -> String {
        let Queueing { memory, tiles, messages } = self.queueing;
        let parts = [("loads and stores", memory), ("streamed tiles", tiles), ("messages", messages)];
        let parts = parts.iter().filter(|(_, time)| *time != 0);
        let parts: Vec<String> = parts.map(|(what, time)| format!("{what} {:+.3} us", *time as f64 / 1e6)).collect();
        let queueing = match (self.events < self.schedule, parts.is_empty()) {
            (true, _) => "an anomaly of order: see docs/fidelity.md".to_owned(),
            (false, true) => "no traffic meets".to_owned(),
            (false, false) => format!("queueing, summed over PEs: {}", parts.join(", ")),
        };
        let busiest: Option<&Bound> = self.bounds.shared.first();
        busiest.map_or(queueing.clone(), |b| format!("{queueing}; busiest server: {b}"))
    }
}

fn percent(below: Ps, above: Ps) -> f64 {
    if below == Ps::ZERO { 0.0 } else { (above.0 as f64 / below.0 as f64 - 1.0) * 100.0 }
}

/// A line each: the time, by how much it is above the one before, why.
impl fmt::Display for Gap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "roofline {:>10.3} us            {}", self.roofline.as_us(), self.bounds.why())?;
        let (to_schedule, to_events) = (self.schedule_percent(), self.events_percent());
        writeln!(f, "schedule {:>10.3} us {to_schedule:>+8.1} %  {}", self.schedule.as_us(), self.why_schedule())?;
        write!(f, "events   {:>10.3} us {to_events:>+8.1} %  {}", self.events.as_us(), self.why_events())
    }
}
