//! Wrong machine files and flags: each is refused with its whole text. Paths are relative to the test's folder.

use insta::assert_snapshot;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use tilewright_sim::machine::{FieldId, Machine};

/// A fresh folder with these files.
fn folder(files: &[(&str, &str)]) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let unique = format!("machine-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(unique);
    std::fs::create_dir_all(&dir).unwrap();
    for (name, text) in files {
        std::fs::write(dir.join(name), text).unwrap();
    }
    dir
}

/// What loading the first file says.
fn files(files: &[(&str, &str)]) -> String {
    let dir = folder(files);
    let result = Machine::load(dir.join(files[0].0).to_str().unwrap(), &[]);
    std::fs::remove_dir_all(&dir).unwrap();
    let prefix = format!("{}/", dir.display());
    result.map_or_else(|e| e.to_string(), |m| format!("loads: {}", m.name)).replace(&prefix, "")
}

/// What a file that changes the shipped machine says.
fn file(text: &str) -> String {
    files(&[("my.toml", &format!("extends = \"ahbm\"\n{text}"))])
}

/// What a file says that gives the slice this rate.
fn rate(value: &str) -> String {
    file(&format!("[hbm]\nslice_rate = {value}\n"))
}

fn set(flags: &[&str]) -> String {
    let flags: Vec<String> = flags.iter().map(|s| (*s).to_owned()).collect();
    Machine::load("ahbm", &flags).map_or_else(|e| e.to_string(), |m| format!("loads: {}", m.name))
}

#[test]
fn bits_are_refused_with_the_spelling_in_bytes() {
    assert_snapshot!(rate(r#""256 Gb/s""#), @r#"
    error[TW-E0407]: `Gb/s` counts bits; `hbm.slice_rate` is in bytes
     --> my.toml:3:19
      |
    3 | slice_rate = "256 Gb/s"
      |                   ^^ expected bytes a second
      |
      = next: write "32 GB/s" for `256 Gb/s`: 8 bits are a byte
      = more: tilewright explain TW-E0407
    "#);
    assert_snapshot!(rate(r#""256 Gbps""#), @r#"
    error[TW-E0407]: `Gbps` counts bits; `hbm.slice_rate` is in bytes
     --> my.toml:3:19
      |
    3 | slice_rate = "256 Gbps"
      |                   ^^^^ expected bytes a second
      |
      = next: write "32 GB/s" for `256 Gbps`: 8 bits are a byte
      = more: tilewright explain TW-E0407
    "#);
}

#[test]
fn case_counts_in_units() {
    assert_snapshot!(rate(r#""256 gb/s""#), @r#"
    error[TW-E0407]: `gb/s` is spelt `GB/s`
     --> my.toml:3:19
      |
    3 | slice_rate = "256 gb/s"
      |                   ^^ expected bytes a second
      |
      = next: write "256 GB/s"
      = more: tilewright explain TW-E0407
    "#);
}

#[test]
fn a_rate_needs_its_unit() {
    assert_snapshot!(rate(r#""256""#), @r#"
    error[TW-E0407]: `hbm.slice_rate` has no unit: `256`
     --> my.toml:3:15
      |
    3 | slice_rate = "256"
      |               ^^^ expected bytes a second
      |
      = next: if 256 GB/s are meant, write "256 GB/s"
      = more: tilewright explain TW-E0407
    "#);
    assert_snapshot!(rate("256"), @r#"
    error[TW-E0407]: `hbm.slice_rate` has no unit: `256`
     --> my.toml:3:14
      |
    3 | slice_rate = 256
      |              ^^^ expected bytes a second
      |
      = next: if 256 GB/s are meant, write "256 GB/s"
      = more: tilewright explain TW-E0407
    "#);
}

#[test]
fn a_size_is_no_rate() {
    assert_snapshot!(rate(r#""256 GB""#), @r#"
    error[TW-E0407]: `GB` is a unit of size, `hbm.slice_rate` is bytes a second
     --> my.toml:3:19
      |
    3 | slice_rate = "256 GB"
      |                   ^^ expected bytes a second
      |
      = next: write "256 GB/s"
      = more: tilewright explain TW-E0407
    "#);
}

#[test]
fn an_unknown_unit_gets_the_nearest() {
    assert_snapshot!(rate(r#""256 GB/ns""#), @r#"
    error[TW-E0407]: `hbm.slice_rate` has the unknown unit `GB/ns`
     --> my.toml:3:19
      |
    3 | slice_rate = "256 GB/ns"
      |                   ^^ expected bytes a second
      |
      = note: units: `GB/s`, `B/s`, `kB/s`, `MB/s`, `TB/s`, `KiB/s`, `MiB/s`, `GiB/s`, `TiB/s`
      = next: write "256 GB/s"
      = more: tilewright explain TW-E0407
    "#);
}

#[test]
fn a_rate_is_positive() {
    assert_snapshot!(rate(r#""-1 GB/s""#), @r#"
    error[TW-E0408]: `hbm.slice_rate` is negative: `-1 GB/s`
     --> my.toml:3:15
      |
    3 | slice_rate = "-1 GB/s"
      |               ^ expected bytes a second
      |
      = next: write "256 GB/s"
      = more: tilewright explain TW-E0408
    "#);
    assert_snapshot!(rate(r#""0 GB/s""#), @r#"
    error[TW-E0409]: `hbm.slice_rate` cannot be `0 GB/s`
     --> my.toml:3:15
      |
    3 | slice_rate = "0 GB/s"
      |               ^ out of range
      |
      = note: Bandwidth of a slice, and of the port it shares with the PE's messages.
      = next: from "1 MB/s" to "1000 TB/s"
      = more: tilewright explain TW-E0409
    "#);
}

#[test]
fn a_rate_is_finite() {
    assert_snapshot!(rate(r#""nan GB/s""#), @r#"
    error[TW-E0408]: `hbm.slice_rate` is not finite: `nan GB/s`
     --> my.toml:3:15
      |
    3 | slice_rate = "nan GB/s"
      |               ^^^ expected bytes a second
      |
      = next: write "256 GB/s"
      = more: tilewright explain TW-E0408
    "#);
    assert_snapshot!(rate(r#""1e400 GB/s""#), @r#"
    error[TW-E0408]: `hbm.slice_rate` is too large: `1e400 GB/s`
     --> my.toml:3:15
      |
    3 | slice_rate = "1e400 GB/s"
      |               ^^^^^ expected bytes a second
      |
      = next: at most "1000 TB/s"
      = more: tilewright explain TW-E0408
    "#);
    assert_snapshot!(rate("inf"), @r#"
    error[TW-E0408]: `hbm.slice_rate` is not finite: `inf`
     --> my.toml:3:14
      |
    3 | slice_rate = inf
      |              ^^^ expected bytes a second
      |
      = next: write "256 GB/s"
      = more: tilewright explain TW-E0408
    "#);
}

#[test]
fn a_value_is_a_number() {
    assert_snapshot!(rate(r#""fast""#), @r#"
    error[TW-E0408]: `hbm.slice_rate` is no number: `fast`
     --> my.toml:3:15
      |
    3 | slice_rate = "fast"
      |               ^^^^ expected bytes a second
      |
      = next: write "256 GB/s"
      = more: tilewright explain TW-E0408
    "#);
}

#[test]
fn nothing_is_rounded_silently() {
    assert_snapshot!(file("[hbm]\nread_latency = \"0.0005 ns\"\n"), @r#"
    error[TW-E0408]: `hbm.read_latency` is no multiple of 1 ps: `0.0005 ns`
     --> my.toml:3:17
      |
    3 | read_latency = "0.0005 ns"
      |                 ^ expected a time
      |
      = next: write a multiple of 1 ps
      = more: tilewright explain TW-E0408
    "#);
    assert_snapshot!(file("[hbm]\nread_ahead = 2.5\n"), @r"
    error[TW-E0408]: `hbm.read_ahead` is no multiple of 1: `2.5`
     --> my.toml:3:14
      |
    3 | read_ahead = 2.5
      |              ^ expected a whole number
      |
      = next: write a multiple of 1
      = more: tilewright explain TW-E0408
    ");
}

#[test]
fn a_misspelt_key_gets_the_nearest() {
    assert_snapshot!(file("[hbm]\nslice_rat = \"1 GB/s\"\n"), @r#"
    error[TW-E0405]: `hbm` has no field `slice_rat`
     --> my.toml:3:1
      |
    3 | slice_rat = "1 GB/s"
      | ^^^^^^^^^ did you mean `slice_rate`?
      |
      = next: write `slice_rate`
      = more: tilewright explain TW-E0405
    "#);
    assert_snapshot!(file("[hmb]\nslice_rate = \"1 GB/s\"\n"), @r"
    error[TW-E0405]: a machine has no section `hmb`
     --> my.toml:2:2
      |
    2 | [hmb]
      |  ^^^ did you mean `hbm`?
      |
      = next: write `hbm`
      = more: tilewright explain TW-E0405
    ");
    assert_snapshot!(file("[hbm]\nbandwidth_of_everything = 1\n"), @r"
    error[TW-E0405]: `hbm` has no field `bandwidth_of_everything`
     --> my.toml:3:1
      |
    3 | bandwidth_of_everything = 1
      | ^^^^^^^^^^^^^^^^^^^^^^^ no such key
      |
      = next: one of `slice_rate`, `transfer_unit`, `read_latency`, `write_latency`, `hop_read`, `hop_write`, `cube_read`, `cube_write`, `min_unit_read`, `read_ahead`, `scalar_read`, `atomic_latency`
      = more: tilewright explain TW-E0405
    ");
}

#[test]
fn a_field_without_its_section_is_named_with_it() {
    assert_snapshot!(file("slice_rate = \"1 GB/s\"\n"), @r#"
    error[TW-E0405]: a machine has no section `slice_rate`
     --> my.toml:2:1
      |
    2 | slice_rate = "1 GB/s"
      | ^^^^^^^^^^ did you mean `hbm.slice_rate`?
      |
      = next: write `hbm.slice_rate`
      = more: tilewright explain TW-E0405
    "#);
}

#[test]
fn a_key_stands_once() {
    assert_snapshot!(rate("\"1 GB/s\"\nslice_rate = \"2 GB/s\""), @r#"
    error[TW-E0404]: `slice_rate` stands twice
     --> my.toml:4:1
      |
    3 | slice_rate = "1 GB/s"
      | ---------- first here
    4 | slice_rate = "2 GB/s"
      | ^^^^^^^^^^ again here
      |
      = next: remove one of the two
      = more: tilewright explain TW-E0404
    "#);
}

#[test]
fn values_have_their_type() {
    assert_snapshot!(rate("true"), @r#"
    error[TW-E0406]: `hbm.slice_rate` is a boolean
     --> my.toml:3:14
      |
    3 | slice_rate = true
      |              ^^^^
      |
      = next: write `slice_rate = "256 GB/s"`
      = more: tilewright explain TW-E0406
    "#);
    assert_snapshot!(file("[queue]\ndepth = \"4\"\n"), @r#"
    error[TW-E0406]: `queue.depth` is a string
     --> my.toml:3:9
      |
    3 | depth = "4"
      |         ^
      |
      = next: write `depth = 4`
      = more: tilewright explain TW-E0406
    "#);
    assert_snapshot!(file("hbm = 3\n"), @r"
    error[TW-E0406]: `hbm` is an integer
     --> my.toml:2:7
      |
    2 | hbm = 3
      |       ^
      |
      = next: write `[hbm]` and its fields below it
      = more: tilewright explain TW-E0406
    ");
    assert_snapshot!(file("[hbm]\nslice_rate = { status = \"stated\" }\n"), @r#"
    error[TW-E0406]: `hbm.slice_rate` is a table without `value`
     --> my.toml:3:14
      |
    3 | slice_rate = { status = "stated" }
      |              ^
      |
      = next: write `slice_rate = "256 GB/s"`
      = more: tilewright explain TW-E0406
    "#);
    assert_snapshot!(file("[hbm]\nslice_rate = { value = \"1 GB/s\", status = \"guessed\" }\n"), @r#"
    error[TW-E0406]: `hbm.slice_rate.status` is no status
     --> my.toml:3:43
      |
    3 | slice_rate = { value = "1 GB/s", status = "guessed" }
      |                                           ^
      |
      = next: write one of "stated", "derived", "fitted", "assumed", "set"
      = more: tilewright explain TW-E0406
    "#);
    assert_snapshot!(file("name = 3\n"), @r#"
    error[TW-E0406]: `name` is an integer
     --> my.toml:2:8
      |
    2 | name = 3
      |        ^
      |
      = next: write a string: `name = "…"`
      = more: tilewright explain TW-E0406
    "#);
}

#[test]
fn a_value_without_quotes_is_no_toml() {
    assert_snapshot!(rate("256 GB/s"), @r#"
    error[TW-E0403]: the machine file is not TOML: string values must be quoted
     --> my.toml:3:14
      |
    3 | slice_rate = 256 GB/s
      |              ^^^
      |
      = next: a field is `name = value` in a `[section]`; a value with a unit is quoted: `slice_rate = "256 GB/s"`
      = more: tilewright explain TW-E0403
    "#);
    assert_snapshot!(file("[hbm\n"), @r#"
    error[TW-E0403]: the machine file is not TOML: unclosed table
     --> my.toml:2:5
      |
    2 | [hbm
      |     ^
      |
      = next: a field is `name = value` in a `[section]`; a value with a unit is quoted: `slice_rate = "256 GB/s"`
      = more: tilewright explain TW-E0403
    "#);
}

#[test]
fn counts_and_times_have_a_range() {
    assert_snapshot!(file("[topology]\ncube_rows = 0\n"), @r"
    error[TW-E0409]: `topology.cube_rows` cannot be `0`
     --> my.toml:3:13
      |
    3 | cube_rows = 0
      |             ^ out of range
      |
      = note: Rows of cubes in a SIP; cube ids go row by row.
      = next: from 1 to 64
      = more: tilewright explain TW-E0409
    ");
    assert_snapshot!(file("[hbm]\nread_latency = \"1099511627776 ns\"\n"), @r#"
    error[TW-E0409]: `hbm.read_latency` cannot be `1099511627776 ns`
     --> my.toml:3:17
      |
    3 | read_latency = "1099511627776 ns"
      |                 ^^^^^^^^^^^^^ out of range
      |
      = note: From the last byte leaving the port (or the egress) to the end of a read.
      = next: from "0 ns" to "1000000000 ns"
      = more: tilewright explain TW-E0409
    "#);
    assert_snapshot!(file("[queue]\ndepth = 0\n"), @r"
    error[TW-E0409]: `queue.depth` cannot be `0`
     --> my.toml:3:9
      |
    3 | depth = 0
      |         ^ out of range
      |
      = note: Messages in a queue, where the launch does not say.
      = next: from 1 to 65536
      = more: tilewright explain TW-E0409
    ");
}

#[test]
fn the_whole_machine_has_a_size() {
    assert_snapshot!(set(&["topology.cube_rows=64", "topology.cube_cols=64"]), @r"
    error[TW-E0414]: the machine has 131072 PEs; at most 65536 can be simulated
     |
     | --set topology.cube_rows=64
     |                          ^^ topology.cube_rows
     | topology.cube_cols=64
     |                    -- topology.cube_cols
     |
     = next: reduce `topology.sips`, or the rows or columns of cubes or PEs
     = more: tilewright explain TW-E0414
    ");
}

#[test]
fn files_do_not_extend_each_other_in_a_circle() {
    assert_snapshot!(files(&[("a.toml", "extends = \"b.toml\"\n"), ("b.toml", "extends = \"a.toml\"\n")]), @r#"
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
    assert_snapshot!(files(&[("a.toml", "extends = \"ahbm.toml\"\n")]), @r#"
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
    let text = files(&[("a.toml", "[hbm]\nslice_rate = \"1 GB/s\"\n")]);
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
    assert_snapshot!(files(&chain), @r#"
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
    assert_snapshot!(files(&nine), @r#"
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
    assert_snapshot!(files(&nine), @"loads: m1");
}

#[test]
fn a_large_file_or_no_text_is_not_read() {
    assert_snapshot!(files(&[("a.toml", &"# comment\n".repeat(220_000))]), @r"
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

#[test]
fn all_faults_come_at_once() {
    let text = file("[hbm]\nslice_rat = 1\nread_latency = \"1\"\n[queue]\ndepth = 0\n");
    assert_eq!(text.matches("error[TW-E04").count(), 3, "{text}");
}
