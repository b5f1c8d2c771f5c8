//! One random op: the operands it needs are picked from what is visible, or made.

use super::together::Use;
use super::{Gen, Purpose};
use tilewright_core::elem::{Class, ElemType};
use tilewright_core::ir::ops::{self, *};
use tilewright_core::ir::{Dims, Literal, Type, ValueId, ViewType};

const MAX_DEPTH: usize = 4;

impl Gen<'_> {
    /// A value of this type. A tile is made without memory or queues, so that it may stand in a composite.
    pub fn value(&mut self, ty: Type) -> ValueId {
        if self.below(4) > 0
            && let Some(v) = self.visible_of(|t| t == ty)
        {
            return v;
        }
        let lit = self.literal(ty.elem());
        let x = self.b.constant(lit);
        if ty.is_scalar() { x } else { self.push(Splat { x, to: ResultType(ty) }) }
    }
    fn index(&mut self) -> ValueId {
        let elem = self.one_of(&[ElemType::I32, ElemType::I64]);
        self.value(Type::Scalar(elem))
    }
    pub fn class(&mut self, class: Class) -> Type {
        let elem = self.elem_of(|e| e.is(class));
        self.value_type(elem)
    }
    fn pair(&mut self, class: Class) -> (ValueId, ValueId, Type) {
        let ty = self.class(class);
        (self.value(ty), self.value(ty), ty)
    }
    pub fn view(&mut self, fits: impl Fn(ViewType) -> bool) -> Option<(ValueId, ViewType)> {
        let v = self.visible_of(|t| matches!(t, Type::View(view) if fits(view)))?;
        match self.ty(v) {
            Type::View(view) => Some((v, view)),
            Type::Scalar(_) | Type::Tile(..) => None,
        }
    }
    fn access(&mut self, view: ValueId, ty: ViewType, tile: Type) -> Access {
        let own = self.own_row(view);
        let index = (0..ty.rank).map(|axis| own.filter(|_| axis == 0).unwrap_or_else(|| self.index())).collect();
        let rank = tile.dims().map_or(0, |d| d.rank());
        let limited: Vec<u32> = (0..rank as u32).filter(|_| self.below(3) == 1).collect();
        let limits = limited.into_iter().map(|axis| (axis, self.index())).collect();
        let vec = [None, None, Some(1), Some(16)][self.below(4)];
        let cache = [None, Some(Cache::Keep), Some(Cache::Stream)][self.below(3)];
        Access { view, index, limits, vec, cache }
    }
    /// A scalar or tile that lies in such a view.
    fn inside(&mut self, view: ValueId, ty: ViewType) -> Type {
        // An own row is one place along axis 0.
        let most = ty.rank as usize - usize::from(self.own_row(view).is_some());
        let rank = self.below(most + 1);
        let dims = self.dims(rank);
        Type::of(ty.elem, dims)
    }
    fn port(&mut self) -> Port {
        let dir = self.one_of(Dir::ALL);
        match self.below(4) {
            0 => Port::Pe(dir),
            1 => Port::Cube(dir),
            2 => Port::Sip(self.one_of(&[Dir::East, Dir::West])),
            _ => Port::Peer(self.below(256) as u32),
        }
    }

    /// One op, with what its operands need before it.
    pub fn op(&mut self) {
        match self.below(11) {
            0 | 1 => self.elementwise(),
            2 => self.unary(),
            3 => self.choice(),
            4 | 5 => self.shape(),
            6 => self.memory(),
            7 => self.place(),
            8 => self.message(),
            9 if self.depth < MAX_DEPTH => self.control(),
            9 => self.unary(),
            _ => self.product(),
        }
    }
    /// An op that may stand in a composite.
    fn tile_op(&mut self) {
        if self.below(5) == 4 { self.load() } else { self.pure_op() }
    }
    fn pure_op(&mut self) {
        match self.below(4) {
            0 => self.elementwise(),
            1 => self.unary(),
            2 => self.choice(),
            _ => self.shape(),
        }
    }

    fn elementwise(&mut self) {
        let which = self.below(16);
        let (a, b, ty) = match which {
            0..=5 => self.pair(Class::Num),
            6..=9 => self.pair(Class::Int),
            10..=12 => self.pair(Class::Bits),
            _ => self.pair(Class::Float),
        };
        match which {
            0 => self.push(Add { a, b }),
            1 => self.push(Sub { a, b }),
            2 => self.push(Mul { a, b }),
            3 => self.push(Div { a, b }),
            4 => self.push(Maximum { a, b }),
            5 => self.push(Minimum { a, b }),
            6 => self.push(Rem { a, b }),
            7 => self.push(MulHi { a, b }),
            8 => self.push(Shl { a, n: b }),
            9 => self.push(Shr { a, n: b }),
            10 => self.push(And { a, b }),
            11 => self.push(Or { a, b }),
            12 => self.push(Xor { a, b }),
            13 => self.push(MaxNan { a, b }),
            14 => self.push(MinNan { a, b }),
            _ => {
                let c = self.value(ty);
                self.push(Fma { a, b, c })
            }
        };
    }
    /// One of the ops that take one operand and keep its type.
    fn unary(&mut self) {
        let rows: Vec<_> = Op::ROWS.iter().filter_map(|row| row.class.zip(row.unary)).collect();
        let (class, make) = self.one_of(&rows);
        let ty = self.class(class);
        let x = self.value(ty);
        self.push(make(x));
    }
    fn choice(&mut self) {
        match self.below(4) {
            0 => {
                let pred = self.one_of(Pred::ALL);
                let ordered = matches!(pred, Pred::Lt | Pred::Le | Pred::Gt | Pred::Ge);
                let elem = self.elem_of(|e| e.is(Class::Num) || (!ordered && e == ElemType::I1));
                let ty = self.value_type(elem);
                let (a, b) = (self.value(ty), self.value(ty));
                self.push(ops::Cmp { pred, a, b });
            }
            1 => {
                let (a, b, ty) = self.pair(Class::Any);
                let mask = self.value(ty.with_elem(ElemType::I1));
                self.push(Select { mask, a, b });
            }
            2 => {
                let from = self.class(Class::Any);
                let (x, elem) = (self.value(from), self.elem());
                self.push(Cast { x, to: ResultType(from.with_elem(elem)) });
            }
            _ => {
                let from = self.class(Class::Any);
                let is_bool = from.elem() == ElemType::I1;
                let size = from.elem().bytes();
                let elem = self.elem_of(|e| e.bytes() == size && (e == ElemType::I1) == is_bool);
                let x = self.value(from);
                self.push(Bitcast { x, to: ResultType(from.with_elem(elem)) });
            }
        };
    }
    fn shape(&mut self) {
        let elem = self.elem();
        let ty = self.tile_type(elem);
        let dims = ty.dims().unwrap_or(Dims::SCALAR);
        let axis = AxisNo(self.below(dims.rank()) as u32);
        match self.below(10) {
            0 => {
                let x = self.value(Type::Scalar(elem));
                self.push(Splat { x, to: ResultType(ty) });
            }
            1 if dims.rank() > 1 => {
                let from = dims.without(axis.0 as usize).unwrap_or(dims);
                let x = self.value(Type::Tile(elem, from));
                self.push(Broadcast { x, axis, to: ResultType(ty) });
            }
            2 => {
                let elem = self.elem_of(|e| e.is(Class::Int));
                self.push(Iota { axis, to: ResultType(ty.with_elem(elem)) });
            }
            3 => {
                let x = self.value(ty);
                let flat = Dims::new(&[dims.elems() as usize]).unwrap_or(dims);
                self.push(Reshape { x, to: ResultType(Type::Tile(elem, flat)) });
            }
            4 => {
                let matrix = Type::Tile(elem, self.dims(2));
                let x = self.value(matrix);
                self.push(Trans { x });
            }
            5 => {
                let (x, have) = (self.value(ty), dims.get(0).unwrap_or(1));
                let first = self.below(have as usize) as u32;
                let some = dims.with(0, have - first).unwrap_or(dims);
                self.push(Rows { x, first: At(first), to: ResultType(Type::Tile(elem, some)) });
            }
            6 => {
                let x = self.value(ty);
                self.combine(elem, |combine| ReduceWith { x, axis, combine }.into());
            }
            7 => {
                let x = self.value(ty);
                self.combine(elem, |combine| ScanWith { x, axis, combine }.into());
            }
            _ => {
                let elem = self.elem_of(|e| e.is(Class::Num));
                let x = self.value(ty.with_elem(elem));
                match self.below(4) {
                    0 => self.push(ReduceMax { x, axis }),
                    1 => self.push(ReduceMin { x, axis }),
                    2 => self.push(ReduceSum { x, axis }),
                    _ => self.push(ScanSum { x, axis }),
                };
            }
        }
    }
    /// A combine of two elements: some scalar ops that fit the element.
    fn combine(&mut self, elem: ElemType, op: impl FnOnce(tilewright_core::ir::RegionId) -> Op) {
        let one = Type::Scalar(elem);
        let region = self.b.open(&[one, one]);
        let args = self.b.module().region(region).args.clone();
        let [a, b] = args[..] else { panic!("two arguments") };
        let mut out = a;
        for _ in 0..self.below(3) {
            let tried: Op = match self.below(3) {
                0 => Add { a: out, b }.into(),
                1 => Or { a: out, b }.into(),
                _ => Maximum { a: out, b }.into(),
            };
            let loc = self.loc();
            // Not every op fits every element; then the region is shorter.
            out = self.b.push(tried, loc).ok().and_then(|r| r.get(0)).unwrap_or(out);
        }
        let region = self.b.close(vec![out]);
        self.push(op(region));
    }
    fn load(&mut self) {
        let Some((view, ty)) = self.view_to(Use::Load, |_| true) else { return };
        let tile = self.inside(view, ty);
        let at = self.access(view, ty, tile);
        let fill = Fill(if self.below(2) == 0 { None } else { Some(self.value(Type::Scalar(ty.elem))) });
        self.push(Load { at, fill, to: ResultType(tile) });
    }
    fn memory(&mut self) {
        let which = self.below(5);
        let (to, fits): (Use, fn(ViewType) -> bool) = match which {
            0 | 1 => (Use::Len, |_| true),
            2 => (Use::Store, |v| v.writable),
            3 => (Use::AtomicAdd, |v| v.writable && v.elem.is(Class::Num)),
            _ => (Use::AtomicMax, |v| v.writable && v.elem.is(Class::Num)),
        };
        if which == 0 {
            return self.load();
        }
        let Some((view, ty)) = self.view_to(to, fits) else { return };
        if which == 1 {
            let axis = AxisNo(self.below(ty.rank as usize) as u32);
            self.push(Len { view, axis });
            return;
        }
        let tile = self.inside(view, ty);
        let (at, value) = (self.access(view, ty, tile), self.value(tile));
        let bounds = self.one_of(&[Bounds::All, Bounds::Inside]);
        match which {
            2 => self.push(Store { bounds, at, value }),
            3 => self.push(AtomicAdd { bounds, at, value }),
            _ => self.push(AtomicMax { bounds, at, value }),
        };
    }
    fn place(&mut self) {
        match self.below(6) {
            0 => self.push(PeId {}),
            1 => self.push(CubeId {}),
            2 => self.push(NumPes {}),
            3 => self.push(NumCubes {}),
            4 => self.push(ProgramId {}),
            _ => self.push(NumPrograms {}),
        };
    }
    fn message(&mut self) {
        if let Some(v) = self.message_together() {
            return v;
        }
        let ty = self.class(Class::Any);
        // One program has nobody to talk to, and of many not all come to the same op of a region.
        let first = match self.made_for {
            Purpose::Reading => 0,
            Purpose::Running => 2,
            Purpose::RunningTogether => 3,
        };
        match first + self.below(6 - first) {
            0 => {
                let (port, value) = (self.port(), self.value(ty));
                self.push(Send { port, value });
            }
            1 => {
                let port = self.port();
                self.push(Recv { port, to: ResultType(ty) });
            }
            2 => {
                let scope = self.one_of(Scope::ALL);
                self.push(Barrier { scope });
            }
            3 => {
                let x = self.value(ty);
                self.push(Keep { x });
            }
            4 => {
                let values: Vec<ValueId> = (0..self.below(3)).map(|_| self.value(ty)).collect();
                let text = self.one_of(&super::NAMES);
                let format = ops::Text(format!("{text}{}", "{}".repeat(values.len())));
                self.push(Print { format, values });
            }
            _ => {
                let (cond, text) = (self.value(Type::BOOL), ops::Text(self.one_of(&super::NAMES).to_string()));
                self.push(Assert { cond, text });
            }
        }
    }
    /// A product of tiles, plain or in a composite.
    fn product(&mut self) {
        if self.below(2) == 0 {
            self.dot();
            return;
        }
        let before = self.visible.len();
        self.b.open(&[]);
        (0..self.below(3)).for_each(|_| self.tile_op());
        let product = self.dot();
        (0..self.below(3)).for_each(|_| self.tile_op());
        let mut yields = vec![product];
        yields.extend(self.some_values());
        let body = self.close(before, yields);
        self.push(Composite { body });
    }
    fn dot(&mut self) -> ValueId {
        let elem = self.elem_of(|e| !e.dot_into().is_empty());
        let acc = self.one_of(elem.dot_into());
        let [m, k, n] = [(); 3].map(|_| self.len());
        let mut matrix = |elem, a, b| {
            let dims = Dims::new(&[a, b]).unwrap_or(Dims::SCALAR);
            (self.value(Type::Tile(elem, dims)), Type::Tile(elem, dims))
        };
        let ((a, _), (b, _), (c, to)) = (matrix(elem, m, k), matrix(elem, k, n), matrix(acc, m, n));
        let c = if self.below(2) == 0 { None } else { Some(c) };
        let tf32 = elem == ElemType::F32 && self.below(2) == 1;
        let precision = if tf32 { Precision::Tf32 } else { Precision::Full };
        self.push(Dot { a, b, c, precision, to: ResultType(to) })
    }

    /// Closes the region that was opened last; what it made is no longer visible.
    fn close(&mut self, before: usize, yields: Vec<ValueId>) -> tilewright_core::ir::RegionId {
        self.visible.truncate(before);
        self.b.close(yields)
    }
    fn some_values(&mut self) -> Vec<ValueId> {
        (0..self.below(3)).filter_map(|_| self.visible_of(|t| !matches!(t, Type::View(_)))).collect()
    }
    /// Some ops, then values of these types.
    fn region(&mut self, out: &[Type]) -> Vec<ValueId> {
        self.depth += 1;
        (0..self.below(5)).for_each(|_| self.op());
        self.depth -= 1;
        out.iter().map(|ty| self.value(*ty)).collect()
    }
    fn enter(&mut self, args: &[Type]) {
        let region = self.b.open(args);
        let args = self.b.module().region(region).args.clone();
        for v in &args {
            let name = self.one_of(&super::NAMES);
            self.b.name(*v, name);
        }
        self.visible.extend(args);
    }
    fn range(&mut self) -> (Range, Type) {
        let index = Type::Scalar(self.elem_of(|e| e.is(Class::Int)));
        let (lo, hi) = (self.value(index), self.value(index));
        let step = if self.below(2) == 0 { None } else { Some(self.value(index)) };
        let stages = [None, Some(1), Some(3)][self.below(3)];
        (Range { lo, hi, step, stages }, index)
    }
    /// Its regions hold what may stand in a composite; the merge reads no memory.
    fn map_reduce(&mut self, types: &[Type]) {
        let (mut range, index) = self.range();
        // One that is to run takes a turn.
        if self.made_for != Purpose::Reading {
            let (lo, turns) = (self.below(2), 1 + self.below(4));
            let mut number = |n: usize| self.b.constant(Literal::int(index.elem(), n as i128).expect("small"));
            range = Range { lo: number(lo), hi: number(lo + turns), step: None, ..range };
        }
        let before = self.visible.len();
        self.enter(&[index]);
        (0..self.below(4)).for_each(|_| self.tile_op());
        let yields = types.iter().map(|ty| self.value(*ty)).collect();
        let body = self.close(before, yields);
        self.enter(&[types, types].concat());
        (0..self.below(4)).for_each(|_| self.pure_op());
        let yields = types.iter().map(|ty| self.value(*ty)).collect();
        let merge = self.close(before, yields);
        self.push(MapReduce { range, body, merge });
    }
    fn control(&mut self) {
        let inits = self.some_values();
        let types: Vec<Type> = inits.iter().map(|v| self.ty(*v)).collect();
        let before = self.visible.len();
        match self.below(4) {
            0 => {
                let cond = self.value(Type::BOOL);
                let before = self.visible.len();
                self.enter(&[]);
                let yields = self.region(&types);
                let then = self.close(before, yields);
                self.enter(&[]);
                let yields = self.region(&types);
                let other = self.close(before, yields);
                self.push(If { cond, then, other });
            }
            1 => {
                let (range, index) = self.range();
                let before = self.visible.len();
                let args: Vec<Type> = std::iter::once(index).chain(types.iter().copied()).collect();
                self.enter(&args);
                let yields = self.region(&types);
                let body = self.close(before, yields);
                self.push(For { range, carry: Carry(inits), body });
            }
            2 if !types.is_empty() => self.map_reduce(&types),
            _ => {
                self.enter(&types);
                let test = self.region(&[Type::BOOL]);
                let cond = self.b.close(test);
                // The body sees what the condition made.
                self.enter(&[]);
                let yields = self.region(&types);
                let body = self.close(before, yields);
                self.push(While { carry: Carry(inits), cond, body });
            }
        }
    }
}
