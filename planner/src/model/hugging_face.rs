//! A Hugging Face `config.json`. Families name their keys differently; each field tries the names it is known by.

use super::file::{checked, read};
use super::{Experts, FfnKind, Latent, Model, Window};
use crate::errors::{Fault, Spot};
use serde_json::{Map, Value};
use std::path::Path;

const HIDDEN: &[&str] = &["hidden_size", "n_embd", "d_model"];
const LAYERS: &[&str] = &["num_hidden_layers", "n_layer", "num_layers", "n_layers"];
const HEADS: &[&str] = &["num_attention_heads", "n_head", "num_heads", "n_heads"];
const KV_HEADS: &[&str] = &["num_key_value_heads", "num_kv_heads", "n_head_kv"];
const FFN: &[&str] = &["intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"];
const EXPERTS: &[&str] = &["num_local_experts", "n_routed_experts", "num_experts"];
const ACTIVE: &[&str] = &["num_experts_per_tok", "num_experts_per_token", "moe_topk"];

/// Families whose FFN has two matrices.
const PLAIN: &[&str] =
    &["gpt2", "opt", "falcon", "gpt_neox", "gpt_neo", "gptj", "bloom", "mpt", "phi", "starcoder2", "gpt_bigcode"];

pub(super) fn load(path: &Path) -> Result<Model, Fault> {
    let name = path.parent().and_then(Path::file_name).map(|n| n.to_string_lossy().into_owned());
    parse(&path.display().to_string(), &read(path)?, name)
}

/// # Errors
/// `TW-E0708` (not JSON, or a value of another type), `TW-E0709` (a dimension is missing), `TW-E0702`.
pub(super) fn parse(file: &str, text: &str, folder: Option<String>) -> Result<Model, Fault> {
    let malformed = |cause: String, at: Spot| Err(Fault::ModelFile { cause, at });
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(e) => {
            let line_start = text.split_inclusive('\n').take(e.line().saturating_sub(1)).map(str::len).sum::<usize>();
            let cause = e.to_string().split(" at line ").next().unwrap_or_default().to_string();
            return malformed(cause, Spot::at(file, text, line_start + e.column().saturating_sub(1)));
        }
    };
    let Value::Object(map) = value else {
        return malformed("a configuration is an object, `{ … }`".into(), Spot::at(file, text, 0));
    };
    let keys = Keys { file, text, map: map.get("text_config").and_then(Value::as_object).unwrap_or(&map) };
    let hidden = keys.needed(HIDDEN)?;
    let q_heads = keys.needed(HEADS)?;
    let layers = keys.needed(LAYERS)?;
    let latent = keys
        .count(&["kv_lora_rank"])?
        .map(|latent| keys.count(&["qk_rope_head_dim"]).map(|rope| Latent { latent, rope: rope.unwrap_or(0) }));
    let latent = latent.transpose()?;
    let one_kv_head = keys.flag("multi_query") && !keys.flag("new_decoder_architecture");
    let kv_heads = match keys.count(KV_HEADS)? {
        _ if latent.is_some() => q_heads,
        _ if one_kv_head => 1,
        found => found.unwrap_or(q_heads),
    };
    let head_dims: &[&str] = if latent.is_some() { &["v_head_dim", "head_dim"] } else { &["head_dim", "d_kv"] };
    let d_head = keys.count(head_dims)?.unwrap_or(hidden / q_heads.max(1));
    let experts = match (keys.count(EXPERTS)?, keys.count(ACTIVE)?) {
        (Some(total), Some(active)) if total > 1 => {
            Some(Experts { total, active, shared: keys.count(&["n_shared_experts"])?.unwrap_or(0) })
        }
        _ => None,
    };
    let width = keys.count(FFN)?.unwrap_or(4 * hidden);
    let ffn_dim = match experts {
        Some(x) => keys.count(&["moe_intermediate_size"])?.unwrap_or(width).saturating_mul(x.active + x.shared),
        None => width,
    };
    let family = keys.text("model_type").unwrap_or_default();
    let model = Model {
        name: keys.text("_name_or_path").filter(|n| !n.is_empty()).or(folder).unwrap_or_else(|| file.to_string()),
        hidden,
        ffn_dim,
        q_heads,
        kv_heads,
        d_head,
        layers,
        bytes_per_elem: bytes_of(keys.text("torch_dtype").or(keys.text("dtype")).as_deref()),
        ffn_kind: if PLAIN.contains(&family.as_str()) { FfnKind::Plain } else { FfnKind::Gated },
        experts,
        latent,
        window: window(&keys, layers)?,
        vocab: keys.count(&["vocab_size"])?.unwrap_or(0),
        // The library's default is true; families that untie say so.
        tied_head: keys.map.get("tie_word_embeddings").and_then(Value::as_bool).unwrap_or(true),
        note: format!("from {file}"),
        family,
    };
    checked(model, file, text)
}

/// `sliding_window` of all layers, or of those that `layer_types` or a pattern names.
fn window(keys: &Keys<'_>, layers: u64) -> Result<Option<Window>, Fault> {
    let off = keys.map.get("use_sliding_window").and_then(Value::as_bool) == Some(false);
    let Some(tokens) = keys.count(&["sliding_window"])?.filter(|_| !off) else { return Ok(None) };
    let named = keys
        .map
        .get("layer_types")
        .and_then(Value::as_array)
        .map(|types| types.iter().filter(|t| t.as_str() == Some("sliding_attention")).count() as u64);
    let every = match named {
        Some(0) => return Ok(None),
        Some(windowed) => (layers / windowed).max(1),
        None if keys.text("model_type").as_deref() == Some("gemma2") => 2,
        None => 1,
    };
    Ok(Some(Window { tokens, every }))
}

fn bytes_of(dtype: Option<&str>) -> f64 {
    match dtype {
        Some("float32") => 4.0,
        Some("float64") => 8.0,
        Some("float8_e4m3fn" | "float8_e5m2" | "int8" | "uint8") => 1.0,
        _ => 2.0,
    }
}

struct Keys<'a> {
    file: &'a str,
    text: &'a str,
    map: &'a Map<String, Value>,
}

impl Keys<'_> {
    /// The first of these keys that is there and not null.
    fn count(&self, names: &[&str]) -> Result<Option<u64>, Fault> {
        let Some((name, value)) = names.iter().find_map(|n| self.map.get(*n).map(|v| (n, v))) else { return Ok(None) };
        match value {
            Value::Null => Ok(None),
            value => value.as_u64().map(Some).ok_or_else(|| Fault::ModelFile {
                cause: format!("`{name}` is {value}, not a count"),
                at: Spot::of_key(self.file, self.text, name),
            }),
        }
    }
    fn needed(&self, names: &'static [&'static str]) -> Result<u64, Fault> {
        let also = names.get(1).copied().unwrap_or_default();
        self.count(names)?.ok_or_else(|| Fault::MissingKey {
            key: names[0],
            also,
            at: Spot::at(self.file, self.text, 0),
        })
    }
    fn text(&self, name: &str) -> Option<String> {
        self.map.get(name).and_then(Value::as_str).map(String::from)
    }
    fn flag(&self, name: &str) -> bool {
        self.map.get(name).and_then(Value::as_bool) == Some(true)
    }
}
