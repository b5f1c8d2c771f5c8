//! `probe`: the same kernels on the model, on the emulator, and as PTX.

use super::support::tilewright;
use serde_json::Value;

/// The rows of a run that ends well: each a JSON object on a line of its own.
fn rows(args: &str) -> Vec<Value> {
    let run = tilewright(&format!("{args} --json"));
    assert_eq!(run.code, 0, "{args}\n{}", run.err);
    let row = |line: &str| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
    run.out.lines().map(row).collect()
}

#[test]
fn on_the_model_slabs_stream_what_contiguous_reads_do_and_the_run_says_so() {
    let rows = rows("probe slabs --target sim --quick");
    let gbs = |arm: &str, scope: &str| {
        let row = rows.iter().find(|row| row["arm"] == arm && row["scope"] == scope);
        row.and_then(|row| row["gbs"].as_f64()).unwrap_or_else(|| panic!("no {arm} of a {scope}"))
    };
    // 256 GB/s is what the slice of a PE gives, and a cube has 8 of them, a SIP 128.
    for (scope, pes) in [("PE", 1.0), ("cube", 8.0), ("SIP", 128.0)] {
        let (contiguous, slabs) = (gbs("contiguous", scope), gbs("slabs", scope));
        assert!((0.85..1.0).contains(&(contiguous / (256.0 * pes))), "{scope}: {contiguous}");
        assert!((slabs / contiguous - 1.0).abs() < 0.02, "{scope}: {slabs}, contiguous {contiguous}");
    }
    let run = tilewright("probe slabs --target sim --quick --ilp 8");
    assert!(run.out.contains("scattered slabs cost what contiguous reads cost here"), "{}", run.out);
    assert!(run.out.contains("model, not validated on hardware"), "{}", run.out);
}

#[test]
fn every_arm_runs_on_the_emulator() {
    for (probe, arms) in [("bw", 2 * 2 * 3), ("slabs", 2 * 4)] {
        let rows =
            rows(&format!("probe {probe} --target ptx-emu --quick --ilp 4 --pool-mib 1 --slabs 3 --slab-kib 80"));
        assert_eq!(rows.len(), arms);
        assert!(rows.iter().all(|row| row["gbs"].is_null()), "an emulator has no clock");
    }
}

/// The first loop without another label in it that loads: from its label to the branch back to it.
fn first_loop(ptx: &str) -> Vec<&str> {
    let lines: Vec<&str> = ptx.lines().map(str::trim).collect();
    let is_label = |line: &str| line.starts_with("$L") && line.ends_with(':');
    for at in (0..lines.len()).filter(|at| is_label(lines[*at])) {
        let name = format!("{};", lines[at].trim_end_matches(':'));
        let piece: Vec<&str> = lines[at + 1..].iter().take_while(|line| !is_label(line)).copied().collect();
        let back = piece.iter().position(|line| line.contains("bra") && line.ends_with(&name));
        if let Some(back) = back.filter(|back| piece[..*back].iter().any(|line| line.contains("ld.global"))) {
            return piece[..back].to_vec();
        }
    }
    panic!("no loop\n{ptx}")
}

#[test]
fn all_loads_of_a_turn_are_issued_before_the_first_is_used_and_nothing_is_checked() {
    for kernel in ["read_contiguous", "read_slabs"] {
        for (vec, ilp) in [1, 4].into_iter().flat_map(|vec| [1, 2, 4, 8].map(|ilp| (vec, ilp))) {
            let args = format!("ir {kernel}:vec={vec},ilp={ilp},observe=keep,block-threads=1024 --stage ptx");
            let run = tilewright(&args);
            assert_eq!(run.code, 0, "{}", run.err);
            let body = first_loop(&run.out);
            let shown = body.join("\n");
            let at = |what: &str| -> Vec<usize> {
                body.iter().enumerate().filter(|(_, line)| line.contains(what)).map(|(i, _)| i).collect()
            };
            let (loads, adds) = (at("ld.global"), at("add.rn.f32"));
            assert_eq!(loads.len(), ilp, "{args}\n{shown}");
            assert!(loads.last() < adds.first(), "{args}: a load behind a use\n{shown}");
            assert_eq!(adds.len(), ilp * vec, "{args}: an add an element\n{shown}");
            assert!(loads.iter().all(|i| body[*i].contains(".nc") && !body[*i].starts_with('@')), "{args}\n{shown}");
            assert_eq!(loads.iter().all(|i| body[*i].contains(".v4")), vec == 4, "{args}\n{shown}");
            assert_eq!(at("setp").len(), 1, "{args}: the end of the loop is all that is compared\n{shown}");
            assert!(!run.out.contains("L2::256B"), "it costs a stream 7 %");
        }
    }
}
