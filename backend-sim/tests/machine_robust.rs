//! Machine files and values from anywhere: they load, or they are refused; nothing panics.

use proptest::prelude::*;
use tilewright_sim::machine::{Kind, Machine, quantity};

const AHBM: &str = include_str!("../../machines/ahbm.toml");

fn kinds() -> impl Strategy<Value = Kind> {
    prop::sample::select(Kind::ALL.to_vec())
}

/// The file with some bytes of a line taken out, doubled or replaced.
fn damaged() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "\"", "{", "}", "]", "=", "-", "e9", "\n", "é", " GB/s", "nan", "\\u0000", "[hbm]\n",
    ]);
    (0..AHBM.len(), 0usize..12, piece, any::<bool>()).prop_map(|(at, len, piece, keep)| {
        let at = AHBM.floor_char_boundary(at);
        let end = AHBM.floor_char_boundary((at + len).min(AHBM.len()));
        format!("{}{piece}{}", &AHBM[..at], &AHBM[if keep { at } else { end }..])
    })
}

/// Comparing a word with all known ones takes time by its length, and so do the texts of many faults.
#[test]
fn long_words_and_many_faults_are_refused_at_once() {
    let long = "recv_overhead".repeat(20_000);
    let many: String = (0..60_000).map(|i| format!("k{i:x} = 1\n")).collect();
    let files = [
        format!("extends = \"ahbm\"\n{long} = 1\n"),
        format!("extends = \"ahbm\"\n[hbm]\n{long} = \"1 GB/s\"\n"),
        format!("extends = \"ahbm\"\n[hbm]\nslice_rate = \"1 {long}\"\n"),
        format!("extends = \"ahbm\"\n{many}"),
        format!("extends = \"ahbm\"\n[hbm]\n{many}"),
        format!("extends = \"ahbm\"\n[hbm.slice_rate]\n{many}"),
        format!("extends = \"ahbm\"\n[hbm]\n{}", "slice_rate = 1\n".repeat(60_000)),
    ];
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("long-{}.toml", std::process::id()));
    for text in files {
        std::fs::write(&path, &text).unwrap();
        let start = std::time::Instant::now();
        let refused = Machine::load(path.to_str().unwrap(), &[format!("{long}=1")]).unwrap_err();
        assert!(refused.to_string().starts_with("error[TW-E04"));
        assert!(refused.0.len() <= 103, "{} faults", refused.0.len());
        let took = start.elapsed();
        assert!(took.as_secs() < 5, "{took:?} for {:?}", &text[..60]);
    }
    std::fs::remove_file(&path).unwrap();
}

proptest! {
    #[test]
    fn a_shown_value_reads_back(kind in kinds(), value in any::<u64>()) {
        prop_assert_eq!(quantity::parse(kind, &quantity::show(kind, value)), Ok(value));
    }

    #[test]
    fn a_text_is_a_value_or_a_problem_with_its_place(kind in kinds(), text in "[-+ .0-9eE_]{0,8}[a-zA-Zµ/ ]{0,6}\\PC{0,3}") {
        if let Err(wrong) = quantity::parse(kind, &text) {
            prop_assert!(text.get(wrong.at.clone()).is_some(), "{text:?} {wrong:?}");
        }
    }

    #[test]
    fn a_flag_never_panics(flag in "(hbm|queue|x)?\\.?(slice_rate|depth)?=?\\PC{0,12}") {
        let refused = Machine::load("ahbm", &[flag]).map_err(|e| e.to_string());
        prop_assert!(refused.map_or_else(|text| text.starts_with("error[TW-E04"), |_| true));
    }

    #[test]
    fn a_damaged_file_never_panics(text in damaged()) {
        let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("damaged-{}.toml", std::process::id()));
        std::fs::write(&path, &text).unwrap();
        let refused = Machine::load(path.to_str().unwrap(), &[]).map_err(|e| e.to_string());
        std::fs::remove_file(&path).unwrap();
        prop_assert!(refused.map_or_else(|text| text.starts_with("error[TW-E04"), |_| true));
    }
}
