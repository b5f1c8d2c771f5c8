//! Where a host tensor lies on a memory-centric machine. A placement only prices accesses: values never depend on it.

/// How a tensor is cut along one level of the machine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Split {
    /// The tensor axis that is cut.
    pub axis: usize,
    /// Into how many slices of equal length (the last may be shorter).
    pub parts: usize,
}

/// Which memory of a cube holds a tensor's part for that cube.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum InCube {
    /// Cut over the PEs' slices: the first split is the outer one; the product of the parts is the number of PEs used.
    Split(Vec<Split>),
    /// All of it in the slice of one PE.
    At(usize),
    /// All of it in the slice of every PE: a PE reads its own copy.
    Each,
}

/// Where the elements of a tensor lie: first cut over cubes, then inside each cube.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Placement {
    /// The first cube used, counted from the launch's first cube.
    pub first_cube: usize,
    /// Cut over cubes; `None`: one copy per cube of the launch, read from the reading PE's own cube.
    pub cubes: Option<Split>,
    pub in_cube: InCube,
}

impl Placement {
    /// One copy per cube, in the slice of PE 0 (`replicated` in a launch over one cube is all in PE 0).
    pub fn replicated() -> Placement {
        Placement { first_cube: 0, cubes: None, in_cube: InCube::At(0) }
    }
    /// One copy per PE, in its own slice.
    pub fn in_each_pe() -> Placement {
        Placement { in_cube: InCube::Each, ..Placement::replicated() }
    }
    /// All of it in the slice of one PE of one cube.
    pub fn at(cube: usize, pe: usize) -> Placement {
        Placement { first_cube: cube, cubes: Some(Split { axis: 0, parts: 1 }), in_cube: InCube::At(pe) }
    }
    /// Cut along `axis` over `cubes` cubes; inside a cube all in PE 0's slice, unless `over_pes` follows.
    pub fn over_cubes(axis: usize, cubes: usize) -> Placement {
        Placement { first_cube: 0, cubes: Some(Split { axis, parts: cubes }), in_cube: InCube::At(0) }
    }
    /// Inside each cube, cut along these axes over the PEs, the first the outer one: `[(0, 2), (1, 4)]` gives PEs 0..4
    /// the first half of axis 0, each a quarter of axis 1.
    pub fn over_pes(self, splits: &[(usize, usize)]) -> Placement {
        let splits = splits.iter().map(|&(axis, parts)| Split { axis, parts }).collect();
        Placement { in_cube: InCube::Split(splits), ..self }
    }
    /// The same, with the first slice in cube `cube` of the launch.
    pub fn from_cube(self, cube: usize) -> Placement {
        Placement { first_cube: cube, ..self }
    }
}

impl Default for Placement {
    fn default() -> Placement {
        Placement::replicated()
    }
}
