//! Diagnostics as a user reads them.

use insta::assert_snapshot;
use tilewright_core::diag::{Color, Diagnostic, render};
use tilewright_core::ir::loc::Place;

const KERNEL: &str = "fn chain() {
    send(Port::pe(Dir::East), partial);
    keep(partial);
    keep(partial);
    keep(partial);
    let p = recv::<Tile<f32, D2<8, 64>>>(Port::pe(Dir::West));
}
";

fn place(file: &str, line: u32, col: u32) -> Place {
    Place { file: file.into(), line, col }
}
fn mismatch() -> Diagnostic {
    Diagnostic::new("TW-E0312", "recv expects 8 x 64 f32, the matching send carries 8 x 128 f32")
}
fn drawn(d: Diagnostic) -> String {
    render(&d, Color::Never)
}

fn notes(d: &Diagnostic) -> String {
    drawn(d.clone()).lines().filter(|l| l.contains("= note")).map(|l| format!("{}\n", l.trim())).collect()
}

#[test]
fn two_labels_in_one_file_share_a_snippet() {
    let recv = mismatch().source("k.rs", KERNEL).label(place("k.rs", 6, 13), "cube 0, PE 1 reads 8 x 64 here");
    let both = recv.label(place("k.rs", 2, 5), "cube 0, PE 0 sends 8 x 128 here");
    assert_snapshot!(drawn(both.next("give both ends one alias, `type Part = Tile<f32, D2<8, 128>>;`")), @r"
    error[TW-E0312]: recv expects 8 x 64 f32, the matching send carries 8 x 128 f32
     --> k.rs:6:13
      |
    2 |     send(Port::pe(Dir::East), partial);
      |     ---- cube 0, PE 0 sends 8 x 128 here
    ...
    6 |     let p = recv::<Tile<f32, D2<8, 64>>>(Port::pe(Dir::West));
      |             ^^^^^^ cube 0, PE 1 reads 8 x 64 here
      |
      = next: give both ends one alias, `type Part = Tile<f32, D2<8, 128>>;`
      = more: tilewright explain TW-E0312
    ");
}

#[test]
fn two_files_follow_each_other() {
    let recv = mismatch().source("k.rs", KERNEL).source("l.rs", KERNEL).label(place("k.rs", 6, 13), "reads here");
    assert_snapshot!(drawn(recv.label(place("l.rs", 2, 5), "sends here")), @r"
    error[TW-E0312]: recv expects 8 x 64 f32, the matching send carries 8 x 128 f32
     --> k.rs:6:13
      |
    6 |     let p = recv::<Tile<f32, D2<8, 64>>>(Port::pe(Dir::West));
      |             ^^^^^^ reads here
      |
     ::: l.rs:2:5
      |
    2 |     send(Port::pe(Dir::East), partial);
      |     ---- sends here
      |
      = more: tilewright explain TW-E0312
    ");
}

#[test]
fn a_call_that_two_labels_were_inlined_at_is_told_once() {
    let mut d = mismatch().source("k.rs", KERNEL).label(place("k.rs", 6, 13), "").label(place("k.rs", 2, 5), "");
    d.labels[0].inlined_at = vec![place("attn.rs", 96, 24), place("decode.rs", 19, 16)];
    d.labels[1].inlined_at = d.labels[0].inlined_at.clone();
    assert_snapshot!(notes(&d), @r"
    = note: inlined at attn.rs:96:24
    = note: inlined at decode.rs:19:16
    ");
    d.labels[1].inlined_at = vec![place("attn.rs", 80, 9), place("decode.rs", 19, 16)];
    assert_snapshot!(notes(&d), @r"
    = note: k.rs:6:13 inlined at attn.rs:96:24 inlined at decode.rs:19:16
    = note: k.rs:2:5 inlined at attn.rs:80:9 inlined at decode.rs:19:16
    ");
}

#[test]
fn labels_without_source_keep_their_places_and_texts() {
    let d = mismatch().label(place("gone.rs", 6, 13), "reads here").label(place("gone.rs", 2, 5), "sends here");
    assert_snapshot!(drawn(d), @r"
    error[TW-E0312]: recv expects 8 x 64 f32, the matching send carries 8 x 128 f32
    --> gone.rs:6:13
     = note: reads here
     = note: gone.rs:2:5: sends here
     = more: tilewright explain TW-E0312
    ");
    let beyond = mismatch().source("k.rs", KERNEL).label(place("k.rs", 600, 1), "reads here");
    assert_snapshot!(drawn(beyond.label(place("k.rs", 2, 5), "sends here")), @r"
    error[TW-E0312]: recv expects 8 x 64 f32, the matching send carries 8 x 128 f32
     --> k.rs:600:1
      |
     ::: k.rs:2:5
      |
    2 |     send(Port::pe(Dir::East), partial);
      |     ---- sends here
      |
      = note: reads here
      = more: tilewright explain TW-E0312
    ");
}

#[test]
fn a_flag_is_shown_as_it_is_typed() {
    let d = Diagnostic::new("TW-E0403", "`KiBx` is not a unit of bytes");
    assert_snapshot!(drawn(d.source("--set", "pe.tcm=64 KiBx").label(place("--set", 1, 11), "")), @r"
    error[TW-E0403]: `KiBx` is not a unit of bytes
     |
     | --set pe.tcm=64 KiBx
     |                 ^^^^
     |
     = more: tilewright explain TW-E0403
    ");
}

#[test]
fn a_value_of_a_text_is_marked_as_a_whole() {
    let d = Diagnostic::new("TW-E0231", "`%part.m'2` is not defined before this use");
    assert_snapshot!(drawn(d.source("k.tir", "  keep %part.m'2\n").label(place("k.tir", 1, 8), "")), @r"
    error[TW-E0231]: `%part.m'2` is not defined before this use
     --> k.tir:1:8
      |
    1 |   keep %part.m'2
      |        ^^^^^^^^^
      |
      = more: tilewright explain TW-E0231
    ");
}

#[test]
fn no_label_and_places_outside_the_text_do_not_panic() {
    assert_snapshot!(drawn(mismatch()), @r"
    error[TW-E0312]: recv expects 8 x 64 f32, the matching send carries 8 x 128 f32
     |
     = more: tilewright explain TW-E0312
    ");
    for (line, col) in [(0, 0), (0, 1), (1, 0), (1, 400), (7, 1), (8, 1), (9, 1), (u32::MAX, u32::MAX)] {
        let d = mismatch().source("k.rs", KERNEL).label(place("k.rs", 6, 13), "").label(place("k.rs", line, col), "x");
        assert!(drawn(d).contains("k.rs:6:13"), "{line}:{col}");
        assert!(drawn(mismatch().source("k.rs", "").label(place("k.rs", line, col), "x")).contains("TW-E0312"));
    }
}

#[test]
fn a_file_named_from_the_workspace_root_is_found_from_a_package() {
    let d = Diagnostic::new("TW-E0101", "found").label(place("dsl-core/src/lib.rs", 1, 1), "on disk");
    assert!(drawn(d).contains("1 | //! The core of tilewright"));
}
