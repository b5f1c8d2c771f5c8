//! What happened last to each element of a tensor, kept for runs of equal elements. Tiles are boxes, so there are few;
//! elements that are all different cost twelve bytes each.

use super::sets::Cell;
use crate::unwritten::Unwritten;
use std::ops::Range;

/// Elements of a page: what an insertion moves at most.
const PAGE: usize = 1024;

#[derive(Debug)]
pub(super) struct Shadow {
    /// Elements of the tensor.
    len: usize,
    pages: Vec<Page>,
    /// Room to put parts together in.
    room: Vec<Part>,
}

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

impl Part {
    fn new(start: usize, cell: Cell) -> Part {
        Part { start: start as u16, cell }
    }
}

impl Shadow {
    /// Of a tensor of `len` elements that no program has touched.
    pub(super) fn new(len: usize, unwritten: &Unwritten) -> Shadow {
        let mut shadow =
            Shadow { len, pages: vec![Page::Uniform(Cell::default()); len.div_ceil(PAGE)], room: Vec::new() };
        unwritten.ranges().for_each(|range| shadow.update(range, &mut |_, _| Cell::UNWRITTEN));
        shadow
    }
    /// Replaces the cell of each element of `range`; `f` sees runs of equal ones.
    pub(super) fn update(&mut self, range: Range<usize>, f: &mut impl FnMut(Cell, Range<usize>) -> Cell) {
        let mut at = range.start;
        while at < range.end {
            let base = at / PAGE * PAGE;
            let len = PAGE.min(self.len - base);
            let end = range.end.min(base + len);
            let mut f = |cell, part: Range<usize>| f(cell, base + part.start..base + part.end);
            self.pages[base / PAGE].update(at - base..end - base, len, &mut self.room, &mut f);
            at = end;
        }
    }
    /// The elements that nobody has written.
    pub(super) fn unwritten(&self) -> Unwritten {
        let mut out = Unwritten::default();
        for (i, page) in self.pages.iter().enumerate() {
            let base = i * PAGE;
            let len = PAGE.min(self.len - base);
            match page {
                Page::Uniform(cell) if cell.is_unwritten() => out.push(base..base + len),
                Page::Uniform(_) => {}
                Page::Parts(parts) => {
                    let unwritten = (0..parts.len()).filter(|i| parts[*i].cell.is_unwritten());
                    unwritten.for_each(|i| out.push(base + usize::from(parts[i].start)..base + end(parts, i, len)));
                }
            }
        }
        out
    }
}

impl Page {
    /// `len`: elements of the page.
    fn update(
        &mut self,
        range: Range<usize>,
        len: usize,
        room: &mut Vec<Part>,
        f: &mut impl FnMut(Cell, Range<usize>) -> Cell,
    ) {
        match self {
            Page::Uniform(cell) => {
                let (old, new) = (*cell, f(*cell, range.clone()));
                if range == (0..len) {
                    *cell = new;
                } else if new != old {
                    let mut parts = Vec::with_capacity(4);
                    if range.start > 0 {
                        parts.push(Part::new(0, old));
                    }
                    parts.push(Part::new(range.start, new));
                    if range.end < len {
                        parts.push(Part::new(range.end, old));
                    }
                    *self = Page::Parts(parts);
                }
            }
            Page::Parts(parts) => {
                update(parts, range, len, room, f);
                if let [Part { cell, .. }] = parts[..] {
                    *self = Page::Uniform(cell);
                }
            }
        }
    }
}

/// Where part `i` of a page of `len` elements ends.
fn end(parts: &[Part], i: usize, len: usize) -> usize {
    parts.get(i + 1).map_or(len, |p| usize::from(p.start))
}

fn update(
    parts: &mut Vec<Part>,
    range: Range<usize>,
    len: usize,
    room: &mut Vec<Part>,
    f: &mut impl FnMut(Cell, Range<usize>) -> Cell,
) {
    // A part starts at 0, so there is one at or before each element.
    let first = parts.partition_point(|p| usize::from(p.start) <= range.start) - 1;
    if range.end <= end(parts, first, len) {
        return within(parts, first, range, len, f);
    }
    let last = parts.partition_point(|p| usize::from(p.start) < range.end) - 1;
    let (first_start, last_end) = (usize::from(parts[first].start), end(parts, last, len));

    room.clear();
    let mut push = |start: usize, cell: Cell, before: Option<&Part>| {
        if room.last().or(before).is_none_or(|p| p.cell != cell) {
            room.push(Part::new(start, cell));
        }
    };
    let before = first.checked_sub(1).map(|i| &parts[i]);
    if first_start < range.start {
        push(first_start, parts[first].cell, before);
    }
    for i in first..=last {
        let (start, end) = (range.start.max(parts[i].start.into()), range.end.min(end(parts, i, len)));
        push(start, f(parts[i].cell, start..end), before);
    }
    if range.end < last_end {
        push(range.end, parts[last].cell, before);
    }
    let cell_before_next = room.last().or(before).map(|p| p.cell);
    let next_is_equal = parts.get(last + 1).is_some_and(|next| Some(next.cell) == cell_before_next);
    if parts[first..=last] != room[..] || next_is_equal {
        parts.splice(first..=last + usize::from(next_is_equal), room.drain(..));
    }
}

/// Replaces what lies in one part `i`: the usual case, and where rows follow each other mostly a border that moves.
fn within(
    parts: &mut Vec<Part>,
    i: usize,
    range: Range<usize>,
    len: usize,
    f: &mut impl FnMut(Cell, Range<usize>) -> Cell,
) {
    let old = parts[i].cell;
    let new = f(old, range.clone());
    if new == old {
        return;
    }
    let (at_start, at_end) = (range.start == usize::from(parts[i].start), range.end == end(parts, i, len));
    let like_before = at_start && i > 0 && parts[i - 1].cell == new;
    let like_next = at_end && parts.get(i + 1).is_some_and(|next| next.cell == new);
    let (start, rest) = (Part::new(range.start, new), Part::new(range.end, old));
    match (at_start, at_end) {
        (true, true) => {
            parts[i].cell = new;
            // The one before grows over it, and it or the one before over the next.
            let gone = if like_before { i } else { i + 1 };
            parts.drain(gone..gone + usize::from(like_before) + usize::from(like_next));
        }
        (true, false) if like_before => parts[i].start = rest.start,
        (true, false) => {
            parts[i] = start;
            parts.insert(i + 1, rest);
        }
        (false, true) if like_next => parts[i + 1].start = start.start,
        (false, true) => parts.insert(i + 1, start),
        (false, false) => {
            parts.splice(i + 1..i + 1, [start, rest]);
        }
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
        let mut cells: Vec<Cell> = (0..3)
            .map(|op| {
                let id = sets.number(clocks.access(0, OpId(op), Kind::Write));
                Cell::default().after(id, &mut sets, &clocks)
            })
            .collect();
        cells.push(Cell::UNWRITTEN);
        let mut unwritten = Unwritten::all(len);
        unwritten.remove(700..1500);
        let mut plain = vec![Cell::UNWRITTEN; len];
        plain[700..1500].fill(Cell::default());
        let mut shadow = Shadow::new(len, &unwritten);
        let mut state = 7usize;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for _ in 0..3000 {
            let start = random(len);
            let size = [3, 40, 1024, 2500][random(4)];
            let range = start..len.min(start + 1 + random(size));
            let new = cells[random(4)];
            let mut seen = Vec::new();
            shadow.update(range.clone(), &mut |cell, part| {
                seen.extend(part.map(|i| (i, cell)));
                new
            });
            assert_eq!(seen, range.clone().map(|i| (i, plain[i])).collect::<Vec<_>>());
            plain[range].fill(new);
            let left: Vec<usize> = shadow.unwritten().ranges().flatten().collect();
            assert_eq!(left, (0..len).filter(|i| plain[*i].is_unwritten()).collect::<Vec<_>>());
            for page in &shadow.pages {
                if let Page::Parts(parts) = page {
                    assert!(parts.len() > 1 && parts[0].start == 0);
                    assert!(parts.windows(2).all(|w| w[0].start < w[1].start && w[0].cell != w[1].cell));
                }
            }
        }
    }
}
