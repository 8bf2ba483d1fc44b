//! Rows of plain tables, read from the pages of the file.
//!
//! SQLite hands out a row in some hundred nanoseconds, most of which its VM spends copying values; here a row
//! takes a tenth of that, and exports have tens of millions. What is read is the part of the format that has not changed
//! since 2004 (<https://www.sqlite.org/fileformat2.html>): trees of tables with row ids, records, pages of overflow.
//! Tables that are anything else, SQLite reads ([`super::scan`]).
//!
//! A value is decoded where it is asked for: a [`Row`] is the bytes of a record and the [`Layout`] that its header has in
//! common with other rows. A large table is read ahead ([`Pages::scan_ahead`]): threads make of its rows what the reader
//! wants of them, a stretch of leaves each, and one of them takes that in the order of the rows.
//!
//! Nothing is trusted: a scan uses each page at most once, be it of the tree or of a row that is on several, the rows of a
//! page take no more than it has, and the caller counts rows and text as it does for SQLite. So a scan reads no more than
//! the file, and hands out no more than is in it.

use std::collections::BTreeMap;
use std::fs::File;
use std::hash::BuildHasher;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use hashbrown::DefaultHashBuilder;
use rusqlite::types::ValueRef;

use super::bounded::Failure;
use crate::queue::next_of;

/// Bytes before the first page's tree.
const FILE_HEADER: usize = 100;
/// Bytes of the leaves that are read at a time: those of a table mostly follow each other.
const STRETCH: usize = 128 << 10;
/// Threads that make something of rows, at most.
const READERS: usize = 8;
/// A number that no page of a file has.
const NO_PAGE: u32 = u32::MAX;
/// Levels of a tree: SQLite makes no more than 20.
const DEEPEST: usize = 20;

const INTERIOR: u8 = 5;
const LEAF: u8 = 13;

/// Where the value of a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// At a place of the record.
    Record(usize),
    /// At a place of the record, or the row's id where that is NULL: `INTEGER PRIMARY KEY`.
    RowId(usize),
    /// Nowhere: NULL.
    Nowhere,
}

impl Place {
    fn record_place(self) -> Option<usize> {
        match self {
            Place::Record(place) | Place::RowId(place) => Some(place),
            Place::Nowhere => None,
        }
    }
}

pub(crate) struct Pages {
    path: PathBuf,
    file: File,
    page_size: usize,
    page_count: u32,
    /// Bytes of a page that have content.
    usable: usize,
    /// Longest row, in bytes.
    longest: u64,
}

/// How much was read.
#[derive(Clone, Copy, Default)]
pub(crate) struct Amount {
    pub(crate) rows: u64,
    /// Bytes of the texts and binary values that were asked for.
    pub(crate) text: u64,
    /// Bytes of leaves.
    pub(crate) pages: u64,
}

/// The pages that a scan has used, a bit for each.
#[derive(Clone)]
struct Used(Arc<[AtomicU64]>);

impl Used {
    fn none_of(pages: &Pages) -> Used {
        Used((0..=pages.page_count / 64).map(|_| AtomicU64::new(0)).collect())
    }

    /// Notes that a page is used; an error if it was before.
    fn add(&self, page: u32) -> Result<(), Failure> {
        let bit = 1 << (page % 64);
        let word = self.0.get(page as usize / 64);
        let before = word.map_or(0, |word| word.fetch_or(bit, Ordering::Relaxed));
        if before & bit == 0 { Ok(()) } else { Err(damaged(page, "it is used twice")) }
    }
}

fn damaged(page: u32, what: &str) -> Failure {
    Failure::Refused(format!("page {page} is damaged: {what}"))
}

impl Pages {
    /// Opens the file of a database; `None` where texts are not in UTF-8.
    pub(crate) fn open(path: &Path, longest: u64) -> io::Result<Option<Pages>> {
        const UTF_8: [u8; 4] = [0, 0, 0, 1];
        let mut file = File::open(path)?;
        let mut header = [0; FILE_HEADER];
        file.read_exact(&mut header)?;
        let page_size = match usize::from(u16::from_be_bytes([header[16], header[17]])) {
            1 => 65536,
            size => size,
        };
        let usable = page_size.saturating_sub(usize::from(header[20]));
        if header[56..60] != UTF_8 || !page_size.is_power_of_two() || page_size < 512 || usable < 480 {
            return Ok(None);
        }
        let page_count = (file.metadata()?.len() / page_size as u64).min(u64::from(NO_PAGE - 1)) as u32;
        Ok(Some(Pages { path: path.to_path_buf(), file, page_size, page_count, usable, longest }))
    }

    /// The same file once more, to be read at a place of its own.
    fn reopened(&self) -> Result<Pages, Failure> {
        let file = File::open(&self.path).map_err(|error| Failure::Refused(error.to_string()))?;
        Ok(Pages { path: self.path.clone(), file, ..*self })
    }

    /// Has `read` make something of every row below a root page, in the order of row ids, and hands it to `take` after each
    /// stretch of leaves. What `take` leaves is added to.
    pub(crate) fn scan<T: Default>(
        &self,
        root: u32,
        places: &[Place],
        mut read: impl FnMut(Row<'_>, &mut T),
        mut take: impl FnMut(&mut T, Amount) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let used = Used::none_of(self);
        let mut reader = Reader { used: Some(used.clone()), ..Reader::new(self.reopened()?, places) };
        let mut walk = Walk::new(&mut reader.pages, root, used)?;
        let mut part = T::default();
        while let Some(stretch) = walk.next(&mut reader.pages)? {
            let amount = reader.read(&stretch, |row| read(row, &mut part))?;
            take(&mut part, amount)?;
        }
        Ok(())
    }

    /// As [`Pages::scan`], with `read` on up to `threads` threads. `take` gets what they made in the order of row ids, on this
    /// thread, which reads where there is nothing to take.
    pub(crate) fn scan_ahead<T: Default + Send>(
        &self,
        root: u32,
        places: &[Place],
        threads: usize,
        read: impl Fn(Row<'_>, &mut T) + Sync,
        mut take: impl FnMut(&mut T, Amount) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut pages = self.reopened()?;
        let used = Used::none_of(self);
        let walk = Walk::new(&mut pages, root, used.clone())?;
        // The leaves of a small table are a stretch or two.
        if threads <= 1 || walk.depth < 2 {
            return self.scan(root, places, read, take);
        }
        let threads = threads.min(READERS);
        let new_reader = || Ok(Reader { used: Some(used.clone()), ..Reader::new(self.reopened()?, places) });
        let mut own_reader = new_reader()?;
        let others = (1..threads).map(|_| new_reader()).collect::<Result<Vec<_>, Failure>>()?;
        let stretches = Mutex::new((0_usize.., walk, pages));
        // Reads the next stretch into a part, if there is one, and tells its number.
        let read_next = |reader: &mut Reader, part: &mut T| {
            let (number, stretch) = {
                let mut stretches = stretches.lock().unwrap_or_else(PoisonError::into_inner);
                let (numbers, walk, pages) = &mut *stretches;
                let stretch = walk.next(pages).transpose()?;
                (numbers.next()?, stretch)
            };
            Some((number, stretch.and_then(|stretch| reader.read(&stretch, |row| read(row, part)))))
        };
        let read_next = &read_next;
        thread::scope(|scope| {
            let parts = 2 * threads;
            let (free, empty) = channel::<T>();
            let (full, made) = channel();
            let empty = Arc::new(Mutex::new(empty));
            for _ in 0..parts {
                // Cannot fail: the other end of the channel is held here.
                let _ = free.send(T::default());
            }
            for mut reader in others {
                let (empty, full) = (Arc::clone(&empty), full.clone());
                scope.spawn(move || {
                    // A closed channel means that nobody wants more. Who has a stretch has a part for it, so that the first
                    // of those that are not done is always being read.
                    while let Some(mut part) = next_of(&empty) {
                        let Some((number, amount)) = read_next(&mut reader, &mut part) else { break };
                        if full.send((number, part, amount)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(full);
            // Who holds the lock takes a part, or waits because there is none.
            let unused = || empty.try_lock().ok()?.try_recv().ok();
            let mut early = BTreeMap::new();
            let mut next = 0;
            let mut is_at_end = false;
            loop {
                while let Some((mut part, amount)) = early.remove(&next) {
                    take(&mut part, amount?)?;
                    next += 1;
                    // The other threads may have ended.
                    let _ = free.send(part);
                }
                if let Ok((number, part, amount)) = made.try_recv() {
                    early.insert(number, (part, amount));
                } else if !is_at_end && let Some(mut part) = unused() {
                    match read_next(&mut own_reader, &mut part) {
                        Some((number, amount)) => {
                            early.insert(number, (part, amount));
                        }
                        None => {
                            is_at_end = true;
                            let _ = free.send(part);
                        }
                    }
                } else if let Ok((number, part, amount)) = made.recv() {
                    early.insert(number, (part, amount));
                } else {
                    return Ok(());
                }
            }
        })
    }

    /// Reads pages from one on, at most as many as there are, in place of what is in `block`.
    fn read(&mut self, first: u32, most: usize, block: &mut Vec<u8>) -> Result<(), Failure> {
        if first == 0 || first > self.page_count {
            return Err(damaged(first, "it is not in the file"));
        }
        let length = most.clamp(1, (self.page_count - first) as usize + 1) * self.page_size;
        let start = u64::from(first - 1) * self.page_size as u64;
        // Only what is new is filled with zeros.
        block.resize(length, 0);
        let read = self.file.seek(SeekFrom::Start(start)).and_then(|_| self.file.read_exact(block));
        read.map_err(|error| damaged(first, &error.to_string()))
    }

    /// Adds what a row has on pages of overflow, so that it ends at `end`.
    fn append_overflow(
        &mut self,
        mut number: u32,
        row: &mut Vec<u8>,
        end: usize,
        used: Option<&Used>,
    ) -> Result<(), Failure> {
        let mut page = Vec::new();
        while row.len() < end {
            used.map_or(Ok(()), |used| used.add(number))?;
            self.read(number, 1, &mut page)?;
            let part = (end - row.len()).min(self.usable - 4);
            row.extend_from_slice(&page[4..4 + part]);
            number = big_endian(&page[..4]);
        }
        Ok(())
    }
}

/// The way through the leaves of a tree, all of which are on one level.
struct Walk {
    /// The pages that are still to be visited on each level, last first.
    levels: Vec<Vec<u32>>,
    /// The level of the leaves; that of the root is 0.
    depth: usize,
    used: Used,
}

impl Walk {
    fn new(pages: &mut Pages, root: u32, used: Used) -> Result<Walk, Failure> {
        let (mut number, mut block) = (root, Vec::new());
        for depth in 0..DEEPEST {
            pages.read(number, 1, &mut block)?;
            let page = Page::new(number, &block, pages.usable)?;
            if page.is_leaf {
                return Ok(Walk { levels: vec![vec![root]], depth, used });
            }
            number = page.children()?.pop().unwrap_or_default();
        }
        Err(damaged(number, "its tree is too deep"))
    }

    /// The leaves that come next.
    fn next(&mut self, pages: &mut Pages) -> Result<Option<Vec<u32>>, Failure> {
        let mut block = Vec::new();
        loop {
            let level = self.levels.len().wrapping_sub(1);
            let Some(left) = self.levels.last_mut() else { return Ok(None) };
            let Some(&number) = left.last() else {
                self.levels.pop();
                continue;
            };
            if level == self.depth {
                let most = (STRETCH / pages.page_size).max(1);
                let mut stretch = left.split_off(left.len().saturating_sub(most));
                stretch.reverse();
                stretch.iter().try_for_each(|&leaf| self.used.add(leaf))?;
                return Ok(Some(stretch));
            }
            left.pop();
            self.used.add(number)?;
            pages.read(number, 1, &mut block)?;
            let page = Page::new(number, &block, pages.usable)?;
            if page.is_leaf {
                return Err(uneven(number));
            }
            self.levels.push(page.children()?);
        }
    }
}

fn uneven(page: u32) -> Failure {
    damaged(page, "its leaves are on different levels")
}

/// Reads rows into buffers of its own.
pub(crate) struct Reader {
    pages: Pages,
    columns: Columns,
    /// Pages that follow each other.
    block: Vec<u8>,
    /// Number of the first page; [`NO_PAGE`] where there is none.
    first: u32,
    /// A row that is on several pages, put together.
    spanning: Vec<u8>,
    /// The pages that the scan has used; `None` where single rows are looked up.
    used: Option<Used>,
    /// What may be read of such rows that are looked up, of which several may be on the same pages, in bytes.
    spanning_left: u64,
}

impl Reader {
    pub(crate) fn new(pages: Pages, places: &[Place]) -> Reader {
        let spanning_left = 4 * u64::from(pages.page_count) * pages.page_size as u64;
        Reader {
            used: None,
            spanning_left,
            pages,
            columns: Columns::new(places),
            block: Vec::new(),
            first: NO_PAGE,
            spanning: Vec::new(),
        }
    }

    /// Hands out the rows of leaves.
    fn read(&mut self, leaves: &[u32], mut read: impl FnMut(Row<'_>)) -> Result<Amount, Failure> {
        let mut amount = Amount::default();
        self.first = NO_PAGE;
        for (at, &number) in leaves.iter().enumerate() {
            if !self.has(number) {
                let run = leaves[at..].iter().zip(number..).take_while(|(leaf, next)| **leaf == *next);
                self.first = NO_PAGE;
                self.pages.read(number, run.count(), &mut self.block)?;
                self.first = number;
                amount.pages += self.block.len() as u64;
            }
            let Reader { pages, columns, block, first, spanning, used, .. } = self;
            let page =
                Page::new(number, &block[(number - *first) as usize * pages.page_size..], pages.usable)?;
            if !page.is_leaf {
                return Err(uneven(number));
            }
            let mut left = page.usable;
            for cell in 0..page.cells {
                let cell = page.cell(cell, pages.longest)?;
                left = left.checked_sub(cell.size).ok_or_else(|| damaged(number, "its rows overlap"))?;
                let row = cell.row(number, pages, columns, spanning, used.as_ref())?;
                amount.rows += 1;
                amount.text += row.layout.text;
                read(row);
            }
        }
        Ok(amount)
    }

    fn has(&self, number: u32) -> bool {
        number >= self.first && ((number - self.first) as usize) < self.block.len() / self.pages.page_size
    }

    /// The row of an id below a root page, if there is one.
    pub(crate) fn find(&mut self, root: u32, id: i64) -> Result<Option<Row<'_>>, Failure> {
        let Reader { pages, columns, block, first, spanning, spanning_left, .. } = self;
        *first = root;
        let mut levels = 0..DEEPEST;
        loop {
            levels.next().ok_or_else(|| damaged(*first, "its tree is too deep"))?;
            pages.read(*first, 1, block)?;
            let page = Page::new(*first, block, pages.usable)?;
            if page.is_leaf {
                break;
            }
            *first = page.child_of(id)?;
        }
        let page = Page::new(*first, block, pages.usable)?;
        let Some(cell) = page.cell_of(id)? else { return Ok(None) };
        let cell = page.cell(cell, pages.longest)?;
        if cell.overflow.is_some() {
            let left = spanning_left.checked_sub(cell.length as u64);
            *spanning_left = left.ok_or_else(|| damaged(*first, "its rows exceed the file"))?;
        }
        cell.row(*first, pages, columns, spanning, None).map(Some)
    }
}

/// A row of a page.
#[derive(Clone, Copy)]
pub(crate) struct Row<'r> {
    id: i64,
    /// The record, and what the page has behind it.
    record: &'r [u8],
    layout: &'r Layout,
}

impl<'r> Row<'r> {
    /// The value of a column, by its place among those that were asked for.
    #[inline]
    pub(crate) fn value(self, column: usize) -> ValueRef<'r> {
        let bytes = |Span { start, length }: Span| {
            let start = start as usize;
            self.record.get(start..start + length as usize).unwrap_or_default()
        };
        match self.layout.fields.get(column) {
            None | Some(Field::Null) => ValueRef::Null,
            Some(Field::RowId) => ValueRef::Integer(self.id),
            Some(&Field::Constant(value)) => ValueRef::Integer(value),
            Some(&Field::Integer(span)) => ValueRef::Integer(integer(self.record, span)),
            Some(&Field::Real(span)) => ValueRef::Real(f64::from_bits(integer(self.record, span) as u64)),
            Some(&Field::Text(span)) => ValueRef::Text(bytes(span)),
            Some(&Field::Blob(span)) => ValueRef::Blob(bytes(span)),
        }
    }

    /// The whole number in a column, nothing for NULL; or else what it has instead. Inlined, because processors learn for
    /// each place that asks what kind of value its column has.
    #[inline(always)]
    pub(crate) fn integer(self, column: usize) -> Result<Option<i64>, ValueRef<'r>> {
        match self.layout.fields.get(column) {
            Some(&Field::Integer(span)) => Ok(Some(integer(self.record, span))),
            Some(&Field::Constant(value)) => Ok(Some(value)),
            Some(Field::Null) => Ok(None),
            _ => match self.value(column) {
                ValueRef::Integer(value) => Ok(Some(value)),
                ValueRef::Null => Ok(None),
                other => Err(other),
            },
        }
    }

    /// Bytes of the texts and binary values that were asked for.
    pub(crate) fn text(self) -> u64 {
        self.layout.text
    }
}

fn big_endian(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |value, &byte| value << 8 | u32::from(byte))
}

/// A page of a tree.
struct Page<'p> {
    number: u32,
    bytes: &'p [u8],
    usable: usize,
    is_leaf: bool,
    cells: usize,
    /// Where the page's header begins.
    header: usize,
}

/// A row: its id, what the page has of it and behind it, how much of that is the row's and how long it is, and where the
/// rest is.
struct Cell<'p> {
    id: i64,
    rest: &'p [u8],
    local: usize,
    length: usize,
    overflow: Option<u32>,
    /// Bytes of the page, its place among the cells included.
    size: usize,
}

impl<'p> Page<'p> {
    fn new(number: u32, bytes: &'p [u8], usable: usize) -> Result<Page<'p>, Failure> {
        let header = if number == 1 { FILE_HEADER } else { 0 };
        let is_leaf = match bytes[header] {
            LEAF => true,
            INTERIOR => false,
            _ => return Err(damaged(number, "it is not a table page")),
        };
        let cells = usize::from(u16::from_be_bytes([bytes[header + 3], bytes[header + 4]]));
        let page = Page { number, bytes: &bytes[..usable], usable, is_leaf, cells, header };
        if page.pointers() + 2 * cells > usable {
            return Err(damaged(number, "it has more cells than fit"));
        }
        Ok(page)
    }

    /// Where the places of cells begin.
    fn pointers(&self) -> usize {
        self.header + if self.is_leaf { 8 } else { 12 }
    }

    /// What begins at the place of a cell.
    fn content(&self, cell: usize) -> &'p [u8] {
        let at = self.pointers() + 2 * cell;
        let start = usize::from(u16::from_be_bytes([self.bytes[at], self.bytes[at + 1]]));
        self.bytes.get(start..).unwrap_or_default()
    }

    fn cut(&self) -> Failure {
        damaged(self.number, "a cell is truncated")
    }

    /// The page below that has the row of an id, if any has: cells name the greatest id of what is below them.
    fn child_of(&self, id: i64) -> Result<u32, Failure> {
        for cell in 0..self.cells {
            let (child, key) = self.content(cell).split_at_checked(4).ok_or_else(|| self.cut())?;
            let (greatest, _) = varint(key).ok_or_else(|| self.cut())?;
            if id <= greatest as i64 {
                return Ok(big_endian(child));
            }
        }
        Ok(big_endian(&self.bytes[self.header + 8..self.header + 12]))
    }

    /// The cell of the row of an id.
    fn cell_of(&self, id: i64) -> Result<Option<usize>, Failure> {
        for cell in 0..self.cells {
            let (_, rest) = varint(self.content(cell)).ok_or_else(|| self.cut())?;
            let (found, _) = varint(rest).ok_or_else(|| self.cut())?;
            if found as i64 == id {
                return Ok(Some(cell));
            }
        }
        Ok(None)
    }

    /// The pages below, last first.
    fn children(&self) -> Result<Vec<u32>, Failure> {
        let mut children = vec![big_endian(&self.bytes[self.header + 8..self.header + 12])];
        for cell in (0..self.cells).rev() {
            let child = self.content(cell).get(..4).ok_or_else(|| self.cut())?;
            children.push(big_endian(child));
        }
        Ok(children)
    }

    fn cell(&self, cell: usize, longest: u64) -> Result<Cell<'p>, Failure> {
        let cut = || self.cut();
        let content = self.content(cell);
        let (length, rest) = varint(content).ok_or_else(cut)?;
        let (id, rest) = varint(rest).ok_or_else(cut)?;
        if length > longest {
            return Err(damaged(self.number, &format!("a row has {length} bytes")));
        }
        let (length, id) = (length as usize, id as i64);
        let most = self.usable - 35;
        let head = 2 + content.len() - rest.len();
        if length <= most {
            let local = Some(length).filter(|&length| length <= rest.len()).ok_or_else(cut)?;
            return Ok(Cell { id, rest, local, length, overflow: None, size: head + local });
        }
        let least = (self.usable - 12) * 32 / 255 - 23;
        let fitting = least + (length - least) % (self.usable - 4);
        let local = if fitting <= most { fitting } else { least };
        let next = rest.get(local..local + 4).ok_or_else(cut)?;
        Ok(Cell { id, rest, local, length, overflow: Some(big_endian(next)), size: head + local + 4 })
    }
}

impl<'p> Cell<'p> {
    /// The row, put together in `spanning` where it is on several pages.
    #[inline]
    fn row<'r>(
        self,
        page: u32,
        pages: &mut Pages,
        columns: &'r mut Columns,
        spanning: &'r mut Vec<u8>,
        used: Option<&Used>,
    ) -> Result<Row<'r>, Failure>
    where
        'p: 'r,
    {
        let record = match self.overflow {
            None => self.rest,
            Some(next) => {
                spanning.clear();
                spanning.extend_from_slice(&self.rest[..self.local]);
                pages.append_overflow(next, spanning, self.length, used)?;
                &spanning[..]
            }
        };
        let layout = columns.layout(&record[..self.length]);
        let layout = layout.filter(|layout| layout.length <= self.length);
        let layout = layout.ok_or_else(|| damaged(page, "a record is truncated"))?;
        Ok(Row { id: self.id, record, layout })
    }
}

/// A number of one to nine bytes, and what follows it.
#[inline]
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    match bytes {
        // Most have one byte or two.
        [first @ ..0x80, rest @ ..] => Some((u64::from(*first), rest)),
        [first, second @ ..0x80, rest @ ..] => {
            Some((u64::from(first & 0x7f) << 7 | u64::from(*second), rest))
        }
        _ => long_varint(bytes),
    }
}

fn long_varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0;
    for (at, &byte) in bytes.iter().enumerate().take(9) {
        if at == 8 {
            return Some((value << 8 | u64::from(byte), &bytes[9..]));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((value, &bytes[at + 1..]));
        }
    }
    None
}

/// Which places of a record are asked for, and where they are in the records that were read so far.
pub(crate) struct Columns {
    places: Vec<Place>,
    /// The layouts of headers that were met, each at the place of its header's hash.
    layouts: Vec<Layout>,
    hasher: DefaultHashBuilder,
}

/// Where the values are in all records of one header. Rows of a table mostly have one of a few.
#[derive(Default)]
struct Layout {
    /// The header: its length and the types of the columns.
    header: Vec<u8>,
    /// A value for each column that is asked for.
    fields: Vec<Field>,
    /// Bytes of the record that the fields need.
    length: usize,
    /// Bytes of the texts and binary values.
    text: u64,
}

/// A value of a record.
#[derive(Clone, Copy)]
enum Field {
    Null,
    RowId,
    /// What the header itself says.
    Constant(i64),
    Integer(Span),
    Real(Span),
    Text(Span),
    Blob(Span),
}

/// Bytes of a record.
#[derive(Clone, Copy)]
struct Span {
    start: u32,
    length: u32,
}

impl Columns {
    /// How many layouts are kept.
    const LAYOUTS: usize = 256;
    /// Bytes of the longest header whose layout is kept: its length is one byte.
    const LONGEST_HEADER: usize = 0x7f;

    pub(crate) fn new(places: &[Place]) -> Columns {
        let mut layouts = Vec::new();
        layouts.resize_with(Columns::LAYOUTS + 1, Layout::default);
        Columns { places: places.to_vec(), layouts, hasher: DefaultHashBuilder::default() }
    }

    /// The layout of a record; `None` where its header is cut.
    #[inline]
    fn layout(&mut self, record: &[u8]) -> Option<&Layout> {
        let length = usize::from(*record.first()?);
        let place = match length {
            1..=Columns::LONGEST_HEADER => {
                (self.hasher.hash_one(record.get(..length)?) % Columns::LAYOUTS as u64) as usize
            }
            _ => Columns::LAYOUTS,
        };
        if place == Columns::LAYOUTS || self.layouts[place].header != record[..length] {
            self.layouts[place] = Layout::of(record, &self.places)?;
        }
        Some(&self.layouts[place])
    }
}

impl Layout {
    /// Reads the header of a record.
    fn of(record: &[u8], places: &[Place]) -> Option<Layout> {
        let (length, types) = varint(record)?;
        let length = usize::try_from(length).ok()?;
        let header = record.get(..length)?;
        let mut types = types.get(..length.checked_sub(record.len() - types.len())?)?;
        let mut layout = Layout {
            header: header.to_vec(),
            fields: places
                .iter()
                .map(|place| match place {
                    Place::RowId(_) => Field::RowId,
                    Place::Record(_) | Place::Nowhere => Field::Null,
                })
                .collect(),
            length,
            text: 0,
        };
        let last = places.iter().filter_map(|place| place.record_place()).max();
        let mut body = length;
        for column in 0..last.map_or(0, |last| last + 1) {
            if types.is_empty() {
                break;
            }
            let (kind, rest) = varint(types)?;
            types = rest;
            let at = body;
            body = at.checked_add(width(kind)?)?;
            let span = Span { start: u32::try_from(at).ok()?, length: u32::try_from(body - at).ok()? };
            let field = match kind {
                0 => continue,
                1..=6 => Field::Integer(span),
                7 => Field::Real(span),
                8 | 9 => Field::Constant(kind as i64 - 8),
                _ if kind.is_multiple_of(2) => Field::Blob(span),
                _ => Field::Text(span),
            };
            layout.length = body;
            for (target, _) in
                places.iter().enumerate().filter(|(_, place)| place.record_place() == Some(column))
            {
                layout.fields[target] = field;
                if matches!(field, Field::Text(_) | Field::Blob(_)) {
                    layout.text += u64::from(span.length);
                }
            }
        }
        Some(layout)
    }
}

/// A number of one to eight bytes at a place of a record.
#[inline]
fn integer(record: &[u8], Span { start, length }: Span) -> i64 {
    let (start, length) = (start as usize, length as usize);
    match record[start..].first_chunk::<8>() {
        // The number and what follows it, which is shifted out.
        Some(&eight) => i64::from_be_bytes(eight) >> (64 - 8 * length),
        None => {
            let bytes = &record[start..start + length];
            let sign = bytes.first().map_or(0, |&first| i64::from(first as i8 >> 7));
            bytes.iter().fold(sign, |value, &byte| value << 8 | i64::from(byte))
        }
    }
}

/// Bytes of a value of a type.
#[inline]
fn width(kind: u64) -> Option<usize> {
    const SHORT: [usize; 10] = [0, 1, 2, 3, 4, 6, 8, 8, 0, 0];
    match kind {
        0..10 => Some(SHORT[kind as usize]),
        10 | 11 => None,
        _ => usize::try_from((kind - 12) / 2).ok(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rusqlite::types::Value;
    use rusqlite::{Connection, params_from_iter};

    use super::super::rows::PlainTable;
    use super::super::{Entries, open};
    use super::*;
    use crate::source::ReadOptions;

    /// All rows of a table, as SQLite and as its pages have them.
    fn both(path: &Path, table: &str) -> Result<[Vec<Vec<Value>>; 2], Failure> {
        let database =
            open(path, &ReadOptions::default()).map_err(|error| Failure::Refused(error.to_string()))?;
        let entries = Entries::read(&database).map_err(|broken| broken.failure)?;
        let plain: PlainTable = entries.plain_table(&database, table)?.expect("a plain table");
        let columns: Vec<&str> = plain.columns.iter().map(String::as_str).chain(["missing"]).collect();
        let query = format!("SELECT *, NULL FROM \"{table}\" ORDER BY rowid");
        let mut statement = database.prepare(&query)?;
        let read = |row: &rusqlite::Row<'_>| (0..columns.len()).map(|at| row.get(at)).collect();
        let of_sqlite: Vec<Vec<Value>> = statement.query_map([], read)?.collect::<Result<_, _>>()?;
        let places: Vec<Place> = columns.iter().map(|column| plain.place(column)).collect();
        let values = |row: Row<'_>| {
            (0..places.len()).map(|column| Value::try_from(row.value(column)).unwrap()).collect::<Vec<_>>()
        };
        let pages = Pages::open(path, database.longest_row()).expect("the file").expect("in UTF-8");
        let mut of_pages: Vec<Vec<Value>> = Vec::new();
        let read = |row: Row<'_>, part: &mut Vec<_>| part.push(values(row));
        pages.scan(plain.root(), &places, read, |part, _| {
            of_pages.append(part);
            Ok(())
        })?;
        let (mut ahead, mut counted) = (Vec::new(), 0);
        pages.scan_ahead(plain.root(), &places, 3, read, |part, amount| {
            ahead.append(part);
            counted += amount.rows;
            Ok(())
        })?;
        assert!(ahead == of_pages && counted == of_pages.len() as u64);
        let mut reader = Reader::new(pages, &places);
        for row in &of_sqlite {
            // The id of a row is its first column.
            let Some(&Value::Integer(id)) = row.first() else { continue };
            let found = reader.find(plain.root(), id)?.map(values);
            assert_eq!(found.as_ref(), Some(row));
        }
        Ok([of_sqlite, of_pages])
    }

    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::Integer),
            (-2_i64..300).prop_map(Value::Integer),
            prop_oneof![Just(0.0), Just(-1.5), Just(1e300), Just(3.0)].prop_map(Value::Real),
            prop_oneof![0_usize..40, 400_usize..9000].prop_map(|length| Value::Text("é".repeat(length / 2))),
            (0_usize..3000).prop_map(|length| Value::Blob(vec![7; length])),
        ]
    }

    fn written(
        rows: &[(Option<i64>, [Value; 3])],
        page_size: u32,
    ) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.db");
        let mut connection = Connection::open(&path).expect("a database");
        let script = format!(
            "PRAGMA page_size = {page_size}; PRAGMA synchronous = OFF; PRAGMA auto_vacuum = 1;
            CREATE TABLE t (id INTEGER PRIMARY KEY, -- without a default, as a comment says
            \"end\", text);"
        );
        connection.execute_batch(&script).expect("a table");
        let transaction = connection.transaction().expect("a transaction");
        for (id, [a, b, _]) in rows {
            let id = id.map_or(Value::Null, Value::Integer);
            let values = params_from_iter([&id, a, b]);
            transaction.execute("INSERT OR REPLACE INTO t VALUES (?, ?, ?)", values).expect("a row");
        }
        // Rows from before this have no such column.
        transaction.execute_batch("ALTER TABLE t ADD COLUMN added").expect("a column");
        for (_, [a, b, c]) in rows {
            let values = params_from_iter([a, b, c]);
            transaction
                .execute("INSERT INTO t (\"end\", text, added) VALUES (?, ?, ?)", values)
                .expect("a row");
        }
        transaction.commit().expect("written");
        drop(connection);
        (folder, path)
    }

    fn rows() -> impl Strategy<Value = Vec<(Option<i64>, [Value; 3])>> {
        let id = prop_oneof![Just(None), (-1000_i64..1 << 40).prop_map(Some)];
        proptest::collection::vec((id, [value(), value(), value()]), 0..60)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn rows_of_pages_are_those_of_sqlite(rows in rows(), size in 0_u32..8) {
            let (_folder, path) = written(&rows, 512 << size);
            let [of_sqlite, of_pages] = both(&path, "t").expect("rows");
            prop_assert_eq!(of_sqlite.len(), 2 * rows.len() - replaced_rows(&rows));
            prop_assert!(of_sqlite == of_pages);
        }

        #[test]
        fn damaged_pages_are_refused_or_read_but_end(
            rows in rows(),
            size in 0_u32..4,
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        ) {
            let (_folder, path) = written(&rows, 512 << size);
            let mut bytes = std::fs::read(&path).expect("bytes");
            for (at, byte) in changes {
                // What SQLite needs to find the table stays.
                let at = 600.min(bytes.len() - 1) + at.index(bytes.len() - 600.min(bytes.len() - 1));
                bytes[at] = byte;
            }
            std::fs::write(&path, &bytes).expect("written");
            let pages = Pages::open(&path, 1 << 20).expect("the file").expect("in UTF-8");
            let places = [Place::RowId(0), Place::Record(1), Place::Record(2), Place::Nowhere];
            let mut reader = Reader::new(pages.reopened().expect("the file"), &places);
            for root in 0..pages.page_count + 2 {
                let _ = pages.scan_ahead(root, &places, 2, |_, _: &mut ()| {}, |_, _| Ok(()));
                let _ = reader.find(root, 7);
            }
        }
    }

    /// How many rows took the place of another one.
    fn replaced_rows(rows: &[(Option<i64>, [Value; 3])]) -> usize {
        let mut ids = std::collections::BTreeSet::new();
        let mut replaced = 0;
        for (id, _) in rows {
            let id = id.unwrap_or_else(|| ids.last().map_or(1, |last| last + 1));
            replaced += usize::from(!ids.insert(id));
        }
        replaced
    }

    #[test]
    fn rows_that_share_their_pages_are_refused() {
        let row = [Value::Null, Value::Text("x".repeat(100_000)), Value::Null];
        let (_folder, path) = written(&[(Some(1), row)], 4096);
        let mut bytes = std::fs::read(&path).expect("bytes");
        // The leaf of the table: two rows, the first of which now is there five hundred times.
        let is_leaf = |page: &[u8]| page[0] == LEAF && page[3..5] == [0, 2];
        let at = (1..bytes.len() / 4096)
            .map(|page| page * 4096)
            .find(|&at| is_leaf(&bytes[at..]))
            .expect("a leaf");
        bytes[at + 3..at + 5].copy_from_slice(&500_u16.to_be_bytes());
        let first = [bytes[at + 8], bytes[at + 9]];
        for cell in 0..500 {
            bytes[at + 8 + 2 * cell..at + 10 + 2 * cell].copy_from_slice(&first);
        }
        std::fs::write(&path, &bytes).expect("written");
        let pages = Pages::open(&path, 1 << 20).expect("the file").expect("in UTF-8");
        let root = (at / 4096 + 1) as u32;
        let Err(Failure::Refused(why)) =
            pages.scan(root, &[Place::Record(2)], |_, _: &mut ()| {}, |_, _| Ok(()))
        else {
            panic!("read")
        };
        assert!(why.ends_with("its rows overlap") || why.ends_with("it is used twice"), "{why}");
    }

    /// What a scan of the first table says of a file.
    fn refused(path: &Path, bytes: &[u8], root: usize) -> String {
        std::fs::write(path, bytes).expect("written");
        let pages = Pages::open(path, 1 << 30).expect("the file").expect("in UTF-8");
        match pages.scan(root as u32, &[Place::Record(0)], |_, _: &mut ()| {}, |_, _| Ok(())) {
            Err(Failure::Refused(why)) => why,
            _ => "read".to_owned(),
        }
    }

    #[test]
    fn a_page_is_used_once() {
        const SIZE: usize = 512;
        let page = |number: usize| (number - 1) * SIZE..number * SIZE;
        let (_folder, path) = large();
        let honest = std::fs::read(&path).expect("bytes");
        let kind = |bytes: &[u8], number: usize| bytes[page(number).start];
        // A page above leaves that has the same leaf twice.
        let is_above = |&number: &usize| {
            let at = page(number).start;
            let first = at + usize::from(u16::from_be_bytes([honest[at + 12], honest[at + 13]]));
            kind(&honest, number) == INTERIOR
                && kind(&honest, big_endian(&honest[first..first + 4]) as usize) == LEAF
        };
        let above = (2..=honest.len() / SIZE).find(is_above).expect("a page above leaves");
        let at = page(above).start;
        let mut bytes = honest.clone();
        bytes.copy_within(at + 12..at + 14, at + 14);
        assert!(refused(&path, &bytes, above).ends_with("it is used twice"));

        // A row that goes on on a page which goes on on itself.
        let row = [Value::Null, Value::Text("x".repeat(5_000)), Value::Null];
        let (_folder, path) = written(&[(Some(1), row)], SIZE as u32);
        let honest = std::fs::read(&path).expect("bytes");
        let mut found = 0;
        for number in 2..=honest.len() / SIZE {
            let mut bytes = honest.clone();
            let next = page(number).start..page(number).start + 4;
            bytes[next].copy_from_slice(&(number as u32).to_be_bytes());
            for root in (2..=honest.len() / SIZE).filter(|&root| kind(&honest, root) == LEAF) {
                found += usize::from(refused(&path, &bytes, root).ends_with("it is used twice"));
            }
        }
        assert!(found > 5, "{found}");
    }

    /// A table whose leaves are two levels below its root: small pages hold few rows.
    fn large() -> (tempfile::TempDir, std::path::PathBuf) {
        let row =
            |id: i64| (Some(id), [Value::Integer(id << (id % 40)), Value::Text("x".repeat(90)), Value::Null]);
        written(&(0..20_000).map(row).collect::<Vec<_>>(), 512)
    }

    #[test]
    fn rows_that_are_read_ahead_keep_their_order() {
        let (_folder, path) = large();
        let [of_sqlite, of_pages] = both(&path, "t").expect("rows");
        assert_eq!(of_pages.len(), 40_000);
        assert!(of_sqlite == of_pages);
    }

    #[test]
    fn reading_ahead_ends_with_the_first_failure() {
        let (_folder, path) = large();
        let pages = Pages::open(&path, 1 << 20).expect("the file").expect("in UTF-8");
        let database = open(&path, &ReadOptions::default()).expect("opened");
        let table = Entries::read(&database).expect("entries").plain_table(&database, "t").expect("read");
        let root = table.expect("a plain table").root();
        let places = [Place::RowId(0)];
        let scan = |most: u64| {
            let mut rows = 0;
            let outcome = pages.scan_ahead(
                root,
                &places,
                3,
                |_, _: &mut ()| {},
                |_, amount| {
                    rows += amount.rows;
                    if rows > most { Err(Failure::Refused("enough".to_string())) } else { Ok(()) }
                },
            );
            let failure = outcome.err().map(|failure| match failure {
                Failure::Refused(why) => why,
                Failure::Sqlite(error) => error.to_string(),
            });
            (failure, rows)
        };
        let (failure, all) = scan(u64::MAX);
        assert_eq!((failure, all), (None, 40_000));
        let (failure, rows) = scan(5_000);
        assert_eq!(failure.as_deref(), Some("enough"));
        assert!(rows < all, "{rows}");

        // The first page of the last stretch is none of the table.
        let mut bytes = std::fs::read(&path).expect("bytes");
        let last = (1..bytes.len() / 512).rev().find(|page| bytes[page * 512] == LEAF).expect("a leaf");
        bytes[last * 512] = 1;
        std::fs::write(&path, &bytes).expect("written");
        let (failure, rows) = scan(u64::MAX);
        assert!(failure.is_some_and(|why| why.ends_with("it is not a table page")));
        assert!(rows < all, "{rows}");
    }

    #[test]
    fn tables_that_are_no_plain_ones_are_left_to_sqlite() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.db");
        let connection = Connection::open(&path).expect("a database");
        connection
            .execute_batch(
                "CREATE TABLE plain (a, b INTEGER PRIMARY KEY);
                CREATE TABLE clustered (a PRIMARY KEY, b) WITHOUT ROWID;
                CREATE TABLE computed (a, b AS (a + 1));
                CREATE TABLE filled (a DEFAULT 7, b);
                CREATE VIEW seen AS SELECT a FROM plain;",
            )
            .expect("tables");
        drop(connection);
        let database = open(&path, &ReadOptions::default()).expect("opened");
        let entries = Entries::read(&database).expect("entries");
        for (table, is_plain) in
            [("plain", true), ("clustered", false), ("computed", false), ("filled", false), ("seen", false)]
        {
            let plain = entries.plain_table(&database, table).expect("read");
            assert_eq!(plain.is_some(), is_plain, "{table}");
        }
    }

    #[test]
    fn numbers_of_one_to_nine_bytes_are_read() {
        for (bytes, number) in [
            (&[0x05][..], 5),
            (&[0x81, 0x00], 128),
            (&[0xff; 9], u64::MAX),
            (&[0x82, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01], 0x0400_0000_0000_0001),
        ] {
            let read = varint(bytes);
            assert_eq!(read.map(|(number, rest)| (number, rest.len())), Some((number, 0)), "{bytes:x?}");
        }
        assert!(varint(&[0x80; 4]).is_none());
        assert!(varint(&[]).is_none());
    }
}
