//! The traced IR of every listed instance of every shipped kernel. A snapshot that moves is a kernel that does something
//! else: the commit that moves it says why.

use tilewright::ir::text::{parse, print};
use tilewright::ir::verify::verify;
use tilewright::registry::{Inputs, Limits, Target};

#[test]
fn every_listed_instance_traces_to_the_ir_on_record() {
    let limits = Limits { target: Target::Sim, arch: None, scratch_bytes: 1 << 20 };
    for instance in tilewright_kernels::all().instances() {
        let case = instance.case(Inputs::ShapesOnly, &limits);
        let mut case = case.unwrap_or_else(|e| panic!("{instance}: {e}"));
        let traced = case.launch().and_then(|launch| launch.trace());
        let module = traced.unwrap_or_else(|e| panic!("{instance}: {e}"));
        let text = print(&module);

        verify(&module).unwrap_or_else(|e| panic!("{instance}: {e}"));
        assert_eq!(parse(&text, "traced.tir").as_ref(), Ok(&*module), "{instance} reads back as it was");

        let name = instance.to_string().replace([':', ',', '='], "_");
        insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
            insta::assert_snapshot!(name, text);
        });
    }
}
