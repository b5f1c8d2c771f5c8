//! Expressions that a formula leaves behind when it runs on [`Expr`]. Handles are ids into the graph of the current
//! [`Graph::trace`], so that formulas copy them like numbers.

use super::{Dim, Num};
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Sub};

/// A number in a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expr(u32);

/// A condition in a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cond(u32);

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Node {
    Literal(f64, Dim),
    /// Position in [`Graph::inputs`].
    Input(u32),
    Unary(Unary, Expr),
    Binary(Binary, Expr, Expr),
    Pick(Cond, Expr, Expr),
    /// Position in [`Graph::definitions`].
    Named(u32),
    True(bool),
    Compare(Compare, Expr, Expr),
    And(Cond, Cond),
    Or(Cond, Cond),
    Not(Cond),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unary {
    Floor,
    Ceil,
    Sqrt,
    Log2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Binary {
    Add,
    Sub,
    Mul,
    Div,
    Pow,
    Max,
    Min,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compare {
    Less,
    LessOrEqual,
}

/// An input of the formulas: a number, or a yes or no (as 1 or 0).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Input {
    pub name: &'static str,
    pub unit: Dim,
    pub what: &'static str,
    pub is_flag: bool,
}

/// A named value.
#[derive(Clone, Debug, PartialEq)]
pub struct Definition {
    pub name: String,
    pub unit: Dim,
    /// Why the formula is what it is, or what it counts; may be empty.
    pub reason: &'static str,
    pub value: Expr,
}

/// Named expressions over inputs, each after those it uses.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub(super) nodes: Vec<Node>,
    pub inputs: Vec<Input>,
    pub definitions: Vec<Definition>,
}

thread_local! {
    static GRAPH: RefCell<Graph> = RefCell::default();
}

fn push(node: Node) -> u32 {
    GRAPH.with_borrow_mut(|graph| graph.push(node))
}

impl Graph {
    /// Runs a formula on expressions and gives what it leaves.
    pub fn trace<R>(formula: impl FnOnce() -> R) -> (Graph, R) {
        let outer = GRAPH.take();
        let result = formula();
        (GRAPH.replace(outer), result)
    }
    fn push(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        u32::try_from(self.nodes.len() - 1).expect("formulas have far fewer than 2^32 operations")
    }
    /// Declares an input of the graph that is being traced.
    pub(crate) fn input(input: Input) -> Expr {
        GRAPH.with_borrow_mut(|graph| {
            let at = u32::try_from(graph.inputs.len()).expect("few inputs");
            graph.inputs.push(input);
            Expr(graph.push(Node::Input(at)))
        })
    }
    /// As [`Graph::input`], of a yes or no.
    pub(crate) fn flag(input: Input) -> Cond {
        Cond(Graph::input(input).0)
    }
    pub(super) fn node(&self, id: Expr) -> Node {
        self.nodes[id.0 as usize]
    }
    pub(super) fn condition(&self, id: Cond) -> Node {
        self.nodes[id.0 as usize]
    }
    /// A definition by its name.
    pub fn find(&self, name: &str) -> Option<&Definition> {
        self.definitions.iter().find(|d| d.name == name)
    }
    /// The name of a value that was defined.
    pub fn name_of(&self, value: Expr) -> Option<&str> {
        match self.node(value) {
            Node::Named(at) => Some(&self.definitions[at as usize].name),
            _ => None,
        }
    }
    /// The values of all definitions for these inputs, in the order of `inputs`; a flag is 1 or 0.
    ///
    /// # Panics
    /// The inputs are not as many as the graph has.
    pub fn evaluate(&self, inputs: &[f64]) -> Vec<f64> {
        let values = self.node_values(inputs);
        self.definitions.iter().map(|d| values[d.value.0 as usize]).collect()
    }
    /// The value of every node; of a condition, 1 or 0.
    pub(super) fn node_values(&self, inputs: &[f64]) -> Vec<f64> {
        assert_eq!(inputs.len(), self.inputs.len(), "one value for each input");
        let mut values: Vec<f64> = Vec::with_capacity(self.nodes.len());
        let truth = |yes: bool| f64::from(u8::from(yes));
        for node in &self.nodes {
            let at = |id: Expr| values[id.0 as usize];
            let holds = |id: Cond| values[id.0 as usize] != 0.0;
            let value = match *node {
                Node::Literal(value, _) => value,
                Node::Input(at) => inputs[at as usize],
                Node::Unary(op, a) => op.apply(at(a)),
                Node::Binary(op, a, b) => op.apply(at(a), at(b)),
                Node::Pick(c, a, b) => {
                    if holds(c) {
                        at(a)
                    } else {
                        at(b)
                    }
                }
                Node::Named(d) => at(self.definitions[d as usize].value),
                Node::True(yes) => truth(yes),
                Node::Compare(Compare::Less, a, b) => truth(at(a) < at(b)),
                Node::Compare(Compare::LessOrEqual, a, b) => truth(at(a) <= at(b)),
                Node::And(a, b) => truth(holds(a) && holds(b)),
                Node::Or(a, b) => truth(holds(a) || holds(b)),
                Node::Not(a) => truth(!holds(a)),
            };
            values.push(value);
        }
        values
    }
    pub(super) fn index(id: Expr) -> usize {
        id.0 as usize
    }
    pub(super) fn cond_index(id: Cond) -> usize {
        id.0 as usize
    }
    /// Finds the unit of every definition again from the units of the inputs: the first that does not come out as
    /// declared, or that adds what cannot be added.
    ///
    /// # Errors
    /// The name of the definition, and what is wrong with it.
    pub fn check_units(&self) -> Result<(), String> {
        // `None`: zero, or the result of a mistake that was told already.
        let mut units: Vec<Option<Dim>> = Vec::with_capacity(self.nodes.len());
        for (i, node) in self.nodes.iter().enumerate() {
            let at = |id: Expr| units[id.0 as usize];
            let same = |a: Expr, b: Expr| match (at(a), at(b)) {
                (Some(a), Some(b)) if a != b => Err(format!("`{a}` and `{b}` meet in {}", self.around(i))),
                (a, b) => Ok(a.or(b)),
            };
            units.push(match *node {
                Node::Literal(0.0, _) => None,
                Node::Literal(_, unit) => Some(unit),
                Node::Input(at) => Some(self.inputs[at as usize].unit),
                Node::Unary(Unary::Floor | Unary::Ceil, a) => at(a),
                Node::Unary(Unary::Sqrt, a) => at(a).and_then(Dim::sqrt),
                Node::Unary(Unary::Log2, _) | Node::Binary(Binary::Pow, ..) => Some(Dim::ONE),
                Node::Binary(Binary::Add | Binary::Sub | Binary::Max | Binary::Min, a, b) => same(a, b)?,
                Node::Binary(Binary::Mul, a, b) => at(a).zip(at(b)).map(|(a, b)| a * b),
                Node::Binary(Binary::Div, a, b) => at(a).zip(at(b)).map(|(a, b)| a / b),
                Node::Pick(_, a, b) => same(a, b)?,
                Node::Named(d) => Some(self.definitions[d as usize].unit),
                Node::Compare(_, a, b) => {
                    same(a, b)?;
                    None
                }
                Node::True(_) | Node::And(..) | Node::Or(..) | Node::Not(_) => None,
            });
        }
        for d in &self.definitions {
            if let Some(found) = units[d.value.0 as usize]
                && found != d.unit
            {
                return Err(format!("{} is declared as `{}` and comes out as `{found}`", d.name, d.unit));
            }
        }
        Ok(())
    }
    /// The definition that a node belongs to.
    fn around(&self, node: usize) -> &str {
        let owner = self.definitions.iter().find(|d| d.value.0 as usize >= node);
        owner.map_or("what no name was given to", |d| &d.name)
    }
}

impl Unary {
    fn apply(self, a: f64) -> f64 {
        match self {
            Unary::Floor => Num::floor(a),
            Unary::Ceil => Num::ceil(a),
            Unary::Sqrt => Num::sqrt(a),
            Unary::Log2 => Num::log2(a),
        }
    }
}

impl Binary {
    fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Binary::Add => a + b,
            Binary::Sub => a - b,
            Binary::Mul => a * b,
            Binary::Div => a / b,
            Binary::Pow => Num::pow(a, b),
            Binary::Max => Num::max(a, b),
            Binary::Min => Num::min(a, b),
        }
    }
}

macro_rules! operator {
    ($trait:ident, $method:ident) => {
        impl $trait for Expr {
            type Output = Expr;
            fn $method(self, other: Expr) -> Expr {
                Expr(push(Node::Binary(Binary::$trait, self, other)))
            }
        }
    };
}
operator!(Add, add);
operator!(Sub, sub);
operator!(Mul, mul);
operator!(Div, div);

impl Num for Expr {
    type Bool = Cond;

    fn lit(value: f64) -> Expr {
        Expr(push(Node::Literal(value, Dim::ONE)))
    }
    fn flop(value: f64) -> Expr {
        Expr(push(Node::Literal(value, Dim::FLOP)))
    }
    fn bytes(value: f64) -> Expr {
        Expr(push(Node::Literal(value, Dim::BYTE)))
    }
    fn seconds(value: f64) -> Expr {
        Expr(push(Node::Literal(value, Dim::SECOND)))
    }
    fn floor(self) -> Expr {
        Expr(push(Node::Unary(Unary::Floor, self)))
    }
    fn ceil(self) -> Expr {
        Expr(push(Node::Unary(Unary::Ceil, self)))
    }
    fn sqrt(self) -> Expr {
        Expr(push(Node::Unary(Unary::Sqrt, self)))
    }
    fn pow(self, exponent: Expr) -> Expr {
        Expr(push(Node::Binary(Binary::Pow, self, exponent)))
    }
    fn log2(self) -> Expr {
        Expr(push(Node::Unary(Unary::Log2, self)))
    }
    fn max(self, other: Expr) -> Expr {
        Expr(push(Node::Binary(Binary::Max, self, other)))
    }
    fn min(self, other: Expr) -> Expr {
        Expr(push(Node::Binary(Binary::Min, self, other)))
    }
    fn lt(self, other: Expr) -> Cond {
        Cond(push(Node::Compare(Compare::Less, self, other)))
    }
    fn le(self, other: Expr) -> Cond {
        Cond(push(Node::Compare(Compare::LessOrEqual, self, other)))
    }
    fn always(value: bool) -> Cond {
        Cond(push(Node::True(value)))
    }
    fn and(a: Cond, b: Cond) -> Cond {
        Cond(push(Node::And(a, b)))
    }
    fn or(a: Cond, b: Cond) -> Cond {
        Cond(push(Node::Or(a, b)))
    }
    fn not(a: Cond) -> Cond {
        Cond(push(Node::Not(a)))
    }
    fn pick(condition: Cond, yes: impl FnOnce() -> Expr, no: impl FnOnce() -> Expr) -> Expr {
        let (yes, no) = (yes(), no());
        Expr(push(Node::Pick(condition, yes, no)))
    }
    fn def(self, name: &'static str, unit: Dim, reason: &'static str) -> Expr {
        define(name.to_string(), unit, reason, self)
    }
    fn def_part(self, stem: &'static str, part: &'static str, unit: Dim) -> Expr {
        define(format!("{stem}.{part}"), unit, "", self)
    }
}

fn define(name: String, unit: Dim, reason: &'static str, value: Expr) -> Expr {
    GRAPH.with_borrow_mut(|graph| {
        // A name that comes back (a helper that runs twice) is numbered.
        let again = graph.definitions.iter().filter(|d| d.name == name || d.name.starts_with(&format!("{name}#")));
        let name = match again.count() {
            0 => name,
            n => format!("{name}#{}", n + 1),
        };
        let at = u32::try_from(graph.definitions.len()).expect("few definitions");
        graph.definitions.push(Definition { name, unit, reason, value });
        Expr(graph.push(Node::Named(at)))
    })
}
