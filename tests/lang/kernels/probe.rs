//! Read bandwidth: what loads alone can stream. VEC elements an access (1: 32-bit, 4: 128-bit), ILP accesses in flight.
use tilewright::prelude::*;

#[device]
fn stream<const BLOCK: usize, const VEC: usize, const ILP: usize>(
    x: View<f32, 1>,
    first: Scalar<i64>,
    end: Scalar<i64>,
    stride: Scalar<i64>,
) {
    let mut acc = [zeros::<f32, D1<BLOCK>>(); ILP];
    for i in (first..end).step_by(ILP * stride) {
        for u in unroll(0..ILP) {
            acc[u] += x.at(i + u * stride).vec_width(VEC).load();
        }
    }
    let mut total = acc[0];
    for u in unroll(1..ILP) {
        total += acc[u];
    }
    keep(total.sum(Axis::<0>));
}

/// One contiguous range in a grid-stride loop; `n` is a multiple of `num_programs * BLOCK * ILP`.
#[kernel]
pub fn read_contiguous<const BLOCK: usize, const VEC: usize, const ILP: usize>(x: View<f32, 1>, n: Scalar<i64>) {
    let (me, all) = (program_id().cast::<i64>(), num_programs().cast::<i64>());
    stream::<BLOCK, VEC, ILP>(x, me * BLOCK, n, all * BLOCK);
}

/// Slabs at scattered offsets (experts' weights), `per_slab` programs to a slab of `len` elements.
#[kernel]
pub fn read_slabs<const BLOCK: usize, const VEC: usize, const ILP: usize>(
    x: View<f32, 1>,
    offsets: View<i64, 1>,
    len: Scalar<i64>,
    per_slab: Scalar<i32>,
) {
    let base = offsets.at(program_id() / per_slab).get();
    let (me, all) = ((program_id() % per_slab).cast::<i64>(), per_slab.cast::<i64>());
    stream::<BLOCK, VEC, ILP>(x, base + me * BLOCK, base + len, all * BLOCK);
}
