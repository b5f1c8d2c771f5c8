//! NVIDIA's assembler takes what is emitted for every listed instance, and makes of it code without spills.

use rayon::prelude::*;
use std::collections::BTreeMap;
use std::io::Write;
use tilewright_cuda::launch::compile_for;
use tilewright_cuda::ptxas::Ptxas;
use tilewright_harness::registry::{Arch, Inputs, Instance, Limits, Target};

/// The text of an instance; `None`: an op of it has no PTX yet.
fn text(instance: &Instance, arch: Arch) -> Option<String> {
    let mut case = instance.case(Inputs::ShapesOnly, &Limits::gpu(Target::Cuda, arch)).expect("a listed instance");
    let launch = case.launch().and_then(|launch| launch.ready()).expect("a launch");
    match compile_for(&launch, arch) {
        Ok(compiled) => Some(compiled.printed.text),
        Err(why) if why.0.iter().all(|d| d.code == tilewright_cuda::NOT_LOWERED) => None,
        Err(why) => panic!("{instance} for {arch}: {why}"),
    }
}

#[test]
fn ptxas_takes_every_instance_and_spills_nothing() {
    let (mut texts, mut not_built) = (BTreeMap::new(), 0);
    for arch in Arch::ALL {
        for instance in tilewright_kernels::all().instances() {
            match text(&instance, arch) {
                Some(text) => drop(texts.entry((arch, text)).or_insert(instance)),
                None => not_built += 1,
            }
        }
    }
    assert!(texts.len() > 50, "{} texts", texts.len());
    // Past the capture of the test's own output, which is not shown when it passes.
    let tell = |line: String| drop(writeln!(std::io::stdout(), "\n{line}"));
    let Some(ptxas) = Ptxas::find() else {
        return tell(format!(
            "skipped: {} modules through ptxas (not found: TILEWRIGHT_PTXAS, or on the path)",
            texts.len()
        ));
    };
    let wrong: Vec<String> = texts
        .par_iter()
        .filter_map(|((arch, text), instance)| {
            let fault = match ptxas.assemble(text, *arch) {
                Err(said) => said,
                Ok(made) if made.spill_stores + made.spill_loads > 0 => format!("{made:?}"),
                Ok(made) if made.local_accesses.is_some_and(|n| n > 0) || !made.warnings.is_empty() => {
                    format!("{made:?}")
                }
                Ok(_) => return None,
            };
            Some(format!("{instance} for {arch}: {fault}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    tell(format!("ptxas took {} modules; {not_built} instances have no PTX yet", texts.len()));
}
