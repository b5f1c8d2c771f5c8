//! What the flags ask for, checked.

use super::fault::told;
use super::flags::{DIMENSIONS, RATES};
use clap::ArgMatches;
use std::str::FromStr;
use tilewright_core::diag::Diagnostics;
use tilewright_harness::cli::{Common, Facts};
use tilewright_planner::errors::Fault;
use tilewright_planner::inputs::Inputs;
use tilewright_planner::machine::{Link, Machine};
use tilewright_planner::model::Model;
use tilewright_planner::options::{Opt, Options};
use tilewright_planner::topology::{Parts, Phase, Topology, Work};
use tilewright_sim::machine::{FieldId, Status, field};

/// A question's particulars.
pub struct Asked {
    pub model: Model,
    pub machine: Machine,
    pub topology: Topology,
    pub work: Work,
    pub options: Options,
    pub explain: bool,
    pub common: Common,
    /// Of the machine file: its name, and which of its values were never measured or published.
    machine_name: String,
    assumed: Vec<String>,
    /// Flags that replaced a value of the machine.
    set: Vec<String>,
}

impl Asked {
    pub(super) fn of(matches: &ArgMatches) -> Result<Asked, Diagnostics> {
        let common = Common::of(matches);
        let file = common.open_machine()?;
        let (mut machine, assumed) = from_file(&file);
        let set = replace_rates(matches, &mut machine).map_err(told)?;
        let asked = Asked {
            model: model(matches).map_err(told)?,
            machine,
            topology: topology(matches).map_err(told)?,
            work: work(matches).map_err(told)?,
            options: options(matches).map_err(told)?,
            explain: matches.get_flag("explain"),
            machine_name: format!("{} ({:016x})", file.name, file.hash()),
            common,
            assumed,
            set,
        };
        asked.machine.check().map_err(told)?;
        asked.topology.check().map_err(told)?;
        asked.work.check().map_err(told)?;
        Ok(asked)
    }
    /// The numbers of the deployment that was asked for.
    ///
    /// # Errors
    /// With the option `feasible`, its ranks have to fit their cubes.
    pub fn inputs(&self) -> Result<Inputs<f64>, Diagnostics> {
        if self.options.has(Opt::Feasible) {
            self.topology.check_placement(self.machine.pes_per_cube).map_err(told)?;
        }
        Ok(Inputs::new(&self.model, &self.machine, &self.topology, &self.work))
    }
    pub fn machine_name(&self) -> &str {
        &self.machine_name
    }
    /// What a result says of itself.
    pub fn facts(&self) -> Facts {
        let mut facts = vec![
            ("model".to_string(), self.model.name.clone()),
            ("backend".to_string(), "planner, closed form (no events, no random numbers)".to_string()),
            ("method".to_string(), self.options.label()),
            ("machine".to_string(), format!("{}; model, not validated on hardware", self.machine_name)),
        ];
        if !self.assumed.is_empty() {
            let text = format!("{} (never measured or published)", self.assumed.join(", "));
            facts.push(("assumed".to_string(), text));
        }
        if !self.set.is_empty() {
            facts.push(("set".to_string(), self.set.join(", ")));
        }
        facts
    }
}

/// The planner's view of a machine file, and the values in it that are assumed. What the file does not hold (HBM capacity,
/// the part of the peak, the link inside a cube) stays as in the study's planner.
fn from_file(m: &tilewright_sim::machine::Machine) -> (Machine, Vec<String>) {
    let seconds = |ps: tilewright_sim::units::Ps| ps.0 as f64 / 1e12;
    let rate = |r: tilewright_sim::units::Rate| r.0 as f64;
    let default = Machine::default();
    let machine = Machine {
        peak_flop_per_s: rate(m.gemm.peak_f16),
        hbm_bytes_per_s: rate(m.hbm.slice_rate),
        intra: Link { hop_s: seconds(m.barrier.cube), ..default.intra },
        inter: Link { bytes_per_s: rate(m.queue.cube_rate), hop_s: seconds(m.barrier.launch) },
        intersip: Link { bytes_per_s: rate(m.sip.rate), hop_s: seconds(m.sip.latency) },
        pes_per_cube: m.pes_per_cube() as u64,
        cubes_per_sip: m.cubes_per_sip() as u64,
        math_elem_per_s: rate(m.math.rate),
        scratch_bytes: m.scratch.capacity.0 as f64,
        issue_s: seconds(m.cycles(m.cpu.composite)),
        ..default
    };
    let used = [
        field::gemm::peak_f16,
        field::hbm::slice_rate,
        field::queue::cube_rate,
        field::barrier::cube,
        field::barrier::launch,
        field::sip::rate,
        field::sip::latency,
        field::math::rate,
        field::scratch::capacity,
        field::cpu::composite,
    ];
    let assumed = used.iter().filter(|id| m.status(**id) == Status::Assumed).map(|id| FieldId::path(*id).to_string());
    (machine, assumed.collect())
}

fn replace_rates(matches: &ArgMatches, m: &mut Machine) -> Result<Vec<String>, Fault> {
    let mut set = Vec::new();
    for (name, _) in RATES {
        let Some(value) = real(matches, name)? else { continue };
        let (place, unit) = match name {
            "pe-hbm-gb" => (&mut m.hbm_bytes, 1e9),
            "bw-hbm-gb-per-s" => (&mut m.hbm_bytes_per_s, 1e9),
            "peak-tflops-f16" => (&mut m.peak_flop_per_s, 1e12),
            "bw-intra-gb-per-s" => (&mut m.intra.bytes_per_s, 1e9),
            "bw-inter-gb-per-s" => (&mut m.inter.bytes_per_s, 1e9),
            "bw-intersip-gb-per-s" => (&mut m.intersip.bytes_per_s, 1e9),
            _ => (&mut m.utilisation, 1.0),
        };
        *place = value * unit;
        set.push(format!("{name} = {value}"));
    }
    Ok(set)
}

fn model(matches: &ArgMatches) -> Result<Model, Fault> {
    let mut model = Model::load(&text(matches, "model").unwrap_or_default())?;
    let mut changed = Vec::new();
    for (name, _) in DIMENSIONS {
        let Some(value) = count(matches, name)? else { continue };
        let place = match name {
            "hidden" => &mut model.hidden,
            "ffn-dim" => &mut model.ffn_dim,
            "q-heads" => &mut model.q_heads,
            "kv-heads" => &mut model.kv_heads,
            "d-head" => &mut model.d_head,
            _ => &mut model.layers,
        };
        *place = value;
        changed.push(format!("{name} {value}"));
    }
    if let Some(bytes) = real(matches, "bytes-per-elem")? {
        model.bytes_per_elem = bytes;
        changed.push(format!("bytes-per-elem {bytes}"));
    }
    if !changed.is_empty() {
        model.name = format!("{} with {}", model.name, changed.join(", "));
    }
    model.check(None)
}

fn topology(matches: &ArgMatches) -> Result<Topology, Fault> {
    let default = Topology::default();
    let degree = |name: &str, default: u64| Ok::<u64, Fault>(count(matches, name)?.unwrap_or(default));
    Ok(Topology {
        cp: degree("cp", default.cp)?,
        tp: degree("tp", default.tp)?,
        pp: degree("pp", default.pp)?,
        dp: degree("dp", default.dp)?,
        ep: degree("ep", default.ep)?,
        b: degree("b", default.b)?,
        kv_shard_mode: choice(matches, "kv-shard-mode", default.kv_shard_mode)?,
        ffn_shard_scope: choice(matches, "ffn-shard-scope", default.ffn_shard_scope)?,
        tp_placement: choice(matches, "tp-placement", default.tp_placement)?,
        cp_placement: choice(matches, "cp-placement", default.cp_placement)?,
        cp_ring_variant: choice(matches, "cp-ring-variant", default.cp_ring_variant)?,
        sip_topology: choice(matches, "sip-topology", default.sip_topology)?,
    })
}

fn work(matches: &ArgMatches) -> Result<Work, Fault> {
    Ok(Work {
        phase: choice(matches, "phase", Phase::Decode)?,
        s_kv: count(matches, "s-kv")?.unwrap_or(1),
        t_q: count(matches, "t-q")?,
        micro_batches: count(matches, "micro-batches")?.unwrap_or(0),
        parts: Parts { attention: yes(matches, "include-attention")?, ffn: yes(matches, "include-ffn")? },
    })
}

fn options(matches: &ArgMatches) -> Result<Options, Fault> {
    let method = text(matches, "method").unwrap_or_default();
    let base = match method.as_str() {
        "baseline" => Options::BASELINE,
        "refined" => Options::refined(),
        _ => {
            let known = ["baseline", "refined"].map(String::from).to_vec();
            return Err(Fault::Choice { what: "--method", found: method, known });
        }
    };
    let named = |flag: &str| {
        let names = matches.get_many::<String>(flag).into_iter().flatten();
        names.map(|name| Opt::from_str(name)).collect::<Result<Vec<Opt>, Fault>>()
    };
    let with = named("with")?.into_iter().fold(base, Options::with);
    Ok(named("without")?.into_iter().fold(with, Options::without))
}

pub(super) fn text(matches: &ArgMatches, name: &str) -> Option<String> {
    matches.get_one::<String>(name).cloned()
}

fn choice<T: FromStr<Err = Fault>>(matches: &ArgMatches, name: &str, default: T) -> Result<T, Fault> {
    match text(matches, name) {
        Some(word) => word.parse().map_err(|fault| match fault {
            Fault::Choice { found, known, .. } => Fault::Choice { what: flag_name(name), found, known },
            other => other,
        }),
        None => Ok(default),
    }
}

/// Two flags share a type of choice.
fn flag_name(name: &str) -> &'static str {
    match name {
        "cp-placement" => "--cp-placement",
        "tp-placement" => "--tp-placement",
        "kv-shard-mode" => "--kv-shard-mode",
        "ffn-shard-scope" => "--ffn-shard-scope",
        "cp-ring-variant" => "--cp-ring-variant",
        "sip-topology" => "--sip-topology",
        _ => "--phase",
    }
}

pub(super) fn count(matches: &ArgMatches, name: &str) -> Result<Option<u64>, Fault> {
    let read = |found: String| match found.parse::<u64>() {
        Ok(n) => Ok(n),
        Err(_) => Err(Fault::Number { flag: name.to_string(), found, needs: "a whole number, 0 or more" }),
    };
    text(matches, name).map(read).transpose()
}

pub(super) fn real(matches: &ArgMatches, name: &str) -> Result<Option<f64>, Fault> {
    let read = |found: String| match found.parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(x),
        _ => Err(Fault::Number { flag: name.to_string(), found, needs: "a decimal number" }),
    };
    text(matches, name).map(read).transpose()
}

fn yes(matches: &ArgMatches, name: &str) -> Result<bool, Fault> {
    let what = if name == "include-ffn" { "--include-ffn" } else { "--include-attention" };
    match text(matches, name).as_deref() {
        Some("true") | None => Ok(true),
        Some("false") => Ok(false),
        Some(found) => {
            let known = ["true", "false"].map(String::from).to_vec();
            Err(Fault::Choice { what, found: found.to_string(), known })
        }
    }
}
