//! The JSON document of a report.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::BufReader;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use sheets::{Cell, Nested, Table};

use super::reader::{ReadError, Reader};

/// Whether a text begins as an answer does: with the name of its schema.
pub(super) fn is_report(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    let Some(rest) = text.trim_start_matches('\u{feff}').trim_start().strip_prefix('{') else { return false };
    let Some(rest) = rest.trim_start().strip_prefix("\"schema\"") else { return false };
    let rest = rest.trim_start().strip_prefix(':').map(str::trim_start);
    rest.is_some_and(|schema| schema.starts_with("\"tracelens.answer/1."))
}

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Vec<Table>, ReadError> {
    let file = File::open(reader.path).map_err(|source| reader.io(source))?;
    let path = reader.path;
    let mut failure = None;
    let mut document = serde_json::Deserializer::from_reader(BufReader::new(file));
    let tables = Document { reader, failure: &mut failure }
        .deserialize(&mut document)
        .and_then(|tables| document.end().map(|()| tables));
    match (failure, tables) {
        // What the limits say comes before what the parser makes of it.
        (Some(failure), _) => Err(failure),
        (None, Ok(tables)) => Ok(tables),
        (None, Err(source)) => Err(ReadError::Json { path: path.to_path_buf(), source }),
    }
}

/// `{"schema": "tracelens.answer/1.0", …, "tables": […]}`
struct Document<'r, 'a> {
    reader: &'r mut Reader<'a>,
    failure: &'r mut Option<ReadError>,
}

impl<'de> DeserializeSeed<'de> for Document<'_, '_> {
    type Value = Vec<Table>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Document<'_, '_> {
    type Value = Vec<Table>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an answer with `tables`")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut tables = Vec::new();
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            match &*key {
                "tables" => {
                    tables = map
                        .next_value_seed(Tables { reader: &mut *self.reader, failure: &mut *self.failure })?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(tables)
    }
}

/// `[{"name": …, "columns": […], "rows": […]}, …]`
struct Tables<'r, 'a> {
    reader: &'r mut Reader<'a>,
    failure: &'r mut Option<ReadError>,
}

impl<'de> DeserializeSeed<'de> for Tables<'_, '_> {
    type Value = Vec<Table>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Tables<'_, '_> {
    type Value = Vec<Table>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tables")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut list: S) -> Result<Self::Value, S::Error> {
        let mut tables = Vec::new();
        while let Some(table) =
            list.next_element_seed(OneTable { reader: &mut *self.reader, failure: &mut *self.failure })?
        {
            let Some((name, columns)) = table else { continue };
            match self.reader.table(&name, columns) {
                Ok(table) => tables.extend(table),
                Err(error) => {
                    *self.failure = Some(error);
                    return Err(S::Error::custom("a table could not be read"));
                }
            }
        }
        Ok(tables)
    }
}

type Columns = Vec<(String, Vec<Cell<'static>>)>;

/// `{"name": …, "columns": [{"name": …}], "rows": [[…]]}`
struct OneTable<'r, 'a> {
    reader: &'r mut Reader<'a>,
    failure: &'r mut Option<ReadError>,
}

impl<'de> DeserializeSeed<'de> for OneTable<'_, '_> {
    type Value = Option<(String, Columns)>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

#[derive(serde::Deserialize)]
struct Header {
    name: String,
}

impl<'de> Visitor<'de> for OneTable<'_, '_> {
    type Value = Option<(String, Columns)>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table: an object with `name`, then `columns`, then `rows`")
    }

    fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
        let mut name: Option<String> = None;
        let mut columns: Option<Columns> = None;
        let mut is_wanted = true;
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            match (&*key, &mut columns) {
                ("name", _) => name = Some(map.next_value()?),
                ("columns", _) => {
                    let Some(name) = &name else {
                        return Err(M::Error::custom("the columns of a table precede its name"));
                    };
                    let headers: Vec<Header> = map.next_value()?;
                    let headers: Vec<String> = headers.into_iter().map(|header| header.name).collect();
                    is_wanted = (self.reader.is_wanted)(name, &headers);
                    columns = Some(headers.into_iter().map(|header| (header, Vec::new())).collect());
                }
                ("rows", Some(columns)) if is_wanted => {
                    map.next_value_seed(Rows {
                        columns,
                        reader: &mut *self.reader,
                        failure: &mut *self.failure,
                    })?;
                }
                ("rows", None) => {
                    return Err(M::Error::custom("the rows of a table precede its columns"));
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(name.zip(columns.filter(|_| is_wanted)))
    }
}

struct Rows<'r, 'a> {
    columns: &'r mut Columns,
    reader: &'r mut Reader<'a>,
    failure: &'r mut Option<ReadError>,
}

impl<'de> DeserializeSeed<'de> for Rows<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Rows<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of rows")
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut rows: S) -> Result<(), S::Error> {
        while rows.next_element_seed(Row { columns: &mut *self.columns })?.is_some() {
            if let Err(failure) = self.reader.spend(self.columns.len()) {
                *self.failure = Some(failure);
                return Err(S::Error::custom("a table could not be read"));
            }
        }
        Ok(())
    }
}

/// `["aten::mm", 1, null]`
struct Row<'r> {
    columns: &'r mut Columns,
}

impl<'de> DeserializeSeed<'de> for Row<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Row<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a row of {} cells, one per column", self.columns.len())
    }

    fn visit_seq<S: SeqAccess<'de>>(self, mut row: S) -> Result<(), S::Error> {
        for position in 0..self.columns.len() {
            let value = row.next_element()?.ok_or_else(|| S::Error::invalid_length(position, &self))?;
            self.columns[position].1.push(cell(value));
        }
        match row.next_element::<IgnoredAny>()? {
            None => Ok(()),
            Some(_) => Err(S::Error::invalid_length(self.columns.len() + 1, &self)),
        }
    }
}

fn cell(value: serde_json::Value) -> Cell<'static> {
    use serde_json::Value;
    match value {
        Value::Null => Cell::Missing,
        Value::Bool(flag) => Cell::Flag(flag),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Cell::Whole(whole),
            None => number.as_f64().map_or(Cell::Missing, Cell::Number),
        },
        Value::String(text) => Cell::from(text),
        nested => Cell::from(nested_value(nested).to_string()),
    }
}

/// Lists and records as tables have them. The parser limits how deep they are.
fn nested_value(value: serde_json::Value) -> Nested {
    use serde_json::Value;
    match value {
        Value::Null => Nested::None,
        Value::Bool(flag) => Nested::Flag(flag),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Nested::Whole(whole),
            None => Nested::Number(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Nested::Text(text),
        Value::Array(items) => Nested::List(items.into_iter().map(nested_value).collect()),
        Value::Object(entries) => Nested::Record(
            entries.into_iter().map(|(key, value)| (Cow::Owned(key), nested_value(value))).collect(),
        ),
    }
}
