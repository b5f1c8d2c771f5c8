//! The text of a kernel: the only place that writes PTX.

use super::body::Body;
use super::inst::{Addr, Base, Bin, CacheHint, Inst, Op, Space, Src};
use super::ty::{Class, Ty};
use crate::target::Target;
use std::fmt::Write;
use tilewright_core::ir::LocId;

/// A kernel, ready to print.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// A valid PTX name.
    pub name: String,
    pub target: Target,
    /// Of the parameter block.
    pub param_bytes: u32,
    pub threads: u32,
    /// CTAs of a cluster, if the kernel runs in clusters.
    pub cluster: Option<u32>,
    /// CTAs that have to fit an SM at once. Without it, ptxas saves registers at the cost of loads in flight (PTX.md 2).
    pub min_ctas_per_sm: u32,
    /// Dynamic shared memory.
    pub shared_bytes: u32,
    /// Where each buffer of the body lies in it.
    pub offsets: Vec<u32>,
    pub body: Body,
}

/// PTX text, and where it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Printed {
    pub text: String,
    /// By line of the text, from 0.
    pub lines: Vec<LocId>,
}

/// The parameter block and the dynamic shared memory, as the text calls them.
const PARAMS: &str = "args";
const SHARED: &str = "tiles";

impl Kernel {
    /// The lowest that has what the kernel is made of: `st.async` came with 8.1.
    pub fn ptx_version(&self) -> (u32, u32) {
        let version = self.target.ptx_version();
        if self.cluster.is_some() { version.max((8, 1)) } else { version }
    }
    pub fn print(&self) -> Printed {
        let mut out = String::new();
        let (major, minor) = self.ptx_version();
        let _ = writeln!(out, ".version {major}.{minor}\n.target {}\n.address_size 64\n", self.target.name());
        if self.shared_bytes > 0 {
            let _ = writeln!(out, ".extern .shared .align 1024 .b8 {SHARED}[];\n");
        }
        // A block of no bytes is not allowed.
        let bytes = self.param_bytes.max(8);
        let _ = writeln!(out, ".visible .entry {}(.param .align 8 .b8 {PARAMS}[{bytes}])", self.name);
        let _ = writeln!(out, ".reqntid {}, 1, 1\n.minnctapersm {}", self.threads, self.min_ctas_per_sm);
        if let Some(ctas) = self.cluster {
            let _ = writeln!(out, ".explicitcluster\n.reqnctapercluster {ctas}, 1, 1");
        }
        out.push_str("{\n");
        for class in Class::ALL.into_iter().filter(|class| self.body.count(*class) > 0) {
            let _ = writeln!(out, "    .reg .{} {}<{}>;", class.declared(), class.prefix(), self.body.count(class));
        }
        let mut lines = vec![LocId::UNKNOWN; out.lines().count()];
        for line in self.body.lines() {
            print(&mut out, &line.inst, &self.offsets);
            lines.push(line.loc);
        }
        out.push_str("}\n");
        lines.push(LocId::UNKNOWN);
        Printed { text: out, lines }
    }
}

/// One line.
fn print(out: &mut String, inst: &Inst, offsets: &[u32]) {
    if let Op::Label(label) = inst.op {
        let _ = writeln!(out, "$L{}:", label.0);
        return;
    }
    out.push_str("    ");
    if let Some(guard) = inst.guard {
        let _ = write!(out, "@{}{} ", if guard.negated { "!" } else { "" }, guard.pred);
    }
    let _ = op(out, &inst.op, offsets);
    out.push_str(";\n");
}

fn op(out: &mut String, op: &Op, offsets: &[u32]) -> std::fmt::Result {
    match op {
        Op::Mov { ty, d, a } => write!(out, "mov.{ty} {d}, {}", src(*ty, *a)),
        Op::Special { d, from } => {
            let ty = if d.class == Class::B64 { Ty::U64 } else { Ty::U32 };
            write!(out, "mov.{ty} {d}, {}", from.text())
        }
        Op::Un { op, ty, d, a } => write!(out, "{}.{ty} {d}, {}", op.text(), src(*ty, *a)),
        Op::BufferBase { d, buffer } => match offsets.get(buffer.0 as usize) {
            Some(0) | None => write!(out, "mov.u32 {d}, {SHARED}"),
            Some(offset) => write!(out, "mov.u32 {d}, {SHARED}+{offset}"),
        },
        Op::Math { op, ty, d, a } => write!(out, "{}.{ty} {d}, {}", op.text(), src(*ty, *a)),
        Op::Bin { op, ty, d, a, b } => {
            // The count of a shift is a u32 whatever is shifted.
            let count = if matches!(op, Bin::Shl | Bin::Shr) { Ty::U32 } else { *ty };
            write!(out, "{}.{ty} {d}, {}, {}", op.text(), src(*ty, *a), src(count, *b))
        }
        Op::Tern { op, ty, d, a, b, c } => {
            write!(out, "{}.{ty} {d}, {}, {}, {}", op.text(), src(*ty, *a), src(*ty, *b), src(*ty, *c))
        }
        Op::Cvt { to, from, round, sat, d, a } => {
            let round = round.map_or(String::new(), |r| format!(".{}", r.text()));
            write!(out, "cvt{round}{}.{to}.{from} {d}, {a}", if *sat { ".sat" } else { "" })
        }
        Op::CvtPack { to, d, hi, lo } => {
            let finite = if matches!(to, Ty::E4m3x2 | Ty::E5m2x2) { ".satfinite" } else { "" };
            write!(out, "cvt.rn{finite}.{to}.f32 {d}, {hi}, {lo}")
        }
        Op::Setp { cmp, ty, d, a, b } => {
            write!(out, "setp.{}.{ty} {d}, {}, {}", cmp.text(), src(*ty, *a), src(*ty, *b))
        }
        Op::Selp { ty, d, a, b, p } => write!(out, "selp.{ty} {d}, {}, {}, {p}", src(*ty, *a), src(*ty, *b)),
        Op::Lop3 { d, a, b, c, table } => {
            write!(out, "lop3.b32 {d}, {}, {}, {}, {table:#04x}", src(Ty::B32, *a), src(Ty::B32, *b), src(Ty::B32, *c))
        }
        Op::Bfe { ty, d, a, from, width } => write!(out, "bfe.{ty} {d}, {a}, {from}, {width}"),
        Op::Bfi { d, a, into, from, width } => write!(out, "bfi.b32 {d}, {a}, {into}, {from}, {width}"),
        Op::Pack { ty, d, parts } => write!(out, "mov.{ty} {d}, {}", vector(parts)),
        Op::Unpack { ty, d, a } => write!(out, "mov.{ty} {}, {a}", vector(d)),
        Op::Ld { space, hint, ty, d, at } => {
            write!(
                out,
                "ld.{}{}.{ty} {}, {}{}",
                space_name(*space),
                cached(*hint, d.len()),
                vector(d),
                addr(*at),
                policy(*hint)
            )
        }
        Op::St { space, hint, ty, at, a } => {
            write!(
                out,
                "st.{}{}.{ty} {}, {}{}",
                space_name(*space),
                cached(*hint, a.len()),
                addr(*at),
                vector(a),
                policy(*hint)
            )
        }
        Op::Red { space, op, ty, at, a } => {
            write!(out, "red.{}.{}.{ty} {}, {}", space_name(*space), op.text(), addr(*at), src(*ty, *a))
        }
        Op::Atom { space, op, ty, d, at, a, b } => {
            write!(out, "atom.{}.{}.{ty} {d}, {}, {}", space_name(*space), op.text(), addr(*at), src(*ty, *a))?;
            b.map_or(Ok(()), |b| write!(out, ", {}", src(*ty, b)))
        }
        Op::AtomRelease { op, ty, d, at, a } => {
            write!(out, "atom.release.gpu.global.{}.{ty} {d}, {}, {}", op.text(), addr(*at), src(*ty, *a))
        }
        Op::LdAcquire { ty, d, at } => write!(out, "ld.acquire.gpu.global.{ty} {d}, {}", addr(*at)),
        Op::StRelease { ty, at, a } => write!(out, "st.release.gpu.global.{ty} {}, {a}", addr(*at)),
        Op::Cluster(op) => out.write_str(&op.text()),
        Op::EvictFirst { d } => write!(out, "createpolicy.fractional.L2::evict_first.b64 {d}, 1.0"),
        Op::Shfl { mode, d, a, b, clamp } => {
            write!(out, "shfl.sync.{}.b32 {d}, {a}, {}, {clamp:#x}, -1", mode.text(), src(Ty::B32, *b))
        }
        Op::Mma { how, d, a, b, c } => {
            let lists = [d, a, b, c].map(|regs| braced(regs)).join(", ");
            write!(out, "mma.sync.aligned.{} {lists}", how.text())
        }
        Op::LdMatrix { trans, d, at } => {
            let trans = if *trans { ".trans" } else { "" };
            write!(out, "ldmatrix.sync.aligned.m8n8.x{}{trans}.shared.b16 {}, {}", d.len(), braced(d), addr(*at))
        }
        Op::CopyAsync { to, from, bytes } => {
            // Only whole vectors may pass the first cache by.
            let cache = if *bytes == 16 { "cg.shared.global.L2::128B" } else { "ca.shared.global" };
            write!(out, "cp.async.{cache} {}, {}, {bytes}", addr(*to), addr(*from))
        }
        Op::CopyCommit => write!(out, "cp.async.commit_group"),
        Op::CopyWait { keep, .. } => write!(out, "cp.async.wait_group {keep}"),
        Op::MovMatrix { d, a } => write!(out, "movmatrix.sync.aligned.m8n8.trans.b16 {d}, {a}"),
        Op::Bar => write!(out, "bar.sync 0"),
        Op::WarpSync => write!(out, "bar.warp.sync -1"),
        Op::Part => write!(out, "// each warp by itself"),
        Op::Join => write!(out, "// all warps"),
        Op::BarOr { d, a } => write!(out, "bar.red.or.pred {d}, 0, {a}"),
        Op::Bra { to, uniform } => write!(out, "bra{} $L{}", if *uniform { ".uni" } else { "" }, to.0),
        Op::Label(label) => write!(out, "$L{}:", label.0),
        Op::Ret => write!(out, "ret"),
    }
}

/// An operand: a register, a number, or the bits of a float.
fn src(ty: Ty, a: Src) -> String {
    match (a, ty) {
        (Src::Reg(r), _) => r.to_string(),
        (Src::Imm(bits), Ty::F32) => format!("0f{:08X}", bits as u32),
        (Src::Imm(bits), Ty::F64) => format!("0d{bits:016X}"),
        (Src::Imm(bits), Ty::S16 | Ty::S32 | Ty::S64) => (bits as i64).to_string(),
        (Src::Imm(bits), Ty::Pred) => u8::from(bits != 0).to_string(),
        (Src::Imm(bits), Ty::F16 | Ty::Bf16 | Ty::B16 | Ty::U16) => format!("{:#06x}", bits as u16),
        (Src::Imm(bits), _) => bits.to_string(),
    }
}
pub(super) fn vector(regs: &[super::Reg]) -> String {
    match regs {
        [one] => one.to_string(),
        _ => braced(regs),
    }
}
fn braced(regs: &[super::Reg]) -> String {
    format!("{{{}}}", regs.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
}
pub(super) fn addr(at: Addr) -> String {
    let base = match at.base {
        Base::Reg(r) => r.to_string(),
        Base::Params => PARAMS.to_string(),
    };
    match at.offset {
        0 => format!("[{base}]"),
        n => format!("[{base}+{n}]"),
    }
}
const fn space_name(space: Space) -> &'static str {
    match space {
        Space::Global => "global",
        Space::Shared => "shared",
        Space::Param => "param",
    }
}
fn cached(hint: CacheHint, vector: usize) -> String {
    let words = [(hint.read_only, ".nc"), (hint.no_l1, ".L1::no_allocate"), (hint.policy.is_some(), ".L2::cache_hint")];
    let mut out: String = words.iter().filter(|(on, _)| *on).map(|(_, word)| *word).collect();
    if vector > 1 {
        let _ = write!(out, ".v{vector}");
    }
    out
}
fn policy(hint: CacheHint) -> String {
    hint.policy.map_or(String::new(), |p| format!(", {p}"))
}
