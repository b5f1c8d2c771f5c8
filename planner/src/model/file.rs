//! A model of one's own, in TOML.

use super::{Experts, FfnKind, Latent, Model, Window};
use crate::errors::{Fault, Spot};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Option<String>,
    hidden: u64,
    ffn_dim: u64,
    q_heads: u64,
    kv_heads: u64,
    d_head: u64,
    layers: u64,
    #[serde(default = "two")]
    bytes_per_elem: f64,
    #[serde(default)]
    ffn_kind: Kind,
    #[serde(default)]
    vocab: u64,
    #[serde(default)]
    tied_head: bool,
    experts: Option<FileExperts>,
    latent: Option<FileLatent>,
    window: Option<FileWindow>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    Gated,
    Plain,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileExperts {
    total: u64,
    active: u64,
    #[serde(default)]
    shared: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileLatent {
    latent: u64,
    rope: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileWindow {
    tokens: u64,
    #[serde(default = "one")]
    every: u64,
}

fn two() -> f64 {
    2.0
}
fn one() -> u64 {
    1
}

/// A description of a model is small.
const MAX_FILE: u64 = 1 << 20;

/// The text of a file of a sensible size.
pub(super) fn read(path: &Path) -> Result<String, Fault> {
    let fault = |cause: String| Fault::Unreadable { path: path.to_path_buf(), cause };
    let size = std::fs::metadata(path).map_err(|e| fault(e.to_string()))?.len();
    if size > MAX_FILE {
        return Err(fault("it is over 1 MiB".into()));
    }
    std::fs::read_to_string(path).map_err(|e| fault(e.to_string()))
}

pub(super) fn load(path: &Path) -> Result<Model, Fault> {
    parse(&path.display().to_string(), &read(path)?)
}

/// # Errors
/// `TW-E0708`, `TW-E0702`, with the line.
pub(super) fn parse(file: &str, text: &str) -> Result<Model, Fault> {
    let read: File = toml::from_str(text).map_err(|e| Fault::ModelFile {
        cause: e.message().replace('\n', ", "),
        at: Spot::at(file, text, e.span().map_or(0, |span| span.start)),
    })?;
    let stem = Path::new(file).file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    let model = Model {
        name: read.name.unwrap_or(stem),
        family: String::new(),
        hidden: read.hidden,
        ffn_dim: read.ffn_dim,
        q_heads: read.q_heads,
        kv_heads: read.kv_heads,
        d_head: read.d_head,
        layers: read.layers,
        bytes_per_elem: read.bytes_per_elem,
        ffn_kind: match read.ffn_kind {
            Kind::Gated => FfnKind::Gated,
            Kind::Plain => FfnKind::Plain,
        },
        experts: read.experts.map(|x| Experts { total: x.total, active: x.active, shared: x.shared }),
        latent: read.latent.map(|x| Latent { latent: x.latent, rope: x.rope }),
        window: read.window.map(|x| Window { tokens: x.tokens, every: x.every }),
        vocab: read.vocab,
        tied_head: read.tied_head,
        note: format!("from {file}"),
    };
    checked(model, file, text)
}

/// The model if its values can be; else the fault at the line of its field.
pub(super) fn checked(model: Model, file: &str, text: &str) -> Result<Model, Fault> {
    model.check(None).map_err(|fault| match fault {
        Fault::ModelValue { field, value, needs, .. } => {
            let key = field.rsplit('.').next().unwrap_or(field);
            Fault::ModelValue { field, value, needs, at: Some(Spot::of_key(file, text, key)) }
        }
        other => other,
    })
}
