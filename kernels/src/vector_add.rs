//! Vector add: `z[i] = x[i] + y[i]`.
//! x, y, z: `n` numbers of one element type.  Contract: equal lengths, n >= 1; any n, any grid.
//! Work: n adds, 3 n elements moved; bound by memory.  Tolerance: exact (one rounding, as the reference's).

use crate::config::{ANY_NUMBER, Share};
use crate::to_f64;
use ndarray::{Array1, ArrayView1};
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{Agreement, Case, Inputs, KernelDef, Limits, MakeCase, Param, Rule, Settings, Target};

/// Elements a program adds at once.
pub const BLOCK: usize = 1024;
/// The same on a GPU: four vectors of each operand in flight for each of 256 threads, where elements have 4 bytes.
pub const GPU_BLOCK: usize = 4096;
/// A block a program: many short ones keep every SM busy to the end.
pub const GPU: Share = Share { bytes_per_thread: 64, most: ANY_NUMBER };

#[kernel]
pub fn vector_add<T: Num, const N: usize>(x: View<T, 1>, y: View<T, 1>, z: ViewMut<T, 1>) {
    let zero = zero::<T>();
    for i in (program_id() * N..x.len(Axis::<0>)).step_by(num_programs() * N) {
        let sum = x.at(i).load_or::<D1<N>>(zero) + y.at(i).load_or(zero);
        z.at(i).store_inside(sum);
    }
}

/// f64 (exact for the elements checked).
pub fn reference(x: ArrayView1<f64>, y: ArrayView1<f64>) -> Array1<f64> {
    &x + &y
}

/// The kernel as the command line and the self-test see it.
pub const VECTOR_ADD: KernelDef = KernelDef {
    name: "vector_add",
    about: "z = x + y",
    params: &[
        Param::integer("n", 1..=1 << 31, "65536", "length of the vectors"),
        Param::one_of("elem", &["f16", "bf16", "f32", "f64", "i32"], "f32", "element type"),
    ],
    instances: &["elem=f16", "elem=bf16", "elem=f32", "elem=f64", "elem=i32", "elem=f32,n=1", "elem=f16,n=70001"],
    case: |s, inputs, limits| {
        let case = s.pick::<MakeCase>(
            "elem",
            &[
                ("f16", AddCase::<f16>::boxed),
                ("bf16", AddCase::<bf16>::boxed),
                ("f32", AddCase::<f32>::boxed),
                ("f64", AddCase::<f64>::boxed),
                ("i32", AddCase::<i32>::boxed),
            ],
        )?;
        case(s, inputs, limits)
    },
};

struct AddCase<T> {
    x: Tensor<T, 1>,
    y: Tensor<T, 1>,
    z: Tensor<T, 1>,
    target: Target,
}

/// An instance of the kernel.
type Add<T> = for<'a> fn(&'a Tensor<T, 1>, &'a Tensor<T, 1>, &'a mut Tensor<T, 1>) -> Launch<'a>;

impl<T: Num> AddCase<T> {
    fn boxed(s: &Settings, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
        let n = [s.integer("n")?];
        let (x, y) = (inputs.uniform("x", n, -100.0..100.0), inputs.uniform("y", n, -100.0..100.0));
        Ok(Box::new(AddCase::<T> { x, y, z: inputs.output(n), target: limits.target }))
    }
}

impl<T: Num> Case for AddCase<T> {
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics> {
        let (kernel, block): (Add<T>, usize) = match self.target {
            Target::Sim | Target::Reference => (vector_add::<T, BLOCK>, BLOCK),
            Target::Cuda | Target::PtxEmu => (vector_add::<T, GPU_BLOCK>, GPU_BLOCK),
        };
        let ([n], bytes) = (self.x.dims(), block * T::ELEM.bytes() as usize);
        Ok(GPU.launch(kernel(&self.x, &self.y, &mut self.z), self.target, n.div_ceil(block), bytes))
    }
    fn check(&self) -> Result<Vec<Agreement>, Diagnostics> {
        let expected = reference(to_f64(&self.x).view(), to_f64(&self.y).view()).into_dyn();
        Ok(vec![Agreement::of("z", self.z.as_any(), &expected, Rule::Elementwise)])
    }
}
