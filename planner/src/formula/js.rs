//! JavaScript of a graph, for the report page, which works offline and has no WebAssembly.

use super::Num;
use super::graph::{Binary, Compare, Cond, Expr, Graph, Node, Unary};
use std::fmt::Write;

/// A result of a formula: a number, or a yes or no.
#[derive(Clone, Copy, Debug)]
pub enum Output<N: Num> {
    Number(N),
    Truth(N::Bool),
}

impl Output<f64> {
    /// As JavaScript gives it: a yes or no is 1 or 0.
    pub fn value(self) -> f64 {
        match self {
            Output::Number(x) => x,
            Output::Truth(yes) => f64::from(u8::from(yes)),
        }
    }
}

/// A function `name(x)`: `x` has a number for each input (a flag is 1 or 0), the result one for each output. Operations
/// and their order are those of the Rust formula, so that only `pow` and `log2` may differ in a last bit. What no output
/// needs is left out, what several need is computed once.
pub fn javascript(graph: &Graph, name: &str, outputs: &[(String, Output<Expr>)]) -> String {
    let writer = Writer { graph, uses: uses(graph, outputs) };
    let mut js = format!("function {name}(x) {{\n");
    // As `Num::max` and `Num::min`: the first operand unless the second is larger (smaller).
    js += "  const max = (a, b) => a < b ? b : a, min = (a, b) => b < a ? b : a;\n";
    for (at, node) in graph.nodes.iter().enumerate() {
        if writer.uses[at] > 1 && !is_leaf(node) {
            let _ = writeln!(js, "  const n{at} = {};", writer.operation(node));
        }
    }
    js += "  return {";
    for (i, (key, output)) in outputs.iter().enumerate() {
        let value = match *output {
            Output::Number(id) => writer.at(Graph::index(id)),
            Output::Truth(id) => format!("{} ? 1 : 0", writer.at(Graph::cond_index(id))),
        };
        let _ = write!(js, "{}{key:?}: {value}", if i == 0 { "" } else { ", " });
    }
    js + "};\n}\n"
}

/// How many nodes and outputs read each node, of those that an output needs.
fn uses(graph: &Graph, outputs: &[(String, Output<Expr>)]) -> Vec<u32> {
    let mut uses = vec![0; graph.nodes.len()];
    for (_, output) in outputs {
        match *output {
            Output::Number(id) => uses[Graph::index(id)] += 1,
            Output::Truth(id) => uses[Graph::cond_index(id)] += 1,
        }
    }
    // Operands come before what uses them, so that one walk backwards meets each node after all its readers.
    for at in (0..graph.nodes.len()).rev() {
        // A name is written as what it stands for, at each of its readers.
        let times = if let Node::Named(_) = graph.nodes[at] { uses[at] } else { uses[at].min(1) };
        operands(graph, &graph.nodes[at]).into_iter().flatten().for_each(|operand| uses[operand] += times);
    }
    uses
}

fn operands(graph: &Graph, node: &Node) -> [Option<usize>; 3] {
    let (expr, cond) = (|id: Expr| Some(Graph::index(id)), |id: Cond| Some(Graph::cond_index(id)));
    match *node {
        Node::Literal(..) | Node::Input(_) | Node::True(_) => [None; 3],
        Node::Unary(_, a) => [expr(a), None, None],
        Node::Binary(_, a, b) | Node::Compare(_, a, b) => [expr(a), expr(b), None],
        Node::Pick(c, a, b) => [cond(c), expr(a), expr(b)],
        Node::Named(d) => [expr(graph.definitions[d as usize].value), None, None],
        Node::And(a, b) | Node::Or(a, b) => [cond(a), cond(b), None],
        Node::Not(a) => [cond(a), None, None],
    }
}

/// Shorter than the name it would get.
fn is_leaf(node: &Node) -> bool {
    matches!(node, Node::Literal(..) | Node::Input(_) | Node::True(_) | Node::Named(_))
}

struct Writer<'g> {
    graph: &'g Graph,
    uses: Vec<u32>,
}

impl Writer<'_> {
    /// A node where it is read.
    fn at(&self, at: usize) -> String {
        let node = &self.graph.nodes[at];
        if self.uses[at] > 1 && !is_leaf(node) { format!("n{at}") } else { self.operation(node) }
    }
    fn expr(&self, id: Expr) -> String {
        self.at(Graph::index(id))
    }
    /// An input that is read as a condition is a flag.
    fn cond(&self, id: Cond) -> String {
        match self.graph.condition(id) {
            Node::Input(_) => format!("({} !== 0)", self.at(Graph::cond_index(id))),
            _ => self.at(Graph::cond_index(id)),
        }
    }
    /// In brackets wherever it has parts: this text is not for the eye.
    fn operation(&self, node: &Node) -> String {
        match *node {
            Node::Literal(value, _) => format!("{value:?}"),
            Node::Input(at) => format!("x[{:?}]", self.graph.inputs[at as usize].name),
            Node::Named(d) => self.expr(self.graph.definitions[d as usize].value),
            Node::Unary(op, a) => format!("{}({})", unary(op), self.expr(a)),
            Node::Binary(op, a, b) => {
                let (a, b) = (self.expr(a), self.expr(b));
                match op {
                    Binary::Add => format!("({a} + {b})"),
                    Binary::Sub => format!("({a} - {b})"),
                    Binary::Mul => format!("({a} * {b})"),
                    Binary::Div => format!("({a} / {b})"),
                    Binary::Pow => format!("Math.pow({a}, {b})"),
                    Binary::Max | Binary::Min => format!("{}({a}, {b})", op.name()),
                }
            }
            Node::Pick(c, yes, no) => format!("({} ? {} : {})", self.cond(c), self.expr(yes), self.expr(no)),
            Node::True(yes) => yes.to_string(),
            Node::Compare(Compare::Less, a, b) => format!("({} < {})", self.expr(a), self.expr(b)),
            Node::Compare(Compare::LessOrEqual, a, b) => format!("({} <= {})", self.expr(a), self.expr(b)),
            Node::And(a, b) => format!("({} && {})", self.cond(a), self.cond(b)),
            Node::Or(a, b) => format!("({} || {})", self.cond(a), self.cond(b)),
            Node::Not(a) => format!("!{}", self.cond(a)),
        }
    }
}

fn unary(op: Unary) -> &'static str {
    match op {
        Unary::Floor => "Math.floor",
        Unary::Ceil => "Math.ceil",
        Unary::Sqrt => "Math.sqrt",
        Unary::Log2 => "Math.log2",
    }
}
