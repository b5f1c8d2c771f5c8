//! One launch in many orders: its values must be the same to the bit.

use super::{Options, Order, Outcome, codes, run};
use crate::data::Data;
use crate::diag::{Diagnostic, Diagnostics};
use crate::launch::{Arg, Backend, Ready};
use crate::tensor::AnyTensor;

/// A backend that runs a launch once for each order. A kernel without races passes.
#[derive(Clone, Debug)]
pub struct EveryOrder {
    /// Of each run, but for the order.
    pub options: Options,
    pub orders: Vec<Order>,
}

impl Default for EveryOrder {
    /// The extremes and three random orders, with the check for races.
    fn default() -> EveryOrder {
        EveryOrder { options: Options { check_races: true, ..Options::default() }, orders: Order::adversarial(3) }
    }
}

impl Backend for EveryOrder {
    /// Of the last run.
    type Report = Outcome;
    /// # Errors
    /// Those of the first run that has some; or what differs between two orders.
    fn execute(&mut self, ready: Ready<'_>) -> Result<Outcome, Diagnostics> {
        let Ready { module, mut args, config } = ready;
        let given: Vec<Option<AnyTensor>> = args.iter().map(|arg| output(arg).cloned()).collect();
        let mut first: Option<(Order, Vec<Option<Data>>, Outcome)> = None;
        for &order in &self.orders {
            for (arg, given) in args.iter_mut().zip(&given) {
                if let (Arg::ViewMut(t), Some(given)) = (arg, given) {
                    (**t).clone_from(given);
                }
            }
            let again = Ready { module: module.clone(), args: args.iter_mut().map(borrow).collect(), config };
            let outcome = run(again, &Options { order, ..self.options })?;
            let Some((known_order, known, known_outcome)) = &first else {
                let values = args.iter().map(|arg| output(arg).and_then(|t| t.data.clone())).collect();
                first = Some((order, values, outcome));
                continue;
            };
            let differs = |at: String| Err(differ(&module.name, (*known_order, order), at).into());
            for (i, (arg, known)) in args.iter().zip(known).enumerate() {
                let now = output(arg).and_then(|t| t.data.as_ref());
                if let (Some(now), Some(known)) = (now, known)
                    && let Some(element) = difference(now, known)
                {
                    let param = module.params.get(i).and_then(|v| module.value(*v).name.as_deref()).unwrap_or("?");
                    let (a, b) = (known.get(element), now.get(element));
                    return differs(format!("element {element} of `{param}` is {a}, then {b}"));
                }
            }
            if known_outcome.prints != outcome.prints {
                return differs("other lines are printed".to_string());
            }
        }
        Ok(first.map(|(.., outcome)| outcome).unwrap_or_default())
    }
}

fn output<'a>(arg: &'a Arg<'_>) -> Option<&'a AnyTensor> {
    match arg {
        Arg::ViewMut(t) => Some(t),
        Arg::View(_) | Arg::Scalar(_) => None,
    }
}
fn borrow<'a>(arg: &'a mut Arg<'_>) -> Arg<'a> {
    match arg {
        Arg::View(t) => Arg::View(t),
        Arg::ViewMut(t) => Arg::ViewMut(t),
        Arg::Scalar(v) => Arg::Scalar(*v),
    }
}
/// The first element whose bits differ; NaNs and signs of zero count.
fn difference(a: &Data, b: &Data) -> Option<usize> {
    (0..a.len().min(b.len())).find(|i| a.get(*i).bits != b.get(*i).bits)
}
fn differ(kernel: &str, (a, b): (Order, Order), what: String) -> Diagnostic {
    Diagnostic::new(codes::ORDER, format!("`{kernel}` gives other values when its programs run in another order"))
        .note(format!("order {a:?} against {b:?}: {what}"))
        .next("look for a race: two programs that access one element without a barrier between")
}
