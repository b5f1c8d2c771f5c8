//! The modifiers and operands of one instruction. Each is taken once; what is left at the end nobody knows.

use super::{Body, Name, Unread};
use crate::inst::{Addr, Pred, Reg, Space, Special, Src, Truth, Ty};
use crate::module::Symbol;
use crate::text::Words;

pub(crate) struct Operands<'b, 'm, 't> {
    body: &'b mut Body<'m>,
    modifiers: Vec<&'t str>,
    operands: std::collections::VecDeque<&'t str>,
}

impl<'b, 'm, 't> Operands<'b, 'm, 't> {
    pub(crate) fn new(body: &'b mut Body<'m>, words: &Words<'t>) -> Self {
        Operands { body, modifiers: words.modifiers.clone(), operands: words.operands.iter().copied().collect() }
    }
    /// # Errors
    /// A modifier or an operand that nobody has taken.
    pub(crate) fn finish(self) -> Result<(), Unread> {
        match (self.modifiers.first(), self.operands.front()) {
            (Some(word), _) => Err(format!("the modifier `.{word}`")),
            (None, Some(operand)) => Err(format!("the operand `{operand}`")),
            (None, None) => Ok(()),
        }
    }

    // Modifiers.

    pub(crate) fn has(&mut self, word: &str) -> bool {
        let before = self.modifiers.len();
        self.modifiers.retain(|m| *m != word);
        self.modifiers.len() < before
    }
    /// Takes all that are in the list; hints that change no value.
    pub(crate) fn drop_all(&mut self, known: &[&str]) {
        self.modifiers.retain(|m| !known.contains(m));
    }
    pub(crate) fn one_of<T: Copy>(&mut self, known: &[(&str, T)]) -> Option<T> {
        let (at, value) =
            self.modifiers.iter().enumerate().find_map(|(at, m)| Some((at, known.iter().find(|(w, _)| w == m)?.1)))?;
        self.modifiers.remove(at);
        Some(value)
    }
    /// The first that is a type.
    pub(crate) fn ty(&mut self) -> Result<Ty, Unread> {
        let at =
            self.modifiers.iter().position(|m| Ty::from_name(m).is_some()).ok_or("an instruction without a type")?;
        Ok(Ty::from_name(self.modifiers.remove(at)).unwrap_or(Ty::B32))
    }
    /// All that are left, behind the opcode: `mul.hi`.
    pub(crate) fn name(&mut self, opcode: &str) -> String {
        self.modifiers.drain(..).fold(opcode.to_string(), |name, word| name + "." + word)
    }
    pub(crate) fn next_modifier(&mut self) -> Option<&'t str> {
        (!self.modifiers.is_empty()).then(|| self.modifiers.remove(0))
    }

    // Operands, from left to right.

    pub(crate) fn left(&self) -> usize {
        self.operands.len()
    }
    pub(crate) fn peek(&self) -> &'t str {
        self.operands.front().copied().unwrap_or("")
    }
    pub(crate) fn next(&mut self) -> Result<&'t str, Unread> {
        self.operands.pop_front().ok_or_else(|| "an instruction with too few operands".to_string())
    }
    pub(crate) fn reg(&mut self) -> Result<Reg, Unread> {
        let text = self.next()?;
        self.reg_named(text).map(|(reg, _)| reg)
    }
    /// And the bits that it has.
    pub(crate) fn sized_reg(&mut self) -> Result<(Reg, u32), Unread> {
        let text = self.next()?;
        self.reg_named(text)
    }
    pub(crate) fn reg_named(&self, text: &str) -> Result<(Reg, u32), Unread> {
        match self.body.names.get(text) {
            Some(Name::Reg { reg, bits }) => Ok((*reg, *bits)),
            _ => Err(format!("the register `{text}`")),
        }
    }
    pub(crate) fn pred(&mut self) -> Result<Pred, Unread> {
        let text = self.next()?;
        self.pred_named(text)
    }
    pub(crate) fn pred_named(&self, text: &str) -> Result<Pred, Unread> {
        match self.body.names.get(text) {
            Some(Name::Pred(pred)) => Ok(*pred),
            _ => Err(format!("the predicate `{text}`")),
        }
    }
    /// A predicate, perhaps negated, or 0 or 1.
    pub(crate) fn truth(&mut self) -> Result<Truth, Unread> {
        let text = self.next()?;
        match text {
            "0" => return Ok(Truth::Always(false)),
            "1" => return Ok(Truth::Always(true)),
            _ => {}
        }
        let (name, negated) = text.strip_prefix('!').map_or((text, false), |rest| (rest, true));
        Ok(Truth::Pred { pred: self.pred_named(name)?, negated })
    }
    pub(crate) fn src(&mut self, ty: Ty) -> Result<Src, Unread> {
        let text = self.next()?;
        self.read(text, ty)
    }
    pub(crate) fn read(&mut self, text: &str, ty: Ty) -> Result<Src, Unread> {
        if let Ok((reg, _)) = self.reg_named(text) {
            return Ok(Src::Reg(reg));
        }
        if let Some(special) = special(text) {
            return Ok(Src::Special(special));
        }
        let bits =
            immediate(text, ty).or_else(|| self.address_of(text)).ok_or_else(|| format!("the operand `{text}`"))?;
        Ok(self.constant(bits))
    }
    pub(crate) fn constant(&mut self, bits: u64) -> Src {
        let known = self.body.constants.iter().position(|have| *have == bits);
        Src::Const(known.unwrap_or_else(|| {
            self.body.constants.push(bits);
            self.body.constants.len() - 1
        }) as u32)
    }
    /// One, or several in braces.
    pub(crate) fn list(&mut self) -> Result<Vec<&'t str>, Unread> {
        let text = self.next()?;
        match text.strip_prefix('{') {
            None => Ok(vec![text]),
            Some(rest) => {
                let inside = rest.strip_suffix('}').ok_or_else(|| format!("the operand `{text}`"))?;
                Ok(inside.split(',').map(str::trim).collect())
            }
        }
    }
    /// Destinations; `_` takes nothing.
    pub(crate) fn destinations(&mut self) -> Result<(Vec<Option<Reg>>, u32), Unread> {
        let names = self.list()?;
        let mut bits = 64;
        let mut out = Vec::new();
        for name in names {
            out.push(match name {
                "_" => None,
                _ => {
                    let (reg, size) = self.reg_named(name)?;
                    bits = size;
                    Some(reg)
                }
            });
        }
        Ok((out, bits))
    }
    pub(crate) fn sources(&mut self, ty: Ty) -> Result<Vec<Src>, Unread> {
        self.list()?.into_iter().map(|text| self.read(text, ty)).collect()
    }
    /// `d|p`: a register and perhaps a predicate.
    pub(crate) fn reg_and_pred(&mut self) -> Result<(Option<Reg>, Option<Pred>), Unread> {
        let text = self.next()?;
        let (d, p) = text.split_once('|').map_or((text, None), |(d, p)| (d, Some(p)));
        let d = if d == "_" { None } else { Some(self.reg_named(d)?.0) };
        Ok((d, p.map(|p| self.pred_named(p)).transpose()?))
    }
    /// `[base+offset]`: a register, a parameter, a variable, or a number. A name must lie in the space.
    pub(crate) fn addr(&mut self, space: Space) -> Result<Addr, Unread> {
        let text = self.next()?;
        let unread = || format!("the address `{text}`");
        let inside = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).ok_or_else(unread)?.trim();
        let (base, offset) = base_and_offset(inside).ok_or_else(unread)?;
        if let Ok((reg, _)) = self.reg_named(base) {
            return Ok(Addr { base: Some(reg), offset });
        }
        let at = match self.body.params.get(base) {
            Some(at) if space == Space::Param => i64::from(*at),
            _ => match self.body.symbols.get(base) {
                Some(symbol) if symbol.space.holds(space) => symbol.address as i64,
                _ => immediate(base, Ty::B64).ok_or_else(unread)? as i64,
            },
        };
        Ok(Addr { base: None, offset: at.wrapping_add(offset) })
    }
    fn address_of(&self, text: &str) -> Option<u64> {
        let (name, offset) = base_and_offset(text)?;
        let Symbol { address, .. } = self.body.symbols.get(name)?;
        Some(address.wrapping_add(offset as u64))
    }
    pub(crate) fn label(&mut self) -> Result<u32, Unread> {
        let text = self.next()?;
        self.body.labels.get(text).copied().ok_or_else(|| format!("the label `{text}`"))
    }
}

/// `name+16`, `name-16`, `name+-16`
fn base_and_offset(text: &str) -> Option<(&str, i64)> {
    match text.find(['+', '-']) {
        None | Some(0) => Some((text, 0)),
        Some(at) => {
            let offset = text[at..].trim_start_matches('+').trim();
            Some((text[..at].trim(), offset.parse().ok()?))
        }
    }
}
fn special(name: &str) -> Option<Special> {
    Some(match name {
        "%tid.x" => Special::TidX,
        "%ntid.x" => Special::NtidX,
        "%ctaid.x" => Special::CtaidX,
        "%nctaid.x" => Special::NctaidX,
        "%tid.y" | "%tid.z" | "%ctaid.y" | "%ctaid.z" => Special::Zero,
        "%cluster_ctaid.y" | "%cluster_ctaid.z" | "%clusterid.y" | "%clusterid.z" => Special::Zero,
        "%ntid.y" | "%ntid.z" | "%nctaid.y" | "%nctaid.z" => Special::One,
        "%cluster_nctaid.y" | "%cluster_nctaid.z" | "%nclusterid.y" | "%nclusterid.z" => Special::One,
        "%cluster_ctarank" | "%cluster_ctaid.x" => Special::ClusterRank,
        "%cluster_nctarank" | "%cluster_nctaid.x" => Special::ClusterSize,
        "%clusterid.x" => Special::ClusterId,
        "%nclusterid.x" => Special::ClusterCount,
        "%laneid" => Special::LaneId,
        "%warpid" => Special::WarpId,
        "%nwarpid" => Special::WarpCount,
        "%clock64" | "%clock" | "%globaltimer" => Special::Clock,
        "%lanemask_eq" => Special::MaskEq,
        "%lanemask_lt" => Special::MaskLt,
        "%lanemask_le" => Special::MaskLe,
        "%lanemask_gt" => Special::MaskGt,
        "%lanemask_ge" => Special::MaskGe,
        "%dynamic_smem_size" => Special::DynamicShared,
        _ => return None,
    })
}
/// A number of this type: decimal, `0x…`, a float, or the bits of one, `0f…` and `0d…`.
pub(crate) fn immediate(text: &str, ty: Ty) -> Option<u64> {
    if let Some(bits) = text.strip_prefix("0f").or(text.strip_prefix("0F")) {
        return u32::from_str_radix(bits, 16).ok().map(u64::from).filter(|_| bits.len() == 8 && ty.bits() == 32);
    }
    if let Some(bits) = text.strip_prefix("0d").or(text.strip_prefix("0D")) {
        return u64::from_str_radix(bits, 16).ok().filter(|_| bits.len() == 16 && ty.bits() == 64);
    }
    if text.contains('.') {
        let x = text.parse::<f64>().ok()?;
        return match ty {
            Ty::F32 => Some(u64::from((x as f32).to_bits())),
            Ty::F64 => Some(x.to_bits()),
            _ => None,
        };
    }
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let n = match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => digits.trim_end_matches('U').parse::<u64>().ok()?,
    };
    Some((if negative { n.wrapping_neg() } else { n }) & ty.mask())
}
