//! Pictures as files.

use resvg::tiny_skia::Pixmap;
use tilewright_planner::machine::Machine;
use tilewright_planner::model::named;
use tilewright_planner::options::Options;
use tilewright_planner::picture::{Scene, Subject, VIEWS, png, text, view};
use tilewright_planner::topology::{Phase, Topology, Work};

#[test]
fn every_picture_is_painted_at_desk_and_phone_width() {
    let (model, machine) = (named("Mixtral 8x7B").expect("a preset"), Machine::default());
    let topology = Topology { cp: 8, tp: 16, pp: 2, dp: 2, b: 4, ..Topology::default() };
    let work = Work::new(Phase::Prefill, 32768);
    let subject = Subject::new(&model, &machine, topology, work, Options::BASELINE);
    for view in VIEWS.iter().filter(|v| !matches!(v.name, "pareto" | "joint")) {
        for width in [360.0, 900.0] {
            let scene = (view.draw)(&subject, width);
            let painted = Pixmap::decode_png(&png(&scene, 1.0)).expect("a PNG");
            assert_eq!(
                (painted.width(), painted.height()),
                (width as u32, scene.height.ceil() as u32),
                "{}",
                view.name
            );
            let inked = painted.pixels().iter().filter(|p| p.green() < 200).count();
            assert!(inked > 500, "{}: {inked} dark pixels", view.name);
        }
    }
}

#[test]
fn words_are_painted_without_fonts_of_the_system() {
    let mut scene = Scene::new("a word", 100.0);
    scene.height = 20.0;
    scene.text([10.0, 14.0], "start", "t", "word");
    let painted = Pixmap::decode_png(&png(&scene, 2.0)).expect("a PNG");
    assert!(painted.pixels().iter().filter(|p| p.green() < 128).count() > 50);
}

#[test]
fn marks_in_names_are_escaped() {
    let mut scene = Scene::new("a < b & c", 10.0);
    scene.text([0.0, 0.0], "start", "t", "<&>");
    let svg = scene.svg();
    assert!(svg.contains("<title>a &lt; b &amp; c</title>") && svg.contains(">&lt;&amp;&gt;</text>"), "{svg}");
}

#[test]
fn numbers_have_three_digits_and_a_unit() {
    let shown = [
        (text::time(2.9537e-3), "2.95 ms"),
        (text::time(0.9996), "1 s"),
        (text::time(0.0), "0"),
        (text::bytes(720_531_000.0), "721 MB"),
        (text::bytes(1.125e3), "1.13 kB"),
        (text::count(131_072.0), "128Ki"),
        (text::count(1000.0), "1000"),
        (text::count(28_800_000.0), "28.8 M"),
        (text::three(0.00012345), "0.000123"),
    ];
    for (found, expected) in shown {
        assert_eq!(found, expected);
    }
}

#[test]
fn an_unknown_picture_is_told_with_the_nearest() {
    let fault = view("pipelin").err().expect("a fault");
    assert_eq!(fault.code(), "TW-E0707");
    assert!(fault.next().contains("pipeline"), "{}", fault.next());
}
