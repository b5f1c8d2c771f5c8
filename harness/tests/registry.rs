//! The registry: instances as shell words, and registries that cannot be used.

use insta::assert_snapshot;
use tilewright_core::diag::Diagnostics;
use tilewright_harness::kernels;
use tilewright_harness::registry::{Case, Inputs, KernelDef, Kernels, Limits, Param, Settings};

const PARAMS: &[Param] = &[
    Param::one_of("mode", &["A1", "B"], "A1", "mapping"),
    Param::integer("s-kv", 1..=65536, "8192", "tokens"),
    Param::number("slope", "0.5", "slope"),
];
const DECODE: KernelDef =
    KernelDef { name: "decode", about: "", params: PARAMS, instances: &["", "mode=B,slope=-2"], case: no_case };

/// These tests never get as far as tensors.
fn no_case(_: &Settings, _: Inputs, _: &Limits) -> Result<Box<dyn Case>, Diagnostics> {
    Err(Diagnostics::default())
}
fn fault(kernels: Kernels) -> String {
    kernels.check(&["file"], &["seed".to_string()]).map_or_else(|e| e.to_string(), |()| "fine".to_string())
}

#[test]
fn an_instance_is_one_word_that_reads_back() {
    let kernels = kernels![DECODE];
    let words: Vec<String> = kernels.instances().iter().map(|i| i.to_string()).collect();
    assert_eq!(words, ["decode", "decode:mode=B,slope=-2"]);
    for word in words {
        assert_eq!(kernels.instance(&word).unwrap().to_string(), word);
    }
    let all = kernels.instance("decode:s-kv=64").unwrap();
    assert_eq!(all.settings.all().collect::<Vec<_>>(), [("mode", "A1"), ("s-kv", "64"), ("slope", "0.5")]);
}
#[test]
fn a_sound_registry_passes() {
    assert_eq!(fault(kernels![DECODE]), "fine");
}
#[test]
fn two_kernels_of_one_name_cannot_be_told_apart() {
    assert_snapshot!(fault(kernels![DECODE].and(kernels![DECODE])), @r"
    error[TW-E0806]: two kernels are named `decode`
     |
     = next: give one of them another name
     = more: tilewright explain TW-E0806
    ");
}
#[test]
fn a_kernel_may_not_have_the_name_of_a_word_of_the_commands() {
    assert_snapshot!(fault(kernels![KernelDef { name: "file", ..DECODE }]), @r"
    error[TW-E0806]: a kernel cannot be named `file`: the commands use this word themselves
     |
     = next: give the kernel another name
     = more: tilewright explain TW-E0806
    ");
}
#[test]
fn a_parameter_may_not_take_the_name_of_a_flag_or_of_another() {
    const SEED: KernelDef = KernelDef {
        params: &[Param::number("seed", "1", ""), Param::number("n", "1", ""), Param::number("n", "1", "")],
        instances: &[],
        ..DECODE
    };
    assert_snapshot!(fault(kernels![SEED]), @r"
    error[TW-E0807]: the name `seed` is taken
     |
     = note: in the parameters of kernel `decode`
     = next: rename the parameter
     = more: tilewright explain TW-E0807
    error[TW-E0807]: the name `n` is taken
     |
     = note: in the parameters of kernel `decode`
     = next: rename the parameter
     = more: tilewright explain TW-E0807
    ");
}
#[test]
fn defaults_and_listed_instances_are_checked_against_their_parameters() {
    const OFF: KernelDef =
        KernelDef { params: &[Param::integer("n", 1..=8, "0", "")], instances: &["n=9", "m=1"], ..DECODE };
    assert_snapshot!(fault(kernels![OFF]), @r"
    error[TW-E0590]: --n cannot be `0`
     |
     = note: allowed: a whole number from 1 to 8
     = note: in the parameters of kernel `decode`
     = next: --n 1
     = more: tilewright explain TW-E0590
    error[TW-E0590]: --n cannot be `9`
     |
     = note: allowed: a whole number from 1 to 8
     = note: in the listed instance `decode:n=9`
     = next: --n 8
     = more: tilewright explain TW-E0590
    error[TW-E0592]: the kernel has no parameter `m`
     |
     = note: its parameters: n
     = note: in the listed instance `decode:m=1`
     = more: tilewright explain TW-E0592
    ");
}

#[test]
fn a_word_without_an_entry_is_refused_with_the_words_that_have_one() {
    const CHOICE: &[Param] = &[Param::one_of("elem", &["f16", "f32", "f64"], "f16", "")];
    let pick = |word: &str| {
        Settings::new(CHOICE).with("elem", word).pick("elem", &[("f16", 2), ("f32", 4)]).map_err(|e| e.to_string())
    };
    assert_eq!(pick("f16"), Ok(2));
    assert_eq!(pick("f32"), Ok(4));
    assert_snapshot!(pick("f64").unwrap_err(), @r"
    error[TW-E0591]: the kernel has no entry for `--elem f64`
     |
     = note: it has: f16, f32
     = next: add an entry for `f64`, or take the word out of the parameter's declaration
     = more: tilewright explain TW-E0591
    ");
    // What the parameter does not allow never gets to the table.
    assert_snapshot!(pick("i8").unwrap_err(), @r"
    error[TW-E0590]: --elem cannot be `i8`
     |
     = note: allowed: f16, f32, f64
     = next: --elem f16
     = more: tilewright explain TW-E0590
    ");
    assert_snapshot!(Settings::new(CHOICE).pick("mode", &[("f16", 2)]).unwrap_err(), @r"
    error[TW-E0591]: the kernel reads a parameter `mode` that it does not declare
     |
     = note: declared: elem
     = next: add a row to the kernel's table of parameters
     = more: tilewright explain TW-E0591
    ");
}
