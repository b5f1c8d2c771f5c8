//! The PEs of one cube that share a KV head.

use tilewright::prelude::*;

/// PEs of a cube (AHBM: 2 rows of 4).
pub const PES_PER_CUBE: usize = 8;
/// PEs in a row of the cube's mesh.
const ROW: usize = 4;

/// The PEs of one cube that work on one KV head. A comptime value: it shapes the program, and is part of its key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Group {
    pub pes: usize,
}

impl Group {
    /// 1, 2, 4 or 8 KV heads a cube: the mappings A1, A2, A4, B. `None` for any other number.
    pub fn of_heads(kv_per_cube: usize) -> Option<Group> {
        matches!(kv_per_cube, 1 | 2 | 4 | 8).then(|| Group { pes: PES_PER_CUBE / kv_per_cube })
    }
    /// KV heads a cube holds.
    pub fn per_cube(self) -> usize {
        PES_PER_CUBE / self.pes
    }
    /// Neighbours in a row of the group.
    pub fn cols(self) -> usize {
        self.pes.min(ROW)
    }
    /// Rows of the group.
    pub fn rows(self) -> usize {
        self.pes / self.cols()
    }
    /// The KV head this PE works on.
    #[device]
    pub fn head(self) -> Scalar<i32> {
        cube_id() * self.per_cube() + pe_id() / self.pes
    }
    /// Whether this PE works on the cube's KV head of that number.
    #[device]
    pub fn holds(self, head: usize) -> Scalar<bool> {
        pe_id() / self.pes == head
    }
    /// This PE's position in its group; rank 0 is the root.
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

/// The root's value for the whole group: along its row, and down the first column. `root` loads it, `from` receives it.
#[device]
pub fn broadcast<V: Value>(group: Group, root: impl Fn() -> V, from: impl Fn(Port) -> V) -> V {
    if group.pes == 1 {
        root()
    } else {
        let (row, col) = (group.row(), group.col());
        let value = if group.rank() == 0 {
            root()
        } else if group.rows() == 1 {
            from(Port::pe(Dir::West))
        } else if col == 0 {
            from(Port::pe(Dir::North))
        } else {
            from(Port::pe(Dir::West))
        };
        if col < group.cols() - 1 {
            send(Port::pe(Dir::East), value);
        }
        if group.rows() > 1 {
            if col == 0 && row < group.rows() - 1 {
                send(Port::pe(Dir::South), value);
            }
        }
        value
    }
}
