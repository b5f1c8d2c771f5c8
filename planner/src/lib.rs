//! The planner: a closed-form model of LLM inference on AHBM, in microseconds a point. Does a model fit, how long does a
//! step take, what binds it, which parallelism, which machine?
//!
//! From the bottom: `formula` is what formulas are written in; `model`, `machine` and `topology` are what a user gives, as
//! types that are checked once; `inputs` is all of it as numbers. The formulas: `placement` and `shards` (who does what),
//! `stages` (a layer), `memory`, `step` (the whole), `roofline`. The searches: `suggest`, `explore`, `hardware`,
//! `sensitivity`, with `pareto`. `options` names every departure from the baseline model. `picture` draws, `report` is the page.
//!
//! Kept true: nothing here simulates events, reads a clock or knows the simulator. Units: seconds, bytes, floating-point
//! operations (a multiply-add is two); GB is 1e9 bytes.

pub mod cost;
pub mod effects;
pub mod errors;
pub mod explain;
pub mod explore;
pub mod fanin;
pub mod fanout;
pub mod formula;
pub mod hardware;
pub mod inputs;
pub mod machine;
pub mod memory;
pub mod model;
pub mod options;
pub mod pareto;
pub mod picture;
pub mod placement;
pub mod replication;
pub mod report;
pub mod roofline;
pub mod sensitivity;
pub mod shapes;
pub mod shards;
pub mod size;
pub mod spec_search;
pub mod stages;
pub mod step;
pub mod suggest;
pub mod topology;
pub mod view;
