//! When the users of one SIP start (AHBM.md 7): an interpolation of the published offsets, not a launch model.

use super::spec::Machine;
use crate::units::Ps;

impl Machine {
    /// Start times of `users` launches of `cubes` cubes each, user `u` from cube `u * cubes` on; the earliest is 0.
    ///
    /// `q * u - column * (f mod columns) - row * (f div columns)`, where `f` is the first cube and `q` is `small` for
    /// users of at most `small_cubes` cubes, `base + per_cube * cubes` for larger ones.
    pub fn user_starts(&self, users: usize, cubes: usize) -> Vec<Ps> {
        let (skew, cols) = (&self.launch_skew, i128::from(self.topology.cube_cols));
        let time = |t: Ps| i128::from(t.0);
        let cubes = cubes as i128;
        let small = cubes <= i128::from(skew.small_cubes);
        let step = if small { time(skew.small) } else { time(skew.base) + time(skew.per_cube) * cubes };
        let offset = |user: usize| {
            let (user, first) = (user as i128, user as i128 * cubes);
            step * user - time(skew.column) * (first % cols) - time(skew.row) * (first / cols)
        };
        let earliest = (0..users).map(offset).min().unwrap_or(0);
        let start = |user| Ps(u64::try_from(offset(user) - earliest).unwrap_or(u64::MAX));
        (0..users).map(start).collect()
    }
}
