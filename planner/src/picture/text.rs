//! Numbers in pictures: three digits and a unit.

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Bytes,
    /// Tokens and requests: powers of two stay readable.
    Count,
    /// A part of one.
    Percent,
    Plain,
}

impl Unit {
    pub fn show(self, x: f64) -> String {
        match self {
            Unit::Seconds => time(x),
            Unit::Bytes => bytes(x),
            Unit::Count => count(x),
            Unit::Percent => format!("{} %", three(x * 100.0)),
            Unit::Plain => three(x),
        }
    }
}

/// Three significant digits, no zeros at the end; half rounds up.
pub fn three(x: f64) -> String {
    let size = x.abs();
    let digits = [100.0, 10.0, 1.0, 0.1, 0.01, 0.001].iter().position(|least| size >= *least).unwrap_or(6);
    let scale = [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6][digits];
    let rounded = (x * scale + 0.5).floor() / scale + 0.0;
    let text = format!("{rounded:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
}

pub fn time(s: f64) -> String {
    scaled(s, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")])
}

pub fn bytes(b: f64) -> String {
    scaled(b, &[(1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1.0, "B")])
}

fn scaled(x: f64, units: &[(f64, &str)]) -> String {
    if x == 0.0 {
        return "0".to_string();
    }
    // 999.6 would show as 1000.
    let fits = units.iter().find(|(size, _)| x.abs() >= *size * 0.9995);
    let (size, name) = fits.copied().unwrap_or(units[units.len() - 1]);
    format!("{} {name}", three(x / size))
}

/// Whole numbers; multiples of 1024 in Ki and Mi, others from 100 000 in k, M, G, T.
pub fn count(n: f64) -> String {
    const KI: f64 = 1024.0;
    if n >= KI * KI && n % (KI * KI) == 0.0 {
        format!("{}Mi", n / (KI * KI))
    } else if n >= KI && n % KI == 0.0 && n < KI * KI {
        format!("{}Ki", n / KI)
    } else if n < 1e5 {
        if n == n.floor() { format!("{n}") } else { three(n) }
    } else {
        let (size, name) = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")]
            .into_iter()
            .find(|(size, _)| n >= size * 0.9995)
            .unwrap_or((1e3, "k"));
        format!("{} {name}", three(n / size))
    }
}
