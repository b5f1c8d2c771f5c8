use tilewright_core::passes::facts::{Fact, Known, KnownArg};
fn main() {
    let text = std::io::read_to_string(std::io::stdin()).unwrap();
    let m = tilewright_core::ir::text::parse(&text, "stdin").map_err(|e| format!("{e:?}")).unwrap();
    let fact = Fact { lo: 0, hi: i64::MAX as i128, divisor: 16 };
    let args = m.params.iter().map(|_| KnownArg::LenFacts(vec![fact; 4])).collect();
    let o = tilewright_cuda::Options {
        target: tilewright_cuda::Target::Sm90a,
        threads: std::env::args().nth(1).map_or(256, |s| s.parse().unwrap()),
        known: Known { grid: None, args },
        in_place: vec![],
        aligned: vec![],
    };
    match tilewright_cuda::compile(&m, &o) {
        Ok(c) => print!("{}", c.printed.text),
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(2)
        }
    }
}
