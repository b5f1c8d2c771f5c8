//! The model: its shape as a checked type. `presets.rs`: the library; `file.rs`: one's own in TOML; `hugging_face.rs`: a
//! `config.json`. A [`Model`] has passed [`Model::check`] wherever it came from.

mod file;
mod hugging_face;
mod presets;

pub use presets::{FAMILIES_NOTE, custom, named, presets};

use crate::errors::{Fault, Spot};
use std::path::Path;

/// Weight matrices of the FFN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum FfnKind {
    /// Gate, up and down.
    #[default]
    Gated,
    /// Up and down.
    Plain,
}

impl FfnKind {
    pub const fn matrices(self) -> f64 {
        match self {
            FfnKind::Gated => 3.0,
            FfnKind::Plain => 2.0,
        }
    }
    pub const fn name(self) -> &'static str {
        match self {
            FfnKind::Gated => "gated",
            FfnKind::Plain => "plain",
        }
    }
}

/// A mixture of experts (option `moe`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Experts {
    pub total: u64,
    /// That a token is routed to.
    pub active: u64,
    /// That every token visits besides.
    pub shared: u64,
}

/// One expert that all tokens visit: no mixture.
impl Default for Experts {
    fn default() -> Experts {
        Experts { total: 1, active: 1, shared: 0 }
    }
}

/// A latent that stands for K and V of all heads (option `mla`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Latent {
    pub latent: u64,
    /// The rotary part of the key, which all heads share.
    pub rope: u64,
}

/// A sliding window (option `causal`): the row at position p sees min(p + 1, tokens) tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Window {
    pub tokens: u64,
    /// One layer in so many has it.
    pub every: u64,
}

/// A decoder of transformer layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub name: String,
    pub family: String,
    pub hidden: u64,
    /// Of a mixture: the width of an expert times the experts that a token visits.
    pub ffn_dim: u64,
    pub q_heads: u64,
    pub kv_heads: u64,
    pub d_head: u64,
    pub layers: u64,
    pub bytes_per_elem: f64,
    pub ffn_kind: FfnKind,
    pub experts: Option<Experts>,
    pub latent: Option<Latent>,
    pub window: Option<Window>,
    /// 0 where it is not known: then the head is not counted.
    pub vocab: u64,
    /// Embedding and head are one matrix.
    pub tied_head: bool,
    pub note: String,
}

impl Model {
    /// A preset's name, a `.toml` file, or a Hugging Face `config.json` (or the folder that has one).
    ///
    /// # Errors
    /// `TW-E0701` to `TW-E0703`, `TW-E0708`, `TW-E0709`: no such preset or file, or what is wrong in it.
    pub fn load(name: &str) -> Result<Model, Fault> {
        let path = Path::new(name);
        match path.extension().and_then(|e| e.to_str()) {
            Some("toml") => file::load(path),
            Some("json") => hugging_face::load(path),
            _ if path.is_dir() => hugging_face::load(&path.join("config.json")),
            _ => named(name),
        }
    }
    /// A model of one's own; `file` is what faults name.
    ///
    /// # Errors
    /// `TW-E0708`, `TW-E0702`, with the line.
    pub fn from_toml(file: &str, text: &str) -> Result<Model, Fault> {
        file::parse(file, text)
    }
    /// A Hugging Face configuration; `file` is what faults name.
    ///
    /// # Errors
    /// `TW-E0708` (not JSON, or a value of another type), `TW-E0709` (a dimension is missing), `TW-E0702`.
    pub fn from_config(file: &str, text: &str) -> Result<Model, Fault> {
        hugging_face::parse(file, text, None)
    }
    /// How query heads share K and V.
    pub fn attention(&self) -> &'static str {
        match (self.kv_heads, &self.latent) {
            (_, Some(_)) => "MLA",
            (k, _) if k == self.q_heads => "MHA",
            (1, _) => "MQA",
            _ => "GQA",
        }
    }
    /// Of attention and the active FFN, all layers; no embedding, no head.
    pub fn active_params(&self) -> u64 {
        let attention = 2 * self.hidden * self.q_heads * self.d_head + 2 * self.hidden * self.kv_heads * self.d_head;
        self.layers * (attention + 3 * self.hidden * self.ffn_dim)
    }
    /// Of K and V, all layers, in bytes.
    pub fn kv_bytes_per_token(&self) -> f64 {
        (2 * self.kv_heads * self.d_head) as f64 * self.bytes_per_elem * self.layers as f64
    }
    /// # Errors
    /// `TW-E0702`: the first value that no transformer has.
    pub fn check(self, at: Option<&Spot>) -> Result<Model, Fault> {
        let fault = |field: &'static str, value: String, needs: String| {
            Err(Fault::ModelValue { field, value, needs, at: at.cloned() })
        };
        let counts = [
            ("hidden", self.hidden, MAX_WIDTH),
            ("ffn_dim", self.ffn_dim, MAX_WIDTH),
            ("q_heads", self.q_heads, MAX_HEADS),
            ("kv_heads", self.kv_heads, MAX_HEADS),
            ("d_head", self.d_head, MAX_HEADS),
            ("layers", self.layers, MAX_LAYERS),
        ];
        for (field, value, limit) in counts {
            if !(1..=limit).contains(&value) {
                return fault(field, value.to_string(), format!("1 to {limit}"));
            }
        }
        if !self.q_heads.is_multiple_of(self.kv_heads) {
            let nearest = (1..=self.q_heads)
                .filter(|k| self.q_heads.is_multiple_of(*k))
                .min_by_key(|k| (k.abs_diff(self.kv_heads), *k))
                .unwrap_or(1);
            let needs = format!("a divisor of the {} query heads, the nearest is {nearest}", self.q_heads);
            return fault("kv_heads", self.kv_heads.to_string(), needs);
        }
        if !(self.bytes_per_elem > 0.0 && self.bytes_per_elem <= 16.0) {
            return fault("bytes_per_elem", self.bytes_per_elem.to_string(), "above 0 and up to 16".into());
        }
        if self.vocab > MAX_WIDTH {
            return fault("vocab", self.vocab.to_string(), format!("0 to {MAX_WIDTH}"));
        }
        if let Some(experts) = self.experts {
            if !(1..=MAX_HEADS).contains(&experts.total) {
                return fault("experts.total", experts.total.to_string(), format!("1 to {MAX_HEADS}"));
            }
            if !(1..=experts.total).contains(&experts.active) {
                return fault("experts.active", experts.active.to_string(), format!("1 to {}", experts.total));
            }
            if experts.shared > MAX_HEADS {
                return fault("experts.shared", experts.shared.to_string(), format!("0 to {MAX_HEADS}"));
            }
            let visited = experts.active + experts.shared;
            if !self.ffn_dim.is_multiple_of(visited) {
                let needs = format!("a multiple of the {visited} experts that a token visits");
                return fault("ffn_dim", self.ffn_dim.to_string(), needs);
            }
        }
        if let Some(latent) = self.latent
            && (!(1..=MAX_WIDTH).contains(&latent.latent) || latent.rope > MAX_WIDTH)
        {
            return fault("latent", format!("{} and {}", latent.latent, latent.rope), format!("1 to {MAX_WIDTH}"));
        }
        if let Some(window) = self.window
            && (window.tokens == 0 || window.every == 0)
        {
            return fault("window", format!("{} of {}", window.tokens, window.every), "counts above 0".into());
        }
        Ok(self)
    }
}

/// Limits far above every model, low enough that no product overflows.
const MAX_WIDTH: u64 = 1 << 22;
const MAX_HEADS: u64 = 1 << 14;
const MAX_LAYERS: u64 = 1 << 14;
