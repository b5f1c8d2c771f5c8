//! What an instance does, in the terms in which other programs measure the same: operation, shape, arithmetic. Attention and
//! matrix products have the names of the peers' rows; any other kernel has its own, and its settings as shape.

use tilewright_core::diag::Diagnostics;
use tilewright_harness::cli::Cell;
use tilewright_harness::registry::{Instance, Settings};

/// One row to time.
pub struct Work {
    pub instance: Instance,
    pub op: String,
    pub shape: Shape,
    /// Floating-point operations that the mathematics takes; 0: not counted.
    pub flops: f64,
    /// Whether its time is that of the memory, so that a copy is something to stand beside.
    pub streams: bool,
}

/// Sizes and element type by name: `b=1,tq=1,s=8192,hq=64,hkv=8,d=128,dtype=float16`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape(pub Vec<(String, String)>);

/// Rows that measure the same work have the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(String);

impl Shape {
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
    fn number(&self, name: &str) -> Option<u64> {
        self.get(name)?.parse().ok()
    }
    /// Whether all of these names have these values here.
    pub fn has(&self, wanted: &Shape) -> bool {
        wanted.0.iter().all(|(name, value)| self.get(name).is_some_and(|own| same(own, value)))
    }
}

impl std::fmt::Display for Shape {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, (name, value)) in self.0.iter().enumerate() {
            write!(f, "{}{name}={value}", if i == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

/// Element types by the names of either side.
const TYPES: [(&str, &str); 4] = [("f16", "float16"), ("bf16", "bfloat16"), ("f32", "float32"), ("f64", "float64")];

fn long(dtype: &str) -> &str {
    TYPES.iter().find(|(short, _)| *short == dtype).map_or(dtype, |(_, long)| long)
}
fn same(a: &str, b: &str) -> bool {
    long(a) == long(b)
}

impl Key {
    /// Requests of a batch do not meet in attention, so that their heads count as heads of one; and one query token sees
    /// all others, causal or not.
    pub fn of(op: &str, shape: &Shape) -> Key {
        Key(attention(op, shape).unwrap_or_else(|| {
            let mut pairs: Vec<_> = shape.0.iter().map(|(name, value)| format!("{name}={}", long(value))).collect();
            pairs.sort_unstable();
            format!("{op} {}", pairs.join(","))
        }))
    }
}

fn attention(op: &str, shape: &Shape) -> Option<String> {
    if ![DECODE, EXTEND, PREFILL].contains(&op) {
        return None;
    }
    let n = |name| shape.number(name);
    let (b, tq) = (n("b").unwrap_or(1), n("tq").unwrap_or(1));
    let (hq, hkv) = (n("hq")?.checked_mul(b)?, n("hkv")?.checked_mul(b)?);
    let (s, d, dtype) = (n("s")?, n("d")?, long(shape.get("dtype")?));
    let causal = tq > 1 && shape.get("causal").is_some_and(|c| c == "true");
    Some(format!("attention {hq} {hkv} {tq} {s} {d} {causal} {dtype}"))
}

pub const DECODE: &str = "decode";
pub const EXTEND: &str = "extend";
pub const PREFILL: &str = "prefill";
pub const GEMM: &str = "gemm";
/// Query tokens that count as an extension of a context that is there: their rows share one tile of products.
const EXTENDED: usize = 64;

impl Work {
    /// `batch`: requests whose heads the instance takes as heads of one.
    ///
    /// # Errors
    /// A kernel lacks a parameter that it has.
    pub fn of(instance: Instance, batch: usize) -> Result<Work, Diagnostics> {
        let s = &instance.settings;
        let (op, shape, flops, streams) = match instance.kernel.name() {
            "gqa_decode" | "fused_attention" => {
                let ([tq, tokens, d], causal) = (sizes(s, ["t-q", "s-kv", "d-head"])?, s.text("causal")? == "yes");
                // Requests over one context are more query heads to it.
                let requests = if instance.kernel.name() == "gqa_decode" { s.integer("batch")? } else { 1 };
                let hq = s.integer("h-q")?.saturating_mul(requests);
                let mut shape = heads(s, hq, batch, tq)?;
                let op = match tq {
                    1.0 => DECODE,
                    _ if tq <= EXTENDED as f64 => EXTEND,
                    _ => PREFILL,
                };
                if op != DECODE {
                    // In front of the element type, as the peers have it.
                    shape.0.insert(shape.0.len() - 1, ("causal".to_string(), causal.to_string()));
                }
                let unseen = if causal { tq * (tq - 1.0) / 2.0 } else { 0.0 };
                (op, shape, 4.0 * hq as f64 * d * (tq * tokens - unseen), op != PREFILL)
            }
            "matmul" => {
                let [m, n, k] = sizes(s, ["m", "n", "k"])?;
                let shape = [("m", m), ("n", n), ("k", k)].map(|(name, size)| (name.to_string(), size.to_string()));
                (GEMM, typed(shape.into(), s)?, 2.0 * m * n * k, false)
            }
            other => {
                let own = s.given().map(|(name, value)| (name.to_string(), value.to_string())).collect();
                (other, Shape(own), 0.0, true)
            }
        };
        Ok(Work { op: op.to_string(), shape, flops, streams, instance })
    }
    pub fn key(&self) -> Key {
        Key::of(&self.op, &self.shape)
    }
    /// As it stands in a line on standard error.
    pub fn name(&self) -> String {
        format!("{} {}", self.op, self.shape)
    }
    /// The first cells of its rows.
    pub fn cells(&self, peer: &str) -> [Cell; 3] {
        [peer.into(), self.op.as_str().into(), self.shape.to_string().into()]
    }
}

fn sizes<const N: usize>(s: &Settings, names: [&str; N]) -> Result<[f64; N], Diagnostics> {
    let mut sizes = [0.0; N];
    for (size, name) in sizes.iter_mut().zip(names) {
        *size = s.integer(name)? as f64;
    }
    Ok(sizes)
}
fn heads(s: &Settings, hq: usize, batch: usize, tq: f64) -> Result<Shape, Diagnostics> {
    let [tokens, hkv, d] = ["s-kv", "h-kv", "d-head"].map(|name| s.integer(name));
    let (hq, hkv) = (hq / batch, hkv? / batch);
    let sizes = [("b", batch), ("tq", tq as usize), ("s", tokens?), ("hq", hq), ("hkv", hkv), ("d", d?)];
    typed(sizes.map(|(name, size)| (name.to_string(), size.to_string())).into(), s)
}
fn typed(mut sizes: Vec<(String, String)>, s: &Settings) -> Result<Shape, Diagnostics> {
    sizes.push(("dtype".to_string(), long(s.text("elem")?).to_string()));
    Ok(Shape(sizes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::gpu::list;

    fn shape(text: &str) -> Shape {
        list::shape(text).unwrap()
    }
    fn work(word: &str, batch: usize) -> String {
        let work = Work::of(tilewright_kernels::all().instance(word).unwrap(), batch).unwrap();
        format!("{} {} {:e}", work.op, work.shape, work.flops)
    }

    #[test]
    fn an_instance_is_told_as_the_peers_tell_theirs() {
        let told = work("gqa_decode:h-q=1024,h-kv=128,s-kv=8192,d-head=128,acc=f32", 16);
        assert_eq!(told, "decode b=16,tq=1,s=8192,hq=64,hkv=8,d=128,dtype=float16 4.294967296e9");
        let told = work("fused_attention:h-q=64,h-kv=8,t-q=8,s-kv=64,d-head=128,elem=bf16", 1);
        assert_eq!(told, "extend b=1,tq=8,s=64,hq=64,hkv=8,d=128,causal=false,dtype=bfloat16 1.6777216e7");
        let told = work("gqa_decode:h-q=64,h-kv=8,t-q=8,causal=yes,batch=2,s-kv=64,d-head=128,acc=f32", 1);
        assert_eq!(told, "extend b=1,tq=8,s=64,hq=128,hkv=8,d=128,causal=true,dtype=float16 3.1719424e7");
        // 3 rows of 5 tokens: they see 3, 4 and 5.
        let told = work("fused_attention:h-q=1,h-kv=1,t-q=3,s-kv=5,d-head=1,causal=yes", 1);
        assert_eq!(told, "extend b=1,tq=3,s=5,hq=1,hkv=1,d=1,causal=true,dtype=float16 4.8e1");
        assert_eq!(work("matmul:m=2,n=3,k=4,elem=f32", 1), "gemm m=2,n=3,k=4,dtype=float32 4.8e1");
        assert_eq!(work("row_softmax:rows=8,columns=32,elem=f16", 1), "row_softmax rows=8,columns=32,elem=f16 0e0");
    }
    #[test]
    fn the_same_work_has_the_same_key_however_it_is_told() {
        let same = [
            ("decode", "b=16,tq=1,s=8192,hq=64,hkv=8,d=128,dtype=float16"),
            ("decode", "dtype=f16,d=128,hkv=128,hq=1024,s=8192"),
            ("extend", "b=1,tq=1,s=8192,hq=1024,hkv=128,d=128,causal=true,dtype=float16"),
            ("prefill", "b=16,tq=1,s=8192,hq=64,hkv=8,d=128,causal=false,dtype=float16"),
        ];
        for (op, text) in same {
            assert_eq!(Key::of(op, &shape(text)), Key::of(same[0].0, &shape(same[0].1)), "{op} {text}");
        }
        let causal = "b=1,tq=8,s=64,hq=8,hkv=8,d=64,causal=true,dtype=float16";
        for other in
            [causal.replace("true", "false"), causal.replace("float16", "bfloat16"), causal.replace("8,d", "4,d")]
        {
            assert_ne!(Key::of("prefill", &shape(causal)), Key::of("prefill", &shape(&other)), "{other}");
        }
        assert_eq!(
            Key::of("gemm", &shape("m=1,n=2,k=3,dtype=f16")),
            Key::of("gemm", &shape("k=3,m=1,n=2,dtype=float16"))
        );
        assert_ne!(Key::of("gemm", &shape("m=1,n=2")), Key::of("gemm", &shape("m=2,n=1")));
    }
    #[test]
    fn sizes_that_overflow_are_no_key_of_attention() {
        let huge = shape("b=18446744073709551615,tq=1,s=8,hq=64,hkv=8,d=8,dtype=f16");
        assert_ne!(Key::of("decode", &huge), Key::of("decode", &shape("tq=1,s=8,hq=64,hkv=8,d=8,dtype=f16")));
    }
}
