//! What stands in `#[kernel(..)]`: `deny(in_kernel_checks)`, or nothing. Each thing that is not known is refused on its
//! token, and the rest is read on.

use proc_macro2::TokenStream;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::{Error, Meta, Path, Token};

/// What can be denied; `tilewright_core::ir::Deny` knows the same names.
const DENIED: [&str; 1] = ["in_kernel_checks"];

/// The attributes of a kernel.
#[derive(Default)]
pub struct Attributes {
    pub deny: Vec<&'static str>,
}

impl Attributes {
    pub fn of(args: TokenStream) -> (Attributes, Vec<Error>) {
        let (mut out, mut errors) = (Attributes::default(), Vec::new());
        match Punctuated::<Meta, Token![,]>::parse_terminated.parse2(args) {
            Ok(all) => all.iter().filter_map(|one| out.attribute(one).err()).for_each(|e| errors.push(e)),
            Err(error) => {
                errors.push(Error::new(error.span(), "`#[kernel]` takes `deny(in_kernel_checks)` or nothing"))
            }
        }
        (out, errors)
    }
    fn attribute(&mut self, one: &Meta) -> Result<(), Error> {
        match one {
            Meta::List(list) if list.path.is_ident("deny") => {
                let names = list.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated)?;
                if names.is_empty() {
                    return Err(Error::new_spanned(list, "say what is denied: `deny(in_kernel_checks)`"));
                }
                names.iter().try_for_each(|name| self.denied(name))
            }
            Meta::Path(path) if path.is_ident("deny") => {
                Err(Error::new_spanned(path, "say what is denied: `deny(in_kernel_checks)`"))
            }
            other => {
                let text = "there is no such attribute of a kernel: `#[kernel]` takes `deny(in_kernel_checks)` or nothing; \
                            what a launch decides (grid, threads, queue depth) is said at the launch";
                Err(Error::new_spanned(other.path(), text))
            }
        }
    }
    fn denied(&mut self, name: &Path) -> Result<(), Error> {
        match DENIED.iter().find(|known| name.is_ident(known)) {
            Some(known) => {
                self.deny.push(known);
                Ok(())
            }
            None => Err(Error::new_spanned(name, "a kernel can deny `in_kernel_checks` only")),
        }
    }
}
