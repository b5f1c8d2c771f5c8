//! What the commands on the cache can find wrong.

use std::io;
use std::path::Path;
use tilewright_core::diag::{CodePage, Diagnostic};

const UNUSABLE: &str = "TW-E0650";

pub const CODES: &[CodePage] = &[CodePage {
    code: UNUSABLE,
    title: "the folder of cached machine code cannot be used",
    page: "Machine code that the NVIDIA driver made of kernels is kept in a folder, so that the next process starts sooner: \
           `tilewright cache path` prints where. `TILEWRIGHT_CACHE_DIR` names another folder, and turns the cache off if it is \
           empty. Kernels run without the cache, too; a launch never fails because of it.",
}];

/// `what`: "list", "clear".
pub fn unusable(what: &str, dir: &Path, why: &io::Error) -> Diagnostic {
    Diagnostic::new(UNUSABLE, format!("cannot {what} the cache {}: {why}", dir.display()))
        .next(format!("name a folder that you may write: {}=FOLDER", super::VARIABLE))
}
