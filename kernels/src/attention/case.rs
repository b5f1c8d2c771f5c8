//! What attention kernels on the command line have in common: tensors at random, the choice of element types, the check.

use super::params;
use ndarray::{Array2, Axis as Dim};
use std::marker::PhantomData;
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{Agreement, Case, Inputs, Limits, Rule, Settings, spread};

/// The tensors of a launch; keys and values of the context first, then what else the kernel reads.
pub struct Tensors<T, const R: usize> {
    pub q: Tensor<T, R>,
    pub kv: Vec<[Tensor<T, R>; 2]>,
    pub o: Tensor<T, R>,
}

/// What is asked for of the tensors: dims of queries, as of outputs, and of keys and values by their names; and where they lie.
pub struct Shapes<const R: usize> {
    pub rows: [usize; R],
    pub kv: Vec<([&'static str; 2], [usize; R])>,
    pub on_q: Placement,
    pub on_kv: Placement,
    pub on_o: Placement,
}

impl<const R: usize> Shapes<R> {
    fn random<T: Float>(&self, inputs: Inputs) -> Tensors<T, R> {
        // The launcher scales q by 1 / sqrt(d) and rounds once; the reference starts from what was rounded.
        let scale = 2.0 / (self.rows[R - 1] as f64).sqrt();
        let pair = |([k, v], dims): &([&str; 2], [usize; R])| {
            [inputs.uniform(k, *dims, -2.0..2.0), inputs.uniform(v, *dims, -1.0..1.0)]
                .map(|t| t.placed(self.on_kv.clone()))
        };
        Tensors {
            q: inputs.uniform("q", self.rows, -scale..scale).placed(self.on_q.clone()),
            kv: self.kv.iter().map(pair).collect(),
            o: inputs.output(self.rows).placed(self.on_o.clone()),
        }
    }
}

/// A planned launch of an attention kernel over tensors of R axes.
pub trait Planned<const R: usize>: Sized + 'static {
    /// The plan that settings ask for, checked for tensors of `elem` and sums of `acc`; and its tensors.
    fn of(s: &Settings, elem: ElemType, acc: ElemType, limits: &Limits) -> Result<(Self, Shapes<R>), Diagnostics>;
    /// The launch on these tensors.
    fn launch<'a, T: Float + DotInto<A>, A: Float>(&'a self, tensors: &'a mut Tensors<T, R>) -> Launch<'a>;
    /// What the reference makes of the rows of a KV head: those of all where the tensors have no axis of heads.
    fn expected<T: Elem>(&self, tensors: &Tensors<T, R>, head: usize) -> Array2<f64>;
    /// What a report says of the plan: name and value.
    fn facts(&self) -> Vec<(String, String)>;
}

/// The case of a kernel, as a registry entry asks for it.
///
/// # Errors
/// What the kernel's contract refuses.
pub fn case<P: Planned<R>, const R: usize>(
    s: &Settings,
    inputs: Inputs,
    limits: &Limits,
) -> Result<Box<dyn Case>, Diagnostics> {
    type Make = fn(&Settings, Inputs, &Limits) -> Result<Box<dyn Case>, Diagnostics>;
    let cases: [Make; 3] = [Of::<P, f16, f16, R>::boxed, Of::<P, f16, f32, R>::boxed, Of::<P, bf16, f32, R>::boxed];
    params::by_types(s, cases)?(s, inputs, limits)
}

struct Of<P, T, A, const R: usize> {
    plan: P,
    tensors: Tensors<T, R>,
    acc: PhantomData<A>,
}

impl<P: Planned<R>, T: Float + DotInto<A>, A: Float, const R: usize> Of<P, T, A, R> {
    fn boxed(s: &Settings, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
        let (plan, shapes) = P::of(s, T::ELEM, A::ELEM, limits)?;
        Ok(Box::new(Of::<P, T, A, R> { plan, tensors: shapes.random(inputs), acc: PhantomData }))
    }
}

impl<P: Planned<R>, T: Float + DotInto<A>, A: Float, const R: usize> Case for Of<P, T, A, R> {
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics> {
        Ok(self.plan.launch::<T, A>(&mut self.tensors))
    }
    fn check(&self) -> Result<Vec<Agreement>, Diagnostics> {
        self.check_some(usize::MAX)
    }
    /// Whole KV heads, so that their keys and values are widened once.
    fn check_some(&self, rows: usize) -> Result<Vec<Agreement>, Diagnostics> {
        let (o, dims) = (&self.tensors.o, self.tensors.o.dims());
        let (of_a_head, d) = (dims[R - 2], dims[R - 1]);
        let heads = spread(rows.div_ceil(of_a_head), dims[..R - 2].iter().product());
        let mut expected = Array2::zeros([heads.len() * of_a_head, d]);
        for (head, mut out) in heads.iter().zip(expected.axis_chunks_iter_mut(Dim(0), of_a_head)) {
            out.assign(&self.plan.expected(&self.tensors, *head));
        }
        let rows: Vec<usize> = heads.iter().flat_map(|head| head * of_a_head..(head + 1) * of_a_head).collect();
        Ok(vec![Agreement::of_rows("o", o.as_any(), &rows, expected.view(), Rule::Attention { acc: A::ELEM })])
    }
    fn facts(&self) -> Vec<(String, String)> {
        self.plan.facts()
    }
}
