//! Rows of other programs, as `bench --peers` reads them, damaged.

use crate::{Answer, Input};
use tilewright_cli::read_peers;
use tilewright_test_random::Source;

const ROWS: &str = "not importable: ModuleNotFoundError\n\
    {\"peer\": \"torch_flash\", \"op\": \"decode\", \"shape\": {\"b\": 16, \"tq\": 1, \"s\": 8192, \"hq\": 64, \"hkv\": 8, \
    \"d\": 128, \"dtype\": \"float16\"}, \"us\": 13.7, \"tflops\": 19.6}\n\
    {\"peer\": \"cublas\", \"op\": \"gemm\", \"shape\": {\"m\": 4096, \"causal\": true}, \"us\": 188.0}\n";
const WORDS: [&str; 14] = [
    "{",
    "}",
    ",",
    "null",
    "[]",
    "\"us\": ",
    "\"b\": ",
    "-1",
    "0",
    "1e999",
    "18446744073709551615",
    "\"\"",
    "\n",
    "\\u0000",
];

pub fn input(from: &mut Source<'_>) -> Input {
    let text = from.damaged(ROWS, &WORDS);
    let shown = text.clone();
    let check = move || match read_peers(&text) {
        Ok(()) => Ok(Answer::Accepted),
        Err(why) if why.0.iter().all(|d| d.code == "TW-E0843" && d.next.is_some()) => Ok(Answer::Refused),
        Err(why) => Err(format!("refused without a code or a next step: {why}")),
    };
    Input { shown, check: Box::new(check) }
}
