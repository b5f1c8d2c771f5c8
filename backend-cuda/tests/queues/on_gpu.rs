//! On a GPU: the interpreter's values, launch after launch, each with other delays; the words of who waits in vain; and what a
//! hop takes, for the eye.

use super::common::{self, Value, difference, parse, some, tensors};
use super::told::{UNEVEN, uneven};
use super::traffic::{delayed_ring, of_delayed_ring, ping_pong};
use super::{How, interpreted, numbers, on, ready, ring};
use std::io::Write;
use std::time::Instant;
use tilewright_core::elem::ElemType;
use tilewright_core::launch::{Grid, Ready};
use tilewright_cuda::launch::{Variants, execute};

#[test]
fn on_a_gpu_messages_arrive_as_on_the_emulator() {
    let Some(mut gpu) = common::gpu("messages between programs on a GPU") else { return };
    let tell = |line: String| drop(writeln!(std::io::stdout(), "\n{line}"));
    for (pes, threads, depth) in [(2, 64, 1), (4, 128, 2), (8, 256, 3), (5, 128, 4), (8, 32, 5)] {
        let (tir, how) = (ring(pes), How { grid: Grid::cubes(16).pes(pes), threads, depth });
        let view = || Value::Tensor(some(ElemType::I32, &[64 * 16 * pes]));
        let args = [Value::Scalar(50i32.into()), view(), view()];
        let (wanted, ran) = (interpreted(&tir, how, &args), on(&mut gpu, &tir, how, &args));
        assert!(ran.errors.is_none(), "{how:?}: {}", ran.errors.unwrap_or_default());
        assert_eq!(difference(&wanted.tensors[1], &ran.tensors[1], 0), None, "{how:?}");
    }
    let (tir, mut variants) = (delayed_ring(8), Variants::default());
    let module = parse(&tir);
    let how = How { grid: Grid::cubes(2).pes(8), threads: 64, depth: 2 };
    let wanted = interpreted(&tir, how, &of_delayed_ring(8, 12, 0, 1));
    for seed in 0..1000 {
        let mut values = of_delayed_ring(8, 12, seed, 2000).to_vec();
        let ready = Ready { module: module.clone(), ..ready(&tir, how, &mut values) };
        let ran = execute(&mut gpu, &mut variants, ready).and_then(|outcome| outcome.errors.finish());
        assert!(ran.is_ok(), "{seed}: {ran:?}");
        assert_eq!(difference(&wanted.tensors[2], &tensors(values)[2], 0), None, "{seed}");
    }
    tell("1000 launches of a ring with random delays gave the same bits".to_string());
    for (sent, received) in [(3, 4), (5, 2), (5, 4)] {
        let args = [numbers(&[sent, received]), Value::Tensor(some(ElemType::I32, &[64]))];
        let how = How { grid: Grid::cubes(1).pes(4), threads: 64, depth: 2 };
        let ran = on(&mut gpu, UNEVEN, how, &args).errors.unwrap_or_default().to_string();
        assert_eq!(ran, uneven(sent, received));
    }
    for (port, words, threads) in
        [("pe", 32, 32), ("pe", 256, 64), ("pe", 1024, 128), ("pe", 4096, 256), ("cube", 32, 32), ("cube", 1024, 128)]
    {
        let grid = if port == "pe" { Grid::cubes(1).pes(2) } else { Grid::cubes(2) };
        let (tir, how) = (ping_pong(words, port), How { grid, threads, depth: 2 });
        let (module, mut variants) = (parse(&tir), Variants::default());
        let mut took = |n: i32| {
            let view = || Value::Tensor(some(ElemType::F32, &[words]));
            let mut values = vec![Value::Scalar(n.into()), view(), view()];
            let ready = Ready { module: module.clone(), ..ready(&tir, how, &mut values) };
            let start = Instant::now();
            let ran = execute(&mut gpu, &mut variants, ready).and_then(|outcome| outcome.errors.finish());
            assert!(ran.is_ok(), "{ran:?}");
            start.elapsed()
        };
        took(100);
        let hops = 2 * 20_000;
        let best =
            |took: &mut dyn FnMut(i32) -> std::time::Duration, n| (0..5).map(|_| took(n)).min().unwrap_or_default();
        let (short, long) = (best(&mut took, 100), best(&mut took, 20_100));
        let each = long.saturating_sub(short).as_nanos() / hops;
        tell(format!("{port}: {each} ns a hop of {} bytes, {threads} threads", 4 * words));
    }
}
