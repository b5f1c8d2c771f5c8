//! The op table. One row says an op's mnemonic, fields, result rule, effect and meaning; the structs, the `Op` enum,
//! the operand and region walks, the type check, the printer and the parser come from the row.
//! `field.rs`: what a field can be and how it reads as text. `rules.rs`: result types. Not here: what an op computes
//! (`interp`), costs (backend-sim), how it lowers (backend-cuda).

pub mod field;
pub mod rules;

use super::fault::Fault;
use super::module::{Module, RegionId, ValueId};
use super::text::{OpParser, OpPrinter, ParseFault};
use super::types::Type;
use crate::elem::Class;
pub use field::{
    Access, At, AxisNo, Bounds, Cache, Carry, Dir, Field, Fill, Port, Precision, Pred, Range, ResultType, Scope, Text,
};

/// What an op does besides making its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Nothing: may be removed when unused, folded when its operands are constants.
    Pure,
    /// Reads a view. Removed when its result is unused.
    Read,
    /// Writes a view.
    Write,
    /// Reads and writes a view in one step.
    Atomic,
    /// Puts into or takes from a queue.
    Queue,
    /// Orders memory between PEs.
    Sync,
    /// Seen from outside: `keep`, `print`, `assert`.
    Observe,
    /// Whatever the ops in its regions do.
    Control,
}

/// What the table says of an op, for documentation and for tests that walk all ops.
#[derive(Clone, Copy, Debug)]
pub struct OpRow {
    pub family: &'static str,
    pub name: &'static str,
    pub mnemonic: &'static str,
    /// The elements that its rule asks operands to have; `None` where the rule says more.
    pub class: Option<Class>,
    pub effect: Effect,
    pub doc: &'static str,
    /// Makes the op, where it takes one operand and gives a value of the same type.
    pub unary: Option<fn(ValueId) -> Op>,
}

const fn first(classes: &[Class]) -> Option<Class> {
    match classes {
        [class, ..] => Some(*class),
        [] => None,
    }
}

macro_rules! unary {
    (unary $Name:ident) => {
        Some(|x| Op::$Name($Name { x }))
    };
    (function $Name:ident) => {
        unary!(unary $Name)
    };
    ($rule:ident $Name:ident) => {
        None
    };
}

macro_rules! ops {
    ($($family:ident { $(
        $Name:ident = $mnemonic:ident ( $($field:ident : $ty:ty),* ) -> $rule:ident ( $($extra:expr),* ), $effect:ident, $doc:literal;
    )* })*) => {
        $($(
            #[doc = $doc]
            #[derive(Clone, Debug, PartialEq)]
            pub struct $Name { $(pub $field: $ty),* }
            impl $Name {
                fn parse(p: &mut OpParser<'_, '_>) -> Result<$Name, ParseFault> {
                    let _ = &p;
                    Ok($Name { $($field: Field::parse(p)?),* })
                }
            }
            impl From<$Name> for Op { fn from(op: $Name) -> Op { Op::$Name(op) } }
        )*)*

        /// Patterns for the ops of a family, so that a match can name a family and still every op.
        pub mod family {
            $(
                #[doc(hidden)]
                #[macro_export]
                macro_rules! $family { () => { $($crate::ir::Op::$Name(_))|* } }
                pub use $family;
            )*
        }

        /// One operation of the tile IR.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Op { $($( #[doc = $doc] $Name($Name), )*)* }

        impl Op {
            /// Every row of the table, in its order.
            pub const ROWS: &'static [OpRow] = &[$($(
                OpRow { family: stringify!($family), name: stringify!($Name), mnemonic: stringify!($mnemonic), class: first(&[$($extra),*]), effect: Effect::$effect, doc: $doc, unary: unary!($rule $Name) },
            )*)*];

            pub fn mnemonic(&self) -> &'static str { match self { $($( Op::$Name(_) => stringify!($mnemonic), )*)* } }
            pub fn effect(&self) -> Effect { match self { $($( Op::$Name(_) => Effect::$effect, )*)* } }

            /// The operands in the order of the text, without what the regions use.
            pub fn each_operand(&self, f: &mut dyn FnMut(ValueId)) {
                match self { $($( Op::$Name(op) => { let _ = (&op, &f); $( op.$field.each(f); )* } )*)* }
            }
            pub fn each_operand_mut(&mut self, f: &mut dyn FnMut(&mut ValueId)) {
                match self { $($( Op::$Name(op) => { let _ = (&op, &f); $( op.$field.each_mut(f); )* } )*)* }
            }
            pub fn each_region(&self, f: &mut dyn FnMut(RegionId)) {
                match self { $($( Op::$Name(op) => { let _ = (&op, &f); $( op.$field.each_region(f); )* } )*)* }
            }
            pub fn each_region_mut(&mut self, f: &mut dyn FnMut(&mut RegionId)) {
                match self { $($( Op::$Name(op) => { let _ = (&op, &f); $( op.$field.each_region_mut(f); )* } )*)* }
            }
            /// The types of the results, from the operands, attributes and regions; or what is wrong with these.
            pub fn result_types(&self, m: &Module) -> Result<Vec<Type>, Fault> {
                match self { $($( Op::$Name(op) => { let _ = op; rules::$rule(m, $(&op.$field,)* $($extra),*) } )*)* }
            }
            /// Tells an op whose result type is an attribute (`load`, `cast`, …) what it is; others ignore it.
            pub fn set_result_type(&mut self, ty: Type) {
                match self { $($( Op::$Name(op) => { let _ = (&op, ty); $( op.$field.set_type(ty); )* } )*)* }
            }
            /// Writes the fields of an op without regions, in the order of the row.
            pub(crate) fn print_fields(&self, p: &mut OpPrinter<'_>) {
                match self { $($( Op::$Name(op) => { let _ = (&op, &p); $( op.$field.print(p); )* } )*)* }
            }
            /// Reads the fields of the op with this mnemonic; `None` if no op has it.
            pub(crate) fn parse_fields(mnemonic: &str, p: &mut OpParser<'_, '_>) -> Option<Result<Op, ParseFault>> {
                match mnemonic {
                    $($( stringify!($mnemonic) => Some($Name::parse(p).map(Op::$Name)), )*)*
                    _ => None,
                }
            }
        }
    };
}

/// The rows, as the arguments of a macro: here of `ops`, in the language of the one that makes its functions.
macro_rules! table {
    ($of:ident) => {
        $of! {
            arithmetic {
                Add = add (a: ValueId, b: ValueId) -> alike(Class::Num), Pure, "`a + b`; integers wrap, floats round to their type.";
                Sub = sub (a: ValueId, b: ValueId) -> alike(Class::Num), Pure, "`a - b`; integers wrap.";
                Mul = mul (a: ValueId, b: ValueId) -> alike(Class::Num), Pure, "`a * b`; integers wrap; never contracted with an add.";
                Div = div (a: ValueId, b: ValueId) -> alike(Class::Num), Pure, "`a / b`; integers truncate, by zero 0 and an error record, MIN / -1 is MIN.";
                Rem = rem (a: ValueId, b: ValueId) -> alike(Class::Int), Pure, "`a - (a / b) * b`; by zero 0 and an error record.";
                MulHi = mul_hi (a: ValueId, b: ValueId) -> alike(Class::Int), Pure, "The upper half of the double-width product.";
                Fma = fma (a: ValueId, b: ValueId, c: ValueId) -> alike3(Class::Float), Pure, "`a * b + c`, rounded once.";
                Maximum = maximum (a: ValueId, b: ValueId) -> alike(Class::Num), Pure, "The larger; a NaN loses against a number, -0 against +0.";
                Minimum = minimum (a: ValueId, b: ValueId) -> alike(Class::Num), Pure, "The smaller; a NaN loses against a number, +0 against -0.";
                MaxNan = max_nan (a: ValueId, b: ValueId) -> alike(Class::Float), Pure, "The larger; NaN if either is NaN.";
                MinNan = min_nan (a: ValueId, b: ValueId) -> alike(Class::Float), Pure, "The smaller; NaN if either is NaN.";
                Neg = neg (x: ValueId) -> unary(Class::Num), Pure, "`-x`; integers wrap, floats change the sign bit.";
                Abs = abs (x: ValueId) -> function(Class::Num), Pure, "The absolute value; MIN stays MIN, floats clear the sign bit.";
            }
            bits {
                And = and (a: ValueId, b: ValueId) -> alike(Class::Bits), Pure, "Bitwise and.";
                Or = or (a: ValueId, b: ValueId) -> alike(Class::Bits), Pure, "Bitwise or.";
                Xor = xor (a: ValueId, b: ValueId) -> alike(Class::Bits), Pure, "Bitwise exclusive or.";
                Not = not (x: ValueId) -> unary(Class::Bits), Pure, "Bitwise complement.";
                Shl = shl (a: ValueId, n: ValueId) -> alike(Class::Int), Pure, "`a << n`; a count outside 0..width gives 0.";
                Shr = shr (a: ValueId, n: ValueId) -> alike(Class::Int), Pure, "`a >> n`, arithmetic for signed elements; a count outside 0..width gives 0, or the sign.";
            }
            math {
                Exp = exp (x: ValueId) -> function(Class::Float), Pure, "e to the power of x.";
                Exp2 = exp2 (x: ValueId) -> function(Class::Float), Pure, "2 to the power of x.";
                Log = log (x: ValueId) -> function(Class::Float), Pure, "Natural logarithm; NaN below zero, -inf at zero.";
                Log2 = log2 (x: ValueId) -> function(Class::Float), Pure, "Logarithm to base 2.";
                Sqrt = sqrt (x: ValueId) -> function(Class::Float), Pure, "Square root, correctly rounded; NaN below zero.";
                Rsqrt = rsqrt (x: ValueId) -> function(Class::Float), Pure, "`1 / sqrt(x)`; NaN below zero, inf at zero.";
                Tanh = tanh (x: ValueId) -> function(Class::Float), Pure, "Hyperbolic tangent.";
                Erf = erf (x: ValueId) -> function(Class::Float), Pure, "The error function.";
                Sin = sin (x: ValueId) -> function(Class::Float), Pure, "Sine of x in radians.";
                Cos = cos (x: ValueId) -> function(Class::Float), Pure, "Cosine of x in radians.";
                Floor = floor (x: ValueId) -> function(Class::Float), Pure, "The largest integer not above x.";
                Trunc = trunc (x: ValueId) -> function(Class::Float), Pure, "The integer part: the nearest integer towards zero.";
                RoundEven = round_even (x: ValueId) -> function(Class::Float), Pure, "The nearest integer; of two as near, the even one.";
            }
            choice {
                Cmp = cmp (pred: Pred, a: ValueId, b: ValueId) -> compare(), Pure, "`i1` per element; every comparison with NaN but `ne` is false.";
                Select = select (mask: ValueId, a: ValueId, b: ValueId) -> choose(), Pure, "`a` where the mask holds, else `b`.";
            }
            conversion {
                Cast = cast (x: ValueId, to: ResultType) -> cast(), Pure, "By value: float to int truncates and saturates, NaN gives 0; int to int wraps; to float rounds to nearest even; fp8 saturates.";
                Bitcast = bitcast (x: ValueId, to: ResultType) -> bitcast(), Pure, "The same bits as another element type of the same size.";
            }
            shape {
                Splat = splat (x: ValueId, to: ResultType) -> splat(), Pure, "A tile whose elements all equal a scalar.";
                Broadcast = broadcast (x: ValueId, axis: AxisNo, to: ResultType) -> broadcast(), Pure, "The tile repeated along a new axis.";
                Iota = iota (axis: AxisNo, to: ResultType) -> iota(), Pure, "The index along one axis, in the whole shape.";
                Reshape = reshape (x: ValueId, to: ResultType) -> reshape(), Pure, "The same elements in row-major order under another shape.";
                Trans = trans (x: ValueId) -> trans(), Pure, "The transposed matrix.";
                Rows = rows (x: ValueId, first: At, to: ResultType) -> rows(), Pure, "Consecutive places along axis 0, from a fixed index on.";
            }
            reduction {
                ReduceMax = reduce_max (x: ValueId, axis: AxisNo) -> reduce(Class::Num), Pure, "The largest along an axis; NaN only if all are NaN.";
                ReduceMin = reduce_min (x: ValueId, axis: AxisNo) -> reduce(Class::Num), Pure, "The smallest along an axis; NaN only if all are NaN.";
                ReduceSum = reduce_sum (x: ValueId, axis: AxisNo) -> reduce(Class::Num), Pure, "The sum along an axis, accumulated in f32 (f64 for f64, wrapping for integers), rounded once; order unspecified.";
                ReduceWith = reduce_with (x: ValueId, axis: AxisNo, combine: RegionId) -> reduce_with(), Pure, "The user's associative combine along an axis; may re-associate, never re-orders.";
                ScanSum = scan_sum (x: ValueId, axis: AxisNo) -> scan(Class::Num), Pure, "Inclusive prefix sums along an axis.";
                ScanWith = scan_with (x: ValueId, axis: AxisNo, combine: RegionId) -> scan_with(), Pure, "Inclusive prefix values of the user's associative combine along an axis.";
            }
            product {
                Dot = dot (a: ValueId, b: ValueId, c: Option<ValueId>, precision: Precision, to: ResultType) -> dot(), Pure, "`[M, K] . [K, N] (+ c)`: products summed in f32 (f64 for f64, i32 for 8-bit integers), order unspecified, rounded once to the result's element.";
            }
            memory {
                Load = load (at: Access, fill: Fill, to: ResultType) -> load(), Read, "A tile along the trailing axes of a view, or one element; outside the view an error, or the fill.";
                Store = store (bounds: Bounds, at: Access, value: ValueId) -> store(), Write, "Writes a tile or one element; outside the view an error, or dropped with `inside`.";
                AtomicAdd = atomic_add (bounds: Bounds, at: Access, value: ValueId) -> atomic(), Atomic, "Adds to memory element by element, each indivisible; no result.";
                AtomicMax = atomic_max (bounds: Bounds, at: Access, value: ValueId) -> atomic(), Atomic, "Takes the maximum with memory element by element, each indivisible; no result.";
                Len = len (view: ValueId, axis: AxisNo) -> len(), Pure, "The length of a view along an axis; a longer one than i32 holds is a launch error.";
            }
            place {
                PeId = pe_id () -> index(), Pure, "The PE inside its cube, `0..num_pes`.";
                CubeId = cube_id () -> index(), Pure, "The cube in the launch, `0..num_cubes`.";
                NumPes = num_pes () -> index(), Pure, "PEs per cube in this launch.";
                NumCubes = num_cubes () -> index(), Pure, "Cubes in this launch.";
                ProgramId = program_id () -> index(), Pure, "`cube_id * num_pes + pe_id`.";
                NumPrograms = num_programs () -> index(), Pure, "Programs in this launch.";
            }
            messages {
                Send = send (port: Port, value: ValueId) -> send(), Queue, "Puts one message into a queue; waits while the queue is full.";
                Recv = recv (port: Port, to: ResultType) -> recv(), Queue, "Takes one message from a queue; waits while it is empty.";
                Barrier = barrier (scope: Scope) -> none(), Sync, "Waits for all PEs of the cube or the launch and orders memory between them.";
            }
            observation {
                Keep = keep (x: ValueId) -> keep(), Observe, "The value is computed and observed; nothing is written.";
                Print = print (format: Text, values: Vec<ValueId>) -> print(), Observe, "Writes a line: each `{}` stands for a value.";
                Assert = assert (cond: ValueId, text: Text) -> assert(), Observe, "An error record where the condition is false.";
            }
            control {
                If = if (cond: ValueId, then: RegionId, other: RegionId) -> branch(), Control, "Runs one of two regions.";
                For = for (range: Range, carry: Carry, body: RegionId) -> counted(), Control, "Runs the body for each index; carried values pass from one turn to the next.";
                While = while (carry: Carry, cond: RegionId, body: RegionId) -> repeat(), Control, "Runs the body while the first region yields true; the body sees the first region's values.";
                MapReduce = map_reduce (range: Range, body: RegionId, merge: RegionId) -> map_reduce(), Control, "Runs the body for each index and merges what the turns make, here in increasing order: of the author's leave, a backend may group and order as it likes. Without a turn an error.";
                Composite = composite (body: RegionId) -> composite(), Control, "A straight line of tile ops around exactly one dot, issued as one command; its results are futures.";
            }
        }
    };
}
pub(crate) use table;
table!(ops);

impl Op {
    /// The view this op reads or writes.
    pub fn access(&self) -> Option<&Access> {
        match self {
            Op::Load(o) => Some(&o.at),
            Op::Store(o) => Some(&o.at),
            Op::AtomicAdd(o) => Some(&o.at),
            Op::AtomicMax(o) => Some(&o.at),
            _ => None,
        }
    }
    /// Whether the result at a place depends on the operands at that place alone.
    pub fn is_elementwise(&self) -> bool {
        match self {
            family::arithmetic!() | family::bits!() | family::math!() | family::choice!() | family::conversion!() => {
                true
            }
            family::shape!() | family::reduction!() | family::product!() | family::memory!() | family::place!() => {
                false
            }
            family::messages!() | family::observation!() | family::control!() => false,
        }
    }
    /// Whether the op holds regions.
    pub fn has_regions(&self) -> bool {
        let mut any = false;
        self.each_region(&mut |_| any = true);
        any
    }
    pub fn operands(&self) -> Vec<ValueId> {
        let mut out = Vec::new();
        self.each_operand(&mut |v| out.push(v));
        out
    }
    pub fn regions(&self) -> Vec<RegionId> {
        let mut out = Vec::new();
        self.each_region(&mut |r| out.push(r));
        out
    }
}
