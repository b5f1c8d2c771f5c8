//! Leaky ReLU: `y[i] = x[i]` where `x[i] > 0`, else `slope * x[i]`.
//! x, y: `n` numbers of f32; any n, any grid.  One multiplication an element; bound by memory.

use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{Agreement, Case, KernelDef, Param, Rule};

#[kernel]
pub fn leaky_relu<const N: usize>(x: View<f32, 1>, y: ViewMut<f32, 1>, slope: Scalar<f32>) {
    for i in (program_id() * N..x.len(Axis::<0>)).step_by(num_programs() * N) {
        let x = x.at(i).load_or::<D1<N>>(0.0);
        y.at(i).store_inside(select(x > 0.0, x, x * slope));
    }
}

/// What the command line knows of the kernel.
pub const LEAKY_RELU: KernelDef = KernelDef {
    name: "leaky_relu",
    about: "y = x where x > 0, else slope * x",
    params: &[
        Param::integer("n", 1..=1 << 30, "10000", "numbers"),
        Param::number("slope", "0.01", "factor below zero"),
    ],
    instances: &["n=10000", "n=1,slope=-2"],
    case: |settings, inputs, _limits| {
        let n = [settings.integer("n")?];
        let slope = settings.number("slope")? as f32;
        Ok(Box::new(LeakyRelu { x: inputs.uniform("x", n, -1.0..1.0), y: inputs.output(n), slope }))
    },
};

struct LeakyRelu {
    x: Tensor<f32, 1>,
    y: Tensor<f32, 1>,
    slope: f32,
}

impl Case for LeakyRelu {
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics> {
        Ok(leaky_relu::<1024>(&self.x, &mut self.y, self.slope).grid(Grid::cubes(1).pes(8)))
    }
    fn check(&self) -> Result<Vec<Agreement>, Diagnostics> {
        let slope = f64::from(self.slope);
        let expected = self.x.to_array().mapv(|x| f64::from(x) * if x > 0.0 { 1.0 } else { slope });
        Ok(vec![Agreement::of("y", self.y.as_any(), &expected, Rule::Elementwise)])
    }
}
