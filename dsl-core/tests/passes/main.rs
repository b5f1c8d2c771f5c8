//! The passes over modules: texts before and after, and that no run can tell the difference.

mod bounds;
mod facts;
mod meaning;
mod snapshots;
