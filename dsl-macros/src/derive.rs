//! `#[derive(Value)]`: a struct of kernel values is a kernel value, part by part.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Data, DeriveInput, Error, Ident, Member, Path, Type};

pub fn expand(s: &DeriveInput) -> TokenStream {
    let fields = match &s.data {
        Data::Struct(d) => &d.fields,
        Data::Enum(d) => return refuse(d.enum_token.span),
        Data::Union(d) => return refuse(d.union_token.span),
    };
    let (name, (impl_, ty, where_)) = (&s.ident, s.generics.split_for_impl());
    let given = where_.map(|w| {
        let p = w.predicates.iter();
        quote!(#(#p,)*)
    });
    let tys: Vec<&Type> = fields.iter().map(|f| &f.ty).collect();
    // `Copy` of a field needs a bound only where a parameter decides it. `Value` is a bound of every field: so rustc
    // reports a host type once, at the field.
    let params: Vec<&Ident> = s.generics.type_params().map(|p| &p.ident).collect();
    let open: Vec<&Type> = tys.iter().copied().filter(|t| mentions(t, &params)).collect();
    let members: Vec<Member> = fields.members().collect();
    let labels = members.iter().map(label);
    let value = quote!(::tilewright::__rt::Value);
    let rt = quote!(::tilewright::__rt);
    let vals = members.iter().zip(&tys).map(|(m, t)| quote_spanned!(t.span()=> #value::vals(&self.#m, out);));
    let parts = members.iter().zip(&tys).map(|(m, t)| quote_spanned!(t.span()=> #m: <#t as #value>::from_vals(vals)));
    let types = tys.iter().map(|t| quote_spanned!(t.span()=> <#t as #value>::types(out);));
    let names =
        labels.zip(&tys).map(|(l, t)| quote_spanned!(t.span()=> <#t as #value>::names(&#rt::dotted(prefix, #l), out);));

    let bounds = tys.iter().map(|t| quote_spanned!(t.span()=> #t: ::tilewright::__rt::Value));
    quote! {
        #[automatically_derived]
        impl #impl_ ::core::marker::Copy for #name #ty where #given #(#open: ::core::marker::Copy),* {}
        #[automatically_derived]
        impl #impl_ ::core::clone::Clone for #name #ty where #given #(#open: ::core::marker::Copy),* {
            fn clone(&self) -> Self { *self }
        }
        #[automatically_derived]
        #[allow(unused_variables, trivial_bounds, private_bounds)]
        impl #impl_ #value for #name #ty where #given #(#bounds),* {
            fn vals(&self, out: &mut ::std::vec::Vec<#rt::Val>) { #(#vals)* }
            fn from_vals(vals: &mut #rt::Vals<'_>) -> Self { Self { #(#parts),* } }
            fn types(out: &mut ::std::vec::Vec<#rt::PartType>) { #(#types)* }
            fn names(prefix: &str, out: &mut ::std::vec::Vec<::std::string::String>) { #(#names)* }
        }
    }
}

fn refuse(at: proc_macro2::Span) -> TokenStream {
    let text = "only a struct of kernel values can be a `Value`: the device cannot choose between variants";
    Error::new(at, text).into_compile_error()
}

fn label(m: &Member) -> String {
    match m {
        Member::Named(i) => i.unraw().to_string(),
        Member::Unnamed(i) => format!("f{}", i.index),
    }
}

fn mentions(ty: &Type, params: &[&Ident]) -> bool {
    struct Find<'p>(&'p [&'p Ident], bool);
    impl<'a> Visit<'a> for Find<'_> {
        fn visit_path(&mut self, p: &'a Path) {
            self.1 |= p.segments.first().is_some_and(|s| self.0.contains(&&s.ident));
            syn::visit::visit_path(self, p);
        }
    }
    let mut find = Find(params, false);
    find.visit_type(ty);
    find.1
}
