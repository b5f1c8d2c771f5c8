//! The report: one page of HTML that works offline. The reader turns knobs; formulas and pictures follow, in the JavaScript
//! that `formula::javascript` makes of the same formulas. `data.rs`: what the page is given; `page.rs`: its text and
//! controls; `js/`: pictures (twins of `crate::picture`) and the handling of controls.
//!
//! Kept true: the page asks no server for anything; figures on it are those of this crate (the tests run the page's
//! JavaScript in Node and the page in a browser, and compare).

mod data;
pub mod outputs;
mod page;

use crate::machine::Machine;
use crate::model::Model;
use crate::options::Options;
use crate::topology::{Topology, Work};

/// What the page starts from.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    pub model: &'a Model,
    pub machine: &'a Machine,
    pub machine_name: String,
    pub topology: Topology,
    pub work: Work,
    /// The method that is chosen first; the reader can change to the baseline, and to all options.
    pub options: Options,
    /// What a result says of itself: name and text.
    pub facts: Vec<(String, String)>,
}

impl Report<'_> {
    /// The page, with everything in it.
    pub fn html(&self) -> String {
        page::page(self)
    }
    /// Data, formulas, pictures and searches: the page's script without the handling of its controls.
    pub fn script(&self) -> String {
        let pictures = [
            include_str!("js/scene.js"),
            include_str!("js/plot.js"),
            include_str!("js/deployment.js"),
            include_str!("js/charts.js"),
            include_str!("js/sizing.js"),
        ];
        format!("\"use strict\";\n{}{}", data::script(self), pictures.concat())
    }
    /// The methods that the page offers, in its order.
    pub fn methods(&self) -> Vec<Options> {
        let mut methods = vec![self.options];
        methods.extend([Options::refined(), Options::BASELINE].into_iter().filter(|o| *o != self.options));
        methods.dedup();
        methods
    }
}
