//! What can be wrong with a placement: one variant a fault, its text and its page.

use tilewright_core::diag::{CodePage, Diagnostic};
use tilewright_core::placement::InCube;

#[derive(Debug)]
pub(super) enum Fault {
    NoAxis { axis: usize, rank: usize },
    NoParts { axis: usize },
    NoCube { first: usize, cubes: usize, reach: usize },
    NoPe { placement: InCube, per_cube: usize },
    StoreToCopies { copies: usize, in_each: &'static str },
}

const AXIS: &str = "TW-E0530";
const PARTS: &str = "TW-E0531";
const CUBE: &str = "TW-E0532";
const PE: &str = "TW-E0533";
const COPIES: &str = "TW-E0534";

/// Every code of placements.
pub const CODES: &[CodePage] = &[
    CodePage {
        code: AXIS,
        title: "a placement cuts an axis that the tensor does not have",
        page: "Axes count from 0: a tensor of rank 2 has axes 0 and 1. A placement says along which of them a \
               tensor is cut over cubes and PEs, so it cannot name another one.",
    },
    CodePage {
        code: PARTS,
        title: "a placement cuts an axis into no parts",
        page: "`over_cubes(axis, n)` and `over_pes(&[(axis, n)])` cut an axis into n parts, one a cube or PE. \
               With none there would be no home for any element. 1 leaves the axis whole.",
    },
    CodePage {
        code: CUBE,
        title: "a placement uses a cube that does not exist",
        page: "Cubes of a placement count from the launch's first cube. A tensor may lie in cubes of the same SIP that \
               the launch does not run on, but not beyond the SIP's last one.",
    },
    CodePage {
        code: PE,
        title: "a placement uses a PE that does not exist",
        page: "The parts of `over_pes` multiply to the number of PEs used, at most those of a cube; PE ids count from 0.",
    },
    CodePage {
        code: COPIES,
        title: "a kernel stores to a tensor that has several copies",
        page: "A replicated tensor has one copy per cube of the launch, and a store would change one of them. Give an \
               output a home: `Placement::over_cubes(axis, cubes)`, or `Placement::at(cube, pe)` for a small one.",
    },
];

impl Fault {
    /// `name`: the parameter that the tensor is bound to.
    pub(super) fn diagnostic(&self, name: &str) -> Diagnostic {
        match self {
            Fault::NoAxis { axis, rank } => {
                Diagnostic::new(AXIS, format!("the placement of `{name}` cuts axis {axis} of a tensor of rank {rank}"))
                    .next(match rank {
                        0 => "place a tensor without axes by `Placement::at(cube, pe)`".to_owned(),
                        _ => format!("cut an axis below {rank}"),
                    })
            }
            Fault::NoParts { axis } => {
                Diagnostic::new(PARTS, format!("the placement of `{name}` cuts axis {axis} into 0 parts"))
                    .next("cut into 1 part or more")
            }
            Fault::NoCube { first, cubes, reach } => Diagnostic::new(
                CUBE,
                format!("the placement of `{name}` takes {cubes} cubes from cube {first} of the launch on; there are {reach}"),
            )
            .note("cubes count from the launch's first cube to the last one of its SIP")
            .next("place it over fewer cubes, or choose a larger machine: `--set topology.cube_rows=…`"),
            Fault::NoPe { placement, per_cube } => {
                let uses = match placement {
                    InCube::At(pe) => format!("PE {pe}"),
                    InCube::Each => "every PE".to_string(),
                    InCube::Split(splits) => {
                        let parts: Vec<String> = splits.iter().map(|s| s.parts.to_string()).collect();
                        format!("{} PEs", parts.join(" x "))
                    }
                };
                Diagnostic::new(PE, format!("the placement of `{name}` uses {uses} of a cube; a cube has {per_cube} PEs"))
                    .next(match placement {
                        InCube::At(_) => format!("choose a PE below {per_cube}"),
                        InCube::Split(_) | InCube::Each => format!("cut into at most {per_cube} parts"),
                    })
            }
            Fault::StoreToCopies { copies, in_each } => Diagnostic::new(
                COPIES,
                format!("the kernel stores to `{name}`, which has {copies} copies, one in each {in_each} of the launch"),
            )
            .next("give it a home, for example `.placed(Placement::over_cubes(axis, cubes))`"),
        }
    }
}
