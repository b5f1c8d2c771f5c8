fn main() {
    let text = std::io::read_to_string(std::io::stdin()).unwrap();
    let m = tilewright_core::ir::text::parse(&text, "stdin").map_err(|e| format!("{e:?}")).unwrap();
    let o = tilewright_cuda::Options {
        target: tilewright_cuda::Target::Sm90a,
        threads: 256,
        known: Default::default(),
        in_place: vec![],
    };
    match tilewright_cuda::compile(&m, &o) {
        Ok(c) => print!("{}", c.printed.text),
        Err(e) => {
            eprintln!("{e}");
            std::process::exit(2)
        }
    }
}
