//! The page in a browser: knobs are moved, figures are read.

use crate::random::Random;
use crate::support::{file, number, program, report, run, same, skipped};
use serde_json::{Value, json};
use std::path::Path;
use tilewright_planner::machine::Machine;
use tilewright_planner::model::named;
use tilewright_planner::options::Options;
use tilewright_planner::picture::Subject;
use tilewright_planner::topology::{Phase, Placement, Topology, Work};

/// What each step gave. Nothing went wrong on the page, and it asked for nothing but itself.
fn browse(name: &str, steps: &[Value]) -> Option<Vec<Value>> {
    let browser = program(&["chromium", "chromium-browser", "google-chrome"]);
    let (Some(browser), Some(_)) = (browser, program(&["node"])) else {
        skipped(name, "chromium and node are not both installed");
        return None;
    };
    let page = file(&format!("{name}.html"), &report());
    let steps = file(&format!("{name}.json"), &json!(steps).to_string());
    let said = run("browser.js", &[Path::new(browser), &page, &steps]);
    assert_eq!(said["errors"], json!([]));
    let asked: Vec<&str> = said["requests"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(asked, [format!("file://{}", page.display())]);
    said["results"].as_array().cloned()
}

const FIGURES: &str = "Object.fromEntries([...document.querySelectorAll('[data-figure]')].map((e) => [e.dataset.figure, e.dataset.value]))";

fn compare(what: &str, page: &Value, s: &Subject<'_>) {
    let figures = [
        ("latency_s", s.step.latency_s),
        ("throughput_tok_per_s", s.step.throughput_tok_per_s),
        ("used_bytes", s.step.memory.used_bytes),
        ("total_pes", s.step.placed.total_pes),
        ("efficiency", s.step.efficiency),
    ];
    for (name, value) in figures {
        same(&format!("{what}, {name}"), value, number(&page[name]));
    }
}

#[test]
fn moved_knobs_give_the_figures_of_the_planner() {
    let mut random = Random::new(3);
    let mut steps = vec![json!({"evaluate": FIGURES})];
    let mut cases = Vec::new();
    for n in 0..25 {
        let (model, t) = (random.model(), random.topology());
        let work = random.work();
        let gb = |value: usize| (value + 1) as f64;
        let (w, sip) = (gb(random.below(2000)), gb(random.below(500)));
        let mut machine = Machine { hbm_bytes_per_s: w * 1e9, ..Machine::default() };
        machine.intersip.bytes_per_s = sip * 1e9;
        let options = if n % 3 == 0 { Options::BASELINE } else { Options::refined() };
        let label = options.label();
        let place = |p: Placement| p.name();
        // The model first: it brings its own shape.
        steps.push(json!({"set": {
            "k-model": model.name, "k-method": label, "k-phase": work.phase.name(), "k-S": work.s_kv, "k-b": t.b,
            "k-cp": t.cp, "k-tp": t.tp, "k-pp": t.pp, "k-dp": t.dp, "k-ep": t.ep,
            "k-kv_split": t.kv_shard_mode.name(), "k-scope": t.ffn_shard_scope.name(),
            "k-tp_on_pe": place(t.tp_placement), "k-cp_on_pe": place(t.cp_placement),
            "k-ring_qoml": t.cp_ring_variant.name(), "k-sip": t.sip_topology.name(), "k-W": w, "k-bw_sip": sip}}));
        steps.push(json!({"evaluate": FIGURES}));
        cases.push((model, machine, t, work, options));
    }
    let Some(results) = browse("page-knobs", &steps) else { return };
    let (start, machine) = (named("Llama 3 8B").expect("a preset"), Machine::default());
    let work = Work::new(Phase::Decode, 8192);
    compare("start", &results[0], &Subject::new(&start, &machine, Topology::default(), work, Options::refined()));
    for (n, (model, machine, topology, work, options)) in cases.iter().enumerate() {
        let s = Subject::new(model, machine, *topology, *work, *options);
        compare(&format!("case {n}, {}", model.name), &results[2 + 2 * n], &s);
    }
}

#[test]
fn the_page_fits_a_desk_and_a_phone_and_obeys_keys() {
    let overflow = json!({"evaluate": "document.documentElement.scrollWidth - window.innerWidth"});
    // Scrolls through the page until all pictures are there.
    let pictures = json!({"evaluate": "(async () => {
        const drawn = () => document.querySelectorAll('.canvas svg').length;
        const all = document.querySelectorAll('.canvas').length;
        for (let turn = 0; turn < 200 && drawn() < all; turn++) {
            scrollTo(0, (turn * 400) % document.body.scrollHeight);
            await new Promise((done) => setTimeout(done, 100));
        }
        return drawn();
    })()"});
    let focus = json!({"evaluate": "document.activeElement.id || document.activeElement.className"});
    let cp = json!({"evaluate": "document.getElementById('k-cp').value"});
    let steps = [
        json!({"size": [1280, 900, false]}),
        overflow.clone(),
        json!({"keys": ["Tab"]}),
        focus.clone(),
        json!({"keys": ["Tab"]}),
        focus.clone(),
        json!({"evaluate": "document.querySelector('[data-for=k-cp][data-by=\"2\"]').focus()"}),
        json!({"keys": ["Enter"]}),
        cp.clone(),
        json!({"set": {"k-Hk": 5}}),
        json!({"evaluate": "document.getElementById('refused').textContent"}),
        json!({"click": "#restart"}),
        cp,
        json!({"evaluate": "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"}),
        json!({"click": "#stages button"}),
        json!({"evaluate": "document.querySelector('tr.formulas p').textContent"}),
        pictures,
        json!({"evaluate": "document.querySelectorAll('.canvas').length"}),
        json!({"evaluate": "document.getElementById('verdict').textContent"}),
        json!({"evaluate": "document.getElementById('size').dataset.pes"}),
        // With a knob that the search does not vary away from its default.
        json!({"set": {"k-ep": 4, "k-sip": "torus2d"}}),
        json!({"evaluate": "new Promise((done) => setTimeout(() => {
            const button = document.querySelector('[data-apply]');
            const scored = button.dataset.latency;
            button.click();
            done([scored, document.querySelector('[data-figure=latency_s]').dataset.value, document.getElementById('k-ep').value]);
        }, 400))"}),
        json!({"size": [390, 844, true]}),
        overflow,
    ];
    let Some(results) = browse("page-sizes", &steps) else { return };
    assert_eq!(results[1], json!(0), "wider than 1280 pixels");
    assert_eq!([&results[3], &results[5]], [&json!("skip"), &json!("k-model")]);
    assert_eq!(results[8], json!("8"), "enter on the button doubles cp");
    assert_eq!(results[10], json!("Query heads: a multiple of the KV heads"));
    assert_eq!(results[12], json!("4"));
    let formula = results[15].as_str().expect("a formula");
    assert!(formula.starts_with("S1.") && formula.contains("= "), "{formula}");
    assert_eq!(results[16], results[17], "every picture is drawn when it comes into sight");
    let verdict = results[18].as_str().expect("a sentence");
    let share = verdict.split(", ").nth(1).and_then(|s| s.split(' ').next()).and_then(|s| s.parse::<f64>().ok());
    assert!(share.is_some_and(|percent| percent > 0.0 && percent <= 100.0), "{verdict}");
    let pes = results[19].as_str().and_then(|n| n.parse::<u64>().ok());
    assert!(pes.is_some_and(|n| n > 0), "{:?}", results[19]);
    let applied = &results[21];
    assert_eq!([&applied[0], &applied[2]], [&applied[1], &json!("1")], "an applied point is the one that was scored");
    assert_eq!(results[23], json!(0), "wider than a phone");
}
