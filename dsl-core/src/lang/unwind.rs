//! Ends of a body that do not return: a panic of host code in it, which becomes a diagnostic, and the tracer's own abort.

use crate::ir::loc::Place;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

/// How a body ended.
pub(crate) enum Ended {
    Returned,
    /// By `abort`.
    Aborted,
    Panicked {
        text: String,
        at: Option<Place>,
    },
}

struct Abort;

/// Leaves the body that is being traced, without a panic message.
pub(crate) fn abort() -> ! {
    panic::resume_unwind(Box::new(Abort))
}

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
    static PANIC: RefCell<Option<(String, Option<Place>)>> = const { RefCell::new(None) };
}

/// Runs a body. A panic in it prints nothing: it is told by the diagnostic.
pub(crate) fn catch(body: &dyn Fn()) -> Ended {
    install_hook();
    DEPTH.set(DEPTH.get() + 1);
    let ended = panic::catch_unwind(AssertUnwindSafe(body));
    DEPTH.set(DEPTH.get() - 1);
    match ended {
        Ok(()) => Ended::Returned,
        Err(payload) if payload.is::<Abort>() => Ended::Aborted,
        Err(payload) => {
            let (text, at) = PANIC.take().unwrap_or_else(|| (message(payload.as_ref()), None));
            Ended::Panicked { text, at }
        }
    }
}

/// The place of a panic is known to the hook only. Ours keeps it for threads that trace, and is not there for others.
fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if DEPTH.get() == 0 {
                return before(info);
            }
            PANIC.set(Some((message(info.payload()), place(info))));
        }));
    });
}
fn place(info: &PanicHookInfo<'_>) -> Option<Place> {
    info.location().map(|l| Place { file: l.file().into(), line: l.line(), col: l.column() })
}
fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| s.to_string());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}
