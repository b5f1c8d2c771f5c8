//! The server of which a machine is made: one job at a time, in order of arrival.

use crate::units::Ps;
use std::collections::VecDeque;

/// A first-in, first-out server of jobs `J`. It schedules nothing itself: whoever starts a job inserts the event of its
/// end, and that event's handler calls `finish`, acts, and then `start_next`. So what the end of a job causes is inserted
/// before the end of the next job.
#[derive(Debug)]
pub struct Fifo<J> {
    waiting: VecDeque<(Ps, J)>,
    current: Option<J>,
    taken: bool,
    busy: Ps,
}

impl<J> Default for Fifo<J> {
    fn default() -> Fifo<J> {
        Fifo { waiting: VecDeque::new(), current: None, taken: false, busy: Ps::ZERO }
    }
}

impl<J> Fifo<J> {
    /// Queues a job. `Some(service)` if it starts now: the caller inserts its end after that time.
    pub fn push(&mut self, service: Ps, job: J) -> Option<Ps> {
        self.waiting.push_back((service, job));
        if self.taken { None } else { self.start_next() }
    }
    /// The job whose service ends now. The server stays taken until `start_next`.
    pub fn finish(&mut self) -> Option<J> {
        self.current.take()
    }
    /// Starts the next job, or leaves the server idle. `Some(service)`: as for `push`.
    pub fn start_next(&mut self) -> Option<Ps> {
        let next = self.waiting.pop_front();
        self.taken = next.is_some();
        let (service, job) = next?;
        self.current = Some(job);
        self.busy += service;
        Some(service)
    }
    /// The time this server has spent, or is bound to spend, on jobs it has started.
    pub fn busy(&self) -> Ps {
        self.busy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_run_one_at_a_time_in_order_of_arrival() {
        let mut port = Fifo::default();
        assert_eq!(port.push(Ps(16), 'a'), Some(Ps(16))); // idle: starts at once
        assert_eq!(port.push(Ps(4), 'b'), None); // waits behind a
        assert_eq!(port.finish(), Some('a'));
        assert_eq!(port.push(Ps(1), 'c'), None); // the end of a does not let c overtake b
        assert_eq!(port.start_next(), Some(Ps(4)));
        assert_eq!(port.finish(), Some('b'));
        assert_eq!(port.start_next(), Some(Ps(1)));
        assert_eq!(port.finish(), Some('c'));
        assert_eq!(port.start_next(), None);
        assert_eq!(port.busy(), Ps(16 + 4 + 1));
        assert_eq!(port.push(Ps(2), 'd'), Some(Ps(2))); // idle again
    }
}
