//! Values and their units.

use super::{file, rate};
use insta::assert_snapshot;

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
