//! What a kernel shows of its values: `keep`, and lines that it prints.

use super::held::{flat, held, stored};
use super::{Done, Lower};
use crate::abi::Item;
use crate::outcome::prints;
use crate::ptx::{
    Addr, Atomic, Bin, Buffer, CacheHint, Class, Cmp, Guard, Memory, Op as PtxOp, Reg, Space, Special, Src, Tern,
    Touch, Ty,
};
use rustc_hash::FxHashSet;
use tilewright_core::ir::{Dims, OpId, Type, ValueId, ops};

impl Lower<'_> {
    /// All bits of the value decide whether a store runs. It never does, since a 32-bit sum is compared with a 64-bit
    /// parameter that has higher bits, but nothing that compiles the kernel can know that.
    pub(super) fn keep(&mut self, o: &ops::Keep) -> Done {
        let ty = held(self.m.ty(o.x).elem());
        let regs = match self.m.ty(o.x) {
            Type::Scalar(_) => match self.scalar(o.x)? {
                Src::Reg(reg) => vec![reg],
                Src::Imm(_) => return Ok(()),
            },
            Type::Tile(..) | Type::View(_) => {
                let layout = self.layout(o.x)?;
                self.tile(o.x, &layout)?
            }
        };
        let mut seen = FxHashSet::default();
        let mut sum: Option<Reg> = None;
        for reg in regs.into_iter().filter(|reg| seen.insert(*reg)) {
            for word in self.words(ty, reg) {
                sum = Some(sum.map_or(word, |sum| self.body.bin(Bin::Add, Ty::U32, sum, word)));
            }
        }
        let Some(sum) = sum else { return Ok(()) };
        let never = self.param(Ty::U64, Item::Never);
        let wide = self.body.cvt(Ty::U64, Ty::U32, sum);
        let pred = self.body.setp(Cmp::Eq, Ty::U64, wide, never);
        let at = Addr::reg(never, 0);
        let store = PtxOp::St { space: Space::Global, hint: CacheHint::default(), ty: Ty::B32, at, a: vec![sum] };
        self.body.emit_if(Guard { pred, negated: false }, store);
        Ok(())
    }
    /// Takes room in the buffer for one line, and writes the values there, the first elements of a tile. Where the buffer is
    /// full the line is counted.
    pub(super) fn print(&mut self, id: OpId, o: &ops::Print) -> Done {
        let m = self.m;
        let number = match self.prints.iter().position(|known| *known == id) {
            Some(number) => number,
            None => {
                self.prints.push(id);
                self.prints.len() - 1
            }
        };
        let units = prints::units(m, &o.values);
        let room = self.body.buffer(8, 8);
        let (memory, group) = (Memory::Shared(room), self.body.group());
        let line = self.shared_address(room);
        let mine = self.body.mov(Ty::B64, Src::Imm(0));
        let skip = self.unless_first_thread();
        let buffer = self.param(Ty::U64, Item::Prints);
        let taken = self.body.fresh(Ty::U64);
        let (space, op, ty, at) = (Space::Global, Atomic::Add, Ty::U64, Addr::reg(buffer, 0));
        self.body.emit(PtxOp::Atom { space, op, ty, d: taken, at, a: Src::Imm(units), b: None });
        let full = self.body.setp(Cmp::Gt, Ty::U64, taken, Src::Imm(prints::ROOM - units));
        let lost = PtxOp::Red { space, op, ty, at: Addr::reg(buffer, 8), a: Src::Imm(1) };
        self.body.emit_if(Guard { pred: full, negated: false }, lost);
        let here = self.body.tern(Tern::MadLo, Ty::U64, taken, Src::Imm(8), buffer);
        let room_left = self.body.setp(Cmp::Lt, Ty::U64, taken, Src::Imm(prints::ROOM));
        let last = self.body.bin(Bin::And, Ty::Pred, full, room_left);
        let end = self.body.mov(Ty::B32, Src::Imm(u64::from(prints::END)));
        self.put(last, Ty::B32, Addr::reg(here, 8 * prints::COUNTERS as i64), vec![end]);
        let here = self.body.selp(Ty::B64, Src::Imm(0), here, full);
        self.body.assign(Ty::B64, mine, here);
        self.body.emit(PtxOp::Label(skip));
        // Barriers stand before accesses to shared memory, so all threads come here.
        let first = self.is_first_thread();
        let store =
            PtxOp::St { space: Space::Shared, hint: CacheHint::default(), ty: Ty::B64, at: line, a: vec![mine] };
        self.body.touch(Touch::write(memory, group), Some(Guard { pred: first, negated: false }), store);

        let mine = self.body.fresh(Ty::B64);
        let load = PtxOp::Ld { space: Space::Shared, hint: CacheHint::default(), ty: Ty::B64, d: vec![mine], at: line };
        let group = self.body.group();
        self.body.touch(Touch::read(memory, group), None, load);
        let fits = self.body.setp(Cmp::Ne, Ty::U64, mine, Src::Imm(0));
        let writes = self.body.bin(Bin::And, Ty::Pred, first, fits);
        let head = self.body.mov(Ty::B32, Src::Imm(number as u64));
        let program = self.special(Special::CtaidX);
        let head_at = Addr::reg(mine, 8 * prints::COUNTERS as i64);
        self.put(writes, Ty::B32, head_at, vec![head, program]);
        let mut unit = prints::COUNTERS + 1;
        for v in &o.values {
            let at = Addr::reg(mine, 8 * unit as i64);
            match m.ty(*v) {
                Type::Scalar(elem) => {
                    let value = self.scalar_reg(*v)?;
                    let value = self.as_stored(elem, value);
                    self.put(writes, stored(elem), at, vec![value]);
                }
                Type::Tile(..) | Type::View(_) => self.print_tile(*v, fits, mine, unit)?,
            }
            unit += prints::shown(m, *v);
        }
        Ok(())
    }
    /// The first elements of a tile, each by the first thread that holds it.
    fn print_tile(&mut self, v: ValueId, fits: Reg, line: Reg, unit: u64) -> Done {
        let layout = self.layout(v)?;
        let regs = self.tile(v, &layout)?;
        let (elem, dims) = (self.m.ty(v).elem(), self.m.ty(v).dims().unwrap_or(Dims::SCALAR));
        let shown = prints::shown(self.m, v);
        let holder = self.is_first_holder(&layout);
        let holder = self.both(holder, Some(fits));
        let thread: Vec<Reg> = (0..dims.rank()).map(|axis| self.thread_coord(&layout, axis)).collect();
        for (reg, value) in regs.into_iter().enumerate() {
            if flat(&layout.reg_coord(reg)[..dims.rank()], dims.as_slice()) as u64 >= shown {
                continue;
            }
            let (at, exists) = self.position(&layout, dims, &thread, reg);
            let early = self.body.setp(Cmp::Lt, Ty::U32, at, Src::Imm(shown));
            let here = self.both(holder, exists);
            let here = self.both(here, Some(early)).unwrap_or(early);
            let base = self.body.tern(Tern::MadWide, Ty::U32, at, Src::Imm(8), line);
            let value = self.as_stored(elem, value);
            self.put(here, stored(elem), Addr::reg(base, 8 * unit as i64), vec![value]);
        }
        Ok(())
    }
    fn put(&mut self, pred: Reg, ty: Ty, at: Addr, a: Vec<Reg>) {
        let store = PtxOp::St { space: Space::Global, hint: CacheHint::default(), ty, at, a };
        self.body.emit_if(Guard { pred, negated: false }, store);
    }
    fn shared_address(&mut self, buffer: Buffer) -> Addr {
        Addr::reg(self.body.buffer_base(buffer), 0)
    }
    /// A register as 32-bit words.
    fn words(&mut self, ty: Ty, reg: Reg) -> Vec<Reg> {
        match ty.class() {
            Class::Pred => vec![self.body.selp(Ty::U32, Src::Imm(1), Src::Imm(0), reg)],
            Class::B16 => vec![self.body.cvt(Ty::U32, Ty::U16, reg)],
            Class::B32 => vec![reg],
            Class::B64 => {
                let halves = vec![self.body.fresh(Ty::B32), self.body.fresh(Ty::B32)];
                self.body.emit(PtxOp::Unpack { ty: Ty::B64, d: halves.clone(), a: reg });
                halves
            }
        }
    }
}
