//! Collectives of the text that XLA dumps after its optimizations (`*_after_optimizations.txt`).

use hlo_cost::{ArrayShape, ElementType};

use super::operation::{CollectiveKind, CollectiveOperation, ExchangeGroups, total};
use crate::brackets::{parts, until};

/// A collective as a text dump shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DumpedCollective {
    /// The instruction, named by its `scheduling_name`. Its inputs are empty: a dump states the types of results only.
    pub operation: CollectiveOperation,
    /// Text of the groups or of the pairs; empty where there are none.
    pub groups_text: String,
    /// Devices of a group, by the first; `None` where the dump leaves that to the number of devices.
    pub group_size: Option<usize>,
    /// What the outputs are cut into, see [`CollectiveOperation::slices`].
    pub slices: Vec<ArrayShape>,
    /// Bytes of the slices.
    pub data_bytes: u64,
}

/// The collectives of a text dump, in its order: lines with a `scheduling_name` that contains the name of a kind.
/// `devices` is the number of devices that the program runs on, for groups written as `{}`.
///
/// Lines that look otherwise are skipped; a collective whose types or groups cannot be read has none.
#[must_use]
pub fn parse_xla_dump(text: &str, devices: usize) -> Vec<DumpedCollective> {
    text.lines().filter_map(|line| parse_line(line, devices)).collect()
}

fn parse_line(line: &str, devices: usize) -> Option<DumpedCollective> {
    let name = line.split_once("scheduling_name=\"")?.1.split('"').next()?;
    let kind = communicating_kinds().find(|kind| name.contains(kind.name()))?;
    let (groups_text, groups) = groups_of(line);
    let split_dimension = split_dimension(line);
    let types = types_of(line).map_or_else(Vec::new, |types| {
        // These give back what they were given, too.
        let returns_inputs = name.contains("all-gather-start") || kind == CollectiveKind::AllToAll;
        tensors(if returns_inputs { second_of_pair(types) } else { types })
    });
    let group_size = groups.as_ref().and_then(|groups| groups.group_size(devices));
    let operation = CollectiveOperation {
        name: name.to_owned(),
        kind,
        inputs: Vec::new(),
        outputs: types,
        split_dimension,
        groups,
        channel: attribute(line, "channel_id=").and_then(leading_number),
    };
    let slices = group_size.map_or_else(Vec::new, |size| operation.slices(size));
    let data_bytes = total(&slices);
    Some(DumpedCollective { operation, groups_text: groups_text.to_owned(), group_size, slices, data_bytes })
}

fn communicating_kinds() -> impl Iterator<Item = CollectiveKind> {
    CollectiveKind::ALL.into_iter().filter(|kind| *kind != CollectiveKind::Other)
}

/// What follows an attribute's name and `=`, at the start of the attribute.
fn attribute<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.match_indices(name).find_map(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| c == ' ' || c == ',').then(|| &line[at + name.len()..])
    })
}

fn leading_number(text: &str) -> Option<i64> {
    text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn groups_of(line: &str) -> (&str, Option<ExchangeGroups>) {
    if let Some(value) = attribute(line, "replica_groups=").map(value) {
        return (value, ExchangeGroups::parse(value));
    }
    match attribute(line, "source_target_pairs=").map(value) {
        Some(value) => (value, ExchangeGroups::parse_pairs(value)),
        None => ("", None),
    }
}

fn split_dimension(line: &str) -> Option<usize> {
    let dimensions = value(attribute(line, "dimensions=")?);
    dimensions.strip_prefix('{')?.strip_suffix('}')?.trim().parse().ok()
}

/// The value at the start of a text.
fn value(text: &str) -> &str {
    until(text, &[',', ' ']).0.trim_end()
}

/// Text of the result's types: between `= ` and the opcode.
fn types_of(line: &str) -> Option<&str> {
    let result = line.split_once("= ")?.1;
    communicating_kinds()
        .filter_map(|kind| {
            let at = result.find(&format!(" {}", kind.name()))?;
            let opcode = result[at + 1..].split('(').next()?;
            opcode.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-').then_some(at)
        })
        .min()
        .map(|at| result[..at].trim())
}

/// The second part of a tuple of exactly two, else the whole.
fn second_of_pair(types: &str) -> &str {
    let Some(inner) = types.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) else { return types };
    match parts(inner).collect::<Vec<_>>()[..] {
        [_, second] => second.trim(),
        _ => types,
    }
}

/// All tensors of a text of types, layouts left out.
fn tensors(types: &str) -> Vec<ArrayShape> {
    let mut found = Vec::new();
    let mut rest = types;
    while let Some(open) = rest.find('[') {
        let Some(close) = rest[open..].find(']').map(|length| open + length) else { break };
        let start = rest[..open].rfind(|c: char| !c.is_ascii_alphanumeric()).map_or(0, |at| at + 1);
        let element_type = &rest[start..open];
        let dims: Option<Vec<u64>> = match rest[open + 1..close].trim() {
            "" => Some(Vec::new()),
            dims => dims.split(',').map(|dim| dim.trim().parse().ok()).collect(),
        };
        if let (Some(dimensions), true) = (dims, element_type.starts_with(|c: char| c.is_ascii_alphabetic()))
        {
            let element_type = self::element_type(element_type);
            found.push(ArrayShape { element_type, dimensions, ..ArrayShape::default() });
        }
        rest = &rest[close + 1..];
    }
    found
}

/// XLA's element types, and the names that old dumps have for three of them.
fn element_type(name: &str) -> ElementType {
    match name {
        "half" => ElementType::F16,
        "float" => ElementType::F32,
        "double" => ElementType::F64,
        _ => ElementType::from_name(name).unwrap_or(ElementType::Unknown(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GATHER: &str = "  %all-gather-start.2 = ((bf16[1,96,48,128]{3,2,0,1}, bf16[1,96,8,128]{3,2,0,1}), \
        (bf16[1,768,48,128]{3,2,0,1}, bf16[1,768,8,128]{3,2,0,1})) all-gather-start(%a, %b), channel_id=17, \
        replica_groups=[4,8]<=[32], dimensions={1}, use_global_device_ids=true, \
        metadata={op_name=\"jit(f)/all_gather\" scheduling_name=\"all-gather-start.2\"}";

    fn one(line: &str) -> DumpedCollective {
        let mut found = parse_xla_dump(line, 8);
        assert_eq!(found.len(), 1, "{line}");
        found.remove(0)
    }

    #[test]
    fn outputs_of_an_asynchronous_gather_are_cut_by_the_group() {
        let gather = one(GATHER);
        assert_eq!(gather.operation.kind, CollectiveKind::AllGather);
        assert_eq!(gather.operation.channel, Some(17));
        assert_eq!(gather.operation.split_dimension, Some(1));
        assert_eq!((gather.groups_text.as_str(), gather.group_size), ("[4,8]<=[32]", Some(8)));
        let slices: Vec<(String, f64)> =
            gather.slices.iter().map(|slice| (slice.to_string(), slice.bytes().unwrap())).collect();
        let expected = [("bf16[1,96,48,128]", 1_179_648.0), ("bf16[1,96,8,128]", 196_608.0)];
        assert_eq!(slices, expected.map(|(text, bytes)| (text.to_owned(), bytes)));
        assert_eq!(gather.data_bytes, 1_376_256);
        assert_eq!(gather.operation.data_bytes(8), 1_376_256);
    }

    #[test]
    fn the_other_kinds_of_line() {
        let line = |result: &str, opcode: &str, attributes: &str| {
            format!("%x = {result} {opcode}(%a), {attributes}, metadata={{scheduling_name=\"{opcode}.5\"}}")
        };
        let cases = [
            (
                line("f32[8,4]{1,0}", "all-reduce", "replica_groups={{0,1},{2,3}}, to_apply=%add"),
                Some(2),
                128,
            ),
            (line("(f32[8], s8[3])", "all-reduce-start", "replica_groups={}"), Some(8), 35),
            (
                line(
                    "bf16[64,2]{1,0:T(8,128)(2,1)}",
                    "reduce-scatter",
                    "replica_groups={{0,1}}, dimensions={0}",
                ),
                Some(2),
                128,
            ),
            (line("(f32[8], f32[8])", "all-to-all", "replica_groups={{0,1}}"), Some(2), 32),
            (line("(f32[8], f32[8], f32[8])", "all-to-all", "replica_groups={{0,1,2}}"), Some(3), 96),
            (line("f8e4m3fn[16]", "collective-permute", "source_target_pairs={{0,1},{1,0}}"), Some(2), 16),
            (line("f32[9]", "all-gather", "replica_groups={{0,1}}, dimensions={0}"), Some(2), 0),
            (line("f32[9]", "all-gather", "dimensions={0}"), None, 0),
            (line("half[8]", "all-reduce", "replica_groups={{0,1}}"), Some(2), 16),
            (line("token[]", "all-reduce", "replica_groups={{0,1}}"), Some(2), 0),
        ];
        for (line, size, bytes) in cases {
            let collective = one(&line);
            assert_eq!((collective.group_size, collective.data_bytes), (size, bytes), "{line}");
        }
    }

    #[test]
    fn lines_without_a_collective_are_skipped() {
        let lines = "HloModule jit_f\n%d = f32[8] dot(%a, %b), metadata={scheduling_name=\"dot.1\"}\n\n\
            %all-reduce.1 = f32[8] all-reduce(%d), replica_groups={}";
        assert_eq!(parse_xla_dump(lines, 8), []);
    }

    #[test]
    fn damaged_lines_are_at_most_one_collective() {
        for end in 0..GATHER.len() {
            let line = format!("{} scheduling_name=\"all-gather-start.2\"", &GATHER[..end]);
            assert!(parse_xla_dump(&line, 8).len() <= 1, "{line}");
        }
        let odd = "= (((((}}]] all-gather-start( replica_groups=}{ dimensions={9} scheduling_name=\"all-gather-start\"";
        assert_eq!(one(odd).data_bytes, 0);
    }
}
