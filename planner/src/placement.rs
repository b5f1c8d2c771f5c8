//! Which PEs, cubes and SIPs a deployment takes, and which links its groups use.

use crate::formula::{Dim, Num};
use crate::inputs::Inputs;
use crate::options::{Opt, Options};

/// A tier of links, and its numbers.
#[derive(Clone, Copy, Debug)]
pub struct Tier<N: Num> {
    /// 0 inside a cube, 1 between cubes, 2 between SIPs.
    pub code: N,
    pub bytes_per_s: N,
    pub hop_s: N,
}

/// Names of the tiers by their code.
pub const TIERS: [&str; 3] = ["intra", "inter", "intersip"];

impl<N: Num> Tier<N> {
    pub fn intra(i: &Inputs<N>) -> Tier<N> {
        Tier { code: N::lit(0.0), bytes_per_s: i.bw_intra, hop_s: i.a_intra }
    }
    pub fn inter(i: &Inputs<N>) -> Tier<N> {
        Tier { code: N::lit(1.0), bytes_per_s: i.bw_inter, hop_s: i.a_inter }
    }
    pub fn intersip(i: &Inputs<N>) -> Tier<N> {
        Tier { code: N::lit(2.0), bytes_per_s: i.bw_sip, hop_s: i.a_sip }
    }
    #[inline(always)]
    pub fn pick(condition: N::Bool, yes: Tier<N>, no: Tier<N>) -> Tier<N> {
        Tier {
            code: N::pick(condition, || yes.code, || no.code),
            bytes_per_s: N::pick(condition, || yes.bytes_per_s, || no.bytes_per_s),
            hop_s: N::pick(condition, || yes.hop_s, || no.hop_s),
        }
    }
}

/// Ranks that work together, and how they lie: so many in a cube, in so many cubes of a SIP, in so many SIPs.
#[derive(Clone, Copy, Debug)]
pub struct Group<N: Num> {
    pub ranks: N,
    pub in_cube: N,
    pub cubes: N,
    pub sips: N,
}

impl<N: Num> Group<N> {
    /// `ranks` with `in_cube` of them a cube, over `span` cubes in a row.
    #[inline(always)]
    fn new(i: &Inputs<N>, ranks: N, in_cube: N, span: N) -> Group<N> {
        let one = N::lit(1.0);
        let in_cube = one.max(in_cube.min(ranks).min(i.pes_per_cube));
        let all_cubes = ranks.div_ceil(in_cube);
        let sips = span.div_ceil(i.cubes_per_sip).min(all_cubes);
        Group { ranks, in_cube, cubes: all_cubes.div_ceil(sips), sips }
    }
    /// The slowest link that the group uses.
    #[inline(always)]
    pub fn tier(&self, i: &Inputs<N>) -> Tier<N> {
        let one = N::lit(1.0);
        let inside = Tier::pick(one.lt(self.cubes), Tier::inter(i), Tier::intra(i));
        Tier::pick(one.lt(self.sips), Tier::intersip(i), inside)
    }
}

/// The groups of a stage of one replica, placed one after another: tp innermost, then cp, pp, dp.
#[derive(Clone, Copy, Debug)]
pub struct Groups<N: Num> {
    pub tp: Group<N>,
    pub cp: Group<N>,
    pub ffn: Group<N>,
}

#[inline(always)]
pub fn groups<N: Num>(i: &Inputs<N>, placed: &Placed<N>) -> Groups<N> {
    let one = N::lit(1.0);
    let tp_inside = N::pick(i.tp_on_pe, || i.tp, || one);
    let cp_inside = N::pick(i.cp_on_pe, || i.cp, || one);
    let stage = placed.cubes_used / (i.pp * i.dp);
    let scope_cp = N::pick(i.scope_cp, || i.cp, || one);
    let scope_dp = N::pick(i.scope_dp, || i.dp, || one);
    let ffn_inside = tp_inside * N::pick(i.scope_cp, || cp_inside, || one);
    let ffn_span = N::pick(i.scope_cp, || stage, || placed.tp_spans_cubes) + (scope_dp - one) * i.pp * stage;
    // Ranks of cp on cubes are as far apart as a group of tp is wide.
    let cp_span = N::pick(i.cp_on_pe, || one, || i.cp * placed.tp_spans_cubes);
    Groups {
        tp: Group::new(i, i.tp, tp_inside, placed.tp_spans_cubes),
        cp: Group::new(i, i.cp, cp_inside, cp_span),
        ffn: Group::new(i, i.tp * scope_cp * scope_dp, ffn_inside, ffn_span),
    }
}

/// Where a deployment lies.
#[derive(Clone, Copy, Debug)]
pub struct Placed<N: Num> {
    pub total_pes: N,
    pub cubes_used: N,
    pub sips_used: N,
    /// Ranks that are placed on PEs of a cube, multiplied.
    pub intra_cube_pes: N,
    /// They fit a cube.
    pub valid: N::Bool,
    pub tp_spans_cubes: N,
    pub tp_tier: Tier<N>,
    /// What tables call the link of cp; the stages have rules of their own.
    pub cp_tier: Tier<N>,
    /// Hops of the ring of cp between cubes, and between SIPs.
    pub ring_hops_inter: N,
    pub ring_hops_sip: N,
}

/// ep adds no PEs: its ranks are those of the FFN.
#[inline(always)]
pub fn place<N: Num>(i: &Inputs<N>, o: Options) -> Placed<N> {
    let one = N::lit(1.0);
    let total_pes = (i.cp * i.tp * i.pp * i.dp).def("total_pes", Dim::ONE, "ep adds none");
    let tp_inside = N::pick(i.tp_on_pe, || i.tp, || one);
    let cp_inside = N::pick(i.cp_on_pe, || i.cp, || one);
    let intra = (tp_inside * cp_inside).def("intra_cube_pes", Dim::ONE, "ranks placed on PEs");
    let outer = N::pick(i.tp_on_pe, || one, || i.tp) * N::pick(i.cp_on_pe, || one, || i.cp);
    let cubes_per_stage = (outer * one.max(intra.div_ceil(i.pes_per_cube))).def(
        "cubes_per_stage",
        Dim::ONE,
        "ranks placed on cubes, times the cubes that the others spill over",
    );
    let cubes_used = (cubes_per_stage * i.pp * i.dp).def("cubes_used", Dim::ONE, "");
    let sips_used = one.max(cubes_used.div_ceil(i.cubes_per_sip)).def("sips_used", Dim::ONE, "");
    let tp_spans_cubes = N::pick(i.tp_on_pe, || one.max(i.tp.div_ceil(i.pes_per_cube)), || i.tp).def(
        "tp_spans_cubes",
        Dim::ONE,
        "cubes that one group of tp lies on",
    );
    let (intra_link, inter, sip) = (Tier::intra(i), Tier::inter(i), Tier::intersip(i));
    let beyond = Tier::pick(tp_spans_cubes.le(i.cubes_per_sip), inter, sip);
    let tp_tier = Tier::pick(N::and(i.tp_on_pe, i.tp.le(i.pes_per_cube)), intra_link, beyond);
    let cp_tier = Tier::pick(i.cp_on_pe, intra_link, Tier::pick(i.cp.le(i.cubes_per_sip), inter, sip));
    // Both 0 without a ring.
    let sips_crossed = if o.has(Opt::Placement) {
        // One ring crosses the SIPs that it lies on, not those of other stages and replicas.
        let span = N::pick(i.cp_on_pe, || one, || i.cp * tp_spans_cubes);
        span.div_ceil(i.cubes_per_sip).min(i.cp)
    } else {
        sips_used
    };
    let crossings = N::pick(one.lt(i.cp), || sips_crossed - one, || N::lit(0.0));
    let ring_hops_sip = crossings.def("ho", Dim::ONE, "hops of the ring of cp between SIPs");
    let inside = N::pick(
        one.lt(i.cp),
        // As numbers of at least 0: (cp - 1) - (sips - 1).
        || i.cp.max(sips_crossed) - sips_crossed,
        || N::lit(0.0),
    );
    let ring_hops_inter = inside.def("hi", Dim::ONE, "hops of the ring of cp inside a SIP");
    Placed {
        total_pes,
        cubes_used,
        sips_used,
        intra_cube_pes: intra,
        valid: intra.le(i.pes_per_cube),
        tp_spans_cubes,
        tp_tier,
        cp_tier,
        ring_hops_inter,
        ring_hops_sip,
    }
}
