//! Inputs of a case: random numbers that anyone can make again, or shapes alone.
//!
//! The generator is xoshiro256++ (Blackman and Vigna, 2018; crate `rand_xoshiro`), seeded through SplitMix64 from
//! `seed ^ FNV-1a(name of the tensor)`, so a tensor's elements depend on the seed, its name and its length alone, on
//! every host. A number in `low..high` is `low + (high - low) * (x >> 11) / 2^53`, rounded once to the element type.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use rayon::prelude::*;
use std::ops::Range;
use tilewright_core::data::Stored;
use tilewright_core::interp::convert;
use tilewright_core::placement::Placement;
use tilewright_core::tensor::Tensor;

/// Where the elements of a case's inputs come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inputs {
    Random {
        seed: u64,
    },
    /// Tensors without elements: enough to trace and, for most kernels, to time.
    ShapesOnly,
}

impl Inputs {
    /// Numbers from `range`, each rounded to `T`; whole ones for an integer type. `name` sets the stream of numbers:
    /// give every tensor of a case its own.
    pub fn uniform<T: Stored, const R: usize>(self, name: &str, dims: [usize; R], range: Range<f64>) -> Tensor<T, R> {
        let Some(mut numbers) = self.stream(name) else { return Tensor::shape_only(dims) };
        let mut tensor = Tensor::zeros(dims);
        let mut drawn = Vec::with_capacity(AT_ONCE.min(tensor.elements().len()));
        for some in tensor.elements_mut().chunks_mut(AT_ONCE) {
            // Numbers come one after the other; to round one takes longer than to draw it.
            drawn.clear();
            drawn.extend((0..some.len()).map(|_| numbers.next_u64()));
            let one = |(x, drawn): (&mut T, &u64)| *x = rounded(range.start + (range.end - range.start) * unit(*drawn));
            some.par_iter_mut().zip(&drawn).with_min_len(1 << 12).for_each(one);
        }
        tensor
    }
    /// An output that the kernel writes as a whole: not yet written, or a shape alone. Its home is the launch's first
    /// PE, unless the case places it: a copy per cube could not be written.
    pub fn output<T: Stored, const R: usize>(self, dims: [usize; R]) -> Tensor<T, R> {
        let tensor = match self {
            Inputs::Random { .. } => Tensor::uninit(dims),
            Inputs::ShapesOnly => Tensor::shape_only(dims),
        };
        tensor.placed(Placement::at(0, 0))
    }
    /// Something that the kernel adds to: zeros, or a shape alone; at home as an output.
    pub fn zeros<T: Stored, const R: usize>(self, dims: [usize; R]) -> Tensor<T, R> {
        let tensor = match self {
            Inputs::Random { .. } => Tensor::zeros(dims),
            Inputs::ShapesOnly => Tensor::shape_only(dims),
        };
        tensor.placed(Placement::at(0, 0))
    }
    pub fn seed(self) -> Option<u64> {
        match self {
            Inputs::Random { seed } => Some(seed),
            Inputs::ShapesOnly => None,
        }
    }
    fn stream(self, name: &str) -> Option<Xoshiro256PlusPlus> {
        self.seed().map(|seed| Xoshiro256PlusPlus::seed_from_u64(seed ^ fnv1a(name)))
    }
}

/// Numbers that are drawn before they are rounded.
const AT_ONCE: usize = 1 << 20;

/// Rounded once, as a cast of the kernel language would.
fn rounded<T: Stored>(v: f64) -> T {
    T::from_bits(convert::literal(v.into(), T::ELEM).bits)
}

/// A number in `0..1`, a multiple of 2^-53.
fn unit(drawn: u64) -> f64 {
    (drawn >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

fn fnv1a(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tilewright_core::half::bf16;

    #[test]
    fn numbers_depend_on_seed_and_name_alone() {
        let draw = |seed, name| Inputs::Random { seed }.uniform::<f64, 1>(name, [4], -1.0..1.0).elements().to_vec();
        // Committed values: another generator, or another way to use it, would change every published verification.
        insta::assert_debug_snapshot!(draw(1, "x"), @r"
        [
            -0.8280202545820485,
            0.054659243107056055,
            -0.30312031487053215,
            -0.1638771449889429,
        ]
        ");
        assert_eq!(draw(1, "x"), draw(1, "x"));
        assert_ne!(draw(1, "x"), draw(2, "x"));
        assert_ne!(draw(1, "x"), draw(1, "y"));
    }
    #[test]
    fn numbers_follow_each_other_however_many_are_drawn_at_once() {
        let inputs = Inputs::Random { seed: 3 };
        let tensor = inputs.uniform::<f64, 1>("x", [AT_ONCE + 3], 0.0..1.0);
        let mut numbers = inputs.stream("x").expect("it is random");
        let expected: Vec<f64> = (0..AT_ONCE + 3).map(|_| unit(numbers.next_u64())).collect();
        assert!(tensor.elements() == expected);
    }
    #[test]
    fn elements_are_the_same_numbers_rounded_to_their_type() {
        let inputs = Inputs::Random { seed: 7 };
        let wide = inputs.uniform::<f64, 1>("x", [100], -3.0..3.0);
        let narrow = inputs.uniform::<bf16, 1>("x", [100], -3.0..3.0);
        for (wide, narrow) in wide.elements().iter().zip(narrow.elements()) {
            assert!((wide - narrow.to_f64()).abs() <= wide.abs() / 256.0, "{wide} {narrow}");
        }
        assert!(inputs.uniform::<i32, 1>("x", [100], -3.0..3.0).elements().iter().all(|n| n.abs() < 3));
    }
    #[test]
    fn shapes_have_no_elements() {
        assert!(Inputs::ShapesOnly.uniform::<f32, 2>("x", [2, 3], 0.0..1.0).as_any().data.is_none());
        assert!(Inputs::ShapesOnly.zeros::<f32, 2>([2, 3]).as_any().data.is_none());
    }
}
