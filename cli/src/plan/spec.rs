//! `plan spec`: four rates of the machine over decode, prefill and fan-out at once.

use super::asked::{count, real};
use super::fault::told;
use super::flags::flag;
use super::{Answer, Asked, Query};
use clap::{Arg, ArgMatches};
use serde_json::json;
use tilewright_core::diag::Diagnostics;
use tilewright_planner::errors::Fault;
use tilewright_planner::fanout::Agents;
use tilewright_planner::spec_search::{Axis, Spec, search};
use tilewright_planner::view::Keyed;

pub(super) struct SpecSearch;

impl Query for SpecSearch {
    fn name(&self) -> &'static str {
        "spec"
    }
    fn about(&self) -> &'static str {
        "Search products, MATH engine and outer links over decode, prefill and fan-out: frontier, sensitivity, balance"
    }
    fn flags(&self) -> Vec<Arg> {
        vec![
            flag("gain", "PART", "A doubling that gains less is not worth it").default_value("0.05"),
            flag("agents", "N", "Agents of the fan-out").default_value("8"),
            flag("tokens", "N", "Private tokens of each").default_value("20"),
        ]
    }
    fn answer(&self, asked: &Asked, matches: &ArgMatches) -> Result<Answer, Diagnostics> {
        let inputs = asked.inputs()?;
        let gain = real(matches, "gain").map_err(told)?.unwrap_or(0.05);
        if !(0.0..1.0).contains(&gain) {
            let needs = "a part, 0 to 1".to_string();
            return Err(told(Fault::Query { flag: "--gain", value: gain.to_string(), needs }));
        }
        let number = |name, default: u64| Ok::<f64, Fault>(count(matches, name)?.unwrap_or(default) as f64);
        let agents = Agents {
            agents: number("agents", 8).map_err(told)?,
            tokens: number("tokens", 20).map_err(told)?,
            cubes: 4.0,
            groups: 2.0,
            remap_bytes: 0.0,
            table_s: 0.0,
        };
        agents.check(inputs.pes_per_cube).map_err(told)?;
        let o = asked.options;
        let found = search(&asked.model, &asked.machine, &asked.topology, asked.work.s_kv, &agents, gain, o);
        let sensitivity = Axis::ALL.iter().zip(found.doubled).map(|(axis, ratio)| -> Keyed {
            vec![("axis", json!(axis.name())), ("doubled_gain_ratio", json!(1.0 - ratio))]
        });
        let pareto = found.pareto.iter().map(|i| row(&found.specs[*i])).collect();
        let balanced = found.balanced.map(|i| row(&found.specs[i])).into_iter().collect();
        Ok(Answer::new(asked)
            .value("machines", found.specs.len())
            .value("gain_ratio", gain)
            .rows("sensitivity", "an axis doubled from the base: part of the latency that goes", sensitivity.collect())
            .main_rows("pareto", "machines that none beats in latency and area, factors over the base", pareto)
            .rows("balanced", "the smallest machine where no doubling gains the stated part", balanced))
    }
}

fn row(s: &Spec) -> Keyed {
    let mut row: Keyed = Axis::ALL.iter().zip(s.factors).map(|(axis, factor)| (axis.name(), json!(factor))).collect();
    row.extend([
        ("area_ratio", json!(s.area_ratio)),
        ("latency_ratio", json!(s.latency_ratio)),
        ("decode_s", json!(s.decode_s)),
        ("prefill_s", json!(s.prefill_s)),
        ("fanout_s", json!(s.fanout_s)),
    ]);
    row
}
