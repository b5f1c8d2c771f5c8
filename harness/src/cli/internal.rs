//! The last net: a panic is told as an internal error with a request to report it, without a backtrace.

use super::print_errors;
use crate::errors;
use std::any::Any;
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Mutex, PoisonError};

const INTERNAL: u8 = 3;

/// Where the last panic happened: the hook knows it, the payload does not.
static PLACE: Mutex<String> = Mutex::new(String::new());

/// Runs the work; the exit code is its own, or 3 if it panicked on this thread or on one it waits for.
pub(super) fn guarded(work: impl FnOnce() -> u8) -> u8 {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(|l| format!(" ({}:{})", l.file(), l.line())).unwrap_or_default();
        *PLACE.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }));
    let result = panic::catch_unwind(AssertUnwindSafe(work));
    panic::set_hook(hook);
    result.unwrap_or_else(|payload| {
        let place = PLACE.lock().unwrap_or_else(PoisonError::into_inner).clone();
        print_errors(&errors::internal(&format!("{}{place}", message(payload.as_ref()))).into());
        INTERNAL
    })
}

fn message(payload: &dyn Any) -> &str {
    let text = payload.downcast_ref::<&str>().copied();
    text.or(payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a message")
}
