//! Shapes of the tensors of each stage, per PE.

use crate::inputs::Inputs;
use crate::shards::Shards;
use crate::stages::StageId;
use crate::step::Step;

/// Extents, outermost first.
pub type Shape = Vec<u64>;

/// What a stage reads and writes. K and V have one shape, listed once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StageShapes {
    pub stage: StageId,
    pub inputs: Vec<Shape>,
    pub weights: Vec<Shape>,
    pub outputs: Vec<Shape>,
}

/// A row a stage that the deployment has; a merge over one shard is none.
pub fn shapes(i: &Inputs<f64>, s: &Step<f64>) -> Vec<StageShapes> {
    let present = s.rows.present().filter(|r| r.id != StageId::S8 || i.cp > 1.0);
    present.map(|row| of(row.id, i, &s.shards)).collect()
}

fn of(stage: StageId, i: &Inputs<f64>, sh: &Shards<f64>) -> StageShapes {
    let whole = [i.b, sh.t, sh.s_local, sh.hq, sh.hk, i.h, i.d, sh.fp].map(|x| x as u64);
    let [b, t, s, hq, hk, h, d, fp] = whole;
    let hidden = vec![b, t, d];
    let scores = vec![b, hq, t, s];
    let heads = vec![b, hq, t, h];
    let one = |shape: &Shape| vec![shape.clone()];
    let (inputs, weights, outputs) = match stage {
        StageId::S1 | StageId::F1 => (one(&hidden), vec![vec![d]], one(&hidden)),
        StageId::S2 => (one(&hidden), vec![vec![d, hq * h]], vec![vec![b, t, hq * h]]),
        StageId::S3 => (one(&hidden), vec![vec![d, hk * h]], vec![vec![b, t, hk * h]]),
        StageId::S4 => (vec![vec![b, t, hk * h]], vec![], vec![vec![b, s, hk * h]]),
        StageId::S5 => (vec![heads, vec![b, hk, h, s]], vec![], one(&scores)),
        StageId::S6 | StageId::C3 => (one(&scores), vec![], one(&scores)),
        StageId::S7 => (vec![scores, vec![b, hk, s, h]], vec![], one(&heads)),
        StageId::Sa => (vec![heads.clone(), vec![b, hk, h, s], vec![b, hk, s, h]], vec![], one(&heads)),
        StageId::C1 if i.ring_qoml => (vec![vec![b, t, hq, 2 * h + 2]], vec![], vec![]),
        StageId::C1 => (vec![vec![b, s, hk, h]], vec![], vec![]),
        StageId::S8 => (vec![heads.clone(), vec![b, hq, t]], vec![], one(&heads)),
        StageId::S9 => (one(&heads), vec![], one(&heads)),
        StageId::S10 => (vec![vec![b, t, hq * h]], vec![vec![hq * h, d]], one(&hidden)),
        StageId::C2 | StageId::Cf1 | StageId::Ce | StageId::Pp => (one(&hidden), vec![], one(&hidden)),
        StageId::Lm => {
            let columns = (i.vocab / i.tp).ceil() as u64;
            let rows = if i.decode { t } else { 1 };
            (vec![vec![b, rows, d]], vec![vec![d, columns]], vec![vec![b, rows, columns]])
        }
        StageId::F2 | StageId::F3 => (one(&hidden), vec![vec![d, fp]], vec![vec![b, t, fp]]),
        StageId::F4 => (vec![vec![b, t, fp]], vec![], vec![vec![b, t, fp]]),
        StageId::F5 => (vec![vec![b, t, fp]], vec![vec![fp, d]], one(&hidden)),
    };
    StageShapes { stage, inputs, weights, outputs }
}
