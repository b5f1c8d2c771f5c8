//! The `tilewright` command as a user types it: wrong inputs and their texts, exit codes, forms of output.

use crate::support::{self, tilewright};
use insta::assert_snapshot;

/// What a wrong command line says, without the exit code that every one of them has.
fn wrong(code: i32, args: &str) -> String {
    let run = tilewright(args);
    assert_eq!(run.code, code, "{args}\n{}{}", run.out, run.err);
    assert_eq!(run.out, "", "{args}");
    run.err
}

#[test]
fn an_unknown_kernel_is_told_with_the_nearest_one() {
    assert_snapshot!(wrong(1, "run gqa_decod"), @r"
    error[TW-E0801]: no kernel `gqa_decod`
     |
     = note: kernels: gqa_decode, gqa_prefill, long_decode, fan_out, vector_add, row_softmax, matmul, matmul_leaky_relu, layer_norm, dropout, fused_attention, grouped_gemm, persistent_matmul, histogram, prefix_sum, read_contiguous, read_slabs
     = next: did you mean `gqa_decode`?
     = more: tilewright explain TW-E0801
    ");
    assert_snapshot!(wrong(1, "ir softmax:rows=3 --loc"), @r"
    error[TW-E0801]: no kernel `softmax`
     |
     = note: kernels: gqa_decode, gqa_prefill, long_decode, fan_out, vector_add, row_softmax, matmul, matmul_leaky_relu, layer_norm, dropout, fused_attention, grouped_gemm, persistent_matmul, histogram, prefix_sum, read_contiguous, read_slabs
     = next: did you mean `row_softmax`?
     = more: tilewright explain TW-E0801
    ");
    assert_snapshot!(wrong(1, "verify vectoradd matmull"), @r"
    error[TW-E0801]: no kernel `vectoradd`
     |
     = note: kernels: gqa_decode, gqa_prefill, long_decode, fan_out, vector_add, row_softmax, matmul, matmul_leaky_relu, layer_norm, dropout, fused_attention, grouped_gemm, persistent_matmul, histogram, prefix_sum, read_contiguous, read_slabs
     = next: did you mean `vector_add`?
     = more: tilewright explain TW-E0801

    error[TW-E0801]: no kernel `matmull`
     |
     = note: kernels: gqa_decode, gqa_prefill, long_decode, fan_out, vector_add, row_softmax, matmul, matmul_leaky_relu, layer_norm, dropout, fused_attention, grouped_gemm, persistent_matmul, histogram, prefix_sum, read_contiguous, read_slabs
     = next: did you mean `matmul`?
     = more: tilewright explain TW-E0801
    ");
}
#[test]
fn a_command_without_its_kernel_says_which_there_are() {
    assert_snapshot!(wrong(1, "run --seed 3"), @r"
    error[TW-E0801]: `run` needs a kernel
     |
     = note: kernels: gqa_decode, gqa_prefill, long_decode, fan_out, vector_add, row_softmax, matmul, matmul_leaky_relu, layer_norm, dropout, fused_attention, grouped_gemm, persistent_matmul, histogram, prefix_sum, read_contiguous, read_slabs
     = next: run gqa_decode
     = more: tilewright explain TW-E0801
    ");
}
#[test]
fn a_parameter_value_is_checked_against_what_the_kernel_declares() {
    assert_snapshot!(wrong(1, "run gqa_decode --mode A3"), @r"
    error[TW-E0590]: --mode cannot be `A3`
     |
     = note: allowed: auto, A1, A2, A4, B
     = next: --mode auto
     = more: tilewright explain TW-E0590
    ");
    assert_snapshot!(wrong(1, "run vector_add --n 0"), @r"
    error[TW-E0590]: --n cannot be `0`
     |
     = note: allowed: a whole number from 1 to 2147483648
     = next: --n 1
     = more: tilewright explain TW-E0590
    ");
    assert_snapshot!(wrong(1, "ir gqa_decode:mode=A1,acc=f64"), @r"
    error[TW-E0590]: --acc cannot be `f64`
     |
     = note: allowed: f16, f32
     = next: --acc f16
     = more: tilewright explain TW-E0590
    ");
}
#[test]
fn an_instance_that_does_not_read_says_what_is_wrong_with_it() {
    assert_snapshot!(wrong(1, "ir gqa_decode:mode"), @r"
    error[TW-E0802]: `mode` in `mode` is not an assignment
     |
     = next: write NAME=VALUE,NAME=VALUE without blanks
     = more: tilewright explain TW-E0802
    ");
    assert_snapshot!(wrong(1, "verify gqa_decode:mod=A1"), @r"
    error[TW-E0592]: the kernel has no parameter `mod`
     |
     = note: its parameters: mode, tier, reduce, deal, stages, kv-per-cube, s-kv, t-q, causal, batch, h-q, h-kv, d-head, cubes, tile, elem, acc
     = next: did you mean `mode`?
     = more: tilewright explain TW-E0592
    ");
}
#[test]
fn flags_that_do_not_exist_are_usage_errors() {
    assert_snapshot!(wrong(1, "run vector_add --mode A1"), @r"
    error: unexpected argument '--mode' found

    Usage: tilewright run vector_add [OPTIONS]

    For more information, try '--help'.
    ");
    assert_snapshot!(wrong(1, "run vector_add --target tpu"), @r"
    error: invalid value 'tpu' for '--target <TARGET>'
      [possible values: sim, reference, cuda, ptx-emu]

    For more information, try '--help'.
    ");
    assert_snapshot!(wrong(1, "ir vector_add --stage sass"), @r"
    error: invalid value 'sass' for '--stage <STAGE>'
      [possible values: traced, optimised, layout, ptx]

    For more information, try '--help'.
    ");
    assert_snapshot!(wrong(1, "frobnicate"), @r"
    error: unrecognized subcommand 'frobnicate'

    Usage: tilewright <COMMAND>

    For more information, try '--help'.
    ");
}
#[test]
fn a_grid_is_cubes_by_pes() {
    assert_snapshot!(wrong(1, "run vector_add --grid 8"), @r"
    error[TW-E0808]: --grid cannot be `8`
     |
     = note: allowed: CUBESxPES or SIPSxCUBESxPES, whole numbers from 1 on
     = next: --grid 8x8
     = more: tilewright explain TW-E0808
    ");
    assert_snapshot!(wrong(1, "run vector_add --grid 8x0"), @r"
    error[TW-E0808]: --grid cannot be `8x0`
     |
     = note: allowed: CUBESxPES or SIPSxCUBESxPES, whole numbers from 1 on
     = next: --grid 8x8
     = more: tilewright explain TW-E0808
    ");
}
#[test]
fn a_file_that_is_not_there_is_no_panic() {
    assert_snapshot!(wrong(1, "ir nowhere/none.tir"), @r"
    error[TW-E0803]: cannot read nowhere/none.tir: No such file or directory (os error 2)
     |
     = next: name a text file that exists
     = more: tilewright explain TW-E0803
    ");
    assert_snapshot!(wrong(1, "run vector_add --machine nowhere/none.toml"), @r"
    error[TW-E0401]: machine file `nowhere/none.toml` cannot be read: there is no such file
     |
     = next: `ahbm` names the shipped machine; a path in `extends` is relative to the file that says it
     = more: tilewright explain TW-E0401
    ");
    assert_snapshot!(wrong(1, "sweep short-decode --check nowhere"), @r"
    error[TW-E0822]: golden file nowhere/short_decode_baseline.csv: No such file or directory (os error 2)
     |
     = next: --check DIR, where DIR holds the golden CSV files
     = more: tilewright explain TW-E0822
    ");
    assert_snapshot!(wrong(1, "sweep short-decode --out nowhere/rows.csv"), @r"
    error[TW-E0804]: cannot write nowhere/rows.csv: No such file or directory (os error 2)
     |
     = next: name a file in a folder that exists and may be written
     = more: tilewright explain TW-E0804
    ");
}
#[test]
fn a_tir_file_is_parsed_and_verified() {
    assert_snapshot!(wrong(2, "ir tests/data/unclosed.tir"), @r"
    error[TW-E0230]: expected `,`, found `:`
     --> tests/data/unclosed.tir:2:18
      |
    2 |   %0 = load %x[0 : tile<8xf32>
      |                  ^
      |
      = next: compare with what `tilewright ir` prints for a shipped kernel
      = more: tilewright explain TW-E0230
    ");
    assert_snapshot!(wrong(2, "ir tests/data/mixed_elements.tir"), @r"
    error[TW-E0202]: add: these operands differ: tile<8xf32> and tile<8xf16>
     --> tests/data/mixed_elements.tir:4:3
      |
    4 |   %c = add %a, %b : tile<8xf32>
      |   ^^
      |
      = note: the op: %c = add %a, %b : tile<8xf32>
      = next: give both the same element type (`.cast::<..>()`) and the same lengths
      = more: tilewright explain TW-E0202
    ");
}
#[test]
fn a_kernel_that_denies_checks_is_printed_as_traced_and_refused_when_optimised() {
    let traced = tilewright("ir tests/data/denied.tir").out;
    assert!(
        traced.starts_with("kernel @denied(%x: view<?xf32>, %i: view<?xi32>) deny(in_kernel_checks) {"),
        "{traced}"
    );
    assert_snapshot!(wrong(2, "ir tests/data/denied.tir --stage optimised"));
}
#[test]
fn the_remarks_say_what_each_pass_did_and_why_not() {
    let optimised = tilewright("ir tests/data/checked.tir --stage optimised --remarks");
    assert_eq!(optimised.code, 0, "{}", optimised.err);
    assert_snapshot!(optimised.out);
    // Remarks are comments: the output reads back as the module without them.
    let path = support::temp_dir("remarks").join("checked.tir");
    std::fs::write(&path, &optimised.out).unwrap();
    let without = tilewright("ir tests/data/checked.tir --stage optimised").out;
    assert_eq!(tilewright(&format!("ir {}", path.display())).out, without);
    let json = tilewright("ir tests/data/checked.tir --stage optimised --remarks --json").out;
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((json["stage"].as_str(), json["ir"].as_str()), (Some("optimised"), Some(without.as_str())));
    let remarks = json["remarks"].as_array().map_or(0, Vec::len);
    assert_eq!(remarks, optimised.out.lines().filter(|l| l.starts_with("// ") && !l.starts_with("// bounds:")).count());
}
#[test]
fn what_the_launch_knows_decides_what_is_checked() {
    let checks = |of: &str| {
        let out = tilewright(&format!("ir {of} --stage optimised --remarks")).out;
        out.lines().last().unwrap_or_default().to_string()
    };
    assert_snapshot!(checks("row_softmax"), @"// bounds: 2 proved, 0 checked at launch, 0 before a loop, 0 in place");
    assert_snapshot!(checks("gqa_decode:mode=A1"), @"// bounds: 4 proved, 0 checked at launch, 0 before a loop, 0 in place");
}
#[test]
fn a_sweep_says_which_tiers_modes_and_contexts_there_are() {
    assert_snapshot!(wrong(1, "sweep short-decode --tier fused"), @r"
    error[TW-E0821]: no tier `fused`
     |
     = note: tiers: baseline, composite, composite-fused
     = next: --tier baseline
     = more: tilewright explain TW-E0821
    ");
    assert_snapshot!(wrong(1, "sweep short-decode --modes A1,C --s-kv 8192"), @r"
    error[TW-E0820]: --modes cannot hold `C`
     |
     = note: allowed: A1, A2, A4, B
     = next: --modes A1,B
     = more: tilewright explain TW-E0820
    ");
    assert_snapshot!(wrong(1, "sweep short-decode --s-kv 8k"), @r"
    error[TW-E0820]: --s-kv cannot hold `8k`
     |
     = note: allowed: whole numbers from 1 on
     = next: --s-kv 8192,16384
     = more: tilewright explain TW-E0820
    ");
    assert_snapshot!(wrong(1, "sweep long-decode --cubes 8,17"), @r"
    error[TW-E0820]: --cubes cannot hold `17`
     |
     = note: allowed: whole numbers from 1 to 16
     = next: --cubes 8,12
     = more: tilewright explain TW-E0820
    ");
    assert_snapshot!(wrong(1, "sweep long-decode --check ../tests/golden"), @r"
    error[TW-E0822]: there is no golden file for `long-decode` with these flags: the study did not publish it
     |
     = next: --addressing published
     = more: tilewright explain TW-E0822
    ");
    assert_snapshot!(wrong(1, "sweep decode-streaming --tier baseline"), @r"
    error: unexpected argument '--tier' found

    Usage: tilewright sweep decode-streaming [OPTIONS]

    For more information, try '--help'.
    ");
    assert_snapshot!(wrong(1, "sweep decode"), @r"
    error: unrecognized subcommand 'decode'

      tip: some similar subcommands exist: 'decode-streaming', 'decode-batch-m', 'decode-models', 'decode-batch'

    Usage: tilewright sweep [OPTIONS] <TABLE>

    For more information, try '--help'.
    ");
}
#[test]
fn a_machine_field_that_does_not_exist_is_told_with_the_nearest() {
    assert_snapshot!(wrong(1, "sweep short-decode --set hbm.slice_rat=1"), @r"
    error[TW-E0405]: `hbm` has no field `slice_rat`
     |
     | --set hbm.slice_rat=1
     |       ^^^ did you mean `hbm.slice_rate`?
     |
     = next: write `hbm.slice_rate`
     = more: tilewright explain TW-E0405
    ");
}
#[test]
fn a_broken_launch_contract_names_the_clause_and_the_fix() {
    assert_snapshot!(wrong(1, "run gqa_decode --s-kv 1000 --h-q 60"), @r"
    error[TW-E0554]: 60 query heads do not divide among 8 KV heads
     |
     = next: use `--h-q 56`
     = more: tilewright explain TW-E0554
    ");
}
#[test]
fn tensors_that_no_memory_holds_are_refused_before_they_are_made() {
    assert_snapshot!(wrong(1, "run vector_add --n 2147483648"), @r"
    error[TW-E0503]: axis 0 of `x` has 2147483648 places, and the kernel asks for its length as an i32
      --> kernels/src/vector_add.rs:22:35
       |
    22 |     for i in (program_id() * N..x.len(Axis::<0>)).step_by(num_programs() * N) {
       |                                   ^^^ its length is asked for here
       |
       = next: pass the length as a `Scalar<i64>` parameter
       = more: tilewright explain TW-E0503
    ");
    assert_snapshot!(wrong(1, "run gqa_decode --s-kv 1073741824"), @r"
    error[TW-E0593]: `gqa_decode:s-kv=1073741824` needs tensors of 2048.0 GiB, the limit is 4.0 GiB
     |
     = next: choose smaller sizes, or time alone: --timing-only
     = more: tilewright explain TW-E0593
    ");
}
#[test]
fn an_unknown_code_is_told_with_the_nearest() {
    assert_snapshot!(wrong(1, "explain TW-E0898"), @r"
    error[TW-E0805]: no error code `TW-E0898`
     |
     = next: explain TW-E0899
     = more: tilewright explain TW-E0805
    ");
    assert_snapshot!(wrong(1, "explain nonsense"), @r"
    error[TW-E0805]: no error code `NONSENSE`
     |
     = next: explain --list
     = more: tilewright explain TW-E0805
    ");
}

#[test]
fn explain_takes_a_code_in_any_spelling() {
    let page = tilewright("explain TW-E0590");
    assert_eq!((page.code, page.err.as_str()), (0, ""));
    assert_snapshot!(page.out, @r"
    TW-E0590: a kernel parameter has a value that is not allowed

    Every kernel declares what each of its parameters may be: one of a set of words, or a number in a
    range. `tilewright run KERNEL --help` lists them with their defaults.

    Example:

        tilewright run gqa_decode --mode A3 --timing-only

    Says:

        error[TW-E0590]: --mode cannot be `A3`
         |
         = note: allowed: auto, A1, A2, A4, B
         = next: --mode auto

    Instead:

        tilewright run gqa_decode --mode A4 --timing-only
    ");
    for spelling in ["tw-e0590", "E590", "590"] {
        assert_eq!(tilewright(&format!("explain {spelling}")).out, page.out, "{spelling}");
    }
}
#[test]
fn every_code_has_one_page_and_codes_are_unique() {
    let list = tilewright("explain --list").out;
    let codes: Vec<&str> = list.lines().filter_map(|line| line.split("  ").next()).collect();
    assert!(codes.len() > 50, "{list}");
    assert!(codes.windows(2).all(|pair| pair[0] < pair[1]), "sorted, none twice: {codes:?}");
    for code in &codes {
        let page = tilewright(&format!("explain {code}"));
        assert!(page.code == 0 && page.out.lines().count() >= 3, "{code}: {}", page.out);
    }
}
#[test]
fn every_listed_instance_is_one_shell_word_and_prints_its_ir() {
    let list = tilewright("ir --list").out;
    assert!(list.lines().any(|l| l == "gqa_decode:mode=A1,elem=f16,acc=f32"), "{list}");
    for word in list.lines() {
        assert!(word.chars().all(|c| c.is_ascii_alphanumeric() || "_:=,.-".contains(c)), "{word}");
        let ir = tilewright(&format!("ir {word}"));
        assert!(ir.code == 0 && ir.out.starts_with("kernel @"), "{word}: {}{}", ir.out, ir.err);
    }
}
#[test]
fn a_kernel_lists_its_own_instances() {
    let all = tilewright("ir --list").out;
    let own: String = all.lines().filter(|l| l.starts_with("matmul:")).map(|l| format!("{l}\n")).collect();
    assert!(own.lines().count() > 1);
    assert_eq!(tilewright("ir matmul --list").out, own);
    assert_eq!(tilewright("ir --list matmul").out, own);
}
#[test]
fn printed_ir_reads_back_from_a_file() {
    let dir = support::temp_dir("ir");
    let path = dir.join("add.tir");
    let ir = tilewright("ir vector_add:elem=f32").out;
    std::fs::write(&path, &ir).unwrap();
    assert_eq!(tilewright(&format!("ir {}", path.display())).out, ir);
    let json: serde_json::Value =
        serde_json::from_str(&tilewright(&format!("ir {} --json", path.display())).out).unwrap();
    assert_eq!(json["ir"], ir.as_str());
}
#[test]
fn a_run_says_where_its_figures_come_from() {
    let run = tilewright("run vector_add --n 5000 --seed 3 --set cpu.load=\"11 cycles\"");
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    for fact in ["sim", "model, not validated on hardware", "seed 3", "AHBM", "events", "agrees with f64"] {
        assert!(run.out.contains(fact), "`{fact}` is missing:\n{}", run.out);
    }
    let json: serde_json::Value = serde_json::from_str(&tilewright("run vector_add --n 5000 --json").out).unwrap();
    assert!(json["rows"][0]["wall_us"].as_f64().unwrap() > 0.0, "{json}");
    let reference = tilewright("run vector_add --n 5000 --target reference");
    assert!(reference.out.contains("agrees with f64") && !reference.out.contains("wall"), "{}", reference.out);
}
#[test]
fn races_are_checked_where_values_are_computed() {
    let run = tilewright("run vector_add --n 5000 --check-races");
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    let run = tilewright("run vector_add --check-races --timing-only");
    assert_eq!(run.code, 1, "{}", run.err);
    assert!(run.err.contains("--check-races") && run.err.contains("--timing-only"), "{}", run.err);
}
#[test]
fn verify_counts_what_it_skipped() {
    let run = tilewright("verify vector_add matmul:m=3,n=5,k=7 --quiet");
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    assert!(run.out.contains("agree, 0 disagree, 0 failed"), "{}", run.out);
    assert!(run.out.contains("on cuda: TW-E06"), "{}", run.out);
}
#[test]
fn verify_skips_what_a_gpu_cannot_run_and_counts_it() {
    let sips = "long_decode:form=primitive,acc=f32,sips=2,cubes=1,s-kv=300,h-q=7,tile=64";
    let run = tilewright(&format!("verify vector_add:elem=f32,n=5000 {sips} --target ptx-emu --quiet"));
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    assert!(run.out.contains("1 agree, 0 disagree, 0 failed, 1 skipped\n"), "{}", run.out);
    assert!(run.out.contains("skipped 1 on ptx-emu: TW-E0610 `sip."), "{}", run.out);
}
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let (code, err) = support::closed_pipe("explain --list");
    assert_eq!((code, err.as_str()), (0, ""));
}
#[test]
fn the_version_is_one_line() {
    assert_eq!(tilewright("--version").out, format!("tilewright {}\n", env!("CARGO_PKG_VERSION")));
}

/// After `--` the parser takes flags for plain words: the kernel would run as if none had been given.
#[test]
fn two_dashes_before_a_kernel_hide_no_flag() {
    let (plain, dashed) = (tilewright("run vector_add --n=7"), tilewright("run -- vector_add --n=7"));
    assert_eq!((plain.code, &plain.out), (0, &dashed.out), "{}", dashed.err);
    assert!(plain.out.contains("n=7"), "{}", plain.out);
    let wrong = tilewright("run -- vector_add --machine=missing/machine.toml");
    assert_eq!(wrong.code, 1, "{}", wrong.out);
}

#[test]
fn bench_races_tells_both_times_and_their_ratio_of_each_instance() {
    let run = tilewright("bench races vector_add:elem=f32 prefix_sum:elem=f32,n=1 --runs 3 --json --quiet");
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{}", run.out);
    let json: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    let rows = json["rows"].as_array().unwrap();
    let names: Vec<&str> = rows.iter().filter_map(|row| row["instance"].as_str()).collect();
    assert_eq!(names, ["vector_add:elem=f32", "prefix_sum:elem=f32,n=1"]);
    for row in rows {
        let [plain, checked, ratio] = ["plain_ms", "checked_ms", "ratio"].map(|name| row[name].as_f64().unwrap());
        assert!(plain > 0.0 && checked > 0.0 && (ratio - checked / plain).abs() < 1e-9, "{row}");
    }
}
