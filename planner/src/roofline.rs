//! The roofline of the chip: the whole model on one PE, peak rates, no communication.

use crate::formula::{Dim, Expr, Graph, Num};
use crate::inputs::Inputs;
use crate::options::{Opt, Options};

/// A decode step of `b` requests at context `s`, and the batches and contexts where the regime changes.
#[derive(Clone, Copy, Debug)]
pub struct Roofline<N: Num> {
    /// Weights that a token meets: attention and the active FFN of all layers.
    pub active_params: N,
    pub kv_bytes_per_token: N,
    /// FLOP a byte at which compute and HBM take the same time.
    pub arithmetic_intensity: N,
    /// B*: requests at which products take as long as reading the weights.
    pub critical_batch: N,
    /// L*: tokens of context whose K and V take as long as a token's products.
    pub balance_context: N,
    /// Requests at which products take as long as everything HBM reads; 0 from L* on, where there are none.
    pub knee_batch: N,
    /// Part of the peak that a large batch reaches at this context.
    pub utilisation_at_s: N,
    pub weight_s: N,
    pub compute_s_per_token: N,
    pub kv_s_per_token: N,
    pub step_s: N,
    pub per_token_s: N,
}

/// `sparsity`: experts there are over experts that a token visits; 1 for a dense model. `roofline-util` counts on the part of
/// the peak that stages count on, takes sparsity from the model everywhere, and reads the experts that `b` requests touch.
#[inline(always)]
pub fn roofline<N: Num>(i: &Inputs<N>, sparsity: N, o: Options) -> Roofline<N> {
    let (one, two) = (N::lit(1.0), N::lit(2.0));
    let attention = two * i.d * i.q_heads * i.h + two * i.d * i.kv_heads * i.h;
    let matrices = if o.has(Opt::Presets) { i.ffn_matrices } else { N::lit(3.0) };
    let ffn = matrices * i.d * i.f;
    let active_params = (i.layers * (attention + ffn)).def("N", Dim::ONE, "weights a token meets");
    let whole = || two * i.kv_heads * i.h * i.e * i.layers;
    let kvt = if o.has(Opt::Mla) {
        N::pick(N::lit(0.0).lt(i.latent), || (i.latent + i.rope) * i.e * i.layers, whole)
    } else {
        whole()
    };
    let kv_bytes_per_token = kvt.def("kvt", Dim::BYTE, "K and V of a token");
    let peak = if o.has(Opt::RooflineUtil) { i.peak * i.u } else { i.peak };
    let arithmetic_intensity = (peak / i.w).def("AI", Dim::FLOP_PER_BYTE, "products over bandwidth");
    // What all experts weigh over what a token meets: attention is the same in both.
    let visited = i.active + i.shared;
    let resident_ffn = ffn / visited * (i.experts + i.shared);
    let resident = (i.layers * (attention + resident_ffn)).def("N_resident", Dim::ONE, "weights there are");
    let sparsity = if o.has(Opt::RooflineUtil) { resident / active_params } else { sparsity };
    let critical_batch = (arithmetic_intensity * i.e / N::flop(2.0) * sparsity).def(
        "B*",
        Dim::ONE,
        "requests that make products as long as reading weights",
    );
    let token_flops = (N::flop(2.0) * active_params).def("token_flops", Dim::FLOP, "a multiply and an add a weight");
    let balance_context = (token_flops / (arithmetic_intensity * kv_bytes_per_token)).def(
        "L*",
        Dim::ONE,
        "context whose K and V take as long as a token's products",
    );
    let beyond = N::not(i.s.lt(balance_context));
    let knee = || critical_batch / (one - i.s / balance_context);
    let expert_weights = i.layers * resident_ffn / (i.experts + i.shared) * i.experts;
    let knee_batch = N::pick(beyond, || N::lit(0.0), knee).def("B_knee", Dim::ONE, "none from L* on");
    let missed = (one - i.active / i.experts).pow(i.b);
    let read = if o.has(Opt::RooflineUtil) { resident - expert_weights * missed } else { active_params };
    let weight_s = (read * i.e / i.w).def("weight_time", Dim::SECOND, "once a step");
    let compute_s_per_token = (token_flops / peak).def("compute_time", Dim::SECOND, "a token");
    let kv_s_per_token = (i.s * kv_bytes_per_token / i.w).def("kv_time", Dim::SECOND, "a token");
    let step_s =
        (weight_s + i.b * compute_s_per_token + i.b * kv_s_per_token).def("step", Dim::SECOND, "of B requests");
    Roofline {
        active_params,
        kv_bytes_per_token,
        arithmetic_intensity,
        critical_batch,
        balance_context,
        knee_batch,
        utilisation_at_s: (one / (one + i.s / balance_context)).def("utilisation", Dim::ONE, "of the peak, at most"),
        weight_s,
        compute_s_per_token,
        kv_s_per_token,
        step_s,
        per_token_s: (step_s / i.b).def("per_token", Dim::SECOND, "a request's share"),
    }
}

/// The formulas as expressions; sparsity is the input `E / k`.
pub fn formulas(o: Options) -> (Graph, Roofline<Expr>) {
    Graph::trace(|| {
        let inputs = Inputs::traced();
        let sparsity = inputs.experts / inputs.active;
        roofline(&inputs, sparsity, o)
    })
}

/// What a decode step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regime {
    Weights,
    Compute,
    Kv,
}

impl Regime {
    pub const fn name(self) -> &'static str {
        match self {
            Regime::Weights => "memory-bound",
            Regime::Compute => "compute-bound",
            Regime::Kv => "kv-bound",
        }
    }
}

impl Roofline<f64> {
    /// The largest term of a step of `b` requests.
    pub fn regime(&self, b: f64) -> Regime {
        let (compute, kv) = (b * self.compute_s_per_token, b * self.kv_s_per_token);
        if self.weight_s >= compute && self.weight_s >= kv {
            Regime::Weights
        } else if compute >= kv {
            Regime::Compute
        } else {
            Regime::Kv
        }
    }
    /// The time of a step of `b` requests at this context; with `roofline-util`, of a dense model: a mixture reads more
    /// experts for more requests, and is asked again with its `b`.
    pub fn step_of(&self, b: f64) -> f64 {
        self.weight_s + b * self.compute_s_per_token + b * self.kv_s_per_token
    }
    /// Requests of a step that ends within `goal_s`; 0 if one takes longer.
    pub fn max_batch(&self, goal_s: f64) -> u64 {
        let per_request = self.compute_s_per_token + self.kv_s_per_token;
        if self.weight_s + per_request > goal_s {
            return 0;
        }
        // A goal of years gives a batch beyond u64: the cast stops there.
        (((goal_s - self.weight_s) / per_request) as u64).max(1)
    }
    pub fn knee(&self) -> Option<f64> {
        (self.knee_batch > 0.0).then_some(self.knee_batch)
    }
}
