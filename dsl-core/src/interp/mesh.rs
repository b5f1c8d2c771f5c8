//! Where a port leads: programs, cubes and SIPs as a mesh.

use crate::ir::ops::{Dir, Port};
use crate::launch::Grid;

/// How PEs and cubes are arranged. PE `row * pe_cols + col` of a cube, cube `row * cube_cols + col` of a SIP, SIPs in a
/// ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mesh {
    /// PEs in a row of a cube.
    pub pe_cols: usize,
    /// Cubes in a row of a SIP.
    pub cube_cols: usize,
}

impl Default for Mesh {
    /// Cubes of 2 x 4 PEs, SIPs of 4 x 4 cubes.
    fn default() -> Mesh {
        Mesh { pe_cols: 4, cube_cols: 4 }
    }
}

/// Why a port leads nowhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NoLink {
    /// There is no program in that direction.
    OffMesh,
    /// It leads back to the program itself.
    ToItself,
}

impl Mesh {
    /// The program at the other end of `port`, and what that program calls this queue's other direction: what is sent
    /// East arrives from West.
    ///
    /// # Errors
    /// The port leads off the mesh, or back to the program.
    pub fn link(&self, grid: Grid, program: usize, port: Port) -> Result<(usize, Port), NoLink> {
        let (pe, cube) = (program % grid.pes, program / grid.pes);
        let (in_sip, sip) = (cube % grid.cubes, cube / grid.cubes);
        let (other, back) = match port {
            Port::Pe(dir) => {
                let to = neighbour(pe, self.pe_cols, grid.pes, dir)?;
                (cube * grid.pes + to, Port::Pe(dir.opposite()))
            }
            Port::Cube(dir) => {
                let to = neighbour(in_sip, self.cube_cols, grid.cubes, dir)?;
                ((sip * grid.cubes + to) * grid.pes + pe, Port::Cube(dir.opposite()))
            }
            Port::Sip(dir) => {
                let to = match dir {
                    Dir::East => (sip + 1) % grid.sips,
                    Dir::West => (sip + grid.sips - 1) % grid.sips,
                    Dir::North | Dir::South => return Err(NoLink::OffMesh),
                };
                ((to * grid.cubes + in_sip) * grid.pes + pe, Port::Sip(dir.opposite()))
            }
            Port::Peer(to) => {
                let to = usize::try_from(to).ok().filter(|to| *to < grid.pes).ok_or(NoLink::OffMesh)?;
                (cube * grid.pes + to, Port::Peer(pe as u32))
            }
        };
        if other == program { Err(NoLink::ToItself) } else { Ok((other, back)) }
    }
}

/// The place next to `at` among `count` places in rows of `cols`.
fn neighbour(at: usize, cols: usize, count: usize, dir: Dir) -> Result<usize, NoLink> {
    let cols = cols.max(1);
    let to = match dir {
        Dir::North => at.checked_sub(cols),
        Dir::South => Some(at + cols),
        Dir::East => Some(at + 1).filter(|to| !to.is_multiple_of(cols)),
        Dir::West => at.checked_sub(1).filter(|_| !at.is_multiple_of(cols)),
    };
    to.filter(|to| *to < count).ok_or(NoLink::OffMesh)
}
