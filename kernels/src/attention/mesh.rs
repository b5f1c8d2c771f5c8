//! Cubes that share one KV head, and where their partials meet.

use super::{Partial, reduce_line};
use tilewright::prelude::*;

/// Cubes in a row of a SIP (AHBM: 4 rows of 4).
const ROW: usize = 4;
/// Cubes of a SIP.
pub const MAX_CUBES: usize = 16;

/// SIPs of the ring that a launch may span.
pub const MAX_SIPS: usize = 64;

/// `cubes` cubes of each of `sips` SIPs, in rows of at most four, from cube 0 on. The root sits in the middle of the middle SIP.
/// A last row too short to reach the root's column first hands its partials one row up, so that every number of cubes works.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SubMesh {
    pub sips: usize,
    pub cubes: usize,
}

impl SubMesh {
    fn width(self) -> usize {
        self.cubes.clamp(1, ROW)
    }
    fn rows(self) -> usize {
        self.cubes.div_ceil(self.width())
    }
    /// Cubes of the last row.
    fn last(self) -> usize {
        self.cubes - (self.rows() - 1) * self.width()
    }
    fn center_col(self) -> usize {
        self.width() / 2
    }
    /// Whether the last row does not reach the root's column.
    fn folded(self) -> bool {
        self.rows() > 1 && self.last() <= self.center_col()
    }
    fn full_rows(self) -> usize {
        self.rows() - usize::from(self.folded())
    }
    /// The cube of a SIP that holds the sum of the SIP.
    fn center(self) -> usize {
        self.full_rows() / 2 * self.width() + self.center_col()
    }
    fn root_sip(self) -> usize {
        self.sips / 2
    }
    /// The cube of the launch that holds the sum.
    pub fn root(self) -> usize {
        self.root_sip() * self.cubes + self.center()
    }
    /// This cube's SIP, and its place there.
    #[device]
    fn place(self) -> (Scalar<i32>, Scalar<i32>) {
        if self.sips > 1 { (cube_id() / self.cubes, cube_id() % self.cubes) } else { (scalar(0), cube_id()) }
    }
}

/// Rows to the centre column, that column to the centre; then the centres along the line of SIPs to the root. One PE of every
/// cube takes part.
#[device]
pub fn reduce_cubes<A: Float, const M: usize, const D: usize>(
    mesh: SubMesh,
    mine: Partial<A, M, D>,
) -> Partial<A, M, D> {
    let (sip, cube) = mesh.place();
    let mut sum = mine;
    if mesh.cubes > 1 {
        sum = reduce_sip(mesh, cube, sum);
    }
    if mesh.sips > 1 {
        if cube == mesh.center() {
            let (low, high) = (Port::sip(Dir::West), Port::sip(Dir::East));
            sum = reduce_line(sum, sip, scalar(mesh.sips), mesh.root_sip(), low, high);
        }
    }
    sum
}

/// The cubes of one SIP; the centre holds the sum.
#[device]
fn reduce_sip<A: Float, const M: usize, const D: usize>(
    mesh: SubMesh,
    cube: Scalar<i32>,
    mine: Partial<A, M, D>,
) -> Partial<A, M, D> {
    let mut sum = mine;
    let (row, col) = (cube / mesh.width(), cube % mesh.width());
    let (low, high) = (Port::cube(Dir::West), Port::cube(Dir::East));
    let (up, down) = (Port::cube(Dir::North), Port::cube(Dir::South));
    if mesh.folded() {
        if row == mesh.full_rows() {
            send(up, sum);
        }
        if row == mesh.full_rows() - 1 && col < mesh.last() {
            sum = sum.merge(recv_like(down, sum));
        }
    }
    if row < mesh.full_rows() {
        let last = if mesh.folded() { mesh.width() } else { mesh.last() };
        let len = select(row == mesh.full_rows() - 1, scalar(last), mesh.width());
        sum = reduce_line(sum, col, len, mesh.center_col(), low, high);
        if mesh.full_rows() > 1 {
            if col == mesh.center_col() {
                sum = reduce_line(sum, row, scalar(mesh.full_rows()), mesh.full_rows() / 2, up, down);
            }
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_a_cube_of_the_mesh_near_its_middle() {
        let roots = |sips| (1..=16).map(|cubes| SubMesh { sips, cubes }.root()).collect::<Vec<_>>();
        assert_eq!(roots(1), [0, 1, 1, 2, 2, 2, 6, 6, 6, 6, 6, 6, 6, 6, 10, 10]);
        // The second of two SIPs, and the third of four.
        let after = |sips: usize| roots(1).iter().zip(1..).map(|(at, cubes)| sips * cubes + at).collect::<Vec<_>>();
        assert_eq!((roots(2), roots(4)), (after(1), after(2)));
    }
}
