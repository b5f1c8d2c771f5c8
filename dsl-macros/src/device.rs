//! What stands around the body of a `#[device]` function. The function itself records the call site ("inlined at");
//! the body is a closure in it, so its operations keep their own lines, and `Self`, generics and `self` work as usual.

use crate::lower::{RENAMED_SELF, local, lower};
use crate::{quiet, refused_qualifiers, without_qualifiers};
use proc_macro2::{Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Block, FnArg, ItemFn, ReturnType, Type};

pub fn expand(mut f: ItemFn) -> TokenStream {
    let mut errors = refused_qualifiers(&f.sig);
    without_qualifiers(&mut f.sig);
    let own_self = rename_mut_self(&mut f);
    errors.extend(lower(&mut f.block));
    let quiet = quiet(&errors);
    let errors = errors.iter().map(|e| e.to_compile_error());
    let (attrs, vis, sig, body, frame) = (&f.attrs, &f.vis, &f.sig, &f.block, local("__frame"));
    let output = match &sig.output {
        ReturnType::Default => quote!(-> ()),
        // A closure cannot name `impl Trait`; its type is inferred from the body.
        ReturnType::Type(_, t) if holds_impl_trait(t) => quote!(),
        ReturnType::Type(arrow, t) => quote!(#arrow #t),
    };
    let body = if output.is_empty() { quote!(move || #body) } else { quote!(move || #output #body) };
    let result = returned(&sig.output, quote!((#body)()));
    let enter = quote_spanned!(sig.ident.span()=> ::tilewright::__rt::Frame::enter());
    quote! {
        #(#attrs)* #quiet #[track_caller]
        #vis #sig { let #frame = #enter; #own_self #result }
        #(#errors)*
    }
}

/// Says what the function hands back, so that `let x = f(..)` names that. Only a written type is asked what it is.
fn returned(output: &ReturnType, call: TokenStream) -> TokenStream {
    match output {
        ReturnType::Default => call,
        ReturnType::Type(_, t) if holds_impl_trait(t) || matches!(**t, Type::Never(_)) => call,
        ReturnType::Type(..) => {
            let result = local("__result");
            quote! {
                let #result = #call;
                {
                    use ::tilewright::__rt::{ReturnsHost as _, ReturnsValue as _};
                    (&::tilewright::__rt::Returned(&#result)).__returned();
                }
                #result
            }
        }
    }
}

fn holds_impl_trait(ty: &Type) -> bool {
    struct Find(bool);
    impl<'a> syn::visit::Visit<'a> for Find {
        fn visit_type_impl_trait(&mut self, _: &'a syn::TypeImplTrait) {
            self.0 = true;
        }
    }
    let mut find = Find(false);
    syn::visit::Visit::visit_type(&mut find, ty);
    find.0
}

/// A region cannot bind `self` as a carried variable, so `mut self` becomes a variable of another name.
fn rename_mut_self(f: &mut ItemFn) -> TokenStream {
    let Some(FnArg::Receiver(receiver)) = f.sig.inputs.first_mut() else { return quote!() };
    if receiver.reference.is_some() || receiver.mutability.is_none() {
        return quote!();
    }
    receiver.mutability = None;
    let this = syn::Ident::new(RENAMED_SELF, Span::mixed_site().located_at(receiver.self_token.span()));
    let renamed = rename(f.block.to_token_stream(), &this);
    if let Ok(block) = syn::parse2::<Block>(renamed) {
        *f.block = block;
        return quote_spanned!(f.sig.span()=> let mut #this = self;);
    }
    quote!()
}
fn rename(tokens: TokenStream, to: &syn::Ident) -> TokenStream {
    let one = |t: TokenTree| match t {
        TokenTree::Ident(i) if i == "self" => {
            TokenTree::Ident(syn::Ident::new(&to.to_string(), to.span().located_at(i.span())))
        }
        TokenTree::Group(g) => {
            let mut new = Group::new(g.delimiter(), rename(g.stream(), to));
            new.set_span(g.span());
            TokenTree::Group(new)
        }
        t => t,
    };
    tokens.into_iter().map(one).collect()
}
