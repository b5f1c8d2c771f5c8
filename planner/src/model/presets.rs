//! The library. `presets.csv`: shapes, copied from the golden figures of the study's planner (45 models and a free slot).
//! `facts.csv`: what its options need beyond them, from the published configurations of the models, and the presets that
//! correct one of the study's under a new name.

use super::{Experts, FfnKind, Latent, Model, Window};
use crate::errors::Fault;
use std::sync::OnceLock;

const SHAPES: &str = include_str!("presets.csv");
const FACTS: &str = include_str!("facts.csv");

/// Said where presets are listed.
pub const FAMILIES_NOTE: &str = "a name ending in `(corrected)` differs from the study's preset as its note says";

#[derive(serde::Deserialize)]
struct Shape {
    preset: String,
    family: String,
    hidden: u64,
    ffn_dim: u64,
    q_heads: u64,
    kv_heads: u64,
    d_head: u64,
    layers: u64,
    bytes_per_elem: f64,
    note: String,
}

/// `like` is the preset whose shape a corrected one starts from; shapes that are given replace its own.
#[derive(serde::Deserialize)]
struct Facts {
    preset: String,
    like: Option<String>,
    ffn_dim: Option<u64>,
    kv_heads: Option<u64>,
    ffn_kind: String,
    vocab: u64,
    tied_head: bool,
    experts: Option<u64>,
    active: Option<u64>,
    shared: Option<u64>,
    latent: Option<u64>,
    rope: Option<u64>,
    window: Option<u64>,
    window_every: Option<u64>,
    note: String,
}

/// All presets, in the order of the library; corrected ones last.
pub fn presets() -> &'static [Model] {
    static PRESETS: OnceLock<Vec<Model>> = OnceLock::new();
    PRESETS.get_or_init(|| {
        let mut models: Vec<Model> = rows::<Shape>(SHAPES).into_iter().map(model).collect();
        for facts in rows::<Facts>(FACTS) {
            match &facts.like {
                None => {
                    let model = models.iter_mut().find(|m| m.name == facts.preset);
                    add(model.expect("facts are of a preset, as a test shows"), &facts);
                }
                Some(like) => {
                    let model = models.iter().find(|m| m.name == *like);
                    let mut model = model.expect("a correction is of a preset, as a test shows").clone();
                    model.name.clone_from(&facts.preset);
                    model.note.clone_from(&facts.note);
                    add(&mut model, &facts);
                    models.push(model);
                }
            }
        }
        models
    })
}

fn rows<T: serde::de::DeserializeOwned>(text: &str) -> Vec<T> {
    let rows = csv::Reader::from_reader(text.as_bytes()).into_deserialize();
    rows.map(|row| row.expect("the library is well-formed, as a test shows")).collect()
}

fn model(s: Shape) -> Model {
    Model {
        name: s.preset,
        family: s.family,
        hidden: s.hidden,
        ffn_dim: s.ffn_dim,
        q_heads: s.q_heads,
        kv_heads: s.kv_heads,
        d_head: s.d_head,
        layers: s.layers,
        bytes_per_elem: s.bytes_per_elem,
        ffn_kind: FfnKind::Gated,
        experts: None,
        latent: None,
        window: None,
        vocab: 0,
        tied_head: false,
        note: s.note,
    }
}

fn add(model: &mut Model, facts: &Facts) {
    model.ffn_dim = facts.ffn_dim.unwrap_or(model.ffn_dim);
    model.kv_heads = facts.kv_heads.unwrap_or(model.kv_heads);
    model.ffn_kind = if facts.ffn_kind == "plain" { FfnKind::Plain } else { FfnKind::Gated };
    (model.vocab, model.tied_head) = (facts.vocab, facts.tied_head);
    let shared = facts.shared.unwrap_or(0);
    model.experts = facts.experts.zip(facts.active).map(|(total, active)| Experts { total, active, shared });
    model.latent = facts.latent.zip(facts.rope).map(|(latent, rope)| Latent { latent, rope });
    model.window = facts.window.zip(facts.window_every).map(|(tokens, every)| Window { tokens, every });
}

/// The free slot: a shape to change by flags.
pub fn custom() -> Model {
    named("Custom").expect("the library has the slot")
}

/// The preset of this name; upper and lower case are the same, and what stands in brackets may be left out.
///
/// # Errors
/// `TW-E0701`: there is none.
pub fn named(name: &str) -> Result<Model, Fault> {
    let wanted = name.trim().to_lowercase();
    let full = presets().iter().find(|m| m.name.to_lowercase() == wanted);
    let short = || presets().iter().find(|m| short_name(&m.name).to_lowercase() == wanted);
    full.or_else(short).cloned().ok_or_else(|| {
        let score = |m: &&Model| strsim::jaro_winkler(&short_name(&m.name).to_lowercase(), &wanted);
        let nearest = presets().iter().max_by(|a, b| score(a).total_cmp(&score(b)));
        Fault::UnknownModel {
            name: name.to_string(),
            nearest: nearest.filter(|m| score(m) > 0.7).map(|m| short_name(&m.name).to_string()),
            count: presets().len(),
        }
    })
}

fn short_name(name: &str) -> &str {
    // A corrected preset keeps its brackets: they tell it from the study's.
    let end = if name.ends_with("(corrected)") { None } else { name.find(" (") };
    &name[..end.unwrap_or(name.len())]
}
