//! Every operation of the language, and so every row of the op table, as a kernel author writes it.

use std::collections::BTreeSet;
use tilewright::ir::Op;
use tilewright::prelude::*;

#[kernel]
fn every_op(x: View<f32, 4>, bytes: View<u8, 1>, y: ViewMut<f32, 2>, hits: ViewMut<i32, 1>, n: Scalar<i32>) {
    let i = iota::<i32, D2<8, 16>>(Axis::<1>);
    keep(((i + 1) - 2) * n / 3 % 5);
    keep((2 + i, 7 % n, 1 - n, 8 / n, 3 * n, mul_hi(i, 3), abs(-i)));
    keep(((i & 3 | 4) ^ 1, !i << 2, i >> n, n & 1));

    let a = x.at(0, n, 0, 0).cache(Cache::Stream).load::<D2<8, 16>>();
    keep((1.0 - a, 2.0 * a, 1.0 / a, 0.5 + a));
    tilewright::__rt::each_function();
    keep((sqrt(a), fma(a, 2.0, a), exp(a.sum(Axis::<1>).sum(Axis::<0>))));
    keep((maximum(a, 0.0), minimum(a, a), max_nan(a, 1.0), min_nan(a, a)));
    keep((select(a >= 0.0, a, 0.0), select(n != 3, n, 1), 2 < n, 1.5 > a.max(Axis::<1>).min(Axis::<0>)));
    keep((a.cast::<bf16>(), a.cast::<F8E4M3>().cast::<f32>(), a.bitcast::<u32>(), n.cast::<u64>().bitcast::<f64>()));

    let v = a.max(Axis::<1>);
    keep((
        v.col().broadcast::<D2<8, 4>>(),
        v.row().broadcast::<D2<2, 8>>(),
        a.along(Axis::<0>).broadcast::<D3<5, 8, 16>>(),
    ));
    keep((a - v.col(), a.trans() - v.row(), a.spread(Axis::<1>, v), v.spread(Axis::<0>, v.sum(Axis::<0>))));
    keep((a.rows_sized(2, 5), a.rows_sized(1, 3).rows::<2>(1)));
    keep((a.reshape::<D4<2, 4, 8, 2>>().sum(Axis::<3>).min(Axis::<0>), a.rows::<4>(2), full::<i8, D1<3>>(-1)));
    keep((a.cumsum(Axis::<1>), a.scan_with(Axis::<0>, |a, b| a * b), a.reduce_with(Axis::<1>, |a, b| maximum(a, b))));

    let b = x.at(0, 0, 0, n).limit(Axis::<0>, n).load_or::<D2<16, 8>>(0.0);
    let c = dot_acc(a, b, zeros::<f32, D2<8, 8>>());
    keep((dot_tf32(a, b), dot_acc_tf32(a, b, c), composite(|| dot(a, b) * 2.0)));
    let wide: Tile<i32, _> = dot(zeros::<i8, D2<4, 4>>(), full::<i8, D2<4, 4>>(2));
    let sized = x.at(0, 0, 0, 0).load_sized_or::<D2<ANY, 16>>([5], 1.0);
    keep((wide, dot(sized, b), bytes.at(3).get(), y.at(0, 0).get()));

    for t in (0..n).step_by(2) {
        let mut j = t;
        while j > 0 {
            j -= 1;
            j += j;
        }
        if j == 0 {
            send(Port::peer(3), (j, c));
        }
    }
    keep(map_reduce((0..n).stages(2), |t| (t, c), |x, y| (x.0 + y.0, maximum(x.1, y.1))));
    let (from, got): (Scalar<i32>, Tile<f32, D2<8, 8>>) = recv(Port::sip(Dir::West));
    barrier(Scope::Cube);
    barrier(Scope::Launch);
    y.at(from, cube_id()).vec_width(4).store_inside(got);
    y.at(program_id(), 0usize).store(c);
    y.at(pe_id(), 5_000_000_000usize).set(1.0);
    hits.at(num_pes() + num_cubes() + num_programs()).atomic_add(1 + n);
    hits.at(x.len(Axis::<3>) + y.len(Axis::<0>)).atomic_max(i.max(Axis::<0>));
    print_k!("n {} v {}", n, v);
    assert_k!(n > 0, "some");
}

#[test]
fn every_row_of_the_op_table_can_be_written() {
    let (x, mut y, mut hits) = (Tensor::shape_only([1; 4]), Tensor::shape_only([1; 2]), Tensor::shape_only([1]));
    let m = every_op(&x, &Tensor::shape_only([1]), &mut y, &mut hits, 3).trace().unwrap_or_else(|e| panic!("{e}"));
    let mut written = BTreeSet::new();
    m.each_op(&mut |op| {
        written.insert(m.op(op).op.mnemonic());
    });
    let rows: BTreeSet<&str> = Op::ROWS.iter().map(|row| row.mnemonic).collect();
    assert_eq!(rows.difference(&written).collect::<Vec<_>>(), Vec::<&&str>::new());
}

#[kernel]
fn copy<T: Elem>(x: View<T, 1>, y: ViewMut<T, 1>, fill: Scalar<T>) {
    y.at(0).store_inside(x.at(0).load_or::<D1<4>>(fill));
    keep(zeros::<T, D1<4>>() == fill);
}
#[kernel]
fn copy_bits<T: Elem>(x: View<T, 1>, y: ViewMut<T, 1>, fill: Scalar<T>) {
    y.at(0).store_inside(x.at(0).load_or::<D1<4>>(fill));
}
#[test]
fn every_element_type_can_be_a_parameter() {
    macro_rules! all {
        ($kernel:ident: $($t:ty = $fill:expr;)*) => {$(
            let (x, mut y) = (Tensor::<$t, 1>::shape_only([4]), Tensor::shape_only([4]));
            if let Err(e) = $kernel(&x, &mut y, $fill).trace() {
                panic!("{}: {e}", std::any::type_name::<$t>());
            }
        )*};
    }
    all! { copy: bool = true; i8 = 1; i16 = 1; i32 = 1; i64 = 1; u8 = 1; u16 = 1; u32 = 1; u64 = 1; }
    all! { copy: f16 = f16::ONE; bf16 = bf16::ONE; f32 = 1.0; f64 = 1.0; }
    all! { copy_bits: F8E4M3 = F8E4M3(1); F8E5M2 = F8E5M2(1); }
}
