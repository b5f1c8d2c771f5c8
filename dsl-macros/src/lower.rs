//! Comparisons, `&&`/`||`, `if`, `while`, `for` over a range literal, names of `let` and assignments. Nothing else
//! changes. Generated variables are hygienic (`mixed_site`), so no name of the user's can meet them; a generated call
//! carries the span of the user's header or operand, so `Location::caller()` is the user's line and column.
//! A refused construct is reported on its token and replaced by a hole, so that rustc has nothing to add.

use crate::carried::{Carried, is_compound, reference, root};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Arm, BinOp, Block, Error, Expr, ExprBinary, ExprCall, ExprForLoop, ExprIf, ExprStruct, ExprWhile, GenericArgument,
    Ident, Item, LitStr, Local, LocalInit, Macro, Member, Pat, Path, RangeLimits, Stmt, Token, Type,
};

/// Rewrites a body in place; the errors are those of the user.
pub fn lower(body: &mut Block) -> Vec<Error> {
    let mut l = Lower::default();
    l.visit_block_mut(body);
    l.errors
}

/// What stands for `mut self` in a device function, since a region cannot bind `self`.
pub const RENAMED_SELF: &str = "self_";

/// A variable of generated code.
pub fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

#[derive(Default)]
struct Lower {
    errors: Vec<Error>,
    /// Variables `r` of refused assignments `*r = …`, and `self`.
    references: Vec<Ident>,
    /// Depth of regions around the current place, counted from the innermost closure.
    regions: usize,
}

impl Lower {
    fn error(&mut self, at: Span, text: &str) {
        self.errors.push(Error::new(at, text));
    }
    /// Reports `at` and gives an expression of any type to stand in its place.
    fn refuse(&mut self, at: Span, text: &str) -> Option<Expr> {
        self.error(at, text);
        Some(Expr::Verbatim(quote!({ ::core::unreachable!() })))
    }
    fn in_region(&mut self, walk: impl FnOnce(&mut Self)) {
        self.regions += 1;
        walk(self);
        self.regions -= 1;
    }
    fn carried(&mut self, walk: impl FnOnce(&mut Carried)) -> Vec<Ident> {
        let carried = Carried::of(walk);
        for r in carried.references {
            if !self.references.contains(&r) {
                let text = "an assignment through a reference cannot be carried by kernel control flow: \
                            assign to a variable here, and write it back after the `if` or loop";
                self.error(r.span(), text);
                self.references.push(r);
            }
        }
        let is_self = |v: &&Ident| *v == "self";
        if let Some(v) = carried.vars.iter().find(is_self)
            && !self.references.contains(v)
        {
            let text = "`self` behind a reference cannot be carried by kernel control flow: \
                        take `mut self` and return it";
            self.error(v.span(), text);
            self.references.push(v.clone());
        }
        carried.vars.into_iter().filter(|v| !is_self(&v)).collect()
    }
    /// Reports assignments in an expression that must have none; says whether there are any.
    fn forbid_assignments(&mut self, e: &Expr, text: &str) -> bool {
        let found = Carried::of(|c| c.visit_expr(e)).vars;
        found.iter().for_each(|v| self.error(v.span(), text));
        !found.is_empty()
    }

    /// Whether an assignment to this place has been refused, so that rustc must not see it.
    fn is_refused(&self, place: &Expr) -> bool {
        let through = reference(place).or_else(|| root(place).filter(|v| *v == "self"));
        self.regions > 0 && through.is_some_and(|r| self.references.contains(r))
    }

    fn binary(&mut self, b: &mut ExprBinary) -> Option<Expr> {
        if matches!(b.op, BinOp::And(_) | BinOp::Or(_)) {
            let text = "the right side of `&&` and `||` may not run at all, so it cannot assign: use `if`";
            if self.forbid_assignments(&b.right, text) {
                self.visit_expr_mut(&mut b.left);
                return Some((*b.left).clone()); // of the right type, so that rustc has nothing to add
            }
        }
        visit_mut::visit_expr_binary_mut(self, b);
        let (left, right, at) = (&b.left, &b.right, b.left.span());
        let (tr, f) = match b.op {
            BinOp::Lt(_) => ("OrderedWith", "lt"),
            BinOp::Le(_) => ("OrderedWith", "le"),
            BinOp::Gt(_) => ("OrderedWith", "gt"),
            BinOp::Ge(_) => ("OrderedWith", "ge"),
            BinOp::Eq(_) => ("EqualTo", "eq"),
            BinOp::Ne(_) => ("EqualTo", "ne"),
            BinOp::And(_) => {
                return Some(Expr::Verbatim(quote_spanned!(at=> ::tilewright::rules::Logic::and(#left, || #right))));
            }
            BinOp::Or(_) => {
                return Some(Expr::Verbatim(quote_spanned!(at=> ::tilewright::rules::Logic::or(#left, || #right))));
            }
            _ => return None,
        };
        let (tr, f) = (Ident::new(tr, b.op.span()), Ident::new(f, b.op.span()));
        Some(Expr::Verbatim(quote_spanned!(at=> ::tilewright::rules::#tr::#f(&(#left), &(#right)))))
    }

    fn branch(&mut self, i: &mut ExprIf) -> Expr {
        let vars = self.carried(|c| {
            c.visit_block(&i.then_branch);
            i.else_branch.iter().for_each(|(_, e)| c.visit_expr(e));
        });
        self.visit_expr_mut(&mut i.cond);
        self.in_region(|l| {
            l.visit_block_mut(&mut i.then_branch);
            i.else_branch.iter_mut().for_each(|(_, e)| l.visit_expr_mut(e));
        });
        let (attrs, cond, then) = (&i.attrs, &i.cond, &i.then_branch);
        let other = i.else_branch.as_ref().map_or_else(|| quote!({}), |(_, e)| quote!(#e));
        let c = Carry::new(&vars);
        let (values, pattern, names) = (&c.values, &c.pattern, &c.names);
        let (v, rest) = (local("__value"), local("__carried"));
        let call = quote_spanned!(cond.span()=> ::tilewright::rules::Condition::branch(
            #cond, #names, #values,
            |#pattern| { let #v = #then; (#v, #values) },
            |#pattern| { let #v = #other; (#v, #values) },
        ));
        Expr::Verbatim(quote!(#(#attrs)* { let (#v, #rest) = #call; #values = #rest; #v }))
    }

    fn range_loop(&mut self, f: &mut ExprForLoop) -> Expr {
        let vars = self.carried(|c| {
            c.visit_expr_for_loop(&ExprForLoop { expr: Box::new(Expr::Verbatim(quote!(()))), ..f.clone() });
        });
        let at = f.expr.span();
        self.visit_expr_mut(&mut f.expr);
        self.in_region(|l| l.visit_block_mut(&mut f.body));
        let (attrs, header, index, body) = (&f.attrs, &f.expr, &f.pat, &f.body);
        let index_name = pattern_name(index).unwrap_or_else(|| LitStr::new("", Span::call_site()));
        let c = Carry::new(&vars);
        let (values, pattern, names) = (&c.values, &c.pattern, &c.names);
        let call = quote_spanned!(at=> ::tilewright::rules::Carried::counted(
            #values, #header, #index_name, #names, |#index, #pattern| { #body; #values },
        ));
        Expr::Verbatim(quote!(#(#attrs)* { #values = #call; }))
    }

    fn while_loop(&mut self, w: &mut ExprWhile) -> Expr {
        let text = "a `while` condition cannot assign: move the assignment into the body";
        if self.forbid_assignments(&w.cond, text) {
            return Expr::Verbatim(quote!({}));
        }
        let vars = self.carried(|c| c.visit_block(&w.body));
        self.in_region(|l| {
            l.visit_expr_mut(&mut w.cond);
            l.visit_block_mut(&mut w.body);
        });
        let (attrs, cond, body) = (&w.attrs, &w.cond, &w.body);
        let c = Carry::new(&vars);
        let (values, pattern, names) = (&c.values, &c.pattern, &c.names);
        let call = quote_spanned!(cond.span()=> ::tilewright::rules::Carried::repeated(
            #values, #names, |#pattern| ::tilewright::rules::DeviceCondition::flag(#cond), |#pattern| { #body; #values },
        ));
        Expr::Verbatim(quote!(#(#attrs)* { #values = #call; }))
    }

    /// A loop header rooted in a range literal is a device loop: the literal becomes `range(lo, hi)`, methods stay.
    fn device_header(&mut self, e: &mut Expr) -> bool {
        match e {
            Expr::Paren(p) => self.device_header(&mut p.expr),
            Expr::Group(g) => self.device_header(&mut g.expr),
            Expr::MethodCall(m) => {
                if !self.device_header(&mut m.receiver) {
                    return false;
                }
                if m.method != "step_by" && m.method != "stages" {
                    let text = "a device loop counts up and takes `.step_by(n)` and `.stages(n)`; \
                                for any other iterator write `for i in unroll(..)`, which runs while tracing";
                    self.error(m.method.span(), text);
                    *e = (*m.receiver).clone();
                }
                true
            }
            Expr::Range(r) => {
                if r.start.is_none() || r.end.is_none() || matches!(r.limits, RangeLimits::Closed(_)) {
                    let text = "a kernel loop needs both ends: write `a..b` (for `a..=b` write `a..b + 1`)";
                    self.error(r.limits.span(), text);
                }
                let end = |e: &Option<Box<Expr>>| e.as_ref().map_or_else(|| quote!(0i32), |e| quote!(#e));
                // The ends are lowered here: what replaces them is not walked again.
                r.start.iter_mut().chain(r.end.iter_mut()).for_each(|e| self.visit_expr_mut(e));
                let (lo, hi) = (end(&r.start), end(&r.end));
                *e = Expr::Verbatim(quote_spanned!(r.span()=> ::tilewright::rules::LoopEnds::range((#lo, #hi))));
                true
            }
            _ => false,
        }
    }

    /// `map_reduce(a..b, |t| .., |x, y| ..)`: the range is a device loop's, and the closures' arguments name values.
    fn map_reduce(&mut self, c: &mut ExprCall) {
        let names = |at: usize, defaults: &[&str]| -> Vec<LitStr> {
            let default = |i: usize| LitStr::new(defaults[i], Span::call_site());
            let named = |i: usize| match c.args.get(at) {
                Some(Expr::Closure(closure)) => closure.inputs.get(i).and_then(pattern_name),
                Some(_) | None => None,
            };
            (0..defaults.len()).map(|i| named(i).unwrap_or_else(|| default(i))).collect()
        };
        let (index, merged) = (names(1, &[""]), names(2, &["a", "b"]));
        let Some(range) = c.args.first_mut() else { return };
        let at = range.span();
        if !self.device_header(range) {
            self.error(
                at,
                "`map_reduce` runs over a range: write `a..b`, or `(a..b)` with `.step_by(n)` and `.stages(n)`",
            );
            *range = Expr::Verbatim(quote!(::tilewright::rules::LoopEnds::range((0i32, 0i32))));
        }
        c.args.iter_mut().for_each(|arg| self.visit_expr_mut(arg));
        if let Some(range) = c.args.first_mut() {
            let named = quote_spanned!(at=> ::tilewright::rules::DeviceLoop::named(#range, #(#index)*, [#(#merged),*]));
            *range = Expr::Verbatim(named);
        }
    }

    /// The operands of a condition with `let` in it: `&&` stays Rust's own, so what is no `let` has to be a `bool`.
    fn let_condition(&mut self, e: &mut Expr) {
        match e {
            Expr::Binary(b) if matches!(b.op, BinOp::And(_)) => {
                self.let_condition(&mut b.left);
                self.let_condition(&mut b.right);
            }
            Expr::Let(l) => self.visit_expr_mut(&mut l.expr),
            e => self.host_condition(e),
        }
    }
    /// A condition that belongs to a pattern. A hole in it has the type of none, so then rustc is not asked.
    fn host_condition(&mut self, e: &mut Expr) {
        let (at, errors) = (e.span(), self.errors.len());
        self.visit_expr_mut(e);
        if self.errors.len() == errors {
            *e = Expr::Verbatim(quote_spanned!(at=> ::tilewright::rules::HostCondition::known(#e)));
        }
    }

    /// A field names its value, as `let` does. The call keeps the temporaries of the field's expression alive.
    fn name_fields(&mut self, s: &mut ExprStruct) {
        visit_mut::visit_expr_struct_mut(self, s);
        for f in s.fields.iter_mut().filter(|f| f.colon_token.is_some() && makes_values(&f.expr)) {
            let Member::Named(id) = &f.member else { continue };
            let (name, e) = (literal(id), &f.expr);
            f.expr = Expr::Verbatim(quote!(::tilewright::__rt::named(::tilewright::__rt::mark(), #e, #name)));
        }
    }

    fn missing_value(&mut self, l: &mut Local) {
        self.error(
            l.span(),
            "a kernel variable needs a value where it is declared: write `let x = if .. { .. } else { .. };`",
        );
        let pat = match &mut l.pat {
            Pat::Type(t) => &mut *t.pat,
            pat => pat,
        };
        if let Pat::Ident(p) = pat {
            p.mutability = Some(<Token![mut]>::default());
        }
        let expr = Box::new(Expr::Verbatim(quote!(::tilewright::__rt::hole())));
        l.init = Some(LocalInit { eq_token: <Token![=]>::default(), expr, diverge: None });
    }
}

impl VisitMut for Lower {
    fn visit_expr_mut(&mut self, e: &mut Expr) {
        let new = match e {
            Expr::Struct(s) => {
                self.name_fields(s);
                None
            }
            // What rustc evaluates itself stays as it is: an inline `const`, the length of `[x; n]`.
            Expr::Const(_) => None,
            Expr::Repeat(r) => {
                self.visit_expr_mut(&mut r.expr);
                None
            }
            Expr::Closure(c) => {
                let outside = std::mem::take(&mut self.regions);
                self.visit_expr_mut(&mut c.body);
                self.regions = outside;
                None
            }
            Expr::Assign(a) if self.is_refused(&a.left) => Some(Expr::Verbatim(quote!({}))),
            Expr::Binary(b) if is_compound(&b.op) && self.is_refused(&b.left) => Some(Expr::Verbatim(quote!({}))),
            Expr::Binary(b) => self.binary(b),
            Expr::If(i) if has_let(&i.cond) => {
                self.let_condition(&mut i.cond);
                self.visit_block_mut(&mut i.then_branch);
                i.else_branch.iter_mut().for_each(|(_, e)| self.visit_expr_mut(e));
                None
            }
            Expr::If(i) => Some(self.branch(i)),
            Expr::ForLoop(f) => {
                if self.device_header(&mut f.expr) {
                    Some(self.range_loop(f))
                } else {
                    visit_mut::visit_expr_for_loop_mut(self, f);
                    None
                }
            }
            Expr::While(w) if has_let(&w.cond) => {
                self.let_condition(&mut w.cond);
                self.visit_block_mut(&mut w.body);
                None
            }
            Expr::While(w) => Some(self.while_loop(w)),
            Expr::Call(c) if is_map_reduce(&c.func) => {
                self.map_reduce(c);
                None
            }
            Expr::Return(r) if self.regions > 0 => self.refuse(
                r.return_token.span,
                "`return` under kernel control flow: give the `if` a value, or assign to a variable and fall through",
            ),
            Expr::Break(b) => self.refuse(b.break_token.span, "`break` in a kernel: put the condition into `while`"),
            Expr::Continue(c) => {
                self.refuse(c.continue_token.span, "`continue` in a kernel: wrap the rest of the body in `if`")
            }
            Expr::Loop(l) => self.refuse(l.loop_token.span, "`loop` in a kernel: write `while condition`"),
            Expr::Try(t) => {
                let text = "`?` in a kernel: check on the host before the launch, or use `assert_k!`";
                self.error(t.question_token.span, text);
                self.visit_expr_mut(&mut t.expr);
                let inner = &t.expr;
                Some(Expr::Verbatim(quote_spanned!(inner.span()=> ::tilewright::rules::Tried::value(#inner))))
            }
            Expr::Await(a) => self.refuse(a.await_token.span, "`await` in a kernel: `recv` already waits"),
            // Every other form holds expressions at most: they are lowered where they stand.
            _ => {
                visit_mut::visit_expr_mut(self, e);
                None
            }
        };
        if let Some(new) = new {
            *e = new;
        }
    }
    /// `assert_k!` and `print_k!` belong to the language: their arguments are lowered too. Other macros are left alone.
    fn visit_macro_mut(&mut self, m: &mut Macro) {
        if !is_language_macro(&m.path) {
            return;
        }
        let Ok(mut args) = m.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated) else { return };
        args.iter_mut().for_each(|a| self.visit_expr_mut(a));
        m.tokens = quote!(#args);
    }
    fn visit_block_mut(&mut self, b: &mut Block) {
        let mark = local("__mark");
        let mut out = Vec::with_capacity(b.stmts.len());
        for mut s in std::mem::take(&mut b.stmts) {
            let name = assigned_name(&s);
            if let Stmt::Local(l) = &mut s
                && l.init.is_none()
            {
                self.missing_value(l);
            }
            self.visit_stmt_mut(&mut s);
            let Some(name) = name else {
                out.push(s);
                continue;
            };
            out.push(verbatim(quote!(let #mark = ::tilewright::__rt::mark();)));
            out.push(s);
            out.push(verbatim(quote!(::tilewright::__rt::name_last(#mark, #name);)));
        }
        b.stmts = out;
    }
    fn visit_arm_mut(&mut self, a: &mut Arm) {
        if let Some((_, guard)) = &mut a.guard {
            self.let_condition(guard);
        }
        self.visit_expr_mut(&mut a.body);
    }
    // Types, patterns, generic arguments and items hold only what rustc evaluates.
    fn visit_type_mut(&mut self, _: &mut Type) {}
    fn visit_pat_mut(&mut self, _: &mut Pat) {}
    fn visit_generic_argument_mut(&mut self, _: &mut GenericArgument) {}
    fn visit_item_mut(&mut self, _: &mut Item) {}
}

fn verbatim(tokens: TokenStream) -> Stmt {
    Stmt::Expr(Expr::Verbatim(tokens), None)
}
fn literal(name: &Ident) -> LitStr {
    let name = name.unraw().to_string();
    LitStr::new(if name == RENAMED_SELF { "self" } else { &name }, Span::call_site())
}
fn is_language_macro(path: &Path) -> bool {
    path.segments.last().is_some_and(|s| s.ident == "assert_k" || s.ident == "print_k")
}
fn is_map_reduce(callee: &Expr) -> bool {
    matches!(callee, Expr::Path(p) if p.path.segments.last().is_some_and(|s| s.ident == "map_reduce"))
}
fn pattern_name(pat: &Pat) -> Option<LitStr> {
    match pat {
        Pat::Ident(p) => Some(literal(&p.ident)),
        Pat::Type(t) => pattern_name(&t.pat),
        _ => None,
    }
}
/// `let x = …;`, `x = …;` and `x += …;` name the SSA value they produce.
fn assigned_name(s: &Stmt) -> Option<LitStr> {
    let variable = |e: &Expr| match e {
        Expr::Path(p) => p.path.get_ident().map(literal),
        _ => None,
    };
    match s {
        Stmt::Local(Local { pat, init: Some(init), .. }) if makes_values(&init.expr) => pattern_name(pat),
        Stmt::Expr(Expr::Assign(a), Some(_)) if makes_values(&a.right) => variable(&a.left),
        Stmt::Expr(Expr::Binary(b), Some(_)) if is_compound(&b.op) => variable(&b.left),
        _ => None,
    }
}
/// Whether evaluating the expression can trace an op; a path, a literal, a closure cannot.
fn makes_values(e: &Expr) -> bool {
    match e {
        Expr::Path(_) | Expr::Lit(_) | Expr::Closure(_) | Expr::Reference(_) | Expr::Const(_) => false,
        Expr::Paren(p) => makes_values(&p.expr),
        Expr::Group(g) => makes_values(&g.expr),
        _ => true,
    }
}
fn has_let(e: &Expr) -> bool {
    match e {
        Expr::Let(_) => true,
        Expr::Binary(b) if matches!(b.op, BinOp::And(_)) => has_let(&b.left) || has_let(&b.right),
        Expr::Paren(p) => has_let(&p.expr),
        Expr::Group(g) => has_let(&g.expr),
        _ => false,
    }
}

/// Any number of carried variables has one shape: `(a, (b, ()))`.
struct Carry {
    values: TokenStream,
    pattern: TokenStream,
    names: TokenStream,
}
impl Carry {
    fn new(vars: &[Ident]) -> Carry {
        let nest = |mutable: TokenStream| {
            vars.iter().rev().fold(quote!(()), |rest, v| quote_spanned!(v.span()=> (#mutable #v, #rest)))
        };
        let names = vars.iter().map(literal);
        Carry { values: nest(quote!()), pattern: nest(quote!(mut)), names: quote!(&[#(#names),*]) }
    }
}
