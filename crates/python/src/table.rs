//! Tables of the Arrow C interface.

use std::hash::Hash;

use hashbrown::HashMap;
use polars_arrow::array::{
    Array, BooleanArray, DictionaryArray, Float64Array, Int64Array, PrimitiveArray, StructArray, Utf8Array,
};
use polars_arrow::datatypes::{ArrowDataType, Field, Metadata};
use polars_arrow::ffi::{ArrowArray, ArrowSchema, export_array_to_c, export_field_to_c, export_iterator};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyCapsule};
use report_writers::JsonTable;
use serde::Deserialize;
use sheets::{Cell, ColumnKind, TableColumn};

use crate::boundary::{refused, unknown};

/// Columns of equal length in Arrow's form, made once: every export shares their memory.
#[pyclass(frozen, module = "pytracelens._native")]
pub(crate) struct Table {
    name: String,
    columns: Vec<Described>,
    rows: StructArray,
}

/// What a column is, as `--json` says it.
#[derive(Clone, Debug, Deserialize)]
struct Described {
    name: String,
    kind: String,
    unit: Option<String>,
    per: Option<String>,
    aggregate: String,
    description: String,
}

/// Name, kind, unit, what it is of one of, aggregate and meaning of a column.
type ColumnFacts<'t> = (&'t str, &'t str, Option<&'t str>, Option<&'t str>, &'t str, &'t str);

impl Described {
    fn facts(&self) -> ColumnFacts<'_> {
        let Described { name, kind, unit, per, aggregate, description } = self;
        (name, kind, unit.as_deref(), per.as_deref(), aggregate, description)
    }

    fn all(table: &sheets::Table) -> PyResult<Vec<Self>> {
        let every: Vec<usize> = (0..table.columns().len()).collect();
        let no_rows = table.part(&every, &[]).map_err(refused)?;
        let mut document = serde_json::to_value(JsonTable::whole(&no_rows)).map_err(refused)?;
        serde_json::from_value(document["columns"].take()).map_err(refused)
    }

    fn field(&self, data_type: ArrowDataType) -> Field {
        let mut metadata = Metadata::new();
        let mut tell = |key: &str, value: &str| metadata.insert(key.into(), value.into());
        tell("description", &self.description);
        tell("kind", &self.kind);
        tell("aggregate", &self.aggregate);
        self.unit.as_deref().map(|unit| tell("unit", unit));
        self.per.as_deref().map(|per| tell("per", per));
        Field::new(self.name.as_str().into(), data_type, true).with_metadata(metadata)
    }
}

impl Table {
    /// A sheet. Texts become `large_string`.
    pub(crate) fn from_sheet(sheet: &sheets::Table) -> PyResult<Self> {
        Table::from_arrays(sheet, sheet.columns().iter().map(array).collect())
    }

    /// Columns that `sheet` describes; its own rows do not count.
    pub(crate) fn from_arrays(sheet: &sheets::Table, arrays: Vec<Box<dyn Array>>) -> PyResult<Self> {
        let columns = Described::all(sheet)?;
        let fields = columns.iter().zip(&arrays).map(|(column, array)| column.field(array.dtype().clone()));
        let data_type = ArrowDataType::Struct(fields.collect());
        let height = arrays.first().map_or(0, |array| array.len());
        let rows = StructArray::try_new(data_type, height, arrays, None).map_err(refused)?;
        Ok(Table { name: sheet.name().to_owned(), columns, rows })
    }

    fn column(&self, name: &str) -> PyResult<(&Described, &dyn Array, &Field)> {
        let place = self.columns.iter().position(|column| column.name == name).ok_or_else(|| {
            let near = answers::did_you_mean(name, self.columns.iter().map(|column| column.name.as_str()));
            let near: Vec<String> = near.iter().map(|name| format!("{name:?}")).collect();
            let near = format!("the nearest names are {}", near.join(", "));
            unknown(format_args!("table {:?} has no column {name:?}", self.name), Some(&near))
        })?;
        Ok((&self.columns[place], self.rows.values()[place].as_ref(), &self.rows.fields()[place]))
    }
}

#[pymethods]
impl Table {
    #[getter]
    fn name(&self) -> &str {
        &self.name
    }

    fn __len__(&self) -> usize {
        self.rows.len()
    }

    /// What each column is.
    fn described(&self) -> Vec<ColumnFacts<'_>> {
        self.columns.iter().map(Described::facts).collect()
    }

    /// What a column is.
    fn described_column(&self, column: &str) -> PyResult<ColumnFacts<'_>> {
        Ok(self.column(column)?.0.facts())
    }

    /// The cells of a row as texts.
    fn texts(&self, row: usize) -> Vec<String> {
        let has_row = row < self.rows.len();
        let columns = self.rows.values().iter().filter(|_| has_row);
        columns.map(|column| cell(column.as_ref(), row).text().into_owned()).collect()
    }

    /// The cells of a column.
    fn values<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let (_, array, _) = self.column(column)?;
        let value = |row| match cell(array, row) {
            Cell::Flag(flag) => flag.into_bound_py_any(py),
            Cell::Whole(number) => number.into_bound_py_any(py),
            Cell::Number(number) => number.into_bound_py_any(py),
            Cell::Text(text) => text.into_bound_py_any(py),
            Cell::Missing | Cell::Nested(_) => Ok(py.None().into_bound(py)),
        };
        (0..array.len()).map(value).collect()
    }

    /// The cells of a column of numbers or flags as the bytes of an array of numpy, and the type of its elements: `<f8` with NaN
    /// for what is missing, `<i8` or `?` where nothing is. None for texts, and for flags of which some are missing.
    fn numbers<'py>(
        &self,
        py: Python<'py>,
        column: &str,
    ) -> PyResult<Option<(&'static str, Bound<'py, PyByteArray>)>> {
        let (_, array, _) = self.column(column)?;
        let is_whole = array.null_count() == 0;
        let any = array.as_any();
        let (kind, bytes): (_, Vec<u8>) = if let Some(numbers) = any.downcast_ref::<Float64Array>() {
            let known = numbers.iter().map(|number| number.copied().unwrap_or(f64::NAN));
            ("<f8", known.flat_map(f64::to_le_bytes).collect())
        } else if let Some(numbers) = any.downcast_ref::<Int64Array>() {
            match is_whole {
                true => ("<i8", numbers.values_iter().copied().flat_map(i64::to_le_bytes).collect()),
                false => {
                    let known = numbers.iter().map(|number| number.map_or(f64::NAN, |&number| number as f64));
                    ("<f8", known.flat_map(f64::to_le_bytes).collect())
                }
            }
        } else if let (Some(flags), true) = (any.downcast_ref::<BooleanArray>(), is_whole) {
            ("?", flags.values_iter().map(u8::from).collect())
        } else {
            return Ok(None);
        };
        Ok(Some((kind, PyByteArray::new(py, &bytes))))
    }

    /// A column as a pair of Arrow's schema and array.
    fn column_capsules<'py>(
        &self,
        py: Python<'py>,
        column: &str,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let (_, array, field) = self.column(column)?;
        Ok((schema_capsule(py, field)?, array_capsule(py, array.to_boxed())?))
    }

    /// Arrow's schema of a column.
    fn column_schema<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyCapsule>> {
        let (_, _, field) = self.column(column)?;
        schema_capsule(py, field)
    }

    /// Arrow's schema of the rows: that of a struct. The fields have unit, per, kind, aggregate and description as metadata.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.row_field())
    }

    /// The rows as a stream of the Arrow C interface. Texts are `large_string`, names of events a dictionary of it.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A wish that a producer may leave unfulfilled.
        drop(requested_schema);
        let rows: Box<dyn Array> = Box::new(self.rows.clone());
        let stream = export_iterator(Box::new(std::iter::once(Ok(rows))), self.row_field());
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

impl Table {
    fn row_field(&self) -> Field {
        Field::new("".into(), self.rows.dtype().clone(), false)
    }
}

/// The cells of a column, nullable: flags, whole numbers and numbers as they are, all else as texts.
fn array(column: &TableColumn) -> Box<dyn Array> {
    let cells = column.cells();
    match column.kind() {
        ColumnKind::Flag => {
            let flag = |cell| if let Cell::Flag(flag) = cell { Some(flag) } else { None };
            BooleanArray::from_iter(cells.map(flag)).boxed()
        }
        ColumnKind::Identifier | ColumnKind::Count | ColumnKind::Whole(_) => {
            let whole = |cell| if let Cell::Whole(number) = cell { Some(number) } else { None };
            Int64Array::from_iter(cells.map(whole)).boxed()
        }
        ColumnKind::Number(_) => {
            let number = |cell| if let Cell::Number(number) = cell { Some(number) } else { None };
            Float64Array::from_iter(cells.map(number)).boxed()
        }
        ColumnKind::Text | ColumnKind::Nested | ColumnKind::Names => {
            let text = |cell: Cell<'_>| (cell != Cell::Missing).then(|| cell.text().into_owned());
            Utf8Array::<i64>::from_iter(cells.map(text)).boxed()
        }
    }
}

fn schema_capsule<'py>(py: Python<'py>, field: &Field) -> PyResult<Bound<'py, PyCapsule>> {
    let schema: ArrowSchema = export_field_to_c(field);
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

fn array_capsule(py: Python<'_>, array: Box<dyn Array>) -> PyResult<Bound<'_, PyCapsule>> {
    let array: ArrowArray = export_array_to_c(array);
    PyCapsule::new_with_value(py, array, c"arrow_array")
}

/// A cell of the columns that [`Table`] is made of.
fn cell(array: &dyn Array, row: usize) -> Cell<'_> {
    if array.is_null(row) {
        return Cell::Missing;
    }
    let any = array.as_any();
    if let Some(texts) = any.downcast_ref::<Utf8Array<i64>>() {
        texts.value(row).into()
    } else if let Some(texts) = any.downcast_ref::<DictionaryArray<i32>>() {
        cell(texts.values().as_ref(), texts.key_value(row))
    } else if let Some(numbers) = any.downcast_ref::<Float64Array>() {
        numbers.value(row).into()
    } else if let Some(numbers) = any.downcast_ref::<Int64Array>() {
        numbers.value(row).into()
    } else if let Some(flags) = any.downcast_ref::<BooleanArray>() {
        flags.value(row).into()
    } else {
        Cell::Missing
    }
}

/// Texts that repeat: the number of each row's text, and each text once.
pub(crate) fn dictionary<K: Copy + Eq + Hash>(
    keys: impl Iterator<Item = K>,
    text: impl Fn(K) -> Option<String>,
) -> PyResult<Box<dyn Array>> {
    let mut numbers: HashMap<K, Option<i32>> = HashMap::new();
    let mut texts: Vec<String> = Vec::new();
    let mut number = |key: K| {
        *numbers.entry(key).or_insert_with(|| {
            let text = text(key)?;
            texts.push(text);
            i32::try_from(texts.len() - 1).ok()
        })
    };
    let keys: PrimitiveArray<i32> = keys.map(&mut number).collect();
    let values = Utf8Array::<i64>::from_slice(&texts).boxed();
    Ok(DictionaryArray::try_from_keys(keys, values, false).map_err(refused)?.boxed())
}
