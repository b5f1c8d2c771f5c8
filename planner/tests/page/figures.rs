//! The page's formulas and pictures, in Node.

use crate::random::Random;
use crate::support::{file, number, program, run, same, skipped};
use serde_json::{Map, Value, json};
use tilewright_planner::machine::Machine;
use tilewright_planner::model::named;
use tilewright_planner::options::{Opt, Options};
use tilewright_planner::picture::{Subject, VIEWS};
use tilewright_planner::report::Report;
use tilewright_planner::report::outputs::{of_roofline, of_score, of_step};
use tilewright_planner::roofline::roofline;
use tilewright_planner::size::{Demand, Sizing, size, size_sharded};
use tilewright_planner::step;
use tilewright_planner::topology::{Phase, Topology, Work};

const POINTS: usize = 1000;

fn script() -> std::path::PathBuf {
    let (model, machine) = (named("Llama 3 8B").expect("a preset"), Machine::default());
    let report = Report {
        model: &model,
        machine: &machine,
        machine_name: String::new(),
        topology: Topology::default(),
        work: Work::new(Phase::Decode, 4096),
        options: Options::refined(),
        facts: vec![],
    };
    assert_eq!(report.methods(), methods());
    file("page-script.js", &report.script())
}

/// In the order of the page.
fn methods() -> Vec<Options> {
    let mut methods = vec![Options::refined(), Options::BASELINE];
    methods.dedup();
    methods
}

fn inputs(s: &Subject<'_>) -> Map<String, Value> {
    let (graph, _) = step::formulas(Options::BASELINE);
    graph.inputs.iter().zip(s.inputs.values()).map(|(i, x)| (i.name.to_string(), json!(x))).collect()
}

#[test]
fn a_thousand_random_points_have_the_figures_of_the_page() {
    if program(&["node"]).is_none() {
        return skipped(&format!("{POINTS} points of the page"), "node is not installed");
    }
    let mut random = Random::new(1);
    let mut cases = Vec::new();
    let mut found = Vec::new();
    for _ in 0..POINTS {
        let (model, machine) = (random.model(), random.machine());
        let method = random.below(methods().len());
        let s = Subject::new(model, &machine, random.topology(), random.work(), methods()[method]);
        let sparsity = s.inputs.experts / s.inputs.active;
        let roofline = roofline(&s.inputs, sparsity, s.options);
        cases.push(json!({"method": method, "x": inputs(&s)}));
        let bounds: Vec<_> = s.step.rows.present().map(|r| json!([r.id.name(), r.bound().name()])).collect();
        found.push(([of_step(&s.step), of_score(&s.step), of_roofline(&roofline)], bounds));
    }
    let cases = file("page-points.json", &json!(cases).to_string());
    let page = run("points.js", &[&script(), &cases]);
    for (n, (figures, bounds)) in found.iter().enumerate() {
        for (part, outputs) in ["step", "score", "roofline"].iter().zip(figures) {
            for (name, value) in outputs {
                same(&format!("point {n}, {part}.{name}"), value.value(), number(&page[n][*part][name]));
            }
        }
        assert_eq!(page[n]["bounds"], json!(bounds), "point {n}");
    }
}

#[test]
fn the_page_draws_the_pictures_of_the_planner() {
    if program(&["node"]).is_none() {
        return skipped("pictures of the page", "node is not installed");
    }
    let mut random = Random::new(2);
    let mut cases = Vec::new();
    let mut drawn = Vec::new();
    for n in 0..24 {
        let (model, machine) = (random.model(), random.machine());
        let method = random.below(methods().len());
        let s = Subject::new(model, &machine, random.topology(), random.work(), methods()[method]);
        // Searches of a point are slow without optimisation.
        let slow = |name: &str| matches!(name, "pareto" | "joint");
        let views: Vec<_> = VIEWS.iter().filter(|v| !slow(v.name) || n == 0).collect();
        let width = [360.0, 470.0, 940.0][n % 3];
        let names: Vec<_> = views.iter().map(|v| v.name).collect();
        cases.push(json!({"method": method, "x": inputs(&s), "width": width, "views": names}));
        drawn.push(views.iter().map(|v| (v.name, (v.draw)(&s, width))).collect::<Vec<_>>());
    }
    let cases = file("page-pictures.json", &json!(cases).to_string());
    let page = run("pictures.js", &[&script(), &cases]);
    for (n, scenes) in drawn.iter().enumerate() {
        for (name, scene) in scenes {
            let found = &page[n][name];
            let body = found["body"].as_str().expect("a picture");
            let (rust, js) = apart(&scene.body(), body);
            assert_eq!(rust, js, "picture {n}, {name}");
            let height = found["height"].as_f64().expect("a height");
            assert!((height - scene.height).abs() < 1e-6, "picture {n}, {name}: {height} and {}", scene.height);
        }
    }
}

#[test]
fn the_page_sizes_services_as_the_planner_does() {
    if program(&["node"]).is_none() {
        return skipped("sizing on the page", "node is not installed");
    }
    let machine = Machine::default();
    let mut cases = Vec::new();
    let mut found = Vec::new();
    for (name, context) in [("Llama 3 8B", 4096), ("Llama 3.1 70B", 32768), ("Mixtral 8x7B", 8192)] {
        for (users, tpot_goal_s) in [(1, 0.05), (500, 0.1), (100_000, 0.02), (8, 1e-6)] {
            for (method, o) in methods().into_iter().enumerate() {
                let model = named(name).expect("a preset");
                let s = Subject::new(&model, &machine, Topology::default(), Work::new(Phase::Decode, context), o);
                cases.push(json!({"method": method, "x": inputs(&s), "users": users, "goal": tpot_goal_s}));
                let demand = Demand { users, context, tpot_goal_s };
                found.push(if o.has(Opt::Sizing) {
                    match size_sharded(&model, &machine, &demand, o) {
                        Sizing::Found(x) => Ok((x.total_pes, x.topology.b, x.binding.name())),
                        Sizing::Unreachable(fastest) => Err(fastest.map(|(_, s)| s)),
                    }
                } else {
                    let x = size(&model, &machine, &demand);
                    Ok((x.total_pes, x.users_per_replica, x.binding.name()))
                });
            }
        }
    }
    let cases = file("page-sizing.json", &json!(cases).to_string());
    let page = run("sizing.js", &[&script(), &cases]);
    for (n, found) in found.iter().enumerate() {
        let page = &page[n];
        match found {
            Ok((pes, users, binding)) => assert_eq!(
                [&page["total_pes"], &page["users"], &page["binding"]],
                [&json!(pes.to_string()), &json!(users.to_string()), &json!(binding)],
                "case {n}"
            ),
            Err(fastest) => same("fastest", fastest.expect("something fits"), number(&page["fastest_s"])),
        }
    }
}

/// Both texts from the first shape that differs.
fn apart(rust: &str, page: &str) -> (String, String) {
    let split = |text: &str| text.replace("><", ">\n<");
    let (rust, page) = (split(rust), split(page));
    let differs = rust.lines().zip(page.lines()).position(|(a, b)| a != b);
    let at = differs.unwrap_or(rust.lines().count().min(page.lines().count()));
    let rest = |text: &str| text.lines().skip(at).take(3).collect::<Vec<_>>().join("\n");
    (rest(&rust), rest(&page))
}
