//! The report page against the planner: its formulas and pictures in Node, its controls in a browser. What is not
//! installed is said in a line `skipped: WHAT (WHY)`.

mod browser;
mod figures;
mod random;
mod support;
