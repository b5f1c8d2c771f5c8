//! Names of fields, types of their values, and ranges.

use super::{file, rate, set};
use insta::assert_snapshot;

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
