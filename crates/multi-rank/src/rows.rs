//! Rows of plain structs in Parquet files: integers and texts, nothing nested.

use std::fs::File;
use std::io::{Read, Write};
use std::marker::PhantomData;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use hashbrown::HashSet;
use parquet::basic::{Encoding, LogicalType, Repetition, Type as PhysicalType};
use parquet::column::reader::get_typed_column_reader;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, RowGroupReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::{Type, TypePtr};

/// A text that many rows share.
pub(crate) type Text = Arc<str>;

/// A row of a table. Implemented by [`rows!`](crate::rows::rows).
pub(crate) trait Row: Sized {
    /// The table's name, which is that of its file.
    const TABLE: &'static str;

    /// The columns in their order.
    fn columns() -> Result<Vec<TypePtr>, ParquetError>;

    /// Writes all columns of a row group.
    fn write_group<W: Write + Send>(
        rows: &[Self],
        group: &mut SerializedRowGroupWriter<'_, W>,
    ) -> Result<(), ParquetError>;

    /// Appends the rows of a row group. Of columns that are not wanted a row has the default.
    fn read_group(
        group: &dyn RowGroupReader,
        wanted: Wanted<'_>,
        rows: &mut Vec<Self>,
    ) -> Result<(), ParquetError>;
}

/// Which columns of a table to read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'a> {
    All,
    Only(&'a [&'a str]),
}

impl Wanted<'_> {
    pub(crate) fn has(self, column: &str) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Only(columns) => columns.contains(&column),
        }
    }
}

/// What all rows of a recording's tables have in common. Queries over the files of many recordings tell rows apart by
/// it; who reads one recording knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    /// Hash of the recording's path: joins the tables of a recording.
    pub(crate) recording: i64,
    pub(crate) rank: Option<i64>,
}

/// The columns of a [`Key`] before those of a table, which may have a column for the rank itself.
fn key_columns<R: Row>() -> Result<Vec<TypePtr>, ParquetError> {
    let own = R::columns()?;
    let mut key = vec![column::<i64>("recording")?, column::<Option<i64>>("rank")?];
    key.retain(|column| own.iter().all(|own| own.name() != column.name()));
    Ok(key)
}

/// All columns of the file of a table.
fn file_columns<R: Row>() -> Result<Vec<TypePtr>, ParquetError> {
    Ok([key_columns::<R>()?, R::columns()?].concat())
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Integers of 64 bits.
    Integers,
    /// Texts in UTF-8.
    Texts,
}

/// A column of the files of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnShape {
    /// Name.
    pub name: String,
    /// What it holds.
    pub holds: Holds,
    /// Whether cells may be empty.
    pub may_be_empty: bool,
}

/// The columns of the files of a table.
pub(crate) fn shape<R: Row>() -> Result<Vec<ColumnShape>, ParquetError> {
    let shape = |column: TypePtr| ColumnShape {
        name: column.name().to_owned(),
        holds: match column.get_physical_type() {
            PhysicalType::INT64 => Holds::Integers,
            _ => Holds::Texts,
        },
        may_be_empty: column.is_optional(),
    };
    Ok(file_columns::<R>()?.into_iter().map(shape).collect())
}

/// Writes a table, a row group at a time.
pub(crate) struct TableWriter<R, W: Write> {
    file: SerializedFileWriter<W>,
    rows: PhantomData<fn(R)>,
}

impl<R: Row, W: Write + Send> TableWriter<R, W> {
    pub(crate) fn new(output: W) -> Result<Self, ParquetError> {
        let schema = Type::group_type_builder(R::TABLE).with_fields(file_columns::<R>()?).build()?;
        // Not compressed: a reader would spend two fifths of its time on making decompressors, one for each of the many
        // short columns.
        let mut properties = WriterProperties::builder()
            .set_created_by(concat!("tracelens ", env!("CARGO_PKG_VERSION")).to_owned());
        // Times grow from row to row, sizes repeat: differences are shorter than a dictionary.
        for column in schema.get_fields() {
            if column.get_physical_type() == PhysicalType::INT64 {
                properties = properties
                    .set_column_dictionary_enabled(column.name().into(), false)
                    .set_column_encoding(column.name().into(), Encoding::DELTA_BINARY_PACKED);
            }
        }
        let file = SerializedFileWriter::new(output, Arc::new(schema), Arc::new(properties.build()))?;
        Ok(TableWriter { file, rows: PhantomData })
    }

    /// Adds the rows of a recording as a row group.
    pub(crate) fn add(&mut self, key: Key, rows: &[R]) -> Result<(), ParquetError> {
        let mut group = self.file.next_row_group()?;
        for column in key_columns::<R>()? {
            match column.name() {
                "recording" => write_column(rows.iter().map(|_| key.recording), &mut group)?,
                _ => write_column(rows.iter().map(|_| key.rank), &mut group)?,
            }
        }
        R::write_group(rows, &mut group)?;
        group.close()?;
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<W, ParquetError> {
        self.file.into_inner()
    }
}

/// A file that a table is read from.
pub(crate) struct TableReader(Box<dyn FileReader + Send>);

impl TableReader {
    pub(crate) fn open(path: &Path) -> Result<Self, ParquetError> {
        /// Files up to this size are read at once: a page at a time takes four system calls for each of the many short
        /// columns.
        const SMALL: u64 = 4 << 20;
        let mut file = File::open(path)?;
        let size = file.metadata()?.len();
        if size > SMALL {
            return Ok(TableReader(Box::new(SerializedFileReader::new(file)?)));
        }
        let mut content = Vec::with_capacity(size as usize);
        file.read_to_end(&mut content)?;
        Ok(TableReader(Box::new(SerializedFileReader::new(Bytes::from(content))?)))
    }

    /// All rows.
    pub(crate) fn rows<R: Row>(&self, wanted: Wanted<'_>) -> Result<Vec<R>, ParquetError> {
        let mut rows = Vec::new();
        for group in 0..self.0.num_row_groups() {
            R::read_group(&*self.0.get_row_group(group)?, wanted, &mut rows)?;
        }
        Ok(rows)
    }

    /// The rows of one row group.
    pub(crate) fn rows_of_group<R: Row>(
        &self,
        group: usize,
        wanted: Wanted<'_>,
    ) -> Result<Vec<R>, ParquetError> {
        let groups = self.0.num_row_groups();
        if group >= groups {
            return Err(ParquetError::General(format!(
                "has {groups} row groups, expected more than {group}"
            )));
        }
        let mut rows = Vec::new();
        R::read_group(&*self.0.get_row_group(group)?, wanted, &mut rows)?;
        Ok(rows)
    }
}

/// What a column holds.
pub(crate) trait Value: Clone + Default {
    /// How it is stored.
    type Stored: DataType;
    const REPETITION: Repetition = Repetition::REQUIRED;
    const LOGICAL: Option<LogicalType> = None;

    /// `None` where the cell is empty.
    fn stored(&self) -> Option<<Self::Stored as DataType>::T>;

    fn loaded(cell: Option<<Self::Stored as DataType>::T>, texts: &mut Texts) -> Result<Self, ParquetError>;
}

/// The texts of a column, each once.
#[derive(Default)]
pub(crate) struct Texts(HashSet<Text>);

impl Texts {
    fn text(&mut self, bytes: ByteArray) -> Result<Text, ParquetError> {
        let text = bytes.as_utf8()?;
        Ok(self.0.get_or_insert_with(text, |text| text.into()).clone())
    }
}

fn required<T>(cell: Option<T>) -> Result<T, ParquetError> {
    cell.ok_or_else(|| ParquetError::General("an empty cell in a column that allows none".to_owned()))
}

impl Value for i64 {
    type Stored = Int64Type;

    fn stored(&self) -> Option<i64> {
        Some(*self)
    }

    fn loaded(cell: Option<i64>, _: &mut Texts) -> Result<Self, ParquetError> {
        required(cell)
    }
}

impl Value for u32 {
    type Stored = Int64Type;

    fn stored(&self) -> Option<i64> {
        Some(i64::from(*self))
    }

    fn loaded(cell: Option<i64>, _: &mut Texts) -> Result<Self, ParquetError> {
        let number = required(cell)?;
        u32::try_from(number).map_err(|_| ParquetError::General(format!("expected a count, found {number}")))
    }
}

impl Value for Option<i64> {
    type Stored = Int64Type;
    const REPETITION: Repetition = Repetition::OPTIONAL;

    fn stored(&self) -> Option<i64> {
        *self
    }

    fn loaded(cell: Option<i64>, _: &mut Texts) -> Result<Self, ParquetError> {
        Ok(cell)
    }
}

impl Value for Option<Text> {
    type Stored = ByteArrayType;
    const REPETITION: Repetition = Repetition::OPTIONAL;
    const LOGICAL: Option<LogicalType> = Some(LogicalType::String);

    fn stored(&self) -> Option<ByteArray> {
        self.as_deref().map(ByteArray::from)
    }

    fn loaded(cell: Option<ByteArray>, texts: &mut Texts) -> Result<Self, ParquetError> {
        cell.map(|bytes| texts.text(bytes)).transpose()
    }
}

/// The type of a column.
pub(crate) fn column<V: Value>(name: &str) -> Result<TypePtr, ParquetError> {
    let column = Type::primitive_type_builder(name, V::Stored::get_physical_type())
        .with_repetition(V::REPETITION)
        .with_logical_type(V::LOGICAL);
    Ok(Arc::new(column.build()?))
}

/// Writes the next column of a row group.
pub(crate) fn write_column<V: Value, W: Write + Send>(
    cells: impl Iterator<Item = V>,
    group: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<(), ParquetError> {
    let (mut stored, mut levels) = (Vec::new(), Vec::new());
    for cell in cells {
        let cell = cell.stored();
        levels.push(i16::from(cell.is_some()));
        stored.extend(cell);
    }
    let levels = (V::REPETITION == Repetition::OPTIONAL).then_some(levels.as_slice());
    write_stored::<V::Stored, W>(&stored, levels, group)
}

/// Writes the next column of a row group as it is stored; `levels` are 0 where a cell is missing.
fn write_stored<S: DataType, W: Write + Send>(
    stored: &[S::T],
    levels: Option<&[i16]>,
    group: &mut SerializedRowGroupWriter<'_, W>,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("one column too many".to_owned());
    let mut column = group.next_column()?.ok_or_else(missing)?;
    column.typed::<S>().write_batch(stored, levels, None)?;
    column.close()
}

/// Reads a column of a row group.
pub(crate) fn read_column<V: Value>(group: &dyn RowGroupReader, name: &str) -> Result<Vec<V>, ParquetError> {
    let rows = usize::try_from(group.metadata().num_rows()).unwrap_or_default();
    let columns = group.metadata().schema_descr();
    let at = (0..columns.num_columns()).find(|&at| columns.column(at).name() == name);
    let at = at.ok_or_else(|| ParquetError::General(format!("no column {name:?}")))?;
    let found = columns.column(at).physical_type();
    let expected = V::Stored::get_physical_type();
    if found != expected {
        return Err(ParquetError::General(format!("column {name:?} is {found}, expected {expected}")));
    }
    let mut reader = get_typed_column_reader::<V::Stored>(group.get_column_reader(at)?);
    let (mut stored, mut levels) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
    let may_be_empty = columns.column(at).max_def_level() > 0;
    while (if may_be_empty { levels.len() } else { stored.len() }) < rows {
        let (read, ..) = reader.read_records(rows, Some(&mut levels), None, &mut stored)?;
        if read == 0 {
            return Err(ParquetError::General(format!("column {name:?} ends before its {rows} rows")));
        }
    }
    let mut texts = Texts::default();
    let mut stored = stored.into_iter();
    let is_there = (0..rows).map(|row| !may_be_empty || levels[row] > 0);
    is_there.map(|is| V::loaded(if is { stored.next() } else { None }, &mut texts)).collect()
}

/// Declares the struct of a table's rows; a column has the name and the type of its field.
macro_rules! rows {
    (
        $(#[$documentation:meta])*
        $visibility:vis struct $name:ident in $table:literal {
            $($(#[$field_meta:meta])* $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$documentation])*
        #[derive(Clone, Debug, Default, PartialEq, Eq)]
        $visibility struct $name {
            $($(#[$field_meta])* $visibility $field: $type,)*
        }

        impl $crate::rows::Row for $name {
            const TABLE: &'static str = $table;

            fn columns() -> Result<Vec<parquet::schema::types::TypePtr>, parquet::errors::ParquetError> {
                Ok(vec![$($crate::rows::column::<$type>(stringify!($field))?,)*])
            }

            fn write_group<W: std::io::Write + Send>(
                rows: &[Self],
                group: &mut parquet::file::writer::SerializedRowGroupWriter<'_, W>,
            ) -> Result<(), parquet::errors::ParquetError> {
                $($crate::rows::write_column::<$type, W>(rows.iter().map(|row| row.$field.clone()), group)?;)*
                Ok(())
            }

            fn read_group(
                group: &dyn parquet::file::reader::RowGroupReader,
                wanted: $crate::rows::Wanted<'_>,
                rows: &mut Vec<Self>,
            ) -> Result<(), parquet::errors::ParquetError> {
                let first = rows.len();
                let count = usize::try_from(group.metadata().num_rows()).unwrap_or_default();
                rows.resize_with(first + count, Self::default);
                $(if wanted.has(stringify!($field)) {
                    let cells = $crate::rows::read_column::<$type>(group, stringify!($field))?;
                    for (row, cell) in rows[first..].iter_mut().zip(cells) {
                        row.$field = cell;
                    }
                })*
                Ok(())
            }
        }
    };
}
pub(crate) use rows;
