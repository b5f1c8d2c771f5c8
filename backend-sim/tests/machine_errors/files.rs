//! Files that extend each other, and flags.

use super::{folder, loaded, set};
use insta::assert_snapshot;
use tilewright_sim::machine::{FieldId, Machine};

#[test]
fn files_do_not_extend_each_other_in_a_circle() {
    assert_snapshot!(loaded(&[("a.toml", "extends = \"b.toml\"\n"), ("b.toml", "extends = \"a.toml\"\n")]), @r#"
    error[TW-E0410]: machine files extend each other in a circle
     --> b.toml:1:11
      |
    1 | extends = "a.toml"
      |           ^ closes the circle
      |
      = note: a.toml -> b.toml -> a.toml
      = next: let one of them be complete, or extend `ahbm`
      = more: tilewright explain TW-E0410
    "#);
}

#[test]
fn a_missing_file_is_named() {
    assert_snapshot!(loaded(&[("a.toml", "extends = \"ahbm.toml\"\n")]), @r#"
    error[TW-E0401]: machine file `ahbm.toml` cannot be read: there is no such file
     --> a.toml:1:11
      |
    1 | extends = "ahbm.toml"
      |           ^ extended here
      |
      = next: `ahbm` names the shipped machine; a path in `extends` is relative to the file that says it
      = more: tilewright explain TW-E0401
    "#);
    assert_snapshot!(Machine::load("nowhere.toml", &[]).unwrap_err(), @r"
    error[TW-E0401]: machine file `nowhere.toml` cannot be read: there is no such file
     |
     = next: `ahbm` names the shipped machine; a path in `extends` is relative to the file that says it
     = more: tilewright explain TW-E0401
    ");
}

#[test]
fn a_file_is_complete_or_extends_another() {
    let missing = (FieldId::all().count() - 1).to_string();
    let text = loaded(&[("a.toml", "[hbm]\nslice_rate = \"1 GB/s\"\n")]);
    assert_snapshot!(text.replace(&missing, "N"), @r#"
    error[TW-E0412]: the machine file leaves N values out: `topology.sips`, `topology.cube_rows`, `topology.cube_cols`, ...
     --> a.toml:1:1
      |
    1 | [hbm]
      | ^ extends no other file
      |
      = next: start the file with `extends = "ahbm"` to take them from the shipped machine
      = more: tilewright explain TW-E0412
    "#);
}

#[test]
fn a_flag_is_field_equals_value() {
    assert_snapshot!(set(&["hbm.slice_rate"]), @r#"
    error[TW-E0413]: `--set` takes FIELD=VALUE
     |
     | --set hbm.slice_rate
     |       ^^^
     |
     = next: for example `--set hbm.slice_rate="512 GB/s"`
     = more: tilewright explain TW-E0413
    "#);
    assert_snapshot!(set(&["slice_rate=1 GB/s"]), @r"
    error[TW-E0405]: a machine has no section `slice_rate`
     |
     | --set slice_rate=1 GB/s
     |       ^^^^^^^^^^ did you mean `hbm.slice_rate`?
     |
     = next: write `hbm.slice_rate`
     = more: tilewright explain TW-E0405
    ");
    assert_snapshot!(set(&["hbm.slice_rat=1 GB/s"]), @r"
    error[TW-E0405]: `hbm` has no field `slice_rat`
     |
     | --set hbm.slice_rat=1 GB/s
     |       ^^^ did you mean `hbm.slice_rate`?
     |
     = next: write `hbm.slice_rate`
     = more: tilewright explain TW-E0405
    ");
}

#[test]
fn a_flag_is_checked_like_a_file() {
    assert_snapshot!(set(&["queue.depth=2", "hbm.slice_rate=256 Gb/s", "scratch.capacity=0 B"]), @r#"
    error[TW-E0407]: `Gb/s` counts bits; `hbm.slice_rate` is in bytes
     |
     | --set hbm.slice_rate=256 Gb/s
     |                          ^^ expected bytes a second
     |
     = next: write "32 GB/s" for `256 Gb/s`: 8 bits are a byte
     = more: tilewright explain TW-E0407
    error[TW-E0409]: `scratch.capacity` cannot be `0 B`
     |
     | --set scratch.capacity=0 B
     |                        ^ out of range
     |
     = note: Capacity.
     = next: from "1 B" to "1 TiB"
     = more: tilewright explain TW-E0409
    "#);
}

#[test]
fn at_most_eight_files_follow_each_other() {
    let names: Vec<String> = (0..10).map(|i| format!("m{i}.toml")).collect();
    let texts: Vec<String> = (1..11).map(|i| format!("extends = \"m{i}.toml\"\n")).collect();
    let chain: Vec<(&str, &str)> = names.iter().zip(&texts).map(|(n, t)| (n.as_str(), t.as_str())).collect();
    assert_snapshot!(loaded(&chain), @r#"
    error[TW-E0411]: more than 8 machine files follow each other by `extends`
     --> m8.toml:1:11
      |
    1 | extends = "m9.toml"
      |           ^ one too many
      |
      = next: join some of them into one file
      = more: tilewright explain TW-E0411
    "#);
    let mut nine = chain[1..].to_vec();
    nine[8].1 = "extends = \"ahbm\"\n"; // nine files before the shipped one
    assert_snapshot!(loaded(&nine), @r#"
    error[TW-E0411]: more than 8 machine files follow each other by `extends`
     --> m9.toml:1:11
      |
    1 | extends = "ahbm"
      |           ^ one too many
      |
      = next: join some of them into one file
      = more: tilewright explain TW-E0411
    "#);
    nine[7].1 = "extends = \"ahbm\"\n";
    assert_snapshot!(loaded(&nine), @"loads: m1");
}

#[test]
fn a_large_file_or_no_text_is_not_read() {
    assert_snapshot!(loaded(&[("a.toml", &"# comment\n".repeat(220_000))]), @r"
    error[TW-E0402]: machine file `a.toml` is over 1 MiB
     |
     = next: give the path of a machine file; `ahbm` names the shipped machine
     = more: tilewright explain TW-E0402
    ");
    let dir = folder(&[]);
    std::fs::write(dir.join("a.toml"), [0xff, 0xfe, 0x00]).unwrap();
    let not_text = Machine::load(dir.join("a.toml").to_str().unwrap(), &[]).unwrap_err().to_string();
    let a_folder = Machine::load(dir.to_str().unwrap(), &[]).unwrap_err().to_string();
    let shown = dir.display().to_string();
    std::fs::remove_dir_all(&dir).unwrap();
    assert_snapshot!(not_text.replace(&shown, "DIR"), @r"
    error[TW-E0401]: machine file `DIR/a.toml` cannot be read: it is not UTF-8 text
     |
     = next: `ahbm` names the shipped machine; a path in `extends` is relative to the file that says it
     = more: tilewright explain TW-E0401
    ");
    assert_snapshot!(a_folder.replace(&shown, "DIR"), @r"
    error[TW-E0401]: machine file `DIR` cannot be read: it is a folder
     |
     = next: `ahbm` names the shipped machine; a path in `extends` is relative to the file that says it
     = more: tilewright explain TW-E0401
    ");
}
