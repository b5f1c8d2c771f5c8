//! The carried set of a region: the variables assigned (or lent as `&mut`) inside it and declared outside. Purely syntactic, scope-aware.

use std::collections::BTreeSet;
use syn::ext::IdentExt;
use syn::visit::{self, Visit};
use syn::{
    Arm, BinOp, Block, Expr, ExprAssign, ExprBinary, ExprClosure, ExprForLoop, ExprIf, ExprLet, ExprReference,
    ExprWhile, Ident, Item, Local, Pat, PatIdent, UnOp,
};

#[derive(Default)]
pub struct Carried {
    /// The variables, in the order of their first assignment.
    pub vars: Vec<Ident>,
    /// The variables `r` of assignments `*r = …`, which cannot be carried.
    pub references: Vec<Ident>,
    scopes: Vec<BTreeSet<String>>,
}

impl Carried {
    pub fn of(walk: impl FnOnce(&mut Carried)) -> Carried {
        let mut carried = Carried { scopes: vec![BTreeSet::new()], ..Carried::default() };
        walk(&mut carried);
        carried
    }
    fn scoped(&mut self, walk: impl FnOnce(&mut Self)) {
        self.scopes.push(BTreeSet::new());
        walk(self);
        self.scopes.pop();
    }
    fn declare(&mut self, pat: &Pat) {
        struct Names<'s>(&'s mut BTreeSet<String>);
        impl<'a> Visit<'a> for Names<'_> {
            fn visit_pat_ident(&mut self, p: &'a PatIdent) {
                self.0.insert(p.ident.unraw().to_string());
                visit::visit_pat_ident(self, p);
            }
            fn visit_expr(&mut self, _: &'a Expr) {}
        }
        if let Some(scope) = self.scopes.last_mut() {
            Names(scope).visit_pat(pat);
        }
    }
    fn declared_inside(&self, name: &Ident) -> bool {
        let name = name.unraw().to_string();
        self.scopes.iter().any(|scope| scope.contains(&name))
    }
    /// `x = …`, `x.f = …`, `x[k] = …` and `(x, y) = …` all assign the variable at the root.
    fn assign(&mut self, place: &Expr) {
        match place {
            Expr::Path(p) => {
                if let Some(name) = p.path.get_ident()
                    && !self.declared_inside(name)
                    && !self.vars.contains(name)
                {
                    self.vars.push(name.clone());
                }
            }
            Expr::Field(f) => self.assign(&f.base),
            Expr::Index(i) => self.assign(&i.expr),
            Expr::Paren(p) => self.assign(&p.expr),
            Expr::Group(g) => self.assign(&g.expr),
            Expr::Tuple(t) => t.elems.iter().for_each(|e| self.assign(e)),
            Expr::Array(a) => a.elems.iter().for_each(|e| self.assign(e)),
            Expr::Call(c) => c.args.iter().for_each(|e| self.assign(e)),
            Expr::Struct(s) => s.fields.iter().for_each(|f| self.assign(&f.expr)),
            Expr::Unary(_) => {
                if let Some(name) = reference(place)
                    && !self.declared_inside(name)
                {
                    self.references.push(name.clone());
                }
            }
            // `_`, `..` and what rustc refuses as a place: nothing is assigned.
            _ => {}
        }
    }
}

/// The variable that a place is part of.
pub fn root(place: &Expr) -> Option<&Ident> {
    match place {
        Expr::Path(p) => p.path.get_ident(),
        Expr::Field(f) => root(&f.base),
        Expr::Index(i) => root(&i.expr),
        Expr::Paren(p) => root(&p.expr),
        Expr::Group(g) => root(&g.expr),
        _ => None,
    }
}
/// The variable `r` of a place `*r`.
pub fn reference(place: &Expr) -> Option<&Ident> {
    match place {
        Expr::Unary(u) if matches!(u.op, UnOp::Deref(_)) => match &*u.expr {
            Expr::Path(p) => p.path.get_ident(),
            _ => None,
        },
        Expr::Paren(p) => reference(&p.expr),
        Expr::Group(g) => reference(&g.expr),
        Expr::Field(f) => reference(&f.base),
        Expr::Index(i) => reference(&i.expr),
        _ => None,
    }
}

/// `+=` and its siblings.
pub fn is_compound(op: &BinOp) -> bool {
    matches!(
        op,
        BinOp::AddAssign(_)
            | BinOp::SubAssign(_)
            | BinOp::MulAssign(_)
            | BinOp::DivAssign(_)
            | BinOp::RemAssign(_)
            | BinOp::BitAndAssign(_)
            | BinOp::BitOrAssign(_)
            | BinOp::BitXorAssign(_)
            | BinOp::ShlAssign(_)
            | BinOp::ShrAssign(_)
    )
}

impl<'a> Visit<'a> for Carried {
    fn visit_local(&mut self, l: &'a Local) {
        visit::visit_local(self, l);
        self.declare(&l.pat);
    }
    fn visit_block(&mut self, b: &'a Block) {
        self.scoped(|c| visit::visit_block(c, b));
    }
    fn visit_arm(&mut self, a: &'a Arm) {
        self.scoped(|c| {
            c.declare(&a.pat);
            visit::visit_arm(c, a);
        });
    }
    fn visit_expr_closure(&mut self, e: &'a ExprClosure) {
        self.scoped(|c| {
            e.inputs.iter().for_each(|p| c.declare(p));
            c.visit_expr(&e.body);
        });
    }
    fn visit_expr_for_loop(&mut self, f: &'a ExprForLoop) {
        self.visit_expr(&f.expr);
        self.scoped(|c| {
            c.declare(&f.pat);
            c.visit_block(&f.body);
        });
    }
    fn visit_expr_if(&mut self, i: &'a ExprIf) {
        self.scoped(|c| {
            c.visit_expr(&i.cond);
            c.visit_block(&i.then_branch);
        });
        if let Some((_, other)) = &i.else_branch {
            self.visit_expr(other);
        }
    }
    fn visit_expr_while(&mut self, w: &'a ExprWhile) {
        self.scoped(|c| visit::visit_expr_while(c, w));
    }
    fn visit_expr_let(&mut self, l: &'a ExprLet) {
        visit::visit_expr_let(self, l);
        self.declare(&l.pat);
    }
    fn visit_expr_assign(&mut self, e: &'a ExprAssign) {
        visit::visit_expr_assign(self, e);
        self.assign(&e.left);
    }
    fn visit_expr_binary(&mut self, e: &'a ExprBinary) {
        visit::visit_expr_binary(self, e);
        if is_compound(&e.op) {
            self.assign(&e.left);
        }
    }
    /// What is lent for change is assigned.
    fn visit_expr_reference(&mut self, e: &'a ExprReference) {
        visit::visit_expr_reference(self, e);
        if e.mutability.is_some() && root(&e.expr).is_some() {
            self.assign(&e.expr);
        }
    }
    // An item inside a body cannot reach the body's variables.
    fn visit_item(&mut self, _: &'a Item) {}
}
