//! From an element type to code for its Rust type, for the classes that have arithmetic. `with_elem!` names all types.

/// Runs `$body` with `$T` standing for the element's type; `None` for elements that have no arithmetic.
macro_rules! with_number {
    ($elem:expr, $T:ident => $body:expr) => {
        match $elem {
            $crate::elem::ElemType::F16 => { type $T = $crate::half::f16; $body }
            $crate::elem::ElemType::BF16 => { type $T = $crate::half::bf16; $body }
            $crate::elem::ElemType::F32 => { type $T = f32; $body }
            $crate::elem::ElemType::F64 => { type $T = f64; $body }
            $crate::elem::ElemType::I8 | $crate::elem::ElemType::I16 | $crate::elem::ElemType::I32 | $crate::elem::ElemType::I64 | $crate::elem::ElemType::U8 | $crate::elem::ElemType::U16
            | $crate::elem::ElemType::U32 | $crate::elem::ElemType::U64 => $crate::interp::dispatch::with_integer!($elem, $T => $body),
            $crate::elem::ElemType::I1 | $crate::elem::ElemType::F8E4M3 | $crate::elem::ElemType::F8E5M2 => None,
        }
    };
}
/// The same for integers.
macro_rules! with_integer {
    ($elem:expr, $T:ident => $body:expr) => {
        match $elem {
            $crate::elem::ElemType::I8 => {
                type $T = i8;
                $body
            }
            $crate::elem::ElemType::I16 => {
                type $T = i16;
                $body
            }
            $crate::elem::ElemType::I32 => {
                type $T = i32;
                $body
            }
            $crate::elem::ElemType::I64 => {
                type $T = i64;
                $body
            }
            $crate::elem::ElemType::U8 => {
                type $T = u8;
                $body
            }
            $crate::elem::ElemType::U16 => {
                type $T = u16;
                $body
            }
            $crate::elem::ElemType::U32 => {
                type $T = u32;
                $body
            }
            $crate::elem::ElemType::U64 => {
                type $T = u64;
                $body
            }
            $crate::elem::ElemType::I1
            | $crate::elem::ElemType::F16
            | $crate::elem::ElemType::BF16
            | $crate::elem::ElemType::F32
            | $crate::elem::ElemType::F64
            | $crate::elem::ElemType::F8E4M3
            | $crate::elem::ElemType::F8E5M2 => None,
        }
    };
}
/// The same for floats with arithmetic.
macro_rules! with_float {
    ($elem:expr, $T:ident => $body:expr) => {
        match $elem {
            $crate::elem::ElemType::F16 => {
                type $T = $crate::half::f16;
                $body
            }
            $crate::elem::ElemType::BF16 => {
                type $T = $crate::half::bf16;
                $body
            }
            $crate::elem::ElemType::F32 => {
                type $T = f32;
                $body
            }
            $crate::elem::ElemType::F64 => {
                type $T = f64;
                $body
            }
            $crate::elem::ElemType::I1
            | $crate::elem::ElemType::I8
            | $crate::elem::ElemType::I16
            | $crate::elem::ElemType::I32
            | $crate::elem::ElemType::I64
            | $crate::elem::ElemType::U8
            | $crate::elem::ElemType::U16
            | $crate::elem::ElemType::U32
            | $crate::elem::ElemType::U64
            | $crate::elem::ElemType::F8E4M3
            | $crate::elem::ElemType::F8E5M2 => None,
        }
    };
}
pub(super) use {with_float, with_integer, with_number};
