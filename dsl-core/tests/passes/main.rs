//! The passes over modules: texts before and after, and that no run can tell the difference.

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../common/mod.rs"]
mod common;

mod bounds;
mod facts;
mod meaning;
mod snapshots;
