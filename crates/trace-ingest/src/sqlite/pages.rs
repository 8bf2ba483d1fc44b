//! Rows of plain tables, read from the pages of the file.
//!
//! SQLite hands out a row in some hundred nanoseconds, most of which its machine takes for moving values about; here a row
//! takes a tenth of that, and exports have tens of millions. What is read is the part of the format that has not changed
//! since 2004 (<https://www.sqlite.org/fileformat2.html>): trees of tables with row ids, records, pages of overflow.
//! Tables that are anything else, SQLite reads ([`super::scan`]).
//!
//! A table is read ahead: one thread reads blocks of pages and decodes their records into [`Batch`]es while another uses
//! the rows of the batch before.
//!
//! Nothing is trusted: each page of a tree is visited at most once, lengths are held against the file, and the caller
//! counts rows and text as it does for SQLite.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::thread;

use crossbeam_channel::bounded;
use rusqlite::types::ValueRef;

use super::bounded::Failure;

/// Bytes before the first page's tree.
const FILE_HEADER: usize = 100;
/// Bytes that are read at a time: leaves of a table mostly follow each other.
const BLOCK: usize = 256 << 10;
/// Batches that circulate between the two threads.
const BATCHES: usize = 4;
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

/// A file of pages.
pub(crate) struct Pages {
    file: File,
    page_size: usize,
    page_count: u32,
    /// Bytes of a page that have content.
    usable: usize,
    /// Longest row, in bytes.
    longest: u64,
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
        let page_count = u32::try_from(file.metadata()?.len() / page_size as u64).unwrap_or(u32::MAX);
        Ok(Some(Pages { file, page_size, page_count, usable, longest }))
    }

    /// Hands out the values at `places` of every row below a root page, in the order of row ids, a batch of rows at a
    /// time. With more than one thread the next batches are made meanwhile.
    pub(crate) fn scan(
        &mut self,
        root: u32,
        places: &[Place],
        threads: usize,
        mut rows: impl FnMut(&Batch) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut walk = Walk::new(self, root, Columns::new(places));
        let mut batch = Batch::default();
        let mut has_more = walk.fill(&mut batch)?;
        rows(&batch)?;
        // Small tables are one batch.
        if threads <= 1 || !has_more {
            while has_more {
                has_more = walk.fill(&mut batch)?;
                rows(&batch)?;
            }
            return Ok(());
        }
        let (free, empty) = bounded::<Batch>(BATCHES);
        let (full, filled) = bounded(BATCHES);
        for _ in 0..BATCHES {
            // Cannot fail: the channel has room for all batches and its other end is held here.
            let _ = free.send(Batch::default());
        }
        thread::scope(|scope| {
            scope.spawn(move || {
                // A closed channel means that nobody wants more.
                while let Ok(mut batch) = empty.recv() {
                    let outcome = walk.fill(&mut batch);
                    let is_last = !matches!(outcome, Ok(true));
                    if full.send((batch, outcome)).is_err() || is_last {
                        break;
                    }
                }
            });
            for (batch, outcome) in filled {
                outcome?;
                rows(&batch)?;
                // The other thread may have ended.
                let _ = free.send(batch);
            }
            Ok(())
        })
    }

    /// Replaces what is in a batch by the row of an id, if there is one.
    pub(crate) fn find(
        &mut self,
        root: u32,
        id: i64,
        columns: &Columns,
        batch: &mut Batch,
    ) -> Result<(), Failure> {
        batch.clear();
        let mut number = root;
        for _ in 0..DEEPEST {
            batch.read(self, number, 1)?;
            let page = Page::new(number, &batch.block, self.usable)?;
            if page.is_leaf {
                return match page.cell_of(id)? {
                    Some(cell) => batch.add(self, number, cell..cell + 1, columns),
                    None => Ok(()),
                };
            }
            number = page.child_of(id)?;
        }
        Err(damaged(number, "its tree is too deep"))
    }

    /// Reads pages from one on, at most as many as there are, in place of what is in `block`.
    fn read(&mut self, first: u32, most: usize, block: &mut Vec<u8>) -> Result<(), Failure> {
        if first == 0 || first > self.page_count {
            return Err(damaged(first, "it is not in the file"));
        }
        let pages = most.clamp(1, (self.page_count - first) as usize + 1);
        block.resize(pages * self.page_size, 0);
        let start = u64::from(first - 1) * self.page_size as u64;
        let read = self.file.seek(SeekFrom::Start(start)).and_then(|_| self.file.read_exact(block));
        read.map_err(|error| damaged(first, &error.to_string()))
    }

    /// Bytes that the rows of a batch can have on several pages: those of the file, and what places in a batch are counted in.
    fn most_spanning(&self) -> u64 {
        (u64::from(self.page_count) * self.page_size as u64).min(u64::from(u32::MAX) / 2)
    }

    /// Adds what a row has on pages of overflow, so that it ends at `end`.
    fn append_overflow(&mut self, mut number: u32, row: &mut Vec<u8>, end: usize) -> Result<(), Failure> {
        let mut page = Vec::new();
        while row.len() < end {
            self.read(number, 1, &mut page)?;
            let part = (end - row.len()).min(self.usable - 4);
            row.extend_from_slice(&page[4..4 + part]);
            number = big_endian(&page[..4]);
        }
        Ok(())
    }
}

/// The way through the leaves of a tree.
struct Walk<'p> {
    pages: &'p mut Pages,
    columns: Columns,
    /// The pages that are still to be visited on each level, last first.
    levels: Vec<Vec<u32>>,
    visits_left: u32,
    /// A page that is in no batch.
    single: Vec<u8>,
}

impl<'p> Walk<'p> {
    fn new(pages: &'p mut Pages, root: u32, columns: Columns) -> Walk<'p> {
        let visits_left = pages.page_count;
        Walk { pages, columns, levels: vec![vec![root]], visits_left, single: Vec::new() }
    }

    /// Replaces what is in a batch by the rows of the next leaves, of one block; says whether there may be more.
    fn fill(&mut self, batch: &mut Batch) -> Result<bool, Failure> {
        batch.clear();
        while let Some(number) = self.next() {
            if !batch.has(number, self.pages.page_size) {
                self.pages.read(number, 1, &mut self.single)?;
                let page = Page::new(number, &self.single, self.pages.usable)?;
                if !page.is_leaf {
                    let children = page.children()?;
                    self.visit(number)?;
                    self.descend(number, children)?;
                    continue;
                }
                if !batch.block.is_empty() {
                    return Ok(true);
                }
                batch.read(self.pages, number, BLOCK / self.pages.page_size)?;
            }
            self.visit(number)?;
            let page = Page::new(number, batch.page(number, self.pages.page_size), self.pages.usable)?;
            if !page.is_leaf {
                self.descend(number, page.children()?)?;
                continue;
            }
            let cells = 0..page.cells;
            batch.add(self.pages, number, cells, &self.columns)?;
            if batch.spanning.len() > BLOCK {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The page that comes next.
    fn next(&mut self) -> Option<u32> {
        while self.levels.last()?.is_empty() {
            self.levels.pop();
        }
        self.levels.last()?.last().copied()
    }

    fn visit(&mut self, number: u32) -> Result<(), Failure> {
        if let Some(level) = self.levels.last_mut() {
            level.pop();
        }
        self.visits_left =
            self.visits_left.checked_sub(1).ok_or_else(|| damaged(number, "its tree has no end"))?;
        Ok(())
    }

    fn descend(&mut self, number: u32, children: Vec<u32>) -> Result<(), Failure> {
        if self.levels.len() >= DEEPEST {
            return Err(damaged(number, "its tree is too deep"));
        }
        self.levels.push(children);
        Ok(())
    }
}

/// The value of a column in a row.
#[derive(Clone, Copy)]
enum Datum {
    Null,
    Integer(i64),
    Real(f64),
    Text(Span),
    Blob(Span),
}

/// Bytes of a batch: of its block, or behind it of the rows that span pages.
#[derive(Clone, Copy)]
struct Span {
    start: u32,
    length: u32,
}

/// Rows of pages that follow each other, decoded.
#[derive(Default)]
pub(crate) struct Batch {
    /// The pages, in which texts stay.
    block: Vec<u8>,
    /// Number of the first page.
    first: u32,
    /// Rows that are on several pages, put together.
    spanning: Vec<u8>,
    /// The values of each row, in the order in which its columns were asked for.
    data: Vec<Datum>,
    rows: usize,
    /// Bytes of all texts and binary values.
    text: u64,
}

/// A row of a batch.
#[derive(Clone, Copy)]
pub(crate) struct Row<'b> {
    batch: &'b Batch,
    data: &'b [Datum],
}

impl<'b> Row<'b> {
    /// The value of a column, by its place among those that were asked for.
    #[inline]
    pub(crate) fn value(self, column: usize) -> ValueRef<'b> {
        match self.data.get(column) {
            None | Some(Datum::Null) => ValueRef::Null,
            Some(&Datum::Integer(value)) => ValueRef::Integer(value),
            Some(&Datum::Real(value)) => ValueRef::Real(value),
            Some(&Datum::Text(span)) => ValueRef::Text(self.batch.bytes(span)),
            Some(&Datum::Blob(span)) => ValueRef::Blob(self.batch.bytes(span)),
        }
    }
}

impl Batch {
    /// How many rows there are.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Bytes of the pages.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.block.len() as u64
    }

    /// Bytes of all texts and binary values.
    pub(crate) fn text(&self) -> u64 {
        self.text
    }

    /// A row by its place.
    #[inline]
    pub(crate) fn row(&self, row: usize) -> Row<'_> {
        let columns = self.data.len() / self.rows.max(1);
        Row { batch: self, data: self.data.get(row * columns..(row + 1) * columns).unwrap_or_default() }
    }

    fn bytes(&self, Span { start, length }: Span) -> &[u8] {
        let (start, length) = (start as usize, length as usize);
        match start.checked_sub(self.block.len()) {
            None => &self.block[start..start + length],
            Some(start) => &self.spanning[start..start + length],
        }
    }

    fn clear(&mut self) {
        self.block.clear();
        self.spanning.clear();
        self.data.clear();
        (self.rows, self.text) = (0, 0);
    }

    fn read(&mut self, pages: &mut Pages, first: u32, most: usize) -> Result<(), Failure> {
        self.first = first;
        pages.read(first, most, &mut self.block)
    }

    fn has(&self, number: u32, page_size: usize) -> bool {
        number >= self.first && ((number - self.first) as usize) < self.block.len() / page_size
    }

    fn page(&self, number: u32, page_size: usize) -> &[u8] {
        let at = (number - self.first) as usize * page_size;
        &self.block[at..at + page_size]
    }

    /// Adds rows of a leaf that is in the block.
    fn add(
        &mut self,
        pages: &mut Pages,
        number: u32,
        cells: Range<usize>,
        columns: &Columns,
    ) -> Result<(), Failure> {
        let at = (number - self.first) as usize * pages.page_size;
        let page = Page::new(number, &self.block[at..at + pages.page_size], pages.usable)?;
        for cell in cells {
            let Cell { id, start, local, length, overflow } = page.cell(cell, pages.longest)?;
            let (record, start) = match overflow {
                None => (local, at + start),
                Some(next) => {
                    let start = self.spanning.len();
                    // Rows may not share pages; that of one damaged page may claim to be many.
                    if (start + length) as u64 > pages.most_spanning() {
                        return Err(damaged(number, "its rows are longer than the file"));
                    }
                    self.spanning.extend_from_slice(local);
                    pages.append_overflow(next, &mut self.spanning, start + length)?;
                    (&self.spanning[start..], self.block.len() + start)
                }
            };
            let first = self.data.len();
            self.data.resize(first + columns.asked, Datum::Null);
            let text = columns.read(record, start, id, &mut self.data[first..]);
            self.text += text.ok_or_else(|| damaged(number, "a record is cut"))?;
            self.rows += 1;
        }
        Ok(())
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

/// A row: its id, what the page has of it from `start` on, how long it is, and where the rest is.
struct Cell<'p> {
    id: i64,
    start: usize,
    local: &'p [u8],
    length: usize,
    overflow: Option<u32>,
}

impl<'p> Page<'p> {
    fn new(number: u32, bytes: &'p [u8], usable: usize) -> Result<Page<'p>, Failure> {
        let header = if number == 1 { FILE_HEADER } else { 0 };
        let is_leaf = match bytes[header] {
            LEAF => true,
            INTERIOR => false,
            _ => return Err(damaged(number, "it is no page of a table")),
        };
        let cells = usize::from(u16::from_be_bytes([bytes[header + 3], bytes[header + 4]]));
        let page = Page { number, bytes: &bytes[..usable], usable, is_leaf, cells, header };
        if page.pointers() + 2 * cells > usable {
            return Err(damaged(number, "it has more cells than room"));
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
        damaged(self.number, "a cell is cut")
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
        let (length, rest) = varint(self.content(cell)).ok_or_else(cut)?;
        let (id, rest) = varint(rest).ok_or_else(cut)?;
        if length > longest {
            return Err(damaged(self.number, &format!("a row has {length} bytes")));
        }
        let (length, id) = (length as usize, id as i64);
        let start = self.usable - rest.len();
        let most = self.usable - 35;
        if length <= most {
            let local = rest.get(..length).ok_or_else(cut)?;
            return Ok(Cell { id, start, local, length, overflow: None });
        }
        let least = (self.usable - 12) * 32 / 255 - 23;
        let fitting = least + (length - least) % (self.usable - 4);
        let kept = if fitting <= most { fitting } else { least };
        let (local, rest) = rest.split_at_checked(kept).ok_or_else(cut)?;
        let next = rest.get(..4).ok_or_else(cut)?;
        Ok(Cell { id, start, local, length, overflow: Some(big_endian(next)) })
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

/// Which places of a record are asked for.
pub(crate) struct Columns {
    /// How many columns are asked for.
    asked: usize,
    /// For each place of a record up to the last that is asked for: where its value goes.
    targets: Vec<Option<usize>>,
    /// Where the row's id goes, and its place in the record.
    id: Option<(usize, usize)>,
}

impl Columns {
    pub(crate) fn new(places: &[Place]) -> Columns {
        let mut columns = Columns { asked: places.len(), targets: Vec::new(), id: None };
        for (target, &place) in places.iter().enumerate() {
            let column = match place {
                Place::Record(column) => column,
                Place::RowId(column) => {
                    columns.id = Some((target, column));
                    column
                }
                Place::Nowhere => continue,
            };
            if columns.targets.len() <= column {
                columns.targets.resize(column + 1, None);
            }
            columns.targets[column] = Some(target);
        }
        columns
    }

    /// Reads the values of a record that begins at `start` of a batch, and says how many bytes of text they have; `None`
    /// where it is cut. Columns beyond its end stay NULL.
    #[inline]
    fn read(&self, record: &[u8], start: usize, id: i64, data: &mut [Datum]) -> Option<u64> {
        let (header, types) = varint(record)?;
        let mut body = usize::try_from(header).ok()?;
        let mut types = types.get(..body.checked_sub(record.len() - types.len())?)?;
        let mut text = 0;
        if let Some((target, _)) = self.id {
            data[target] = Datum::Integer(id);
        }
        for (column, target) in self.targets.iter().enumerate() {
            if types.is_empty() {
                break;
            }
            let (kind, rest) = varint(types)?;
            types = rest;
            let at = body;
            body = at.checked_add(width(kind)?)?;
            let bytes = record.get(at..body)?;
            let Some(target) = *target else { continue };
            let span = Span { start: (start + at) as u32, length: bytes.len() as u32 };
            data[target] = match kind {
                0 if self.id.is_some_and(|(_, place)| place == column) => continue,
                0 => Datum::Null,
                1..=6 => Datum::Integer(integer(record, at, bytes)),
                7 => Datum::Real(f64::from_bits(integer(record, at, bytes) as u64)),
                8 | 9 => Datum::Integer(kind as i64 - 8),
                _ => {
                    text += bytes.len() as u64;
                    if kind.is_multiple_of(2) { Datum::Blob(span) } else { Datum::Text(span) }
                }
            };
        }
        Some(text)
    }
}

/// A number of one to eight bytes at a place of a record.
#[inline]
fn integer(record: &[u8], at: usize, bytes: &[u8]) -> i64 {
    match record.get(at..at + 8) {
        // The number and what follows it, which is shifted out.
        Some(eight) => {
            let all = eight.iter().fold(0, |value: u64, &byte| value << 8 | u64::from(byte));
            all as i64 >> (64 - 8 * bytes.len())
        }
        None => {
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

    /// All rows of a table, as SQLite and as its pages have them.
    fn both(path: &Path, table: &str) -> Result<[Vec<Vec<Value>>; 2], Failure> {
        let database = open(path).map_err(|error| Failure::Refused(error.to_string()))?;
        let entries = Entries::read(&database).map_err(|broken| broken.failure)?;
        let plain: PlainTable = entries.plain_table(&database, table)?.expect("a plain table");
        let columns: Vec<&str> = plain.columns.iter().map(String::as_str).chain(["missing"]).collect();
        let query = format!("SELECT *, NULL FROM \"{table}\" ORDER BY rowid");
        let mut statement = database.prepare(&query)?;
        let read = |row: &rusqlite::Row<'_>| (0..columns.len()).map(|at| row.get(at)).collect();
        let of_sqlite: Vec<Vec<Value>> = statement.query_map([], read)?.collect::<Result<_, _>>()?;
        let places: Vec<Place> = columns.iter().map(|column| plain.place(column)).collect();
        let mut of_pages: Vec<Vec<Value>> = Vec::new();
        let mut pages = Pages::open(path, database.longest_row()).expect("the file").expect("in UTF-8");
        pages.scan(plain.root(), &places, 2, |batch| {
            let values =
                |row| (0..places.len()).map(|column| Value::from(batch.row(row).value(column))).collect();
            of_pages.extend((0..batch.rows()).map(values));
            Ok(())
        })?;
        let (wanted, mut found) = (Columns::new(&places), Batch::default());
        for row in &of_sqlite {
            // The id of a row is its first column.
            let Some(&Value::Integer(id)) = row.first() else { continue };
            pages.find(plain.root(), id, &wanted, &mut found)?;
            let values = (0..places.len()).map(|column| Value::from(found.row(0).value(column)));
            assert_eq!((found.rows(), values.collect::<Vec<_>>()), (1, row.clone()));
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
            prop_assert_eq!(of_sqlite.len(), 2 * rows.len() - of_replaced(&rows));
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
            let mut pages = Pages::open(&path, 1 << 20).expect("the file").expect("in UTF-8");
            let places = [Place::RowId(0), Place::Record(1), Place::Record(2), Place::Nowhere];
            let (wanted, mut found) = (Columns::new(&places), Batch::default());
            for root in 0..pages.page_count + 2 {
                let _ = pages.scan(root, &places, 2, |_| Ok(()));
                let _ = pages.find(root, 7, &wanted, &mut found);
            }
        }
    }

    /// How many rows took the place of another one.
    fn of_replaced(rows: &[(Option<i64>, [Value; 3])]) -> usize {
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
        let mut pages = Pages::open(&path, 1 << 20).expect("the file").expect("in UTF-8");
        let root = (at / 4096 + 1) as u32;
        let Err(Failure::Refused(why)) = pages.scan(root, &[Place::Record(2)], 1, |_| Ok(())) else {
            panic!("read")
        };
        assert!(why.ends_with("its rows are longer than the file"), "{why}");
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
        let database = open(&path).expect("opened");
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
