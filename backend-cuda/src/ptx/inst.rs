//! PTX instructions: one variant a form. Each says its text in `print.rs`; new forms are a variant and an arm there.

use super::body::Buffer;
use super::cluster::Cluster;
use super::ty::{Reg, Ty};

/// A register, or the bits of an immediate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Src {
    Reg(Reg),
    /// Of the instruction's type: integers as numbers, floats as their bits.
    Imm(u64),
}
impl From<Reg> for Src {
    fn from(r: Reg) -> Src {
        Src::Reg(r)
    }
}

/// Runs the instruction only where the predicate holds (or, negated, does not).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Guard {
    pub pred: Reg,
    pub negated: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label(pub u32);

/// `[base + offset]`, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Addr {
    pub base: Base,
    pub offset: i64,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    Reg(Reg),
    /// The kernel's parameter block.
    Params,
}
impl Addr {
    pub fn reg(base: Reg, offset: i64) -> Addr {
        Addr { base: Base::Reg(base), offset }
    }
    pub fn param(offset: u32) -> Addr {
        Addr { base: Base::Params, offset: i64::from(offset) }
    }
}

/// State space of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Space {
    Global,
    Shared,
    Param,
}

/// How a global access passes the caches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CacheHint {
    /// `.nc`: nobody writes the memory while the kernel runs.
    pub read_only: bool,
    /// `.L1::no_allocate`
    pub no_l1: bool,
    /// `.L2::cache_hint` with a policy from `CreatePolicy`.
    pub policy: Option<Reg>,
}

macro_rules! names {
    ($(#[$doc:meta])* $Name:ident { $($Var:ident = $text:literal),* $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $Name { $($Var),* }
        impl $Name {
            pub const fn text(self) -> &'static str { match self { $($Name::$Var => $text),* } }
        }
    };
}

names! {
    /// One operand, exact.
    Un { Neg = "neg", Abs = "abs", Not = "not", Clz = "clz" }
}
names! {
    /// One operand, by the special function unit or its correctly rounded long form.
    Math {
        Ex2 = "ex2.approx.ftz", Ex2Full = "ex2.approx", SqrtRn = "sqrt.rn",
        SqrtApprox = "sqrt.approx", RsqrtApprox = "rsqrt.approx", RcpRn = "rcp.rn", RcpFtz = "rcp.approx.ftz",
        Lg2 = "lg2.approx", Sin = "sin.approx", Cos = "cos.approx", TanhApprox = "tanh.approx",
    }
}
names! {
    /// Two operands. Float sums and products are `.rn`: without it (`Add`, `Sub`, `Mul`) ptxas may contract them.
    Bin {
        Add = "add", Sub = "sub", Mul = "mul", MulLo = "mul.lo", MulHi = "mul.hi", MulWide = "mul.wide", Div = "div", Rem = "rem",
        Min = "min", Max = "max", MinNan = "min.NaN", MaxNan = "max.NaN",
        AddRn = "add.rn", SubRn = "sub.rn", MulRn = "mul.rn", DivRn = "div.rn", DivFull = "div.full",
        And = "and", Or = "or", Xor = "xor", Shl = "shl", Shr = "shr",
    }
}
names! {
    /// Three operands.
    Tern { MadLo = "mad.lo", MadWide = "mad.wide", FmaRn = "fma.rn", Permute = "prmt" }
}
names! {
    /// How an inexact conversion rounds; `.rni` and the like: to an integral value.
    Round { Rn = "rn", Rz = "rz", Rni = "rni", Rzi = "rzi", Rmi = "rmi" }
}
names! {
    /// `Neu`: true also where an operand is NaN.
    Cmp { Eq = "eq", Ne = "ne", Lt = "lt", Le = "le", Gt = "gt", Ge = "ge", Neu = "neu", Nan = "nan" }
}
names! {
    Shuffle { Bfly = "bfly", Up = "up", Idx = "idx" }
}
names! {
    /// What an atomic does to memory.
    Atomic { Add = "add", AddNoFtz = "add.noftz", Max = "max", Or = "or", Cas = "cas" }
}
names! {
    /// A product of small matrices: shape, then the types of the result, of both operands, of the accumulator.
    Mma {
        F16 = "m16n8k16.row.col.f32.f16.f16.f32", Bf16 = "m16n8k16.row.col.f32.bf16.bf16.f32",
        Tf32 = "m16n8k8.row.col.f32.tf32.tf32.f32",
        F64 = "m16n8k16.row.col.f64.f64.f64.f64", F64Small = "m8n8k4.row.col.f64.f64.f64.f64",
        S8 = "m16n8k32.row.col.s32.s8.s8.s32", U8 = "m16n8k32.row.col.s32.u8.u8.s32",
    }
}
names! {
    /// Read-only registers of a thread.
    Special {
        TidX = "%tid.x", CtaidX = "%ctaid.x", NctaidX = "%nctaid.x", Clock = "%clock64", ClusterRank = "%cluster_ctarank",
    }
}

/// One instruction, perhaps guarded.
#[derive(Clone, Debug, PartialEq)]
pub struct Inst {
    pub guard: Option<Guard>,
    pub op: Op,
}

/// What an instruction does. `d` is the destination.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    Mov {
        ty: Ty,
        d: Reg,
        a: Src,
    },
    Special {
        d: Reg,
        from: Special,
    },
    /// Where a piece of the dynamic shared memory begins.
    BufferBase {
        d: Reg,
        buffer: Buffer,
    },
    Un {
        op: Un,
        ty: Ty,
        d: Reg,
        a: Src,
    },
    Math {
        op: Math,
        ty: Ty,
        d: Reg,
        a: Src,
    },
    Bin {
        op: Bin,
        ty: Ty,
        d: Reg,
        a: Src,
        b: Src,
    },
    Tern {
        op: Tern,
        ty: Ty,
        d: Reg,
        a: Src,
        b: Src,
        c: Src,
    },
    /// `to` from `from`; `sat`: to the ends of the destination.
    Cvt {
        to: Ty,
        from: Ty,
        round: Option<Round>,
        sat: bool,
        d: Reg,
        a: Reg,
    },
    /// Two f32 packed, the first into the upper half; as 8-bit floats what is too large becomes the largest.
    CvtPack {
        to: Ty,
        d: Reg,
        hi: Reg,
        lo: Reg,
    },
    Setp {
        cmp: Cmp,
        ty: Ty,
        d: Reg,
        a: Src,
        b: Src,
    },
    Selp {
        ty: Ty,
        d: Reg,
        a: Src,
        b: Src,
        p: Reg,
    },
    /// Any function of three bits, by its truth table.
    Lop3 {
        d: Reg,
        a: Src,
        b: Src,
        c: Src,
        table: u8,
    },
    /// `width` bits of `a` from bit `from` on, extended by their sign or by zeros.
    Bfe {
        ty: Ty,
        d: Reg,
        a: Reg,
        from: u32,
        width: u32,
    },
    /// `into` with its bits from `from` on replaced by the low ones of `a`.
    Bfi {
        d: Reg,
        a: Reg,
        into: Reg,
        from: u32,
        width: u32,
    },
    /// Halves joined into a register of twice the size, low half first.
    Pack {
        ty: Ty,
        d: Reg,
        parts: Vec<Reg>,
    },
    Unpack {
        ty: Ty,
        d: Vec<Reg>,
        a: Reg,
    },
    /// One, two or four destinations.
    Ld {
        space: Space,
        hint: CacheHint,
        ty: Ty,
        d: Vec<Reg>,
        at: Addr,
    },
    St {
        space: Space,
        hint: CacheHint,
        ty: Ty,
        at: Addr,
        a: Vec<Reg>,
    },
    /// No result.
    Red {
        space: Space,
        op: Atomic,
        ty: Ty,
        at: Addr,
        a: Src,
    },
    /// The old value; `b` only for `Cas` (compare `a`, then store `b`).
    Atom {
        space: Space,
        op: Atomic,
        ty: Ty,
        d: Reg,
        at: Addr,
        a: Src,
        b: Option<Src>,
    },
    /// An atomic that publishes to the device what this thread and, by a barrier before, its CTA has done.
    AtomRelease {
        op: Atomic,
        ty: Ty,
        d: Reg,
        at: Addr,
        a: Src,
    },
    /// A load from global memory that learns what whoever wrote the value had published with it.
    LdAcquire {
        ty: Ty,
        d: Reg,
        at: Addr,
    },
    /// A store to global memory that publishes to the device what this thread and, by a barrier before, its CTA has done.
    StRelease {
        ty: Ty,
        at: Addr,
        a: Reg,
    },
    /// Between the CTAs of a cluster.
    Cluster(Cluster),
    /// An L2 policy that drops lines first.
    EvictFirst {
        d: Reg,
    },
    /// All lanes of the warp take part.
    Shfl {
        mode: Shuffle,
        d: Reg,
        a: Reg,
        b: Src,
        clamp: u32,
    },
    /// `d = a . b + c`, held by all lanes of the warp together; `d` may be `c`.
    Mma {
        how: Mma,
        d: Vec<Reg>,
        a: Vec<Reg>,
        b: Vec<Reg>,
        c: Vec<Reg>,
    },
    /// One, two or four 8 x 8 matrices of 16 bits from shared memory; eight lanes each give the addresses of their rows.
    LdMatrix {
        trans: bool,
        d: Vec<Reg>,
        at: Addr,
    },
    /// A 8 x 8 matrix of 16 bits that the warp holds, two elements of a row in each lane, transposed.
    MovMatrix {
        d: Reg,
        a: Reg,
    },
    /// From global to shared memory, behind the thread's back: 4, 8 or 16 bytes.
    CopyAsync {
        to: Addr,
        from: Addr,
        bytes: u32,
    },
    /// What the thread has copied since the last one is a group.
    CopyCommit,
    /// Until all groups but the youngest `keep` have landed, as far as this thread copied them: up to the one called `upto`.
    CopyWait {
        keep: u32,
        upto: u32,
    },
    /// All threads of the CTA, ordering their memory.
    Bar,
    /// The same; all of them get whether `a` holds in one of them.
    BarOr {
        d: Reg,
        a: Reg,
    },
    /// All lanes of the warp, ordering their memory.
    WarpSync,
    /// From here on each warp goes on by itself, and the buffers that it touches are its own.
    Part,
    /// Up to here.
    Join,
    /// `uniform`: all lanes of a warp go the same way.
    Bra {
        to: Label,
        uniform: bool,
    },
    Label(Label),
    Ret,
}
