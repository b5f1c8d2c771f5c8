//! What happened last to each element of a tensor, kept for runs of equal elements. Tiles are boxes, so there are few;
//! elements that are all different cost twelve bytes each.

use super::sets::Cell;
use std::ops::Range;

/// Elements of a page: what an insertion moves at most.
const PAGE: usize = 1024;

#[derive(Debug)]
pub(super) struct Shadow(Vec<Page>);

#[derive(Clone, Debug)]
enum Page {
    Uniform(Cell),
    /// In ascending order, the first from 0 on; neighbours differ.
    Parts(Vec<Part>),
}

/// Elements from `start` to the next part, or to the end of the page.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Part {
    start: u16,
    cell: Cell,
}

impl Shadow {
    /// Of a tensor of `len` elements that nothing has touched.
    pub(super) fn new(len: usize) -> Shadow {
        Shadow(vec![Page::Uniform(Cell::default()); len.div_ceil(PAGE)])
    }
    /// Replaces the cell of each element of `range`; `f` sees runs of equal ones.
    pub(super) fn update(&mut self, range: Range<usize>, f: &mut impl FnMut(Cell, Range<usize>) -> Cell) {
        let mut at = range.start;
        while at < range.end {
            let base = at / PAGE * PAGE;
            let end = range.end.min(base + PAGE);
            if let Some(page) = self.0.get_mut(base / PAGE) {
                page.update(at - base..end - base, &mut |cell, part| f(cell, base + part.start..base + part.end));
            }
            at = end;
        }
    }
}

impl Page {
    fn update(&mut self, range: Range<usize>, f: &mut impl FnMut(Cell, Range<usize>) -> Cell) {
        match self {
            Page::Uniform(cell) => {
                let (old, new) = (*cell, f(*cell, range.clone()));
                if range == (0..PAGE) {
                    *cell = new;
                } else if new != old {
                    let part = |start: usize, cell| Part { start: start as u16, cell };
                    let mut parts = vec![part(0, old), part(range.start, new), part(range.end, old)];
                    parts.retain(|p| usize::from(p.start) < PAGE);
                    // An empty part before the range.
                    parts.drain(..usize::from(range.start == 0));
                    *self = Page::Parts(parts);
                }
            }
            Page::Parts(parts) => {
                update(parts, range, f);
                if let [Part { cell, .. }] = parts[..] {
                    *self = Page::Uniform(cell);
                }
            }
        }
    }
}

fn update(parts: &mut Vec<Part>, range: Range<usize>, f: &mut impl FnMut(Cell, Range<usize>) -> Cell) {
    // A part starts at 0, so there is one at or before each element.
    let first = parts.partition_point(|p| usize::from(p.start) <= range.start) - 1;
    let last = parts.partition_point(|p| usize::from(p.start) < range.end) - 1;
    let end_of = |parts: &[Part], i: usize| parts.get(i + 1).map_or(PAGE, |p| usize::from(p.start));
    let (first_start, last_end) = (usize::from(parts[first].start), end_of(parts, last));

    let mut new: Vec<Part> = Vec::with_capacity(last - first + 3);
    let mut push = |start: usize, cell: Cell, before: Option<&Part>| {
        if new.last().or(before).is_none_or(|p| p.cell != cell) {
            new.push(Part { start: start as u16, cell });
        }
    };
    let before = first.checked_sub(1).map(|i| &parts[i]);
    if first_start < range.start {
        push(first_start, parts[first].cell, before);
    }
    for i in first..=last {
        let (start, end) = (range.start.max(parts[i].start.into()), range.end.min(end_of(parts, i)));
        push(start, f(parts[i].cell, start..end), before);
    }
    if range.end < last_end {
        push(range.end, parts[last].cell, before);
    }
    let cell_before_next = new.last().or(before).map(|p| p.cell);
    let next_is_equal = parts.get(last + 1).is_some_and(|next| Some(next.cell) == cell_before_next);
    if parts[first..=last] != new[..] || next_is_equal {
        parts.splice(first..=last + usize::from(next_is_equal), new);
    }
}

#[cfg(test)]
mod tests {
    use super::super::order::{Clocks, Kind};
    use super::super::sets::Sets;
    use super::*;
    use crate::ir::OpId;
    use crate::launch::Grid;

    /// Against one cell an element, over page borders.
    #[test]
    fn runs_hold_what_single_elements_would() {
        let (len, clocks, mut sets) = (3000, Clocks::new(Grid::cubes(1)), Sets::default());
        let writes: Vec<Cell> = (0..4)
            .map(|op| {
                let id = sets.number(clocks.access(0, OpId(op), Kind::Write));
                Cell::default().after(id, &mut sets, &clocks)
            })
            .collect();
        let (mut shadow, mut plain) = (Shadow::new(len), vec![Cell::default(); len]);
        let mut state = 7usize;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for _ in 0..3000 {
            let start = random(len);
            let size = [3, 40, 1024, 2500][random(4)];
            let range = start..len.min(start + 1 + random(size));
            let new = writes[random(4)];
            let mut seen = Vec::new();
            shadow.update(range.clone(), &mut |cell, part| {
                seen.extend(part.map(|i| (i, cell)));
                new
            });
            assert_eq!(seen, range.clone().map(|i| (i, plain[i])).collect::<Vec<_>>());
            plain[range].fill(new);
        }
        for page in &shadow.0 {
            if let Page::Parts(parts) = page {
                assert!(parts.len() > 1 && parts[0].start == 0);
                assert!(parts.windows(2).all(|w| w[0].start < w[1].start && w[0].cell != w[1].cell));
            }
        }
    }
}
