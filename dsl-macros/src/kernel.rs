//! What stands around the body of a `#[kernel]`: the host function of the same name, with plain parameter types, that
//! gives a launch builder. `fn k(x: View<T, 2>, n: Scalar<i32>, #[comptime] t: Tier)` becomes
//! `fn k(x: &Tensor<T, 2>, n: i32, t: Tier) -> Launch`.

use crate::attributes::Attributes;
use crate::lower::{local, lower};
use crate::{quiet, refused_qualifiers, without_qualifiers};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{
    Attribute, Error, Expr, ExprLit, FnArg, GenericParam, Generics, ItemFn, Lifetime, Lit, Meta, Pat, PatType,
    PathArguments, ReturnType, Type, parse_quote,
};

pub fn expand(mut f: ItemFn, attributes: &Attributes) -> TokenStream {
    let mut errors = refused_qualifiers(&f.sig);
    without_qualifiers(&mut f.sig);
    errors.extend(lower(&mut f.block));
    refuse_lifetimes(&f.sig.generics, &mut errors);
    if let ReturnType::Type(arrow, ty) = &f.sig.output {
        let text = "a kernel returns nothing: write results to a `ViewMut` parameter";
        errors.push(Error::new_spanned(quote!(#arrow #ty), text));
        // The body's type stays as written, so that rustc has nothing to add; the value is dropped.
    }
    let mut params = Vec::new();
    for (i, arg) in f.sig.inputs.iter().enumerate() {
        params.push(Param::of(i, arg).map_err(|error| errors.push(error)).ok());
    }
    let all: Option<Vec<&Param>> = params.iter().map(Option::as_ref).collect();
    let host = match all {
        Some(params) if f.sig.generics.lifetimes().next().is_none() => host_function(&f, attributes, &params, &errors),
        _ => stub(&f, &params),
    };
    let errors = errors.iter().map(|e| e.to_compile_error());
    quote!(#host #(#errors)*)
}

/// A host function in place of a kernel whose parameters (or lifetimes) were refused, so that its calls are sound: a
/// refused parameter takes anything.
fn stub(f: &ItemFn, params: &[Option<Param>]) -> TokenStream {
    let life = Lifetime::new("'__launch", Span::mixed_site());
    let (vis, name) = (&f.vis, &f.sig.ident);
    let hosts = params.iter().zip(&f.sig.inputs).filter_map(|(param, arg)| match (param, arg) {
        (Some(p), _) => {
            let (cfgs, host) = (&p.cfgs, p.host(&life));
            Some(quote!(#(#cfgs)* _: #host))
        }
        (None, FnArg::Typed(_)) => Some(quote!(_: impl ::core::marker::Sized)),
        (None, FnArg::Receiver(_)) => None,
    });
    let mut generics = f.sig.generics.clone();
    generics.params.insert(0, parse_quote!(#life));
    let (generics, _, where_) = generics.split_for_impl();
    quote! {
        #[allow(clippy::too_many_arguments)]
        #vis fn #name #generics (#(#hosts),*) -> ::tilewright::__rt::Launch<#life> #where_ { ::core::unreachable!() }
    }
}

fn refuse_lifetimes(generics: &Generics, errors: &mut Vec<Error>) {
    for p in generics.lifetimes() {
        errors.push(Error::new_spanned(p, "a kernel has no lifetime parameters: its parameters are handles"));
    }
}

/// One parameter, with what each place of the generated code says of it.
struct Param {
    name: Ident,
    /// `mut`, where the body changes its copy.
    mutability: Option<syn::Token![mut]>,
    ty: Type,
    comptime: bool,
    /// `#[cfg]`s, repeated wherever the parameter is mentioned.
    cfgs: Vec<Attribute>,
    /// Its doc comment, which rustc does not allow on parameters: it moves to the function's documentation.
    doc: Option<String>,
    /// The variable that holds the bound argument.
    slot: Ident,
}

impl Param {
    fn of(index: usize, arg: &FnArg) -> Result<Param, Error> {
        let p = match arg {
            FnArg::Typed(p) => p,
            FnArg::Receiver(r) => {
                return Err(Error::new_spanned(r, "a kernel is a free function; make this a `#[device]` method"));
            }
        };
        let Pat::Ident(id) = &*p.pat else {
            return Err(Error::new_spanned(&p.pat, "a kernel parameter is a plain name: take it apart in the body"));
        };
        if let Some(t) = &id.by_ref {
            return Err(Error::new_spanned(t, "a kernel parameter is a plain name: remove `ref`"));
        }
        if let Some((at, _)) = &id.subpat {
            return Err(Error::new_spanned(at, "a kernel parameter is a plain name: take it apart in the body"));
        }
        if let Type::ImplTrait(t) = peel(&p.ty) {
            let text = "a kernel parameter is a `View`, `ViewMut`, `Scalar`, or a `#[comptime]` value; \
                        `impl` parameters belong to `#[device]` functions";
            return Err(Error::new_spanned(t, text));
        }
        let mut param = Param {
            name: id.ident.clone(),
            mutability: id.mutability,
            ty: (*p.ty).clone(),
            comptime: false,
            cfgs: Vec::new(),
            doc: None,
            slot: local(&format!("__slot{index}")),
        };
        param.attributes(p)?;
        Ok(param)
    }
    fn attributes(&mut self, p: &PatType) -> Result<(), Error> {
        for a in &p.attrs {
            match a.path().get_ident().map(Ident::to_string).as_deref() {
                Some("comptime") => {
                    a.meta.require_path_only()?;
                    self.comptime = true;
                }
                Some("cfg" | "cfg_attr") => self.cfgs.push(a.clone()),
                Some("allow" | "warn" | "expect" | "deny" | "forbid") => {}
                Some("doc") => self.doc = Some([self.doc.take().unwrap_or_default(), doc_text(a)].concat()),
                _ => {
                    let text = "a kernel parameter takes `#[comptime]`, `#[cfg(..)]` and doc comments only";
                    return Err(Error::new_spanned(a, text));
                }
            }
        }
        Ok(())
    }
    fn text(&self) -> String {
        self.name.unraw().to_string()
    }
    /// What the host passes. The three names of the language are spelled out, so that signatures read well, element
    /// types are inferred from the tensors, and instances of one kernel have one function pointer type; an alias goes
    /// through the trait.
    fn host(&self, life: &Lifetime) -> TokenStream {
        let ty = peel(&self.ty);
        if self.comptime {
            return quote!(#ty);
        }
        if let Type::Path(p) = ty
            && let Some(last) = p.path.segments.last()
            && let PathArguments::AngleBracketed(a) = &last.arguments
        {
            let args = &a.args;
            match last.ident.to_string().as_str() {
                "View" => return quote_spanned!(ty.span()=> &#life ::tilewright::__rt::Tensor<#args>),
                "ViewMut" => return quote_spanned!(ty.span()=> &#life mut ::tilewright::__rt::Tensor<#args>),
                "Scalar" => return quote!(#args),
                _ => {}
            }
        }
        quote_spanned!(ty.span()=> <#ty as ::tilewright::rules::Parameter>::Host<#life>)
    }
    fn bind(&self, launch: &Ident) -> TokenStream {
        let (cfgs, slot, name, text, ty) = (&self.cfgs, &self.slot, &self.name, self.text(), &self.ty);
        if self.comptime {
            let call = quote_spanned!(ty.span()=> #launch.comptime(#text, &#name));
            quote!(#(#cfgs)* let #slot = { #call; #name };)
        } else {
            let call = quote_spanned!(ty.span()=> #launch.bind::<#ty>(#text, #name));
            quote!(#(#cfgs)* let #slot = #call;)
        }
    }
    /// The argument of the body, each time it is traced.
    fn argument(&self) -> TokenStream {
        let (cfgs, slot, ty) = (&self.cfgs, &self.slot, &self.ty);
        let value = if self.comptime {
            quote!(::core::clone::Clone::clone(&#slot))
        } else {
            quote_spanned!(ty.span()=> #slot.handle())
        };
        quote!(#(#cfgs)* #value)
    }
}

/// The type behind the invisible groups of macro fragments, and behind parentheses.
fn peel(ty: &Type) -> &Type {
    match ty {
        Type::Group(g) => peel(&g.elem),
        Type::Paren(p) => peel(&p.elem),
        ty => ty,
    }
}

fn doc_text(a: &Attribute) -> String {
    match &a.meta {
        Meta::NameValue(m) => match &m.value {
            Expr::Lit(ExprLit { lit: Lit::Str(s), .. }) => s.value(),
            _ => String::new(),
        },
        Meta::Path(_) | Meta::List(_) => String::new(),
    }
}

fn host_function(f: &ItemFn, attributes: &Attributes, params: &[&Param], errors: &[Error]) -> TokenStream {
    let (vis, name, generics, attrs, body) = (&f.vis, &f.sig.ident, &f.sig.generics, &f.attrs, &f.block);
    let (text, where_, output, quiet) =
        (name.unraw().to_string(), &generics.where_clause, &f.sig.output, quiet(errors));
    let life = Lifetime::new("'__launch", Span::mixed_site());
    let launch = local("__launch");
    let docs = params.iter().filter_map(|p| p.doc.as_ref().map(|d| format!(" - `{}`:{d}", p.name)));
    let hosts = params.iter().map(|p| {
        let (cfgs, name, host) = (&p.cfgs, &p.name, p.host(&life));
        quote!(#(#cfgs)* #name: #host)
    });
    let inner_params = params.iter().map(|p| {
        let (cfgs, mutability, name, ty) = (&p.cfgs, &p.mutability, &p.name, &p.ty);
        quote!(#(#cfgs)* #mutability #name: #ty)
    });
    let (keys, binds) = (keys(generics, &launch), params.iter().map(|p| p.bind(&launch)));
    let arguments = params.iter().map(|p| p.argument());
    let denied = &attributes.deny;
    let mut outer = generics.clone();
    outer.params.insert(0, parse_quote!(#life));
    let (outer, _, _) = outer.split_for_impl();
    let (inner, turbofish, _) = generics.split_for_impl();
    let turbofish = turbofish.as_turbofish();
    let new = quote_spanned!(name.span()=> ::tilewright::__rt::Launch::new(#text, ::core::module_path!()));
    quote! {
        #(#attrs)* #(#[doc = #docs])* #[allow(clippy::too_many_arguments)]
        #vis fn #name #outer (#(#hosts),*) -> ::tilewright::__rt::Launch<#life> #where_ {
            #quiet #[allow(clippy::too_many_arguments)]
            fn __body #inner (#(#inner_params),*) #output #where_ #body
            let mut #launch = #new;
            #(#keys)*
            #(#binds)*
            #(#launch.deny(#denied);)*
            #launch.body(__body #turbofish as *const (), move || { let _ = __body #turbofish (#(#arguments),*); })
        }
    }
}

/// The part of the specialisation key that generic parameters are.
fn keys(generics: &Generics, launch: &Ident) -> Vec<TokenStream> {
    let key = |p: &GenericParam| match p {
        GenericParam::Type(t) => {
            let (id, text) = (&t.ident, t.ident.to_string());
            quote_spanned!(id.span()=> #launch.type_param::<#id>(#text);)
        }
        GenericParam::Const(c) => {
            let (id, text) = (&c.ident, c.ident.to_string());
            quote_spanned!(id.span()=> #launch.const_param(#text, #id);)
        }
        GenericParam::Lifetime(_) => quote!(),
    };
    generics.params.iter().map(key).collect()
}
