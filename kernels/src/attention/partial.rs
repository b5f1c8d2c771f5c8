//! Attention over some of the tokens, in a form that can be joined with attention over the others (online softmax:
//! Milakov and Gimelshein, arXiv 1805.02867).

use tilewright::prelude::*;

/// Attention of M query rows over some of the tokens: running maximum, sum of exponentials, output not yet divided by it.
#[derive(Value)]
pub struct Partial<A: Elem, const M: usize, const D: usize> {
    pub m: Tile<A, D1<M>>,
    pub l: Tile<A, D1<M>>,
    pub o: Tile<A, D2<M, D>>,
}

impl<A: Float, const M: usize, const D: usize> Partial<A, M, D> {
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
    /// Over all sets of tokens, at least one. They are scaled to one maximum, each once.
    #[device]
    pub fn merge_all(parts: &[Self]) -> Self {
        let m = parts.iter().map(|part| part.m).reduce(maximum).unwrap_or(parts[0].m);
        let scales: Vec<_> = parts.iter().map(|part| exp(part.m - m)).collect();
        let (mut l, mut o) = (parts[0].l * scales[0], parts[0].o * scales[0].col());
        for (part, scale) in parts.iter().zip(&scales).skip(1) {
            (l, o) = (fma(part.l, *scale, l), fma(part.o, scale.col(), o));
        }
        Partial { m, l, o }
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
    /// Of some of the query rows: `count` from `first` on.
    #[device]
    pub fn rows(self, first: usize, count: usize) -> Partial<A, ANY, D> {
        let (m, l) = (self.m.rows_sized(first, count), self.l.rows_sized(first, count));
        Partial { m, l, o: self.o.rows_sized(first, count) }
    }
    /// The attention itself: the output divided by the sum of exponentials.
    #[device]
    pub fn normalised<T: Elem>(self) -> Tile<T, D2<M, D>> {
        (self.o / self.l.col()).cast::<T>()
    }
}
