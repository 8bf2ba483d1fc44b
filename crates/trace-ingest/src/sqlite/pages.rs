//! Rows of plain tables, read from the pages of the file.
//!
//! SQLite hands out a row in some hundred nanoseconds, most of which its machine takes for moving values about; here a row
//! takes a tenth of that, and exports have tens of millions. What is read is the part of the format that has not changed
//! since 2004 (<https://www.sqlite.org/fileformat2.html>): trees of tables with row ids, records, pages of overflow.
//! Tables that are anything else, SQLite reads ([`super::scan`]).
//!
//! Nothing is trusted: each page of a tree is visited at most once, lengths are held against the file, and the caller
//! counts rows and text as it does for SQLite.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use rusqlite::types::ValueRef;

use super::bounded::Failure;

/// Bytes before the first page's tree.
const FILE_HEADER: usize = 100;
/// Bytes that are read at a time: leaves of a table mostly follow each other.
const READ_AHEAD: usize = 256 << 10;
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
    leaves: Reader,
    overflow: Reader,
    /// Bytes of a page that have content.
    usable: usize,
    /// Longest row, in bytes.
    longest: u64,
}

/// Pages, several of which are read at once.
struct Reader {
    file: File,
    page_size: usize,
    page_count: u32,
    /// What was read last, from `first` on.
    buffer: Vec<u8>,
    first: u32,
}

impl Reader {
    fn page(&mut self, number: u32) -> Result<&[u8], Failure> {
        if number == 0 || number > self.page_count {
            return Err(damaged(number, "it is not in the file"));
        }
        let kept = (self.buffer.len() / self.page_size) as u32;
        if number < self.first || number - self.first >= kept {
            let many = ((READ_AHEAD / self.page_size).max(1) as u32).min(self.page_count - number + 1);
            self.buffer.resize(many as usize * self.page_size, 0);
            let start = u64::from(number - 1) * self.page_size as u64;
            let read = |reader: &mut Self| {
                reader.file.seek(SeekFrom::Start(start))?;
                reader.file.read_exact(&mut reader.buffer)
            };
            if let Err(error) = read(self) {
                self.buffer.clear();
                return Err(damaged(number, &error.to_string()));
            }
            self.first = number;
        }
        let at = (number - self.first) as usize * self.page_size;
        Ok(&self.buffer[at..at + self.page_size])
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
        let page_count = u32::try_from(file.metadata()?.len() / page_size as u64).unwrap_or(u32::MAX);
        let reader = |file| Reader { file, page_size, page_count, buffer: Vec::new(), first: 0 };
        let overflow = reader(File::open(path)?);
        Ok(Some(Pages { leaves: reader(file), overflow, usable, longest }))
    }

    /// Hands out the values at `places` of every row below a root page, in the order of row ids.
    pub(crate) fn scan(
        &mut self,
        root: u32,
        places: &[Place],
        mut row: impl FnMut(&[ValueRef<'_>]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut visits_left = self.leaves.page_count;
        // The pages that are still to be visited on each level, last first.
        let mut levels: Vec<Vec<u32>> = vec![vec![root]];
        let columns = Columns::new(places);
        let mut whole = Vec::new();
        while let Some(level) = levels.last_mut() {
            let Some(number) = level.pop() else {
                levels.pop();
                continue;
            };
            visits_left = visits_left.checked_sub(1).ok_or_else(|| damaged(number, "its tree has no end"))?;
            let page = self.leaves.page(number)?;
            let page = Page::new(number, page, self.usable)?;
            if page.is_leaf {
                for cell in 0..page.cells {
                    let Cell { id, local, length, overflow } = page.cell(cell, self.longest)?;
                    let mut values = [ValueRef::Null; Columns::MOST];
                    let found = &mut values[..places.len()];
                    let record = match overflow {
                        None => local,
                        Some(next) => {
                            whole.clear();
                            whole.extend_from_slice(local);
                            append(&mut self.overflow, self.usable, next, length, &mut whole)?;
                            &whole[..]
                        }
                    };
                    columns.read(record, id, found).ok_or_else(|| damaged(number, "a record is cut"))?;
                    row(found)?;
                }
            } else {
                if levels.len() >= DEEPEST {
                    return Err(damaged(number, "its tree is too deep"));
                }
                levels.push(page.children()?);
            }
        }
        Ok(())
    }
}

/// Adds the rest of a row of `length` bytes from the pages of its overflow.
fn append(
    pages: &mut Reader,
    usable: usize,
    mut number: u32,
    length: usize,
    row: &mut Vec<u8>,
) -> Result<(), Failure> {
    while row.len() < length {
        let page = pages.page(number)?;
        let part = (length - row.len()).min(usable - 4);
        row.extend_from_slice(&page[4..4 + part]);
        number = big_endian(&page[..4]);
    }
    Ok(())
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

/// A row: its id, what the page has of it, and where the rest is.
struct Cell<'p> {
    id: i64,
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

    /// The pages below, last first.
    fn children(&self) -> Result<Vec<u32>, Failure> {
        let mut children = vec![big_endian(&self.bytes[self.header + 8..self.header + 12])];
        for cell in (0..self.cells).rev() {
            let child = self.content(cell).get(..4).ok_or_else(|| damaged(self.number, "a cell is cut"))?;
            children.push(big_endian(child));
        }
        Ok(children)
    }

    fn cell(&self, cell: usize, longest: u64) -> Result<Cell<'p>, Failure> {
        let cut = || damaged(self.number, "a cell is cut");
        let (length, rest) = varint(self.content(cell)).ok_or_else(cut)?;
        let (id, rest) = varint(rest).ok_or_else(cut)?;
        if length > longest {
            return Err(damaged(self.number, &format!("a row has {length} bytes")));
        }
        let (length, id) = (length as usize, id as i64);
        let most = self.usable - 35;
        if length <= most {
            let local = rest.get(..length).ok_or_else(cut)?;
            return Ok(Cell { id, local, length, overflow: None });
        }
        let least = (self.usable - 12) * 32 / 255 - 23;
        let fitting = least + (length - least) % (self.usable - 4);
        let kept = if fitting <= most { fitting } else { least };
        let (local, rest) = rest.split_at_checked(kept).ok_or_else(cut)?;
        let next = rest.get(..4).ok_or_else(cut)?;
        Ok(Cell { id, local, length, overflow: Some(big_endian(next)) })
    }
}

/// A number of one to nine bytes, and what follows it.
#[inline]
fn varint(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    if first < 0x80 {
        return Some((u64::from(first), rest));
    }
    let mut value = u64::from(first & 0x7f);
    for (at, &byte) in rest.iter().enumerate().take(8) {
        if at == 7 {
            return Some((value << 8 | u64::from(byte), &rest[8..]));
        }
        value = value << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((value, &rest[at + 1..]));
        }
    }
    None
}

/// Which places of a record are asked for.
struct Columns {
    /// Place in the record and among those that were asked for, in the order of the record.
    in_record: Vec<(usize, usize, bool)>,
}

impl Columns {
    /// Places that can be asked for at once.
    const MOST: usize = 24;

    fn new(places: &[Place]) -> Columns {
        let place = |(at, place): (usize, &Place)| match *place {
            Place::Record(column) => Some((column, at, false)),
            Place::RowId(column) => Some((column, at, true)),
            Place::Nowhere => None,
        };
        let mut in_record: Vec<_> = places.iter().enumerate().filter_map(place).collect();
        in_record.sort_unstable();
        Columns { in_record }
    }

    /// Reads the values of a record; `None` where it is cut. Columns beyond its end are NULL.
    #[inline]
    fn read<'r>(&self, record: &'r [u8], id: i64, values: &mut [ValueRef<'r>]) -> Option<()> {
        let (header, types) = varint(record)?;
        let header = usize::try_from(header).ok()?;
        let body = record.get(header..)?;
        let mut types = types.get(..header.checked_sub(record.len() - types.len())?)?;
        let (mut column, mut at) = (0, 0_usize);
        for &(wanted, place, is_id) in &self.in_record {
            let kind = loop {
                if types.is_empty() {
                    break None;
                }
                let (kind, rest) = varint(types)?;
                types = rest;
                let start = at;
                at = at.checked_add(width(kind)?)?;
                column += 1;
                if column > wanted {
                    break Some((kind, body.get(start..at)?));
                }
            };
            values[place] = match kind {
                None | Some((0, _)) if is_id => ValueRef::Integer(id),
                None => ValueRef::Null,
                Some((kind, bytes)) => value(kind, bytes),
            };
        }
        Some(())
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

/// The value of a type in its bytes.
#[inline]
fn value(kind: u64, bytes: &[u8]) -> ValueRef<'_> {
    match kind {
        0 => ValueRef::Null,
        1..=6 => {
            let sign = bytes.first().map_or(0, |&first| i64::from(first as i8 >> 7));
            ValueRef::Integer(bytes.iter().fold(sign, |value, &byte| value << 8 | i64::from(byte)))
        }
        7 => {
            ValueRef::Real(f64::from_bits(bytes.iter().fold(0, |value, &byte| value << 8 | u64::from(byte))))
        }
        8 => ValueRef::Integer(0),
        9 => ValueRef::Integer(1),
        _ if kind.is_multiple_of(2) => ValueRef::Blob(bytes),
        _ => ValueRef::Text(bytes),
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
        let of_sqlite = statement.query_map([], read)?.collect::<Result<_, _>>()?;
        let places: Vec<Place> = columns.iter().map(|column| plain.place(column)).collect();
        let mut of_pages = Vec::new();
        let mut pages = Pages::open(path, database.longest_row()).expect("the file").expect("in UTF-8");
        pages.scan(plain.root(), &places, |values| {
            of_pages.push(values.iter().map(|&value| Value::from(value)).collect());
            Ok(())
        })?;
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
            for root in 0..pages.leaves.page_count + 2 {
                let _ = pages.scan(root, &places, |_| Ok(()));
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
