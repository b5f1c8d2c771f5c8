//! What messages cost.

use crate::formula::Num;
use crate::placement::Tier;

/// Time and bytes of a message pattern, of one PE.
#[derive(Clone, Copy, Debug)]
pub struct Cost<N: Num> {
    pub time_s: N,
    pub bytes: N,
}

/// A sum over `ranks` of `payload` bytes each, on one flat ring: each rank sends its part round twice.
#[inline(always)]
pub fn ring_all_reduce<N: Num>(ranks: N, payload: N, tier: &Tier<N>) -> Cost<N> {
    let (one, two) = (N::lit(1.0), N::lit(2.0));
    let steps = two * (ranks - one);
    let bytes = steps / ranks * payload;
    Cost { time_s: bytes / tier.bytes_per_s + steps * tier.hop_s, bytes: bytes.floor() }
}
