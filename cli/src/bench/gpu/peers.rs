//! Rows of other programs, one JSON object a line: `{"peer": …, "op": …, "shape": {…}, "us": …}`. Lines that do not begin an
//! object are what a program said beside its rows, and rows without `us` measure something else than a time.

use super::work::{Key, Shape};
use crate::errors;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tilewright_core::diag::Diagnostics;
use tilewright_harness::errors::unreadable;

/// What this program calls its own rows: no peer's.
const OWN: [&str; 2] = ["tilewright", "device"];
/// Of a file, in bytes: rows of a hundred thousand shapes.
const MAX_BYTES: u64 = 16 << 20;

/// The time of a peer.
#[derive(Clone, Debug, PartialEq)]
pub struct Peer {
    pub name: String,
    pub op: String,
    pub shape: Shape,
    pub us: f64,
}

/// All peers' times, by work.
#[derive(Debug, Default)]
pub struct Peers(BTreeMap<Key, Vec<Peer>>);

impl Peers {
    /// Of a file, or of all files of a folder that end in `.json` or `.jsonl`.
    ///
    /// # Errors
    /// A file cannot be read, a line begins an object and is no row, or there is no row at all.
    pub fn open(path: &Path) -> Result<Peers, Diagnostics> {
        let mut peers = Peers::default();
        for file in files(path)? {
            let size = std::fs::metadata(&file).map_err(|e| unreadable(&file, e))?.len();
            if size > MAX_BYTES {
                let why = format!("{size} B; a file of rows has at most {MAX_BYTES} B");
                return Err(errors::peers(&file.display().to_string(), why).into());
            }
            let text = std::fs::read(&file).map_err(|e| unreadable(&file, e))?;
            peers.read(&file.display().to_string(), &String::from_utf8_lossy(&text))?;
        }
        if peers.0.is_empty() {
            return Err(errors::peers(&path.display().to_string(), "it holds no row of a peer with a time").into());
        }
        Ok(peers)
    }
    /// Takes the rows of a text; `name`: what errors call it.
    ///
    /// # Errors
    /// All lines that begin an object and are no row.
    pub fn read(&mut self, name: &str, text: &str) -> Result<(), Diagnostics> {
        let mut wrong = Diagnostics::default();
        for (i, line) in text.lines().enumerate().filter(|(_, line)| line.trim_start().starts_with('{')) {
            match row(line) {
                Ok(Some(peer)) if OWN.contains(&peer.name.as_str()) => {}
                Ok(Some(peer)) => self.add(peer),
                Ok(None) => {}
                Err(why) => wrong.push(errors::peers(&format!("{name}, line {}", i + 1), why)),
            }
        }
        wrong.finish()
    }
    /// Of several times of one peer for the same work the shortest counts.
    fn add(&mut self, peer: Peer) {
        let rows = self.0.entry(Key::of(&peer.op, &peer.shape)).or_default();
        match rows.iter_mut().find(|row| row.name == peer.name) {
            Some(row) if row.us <= peer.us => {}
            Some(row) => *row = peer,
            None => rows.push(peer),
        }
    }
    /// The fastest peer for this work.
    pub fn best(&self, key: &Key) -> Option<&Peer> {
        self.0.get(key)?.iter().min_by(|a, b| a.us.total_cmp(&b.us))
    }
    /// Work of peers that is not among these, in the peers' own words, with who did it.
    pub fn without(&self, keys: &[Key]) -> Vec<String> {
        let told = |rows: &Vec<Peer>| {
            let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
            rows.first().map(|first| format!("{} {} ({})", first.op, first.shape, names.join(", ")))
        };
        self.0.iter().filter(|(key, _)| !keys.contains(key)).filter_map(|(_, rows)| told(rows)).collect()
    }
}

fn files(path: &Path) -> Result<Vec<PathBuf>, Diagnostics> {
    if !path.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let entries = std::fs::read_dir(path).map_err(|e| unreadable(path, e))?;
    let mut files = Vec::new();
    for entry in entries {
        let file = entry.map_err(|e| unreadable(path, e))?.path();
        if file.extension().is_some_and(|e| e == "json" || e == "jsonl") {
            files.push(file);
        }
    }
    // The order of a folder is the system's.
    files.sort_unstable();
    Ok(files)
}

/// A row; `None`: one without a time.
fn row(line: &str) -> Result<Option<Peer>, String> {
    let row: Map<String, Value> = serde_json::from_str(line).map_err(|e| e.to_string())?;
    let Some(us) = row.get("us") else { return Ok(None) };
    let us = us.as_f64().filter(|us| us.is_finite() && *us > 0.0).ok_or("`us` is no positive number")?;
    let text = |name: &str| {
        row.get(name).and_then(Value::as_str).map(str::to_string).ok_or(format!("`{name}` is missing, or no text"))
    };
    let shape = row.get("shape").and_then(Value::as_object).ok_or("`shape` is missing, or no object")?;
    let pairs = shape.iter().map(|(name, value)| Ok((name.clone(), plain(value)?)));
    Ok(Some(Peer { name: text("peer")?, op: text("op")?, shape: Shape(pairs.collect::<Result<_, String>>()?), us }))
}
fn plain(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(n) => Ok(n.to_string()),
        Value::Bool(b) => Ok(b.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(format!("`shape` holds {value}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::gpu::list;

    /// What the programs print, as they print it.
    const PRINTED: &str = r#"flashinfer not importable: ModuleNotFoundError("No module named 'flashinfer'")
{"peer": "triton_split64", "op": "decode", "shape": {"b": 1, "tq": 1, "s": 8192, "hq": 64, "hkv": 8, "d": 128, "dtype": "float16"}, "us": 13.7, "tflops": 19.6, "gbs": 2449.4}
{"peer": "torch_flash", "op": "decode", "shape": {"b": 1, "tq": 1, "s": 8192, "hq": 64, "hkv": 8, "d": 128, "dtype": "float16"}, "us": 20.1, "tflops": 13.4, "gbs": 1669.4}
{"peer": "torch_flash", "op": "decode", "shape": {"b": 1, "tq": 1, "s": 8192, "hq": 64, "hkv": 8, "d": 128, "dtype": "float16"}, "us": 13.5, "tflops": 13.4, "gbs": 1669.4}
triton: WRONG, relative error 0.3
{"peer": "cublas", "op": "gemm", "shape": {"m": 4096, "n": 4096, "k": 4096, "dtype": "bfloat16"}, "us": 188.0}
{"peer": "cuda_cpp", "arm": "contiguous", "load": "vec128", "ilp": 8, "gbs": 4605.2}
{"peer": "tilewright", "op": "gemm", "shape": {"m": 1}, "us": 1.0}
"#;

    fn peers() -> Peers {
        let mut peers = Peers::default();
        peers.read("peers.jsonl", PRINTED).unwrap();
        peers
    }
    fn key(op: &str, shape: &str) -> Key {
        Key::of(op, &list::shape(shape).unwrap())
    }

    #[test]
    fn the_fastest_peer_of_the_same_work_is_found() {
        let peers = peers();
        let best = |op, shape| peers.best(&key(op, shape)).map(|p| (p.name.as_str(), p.us));
        // The second time of one peer was shorter than its first, and than the other's.
        assert_eq!(best("decode", "b=1,tq=1,s=8192,hq=64,hkv=8,d=128,dtype=f16"), Some(("torch_flash", 13.5)));
        assert_eq!(best("gemm", "m=4096,n=4096,k=4096,dtype=bf16"), Some(("cublas", 188.0)));
        assert_eq!(best("gemm", "m=4096,n=4096,k=4096,dtype=f16"), None);
        assert_eq!(best("gemm", "m=1"), None, "our own rows are no peers");
    }
    #[test]
    fn peers_without_a_row_of_ours_are_told_with_their_shape() {
        let decode = key("decode", "s=8192,hq=64,hkv=8,d=128,dtype=float16");
        assert_eq!(peers().without(&[decode]), ["gemm m=4096,n=4096,k=4096,dtype=bfloat16 (cublas)"]);
    }
    #[test]
    fn what_begins_a_row_and_is_none_is_told_with_its_line() {
        let said = |text: &str| match Peers::default().read("x", text) {
            Ok(()) => "read".to_string(),
            Err(why) => why.0.iter().map(|d| d.message.clone()).collect::<Vec<_>>().join("\n"),
        };
        assert_eq!(said("\n{\"us\": 1"), "peers' rows of x, line 2: EOF while parsing an object at line 1 column 8");
        assert_eq!(said("{\"us\": -1}"), "peers' rows of x, line 1: `us` is no positive number");
        assert_eq!(said("{\"us\": 1e999}"), "peers' rows of x, line 1: number out of range at line 1 column 12");
        assert_eq!(
            said("{\"us\": 1, \"op\": \"gemm\", \"shape\": {}}"),
            "peers' rows of x, line 1: `peer` is missing, or no text"
        );
        assert_eq!(
            said("{\"us\": 1, \"op\": \"gemm\", \"peer\": \"a\", \"shape\": {\"m\": [1]}}"),
            "peers' rows of x, line 1: `shape` holds [1]"
        );
        assert_eq!(said("[1]\nnothing\n"), "read");
    }
}
