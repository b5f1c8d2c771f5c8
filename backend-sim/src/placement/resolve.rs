//! A placement fitted to a tensor and a launch, and the requests of an access.
//!
//! Each cut of an axis (over cubes, then over PEs, outer first) has a nominal slice length, rounded up; an inner cut
//! divides the outer cut's slice. So a place on an axis says by division which part it is in, and a slice is a box.

use super::errors::Fault;
use crate::machine::Machine;
use tilewright_core::diag::Diagnostics;
use tilewright_core::launch::Grid;
use tilewright_core::placement::{InCube, Split};
use tilewright_core::tensor::AnyTensor;

/// The part of an access that lies in one slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Counted from the launch's first cube.
    pub cube: usize,
    pub pe: usize,
    pub bytes: u64,
}

/// The cubes that a launch runs on, and those that its tensors may lie in; both counted from its first cube.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CubeSpan {
    /// Cubes of the launch.
    pub launch: usize,
    /// Cubes up to the end of the SIP; of a launch over several SIPs only its own.
    pub reach: usize,
}

impl CubeSpan {
    /// For a grid that fits the machine.
    pub fn of(machine: &Machine, grid: Grid, first_cube: usize) -> CubeSpan {
        let launch = grid.sips * grid.cubes;
        let reach = if grid.sips == 1 { machine.cubes_per_sip().saturating_sub(first_cube) } else { launch };
        CubeSpan { launch, reach }
    }
}

/// Which number a cut's part counts towards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    Cube,
    /// PEs between neighbouring parts.
    Pe {
        stride: usize,
    },
}

/// One cut of an axis.
#[derive(Clone, Copy, Debug)]
struct Cut {
    /// Elements of the axis in a part; at least 1.
    len: usize,
    home: Home,
}

/// One axis of a placed tensor.
#[derive(Clone, Debug, Default)]
struct Axis {
    len: usize,
    /// Outer first.
    cuts: Vec<Cut>,
}

/// A tensor on the machine.
#[derive(Clone, Debug)]
pub struct Placed {
    axes: Vec<Axis>,
    elem_bytes: u64,
    /// The first cube, or `None`: a copy in each cube of the launch.
    first_cube: Option<usize>,
    num_cubes: usize,
    /// The first PE, or `None`: a copy in each PE.
    first_pe: Option<usize>,
}

impl Placed {
    /// Fits a tensor's placement to the machine and the launch. `name` is the parameter's, for errors; `written`:
    /// the kernel stores to it.
    ///
    /// # Errors
    /// `TW-E053x`: every part of the placement that does not fit.
    pub fn check(
        machine: &Machine,
        cubes: CubeSpan,
        name: &str,
        tensor: &AnyTensor,
        written: bool,
    ) -> Result<Placed, Diagnostics> {
        let mut faults = Diagnostics::default();
        for fault in faults_of(machine, cubes, tensor, written) {
            faults.push(fault.diagnostic(name));
        }
        faults.finish()?;
        let placement = &tensor.placement;
        let mut axes: Vec<Axis> = tensor.dims.iter().map(|len| Axis { len: *len, cuts: Vec::new() }).collect();
        if let Some(split) = &placement.cubes {
            cut(&mut axes, split, Home::Cube);
        }
        let mut first_pe = Some(0);
        match &placement.in_cube {
            InCube::At(pe) => first_pe = Some(*pe),
            InCube::Each => first_pe = None,
            InCube::Split(splits) => {
                let mut stride: usize = splits.iter().map(|s| s.parts).product();
                for split in splits {
                    stride /= split.parts;
                    cut(&mut axes, split, Home::Pe { stride });
                }
            }
        }
        let first_cube = placement.cubes.is_some().then_some(placement.first_cube);
        let num_cubes = placement.cubes.as_ref().map_or(cubes.launch, |s| s.parts);
        Ok(Placed { axes, elem_bytes: tensor.elem.bytes(), first_cube, num_cubes, first_pe })
    }

    /// The cubes that hold some of the tensor, counted from the launch's first cube.
    pub fn cubes(&self) -> std::ops::Range<usize> {
        let first = self.first_cube.unwrap_or(0);
        first..first + self.num_cubes
    }

    /// Appends one request per slice that holds elements of the box `start .. start + dims`, clipped to the tensor, in
    /// the order of their first elements. `asking`: cube and PE. Both slices have one entry per axis.
    pub fn requests(&self, start: &[i64], dims: &[usize], asking: (usize, usize), out: &mut Vec<Request>) {
        let (cube, pe) = (self.first_cube.unwrap_or(asking.0), self.first_pe.unwrap_or(asking.1));
        let request = Request { cube, pe, bytes: self.elem_bytes };
        self.split(&self.axes, start, dims, request, out);
    }

    /// Splits the axes from the first of `axes` on; `request`: what the outer axes add up to.
    fn split(&self, axes: &[Axis], start: &[i64], dims: &[usize], request: Request, out: &mut Vec<Request>) {
        let ([axis, axes @ ..], [first, start @ ..], [count, dims @ ..]) = (axes, start, dims) else {
            out.push(request);
            return;
        };
        let (mut at, end) = axis.clip(*first, *count);
        while at < end {
            let (part, border) = axis.part(at, request);
            let stop = border.min(end);
            let bytes = request.bytes * (stop - at) as u64;
            self.split(axes, start, dims, Request { bytes, ..part }, out);
            at = stop;
        }
    }
}

impl Axis {
    /// The part of `first .. first + count` that exists.
    fn clip(&self, first: i64, count: usize) -> (usize, usize) {
        let end = i128::from(first) + count as i128;
        let inside = |at: i128| at.clamp(0, self.len as i128) as usize;
        (inside(first.into()), inside(end))
    }
    /// The request moved to the part that holds place `at`, and the first place after that part.
    fn part(&self, at: usize, mut request: Request) -> (Request, usize) {
        let (mut inside, mut border) = (at, self.len);
        for cut in &self.cuts {
            let part = inside / cut.len;
            inside %= cut.len;
            border = border.min(at + (cut.len - inside));
            match cut.home {
                Home::Cube => request.cube += part,
                Home::Pe { stride } => request.pe += part * stride,
            }
        }
        (request, border)
    }
}

/// What of a tensor's placement does not fit.
fn faults_of(machine: &Machine, cubes: CubeSpan, tensor: &AnyTensor, written: bool) -> Vec<Fault> {
    let (placement, rank) = (&tensor.placement, tensor.dims.len());
    let mut faults = Vec::new();
    let pe_splits: &[Split] = match &placement.in_cube {
        InCube::Split(splits) => splits,
        InCube::At(_) | InCube::Each => &[],
    };
    for split in placement.cubes.iter().chain(pe_splits) {
        // All of it in one part is no cut, whatever the axis: that is how a single cube is named.
        if split.axis >= rank && split.parts != 1 {
            faults.push(Fault::NoAxis { axis: split.axis, rank });
        }
        if split.parts == 0 {
            faults.push(Fault::NoParts { axis: split.axis });
        }
    }
    match &placement.cubes {
        Some(split) => {
            let end = placement.first_cube.checked_add(split.parts);
            if end.is_none_or(|end| end > cubes.reach) {
                faults.push(Fault::NoCube { first: placement.first_cube, cubes: split.parts, reach: cubes.reach });
            }
        }
        None if written && placement.in_cube != InCube::Each && cubes.launch > 1 => {
            faults.push(Fault::StoreToCopies { copies: cubes.launch, in_each: "cube" });
        }
        None => {}
    }
    let per_cube = machine.pes_per_cube();
    if written && placement.in_cube == InCube::Each {
        faults.push(Fault::StoreToCopies { copies: cubes.launch * per_cube, in_each: "PE" });
    }
    let end_pe = match &placement.in_cube {
        InCube::At(pe) => pe.checked_add(1),
        InCube::Each => Some(per_cube),
        InCube::Split(splits) => splits.iter().try_fold(1usize, |n, s| n.checked_mul(s.parts)),
    };
    if end_pe.is_none_or(|end| end > per_cube) {
        faults.push(Fault::NoPe { placement: placement.in_cube.clone(), per_cube });
    }
    faults
}

/// Adds a cut inside the cuts that the axis has.
fn cut(axes: &mut [Axis], split: &Split, home: Home) {
    if let (Some(axis), true) = (axes.get_mut(split.axis), split.parts > 1) {
        let outer = axis.cuts.last().map_or(axis.len, |c| c.len);
        axis.cuts.push(Cut { len: outer.div_ceil(split.parts).max(1), home });
    }
}
