//! Decoded instructions: registers are numbers, types and modifiers are values.

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
            Ty::B32 | Ty::U32 | Ty::S32 | Ty::F32 => 4,
            Ty::B64 | Ty::U64 | Ty::S64 | Ty::F64 => 8,
        }
    }
    pub(crate) const fn signed(self) -> bool {
        matches!(self, Ty::S8 | Ty::S16 | Ty::S32 | Ty::S64)
    }
    pub(crate) const fn float(self) -> bool {
        matches!(self, Ty::F16 | Ty::Bf16 | Ty::F32 | Ty::F64)
    }
    /// The low bits that belong to the type.
    pub(crate) const fn mask(self) -> u64 {
        match self.bytes() {
            8 => u64::MAX,
            n => (1 << (n * 8)) - 1,
        }
    }
}

/// A register's number in the file of its warp.
pub(crate) type Reg = u32;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Src {
    Reg(Reg),
    Imm(u64),
    Special(Special),
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    TidX,
    NtidX,
    CtaidX,
    NctaidX,
    LaneId,
    WarpId,
    Clock,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Global,
    Shared,
    Param,
}
impl Space {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Param => "parameter",
        }
    }
}
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Addr {
    /// `None`: the offset is the address.
    pub base: Option<Reg>,
    pub offset: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bin {
    Add,
    Sub,
    MulLo,
    MulHi,
    MulWide,
    Div,
    Rem,
    Min,
    Max,
    MinNan,
    MaxNan,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    CopySign,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Un {
    Neg,
    Abs,
    Not,
    Popc,
    Clz,
    Brev,
    Ex2,
    Lg2,
    Sqrt,
    Rsqrt,
    Rcp,
    Sin,
    Cos,
    Tanh,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tern {
    MadLo,
    MadWide,
    Fma,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// The same, true also where an operand is NaN.
    Equ,
    Neu,
    Ltu,
    Leu,
    Gtu,
    Geu,
    Num,
    Nan,
}
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    Rn,
    Rz,
    Rm,
    Rp,
    Rni,
    Rzi,
    Rmi,
    Rpi,
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Atomic {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exch,
    Cas,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Op {
    Mov {
        ty: Ty,
        d: Reg,
        a: Src,
    },
    Un {
        op: Un,
        ty: Ty,
        ftz: bool,
        d: Reg,
        a: Src,
    },
    Bin {
        op: Bin,
        ty: Ty,
        ftz: bool,
        d: Reg,
        a: Src,
        b: Src,
    },
    Tern {
        op: Tern,
        ty: Ty,
        ftz: bool,
        d: Reg,
        a: Src,
        b: Src,
        c: Src,
    },
    Cvt {
        to: Ty,
        from: Ty,
        round: Option<Round>,
        sat: bool,
        d: Reg,
        a: Src,
    },
    CvtPack {
        to: Ty,
        d: Reg,
        hi: Src,
        lo: Src,
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
    Lop3 {
        d: Reg,
        a: Src,
        b: Src,
        c: Src,
        table: u8,
    },
    Prmt {
        d: Reg,
        a: Src,
        b: Src,
        sel: Src,
    },
    Bfe {
        ty: Ty,
        d: Reg,
        a: Src,
        from: Src,
        width: Src,
    },
    Bfi {
        d: Reg,
        a: Src,
        into: Src,
        from: Src,
        width: Src,
    },
    Pack {
        ty: Ty,
        d: Reg,
        parts: Vec<Reg>,
    },
    Unpack {
        ty: Ty,
        d: Vec<Reg>,
        a: Src,
    },
    Ld {
        space: Space,
        ty: Ty,
        d: Vec<Reg>,
        at: Addr,
    },
    St {
        space: Space,
        ty: Ty,
        a: Vec<Src>,
        at: Addr,
    },
    Atom {
        space: Space,
        op: Atomic,
        ty: Ty,
        d: Option<Reg>,
        at: Addr,
        a: Src,
        b: Option<Src>,
    },
    Shfl {
        mode: Shuffle,
        d: Reg,
        p: Option<Reg>,
        a: Src,
        b: Src,
        c: Src,
    },
    Vote {
        mode: Vote,
        d: Reg,
        a: Src,
        negated: bool,
    },
    Bar,
    BarWarp,
    Fence,
    Bra {
        to: u32,
    },
    Ret,
    Trap,
    /// Orders or hints that change no value here.
    Nothing,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Inst {
    pub guard: Option<(Reg, bool)>,
    pub op: Op,
    pub line: u32,
}
