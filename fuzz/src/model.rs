//! Descriptions of models for the planner: TOML of one's own and Hugging Face configurations, damaged. What is accepted gives
//! a step with finite figures.

use crate::{Answer, Input};
use tilewright_planner::inputs::Inputs;
use tilewright_planner::machine::Machine;
use tilewright_planner::model::Model;
use tilewright_planner::options::Options;
use tilewright_planner::step::step;
use tilewright_planner::topology::{Phase, Topology, Work};
use tilewright_test_random::Source;

const OWN: &str = "name = \"mine\"\nhidden = 5120\nffn_dim = 13824\nq_heads = 32\nkv_heads = 8\nd_head = 128\nlayers = 40\n\
                   vocab = 32000\n[experts]\ntotal = 8\nactive = 2\n[latent]\nlatent = 512\nrope = 64\n[window]\ntokens = 4096\nevery = 2\n";
const CONFIG: &str = "{\"model_type\": \"mixtral\", \"hidden_size\": 4096, \"intermediate_size\": 14336, \
                      \"num_attention_heads\": 32, \"num_key_value_heads\": 8, \"num_hidden_layers\": 32, \
                      \"num_local_experts\": 8, \"num_experts_per_tok\": 2, \"sliding_window\": 4096, \"vocab_size\": 32000, \
                      \"torch_dtype\": \"bfloat16\", \"tie_word_embeddings\": false}";
const WORDS: [&str; 24] = [
    "\"head_dim\": ",
    "\"kv_lora_rank\": ",
    "\"text_config\": {",
    "\"layer_types\": [\"sliding_attention\"]",
    "\"multi_query\": true",
    "null",
    "[]",
    "{",
    "}",
    ",",
    "0",
    "18446744073709551615",
    "-1",
    "1e999",
    "4096",
    "\"\"",
    "ffn_kind = \"plain\"\n",
    "bytes_per_elem = 0.5\n",
    "shared = 1\n",
    "[window]\n",
    "=",
    "\n",
    "#",
    "\\u0000",
];

pub fn input(from: &mut Source<'_>) -> Input {
    let (base, read): (&str, fn(&str) -> _) = if from.once_in(2) {
        (OWN, |text| Model::from_toml("model.toml", text))
    } else {
        (CONFIG, |text| Model::from_config("config.json", text))
    };
    let text = from.damaged(base, &WORDS);
    let shown = text.clone();
    let check = move || match read(&text) {
        Ok(model) => finite(&model).map(|()| Answer::Accepted),
        Err(fault) if fault.code().starts_with("TW-E07") && !fault.next().is_empty() => Ok(Answer::Refused),
        Err(fault) => Err(format!("refused without a code or a next step: {fault:?}")),
    };
    Input { shown, check: Box::new(check) }
}

fn finite(model: &Model) -> Result<(), String> {
    for phase in [Phase::Decode, Phase::Prefill] {
        let inputs = Inputs::new(model, &Machine::default(), &Topology::default(), &Work::new(phase, 8192));
        for options in [Options::BASELINE, Options::refined()] {
            let s = step(&inputs, options);
            let figures = [s.latency_s, s.memory.used_bytes, s.efficiency, s.throughput_tok_per_s];
            if !figures.iter().all(|x| x.is_finite() && *x >= 0.0) {
                return Err(format!("figures {figures:?} of {model:?}"));
            }
        }
    }
    Ok(())
}
