//! `#[kernel]`, `#[device]`, `#[derive(Value)]`. A body stays the user's Rust: `lower` rewrites only what Rust cannot
//! overload (comparisons, `&&`, `||`, `if`, `while`, `for` over a range literal) and notes the names of `let`s.
//! `attributes` reads what stands in `#[kernel(..)]`, `carried` finds the variables a region assigns; `kernel`, `device`, `derive` write what stands around a body.
//! Not here: any knowledge of types. Whether an `if` runs now or on the device is decided by traits in
//! `tilewright_core::lang`, which generated code reaches as `::tilewright::rules` and, for what no message names,
//! `::tilewright::__rt`.

mod attributes;
mod carried;
mod derive;
mod device;
mod kernel;
mod lower;

use proc_macro::TokenStream;
use syn::{Error, ItemFn, Signature};

/// Makes a function a kernel: calling it on the host gives a launch builder. See the language reference.
///
/// `#[kernel(deny(in_kernel_checks))]`: it is an error if the kernel has to check the bounds of an access while it runs.
#[proc_macro_attribute]
pub fn kernel(args: TokenStream, item: TokenStream) -> TokenStream {
    let (attributes, refused) = attributes::Attributes::of(args.into());
    on_function("kernel", item, |f| kernel::expand(f, &attributes), refused)
}

/// Makes a function (or method) a device function: it is traced where it is called, and its operations say from where.
#[proc_macro_attribute]
pub fn device(args: TokenStream, item: TokenStream) -> TokenStream {
    let refused = args.into_iter().next().map(|first| {
        let text = "`#[device]` takes no arguments";
        Error::new(first.span().into(), text)
    });
    on_function("device", item, device::expand, refused.into_iter().collect())
}

/// Makes a struct of kernel values a kernel value: carried by loops, yielded by `if`, sent in messages.
/// Also derives `Clone` and `Copy`.
#[proc_macro_derive(Value)]
pub fn value(item: TokenStream) -> TokenStream {
    match syn::parse(item) {
        Ok(item) => derive::expand(&item).into(),
        Err(error) => error.into_compile_error().into(),
    }
}

fn on_function(
    name: &str,
    item: TokenStream,
    expand: impl Fn(ItemFn) -> proc_macro2::TokenStream,
    refused: Vec<Error>,
) -> TokenStream {
    let mut tokens: TokenStream = match syn::parse::<ItemFn>(item) {
        Ok(function) => expand(function).into(),
        Err(error) => {
            let text = format!("`#[{name}]` goes on a function with a body: {error}");
            Error::new(error.span(), text).into_compile_error().into()
        }
    };
    tokens.extend(refused.into_iter().map(|error| TokenStream::from(error.into_compile_error())));
    tokens
}

/// What neither a kernel nor a device function can be, on the token.
fn refused_qualifiers(sig: &Signature) -> Vec<Error> {
    let mut errors = Vec::new();
    if let Some(t) = &sig.constness {
        errors.push(Error::new_spanned(t, "a kernel body runs while it is traced, not in a const: remove `const`"));
    }
    if let Some(t) = &sig.asyncness {
        errors
            .push(Error::new_spanned(t, "a kernel body runs once, on the host: remove `async` (`recv` already waits)"));
    }
    if let Some(t) = &sig.unsafety {
        errors.push(Error::new_spanned(t, "kernels have no unsafe operations: remove `unsafe`"));
    }
    if let Some(t) = &sig.abi {
        errors.push(Error::new_spanned(t, "a kernel has no ABI: remove `extern`"));
    }
    if let Some(t) = &sig.variadic {
        errors.push(Error::new_spanned(t, "a kernel has a fixed number of parameters"));
    }
    errors
}

/// The function without the qualifiers that were refused, so that rustc has nothing to add.
fn without_qualifiers(sig: &mut Signature) {
    (sig.constness, sig.asyncness, sig.unsafety, sig.abi, sig.variadic) = (None, None, None, None, None);
}

/// Lints that generated code, and the holes of refused constructs, would trigger in the user's body.
fn quiet(errors: &[Error]) -> proc_macro2::TokenStream {
    let holes = (!errors.is_empty()).then(|| quote::quote!(#[allow(unused_variables, unused_must_use)]));
    quote::quote!(
        #[allow(unused_assignments, unused_mut, unused_parens, unused_braces, unreachable_code, clippy::all)]
        #holes
    )
}
