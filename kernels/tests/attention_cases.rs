//! Faults that users reported of attention in comparable systems, on the shipped decode kernel and on kernels built from
//! its parts: head counts that are no power of two, and the sliding window.

use tilewright::Runtime;
use tilewright::diag::Diagnostics;
use tilewright::prelude::*;
use tilewright::registry::{Agreement, Arch, Inputs};
use tilewright_kernels::attention::Partial;

/// The interpreter, the machine model, and PTX for each architecture on the emulator.
fn targets() -> Vec<Runtime> {
    let emulated = Arch::ALL.map(Runtime::ptx_emu);
    [Runtime::reference(), Runtime::sim()].into_iter().chain(emulated).collect()
}

fn decode(word: &str, on: &mut Runtime) -> Result<Vec<Agreement>, Diagnostics> {
    let instance = tilewright_kernels::all().instance(word)?;
    let mut case = instance.case(Inputs::Random { seed: 5 }, &on.limits())?;
    case.launch()?.run(on)?;
    case.check()
}
#[test]
fn decode_of_any_group_is_right_or_refused_with_what_to_change() {
    let heads = [(28, 4), (14, 2), (40, 8), (24, 4), (12, 1), (96, 8), (64, 4), (71, 1), (16, 8), (48, 16)];
    let types = [("f16", "f16"), ("f16", "f32"), ("bf16", "f32")];
    let (mut right, mut refused) = (0, 0);
    for ((q, kv), (elem, acc)) in heads.into_iter().flat_map(|h| types.map(|t| (h, t))) {
        for (mode, d) in ["A1", "A2", "A4", "B"].into_iter().flat_map(|m| [64, 128].map(|d| (m, d))) {
            let reduce = if d == 64 { "chain" } else { "scatter" };
            let word = format!(
                "gqa_decode:h-q={q},h-kv={kv},d-head={d},mode={mode},reduce={reduce},s-kv=256,tile=32,elem={elem},acc={acc}"
            );
            // As PTX one of the types and one length stand for all.
            let some = (d, elem, acc) == (64, "f16", "f32");
            for mut on in targets().into_iter().take(if some { 4 } else { 2 }) {
                match decode(&word, &mut on) {
                    Ok(outputs) => {
                        right += 1;
                        assert!(outputs.iter().all(Agreement::agrees), "{word}: {outputs:?}");
                    }
                    Err(e) => {
                        refused += 1;
                        let clean = |text: &str| text.starts_with("error[TW-E05") && text.contains("= next: ");
                        assert!(clean(&e.to_string()), "{word}: {e}");
                    }
                }
            }
        }
    }
    assert!(right >= 200 && refused > 0, "{right} right, {refused} refused");
}
/// PEs with whole tiles and a part of one, with a part only, without a token; in every tier, dealt either way.
#[test]
fn decode_over_any_number_of_tokens_is_right() {
    let modes = ["A1", "A2", "A4", "B"];
    let tokens = [1, 3, 17, 31, 33, 250, 256, 257, 383, 1032];
    let ways = [
        "",
        ",reduce=scatter,deal=turns",
        ",tier=composite,deal=turns",
        ",tier=composite-fused",
        ",acc=f16,deal=turns",
    ];
    for (s_kv, mode) in tokens.into_iter().flat_map(|s| modes.map(|m| (s, m))) {
        for way in ways {
            let acc = if way.contains("acc") { "" } else { ",acc=f32" };
            let word = format!("gqa_decode:h-q=24,h-kv=8,d-head=16,mode={mode},s-kv={s_kv},tile=32{acc}{way}");
            for mut on in [Runtime::reference(), Runtime::sim()] {
                let outputs = decode(&word, &mut on).unwrap_or_else(|e| panic!("{word}: {e}"));
                assert!(outputs.iter().all(Agreement::agrees), "{word}: {outputs:?}");
            }
        }
    }
}
/// The same as PTX, in the turns of warps.
#[test]
fn decode_over_any_number_of_tokens_is_right_as_ptx() {
    for (s_kv, arch) in [1, 33, 250, 257, 601].into_iter().flat_map(|s| Arch::ALL.map(|arch| (s, arch))) {
        for way in ["mode=A1,deal=turns", "mode=A2,deal=ranges", "mode=A4,deal=turns,reduce=scatter", "mode=B,acc=f16"]
        {
            let acc = if way.contains("acc") { "" } else { ",acc=f32" };
            let word = format!("gqa_decode:h-q=24,h-kv=8,d-head=64,s-kv={s_kv},tile=32,{way}{acc}");
            let outputs = decode(&word, &mut Runtime::ptx_emu(arch)).unwrap_or_else(|e| panic!("{word}: {e}"));
            assert!(outputs.iter().all(Agreement::agrees), "{word}: {outputs:?}");
        }
    }
}
/// Query tokens that see less than all, of one request and of several, with tiles that no row sees and rows that see none of a PE's.
#[test]
fn query_tokens_see_what_is_up_to_their_own() {
    for (t_q, batch, causal) in
        [(1, 3, "no"), (2, 1, "yes"), (8, 1, "no"), (8, 1, "yes"), (3, 4, "yes"), (17, 2, "yes")]
    {
        for (s_kv, mode) in [17, 33, 256, 301].into_iter().flat_map(|s| ["A1", "A2", "B"].map(|m| (s, m))) {
            for way in ["", ",reduce=scatter,deal=turns", ",tier=composite", ",tier=composite-fused,deal=turns"] {
                let rows = format!("h-q=24,h-kv=8,t-q={t_q},batch={batch},causal={causal}");
                let word = format!("gqa_decode:{rows},d-head=16,mode={mode},s-kv={s_kv},tile=32,acc=f32{way}");
                for mut on in [Runtime::reference(), Runtime::sim()] {
                    let outputs = decode(&word, &mut on).unwrap_or_else(|e| panic!("{word}: {e}"));
                    assert!(outputs.iter().all(Agreement::agrees), "{word}: {outputs:?}");
                }
            }
        }
    }
}
/// The same as PTX: rows that a warp holds by itself, and rows of all warps.
#[test]
fn query_tokens_see_what_is_up_to_their_own_as_ptx() {
    let rows = ["t-q=2,causal=yes", "t-q=8,causal=yes", "t-q=2,batch=3,causal=yes", "batch=16", "t-q=8,causal=no"];
    for (rows, s_kv) in rows.into_iter().flat_map(|rows| [17, 257].map(|s| (rows, s))) {
        for (arch, mode) in Arch::ALL.into_iter().flat_map(|arch| ["auto", "A4"].map(|mode| (arch, mode))) {
            let word = format!("gqa_decode:h-q=24,h-kv=4,d-head=64,mode={mode},s-kv={s_kv},acc=f32,{rows}");
            let outputs = decode(&word, &mut Runtime::ptx_emu(arch)).unwrap_or_else(|e| panic!("{word}: {e}"));
            assert!(outputs.iter().all(Agreement::agrees), "{word}: {outputs:?}");
        }
    }
}
/// Every length of heads, with rows of one token and of several.
#[test]
fn heads_of_any_length_are_right() {
    for (d, rows) in [64, 128, 256].into_iter().flat_map(|d| ["t-q=1", "t-q=4,causal=yes"].map(|rows| (d, rows))) {
        let word = format!("gqa_decode:h-q=8,h-kv=2,d-head={d},kv-per-cube=1,s-kv=301,acc=f32,{rows}");
        for mut on in targets() {
            let outputs = decode(&word, &mut on).unwrap_or_else(|e| panic!("{word}: {e}"));
            assert!(outputs.iter().all(Agreement::agrees), "{word}: {outputs:?}");
        }
    }
}
#[test]
fn decode_refuses_what_it_was_not_written_for() {
    for word in ["h-q=7,h-kv=2", "t-q=0", "batch=0", "t-q=3,s-kv=2,causal=yes", "s-kv=0", "h-kv=0"] {
        let text = decode(&format!("gqa_decode:{word}"), &mut Runtime::sim()).unwrap_err().to_string();
        assert!(text.starts_with("error[TW-E05") && text.contains("= next: "), "{word}: {text}");
    }
}

/// Row i, at position `p = i + S - T`, sees the tokens `c` with `p - W < c <= p`: W of them, itself included.
#[kernel]
fn windowed<const T: usize, const BN: usize, const D: usize>(
    q: View<f32, 2>,
    k: View<f32, 2>,
    v: View<f32, 2>,
    o: ViewMut<f32, 2>,
    window: Scalar<i32>,
) {
    let q = q.at(0, 0).load::<D2<T, D>>();
    let tokens = k.len(Axis::<0>);
    let mut part = Partial::<f32, T, D> { m: full(f32::LOWEST), l: zeros(), o: zeros() };
    for t in (0..tokens).step_by(BN) {
        let s: Tile<f32, D2<T, BN>> = dot(q, k.at(t, 0).load_or::<D2<BN, D>>(0.0).trans());
        let (c, r) = (iota::<i32, D2<T, BN>>(Axis::<1>) + t, iota::<i32, D2<T, BN>>(Axis::<0>) + (tokens - T));
        let s = select((c <= r) & (c > r - window), s, f32::LOWEST);
        part = part.online_softmax_step(s, v.at(t, 0).load_or::<D2<BN, D>>(0.0));
    }
    o.at(0, 0).store(part.normalised::<f32>());
}
/// Decode that reads the last W tokens only.
#[kernel]
fn last_tokens<const D: usize>(
    q: View<f32, 2>,
    k: View<f32, 2>,
    v: View<f32, 2>,
    o: ViewMut<f32, 2>,
    row: Scalar<i32>,
    #[comptime] window: usize,
) {
    let first = k.len(Axis::<0>) - window;
    let s: Tile<f32, D2<1, ANY>> =
        dot(q.at(row, 0).load::<D2<1, D>>(), k.at(first, 0).load_sized::<D2<ANY, D>>([window]).trans());
    let part = Partial::of_tile(s, v.at(first, 0).load_sized::<D2<ANY, D>>([window]));
    o.at(0, 0).store(part.normalised::<f32>());
}
fn random(rows: usize, seed: usize) -> Tensor<f32, 2> {
    let value = |i: usize| ((i * 7919 + seed * 104_729) % 2003) as f32 / 1001.5 - 1.0;
    Tensor::from_vec([rows, 8], (0..rows * 8).map(value).collect()).expect("rows of 8")
}
/// In f64: row `i` over the last `window` of the tokens up to its own.
fn expected(q: &Tensor<f32, 2>, k: &Tensor<f32, 2>, v: &Tensor<f32, 2>, window: usize) -> Vec<f64> {
    let row = |t: &Tensor<f32, 2>, i: usize, d: usize| f64::from(t.elements()[i * 8 + d]);
    let ([rows, _], [tokens, _]) = (q.dims(), k.dims());
    let mut out = Vec::new();
    for i in 0..rows {
        let p = i + tokens - rows;
        let seen: Vec<usize> = ((p + 1).saturating_sub(window)..=p).collect();
        assert_eq!(seen.len(), (p + 1).min(window));
        let score = |c: &usize| (0..8).map(|d| row(q, i, d) * row(k, *c, d)).sum::<f64>().exp();
        let weights: Vec<f64> = seen.iter().map(score).collect();
        let sum: f64 = weights.iter().sum();
        out.extend((0..8).map(|d| seen.iter().zip(&weights).map(|(c, w)| w * row(v, *c, d)).sum::<f64>() / sum));
    }
    out
}
#[track_caller]
fn close(got: &[f32], want: &[f64]) {
    assert_eq!(got.len(), want.len());
    assert!(got.iter().zip(want).all(|(g, w)| (f64::from(*g) - w).abs() < 1e-5), "{got:?}, not {want:?}");
}
#[test]
fn a_window_of_w_is_w_tokens_with_the_own_and_decode_is_the_last_row() {
    fn check<const T: usize>(tokens: usize) {
        let (q, k, v) = (random(T, 1), random(tokens, 2), random(tokens, 3));
        for mut on in targets() {
            let mut at = |window: usize| {
                let mut o = Tensor::<f32, 2>::uninit([T, 8]);
                windowed::<T, 8, 8>(&q, &k, &v, &mut o, window as i32).run(&mut on).unwrap_or_else(|e| panic!("{e}"));
                o.elements().to_vec()
            };
            let causal = at(tokens);
            for window in [1, 4, 16, 17, tokens, 10 * tokens] {
                let o = at(window);
                close(&o, &expected(&q, &k, &v, window));
                assert!(window < tokens || o == causal, "a window of the context is no window, to the bit");
            }
            assert_eq!(at(1), v.elements()[(tokens - T) * 8..], "a window of one token is its value");
            for window in [1, 4, 7, tokens.min(16), tokens] {
                let mut o = Tensor::<f32, 2>::uninit([1, 8]);
                let launch = last_tokens::<8>(&q, &k, &v, &mut o, T as i32 - 1, window);
                launch.run(&mut on).unwrap_or_else(|e| panic!("{e}"));
                let want = expected(&q, &k, &v, window);
                close(o.elements(), &want[(T - 1) * 8..]);
            }
        }
    }
    check::<10>(10);
    check::<3>(40);
}
