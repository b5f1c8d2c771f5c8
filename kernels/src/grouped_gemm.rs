//! Grouped matrix product: `c_g = a_g . b_g` for many problems of different sizes in one launch.
//! The matrices of all problems lie one below the other in three slabs, each as wide as its widest: a: `sum M_g x max K_g`,
//! b: `sum K_g x max N_g`, c: `sum M_g x max N_g`, of f16, bf16 or f32. The table has a row for each problem: `M_g`, `N_g`, `K_g`,
//! the first row of `a_g` and `c_g`, the first row of `b_g`. What a slab holds beside a narrow matrix is neither used nor written.
//! Blocks are dealt to the programs in turn, on from one problem to the next, so that small problems leave none idle.
//! Contract: `Groups::pack`; M_g may be 0.  Accumulates in f32.  Work: `sum 2 M_g N_g K_g` flops.  Tolerance: row `matmul` of the one table.

use crate::config::SMS;
use crate::contract::{Clause, refuse};
use crate::matmul::{BLOCK, GPU_BLOCK, GPU_WIDE_BLOCK, block, gpu_threads};
use crate::to_f64;
use ndarray::{Array2, ArrayView2, s};
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{Agreement, Case, Inputs, KernelDef, Limits, MakeCase, Param, Rule, Settings, Target};

/// Programs of an SM of a GPU.
const PER_SM: usize = 2;

/// A row of the table.
#[derive(Value)]
struct Problem {
    m: Scalar<i32>,
    n: Scalar<i32>,
    k: Scalar<i32>,
    /// Its first row in a and c.
    top: Scalar<i32>,
    /// Its first row in b.
    depth: Scalar<i32>,
}

impl Problem {
    #[device]
    fn read(table: View<i32, 2>, g: Scalar<i32>) -> Self {
        let entry = |i: usize| table.at(g, i).get();
        Problem { m: entry(0), n: entry(1), k: entry(2), top: entry(3), depth: entry(4) }
    }
    /// The block of `a_g . b_g` at (row, col); past the edges of the two matrices there are zeros.
    #[device]
    fn product<T: Float + DotInto<f32>, const BM: usize, const BN: usize, const BK: usize>(
        self,
        a: View<T, 2>,
        b: View<T, 2>,
        row: Scalar<i32>,
        col: Scalar<i32>,
    ) -> Tile<f32, D2<BM, BN>> {
        let mut acc = zeros::<f32, D2<BM, BN>>();
        for k in (0..self.k).step_by(BK).stages(3) {
            let (rows, depth, cols) = (self.m - row, self.k - k, self.n - col);
            let x = a.at(self.top + row, k).limit(Axis::<0>, rows).limit(Axis::<1>, depth).load_or::<D2<BM, BK>>(0.0);
            let y = b.at(self.depth + k, col).limit(Axis::<0>, depth).limit(Axis::<1>, cols).load_or::<D2<BK, BN>>(0.0);
            acc = dot_acc(x, y, acc);
        }
        acc
    }
}

#[kernel]
pub fn grouped_gemm<T: Float + DotInto<f32>, const BM: usize, const BN: usize, const BK: usize>(
    table: View<i32, 2>,
    a: View<T, 2>,
    b: View<T, 2>,
    c: ViewMut<T, 2>,
) {
    let mut turn = program_id(); // this program's next block, counted from the first of the problem at hand
    for g in 0..table.len(Axis::<0>) {
        let p = Problem::read(table, g);
        let columns = (p.n + (BN - 1)) / BN;
        let blocks = (p.m + (BM - 1)) / BM * columns;
        while turn < blocks {
            let (row, col) = (turn / columns * BM, turn % columns * BN);
            let product = p.product::<T, BM, BN, BK>(a, b, row, col);
            let (rows, cols) = (p.m - row, p.n - col);
            c.at(p.top + row, col).limit(Axis::<0>, rows).limit(Axis::<1>, cols).store_inside(product.cast::<T>());
            turn += num_programs();
        }
        turn -= blocks;
    }
}

/// Where the problems of a launch lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// `[M, N, K]` of each.
    pub sizes: Vec<[usize; 3]>,
    /// First row in a and c, first row in b, of each.
    pub first: Vec<[usize; 2]>,
    /// Rows and columns of the slabs a, b and c.
    pub slabs: [[usize; 2]; 3],
}

impl Groups {
    /// One problem below the other.
    ///
    /// # Errors
    /// There is no problem, a problem without columns or depth, or one whose slab has more rows or columns than i32 counts.
    pub fn pack(sizes: &[[usize; 3]]) -> Result<Groups, Diagnostics> {
        let mut errors = Diagnostics::default();
        if sizes.is_empty() {
            errors.push(refuse(Clause::Sizes, "there is no problem".to_string(), "give at least one"));
        }
        for (g, [_, n, k]) in sizes.iter().enumerate() {
            if *n == 0 || *k == 0 {
                let message = format!("problem {g} has N = {n} and K = {k}, both must be at least 1");
                errors.push(refuse(Clause::Sizes, message, "leave the problem out; only M may be 0"));
            }
        }
        let total = |axis: usize| sizes.iter().fold(0usize, |sum, size| sum.saturating_add(size[axis]));
        let widest = |axis: usize| sizes.iter().map(|size| size[axis]).max().unwrap_or(0);
        let [m, k] = [total(0), total(2)];
        for (what, rows) in [("rows of all a_g", m), ("rows of all b_g", k), ("columns of the widest c_g", widest(1))] {
            if i32::try_from(rows).is_err() {
                let message = format!("the {what} are {rows}, at most {} can be counted", i32::MAX);
                errors.push(refuse(Clause::Sizes, message, "split the problems over several launches"));
            }
        }
        errors.finish()?;
        let after = |[top, depth]: &mut [usize; 2], [m, _, k]: &[usize; 3]| {
            let first = [*top, *depth];
            (*top, *depth) = (*top + m, *depth + k);
            Some(first)
        };
        let first = sizes.iter().scan([0, 0], after).collect();
        // An axis of a tensor has at least one place, also where every M_g is 0.
        let slabs = [[m.max(1), widest(2)], [k, widest(1)], [m.max(1), widest(1)]];
        Ok(Groups { sizes: sizes.to_vec(), first, slabs })
    }
    /// Blocks of all c_g.
    fn blocks(&self, [rows, columns, _]: [usize; 3]) -> usize {
        self.sizes.iter().map(|[m, n, _]| m.div_ceil(rows) * n.div_ceil(columns)).sum()
    }
    /// The table as the kernel reads it.
    pub fn table(&self) -> Tensor<i32, 2> {
        let mut table = Tensor::zeros([self.sizes.len(), 5]);
        let rows = self.sizes.iter().zip(&self.first).flat_map(|([m, n, k], [top, depth])| [m, n, k, top, depth]);
        for (entry, number) in table.elements_mut().iter_mut().zip(rows) {
            *entry = i32::try_from(*number).unwrap_or(i32::MAX); // `pack` has seen that it fits
        }
        table
    }
}

/// f64, problem by problem; zeros where the slab holds no c_g.
pub fn reference(groups: &Groups, a: ArrayView2<f64>, b: ArrayView2<f64>) -> Array2<f64> {
    let mut c = Array2::zeros(groups.slabs[2]);
    for ([m, n, k], [top, depth]) in groups.sizes.iter().zip(&groups.first) {
        let product = a.slice(s![*top..top + m, ..*k]).dot(&b.slice(s![*depth..depth + k, ..*n]));
        c.slice_mut(s![*top..top + m, ..*n]).assign(&product);
    }
    c
}

/// The kernel as the command line and the self-test see it.
pub const GROUPED_GEMM: KernelDef = KernelDef {
    name: "grouped_gemm",
    about: "c_g = a_g . b_g, many problems of different sizes in one launch",
    params: &[
        Param::integer("problems", 1..=1 << 10, "5", "problems; the g-th has about g/problems of the rows"),
        Param::integer("m", 0..=1 << 16, "150", "rows of the last problem's a and c"),
        Param::integer("n", 1..=1 << 16, "130", "columns of the first problem's b and c"),
        Param::integer("k", 1..=1 << 16, "100", "columns of the first problem's a, rows of its b"),
        Param::one_of("elem", &["f16", "bf16", "f32"], "f16", "element type"),
    ],
    instances: &[
        "elem=f16",
        "elem=bf16",
        "elem=f32",
        "elem=f16,problems=1,m=1,n=1,k=1",
        "elem=f32,problems=11,m=65,n=9,k=70",
        "elem=f32,problems=2,m=0",
    ],
    case: |s, inputs, limits| {
        let case = s.pick::<MakeCase>(
            "elem",
            &[
                ("f16", GroupedCase::<f16>::boxed),
                ("bf16", GroupedCase::<bf16>::boxed),
                ("f32", GroupedCase::<f32>::boxed),
            ],
        )?;
        case(s, inputs, limits)
    },
};

struct GroupedCase<T> {
    groups: Groups,
    table: Tensor<i32, 2>,
    a: Tensor<T, 2>,
    b: Tensor<T, 2>,
    c: Tensor<T, 2>,
    target: Target,
}

impl<T: Float + DotInto<f32>> GroupedCase<T> {
    fn boxed(s: &Settings, inputs: Inputs, limits: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
        let (problems, m, n, k) = (s.integer("problems")?, s.integer("m")?, s.integer("n")?, s.integer("k")?);
        // All different: the first is flat and wide, the last tall and narrow. The first of several has no rows at all.
        let size = |g: usize| {
            let left = problems - g;
            let rows = if problems == 1 { m } else { m * g / (problems - 1) };
            [rows, (n * left).div_ceil(problems), (k * left).div_ceil(problems)]
        };
        let groups = Groups::pack(&(0..problems).map(size).collect::<Vec<_>>())?;
        let [a, b, c] = groups.slabs;
        Ok(Box::new(GroupedCase::<T> {
            table: groups.table(),
            a: inputs.uniform("a", a, -1.0..1.0),
            b: inputs.uniform("b", b, -1.0..1.0),
            c: inputs.zeros(c), // what no c_g covers stays
            groups,
            target: limits.target,
        }))
    }
}

impl<T: Float + DotInto<f32>> Case for GroupedCase<T> {
    fn launch(&mut self) -> Result<Launch<'_>, Diagnostics> {
        let block = block(self.target, T::ELEM.bytes());
        let kernel = match block {
            GPU_BLOCK => grouped_gemm::<T, { GPU_BLOCK[0] }, { GPU_BLOCK[1] }, { GPU_BLOCK[2] }>,
            GPU_WIDE_BLOCK => grouped_gemm::<T, { GPU_WIDE_BLOCK[0] }, { GPU_WIDE_BLOCK[1] }, { GPU_WIDE_BLOCK[2] }>,
            _ => grouped_gemm::<T, { BLOCK[0] }, { BLOCK[1] }, { BLOCK[2] }>,
        };
        let launch = kernel(&self.table, &self.a, &self.b, &mut self.c);
        Ok(match self.target {
            Target::Sim | Target::Reference => launch.grid(Grid::cubes(1).pes(8)),
            Target::Cuda | Target::PtxEmu => {
                let programs = self.groups.blocks(block).clamp(1, PER_SM * SMS);
                launch.grid(Grid::cubes(programs)).threads(gpu_threads(block))
            }
        })
    }
    fn check(&self) -> Result<Vec<Agreement>, Diagnostics> {
        let expected = reference(&self.groups, to_f64(&self.a).view(), to_f64(&self.b).view()).into_dyn();
        Ok(vec![Agreement::of("c", self.c.as_any(), &expected, Rule::Matmul { acc: ElemType::F32 })])
    }
    fn facts(&self) -> Vec<(String, String)> {
        let sizes: Vec<String> = self.groups.sizes.iter().map(|[m, n, k]| format!("{m}x{n}x{k}")).collect();
        vec![("problems".to_string(), sizes.join(" "))]
    }
}
