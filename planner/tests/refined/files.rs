//! Models from files.

use tilewright_planner::errors::Fault;
use tilewright_planner::model::{Experts, FfnKind, Latent, Model, Window, named};

fn config(text: &str) -> Model {
    Model::from_config("config.json", text).expect("it reads")
}
/// Code, message, line and next step of a fault.
fn told(fault: Fault) -> String {
    let line = fault.spot().map_or(String::new(), |s| format!(" at line {}", s.line));
    format!("{} {}{line}; {}", fault.code(), fault.message(), fault.next())
}

#[test]
fn a_configuration_gives_the_shape_of_its_preset() {
    let m = config(
        r#"{"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32,
            "num_key_value_heads": 8, "num_hidden_layers": 32, "torch_dtype": "bfloat16", "vocab_size": 128256,
            "tie_word_embeddings": false}"#,
    );
    let preset = named("Llama 3 8B").expect("a preset");
    assert_eq!(m.active_params(), preset.active_params());
    assert_eq!((m.kv_bytes_per_token(), m.vocab, m.tied_head), (preset.kv_bytes_per_token(), 128_256, false));
}

#[test]
fn families_name_their_keys_differently() {
    let gpt2 = config(r#"{"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12, "n_inner": null}"#);
    assert_eq!((gpt2.ffn_dim, gpt2.d_head, gpt2.kv_heads, gpt2.ffn_kind), (3072, 64, 12, FfnKind::Plain));
    let falcon = config(
        r#"{"model_type": "falcon", "hidden_size": 4544, "num_attention_heads": 71, "num_hidden_layers": 32, "multi_query": true}"#,
    );
    assert_eq!(falcon.kv_heads, 1);
    // A head dimension of its own: not hidden over heads.
    let qwen = config(
        r#"{"hidden_size": 2560, "intermediate_size": 9728, "num_attention_heads": 32, "num_key_value_heads": 8,
            "head_dim": 128, "num_hidden_layers": 36}"#,
    );
    assert_eq!(qwen.kv_bytes_per_token(), 147_456.0);
    let mixtral = config(
        r#"{"hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
            "num_hidden_layers": 32, "num_local_experts": 8, "num_experts_per_tok": 2}"#,
    );
    assert_eq!((mixtral.ffn_dim, mixtral.experts), (28672, Some(Experts { total: 8, active: 2, shared: 0 })));
    let deepseek = config(
        r#"{"hidden_size": 5120, "intermediate_size": 12288, "moe_intermediate_size": 1536, "num_attention_heads": 128,
            "num_key_value_heads": 128, "num_hidden_layers": 60, "n_routed_experts": 160, "num_experts_per_tok": 6,
            "n_shared_experts": 2, "kv_lora_rank": 512, "qk_rope_head_dim": 64, "v_head_dim": 128}"#,
    );
    assert_eq!(deepseek.latent, Some(Latent { latent: 512, rope: 64 }));
    assert_eq!((deepseek.ffn_dim, deepseek.attention()), (12288, "MLA"));
    let gemma = config(
        r#"{"text_config": {"model_type": "gemma2", "hidden_size": 4608, "num_attention_heads": 32, "num_key_value_heads": 16,
            "head_dim": 128, "num_hidden_layers": 46, "intermediate_size": 36864, "sliding_window": 4096}}"#,
    );
    assert_eq!(gemma.window, Some(Window { tokens: 4096, every: 2 }));
}

#[test]
fn faults_of_files_name_the_line_and_the_next_step() {
    let config = |text: &str| told(Model::from_config("config.json", text).expect_err("a fault"));
    let own = |text: &str| told(Model::from_toml("m.toml", text).expect_err("a fault"));
    insta::assert_snapshot!(config("{\"hidden_size\": 4096,\n"), @"TW-E0708 the model's file is malformed: EOF while parsing a value at line 2; one `name = value` a line; `tilewright explain TW-E0708` lists the names");
    insta::assert_snapshot!(config("[]"), @"TW-E0708 the model's file is malformed: a configuration is an object, `{ … }` at line 1; one `name = value` a line; `tilewright explain TW-E0708` lists the names");
    insta::assert_snapshot!(config("{\"hidden_size\": 64,\n\"num_hidden_layers\": -2, \"num_attention_heads\": 8}"), @"TW-E0708 the model's file is malformed: `num_hidden_layers` is -2, not a count at line 2; one `name = value` a line; `tilewright explain TW-E0708` lists the names");
    insta::assert_snapshot!(own("hidden = 64\nffn_dim = 0\nq_heads = 8\nkv_heads = 8\nd_head = 8\nlayers = 2\n"), @"TW-E0702 `ffn_dim` of a model cannot be 0 at line 2; give `ffn_dim` the value of the model's published configuration");
    insta::assert_snapshot!(own("hidden = 64\nffn_dim = 256\nq_heads = 0\nkv_heads = 8\nd_head = 8\nlayers = 2\n"), @"TW-E0702 `q_heads` of a model cannot be 0 at line 3; give `q_heads` the value of the model's published configuration");
}
