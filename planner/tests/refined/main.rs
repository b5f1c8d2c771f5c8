//! The refined model: what each option changes on a case of the golden files, what is known of models and caches, and what
//! holds for every deployment.

mod cases;
mod files;
mod formulas;
mod invariants;
mod layers;
mod searches;
mod support;
mod traffic;
