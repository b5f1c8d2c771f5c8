//! Figures of a compiled kernel: what a launch hands over, what the code consists of, what an assembler makes of it, and
//! how long it took.

use super::gpu::Made;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use tilewright_cuda::Compiled;
use tilewright_cuda::ptx::Class;
use tilewright_cuda::ptxas::Ptxas;

/// Names and values, in the order in which they are told.
pub(super) fn of(made: &Made) -> Map<String, Value> {
    let kernel = &made.compiled.kernel;
    let instructions = instructions(&made.compiled.printed.text);
    let mut rows = Map::new();
    rows.insert("parameters".into(), made.compiled.abi.describe(&made.compiled.module).into());
    if let Some(grid) = made.grid {
        rows.insert("grid".into(), grid.to_string().into());
    }
    rows.insert("threads".into(), kernel.threads.into());
    rows.insert("shared memory bytes".into(), kernel.shared_bytes.into());
    for class in Class::ALL {
        rows.insert(format!("virtual registers {}", class.declared()), kernel.body.count(class).into());
    }
    rows.insert("instructions".into(), instructions.values().sum::<usize>().into());
    rows.insert("by opcode".into(), json!(instructions));
    rows.insert("ptxas".into(), assembled(&made.compiled));
    rows.extend(times(made));
    rows
}

/// A line each; what is counted inside a value gets lines of its own.
pub(super) fn lines(rows: &Map<String, Value>) -> Vec<String> {
    let line = |(name, value): (&String, &Value)| match value {
        Value::Object(inside) => {
            let inside: Vec<String> = inside.iter().map(|(name, n)| format!("{name} {n}")).collect();
            format!("{name}: {}", inside.join(", "))
        }
        Value::String(text) => format!("{name}: {text}"),
        Value::Number(n) if n.is_f64() => format!("{name}: {:.2}", n.as_f64().unwrap_or_default()),
        other => format!("{name}: {other}"),
    };
    rows.iter().map(line).collect()
}

/// By opcode: of memory accesses all of it, of everything else its first word.
fn instructions(text: &str) -> BTreeMap<String, usize> {
    let mut found = BTreeMap::new();
    let body = text.split_once("\n{\n").map_or("", |(_, body)| body);
    for line in body.lines().map(str::trim).filter(|line| line.ends_with(';') && !line.starts_with('.')) {
        let opcode = line.split(' ').find(|word| !word.starts_with('@')).unwrap_or(line).trim_end_matches(';');
        let access = ["ld.", "st.", "red.", "atom."].iter().any(|memory| opcode.starts_with(memory));
        let kind = if access { opcode } else { opcode.split('.').next().unwrap_or(opcode) };
        *found.entry(kind.to_string()).or_default() += 1;
    }
    found
}

fn assembled(compiled: &Compiled) -> Value {
    let Some(ptxas) = Ptxas::find() else { return "not found (TILEWRIGHT_PTXAS, or on the path)".into() };
    match ptxas.assemble(&compiled.printed.text, compiled.kernel.target) {
        Err(said) => format!("refused: {said}").into(),
        Ok(made) => {
            let mut figures = json!({
                "registers": made.registers, "stack bytes": made.stack,
                "spill store bytes": made.spill_stores, "spill load bytes": made.spill_loads,
            });
            if !made.warnings.is_empty() {
                figures["warnings"] = made.warnings.into();
            }
            figures
        }
    }
}

/// From the Rust function to the text.
fn times(made: &Made) -> impl Iterator<Item = (String, Value)> {
    let took = made.compiled.took;
    let all = made.tracing.unwrap_or_default() + took.passes + took.lowering + took.printing;
    let parts = [("passes", took.passes), ("lowering", took.lowering), ("printing", took.printing)];
    let all = [("all", all)].into_iter().chain(made.tracing.map(|t| ("tracing", t))).chain(parts);
    all.map(|(name, time): (&str, Duration)| (format!("{name} ms"), (time.as_secs_f64() * 1e3).into()))
}
