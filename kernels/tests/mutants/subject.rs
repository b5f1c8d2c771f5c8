//! The programs that mutants are made of, and all detectors on one run.

use std::sync::Arc;
use tilewright::core_api::check::{self, Limits as CheckLimits, Shape};
use tilewright::core_api::data::Data;
use tilewright::core_api::interp::{EveryOrder, Interp, Mesh, Options, Order};
use tilewright::core_api::launch::{Arg, Backend, DEFAULT_QUEUE_DEPTH, Grid, LaunchConfig, Ready};
use tilewright::core_api::tensor::{AnyTensor, Tensor};
use tilewright::diag::Diagnostics;
use tilewright::ir::Module;
use tilewright::ir::text::print;
use tilewright::registry::{Agreement, Case, Inputs, Limits, Target};

pub const FILE: &str = "mutant.tir";

/// Who catches a mutant. The values come last: they say that something is wrong, not where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum By {
    Verifier,
    Check,
    Capacity,
    Bounds,
    Race,
    Unwritten,
    Messages,
    Division,
    Endless,
    Order,
    NeverWritten,
    Values,
    Nobody,
}

impl By {
    pub const ALL: [By; 13] = [
        By::Verifier,
        By::Check,
        By::Capacity,
        By::Bounds,
        By::Race,
        By::Unwritten,
        By::Messages,
        By::Division,
        By::Endless,
        By::Order,
        By::NeverWritten,
        By::Values,
        By::Nobody,
    ];
    pub fn name(self) -> &'static str {
        match self {
            By::Verifier => "verifier",
            By::Check => "check",
            By::Capacity => "depth",
            By::Bounds => "bounds",
            By::Race => "race",
            By::Unwritten => "unwritten read",
            By::Messages => "messages",
            By::Division => "division",
            By::Endless => "step limit",
            By::Order => "order",
            By::NeverWritten => "not written",
            By::Values => "values",
            By::Nobody => "nothing",
        }
    }
    /// Whether what is told has lines.
    pub fn shows_lines(self) -> bool {
        match self {
            By::Order | By::NeverWritten | By::Values | By::Nobody => false,
            By::Verifier | By::Check | By::Capacity | By::Bounds | By::Race | By::Unwritten => true,
            By::Messages | By::Division | By::Endless => true,
        }
    }
    /// By the first error of a run.
    fn of(found: &Diagnostics) -> By {
        match found.0.first().map_or("", |d| d.code) {
            "TW-E0310" | "TW-E0311" => By::Bounds,
            "TW-E0320" | "TW-E0321" | "TW-E0322" => By::Race,
            "TW-E0323" => By::Unwritten,
            "TW-E0313" => By::Division,
            "TW-E0316" => By::Endless,
            "TW-E0324" => By::Order,
            "TW-E0330" => By::Capacity,
            _ => By::Messages,
        }
    }
}

/// What all detectors found; without errors where only values tell.
pub type Verdict = (By, Diagnostics);

/// What takes the place of a program's own.
#[derive(Clone, Debug)]
pub struct Change {
    pub module: Arc<Module>,
    pub depth: Option<u32>,
    pub max_steps: u64,
}

/// What is known of the unchanged program at one size.
#[derive(Clone, Debug, PartialEq)]
pub struct Whole {
    pub steps: u64,
    /// Elements that it leaves unwritten, by argument.
    pub left: Vec<usize>,
}

/// A program that mutants are made of, at some sizes.
pub enum Subject {
    /// A shipped kernel, against its f64 reference. All instances have the same text.
    Shipped { name: &'static str, kernel: &'static str, instances: &'static [&'static str] },
    /// A text over two tensors with an element for every program, not yet written; against the same text unchanged.
    Text { name: &'static str, grid: Grid, depth: u32 },
}

/// One launch: its tensors.
enum Start {
    Case(Box<dyn Case>),
    Pair { tensors: Box<[AnyTensor; 2]>, config: LaunchConfig },
}

impl Start {
    fn ready(&mut self, change: &Change) -> Ready<'_> {
        let mut ready = match self {
            Start::Case(case) => case.launch().and_then(|launch| launch.ready()).unwrap_or_else(|e| panic!("{e}")),
            Start::Pair { tensors, config } => {
                let args = tensors.iter_mut().map(Arg::ViewMut).collect();
                Ready { module: Arc::clone(&change.module), args, config: *config }
            }
        };
        ready.module = Arc::clone(&change.module);
        ready.config.queue_depth = change.depth.or(ready.config.queue_depth);
        ready
    }
}

impl Subject {
    pub fn name(&self) -> &'static str {
        match self {
            Subject::Shipped { name, .. } | Subject::Text { name, .. } => name,
        }
    }
    pub fn sizes(&self) -> usize {
        match self {
            Subject::Shipped { instances, .. } => instances.len(),
            Subject::Text { .. } => 1,
        }
    }
    pub fn text(&self) -> String {
        match self {
            Subject::Shipped { name, .. } => {
                let trace = |size: usize| match self.start(size, 1) {
                    Start::Case(mut case) => {
                        print(&case.launch().and_then(|l| l.trace()).unwrap_or_else(|e| panic!("{e}")))
                    }
                    Start::Pair { .. } => String::new(),
                };
                let texts: Vec<String> = (0..self.sizes()).map(trace).collect();
                assert!(texts.iter().all(|text| *text == texts[0]), "{name}: the sizes change the text");
                texts[0].clone()
            }
            Subject::Text { name, .. } => {
                let path = super::root().join("tests/tir/mutants").join(name);
                std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
            }
        }
    }
    fn start(&self, size: usize, seed: u64) -> Start {
        match self {
            Subject::Shipped { kernel, instances, .. } => {
                let limits = Limits { target: Target::Reference, arch: None, scratch_bytes: u64::MAX };
                let word = format!("{kernel}:{}", instances[size]);
                let instance = tilewright_kernels::all().instance(&word).unwrap_or_else(|e| panic!("{e}"));
                let case = instance.case(Inputs::Random { seed }, &limits);
                Start::Case(case.unwrap_or_else(|e| panic!("{word}: {e}")))
            }
            Subject::Text { grid, depth, .. } => {
                let n = grid.num_programs().unwrap_or(0);
                let tensor = || Tensor::<i32, 1>::uninit([n]).as_any().clone();
                let config = LaunchConfig { grid: *grid, queue_depth: Some(*depth), ..LaunchConfig::default() };
                Start::Pair { tensors: Box::new([tensor(), tensor()]), config }
            }
        }
    }
    fn is_right(&self, done: &Start, whole: &Module) -> bool {
        match done {
            Start::Case(case) => case.check().unwrap_or_else(|e| panic!("{e}")).iter().all(Agreement::agrees),
            Start::Pair { tensors, .. } => {
                let change = Change { module: Arc::new(whole.clone()), depth: None, max_steps: u64::MAX };
                let right = self.outputs(0, 1, Order::Ascending, &change).unwrap_or_else(|e| panic!("{e}"));
                tensors[1].data == right[1]
            }
        }
    }
    /// The unchanged program at one size. It must pass all detectors.
    pub fn whole(&self, size: usize, whole: &Arc<Module>) -> Whole {
        let change = Change { module: Arc::clone(whole), depth: None, max_steps: u64::MAX };
        let mut start = self.start(size, 1);
        let found = detect(start.ready(&change), u64::MAX, None);
        let found = found.unwrap_or_else(|(by, e)| panic!("{} unchanged, size {size}: {by:?}\n{e}", self.name()));
        assert!(self.is_right(&start, whole), "{} unchanged, size {size}", self.name());
        found
    }
    /// All detectors on a launch at one size. `of`: the unchanged program.
    pub fn judge(&self, size: usize, change: &Change, of: (&Module, &Whole)) -> Verdict {
        let (module, whole) = of;
        let mut start = self.start(size, 1);
        if let Err(verdict) = detect(start.ready(change), change.max_steps, Some(whole)) {
            return verdict;
        }
        (if self.is_right(&start, module) { By::Nobody } else { By::Values }, Diagnostics::default())
    }
    /// All that the launch may write, after a run in some order; or what went wrong in it.
    pub fn outputs(
        &self,
        size: usize,
        seed: u64,
        order: Order,
        change: &Change,
    ) -> Result<Vec<Option<Data>>, Diagnostics> {
        let options = Options { order, max_steps: change.max_steps, ..Options::default() };
        let mut start = self.start(size, seed);
        let mut ready = start.ready(change);
        Interp::new(options).execute(once_more(&mut ready))?;
        Ok(ready.args.iter().filter_map(|arg| written(arg).map(|t| t.data.clone())).collect())
    }
    /// The smallest depth of queues that the check before a run calls enough.
    pub fn depth_needed(&self, whole: &Arc<Module>) -> u32 {
        let change = Change { module: Arc::clone(whole), depth: None, max_steps: u64::MAX };
        let mut start = self.start(0, 1);
        let ready = start.ready(&change);
        let enough = |depth: &u32| {
            let shape = Shape { depth: *depth, ..Shape::of(&ready, Mesh::default(), DEFAULT_QUEUE_DEPTH) };
            check::capacity(&shape, &CheckLimits::default()) == check::Capacity::Enough
        };
        (0..=8).find(enough).unwrap_or_else(|| panic!("{}: no depth suffices", self.name()))
    }
}

/// What is wrong with a launch, but for its values. `whole`: what the unchanged program takes and leaves.
fn detect(mut ready: Ready<'_>, max_steps: u64, whole: Option<&Whole>) -> Result<Whole, Verdict> {
    let shape = Shape::of(&ready, Mesh::default(), DEFAULT_QUEUE_DEPTH);
    check::check(&shape, &CheckLimits::default()).errors.finish().map_err(|found| {
        let by = if By::of(&found) == By::Capacity { By::Capacity } else { By::Check };
        (by, found)
    })?;
    let told = |found: Diagnostics| (By::of(&found), found);
    let given: Vec<Option<AnyTensor>> = ready.args.iter().map(|arg| written(arg).cloned()).collect();
    let options = Options { check_races: true, max_steps, ..Options::default() };
    let steps = Interp::new(options).execute(once_more(&mut ready)).map_err(told)?.steps;
    let left: Vec<usize> = ready.args.iter().map(|arg| written(arg).map_or(0, |t| t.unwritten.len())).collect();
    if whole.is_some_and(|whole| left.iter().zip(&whole.left).any(|(now, before)| now > before)) {
        return Err((By::NeverWritten, Diagnostics::default()));
    }
    // In other orders, from the same start.
    for (arg, given) in ready.args.iter_mut().zip(given) {
        if let (Arg::ViewMut(t), Some(given)) = (arg, given) {
            **t = given;
        }
    }
    let mut orders = Order::adversarial(1);
    orders.retain(|order| *order != Order::Ascending);
    EveryOrder { options, orders }.execute(once_more(&mut ready)).map_err(told)?;
    Ok(Whole { steps, left })
}

/// The same launch again, over the same tensors.
fn once_more<'a>(ready: &'a mut Ready<'_>) -> Ready<'a> {
    let args = ready.args.iter_mut().map(|arg| match arg {
        Arg::View(t) => Arg::View(t),
        Arg::ViewMut(t) => Arg::ViewMut(t),
        Arg::Scalar(v) => Arg::Scalar(*v),
    });
    Ready { module: Arc::clone(&ready.module), args: args.collect(), config: ready.config }
}

fn written<'a>(arg: &'a Arg<'_>) -> Option<&'a AnyTensor> {
    match arg {
        Arg::ViewMut(t) => Some(t),
        Arg::View(_) | Arg::Scalar(_) => None,
    }
}
