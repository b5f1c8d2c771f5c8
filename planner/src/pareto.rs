//! Points that no other beats.

use std::collections::BTreeMap;

/// The points that no other dominates: another is no larger in all three coordinates and smaller in one. Points with
/// the same coordinates all stay. Indices by the first coordinate, ties in the order given.
///
/// Sorts, then sweeps: whoever dominates a point comes before it. Of those, a staircase keeps the best third coordinate
/// for each second one. O(n log n). Coordinates are numbers, never NaN.
pub fn frontier(points: &[[f64; 3]]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    let by_coordinates =
        |a: &[f64; 3], b: &[f64; 3]| a[0].total_cmp(&b[0]).then(a[1].total_cmp(&b[1])).then(a[2].total_cmp(&b[2]));
    order.sort_by(|a, b| by_coordinates(&points[*a], &points[*b]));
    let mut stairs: BTreeMap<u64, f64> = BTreeMap::new();
    let mut kept: Vec<usize> = Vec::new();
    let mut at = 0;
    while at < order.len() {
        let point = points[order[at]];
        let group = order[at..].iter().take_while(|i| points[**i] == point).count();
        let key = ordered_bits(point[1]);
        let best = stairs.range(..=key).next_back().map(|(_, third)| *third);
        if best.is_none_or(|third| third > point[2]) {
            // Steps to the right that are no lower are of no more use.
            let worse: Vec<u64> =
                stairs.range(key..).take_while(|(_, third)| **third >= point[2]).map(|(k, _)| *k).collect();
            worse.iter().for_each(|k| {
                stairs.remove(k);
            });
            stairs.insert(key, point[2]);
            kept.extend(&order[at..at + group]);
        }
        at += group;
    }
    kept.sort_by(|a, b| points[*a][0].total_cmp(&points[*b][0]).then(a.cmp(b)));
    kept
}

/// The same over four coordinates: sorted, each point is compared with those kept so far, O(n) times the frontier's size.
pub fn frontier4(points: &[[f64; 4]]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..points.len()).collect();
    let by_coordinates = |a: &usize, b: &usize| {
        let pairs = points[*a].iter().zip(&points[*b]);
        pairs.map(|(a, b)| a.total_cmp(b)).find(|o| o.is_ne()).unwrap_or(std::cmp::Ordering::Equal).then(a.cmp(b))
    };
    order.sort_by(by_coordinates);
    let beats = |a: &[f64; 4], b: &[f64; 4]| (0..4).all(|i| a[i] <= b[i]) && a != b;
    let mut kept: Vec<usize> = Vec::new();
    for at in order {
        // Whoever dominates a point comes before it, and what dominates that one is kept.
        if !kept.iter().any(|k| beats(&points[*k], &points[at])) {
            kept.push(at);
        }
    }
    kept.sort_by(|a, b| points[*a][0].total_cmp(&points[*b][0]).then(a.cmp(b)));
    kept
}

/// An integer in the order of the number.
fn ordered_bits(x: f64) -> u64 {
    // -0.0 and 0.0 are one number.
    let bits = (x + 0.0).to_bits();
    if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
}

#[cfg(test)]
mod tests {
    use super::{frontier, frontier4};

    /// All pairs, as the definition says.
    fn plain<const N: usize>(points: &[[f64; N]]) -> Vec<usize> {
        let beats = |a: &[f64; N], b: &[f64; N]| (0..N).all(|i| a[i] <= b[i]) && a != b;
        let mut kept: Vec<usize> =
            (0..points.len()).filter(|i| !points.iter().any(|p| beats(p, &points[*i]))).collect();
        kept.sort_by(|a, b| points[*a][0].total_cmp(&points[*b][0]).then(a.cmp(b)));
        kept
    }

    proptest::proptest! {
        #[test]
        fn the_sweep_keeps_what_all_pairs_keep(points in proptest::collection::vec([0u8..6, 0u8..6, 0u8..6], 0..60)) {
            let points: Vec<[f64; 3]> = points.iter().map(|p| p.map(|x| f64::from(x) - 3.0)).collect();
            proptest::prop_assert_eq!(frontier(&points), plain(&points));
        }
        #[test]
        fn four_coordinates_keep_what_all_pairs_keep(points in proptest::collection::vec([0u8..4, 0u8..4, 0u8..4, 0u8..4], 0..60)) {
            let points: Vec<[f64; 4]> = points.iter().map(|p| p.map(f64::from)).collect();
            proptest::prop_assert_eq!(frontier4(&points), plain(&points));
        }
    }
}
