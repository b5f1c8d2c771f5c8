//! Fused attention forward, causal or not, any head dimension, f32 state. q, k, v, o: heads x tokens x D.
use tilewright::prelude::*;
use tilewright_test_attn::Partial;

#[kernel]
pub fn attention<T: Float + DotInto<f32>, const BM: usize, const BN: usize, const D: usize>(
    q: View<T, 3>,
    k: View<T, 3>,
    v: View<T, 3>,
    o: ViewMut<T, 3>,
    scale: Scalar<f32>,
    #[comptime] causal: bool,
) {
    const { assert!(BM % BN == 0, "the diagonal block is a whole number of KV tiles") }
    let blocks = q.len(Axis::<1>) / BM;
    let (head, row) = (program_id() / blocks, program_id() % blocks * BM);
    let q = q.at(head, row, 0).load::<D2<BM, D>>();
    let step = |so_far: Partial<f32, BM, D>, t: Scalar<i32>, masked: bool| {
        let k = k.at(head, t, 0).load::<D2<BN, D>>();
        let mut s = dot(q, k.trans()) * scale;
        if masked {
            let (r, c) = (iota::<i32, D2<BM, BN>>(Axis::<0>) + row, iota::<i32, D2<BM, BN>>(Axis::<1>) + t);
            s = select(c <= r, s, f32::LOWEST);
        }
        so_far.online_softmax_step(s, v.at(head, t, 0).load::<D2<BN, D>>())
    };
    let before = if causal { row } else { k.len(Axis::<1>) };
    let mut part = Partial::none();
    for t in (0..before).step_by(BN).stages(2) {
        part = step(part, t, false);
    }
    if causal {
        for t in (row..row + BM).step_by(BN) {
            part = step(part, t, true);
        }
    }
    o.at(head, row, 0).store(part.normalised());
}
