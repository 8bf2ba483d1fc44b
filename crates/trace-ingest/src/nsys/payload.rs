//! Payloads of NCCL's ranges: what a call of the library was about.
//!
//! A payload is bytes; tables of the export say which fields the payloads of a schema have, and where. Schemas are the
//! library's own, so that fields are known by their names alone.

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

use super::enumerations::short_text;
use super::tables::{PAYLOAD_ENTRIES, PAYLOAD_SCHEMAS, Tables};
use crate::sqlite::Broken;
use crate::warning::Warning;

/// Bytes of a payload that are read.
const LONGEST: usize = 4096;
/// Bytes before the fields: domain, schema, size of the fields, and a number whose meaning is not documented.
const HEADER: usize = 32;

/// Domain and number of a schema.
type SchemaId = (i64, i64);

/// What a field says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    Communicator,
    Bytes,
    Ranks,
    Rank,
}

impl Meaning {
    fn of(name: &str) -> Option<Meaning> {
        match name.to_lowercase().as_str() {
            "message size [bytes]" => Some(Meaning::Bytes),
            "no. of ranks" => Some(Meaning::Ranks),
            "rank" => Some(Meaning::Rank),
            name if name.contains("communicator") => Some(Meaning::Communicator),
            _ => None,
        }
    }
}

/// A field as a row of a table describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    meaning: Option<Meaning>,
    /// Bytes that it takes; `None` for types that are not read.
    width: Option<usize>,
    /// From the end of the header.
    offset: usize,
}

#[derive(Default)]
struct Schema {
    size: Option<usize>,
    /// By their numbers.
    fields: HashMap<i64, Field>,
    /// Whether rows of the same number say different things.
    is_contradictory: bool,
}

/// What a payload says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Payload {
    /// Number of the communicator, which all its ranks share.
    pub(super) communicator: Option<u64>,
    /// Size of the message: of one rank's part.
    pub(super) bytes: Option<u64>,
    /// How many ranks the communicator has.
    pub(super) ranks: Option<u64>,
    /// Which of them the process is.
    pub(super) rank: Option<u64>,
}

/// The schemas of an export.
#[derive(Default)]
pub(super) struct Schemas(HashMap<SchemaId, Schema>);

impl Schemas {
    /// Reads the tables, in which every process repeats its schemas without saying which it is. Schemas on which they do
    /// not agree are left out.
    pub(super) fn read(tables: &Tables<'_>, warnings: &mut Vec<Warning>) -> Result<Schemas, Broken> {
        let mut schemas: HashMap<SchemaId, Schema> = HashMap::new();
        let columns = ["domainId", "schemaId", "payloadSize"];
        let refused = tables.rows(PAYLOAD_SCHEMAS, &columns, &columns, |row| {
            let (id, size) = ((row.integer(0)?.unwrap_or(0), row.required(1)?), row.size(2, 0)? as usize);
            let schema = schemas.entry(id).or_default();
            schema.is_contradictory |= *schema.size.get_or_insert(size) != size;
            Ok(())
        })?;
        warnings.extend(refused);
        let columns = ["domainId", "schemaId", "idx", "type", "name", "offset"];
        let refused = tables.rows(PAYLOAD_ENTRIES, &columns[..5], &columns, |row| {
            let id = (row.integer(0)?.unwrap_or(0), row.required(1)?);
            let (number, kind) = (row.required(2)?, row.integer(3)?);
            let field = Field {
                meaning: short_text(row, 4).and_then(|name| Meaning::of(&name)),
                width: match kind {
                    Some(5) => Some(4),
                    Some(18 | 22) => Some(8),
                    _ => None,
                },
                offset: row.size(5, 0)? as usize,
            };
            let schema = schemas.entry(id).or_default();
            match schema.fields.entry(number) {
                Entry::Vacant(free) => {
                    free.insert(field);
                }
                Entry::Occupied(known) => schema.is_contradictory |= *known.get() != field,
            }
            Ok(())
        })?;
        warnings.extend(refused);
        let before = schemas.len();
        schemas.retain(|_, schema| !schema.is_contradictory);
        if schemas.len() < before {
            let contradictory = before - schemas.len();
            let schemas_are = if contradictory == 1 { "schema is" } else { "schemas are" };
            let detail = format!(
                "{contradictory} NCCL payload {schemas_are} contradictory: message sizes are unknown"
            );
            warnings.push(Warning::UnreadableFact { key: PAYLOAD_SCHEMAS, detail });
        }
        Ok(Schemas(schemas))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What a payload says; `None` where it is none of a known schema.
    pub(super) fn decode(&self, data: &[u8]) -> Option<Payload> {
        let hexadecimal = unhex(data);
        let data = hexadecimal.as_deref().unwrap_or(data);
        let number = |at: usize| Some(u64::from_le_bytes(data.get(at..at + 8)?.try_into().ok()?));
        let (domain, schema) = (number(0)?, number(8)?);
        let schema = self.0.get(&(domain as i64, schema as i64))?;
        let size = usize::try_from(number(16)?).ok()?;
        if schema.size.is_some_and(|expected| expected != size) || size > LONGEST {
            return None;
        }
        let fields = data.get(HEADER..HEADER + size)?;
        let mut payload = Payload::default();
        for field in schema.fields.values() {
            let (Some(meaning), Some(width)) = (field.meaning, field.width) else { continue };
            let bytes = field.offset.checked_add(width).and_then(|end| fields.get(field.offset..end))?;
            let value = bytes.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte));
            *match meaning {
                Meaning::Communicator => &mut payload.communicator,
                Meaning::Bytes => &mut payload.bytes,
                Meaning::Ranks => &mut payload.ranks,
                Meaning::Rank => &mut payload.rank,
            } = Some(value);
        }
        Some(payload)
    }
}

/// The bytes of which a text has the hexadecimal digits.
fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    // A header of bytes has zeros, which are no digits.
    if text.len() > 2 * (HEADER + LONGEST) || !text.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    text.chunks_exact(2).map(|pair| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schemas(fields: &[(Option<Meaning>, Option<usize>, usize)], size: usize) -> Schemas {
        let field = |&(meaning, width, offset)| Field { meaning, width, offset };
        let fields = fields.iter().map(field).enumerate().map(|(at, field)| (at as i64, field)).collect();
        let schema = Schema { size: Some(size), fields, is_contradictory: false };
        Schemas(HashMap::from([((1, 16_777_220), schema)]))
    }

    /// A collective of 4 MiB.
    const COLLECTIVE: &str = "0100000000000000 0400000100000000 1000000000000000 2000000000000000 \
                              1807F6E5D4C3B2A1 0000400000000000";

    fn bytes(digits: &str) -> Vec<u8> {
        unhex(digits.replace(' ', "").as_bytes()).unwrap()
    }

    #[test]
    fn a_payload_is_decoded_by_its_schema() {
        let fields = [(Some(Meaning::Communicator), Some(8), 0), (Some(Meaning::Bytes), Some(8), 8)];
        let schemas = schemas(&fields, 16);
        let expected = Payload {
            communicator: Some(0xa1b2_c3d4_e5f6_0718),
            bytes: Some(4_194_304),
            ranks: None,
            rank: None,
        };
        assert_eq!(schemas.decode(&bytes(COLLECTIVE)), Some(expected));
        assert_eq!(schemas.decode(COLLECTIVE.replace(' ', "").as_bytes()), Some(expected));
    }

    #[test]
    fn payloads_that_break_their_schema_are_none() {
        let fields = [(Some(Meaning::Communicator), Some(8), 0), (Some(Meaning::Bytes), Some(8), 8)];
        let whole = bytes(COLLECTIVE);
        assert_eq!(schemas(&fields, 24).decode(&whole), None, "another size");
        assert_eq!(schemas(&fields, 16).decode(&whole[..47]), None, "cut");
        assert_eq!(schemas(&fields, 16).decode(&whole[..7]), None, "no header");
        assert_eq!(schemas(&fields, 16).decode(b""), None);
        assert_eq!(schemas(&[(Some(Meaning::Bytes), Some(8), usize::MAX - 2)], 16).decode(&whole), None);
        let other_domain = bytes(&COLLECTIVE.replacen("01", "02", 1));
        assert_eq!(schemas(&fields, 16).decode(&other_domain), None);
        let unknown_type = schemas(&[(Some(Meaning::Bytes), None, 8)], 16);
        assert_eq!(unknown_type.decode(&whole), Some(Payload::default()));
    }

    #[test]
    fn fields_are_known_by_their_names() {
        for (name, meaning) in [
            ("NCCL communicator ID", Some(Meaning::Communicator)),
            ("Message size [bytes]", Some(Meaning::Bytes)),
            ("No. of ranks", Some(Meaning::Ranks)),
            ("RANK", Some(Meaning::Rank)),
            ("Peer rank", None),
            ("CUDA device", None),
        ] {
            assert_eq!(Meaning::of(name), meaning, "{name}");
        }
    }
}
