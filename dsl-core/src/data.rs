//! Element buffers whose type is known at run time: what tensors hold and the interpreter's tiles are made of.

use crate::elem::{ElemType, F8E4M3, F8E5M2};
use crate::ir::literal::{Element, Literal};
use half::{bf16, f16};

macro_rules! data {
    (copy bool) => {
        fn copy_bytes(to: &mut [bool], from: &[u8]) {
            assert_eq!(to.len(), from.len(), "lengths differ");
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from != 0);
        }
    };
    (copy $t:ty) => {
        fn copy_bytes(to: &mut [$t], from: &[u8]) {
            bytemuck::cast_slice_mut::<$t, u8>(to).copy_from_slice(from);
        }
    };
    ($($Var:ident $t:tt;)*) => {
        /// Elements of one type, row-major.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Data { $($Var(Vec<$t>),)* }

        impl Data {
            pub fn elem(&self) -> ElemType { match self { $(Data::$Var(_) => ElemType::$Var,)* } }
            pub fn len(&self) -> usize { match self { $(Data::$Var(v) => v.len(),)* } }
            pub fn zeros(elem: ElemType, len: usize) -> Data {
                match elem { $(ElemType::$Var => Data::$Var(vec![<$t as Element>::from_bits(0); len]),)* }
            }
            /// `len` copies of one value.
            pub fn splat(value: Literal, len: usize) -> Data {
                match value.elem { $(ElemType::$Var => Data::$Var(vec![<$t as Element>::from_bits(value.bits); len]),)* }
            }
            /// The element at `index`. Panics if there is none, as slices do.
            pub fn get(&self, index: usize) -> Literal { match self { $(Data::$Var(v) => v[index].into(),)* } }
            /// Replaces the element at `index`. Panics if there is none, or if the element types differ.
            pub fn set(&mut self, index: usize, value: Literal) {
                assert_eq!(self.elem(), value.elem, "element types differ");
                match self { $(Data::$Var(v) => v[index] = <$t as Element>::from_bits(value.bits),)* }
            }
            /// The elements as memory holds them, little-endian.
            pub fn bytes(&self) -> &[u8] { match self { $(Data::$Var(v) => bytemuck::cast_slice(v),)* } }
            /// Replaces all elements by those that these bytes hold; a byte of a truth value is true unless it is 0.
            /// Panics if the lengths differ, as slices do.
            pub fn copy_from_bytes(&mut self, bytes: &[u8]) {
                match self { $(Data::$Var(v) => <$t as Stored>::copy_bytes(v, bytes),)* }
            }
        }
        $(impl Stored for $t {
            fn slice(data: &Data) -> Option<&[$t]> { match data { Data::$Var(v) => Some(v), _ => None } }
            fn slice_mut(data: &mut Data) -> Option<&mut Vec<$t>> { match data { Data::$Var(v) => Some(v), _ => None } }
            fn wrap(values: Vec<$t>) -> Data { Data::$Var(values) }
            data!(copy $t);
        })*
    };
}

/// A Rust element type and its variant of `Data`.
pub trait Stored: Element {
    /// The elements, if they are of this type.
    fn slice(data: &Data) -> Option<&[Self]>;
    fn slice_mut(data: &mut Data) -> Option<&mut Vec<Self>>;
    fn wrap(values: Vec<Self>) -> Data;
    /// Replaces elements by those that these bytes hold. Panics if the lengths differ, as slices do.
    fn copy_bytes(to: &mut [Self], from: &[u8]);
}

data! {
    I1 bool; I8 i8; I16 i16; I32 i32; I64 i64; U8 u8; U16 u16; U32 u32; U64 u64;
    F16 f16; BF16 bf16; F32 f32; F64 f64; F8E4M3 F8E4M3; F8E5M2 F8E5M2;
}

impl Data {
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
