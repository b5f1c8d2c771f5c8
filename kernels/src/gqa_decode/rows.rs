//! The query rows of a KV head, and which tokens each of them sees.

use crate::open;
use tilewright::prelude::*;

/// Row `(b T + t) G + g`: head g of query token t of request b. A comptime value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rows {
    /// Requests, all over the one context.
    pub batch: usize,
    /// Query tokens of each, T.
    pub t_q: usize,
    /// Query heads of the KV head, G.
    pub heads: usize,
    /// The query tokens are the last of the context, and each sees those up to its own; else all.
    pub causal: bool,
}

impl Rows {
    pub fn count(self) -> usize {
        self.batch.saturating_mul(self.t_q).saturating_mul(self.heads)
    }
    /// Whether some row sees fewer tokens than another.
    pub fn hide(self) -> bool {
        self.causal && self.t_q > 1
    }
    /// How many of so many tokens a row sees.
    pub fn seen(self, row: usize, tokens: usize) -> usize {
        if self.causal { (tokens + row / self.heads % self.t_q + 1).saturating_sub(self.t_q) } else { tokens }
    }
    /// The same of each row, where some hide.
    #[device]
    pub fn each_seen<const M: usize>(self, tokens: Scalar<i32>) -> Tile<i32, D1<M>> {
        let row = iota_sized::<i32, D1<M>>(Axis::<0>, open([(M, self.count())]));
        let query = if self.batch > 1 { row / self.heads % self.t_q } else { row / self.heads };
        query + self.fewest_seen(tokens)
    }
    /// Of the rows that see least.
    #[device]
    pub fn fewest_seen(self, tokens: Scalar<i32>) -> Scalar<i32> {
        tokens - (self.t_q - 1)
    }
}
