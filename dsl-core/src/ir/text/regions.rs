//! Reads ops with regions.

use super::fault::{ParseFault, SYNTAX};
use super::fields::OpParser;
use super::lex::Token;
use super::name::Name;
use super::parse::{Parser, ReadOp};
use crate::ir::loc::LocId;
use crate::ir::module::{RegionId, ValueId};
use crate::ir::ops::{self, AxisNo, Carry, Field};
use crate::ir::types::Type;

/// The parts that `reduce_with` and `scan_with` share.
struct Combine {
    x: ValueId,
    axis: AxisNo,
    combine: RegionId,
    loc: Option<LocId>,
}

impl Parser<'_> {
    pub fn if_op(&mut self) -> Result<ReadOp, ParseFault> {
        let cond = self.typed_value()?;
        let loc = self.open_brace()?;
        self.b.open(&[]);
        let then = self.block()?;
        self.b.open(&[]);
        let other = if self.take_word("else")? {
            self.punct("{")?;
            self.block()?
        } else {
            self.b.close(Vec::new())
        };
        let types = self.yielded(then);
        Ok(ReadOp { op: ops::If { cond, then, other }.into(), types, loc })
    }
    pub fn for_op(&mut self) -> Result<ReadOp, ParseFault> {
        let index = self.new_name()?;
        self.word("in")?;
        let range = <ops::Range as Field>::parse(&mut OpParser::new(self))?;
        let (names, inits) = self.carry()?;
        let loc = self.open_brace()?;
        let types = self.types(&inits);
        let index_type = self.b.module().ty(range.lo);
        let args: Vec<Type> = std::iter::once(index_type).chain(types.iter().copied()).collect();
        self.open(&args, std::iter::once(index).chain(names));
        let body = self.block()?;
        Ok(ReadOp { op: ops::For { range, carry: Carry(inits), body }.into(), types, loc })
    }
    /// `%t in %lo..%hi { … } merge (%a.., %b..) { … }`.
    pub fn map_reduce_op(&mut self) -> Result<ReadOp, ParseFault> {
        let index = self.new_name()?;
        self.word("in")?;
        let range = <ops::Range as Field>::parse(&mut OpParser::new(self))?;
        let loc = self.open_brace()?;
        let index_type = self.b.module().ty(range.lo);
        self.open(&[index_type], std::iter::once(index));
        let body = self.block()?;
        let types = self.yielded(body);
        self.word("merge")?;
        let two = [types.as_slice(), types.as_slice()].concat();
        let names = self.merged_names(two.len())?;
        self.punct("{")?;
        self.open(&two, names.into_iter());
        let merge = self.block()?;
        Ok(ReadOp { op: ops::MapReduce { range, body, merge }.into(), types, loc })
    }
    /// The names of what a merge takes, `(%a, %b)`: so many.
    fn merged_names(&mut self, count: usize) -> Result<Vec<Name>, ParseFault> {
        self.punct("(")?;
        let mut names = vec![self.new_name()?];
        while self.take_punct(",")? {
            names.push(self.new_name()?);
        }
        if names.len() != count {
            let text = format!("a merge takes two of each value that the body yields, {count}; names: {}", names.len());
            return Err(self.fault(SYNTAX, text));
        }
        self.punct(")")?;
        Ok(names)
    }
    pub fn while_op(&mut self) -> Result<ReadOp, ParseFault> {
        let (names, inits) = self.carry()?;
        let loc = self.open_brace()?;
        let types = self.types(&inits);
        self.open(&types, names.into_iter());
        self.ops_until(|p| p.is_punct("}") || p.at_loop_test())?;
        self.word("while")?;
        let test = self.typed_value()?;
        let cond = self.b.close(vec![test]);
        self.b.open(&[]);
        let body = self.block()?;
        Ok(ReadOp { op: ops::While { carry: Carry(inits), cond, body }.into(), types, loc })
    }
    pub fn composite_op(&mut self) -> Result<ReadOp, ParseFault> {
        let loc = self.open_brace()?;
        self.b.open(&[]);
        let body = self.block()?;
        let types = self.yielded(body);
        Ok(ReadOp { op: ops::Composite { body }.into(), types, loc })
    }
    pub fn reduce_with_op(&mut self) -> Result<ReadOp, ParseFault> {
        let Combine { x, axis, combine, loc } = self.combine()?;
        let ty = self.b.module().ty(x);
        let rest = ty.dims().and_then(|d| d.without(axis.0 as usize));
        let out = rest.map_or(Type::Scalar(ty.elem()), |d| Type::of(ty.elem(), d));
        Ok(ReadOp { op: ops::ReduceWith { x, axis, combine }.into(), types: vec![out], loc })
    }
    pub fn scan_with_op(&mut self) -> Result<ReadOp, ParseFault> {
        let Combine { x, axis, combine, loc } = self.combine()?;
        let types = vec![self.b.module().ty(x)];
        Ok(ReadOp { op: ops::ScanWith { x, axis, combine }.into(), types, loc })
    }
    /// `%x axis 0 (%a, %b) { … }`.
    fn combine(&mut self) -> Result<Combine, ParseFault> {
        let mut fields = OpParser::new(self);
        let x: ValueId = Field::parse(&mut fields)?;
        let axis: AxisNo = Field::parse(&mut fields)?;
        fields.no_pending()?;
        self.punct("(")?;
        let a = self.new_name()?;
        self.punct(",")?;
        let b = self.new_name()?;
        self.punct(")")?;
        let loc = self.open_brace()?;
        let one = Type::Scalar(self.b.module().ty(x).elem());
        self.open(&[one, one], [a, b].into_iter());
        let combine = self.block()?;
        Ok(Combine { x, axis, combine, loc })
    }

    /// Whether `while` stands here as the end of a loop's condition: a value follows. A nested loop has `carry` or `{`.
    fn at_loop_test(&self) -> bool {
        let nested = |token: &Token| match token {
            Token::Word(w) => w == "carry",
            Token::Punct(p) => *p == "{",
            _ => false,
        };
        self.is_word("while") && !self.lex.peek().as_ref().is_some_and(nested)
    }
    /// The ops of a region up to `}`, with `yield` before it where something is yielded.
    fn block(&mut self) -> Result<RegionId, ParseFault> {
        self.ops_until(|p| p.is_punct("}") || p.is_word("yield"))?;
        let yields = if self.take_word("yield")? { self.values()? } else { Vec::new() };
        self.punct("}")?;
        Ok(self.b.close(yields))
    }
    /// Opens a region and names its arguments.
    fn open(&mut self, args: &[Type], names: impl Iterator<Item = Name>) {
        let region = self.b.open(args);
        let args = self.b.module().region(region).args.clone();
        args.into_iter().zip(names).for_each(|(v, name)| self.bind(name, v));
    }
    fn types(&self, values: &[ValueId]) -> Vec<Type> {
        values.iter().map(|v| self.b.module().ty(*v)).collect()
    }
    fn yielded(&self, region: RegionId) -> Vec<Type> {
        self.types(&self.b.module().region(region).yields)
    }
    /// The names and first values of what a loop carries; none if nothing is.
    fn carry(&mut self) -> Result<(Vec<Name>, Vec<ValueId>), ParseFault> {
        let (mut names, mut inits) = (Vec::new(), Vec::new());
        if !self.take_word("carry")? {
            return Ok((names, inits));
        }
        self.punct("(")?;
        loop {
            names.push(self.new_name()?);
            self.punct("=")?;
            inits.push(self.typed_value()?);
            if !self.take_punct(",")? {
                break;
            }
        }
        self.punct(")")?;
        Ok((names, inits))
    }
    /// `{`, with the location behind it that `print_with_locs` writes there.
    fn open_brace(&mut self) -> Result<Option<LocId>, ParseFault> {
        self.punct("{")?;
        self.loc()
    }
}
