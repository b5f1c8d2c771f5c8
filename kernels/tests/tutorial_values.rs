//! The tutorial kernels against their f64 references: every listed instance, and the sizes at which such kernels are known
//! to go wrong, on the interpreter that defines every op, on the machine model, and as PTX for each architecture.

use tilewright::Runtime;
use tilewright::prelude::*;
use tilewright::registry::{Agreement, Arch, Inputs, Instance};
use tilewright_kernels::fused_attention::fused_attention;

/// Those that run the IR.
fn models() -> Vec<Runtime> {
    vec![Runtime::reference(), Runtime::sim()]
}
/// With those that run PTX, on the emulator.
fn targets() -> Vec<Runtime> {
    models().into_iter().chain(Arch::ALL.map(Runtime::ptx_emu)).collect()
}

/// What is wrong with these instances on random numbers of a fixed seed.
fn faults(instances: impl IntoIterator<Item = Instance>, targets: fn() -> Vec<Runtime>) -> Vec<String> {
    let mut faults = Vec::new();
    for instance in instances {
        for mut runtime in targets() {
            let on = runtime.target();
            match check(&instance, &mut runtime) {
                Ok(outputs) => {
                    faults.extend(outputs.iter().filter_map(|o| {
                        o.fault.as_ref().map(|fault| format!("{instance} on {on}: {} {fault}", o.output))
                    }))
                }
                Err(e) => faults.push(format!("{instance} on {on}: {e}")),
            }
        }
    }
    faults
}
fn check(instance: &Instance, runtime: &mut Runtime) -> Result<Vec<Agreement>, tilewright::diag::Diagnostics> {
    let mut case = instance.case(Inputs::Random { seed: 11 }, &runtime.limits())?;
    case.launch()?.run(runtime)?;
    case.check()
}
fn assert_right<S: AsRef<str>>(words: impl IntoIterator<Item = S>) {
    let kernels = tilewright_kernels::all();
    let read = |word: S| kernels.instance(word.as_ref()).unwrap_or_else(|e| panic!("{e}"));
    let faults = faults(words.into_iter().map(read), targets);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_listed_instance_agrees_with_its_reference() {
    // As PTX they are verified by a test of the command line.
    let all = tilewright_kernels::all().instances();
    let faults = faults(all.into_iter().filter(|i| i.kernel.name() != "gqa_decode"), models);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn products_and_attention_can_be_compared_in_some_rows() {
    let kernels = tilewright_kernels::all();
    for (word, rows) in [
        ("matmul:elem=f32,m=65,n=9,k=33", 65),
        ("matmul_leaky_relu:elem=f32,m=65,n=9,k=33", 65),
        ("persistent_matmul:elem=i8,m=65,n=9,k=33", 65),
        ("fused_attention:elem=f32,h-q=2,h-kv=1,t-q=30,s-kv=40,d-head=16", 60),
    ] {
        let mut runtime = Runtime::reference();
        let compared = kernels.instance(word).and_then(|instance| {
            let mut case = instance.case(Inputs::Random { seed: 11 }, &runtime.limits())?;
            case.launch()?.run(&mut runtime)?;
            case.check_some(5)
        });
        for found in compared.unwrap_or_else(|e| panic!("{word}: {e}")) {
            assert_eq!((found.rows, found.fault), ([5, rows], None), "{word}");
        }
    }
}
#[test]
fn causal_rows_see_what_a_chunk_at_the_end_of_the_context_sees() {
    // (T, S): chunks of queries, more queries than tokens, diagonals that cross tiles, heads that share keys.
    let lengths =
        [(5, 6), (2, 5), (5, 2), (1, 257), (65, 97), (64, 100), (128, 64), (129, 63), (20, 1000), (1, 1), (20, 8192)];
    assert_right(
        lengths.map(|(t, s)| format!("fused_attention:causal=yes,elem=f16,h-q=2,h-kv=1,t-q={t},s-kv={s},d-head=16")),
    );
}
#[test]
fn any_head_length_and_any_context_length_is_right() {
    let head = [16, 40, 63, 64, 72, 80, 96, 112, 128, 160, 256];
    let tokens = [1, 2, 17, 63, 64, 65, 250, 252, 257, 2340];
    let words = head.iter().map(|d| format!("fused_attention:h-q=1,h-kv=1,t-q=3,s-kv=65,d-head={d},elem=bf16"));
    let more = tokens.iter().map(|s| format!("fused_attention:h-q=1,h-kv=1,t-q=3,s-kv={s},d-head=40,elem=f32"));
    // An odd pitch in two bytes, and as many query tokens as context.
    let odd = [1, 17, 250, 257]
        .map(|n| format!("fused_attention:h-q=2,h-kv=1,t-q={n},s-kv={n},d-head=63,elem=f16,causal=yes"));
    assert_right(words.chain(more).chain(odd));
}
#[test]
fn the_first_of_many_tokens_weighs_as_much_as_the_last_of_the_same_score() {
    // Half of the values are 1, half are -1. A weight that loses its last bit with each of 1024 tiles would show in the sum.
    let n = 1 << 16;
    let tensor = |n: usize, value: &dyn Fn(usize) -> f32| {
        Tensor::from_vec([1, n, 1], (0..n).map(value).collect()).expect("as many elements")
    };
    let (q, k) = (tensor(1, &|_| 3.0), tensor(n, &|_| 3.7));
    let v = tensor(n, &|i| if i < n / 2 { 1.0 } else { -1.0 });
    for mut on in models() {
        let mut o = Tensor::<f32, 3>::uninit([1, 1, 1]);
        let launch = fused_attention::<f32, 64, 64, 64, ANY>(&q, &k, &v, &mut o, 1.0, false, 1, 1);
        launch.grid(Grid::cubes(1).pes(1)).run(&mut on).unwrap_or_else(|e| panic!("{e}"));
        assert!(o.elements()[0].abs() < 2e-5, "{:?}", o.elements());
    }
}
#[test]
fn any_number_of_query_heads_shares_a_kv_head() {
    let heads = [(28, 4), (14, 2), (40, 8), (24, 4), (12, 1), (71, 1)];
    assert_right(heads.map(|(q, kv)| format!("fused_attention:h-q={q},h-kv={kv},t-q=1,s-kv=40,d-head=64,elem=f16")));
}
#[test]
fn products_end_at_every_edge() {
    for kernel in ["matmul", "matmul_leaky_relu", "persistent_matmul"] {
        let sizes = [(1, 65, 1), (1, 32, 27), (63, 1, 64), (64, 64, 65), (65, 129, 63)];
        assert_right(sizes.map(|(m, n, k)| format!("{kernel}:elem=f32,m={m},n={n},k={k}")));
    }
}
#[test]
fn any_number_of_programs_makes_the_same_product() {
    // 5 x 3 blocks of c: fewer programs than blocks, and more.
    assert_right([1, 2, 3, 16].map(|c| format!("persistent_matmul:elem=f16,m=300,n=140,k=20,cubes={c}")));
}
#[test]
fn vectors_of_every_length_are_scanned_and_counted() {
    let lengths = [1, 2, 255, 256, 257, 511, 512, 513, 4096, 4097];
    assert_right(lengths.map(|n| format!("prefix_sum:elem=i32,n={n}")));
    assert_right(lengths.map(|n| format!("histogram:elem=u32,n={n},bins=7")));
    assert_right([1, 63, 64, 65, 200].map(|bins| format!("histogram:elem=i32,n=500,bins={bins}")));
    assert_right([2, 5, 16].map(|cubes| format!("prefix_sum:elem=f16,n=3000,cubes={cubes}")));
}
