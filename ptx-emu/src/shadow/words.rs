//! A cell a word of memory. A word whose bytes are touched apart has a cell a byte.

use rustc_hash::FxHashMap;

/// What can be said of a word, and of each of its bytes.
pub(crate) trait Place: Copy + Default {
    /// What was said of the word, of one of its bytes.
    fn byte(self, i: u32) -> Self;
}

#[derive(Clone, Debug)]
pub(crate) struct Words<C> {
    cells: Vec<C>,
    /// By word: its bytes.
    split: FxHashMap<u32, [C; 4]>,
}

impl<C: Place> Words<C> {
    pub(crate) fn new(words: usize) -> Words<C> {
        Words { cells: vec![C::default(); words], split: FxHashMap::default() }
    }
    /// Each cell of the bytes, with the number of its first byte and how many it has.
    #[inline(always)]
    pub(crate) fn each<E>(
        &mut self,
        at: u64,
        bytes: u32,
        mut f: impl FnMut(&mut C, u32, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        let word = (at / 4) as usize;
        if bytes >= 4 && self.split.is_empty() {
            for (i, cell) in self.cells[word..word + bytes as usize / 4].iter_mut().enumerate() {
                f(cell, i as u32 * 4, 4)?;
            }
            return Ok(());
        }
        self.each_part(at, bytes, f)
    }
    #[inline(never)]
    fn each_part<E>(
        &mut self,
        at: u64,
        bytes: u32,
        mut f: impl FnMut(&mut C, u32, u32) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut done = 0;
        while done < bytes {
            let place = at + u64::from(done);
            let (word, from) = ((place / 4) as u32, (place % 4) as u32);
            let count = (4 - from).min(bytes - done);
            if count == 4 && !self.split.contains_key(&word) {
                f(&mut self.cells[word as usize], done, 4)?;
            } else {
                let whole = self.cells[word as usize];
                let parts = self.split.entry(word).or_insert_with(|| [0, 1, 2, 3].map(|i| whole.byte(i)));
                for (i, cell) in parts[from as usize..(from + count) as usize].iter_mut().enumerate() {
                    f(cell, done + i as u32, 1)?;
                }
            }
            done += count;
        }
        Ok(())
    }
    /// All cells by the byte they begin at.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u64, u32, &C)> {
        let whole = self.cells.iter().enumerate().filter(|(word, _)| !self.split.contains_key(&(*word as u32)));
        let whole = whole.map(|(word, cell)| (word as u64 * 4, 4, cell));
        let mut words: Vec<_> = self.split.iter().collect();
        words.sort_by_key(|(word, _)| **word);
        let parts = words.into_iter().flat_map(|(word, cells)| {
            cells.iter().enumerate().map(move |(i, cell)| (u64::from(*word) * 4 + i as u64, 1, cell))
        });
        whole.chain(parts)
    }
}

/// Words of a large memory, where they are touched.
#[derive(Clone, Debug)]
pub(crate) struct Pages<C> {
    by_number: FxHashMap<u64, u32>,
    pages: Vec<(u64, Words<C>)>,
    /// The page that was asked for last.
    last: (u64, u32),
}
const PAGE: u64 = 1024;

impl<C> Default for Pages<C> {
    fn default() -> Pages<C> {
        Pages { by_number: FxHashMap::default(), pages: Vec::new(), last: (u64::MAX, 0) }
    }
}
impl<C: Place> Pages<C> {
    /// Bytes of memory that are watched.
    pub(crate) fn bytes(&self) -> u64 {
        self.pages.len() as u64 * PAGE
    }
    /// The words around an address, and where it lies in them.
    #[inline]
    pub(crate) fn around(&mut self, at: u64) -> (&mut Words<C>, u64) {
        let number = at / PAGE;
        if self.last.0 != number {
            let pages = &mut self.pages;
            let page = *self.by_number.entry(number).or_insert_with(|| {
                pages.push((number, Words::new(PAGE as usize / 4)));
                pages.len() as u32 - 1
            });
            self.last = (number, page);
        }
        (&mut self.pages[self.last.1 as usize].1, at % PAGE)
    }
    /// All cells in order of their pages.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u64, u32, &C)> {
        let mut pages: Vec<&(u64, Words<C>)> = self.pages.iter().collect();
        pages.sort_by_key(|(number, _)| *number);
        pages
            .into_iter()
            .flat_map(|(number, words)| words.all().map(move |(at, n, cell)| (number * PAGE + at, n, cell)))
    }
}
