//! Formulas for the eye: infix, with the fewest brackets, and once more with the numbers in them.

use super::graph::{Binary, Compare, Cond, Definition, Expr, Graph, Node, Unary};

/// A formula, the same with numbers, and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Substituted {
    pub name: String,
    pub formula: String,
    pub numbers: String,
    pub value: f64,
    /// As `B/s`; empty for a count.
    pub unit: String,
    pub reason: &'static str,
}

/// `2 * B * T * d`.
pub fn formula_text(graph: &Graph, of: &Definition) -> String {
    Printer { graph, values: None, marked: false }.expr(of.value, 0)
}

/// As [`formula_text`], each name in braces, so that it can be replaced by a number: `2 * {B} * {T}`.
pub fn formula_template(graph: &Graph, of: &Definition) -> String {
    Printer { graph, values: None, marked: true }.expr(of.value, 0)
}

/// Every definition with the numbers of these inputs; of a choice, only the arm that holds.
pub fn substituted(graph: &Graph, inputs: &[f64]) -> Vec<Substituted> {
    let values = graph.node_values(inputs);
    let print = |d: &Definition| {
        let chosen = Printer { graph, values: Some((&values, Show::Names)), marked: false };
        let numbers = Printer { graph, values: Some((&values, Show::Numbers)), marked: false };
        Substituted {
            name: d.name.clone(),
            formula: chosen.expr(d.value, 0),
            numbers: numbers.expr(d.value, 0),
            value: values[Graph::index(d.value)],
            unit: d.unit.to_string(),
            reason: d.reason,
        }
    };
    graph.definitions.iter().map(print).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Show {
    Names,
    Numbers,
}

struct Printer<'a> {
    graph: &'a Graph,
    /// The values of all nodes, where choices are decided.
    values: Option<(&'a [f64], Show)>,
    /// Names are in braces.
    marked: bool,
}

impl Printer<'_> {
    fn expr(&self, id: Expr, outer: u8) -> String {
        let (text, own) = match self.graph.node(id) {
            Node::Literal(value, _) => (number(value), ATOM),
            Node::Input(at) => (self.leaf(id, self.graph.inputs[at as usize].name), ATOM),
            Node::Named(at) => (self.leaf(id, &self.graph.definitions[at as usize].name), ATOM),
            Node::Unary(op, a) => (format!("{}({})", op.name(), self.expr(a, 0)), ATOM),
            Node::Binary(op, a, b) => match op.infix() {
                Some((sign, level)) => (format!("{} {sign} {}", self.expr(a, level), self.expr(b, level + 1)), level),
                None => (format!("{}({}, {})", op.name(), self.expr(a, 0), self.expr(b, 0)), ATOM),
            },
            Node::Pick(c, yes, no) => match self.values {
                Some((values, _)) if values[Graph::cond_index(c)] != 0.0 => return self.expr(yes, outer),
                Some(_) => return self.expr(no, outer),
                None => {
                    let (c, yes, no) = (self.condition(c), self.expr(yes, 1), self.expr(no, 1));
                    (format!("{yes} if {c} else {no}"), 0)
                }
            },
            Node::True(_) | Node::Compare(..) | Node::And(..) | Node::Or(..) | Node::Not(_) => {
                unreachable!("a condition is no number")
            }
        };
        if own < outer { format!("({text})") } else { text }
    }
    fn leaf(&self, id: Expr, name: &str) -> String {
        match self.values {
            Some((values, Show::Numbers)) => number(values[Graph::index(id)]),
            _ => self.name(name),
        }
    }
    fn name(&self, name: &str) -> String {
        if self.marked { format!("{{{name}}}") } else { name.to_string() }
    }
    fn condition(&self, id: Cond) -> String {
        match self.graph.condition(id) {
            Node::Input(at) => self.name(self.graph.inputs[at as usize].name),
            Node::True(yes) => yes.to_string(),
            Node::Compare(Compare::Less, a, b) => format!("{} < {}", self.expr(a, 1), self.expr(b, 1)),
            Node::Compare(Compare::LessOrEqual, a, b) => format!("{} <= {}", self.expr(a, 1), self.expr(b, 1)),
            Node::And(a, b) => format!("({} and {})", self.condition(a), self.condition(b)),
            Node::Or(a, b) => format!("({} or {})", self.condition(a), self.condition(b)),
            Node::Not(a) => format!("not {}", self.condition(a)),
            Node::Literal(..) | Node::Unary(..) | Node::Binary(..) | Node::Pick(..) | Node::Named(_) => {
                unreachable!("a number is no condition")
            }
        }
    }
}

const ATOM: u8 = 9;

impl Unary {
    pub(super) fn name(self) -> &'static str {
        match self {
            Unary::Floor => "floor",
            Unary::Ceil => "ceil",
            Unary::Sqrt => "sqrt",
            Unary::Log2 => "log2",
        }
    }
}

impl Binary {
    pub(super) fn name(self) -> &'static str {
        match self {
            Binary::Add => "add",
            Binary::Sub => "sub",
            Binary::Mul => "mul",
            Binary::Div => "div",
            Binary::Pow => "pow",
            Binary::Max => "max",
            Binary::Min => "min",
        }
    }
    /// Sign, and how tightly it binds.
    pub(super) fn infix(self) -> Option<(char, u8)> {
        match self {
            Binary::Add => Some(('+', 1)),
            Binary::Sub => Some(('-', 1)),
            Binary::Mul => Some(('*', 3)),
            Binary::Div => Some(('/', 3)),
            Binary::Pow | Binary::Max | Binary::Min => None,
        }
    }
}

/// Whole numbers in full, others with the digits that tell them apart up to six.
fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{value:.0}")
    } else if (1e-3..1e6).contains(&value.abs()) {
        let text = format!("{value:.6}");
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        let text = format!("{value:.5e}");
        match text.split_once('e') {
            Some((digits, power)) => format!("{}e{power}", digits.trim_end_matches('0').trim_end_matches('.')),
            None => text,
        }
    }
}
