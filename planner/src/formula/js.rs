//! JavaScript of a graph, for the report page, which works offline and has no WebAssembly.

use super::graph::{Binary, Compare, Cond, Expr, Graph, Node, Unary};
use std::fmt::Write;

/// A function `name(x)`: `x` has a number for each input (a flag is 1 or 0); the result has one for each definition.
/// Operations and their order are those of the Rust formula, so that only `pow` and `log2` may differ in a last bit.
pub fn javascript(graph: &Graph, name: &str) -> String {
    let mut js = format!("function {name}(x) {{\n");
    // The type of `max` and `min` in Rust: the first operand unless the second is larger (smaller).
    js += "  const max = (a, b) => a < b ? b : a, min = (a, b) => b < a ? b : a;\n";
    for (i, d) in graph.definitions.iter().enumerate() {
        let _ = writeln!(js, "  const d{i} = {};", expr(graph, d.value));
    }
    js += "  return {";
    for (i, d) in graph.definitions.iter().enumerate() {
        let _ = write!(js, "{}{:?}: d{i}", if i == 0 { "" } else { ", " }, d.name);
    }
    js + "};\n}\n"
}

/// In brackets wherever it has parts: this text is not for the eye.
fn expr(graph: &Graph, id: Expr) -> String {
    match graph.node(id) {
        Node::Literal(value, _) => format!("{value:?}"),
        Node::Input(at) => format!("x[{:?}]", graph.inputs[at as usize].name),
        Node::Named(at) => format!("d{at}"),
        Node::Unary(op, a) => format!("{}({})", unary(op), expr(graph, a)),
        Node::Binary(op, a, b) => {
            let (a, b) = (expr(graph, a), expr(graph, b));
            match op {
                Binary::Add | Binary::Sub | Binary::Mul | Binary::Div => {
                    let sign = op.infix().map_or(' ', |(sign, _)| sign);
                    format!("({a} {sign} {b})")
                }
                Binary::Pow => format!("Math.pow({a}, {b})"),
                Binary::Max | Binary::Min => format!("{}({a}, {b})", op.name()),
            }
        }
        Node::Pick(c, yes, no) => format!("({} ? {} : {})", condition(graph, c), expr(graph, yes), expr(graph, no)),
        Node::True(_) | Node::Compare(..) | Node::And(..) | Node::Or(..) | Node::Not(_) => {
            unreachable!("a condition is no number")
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

fn condition(graph: &Graph, id: Cond) -> String {
    match graph.condition(id) {
        Node::Input(at) => format!("(x[{:?}] !== 0)", graph.inputs[at as usize].name),
        Node::True(yes) => yes.to_string(),
        Node::Compare(Compare::Less, a, b) => format!("({} < {})", expr(graph, a), expr(graph, b)),
        Node::Compare(Compare::LessOrEqual, a, b) => format!("({} <= {})", expr(graph, a), expr(graph, b)),
        Node::And(a, b) => format!("({} && {})", condition(graph, a), condition(graph, b)),
        Node::Or(a, b) => format!("({} || {})", condition(graph, a), condition(graph, b)),
        Node::Not(a) => format!("!{}", condition(graph, a)),
        Node::Literal(..) | Node::Unary(..) | Node::Binary(..) | Node::Pick(..) | Node::Named(_) => {
            unreachable!("a number is no condition")
        }
    }
}
