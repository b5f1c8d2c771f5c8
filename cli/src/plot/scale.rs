//! Values on an axis, and where they lie.

/// How an axis runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// From zero on.
    Linear,
    /// Every doubling takes the same way.
    Log,
}

/// An axis with its range, between two places.
pub struct Scale {
    axis: Axis,
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Scale {
    /// For these values, between two places. A value that an axis cannot show does not count.
    pub fn of(axis: Axis, values: impl Iterator<Item = f64>, from: f64, to: f64) -> Scale {
        let shown = values.filter(|v| v.is_finite() && (axis == Axis::Linear || *v > 0.0));
        let (low, high) = shown.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = match axis {
            _ if low > high => (1.0, 2.0),
            Axis::Linear => (low.min(0.0), if high > 0.0 { high * 1.05 } else { 1.0 }),
            Axis::Log if high / low < 2.0 => (low / 1.5, high * 1.5),
            Axis::Log => (low, high),
        };
        Scale { axis, low, high, from, to }
    }
    pub fn at(&self, value: f64) -> f64 {
        let part = match self.axis {
            Axis::Linear => (value - self.low) / (self.high - self.low),
            Axis::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        self.from + (self.to - self.from) * part
    }
    pub fn shows(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
    /// Round values, about six of them.
    pub fn ticks(&self) -> Vec<f64> {
        match self.axis {
            Axis::Linear => {
                let rough = (self.high - self.low) / 6.0;
                let power = 10f64.powf(rough.log10().floor());
                let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough).unwrap_or(rough);
                let first = (self.low / step).ceil() as i64;
                (first..).map(|i| i as f64 * step).take_while(|v| *v <= self.high).collect()
            }
            Axis::Log => {
                let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
                // Over many decades only their beginnings.
                let digits: &[f64] = if last - first > 3 { &[1.0] } else { &[1.0, 2.0, 5.0] };
                let all = (first..=last).flat_map(|p| digits.iter().map(move |d| d * 10f64.powi(p)));
                all.filter(|v| self.shows(*v)).collect()
            }
        }
    }
}

/// A number as a label: whole powers of two in K and M, others short.
pub fn label(value: f64) -> String {
    let whole = |unit: f64| value >= unit && value % unit == 0.0;
    if whole(1048576.0) {
        format!("{}M", value / 1048576.0)
    } else if whole(1024.0) {
        format!("{}K", value / 1024.0)
    } else if value.abs() >= 1e5 {
        format!("{value:.0e}")
    } else {
        // To three digits, without zeros behind the point.
        let digits = (2 - value.abs().max(1e-9).log10().floor() as i32).clamp(0, 9);
        let text = format!("{value:.*}", digits as usize);
        if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_string() } else { text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_the_range_lie_at_the_ends_of_the_way() {
        let s = Scale::of(Axis::Log, [8192.0, 65536.0].into_iter(), 10.0, 40.0);
        assert_eq!([8192.0, 16384.0, 65536.0].map(|v| s.at(v).round()), [10.0, 20.0, 40.0]);
        let s = Scale::of(Axis::Linear, [50.0, 100.0].into_iter(), 105.0, 0.0);
        assert_eq!([0.0, 100.0].map(|v| s.at(v).round()), [105.0, 5.0]);
        assert_eq!(s.ticks(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
    }
    #[test]
    fn values_that_an_axis_cannot_show_do_not_count() {
        let s = Scale::of(Axis::Log, [0.0, f64::NAN, -1.0].into_iter(), 0.0, 1.0);
        assert!(s.at(1.5).is_finite());
    }
    #[test]
    fn labels_are_short() {
        let all = [0.0, 0.05, 1.25, 123.456, 8192.0, 1048576.0, 3e7].map(label);
        assert_eq!(all, ["0", "0.05", "1.25", "123", "8K", "1M", "3e7"]);
    }
}
