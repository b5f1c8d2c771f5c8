//! Names and places a kernel may have: whatever a user writes keeps its meaning between the macro's own names.

use tilewright::ir::text::print;
use tilewright::prelude::*;

fn ir(launch: Launch<'_>) -> String {
    print(&launch.trace().unwrap_or_else(|e| panic!("{e}")))
}
fn x() -> Tensor<f32, 1> {
    Tensor::shape_only([64])
}

/// All names that generated code uses, as the user's variables; `self` rebound; a field named like a method.
#[derive(Value)]
struct State {
    trace: Scalar<i32>,
    vals: Scalar<i32>,
    r#type: Scalar<i32>,
}
impl State {
    #[device]
    fn step(mut self, by: Scalar<i32>) -> Self {
        if by > 0 {
            self.trace += by;
            if self.trace > 3 {
                self.vals = self.trace;
            }
        }
        for _ in 0..by {
            self.r#type += 1;
        }
        self
    }
}
#[kernel]
#[allow(non_snake_case)]
fn names(trace: View<f32, 1>, rt: ViewMut<f32, 1>, __launch: Scalar<i32>, #[comptime] __slot0: bool) {
    let __value = trace.at(0).get();
    let mut __carried = __value;
    let mut __mark = scalar(1);
    let r#loop = __launch + 1;
    let scope = State { trace: r#loop, vals: scalar(2), r#type: scalar(3) };
    let (mut carry, __frame) = (scope.step(__launch), 3usize);
    for __body in 0..__launch {
        if __body > 1 && __slot0 {
            let __value = __carried * 2.0;
            __carried = __value;
            __mark += __frame;
        }
        carry.trace = __body + __mark;
    }
    rt.at(carry.trace).set(__carried);
}
#[test]
fn generated_names_never_meet_the_users() {
    let text = ir(names(&x(), &mut x(), 3, true));
    insta::assert_snapshot!(text);
}

mod inner {
    use super::*;
    pub(super) fn launch(x: &Tensor<f32, 1>) -> Launch<'_> {
        /// A kernel inside a function, with a private type.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        enum Mode {
            Off,
            Twice,
        }
        #[kernel]
        fn local(
            /// What is read.
            x: View<f32, 1>,
            #[comptime] mode: Mode,
        ) {
            let mut v = x.at(0).get();
            match mode {
                Mode::Off => {}
                Mode::Twice if v_is_wanted(2 > 1) => v = v * 2.0,
                Mode::Twice => {}
            }
            keep(v);
        }
        fn v_is_wanted(yes: bool) -> bool {
            yes
        }
        let _ = Mode::Off;
        local(x, Mode::Twice)
    }
}
#[test]
fn kernels_live_in_functions_and_modules() {
    assert!(ir(inner::launch(&x())).contains("mul %v, 2.0"));
}

macro_rules! stamp {
    ($name:ident, $t:ty, $cmp:expr, $range:expr, |$v:ident| $body:expr) => {
        #[kernel]
        fn $name(x: View<$t, 1>) {
            let mut $v = x.at(0).get();
            for i in $range {
                if $cmp {
                    $v = $body;
                }
                let _ = i;
            }
            keep($v);
        }
    };
}
stamp!(stamped, f32, 2 > 1, 0..4, |acc| acc + 1.0);
#[test]
fn kernels_come_out_of_macros() {
    let text = ir(stamped(&x()));
    assert!(text.contains("for %i in 0..4 carry (%acc"), "{text}");
}

type In = View<f32, 1>;
type Count = Scalar<i32>;
#[kernel]
fn aliases<T, const FLIP: bool>(x: In, n: Count, y: tilewright::prelude::ViewMut<T, 1>)
where
    T: Float,
{
    if FLIP {
        y.at(n).set(x.at(0).get().cast::<T>());
    }
}
#[test]
fn aliases_paths_where_clauses_and_bools_make_parameters() {
    assert!(ir(aliases::<f16, true>(&x(), 3, &mut Tensor::shape_only([8]))).contains("<T=f16, FLIP=true>(%x: "));
    assert!(!ir(aliases::<f16, false>(&x(), 3, &mut Tensor::shape_only([8]))).contains("store"));
}

#[kernel]
fn switched(x: View<f32, 1>, #[cfg(not(test))] gone: Missing, #[cfg(test)] n: Scalar<i32>, #[comptime] mut k: usize) {
    k += 1;
    #[cfg(not(test))]
    if n > 2 {
        keep(gone);
    }
    #[cfg(test)]
    let v = x.at(n * k).get();
    keep(v);
}
#[test]
fn parameters_and_statements_are_switched_by_cfg() {
    assert!(ir(switched(&x(), 3, 1)).contains("mul %n, 2 "));
}

/// Host Rust of every form that a body may hold, lowered or left alone without a change of meaning.
#[kernel]
fn host_rust(x: View<f32, 1>, n: Scalar<i32>, #[comptime] list: Vec<usize>, #[comptime] name: Option<&'static str>) {
    const LIMIT: usize = if 3 > 2 { 4 } else { 5 };
    struct Pair<'a> {
        a: &'a [usize; 2],
        b: usize,
    }
    fn helper(v: usize) -> bool {
        v > 2 && v != 9
    }
    let pair = Pair { a: &[list.len(), 1 + 1], b: if list.len() > 1 { 7 } else { 8 } };
    let table = [[0usize; if LIMIT > 3 { 2 } else { 1 }]; 2];
    let mut total = pair.a[0] + pair.b + table[0].len();
    for &v in list.iter().filter(|v| **v > 1 && helper(**v) || **v == 2) {
        total += v;
    }
    if let Some(name) = name
        && name.len() > 2
    {
        total += name.len();
    }
    let mut rest = list.clone();
    while let Some(v) = rest.pop() {
        if v == 3 {
            total += 100;
        }
    }
    let words = vec!["a"; 2];
    let Some(first) = words.first() else { return };
    let class = match total {
        0 => "none",
        1..=9 => "few",
        t if t % 2 == 0 && t > 9 => "even",
        _ => "odd",
    };
    let pick = |flag: bool| -> usize {
        match flag {
            true => return 1,
            false => 2,
        }
    };
    let text = { format!("{class}{first}{}", pick(total > 5)) };
    let offset = unsafe_free(&text, || total >= 10);
    let range = 0..2usize;
    for k in range {
        keep(x.at(n + k + offset).get());
    }
    print_k!("n {}", n);
    assert_k!(text != "", "a text");
}
fn unsafe_free(text: &str, f: impl Fn() -> bool) -> usize {
    if f() { text.len() } else { 0 }
}
#[test]
fn host_rust_keeps_its_meaning() {
    let text = ir(host_rust(&x(), 3, vec![1, 3, 2], Some("abc")));
    // total = 3 + 7 + 2, + 3 + 2, + 3, + 100 = 120: "even" "a" "1" has six letters.
    assert_eq!(text.matches("load").count(), 2, "{text}");
    assert!(text.contains("add %0, 6 "), "{text}");
}

/// Generic over a function, a shape and a value; bodies in traits; results by `impl Trait`.
trait Scale {
    fn scale<S: Shape>(self, x: Tile<f32, S>) -> Tile<f32, S>;
}
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct By(usize);
impl Scale for By {
    #[device]
    fn scale<S: Shape>(self, x: Tile<f32, S>) -> Tile<f32, S> {
        x * self.0 as f64
    }
}
#[device]
fn twice<V: Value>(v: V, f: impl Fn(V) -> V) -> V {
    f(f(v))
}
#[device]
fn adder(by: Scalar<f32>) -> impl Fn(Scalar<f32>) -> Scalar<f32> {
    move |v| v + by
}
#[device]
fn accumulate(into: &mut Scalar<f32>, mut v: Scalar<f32>) {
    v *= 2.0;
    *into += v;
}
#[kernel]
fn device_forms<B>(x: View<f32, 1>, #[comptime] by: By, #[comptime] tags: (B, u8))
where
    B: Comptime,
{
    let _ = tags;
    let t = by.scale(x.at(0).load::<D1<8>>());
    let mut s = twice(t.sum(Axis::<0>), adder(x.at(1).get()));
    accumulate(&mut s, x.at(2).get());
    keep((s, twice((s, t), |(s, t)| (s + 1.0, t + s))));
}
#[test]
fn device_functions_take_every_form() {
    let text = ir(device_forms(&x(), By(3), (Some(1u64), 2)));
    assert!(text.contains("splat 3.0"), "{text}");
    assert!(text.contains(r#"<B="Option<u64>", by="By(3)", tags="(Some(1), 2)">"#), "{text}");
}

/// Instances of one kernel have one function pointer type: a tuner's table is an array.
#[kernel]
fn scale<T: Float, const N: usize>(x: View<T, 1>, y: ViewMut<T, 1>, a: Scalar<T>) {
    let i = program_id() * N;
    y.at(i).store(x.at(i).load::<D1<N>>() * a);
}
#[test]
fn instances_share_a_function_pointer_type() {
    let (x, mut y) = (x(), x());
    let table = [scale::<_, 128>, scale::<_, 256>, scale::<_, 512>];
    let widths = table.map(|launch| ir(launch(&x, &mut y, 2.0)).matches("128").count());
    assert!(widths[0] > 0 && widths[1] == 0 && widths[2] == 0);
}

#[derive(Value)]
struct Both {
    low: Scalar<i32>,
    high: Scalar<i32>,
}
#[device]
fn handed_through(x: Scalar<i32>) -> Scalar<i32> {
    keep(x % 3);
    x
}
#[device]
fn apart(x: Scalar<i32>) -> Both {
    let high = x / 16;
    let both = Both { low: x % 16, high };
    keep(x + 1);
    both
}
#[device]
fn counted(x: Scalar<i32>, parts: &mut usize) -> usize {
    *parts += 1;
    keep(x - 1);
    *parts
}
#[kernel]
fn bound(x: View<f32, 1>, n: Scalar<i32>) {
    let m = n * 2;
    let all = handed_through(m);
    let place = x.at(all + 1);
    let same = (all * 5).cast::<i32>().cast::<i64>().cast::<i32>();
    let parts = apart(same);
    let total = counted(n, &mut 0);
    keep((place.get(), parts.low, parts.high * total));
}
#[test]
fn a_name_is_that_of_the_value_bound_not_of_the_last_operation() {
    insta::assert_snapshot!(ir(bound(&x(), 3)), @r"
    kernel @bound(%x: view<?xf32>, %n: i32) {
      %m = mul %n, 2 : i32
      %0 = rem %m, 3 : i32
      keep %0
      %1 = add %m, 1 : i32
      %2 = mul %m, 5 : i32
      %3 = cast %2 : i64
      %same = cast %3 : i32
      %high = div %same, 16 : i32
      %low = rem %same, 16 : i32
      %4 = add %same, 1 : i32
      keep %4
      %5 = sub %n, 1 : i32
      keep %5
      %6 = load %x[%1] : f32
      %7 = mul %high, 1 : i32
      keep %6
      keep %low
      keep %7
    }
    ");
}
