//! The page's text and controls. A control names the input it sets; the script reads all of them alike.

use super::{Report, data};
use crate::picture::STYLE;
use crate::topology::{CpRing, FfnShardScope, KvShardMode, Phase, Placement, SipTopology};
use maud::{DOCTYPE, Markup, PreEscaped, html};

pub(super) fn page(report: &Report<'_>) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Plan of " (report.model.name) }
                style { (PreEscaped(STYLE)) (PreEscaped(include_str!("page.css"))) }
            }
            body {
                a.skip href="#results" { "Skip to the figures" }
                header {
                    h1 { "Where to put " span #model-name { (report.model.name) } }
                    p.lead { "A closed-form model: turn a knob, and every figure on this page follows. Nothing leaves this page." }
                }
                div.layout {
                    (controls(report))
                    main #results { (results()) (facts(report)) }
                }
                noscript { p.lead { "The figures of this page are computed by its script, which is switched off here." } }
                script { (PreEscaped(report.script())) (PreEscaped(include_str!("js/app.js"))) }
            }
        }
    };
    page.into_string()
}

fn controls(report: &Report<'_>) -> Markup {
    html! {
        form #knobs aria-label="Knobs" autocomplete="off" {
            details.knobs open {
                summary { "Knobs" }
                (model_controls(report))
                fieldset {
                    legend { "Step" }
                    (select("phase", "Phase", "decode: one token a request; prefill: the whole context", &phases(report)))
                    (number("S", "Context", "tokens", 1.0, "1", "100000000"))
                    (number("b", "Requests", "a stage", 1.0, "1", "65536"))
                }
                fieldset {
                    legend { "Parallelism" }
                    div.pairs {
                        (number("cp", "CP", "sequence", 1.0, "1", "65536"))
                        (number("tp", "TP", "heads", 1.0, "1", "65536"))
                        (number("pp", "PP", "layers", 1.0, "1", "65536"))
                        (number("dp", "DP", "replicas", 1.0, "1", "65536"))
                        (number("ep", "EP", "experts", 1.0, "1", "65536"))
                    }
                    (modes(report))
                }
                fieldset {
                    legend { "Machine" }
                    (number("peak", "Products", "TFLOP/s", 1e12, "0.001", "1000000"))
                    (number("u", "Used of it", "part", 1.0, "0.01", "1"))
                    (number("hbm", "HBM", "GB a PE", 1e9, "0.001", "1000000"))
                    (number("W", "HBM rate", "GB/s", 1e9, "0.001", "1000000"))
                    (number("bw_intra", "Link in a cube", "GB/s", 1e9, "0.001", "1000000"))
                    (number("bw_inter", "Link of cubes", "GB/s", 1e9, "0.001", "1000000"))
                    (number("bw_sip", "Link of SIPs", "GB/s", 1e9, "0.001", "1000000"))
                    (number("a_intra", "Hop in a cube", "ns", 1e-9, "0", "1000000"))
                    (number("a_inter", "Hop of cubes", "ns", 1e-9, "0", "1000000"))
                    (number("a_sip", "Hop of SIPs", "ns", 1e-9, "0", "1000000"))
                }
                p.actions { button #restart type="button" { "Back to the start" } }
            }
        }
    }
}

fn model_controls(report: &Report<'_>) -> Markup {
    let models = data::models(report.model);
    let mut families: Vec<&str> = models.iter().map(|m| m.family.as_str()).collect();
    families.dedup();
    html! {
        fieldset {
            legend { "Model" }
            label.control for="k-model" {
                span.name { "Model" }
                select #k-model {
                    @for (n, family) in families.iter().enumerate() {
                        @if !families[..n].contains(family) {
                            optgroup label=(family) {
                                @for (at, model) in models.iter().enumerate().filter(|(_, m)| m.family == *family) {
                                    option value=(at) selected[*model == report.model] { (model.name) }
                                }
                            }
                        }
                    }
                }
            }
            label.control for="k-method" {
                span.name { "Method" }
                select #k-method {
                    @for (at, method) in report.methods().iter().enumerate() { option value=(at) { (method.label()) } }
                }
            }
            details {
                summary { "Its shape" }
                (number("d", "Hidden", "elements", 1.0, "1", "4194304"))
                (number("f", "FFN width", "elements", 1.0, "1", "4194304"))
                (number("Hq", "Query heads", "", 1.0, "1", "16384"))
                (number("Hk", "KV heads", "", 1.0, "1", "16384"))
                (number("h", "Head", "elements", 1.0, "1", "16384"))
                (number("L", "Layers", "", 1.0, "1", "16384"))
                (number("e", "Element", "bytes", 1.0, "0.125", "16"))
            }
            p #refused role="alert" {}
        }
    }
}

/// A number: what is typed, times `scale`, is the input.
fn number(input: &str, name: &str, unit: &str, scale: f64, min: &str, max: &str) -> Markup {
    let id = format!("k-{input}");
    html! {
        label.control for=(id) {
            span.name { (name) @if !unit.is_empty() { " " small { (unit) } } }
            span.stepper {
                button type="button" data-by="0.5" data-for=(id) aria-label=(format!("halve {name}")) { "÷2" }
                input id=(id) type="number" inputmode="decimal" step="any" min=(min) max=(max) data-input=(input) data-scale=(scale);
                button type="button" data-by="2" data-for=(id) aria-label=(format!("double {name}")) { "×2" }
            }
        }
    }
}

/// A choice: its name, what it sets, and whether it is the first one.
struct Choice {
    name: &'static str,
    sets: String,
    chosen: bool,
}

fn choices<T: Copy + PartialEq>(
    all: &[T],
    now: T,
    name: fn(T) -> &'static str,
    sets: impl Fn(T) -> String,
) -> Vec<Choice> {
    all.iter().map(|c| Choice { name: name(*c), sets: sets(*c), chosen: *c == now }).collect()
}

fn select(id: &str, name: &str, what: &str, choices: &[Choice]) -> Markup {
    let id = format!("k-{id}");
    html! {
        label.control for=(id) title=(what) {
            span.name { (name) }
            select id=(id) data-sets="" {
                @for c in choices { option value=(c.sets) selected[c.chosen] { (c.name) } }
            }
        }
    }
}

fn flag(name: &str, yes: bool) -> String {
    format!("{{\"{name}\":{}}}", u8::from(yes))
}

fn phases(report: &Report<'_>) -> Vec<Choice> {
    choices(Phase::ALL, report.work.phase, Phase::name, |p| flag("decode", p == Phase::Decode))
}

fn modes(report: &Report<'_>) -> Markup {
    let t = &report.topology;
    let scope = |s: FfnShardScope| {
        let (cp, dp) = (s != FfnShardScope::Tp, s == FfnShardScope::TpCpDp);
        format!("{{\"scope_cp\":{},\"scope_dp\":{}}}", u8::from(cp), u8::from(dp))
    };
    let links = |s: SipTopology| {
        let (mesh, torus) = (s == SipTopology::Mesh2d, s == SipTopology::Torus2d);
        format!("{{\"sip_mesh\":{},\"sip_torus\":{}}}", u8::from(mesh), u8::from(torus))
    };
    let placed = |input: &'static str| move |p: Placement| flag(input, p == Placement::Pe);
    html! {
        (select("kv_split", "KV heads", "ranks that share a KV head hold parts of it, or copies",
            &choices(KvShardMode::ALL, t.kv_shard_mode, KvShardMode::name, |m| flag("kv_split", m == KvShardMode::Split))))
        (select("scope", "FFN over", "ranks that FFN weights are divided over",
            &choices(FfnShardScope::ALL, t.ffn_shard_scope, FfnShardScope::name, scope)))
        (select("tp_on_pe", "TP on", "ranks of tp are PEs of a cube, or cubes",
            &choices(Placement::ALL, t.tp_placement, Placement::name, placed("tp_on_pe"))))
        (select("cp_on_pe", "CP on", "ranks of cp are PEs of a cube, or cubes",
            &choices(Placement::ALL, t.cp_placement, Placement::name, placed("cp_on_pe"))))
        (select("ring_qoml", "CP ring", "what goes round the ring of cp in prefill",
            &choices(CpRing::ALL, t.cp_ring_variant, CpRing::name, |r| flag("ring_qoml", r == CpRing::Qoml))))
        (select("sip", "SIPs", "how SIPs are linked",
            &choices(SipTopology::ALL, t.sip_topology, SipTopology::name, links)))
    }
}

/// A card of the results: the picture's name, its heading, whether it takes the whole width.
const CARDS: [(&str, &str, bool); 14] = [
    ("pipeline", "A layer, stage by stage", true),
    ("pe", "What a PE holds", true),
    ("sip", "Where the ranks lie", false),
    ("tensors", "How tensors are cut", false),
    ("steps", "First token, and each after it", false),
    ("tornado", "Which value of the machine matters", false),
    ("memory-context", "Memory against context", false),
    ("memory-requests", "Memory against requests", false),
    ("roofline", "Part of the peak that decode can reach", false),
    ("batch", "Requests that pay", false),
    ("intensity", "The batch that balances the machine", false),
    ("knobs", "One knob at a time", false),
    ("pareto", "Every deployment of the grid", true),
    ("joint", "Other machines", true),
];

fn results() -> Markup {
    html! {
        section.headline aria-label="Figures" aria-live="polite" { dl #figures {} p #verdict {} }
        div.cards {
            @for (view, heading, wide) in CARDS {
                section.card.wide[wide] id=(view) {
                    h2 { (heading) }
                    @if view == "sip" {
                        p.tools { label { input #k-rows type="checkbox"; " fill cubes in rows" } }
                    }
                    div.canvas data-view=(view) {}
                    @if view == "pipeline" { (stage_table()) }
                    @if view == "pareto" { div #best {} }
                }
                @if view == "knobs" { (sizing()) }
            }
        }
    }
}

/// Users and a goal; the context is that of the knobs.
fn sizing() -> Markup {
    html! {
        section.card.wide #sizing {
            h2 { "Size a service" }
            p.tools {
                label { "Users " input #z-users type="number" min="1" max="1000000000000" step="1" value="500"; }
                " "
                label { "a token within " input #z-goal type="number" min="0.001" max="1000000" step="any" value="100"; " ms" }
            }
            p #size aria-live="polite" {}
        }
    }
}

fn stage_table() -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Stages" {
            table #stages {
                caption { "Per PE and layer. A stage's button shows its formulas with the numbers in them." }
                thead {
                    tr {
                        @for head in ["Stage", "", "Waits for", "Compute", "HBM", "Links", "Visible", "FLOP", "by HBM", "by links"] {
                            th scope="col" { (head) }
                        }
                    }
                }
                tbody {}
            }
        }
    }
}

fn facts(report: &Report<'_>) -> Markup {
    html! {
        footer {
            h2 { "What these figures are" }
            dl.facts {
                dt { "Start" } dd { "machine " (report.machine_name) }
                @for (name, text) in &report.facts { dt { (name) } dd { (text) } }
            }
        }
    }
}
