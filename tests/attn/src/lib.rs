//! Device functions of the attention kernels: softmax partials, their merge, the reduce along a line, the group of PEs.
//! And what only a crate of its own shows: a constant and the name of a kernel.
use tilewright::prelude::*;

/// Attention of M query rows over some of the tokens: running maximum, sum of exponentials, output not yet divided by it.
#[derive(Value)]
pub struct Partial<A: Elem, const M: usize, const D: usize> {
    pub m: Tile<A, D1<M>>,
    pub l: Tile<A, D1<M>>,
    pub o: Tile<A, D2<M, D>>,
}

impl<A: Float, const M: usize, const D: usize> Partial<A, M, D> {
    /// Over no token at all; `merge` with it changes nothing.
    #[device]
    pub fn none() -> Self {
        Partial { m: full(A::LOWEST), l: zeros(), o: zeros() }
    }
    /// Over the tokens of one tile of scores.
    #[device]
    pub fn of_tile<T: DotInto<A>, const N: usize>(s: Tile<A, D2<M, N>>, v: Tile<T, D2<N, D>>) -> Self {
        let m = s.max(Axis::<1>);
        let p = exp(s - m.col());
        let l = p.sum(Axis::<1>);
        Partial { m, l, o: dot(p.cast::<T>(), v) }
    }
    /// Over both sets of tokens.
    #[device]
    pub fn merge(self, other: Self) -> Self {
        let m = maximum(self.m, other.m);
        let (a, b) = (exp(self.m - m), exp(other.m - m));
        Partial { m, l: self.l * a + other.l * b, o: self.o * a.col() + other.o * b.col() }
    }
    /// One more tile of tokens; the form a composite runs as prologue, product, epilogue.
    #[device]
    pub fn online_softmax_step<T: DotInto<A>, const N: usize>(
        self,
        s: Tile<A, D2<M, N>>,
        v: Tile<T, D2<N, D>>,
    ) -> Self {
        let m = maximum(self.m, s.max(Axis::<1>));
        let p = exp(s - m.col());
        let a = exp(self.m - m);
        let l = self.l * a + p.sum(Axis::<1>);
        Partial { m, l, o: dot_acc(p.cast::<T>(), v, self.o * a.col()) }
    }
    #[device]
    pub fn normalised<T: Elem>(self) -> Tile<T, D2<M, D>> {
        (self.o / self.l.col()).cast::<T>()
    }
}

/// Merges the partials of a line of `len` neighbours into the one at `root`; `low` and `high` lead to smaller and larger positions.
/// Messages run inwards from both ends. What the others return is what they sent.
#[device]
pub fn reduce_line<A: Float, const M: usize, const D: usize>(
    mine: Partial<A, M, D>,
    pos: Scalar<i32>,
    len: Scalar<i32>,
    root: usize,
    low: Port,
    high: Port,
) -> Partial<A, M, D> {
    let mut sum = mine;
    if root > 0 {
        // decided while tracing: a root at the low end has no low neighbour
        if pos > 0 && pos <= root {
            sum = sum.merge(recv(low));
        }
        if pos < root {
            send(high, sum);
        }
    }
    if pos >= root && pos < len - 1 {
        sum = sum.merge(recv(high));
    }
    if pos > root {
        send(low, sum);
    }
    sum
}

/// The PEs of one cube (2 rows of 4) that work on one KV head. A comptime value: it shapes the program, and is part of its key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Group {
    pub pes: usize,
}
impl Group {
    /// 1, 2, 4 or 8 KV heads a cube: the modes A1, A2, A4, B.
    pub fn of_heads(kv_per_cube: usize) -> Group {
        Group { pes: 8 / kv_per_cube }
    }
    pub fn per_cube(self) -> usize {
        8 / self.pes
    }
    pub fn cols(self) -> usize {
        self.pes.min(4)
    }
    pub fn rows(self) -> usize {
        self.pes / self.cols()
    }
    #[device]
    pub fn head(self) -> Scalar<i32> {
        cube_id() * self.per_cube() + pe_id() / self.pes
    }
    #[device]
    pub fn rank(self) -> Scalar<i32> {
        pe_id() % self.pes
    }
    #[device]
    pub fn col(self) -> Scalar<i32> {
        self.rank() % self.cols()
    }
    #[device]
    pub fn row(self) -> Scalar<i32> {
        self.rank() / self.cols()
    }
}
/// Row chain West, then the column bridge North; the group's rank 0 holds the result.
#[device]
pub fn chain_reduce<A: Float, const M: usize, const D: usize>(
    group: Group,
    mine: Partial<A, M, D>,
) -> Partial<A, M, D> {
    let mut sum = mine;
    let (row, col) = (group.row(), group.col());
    if group.cols() > 1 {
        sum = reduce_line(sum, col, scalar(group.cols()), 0, Port::pe(Dir::West), Port::pe(Dir::East));
    }
    if group.rows() > 1 {
        if col == 0 {
            sum = reduce_line(sum, row, scalar(group.rows()), 0, Port::pe(Dir::North), Port::pe(Dir::South));
        }
    }
    sum
}
/// `cubes` cubes in rows of at most four; the root sits in the middle. A last row that does not reach the root's column
/// first hands its partials one row up.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SubMesh {
    pub cubes: usize,
}
impl SubMesh {
    fn width(self) -> usize {
        self.cubes.min(4)
    }
    fn last(self) -> usize {
        self.cubes - (self.rows() - 1) * self.width()
    } // length of the last row
    fn rows(self) -> usize {
        self.cubes.div_ceil(self.width())
    }
    fn center_col(self) -> usize {
        self.width() / 2
    }
    fn folded(self) -> bool {
        self.last() <= self.center_col() && self.rows() > 1
    }
    fn full_rows(self) -> usize {
        self.rows() - self.folded() as usize
    }
    pub fn root(self) -> usize {
        self.full_rows() / 2 * self.width() + self.center_col()
    }
}

/// Rows to the centre column, that column to the root; PE 0 of every cube takes part.
#[device]
pub fn reduce_cubes<A: Float, const M: usize, const D: usize>(
    mesh: SubMesh,
    mine: Partial<A, M, D>,
) -> Partial<A, M, D> {
    let (row, col) = (cube_id() / mesh.width(), cube_id() % mesh.width());
    let (low, high) = (Port::cube(Dir::West), Port::cube(Dir::East));
    let (up, down) = (Port::cube(Dir::North), Port::cube(Dir::South));
    let mut sum = mine;
    if mesh.folded() {
        if row == mesh.full_rows() {
            send(up, sum);
        }
        if row == mesh.full_rows() - 1 && col < mesh.last() {
            sum = sum.merge(recv(down));
        }
    }
    if row < mesh.full_rows() {
        let last = if mesh.folded() { mesh.width() } else { mesh.last() };
        let len = select(row == mesh.full_rows() - 1, last, mesh.width());
        sum = reduce_line(sum, col, len, mesh.center_col(), low, high);
        if col == mesh.center_col() {
            sum = reduce_line(sum, row, scalar(mesh.full_rows()), mesh.full_rows() / 2, up, down);
        }
    }
    sum
}
/// The root's value for the whole group: along its row, and down the first column.
#[device]
pub fn broadcast<V: Value>(group: Group, root: impl Fn() -> V) -> V {
    let (row, col) = (group.row(), group.col());
    let value = if row == 0 && col == 0 {
        root()
    } else if col == 0 {
        recv(Port::pe(Dir::North))
    } else {
        recv(Port::pe(Dir::West))
    };
    if group.cols() > 1 {
        if col < group.cols() - 1 {
            send(Port::pe(Dir::East), value);
        }
    }
    if group.rows() > 1 {
        if col == 0 && row < group.rows() - 1 {
            send(Port::pe(Dir::South), value);
        }
    }
    value
}
/// Which commands the accelerator is given. The values are the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tier {
    Plain,
    Composite,
    Fused,
}
/// `q . k^T`, as a command of its own or as a composite.
#[device]
pub fn scores<T: DotInto<A>, A: Num, const M: usize, const N: usize, const D: usize>(
    as_composite: bool,
    q: Tile<T, D2<M, D>>,
    k: Tile<T, D2<N, D>>,
) -> Tile<A, D2<M, N>> {
    if as_composite { composite(|| dot(q, k.trans())) } else { dot(q, k.trans()) }
}
/// One more KV tile in the chosen tier. The first two keep part and merge apart: that is what they are charged for.
#[device]
pub fn attend<T: Elem + DotInto<A>, A: Float, const M: usize, const N: usize, const D: usize>(
    tier: Tier,
    so_far: Partial<A, M, D>,
    q: Tile<T, D2<M, D>>,
    k: Tile<T, D2<N, D>>,
    v: Tile<T, D2<N, D>>,
) -> Partial<A, M, D> {
    let s = scores(tier != Tier::Plain, q, k);
    match tier {
        Tier::Plain | Tier::Composite => so_far.merge(Partial::of_tile(s, v)),
        Tier::Fused => composite(|| so_far.online_softmax_step(s, v)),
    }
}

/// What `leaky` multiplies negative numbers by.
pub const SLOPE: f64 = 0.3125;
#[device]
pub fn leaky(x: Scalar<f32>) -> Scalar<f32> {
    select(x > 0.0, x, x * SLOPE)
}
/// A kernel whose name others have as well.
#[kernel]
pub fn same_name(y: ViewMut<i32, 1>) {
    y.at(0).set(3);
}
