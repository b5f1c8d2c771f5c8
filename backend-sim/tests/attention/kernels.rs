//! The attention kernels of the published tables in the text form, with launches: what timing tests compare with. The
//! kernels that users run are written in the kernel language (`kernels`).

use tilewright_core::diag::{Color, render};
use tilewright_core::elem::ElemType;
use tilewright_core::ir::text::parse;
use tilewright_core::ir::verify::verify;
use tilewright_core::ir::{Literal, Module};
use tilewright_core::launch::{Grid, LaunchConfig};
use tilewright_core::placement::Placement;
use tilewright_core::tensor::AnyTensor;
use tilewright_sim::engine::EventSet;
use tilewright_sim::machine::Machine;
use tilewright_sim::timing::{Limits, Operand, Timing, User, time_with};
use tilewright_sim::units::Ps;

/// Rows of queries per KV head, length of a head, KV heads, tokens of a tile.
const ROWS: usize = 8;
const HEAD: usize = 64;
const KV_HEADS: usize = 8;
const TILE: usize = 1024;
const FILE: &str = "attention.tir";

/// Which commands the kernel is given (LANGUAGE.md 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tier {
    Plain,
    Composite,
    Fused,
}

/// A short-context attention kernel (LANGUAGE.md 7 and 8) and its tensors' shapes.
#[derive(Debug)]
pub struct Case {
    module: Module,
    tensors: [AnyTensor; 4],
    /// Cubes of one user.
    pub cubes: usize,
    tiles: i32,
}

impl Case {
    /// Case with `kv_per_cube` KV heads a cube; each PE of a group of `8 / kv_per_cube` has the same number of whole
    /// tiles of the `s_kv` tokens.
    pub fn decode(kv_per_cube: usize, s_kv: usize, tier: Tier) -> Case {
        let group = KV_HEADS / kv_per_cube;
        let heads = Placement::over_cubes(0, group);
        let tokens = heads.clone().over_pes(&[(0, kv_per_cube), (1, group)]);
        Case::new(&decode_text(group, tier), (ROWS, &heads), (s_kv, &tokens), s_kv / group / TILE)
    }
    /// Prefill of 8 tokens: the root of each group reads K and V from PE 0's slice and passes them on.
    pub fn prefill(kv_per_cube: usize, s_kv: usize, tier: Tier) -> Case {
        let group = KV_HEADS / kv_per_cube;
        let heads = Placement::over_cubes(0, group);
        Case::new(&prefill_text(group, tier), (8 * ROWS, &heads), (s_kv, &heads), s_kv / TILE)
    }
    fn new(text: &str, q: (usize, &Placement), kv: (usize, &Placement), tiles: usize) -> Case {
        let module =
            parse(text, FILE).unwrap_or_else(|fault| panic!("{}", render(&fault.diagnostic(text, FILE), Color::Never)));
        verify(&module).unwrap_or_else(|e| panic!("{e}"));
        let tensor = |(len, placement): (usize, &Placement)| {
            AnyTensor::new(ElemType::F16, vec![KV_HEADS, len, HEAD], None, placement.clone())
        };
        let cubes = q.1.cubes.as_ref().map_or(1, |split| split.parts);
        Case { module, tensors: [tensor(q), tensor(kv), tensor(kv), tensor(q)], cubes, tiles: tiles as i32 }
    }
    /// A user from cube `first_cube` on.
    pub fn user(&self, first_cube: usize, start: Ps) -> User<'_> {
        let views = self.tensors.iter().map(Operand::View);
        let args = views.chain([Operand::Scalar(Literal::from(self.tiles))]).collect();
        let config = LaunchConfig { grid: Grid::cubes(self.cubes).pes(8), ..LaunchConfig::default() };
        User { module: &self.module, args, config, first_cube, start, trace: None }
    }
    /// So many users side by side on one machine.
    pub fn time<Q: EventSet>(&self, machine: &Machine, users: usize) -> Timing {
        let starts = machine.user_starts(users, self.cubes);
        let users: Vec<User<'_>> = (0..).zip(starts).map(|(u, start)| self.user(u * self.cubes, start)).collect();
        time_with::<Q>(machine, &users, Limits::default()).unwrap_or_else(|e| panic!("{e}"))
    }
}

fn decode_text(group: usize, tier: Tier) -> String {
    let (per_cube, cols) = (KV_HEADS / group, group.min(4));
    let mut t = Text { out: String::new(), depth: 0, rows: ROWS };
    t.line("kernel @gqa_decode(%q: view<?x?x64xf16>, %k: view<?x?x64xf16>, %v: view<?x?x64xf16>, %o: view_mut<?x?x64xf16>, %tiles: i32) {");
    t.place(group, per_cube, cols);
    t.line("%first.a = mul %rank, %tiles : i32");
    t.line(&format!("%first = mul %first.a, {TILE} : i32"));
    t.line("%query = load %q[%head, 0, 0] : tile<8x64xf16>");
    t.load("%first", "0");
    t.scores(tier == Tier::Composite, "0");
    t.partial("0");
    t.line("%sum.m, %sum.l, %sum.o = for %t in 1..%tiles carry (%run.m = %m0, %run.l = %l0, %run.o = %o0) {");
    t.depth += 1;
    t.line(&format!("%at.a = mul %t, {TILE} : i32"));
    t.line("%at = add %first, %at.a : i32");
    t.load("%at", "1");
    t.attend(tier);
    t.close();
    let mut sum = "sum".to_string();
    if cols > 1 {
        sum = t.reduce("col", cols, &sum, "east", "west");
    }
    if group > cols {
        t.line("%top = cmp eq %col, 0:i32 : i1");
        t.line("%all.m, %all.l, %all.o = if %top {");
        t.depth += 1;
        let inner = t.reduce("row", group / cols, &sum, "south", "north");
        t.line(&format!("yield %{inner}.m, %{inner}.l, %{inner}.o"));
        t.otherwise(&sum);
        sum = "all".to_string();
    }
    t.line("%root = cmp eq %rank, 0:i32 : i1");
    t.line("if %root {");
    t.depth += 1;
    t.finish(&sum, "0");
    t.close();
    t.close();
    t.out
}

fn prefill_text(group: usize, tier: Tier) -> String {
    let (per_cube, cols) = (KV_HEADS / group, group.min(4));
    let rows = 8 * ROWS / group;
    let mut t = Text { out: String::new(), depth: 0, rows };
    t.line("kernel @gqa_prefill(%q: view<?x?x64xf16>, %k: view<?x?x64xf16>, %v: view<?x?x64xf16>, %o: view_mut<?x?x64xf16>, %tiles: i32) {");
    t.place(group, per_cube, cols);
    t.line(&format!("%from = mul %rank, {rows} : i32"));
    t.line(&format!("%query = load %q[%head, %from, 0] : tile<{rows}x64xf16>"));
    t.broadcast("0", (group, cols), "0");
    t.scores(tier == Tier::Composite, "0");
    t.partial("0");
    t.line("%sum.m, %sum.l, %sum.o = for %t in 1..%tiles carry (%run.m = %m0, %run.l = %l0, %run.o = %o0) {");
    t.depth += 1;
    t.line(&format!("%at = mul %t, {TILE} : i32"));
    t.broadcast("%at", (group, cols), "1");
    t.attend(tier);
    t.close();
    t.finish("sum", "%from");
    t.close();
    t.out
}

struct Text {
    out: String,
    depth: usize,
    /// Query rows of a PE.
    rows: usize,
}

impl Text {
    fn line(&mut self, line: &str) {
        (0..self.depth).for_each(|_| self.out.push_str("  "));
        self.out.push_str(line);
        self.out.push('\n');
    }
    fn lines(&mut self, lines: &[String]) {
        lines.iter().for_each(|line| self.line(line));
    }
    fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }
    /// Which head a PE works on, and where in its group it is.
    fn place(&mut self, group: usize, per_cube: usize, cols: usize) {
        self.depth += 1;
        self.lines(&[
            "%cube = cube_id : i32".to_string(),
            "%pe = pe_id : i32".to_string(),
            format!("%head.a = mul %cube, {per_cube} : i32"),
            format!("%head.b = div %pe, {group} : i32"),
            "%head = add %head.a, %head.b : i32".to_string(),
            format!("%rank = rem %pe, {group} : i32"),
            format!("%col = rem %rank, {cols} : i32"),
            format!("%row = div %rank, {cols} : i32"),
        ]);
    }
    /// A tile of K and V from memory.
    fn load(&mut self, at: &str, mark: &str) {
        self.lines(&[
            format!("%k{mark} = load %k[%head, {at}, 0] : tile<1024x64xf16>"),
            format!("%v{mark} = load %v[%head, {at}, 0] : tile<1024x64xf16>"),
        ]);
    }
    /// A tile of K and V from the root: along its row, and down the first column.
    fn broadcast(&mut self, at: &str, (group, cols): (usize, usize), mark: &str) {
        let receive = |t: &mut Text, from: &str, part: &str| {
            t.lines(&[
                format!("%{part}.k{mark} = recv pe.{from} : tile<1024x64xf16>"),
                format!("%{part}.v{mark} = recv pe.{from} : tile<1024x64xf16>"),
                format!("yield %{part}.k{mark}, %{part}.v{mark}"),
            ]);
        };
        if group == 1 {
            return self.load(at, mark);
        }
        self.line(&format!("%first{mark} = cmp eq %rank, 0:i32 : i1"));
        self.line(&format!("%k{mark}, %v{mark} = if %first{mark} {{"));
        self.depth += 1;
        self.load(at, &format!("{mark}.root"));
        self.line(&format!("yield %k{mark}.root, %v{mark}.root"));
        self.depth -= 1;
        self.line("} else {");
        self.depth += 1;
        self.line(&format!("%left{mark} = cmp eq %col, 0:i32 : i1"));
        self.line(&format!("%k{mark}.far, %v{mark}.far = if %left{mark} {{"));
        self.depth += 1;
        receive(self, "north", "north");
        self.depth -= 1;
        self.line("} else {");
        self.depth += 1;
        receive(self, "west", "west");
        self.close();
        self.line(&format!("yield %k{mark}.far, %v{mark}.far"));
        self.close();
        let pass_on = |t: &mut Text, to: &str| {
            t.depth += 1;
            t.lines(&[format!("send pe.{to}, %k{mark}"), format!("send pe.{to}, %v{mark}")]);
            t.close();
        };
        self.line(&format!("%east{mark} = cmp lt %col, {}:i32 : i1", cols - 1));
        self.line(&format!("if %east{mark} {{"));
        pass_on(self, "east");
        if group > cols {
            self.line(&format!("if %first{mark} {{"));
            pass_on(self, "south");
        }
    }
    fn scores(&mut self, composite: bool, mark: &str) {
        let rows = self.rows;
        let product = |name: &str| {
            [
                format!("%kt{mark} = trans %k{mark} : tile<64x1024xf16>"),
                format!("%{name}{mark} = dot %query, %kt{mark} : tile<{rows}x1024xf16>"),
            ]
        };
        if composite {
            self.line(&format!("%s{mark} = composite {{"));
            self.depth += 1;
            self.lines(&product("qk"));
            self.line(&format!("yield %qk{mark}"));
            self.close();
        } else {
            self.lines(&product("s"));
        }
    }
    /// `%m`, `%l`, `%o` with the mark are the softmax partial of the scores.
    fn partial(&mut self, mark: &str) {
        let rows = self.rows;
        self.lines(&[
            format!("%m{mark} = reduce_max %s{mark} axis 1 : tile<{rows}xf16>"),
            format!("%mw{mark} = broadcast %m{mark} axis 1 : tile<{rows}x1024xf16>"),
            format!("%d{mark} = sub %s{mark}, %mw{mark} : tile<{rows}x1024xf16>"),
            format!("%p{mark} = exp %d{mark} : tile<{rows}x1024xf16>"),
            format!("%l{mark} = reduce_sum %p{mark} axis 1 : tile<{rows}xf16>"),
            format!("%o{mark} = dot %p{mark}, %v{mark} : tile<{rows}x64xf16>"),
        ]);
    }
    /// One more tile of tokens, and the loop's yield.
    fn attend(&mut self, tier: Tier) {
        self.scores(tier != Tier::Plain, "1");
        if tier != Tier::Fused {
            self.partial("1");
            self.merge("run", ("%m1", "%l1", "%o1"), "new");
            return self.line("yield %new.m, %new.l, %new.o");
        }
        let rows = self.rows;
        self.line("%new.m, %new.l, %new.o = composite {");
        self.depth += 1;
        self.lines(&[
            format!("%m1 = reduce_max %s1 axis 1 : tile<{rows}xf16>"),
            format!("%m2 = maximum %run.m, %m1 : tile<{rows}xf16>"),
            format!("%mw1 = broadcast %m2 axis 1 : tile<{rows}x1024xf16>"),
            format!("%d1 = sub %s1, %mw1 : tile<{rows}x1024xf16>"),
            format!("%p1 = exp %d1 : tile<{rows}x1024xf16>"),
            format!("%da = sub %run.m, %m2 : tile<{rows}xf16>"),
            format!("%a = exp %da : tile<{rows}xf16>"),
            format!("%la = mul %run.l, %a : tile<{rows}xf16>"),
            format!("%l1 = reduce_sum %p1 axis 1 : tile<{rows}xf16>"),
            format!("%l2 = add %la, %l1 : tile<{rows}xf16>"),
            format!("%aw = broadcast %a axis 1 : tile<{rows}x64xf16>"),
            format!("%oa = mul %run.o, %aw : tile<{rows}x64xf16>"),
            format!("%o2 = dot %p1, %v1, %oa : tile<{rows}x64xf16>"),
            "yield %m2, %l2, %o2".to_string(),
        ]);
        self.close();
        self.line("yield %new.m, %new.l, %new.o");
    }
    /// Divides and stores.
    fn finish(&mut self, sum: &str, at: &str) {
        let rows = self.rows;
        self.lines(&[
            format!("%wide = broadcast %{sum}.l axis 1 : tile<{rows}x64xf16>"),
            format!("%normal = div %{sum}.o, %wide : tile<{rows}x64xf16>"),
            format!("store %o[%head, {at}, 0], %normal"),
        ]);
    }
    /// Merges two partials.
    fn merge(&mut self, a: &str, (m, l, o): (&str, &str, &str), to: &str) {
        let (row, wide) = (format!("tile<{}xf16>", self.rows), format!("tile<{}x64xf16>", self.rows));
        self.lines(&[
            format!("%{to}.m = maximum %{a}.m, {m} : {row}"),
            format!("%{to}.da = sub %{a}.m, %{to}.m : {row}"),
            format!("%{to}.a = exp %{to}.da : {row}"),
            format!("%{to}.db = sub {m}, %{to}.m : {row}"),
            format!("%{to}.b = exp %{to}.db : {row}"),
            format!("%{to}.la = mul %{a}.l, %{to}.a : {row}"),
            format!("%{to}.lb = mul {l}, %{to}.b : {row}"),
            format!("%{to}.l = add %{to}.la, %{to}.lb : {row}"),
            format!("%{to}.aw = broadcast %{to}.a axis 1 : {wide}"),
            format!("%{to}.oa = mul %{a}.o, %{to}.aw : {wide}"),
            format!("%{to}.bw = broadcast %{to}.b axis 1 : {wide}"),
            format!("%{to}.ob = mul {o}, %{to}.bw : {wide}"),
            format!("%{to}.o = add %{to}.oa, %{to}.ob : {wide}"),
        ]);
    }
    /// One chain along `pos`: receives from the larger position, sends to the smaller. Returns the sum's name.
    fn reduce(&mut self, pos: &str, len: usize, sum: &str, larger: &str, smaller: &str) -> String {
        let to = format!("{pos}.sum");
        self.line(&format!("%{pos}.inner = cmp lt %{pos}, {}:i32 : i1", len - 1));
        self.line(&format!("%{to}.m, %{to}.l, %{to}.o = if %{pos}.inner {{"));
        self.depth += 1;
        for (part, ty) in [("m", "tile<8xf16>"), ("l", "tile<8xf16>"), ("o", "tile<8x64xf16>")] {
            self.line(&format!("%{pos}.in.{part} = recv pe.{larger} : {ty}"));
        }
        let from = ["m", "l", "o"].map(|part| format!("%{pos}.in.{part}"));
        self.merge(sum, (&from[0], &from[1], &from[2]), &format!("{pos}.new"));
        self.line(&format!("yield %{pos}.new.m, %{pos}.new.l, %{pos}.new.o"));
        self.otherwise(sum);
        self.line(&format!("%{pos}.outer = cmp gt %{pos}, 0:i32 : i1"));
        self.line(&format!("if %{pos}.outer {{"));
        self.depth += 1;
        for part in ["m", "l", "o"] {
            self.line(&format!("send pe.{smaller}, %{to}.{part}"));
        }
        self.depth -= 1;
        self.line("}");
        to
    }
    /// The other arm of an `if`, which hands a partial on as it is.
    fn otherwise(&mut self, sum: &str) {
        self.depth -= 1;
        self.line("} else {");
        self.depth += 1;
        self.line(&format!("yield %{sum}.m, %{sum}.l, %{sum}.o"));
        self.depth -= 1;
        self.line("}");
    }
}
