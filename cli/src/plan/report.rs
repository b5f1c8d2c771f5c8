//! `plan report` and `plan picture`: files for the eye.

use super::asked::text;
use super::fault::told;
use super::flags::flag;
use super::{Answer, Asked, Query};
use clap::ArgMatches;
use serde_json::json;
use std::path::{Path, PathBuf};
use tilewright_core::diag::Diagnostics;
use tilewright_harness::errors::unwritable;
use tilewright_planner::errors::Fault;
use tilewright_planner::picture::{Subject, VIEWS, png, view};
use tilewright_planner::report::Report as Page;
use tilewright_planner::view::Keyed;

pub(super) struct Report;
pub(super) struct Picture;

impl Query for Report {
    fn name(&self) -> &'static str {
        "report"
    }
    fn about(&self) -> &'static str {
        "One page of HTML with all figures and pictures, whose knobs the reader turns; works offline"
    }
    fn flags(&self) -> Vec<clap::Arg> {
        vec![flag("out", "FILE", "The page").default_value("plan.html")]
    }
    fn answer(&self, asked: &Asked, matches: &ArgMatches) -> Result<Answer, Diagnostics> {
        asked.inputs()?;
        let page = Page {
            model: &asked.model,
            machine: &asked.machine,
            machine_name: asked.machine_name().to_string(),
            topology: asked.topology,
            work: asked.work,
            options: asked.options,
            facts: asked.facts(),
        };
        let out = out(matches);
        write(&out, page.html().as_bytes())?;
        Ok(Answer::new(asked).main_rows("files", "written", vec![written(&out, "report")]))
    }
}

impl Query for Picture {
    fn name(&self) -> &'static str {
        "picture"
    }
    fn about(&self) -> &'static str {
        "Pictures of a deployment as SVG or PNG: topology, PEs, tensors, pipeline, roofline, memory, searches"
    }
    fn flags(&self) -> Vec<clap::Arg> {
        let names: Vec<&str> = VIEWS.iter().map(|v| v.name).collect();
        vec![
            flag("view", "NAME", "The picture, or `all`")
                .default_value("pipeline")
                .long_help(format!("The picture, or `all`: {}", names.join(", "))),
            flag("out", "FILE", "Its file, .svg or .png; with `all` the folder, for both of each")
                .default_value("plan.svg"),
            flag("width", "PIXELS", "Its width, 280 to 4000 [default: 900]"),
        ]
    }
    fn answer(&self, asked: &Asked, matches: &ArgMatches) -> Result<Answer, Diagnostics> {
        asked.inputs()?;
        let width = width(matches).map_err(told)?;
        let subject = Subject::new(&asked.model, &asked.machine, asked.topology, asked.work, asked.options);
        let (chosen, out) = (text(matches, "view").unwrap_or_default(), out(matches));
        let mut files = Vec::new();
        if chosen == "all" {
            std::fs::create_dir_all(&out).map_err(|e| unwritable(&out, e))?;
            for view in &VIEWS {
                let scene = (view.draw)(&subject, width);
                for (end, bytes) in [("svg", scene.svg().into_bytes()), ("png", png(&scene, SCALE))] {
                    let file = out.join(format!("{}.{end}", view.name));
                    write(&file, &bytes)?;
                    files.push(written(&file, view.name));
                }
            }
        } else {
            let view = view(&chosen).map_err(told)?;
            let scene = (view.draw)(&subject, width);
            let bytes = match out.extension().and_then(|e| e.to_str()) {
                Some("png") => png(&scene, SCALE),
                Some("svg") => scene.svg().into_bytes(),
                other => {
                    let known = ["svg", "png"].map(String::from).to_vec();
                    let found = other.unwrap_or_default().to_string();
                    return Err(told(Fault::Choice { what: "the end of --out", found, known }));
                }
            };
            write(&out, &bytes)?;
            files.push(written(&out, view.name));
        }
        Ok(Answer::new(asked).main_rows("files", "written", files))
    }
}

/// Pixels of a PNG for one of the picture.
const SCALE: f32 = 2.0;

fn width(matches: &ArgMatches) -> Result<f64, Fault> {
    let width = super::asked::count(matches, "width")?.unwrap_or(900);
    if !(280..=4000).contains(&width) {
        return Err(Fault::Query { flag: "--width", value: width.to_string(), needs: "280 to 4000 pixels".into() });
    }
    Ok(width as f64)
}

fn out(matches: &ArgMatches) -> PathBuf {
    text(matches, "out").unwrap_or_default().into()
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Diagnostics> {
    std::fs::write(path, bytes).map_err(|e| unwritable(path, e).into())
}

fn written(path: &Path, what: &str) -> Keyed {
    vec![("what", json!(what)), ("file", json!(path.display().to_string()))]
}
