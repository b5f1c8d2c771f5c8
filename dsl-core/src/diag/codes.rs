//! The registry of error codes: every crate declares its own table, `tilewright explain` and the uniqueness test read all.
//! Ranges: 01xx macro and trace, 02xx IR and `.tir`, 03xx queues and checkers, 04xx machine files, 05xx launch contracts,
//! 06xx CUDA, 07xx planner, 08xx command line. A code is never reused.

/// What `tilewright explain` says of a code.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodePage {
    pub code: &'static str,
    /// One line, lower case, without the particulars.
    pub title: &'static str,
    /// Why it is an error and what to do, in a few sentences, with a small example where one helps.
    pub page: &'static str,
}
