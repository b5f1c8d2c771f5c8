//! What a kernel gets at launch: one block of bytes with the fields it uses, in the order of first use.

use tilewright_core::elem::ElemType;
use tilewright_core::ir::Module;
use tilewright_core::ir::text::value_names;

/// What a field of the parameter block holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Item {
    /// The address of a view's first element, 8 bytes.
    Pointer { param: u32 },
    /// A view's length along an axis, 8 bytes.
    Len { param: u32, axis: u32 },
    /// Elements from one place to the next along an axis, 8 bytes.
    Stride { param: u32, axis: u32 },
    /// A scalar argument, in as many bytes as its element takes.
    Scalar { param: u32, elem: ElemType },
    /// PEs of a cube, 4 bytes.
    NumPes,
    /// The address of the fault records, 8 bytes.
    Records,
    /// The address of the print buffer, 8 bytes.
    Prints,
    /// The address of where programs meet, 8 bytes.
    Meeting,
    /// The address of the queues in global memory, 8 bytes.
    Mail,
    /// A number that no 32-bit value equals, 8 bytes; what `keep` compares with.
    Never,
}

impl Item {
    pub const fn bytes(self) -> u32 {
        match self {
            Item::Pointer { .. } | Item::Len { .. } | Item::Stride { .. } => 8,
            Item::Records | Item::Prints | Item::Meeting | Item::Mail | Item::Never => 8,
            Item::Scalar { elem, .. } => elem.bytes() as u32,
            Item::NumPes => 4,
        }
    }
}

/// The fields of a kernel's parameter block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Abi {
    /// Offset and content, by ascending offset; each lies at a multiple of its size.
    pub fields: Vec<(u32, Item)>,
}

impl Abi {
    /// Where the item lies; added if it is new.
    pub fn offset(&mut self, item: Item) -> u32 {
        if let Some((offset, _)) = self.fields.iter().find(|(_, known)| *known == item) {
            return *offset;
        }
        let offset = self.bytes().next_multiple_of(item.bytes());
        self.fields.push((offset, item));
        offset
    }
    /// Of the whole block.
    pub fn bytes(&self) -> u32 {
        self.fields.last().map_or(0, |(offset, item)| offset + item.bytes())
    }
    /// For the eye: `24 bytes: pointer of x, length 0 of x, a`.
    pub fn describe(&self, m: &Module) -> String {
        let names = value_names(m);
        let name = |param: u32| {
            let value = m.params.get(param as usize).and_then(|v| names.get(v.index()));
            value.map_or("?", |name| name.trim_start_matches('%')).to_string()
        };
        let field = |item: &Item| match *item {
            Item::Pointer { param } => format!("pointer of {}", name(param)),
            Item::Len { param, axis } => format!("length {axis} of {}", name(param)),
            Item::Stride { param, axis } => format!("stride {axis} of {}", name(param)),
            Item::Scalar { param, .. } => name(param),
            Item::NumPes => "PEs of a cube".to_string(),
            Item::Records => "fault records".to_string(),
            Item::Prints => "print buffer".to_string(),
            Item::Meeting => "where programs meet".to_string(),
            Item::Mail => "queues".to_string(),
            Item::Never => "what `keep` compares with".to_string(),
        };
        let fields: Vec<String> = self.fields.iter().map(|(_, item)| field(item)).collect();
        format!("{} bytes: {}", self.bytes(), fields.join(", "))
    }
}
