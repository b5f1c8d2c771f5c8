//! Decoded instructions: registers are numbers, what an instruction computes is a function over the lanes of a warp.

use crate::alu::convert::Convert;
use crate::alu::product::Product;
use crate::alu::{F1, F2, F3, Test};
use crate::between::Between;

/// Lanes of a warp.
pub(crate) const LANES: usize = 32;
/// A register of a warp: a value a lane. What lies above a narrow register's bits is zero.
pub(crate) type Lanes = [u64; LANES];

/// The type an instruction reads its operands as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ty {
    Pred,
    B8,
    U8,
    S8,
    B16,
    U16,
    S16,
    F16,
    Bf16,
    B32,
    U32,
    S32,
    F32,
    F16x2,
    Bf16x2,
    B64,
    U64,
    S64,
    F64,
}

impl Ty {
    pub(crate) fn from_name(name: &str) -> Option<Ty> {
        Some(match name {
            "pred" => Ty::Pred,
            "b8" => Ty::B8,
            "u8" => Ty::U8,
            "s8" => Ty::S8,
            "b16" => Ty::B16,
            "u16" => Ty::U16,
            "s16" => Ty::S16,
            "f16" => Ty::F16,
            "bf16" => Ty::Bf16,
            "b32" => Ty::B32,
            "u32" => Ty::U32,
            "s32" => Ty::S32,
            "f32" => Ty::F32,
            "f16x2" => Ty::F16x2,
            "bf16x2" => Ty::Bf16x2,
            "b64" => Ty::B64,
            "u64" => Ty::U64,
            "s64" => Ty::S64,
            "f64" => Ty::F64,
            _ => return None,
        })
    }
    pub(crate) const fn bytes(self) -> u32 {
        match self {
            Ty::Pred | Ty::B8 | Ty::U8 | Ty::S8 => 1,
            Ty::B16 | Ty::U16 | Ty::S16 | Ty::F16 | Ty::Bf16 => 2,
            Ty::B32 | Ty::U32 | Ty::S32 | Ty::F32 | Ty::F16x2 | Ty::Bf16x2 => 4,
            Ty::B64 | Ty::U64 | Ty::S64 | Ty::F64 => 8,
        }
    }
    pub(crate) const fn bits(self) -> u32 {
        self.bytes() * 8
    }
    pub(crate) const fn signed(self) -> bool {
        matches!(self, Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64)
    }
    pub(crate) const fn float(self) -> bool {
        matches!(self, Ty::F16 | Ty::Bf16 | Ty::F32 | Ty::F64 | Ty::F16x2 | Ty::Bf16x2)
    }
    /// The low bits that belong to the type.
    pub(crate) const fn mask(self) -> u64 {
        match self.bits() {
            n if n >= 64 => u64::MAX,
            n => (1 << n) - 1,
        }
    }
}

/// A register's number in the file of its warp.
pub(crate) type Reg = u32;
/// A predicate's number in the file of its warp.
pub(crate) type Pred = u32;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Src {
    Reg(Reg),
    /// By number of the kernel's constants.
    Const(u32),
    Special(Special),
}
/// A truth value, perhaps negated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Truth {
    Pred { pred: Pred, negated: bool },
    Always(bool),
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    TidX,
    NtidX,
    CtaidX,
    NctaidX,
    LaneId,
    WarpId,
    WarpCount,
    /// The second and third axes: everything is launched on the first.
    Zero,
    One,
    Clock,
    MaskEq,
    MaskLt,
    MaskLe,
    MaskGt,
    MaskGe,
    DynamicShared,
    /// Of the block in its cluster.
    ClusterRank,
    ClusterSize,
    ClusterId,
    ClusterCount,
}
impl Special {
    /// In order of their numbers.
    pub(crate) const ALL: [Special; 20] = [
        Special::TidX,
        Special::NtidX,
        Special::CtaidX,
        Special::NctaidX,
        Special::LaneId,
        Special::WarpId,
        Special::WarpCount,
        Special::Zero,
        Special::One,
        Special::Clock,
        Special::MaskEq,
        Special::MaskLt,
        Special::MaskLe,
        Special::MaskGt,
        Special::MaskGe,
        Special::DynamicShared,
        Special::ClusterRank,
        Special::ClusterSize,
        Special::ClusterId,
        Special::ClusterCount,
    ];
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    /// The block's own.
    Shared,
    /// That of any block of the cluster, by the address.
    Cluster,
    Param,
    Const,
    /// By its address.
    Generic,
}
impl Space {
    /// Whether a variable that lies here can be named by an access of that memory.
    pub(crate) fn holds(self, of: Space) -> bool {
        self == of || self == Space::Shared && of == Space::Cluster
    }
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Shared | Space::Cluster => "shared",
            Space::Param => "parameter",
            Space::Const => "constant",
            Space::Generic => "generic",
        }
    }
}
/// What a memory operation orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    /// `relaxed`, `volatile` and all that is stronger: may race with others of its kind.
    pub strong: bool,
    pub acquire: bool,
    pub release: bool,
    /// `.nc`: nobody writes the place while the kernel runs.
    pub read_only: bool,
}
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Addr {
    /// `None`: the offset is the address.
    pub base: Option<Reg>,
    pub offset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    Bfly,
    Up,
    Down,
    Idx,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    All,
    Any,
    Uni,
    Ballot,
}
/// What memory holds after an atomic, from what it held and the operands.
pub(crate) type Update = fn(u64, u64, u64) -> u64;

#[derive(Clone, Debug)]
pub(crate) enum Op {
    Mov {
        d: Reg,
        a: Src,
    },
    Lanes1 {
        f: F1,
        d: Reg,
        a: Src,
    },
    Lanes2 {
        f: F2,
        d: Reg,
        a: Src,
        b: Src,
    },
    Lanes3 {
        f: F3,
        d: Reg,
        a: Src,
        b: Src,
        c: Src,
    },
    /// A result as wide as its register: `keep` says which bits.
    Convert {
        how: Convert,
        keep: u64,
        d: Reg,
        a: Src,
    },
    Test {
        f: Test,
        d: Pred,
        a: Src,
        b: Src,
    },
    Select {
        d: Reg,
        a: Src,
        b: Src,
        p: Truth,
    },
    Logic {
        op: Logic,
        d: Pred,
        a: Truth,
        b: Truth,
    },
    Lop3 {
        d: Reg,
        a: Src,
        b: Src,
        c: Src,
        table: u8,
    },
    Bfi {
        bits: u32,
        d: Reg,
        a: Src,
        into: Src,
        from: Src,
        width: Src,
    },
    /// Parts of so many bits each, the lowest first.
    Pack {
        bits: u32,
        d: Reg,
        parts: Vec<Src>,
    },
    Unpack {
        bits: u32,
        d: Vec<Option<Reg>>,
        a: Src,
    },
    Ld {
        space: Space,
        order: Order,
        bytes: u32,
        /// Bits of the register that a signed value fills.
        sign: Option<u32>,
        d: Vec<Option<Reg>>,
        at: Addr,
    },
    St {
        space: Space,
        order: Order,
        bytes: u32,
        a: Vec<Src>,
        at: Addr,
    },
    Atom {
        space: Space,
        order: Order,
        update: Update,
        bytes: u32,
        d: Vec<Reg>,
        at: Addr,
        a: Vec<Src>,
        b: Option<Src>,
    },
    /// `cp.async`: `size` bytes of the source, then zeros.
    Copy {
        to: Addr,
        from: Addr,
        bytes: u32,
        size: Option<Src>,
    },
    CopyCommit,
    /// Up to so many of the youngest groups may stay in flight; `None`: not even uncommitted copies.
    CopyWait {
        keep: Option<u32>,
    },
    Shfl {
        mode: Shuffle,
        d: Reg,
        p: Option<Pred>,
        a: Src,
        b: Src,
        c: Src,
        mask: Src,
    },
    VoteTruth {
        mode: Vote,
        d: Pred,
        a: Truth,
        mask: Src,
    },
    Ballot {
        d: Reg,
        a: Truth,
        mask: Src,
    },
    /// The lanes that hold the same value; `all`: of all lanes or none.
    Match {
        all: bool,
        d: Reg,
        p: Option<Pred>,
        a: Src,
        mask: Src,
    },
    Reduce {
        f: Update,
        d: Reg,
        a: Src,
        mask: Src,
    },
    /// One lane of the mask, and whether it is this one.
    Elect {
        d: Option<Reg>,
        p: Pred,
        mask: Src,
    },
    ActiveMask {
        d: Reg,
    },
    /// `d = a . b + c` of matrices that the lanes of a warp hold together.
    Mma {
        how: Product,
        d: Vec<Reg>,
        a: Vec<Src>,
        b: Vec<Src>,
        c: Vec<Src>,
    },
    /// 8 x 8 matrices of 16 bits, a row of 16 bytes at the address of a lane each: the first eight lanes name the first.
    LoadMatrix {
        transposed: bool,
        d: Vec<Reg>,
        at: Addr,
    },
    StoreMatrix {
        transposed: bool,
        a: Vec<Src>,
        at: Addr,
    },
    /// A matrix of that kind, transposed between the lanes that hold it.
    TransposeMatrix {
        d: Reg,
        a: Src,
    },
    Bar {
        id: Src,
        count: Option<Src>,
        waits: bool,
        /// What all threads get of what each brings.
        vote: Option<BarVote>,
    },
    BarWarp {
        mask: Src,
    },
    /// For threads of other blocks too.
    Fence {
        wide: bool,
    },
    Between(Between),
    Bra {
        to: u32,
    },
    Ret,
    Trap,
    /// Orders or hints that change no value here.
    Nothing,
}

/// A vote at a barrier: whether `a` holds in some thread (`any`), or in all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BarVote {
    pub any: bool,
    pub d: Pred,
    pub a: Truth,
}

#[derive(Clone, Debug)]
pub(crate) struct Inst {
    pub guard: Option<Truth>,
    pub op: Op,
    pub line: u32,
}
