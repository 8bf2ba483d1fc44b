//! The files that replay operators: a list in JSON, and a program with that list in it.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::Formatter;

use crate::element_type::ELEMENT_TYPES;
use crate::operation::Operation;

/// An operator of a replay file, with what the recording says of its calls.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Entry {
    /// Name of the operator.
    pub op_name: String,
    /// Overload that takes the arguments; absent where the target's PyTorch has to say.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overload: Option<&'static str>,
    /// Number of recorded calls with these arguments.
    pub count: u64,
    /// Median over those calls of the time in µs in which the device ran what they launched; absent without device work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_us: Option<f64>,
    /// Median over those calls of their time on the host in µs; absent where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_median_us: Option<f64>,
    /// Names of the kernels, copies and fills that the calls launched, each once.
    pub kernels: Vec<String>,
    /// What the recording does not say and was taken for granted.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumed: Vec<String>,
    /// The arguments.
    #[serde(rename = "replay_ir")]
    pub operation: Operation,
}

impl Entry {
    /// An operator without figures.
    #[must_use]
    pub fn new(operation: Operation, count: u64) -> Self {
        Entry {
            op_name: operation.name.clone(),
            overload: operation.overload,
            count,
            median_us: None,
            host_median_us: None,
            kernels: Vec::new(),
            assumed: operation.assumed.clone(),
            operation,
        }
    }
}

/// The entries as JSON in ASCII characters: a list in the form of TraceLens's event replay, with further keys.
///
/// # Errors
/// When they cannot be written; no such case is known.
pub fn to_json(entries: &[Entry]) -> serde_json::Result<String> {
    let mut text = Vec::new();
    entries.serialize(&mut serde_json::Serializer::with_formatter(&mut text, ArgumentPerLine::default()))?;
    text.push(b'\n');
    let text = String::from_utf8(text).map_err(serde::ser::Error::custom)?;
    let mut ascii = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_ascii() && c != '\u{7f}' {
            true => ascii.push(c),
            // Only strings hold such characters. They may be invisible, or turn around what is written beside them.
            false => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    // Writing to a String cannot fail.
                    let _ = write!(ascii, "\\u{unit:04x}");
                }
            }
        }
    }
    Ok(ascii)
}

const PROGRAM: &str = include_str!("replay.py");
const NO_TYPES: &str = "DTYPES = {}  # filled in\n";
const NO_OPERATIONS: &str = "OPERATIONS = []  # filled in\n";

/// A Python program that runs the entries.
///
/// They stand in it as JSON between `r"""` and `"""`. Whatever names a recording holds, they cannot end that text: JSON puts
/// a backslash before each quote of a string, so that three quotes never stand side by side, and in a raw string
/// backslashes mean nothing to Python.
///
/// # Errors
/// When the entries cannot be written; no such case is known.
pub fn to_python(entries: &[Entry]) -> serde_json::Result<String> {
    let mut types = "DTYPES = {\n".to_owned();
    for of in ELEMENT_TYPES {
        // Writing to a String cannot fail.
        let _ = writeln!(types, "    {:?}: {:?},", of.recorded, of.torch);
    }
    types.push_str("}\n");
    let operations = format!("OPERATIONS = json.loads(\n    r\"\"\"{}\"\"\"\n)\n", to_json(entries)?);
    Ok(PROGRAM.replacen(NO_TYPES, &types, 1).replacen(NO_OPERATIONS, &operations, 1))
}

/// Containers that nest deeper than this are written on a line: each argument of an operator is one.
const DEEPEST_OVER_LINES: usize = 4;

/// Writes JSON over lines down to the arguments, each of which is a line.
#[derive(Default)]
struct ArgumentPerLine {
    depth: usize,
    /// Whether the container that ends has items.
    has_items: bool,
}

impl ArgumentPerLine {
    fn separate<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        if !first {
            writer.write_all(b",")?;
        }
        match self.depth <= DEEPEST_OVER_LINES {
            true => self.new_line(writer),
            false if first => Ok(()),
            false => writer.write_all(b" "),
        }
    }

    fn new_line<W: ?Sized + Write>(&self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b"\n")?;
        (0..self.depth).try_for_each(|_| writer.write_all(b" "))
    }

    fn open<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.has_items = false;
        writer.write_all(bracket)
    }

    fn close<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        let over_lines = self.depth <= DEEPEST_OVER_LINES && self.has_items;
        self.depth -= 1;
        // The container around it has at least this one.
        self.has_items = true;
        if over_lines {
            self.new_line(writer)?;
        }
        writer.write_all(bracket)
    }
}

impl Formatter for ArgumentPerLine {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.separate(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_items = true;
        Ok(())
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.open(writer, b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.separate(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_items = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use perf_models::{OpCall, Value};

    use super::*;
    use crate::recorded::SeenTensors;

    /// An operator with a tensor, a list of numbers and a number.
    fn entry(name: &str) -> Entry {
        let types = ["float", "ScalarList", "Scalar"].map(Value::from);
        let dims = [Value::tuple([2, 3]), Value::tuple([]), Value::tuple([])];
        let strides = [Value::tuple([3, 1]), Value::tuple([]), Value::tuple([])];
        let concrete = ["", "[1, 2]", "inf"].map(Value::from);
        let call = OpCall {
            name,
            types: Some(&types),
            dims: Some(&dims),
            strides: Some(&strides),
            concrete: Some(&concrete),
            ..OpCall::default()
        };
        Entry::new(Operation::read(&call, &SeenTensors::default(), None).unwrap(), 3)
    }

    const HOSTILE: [&str; 6] = [
        "\"\"\"; import os; os.abort() #",
        "\"\"\"\nimport os\n\"\"\"",
        "'''\\\"\"\"\\",
        "\\",
        "\u{202e}\u{7f}\u{0}\u{1f600}",
        "OPERATIONS = []  # filled in\n",
    ];

    #[test]
    fn an_argument_is_a_line() {
        let mut one = entry("own::op");
        one.kernels = vec!["k\"1".to_owned()];
        assert_eq!(
            to_json(&[one]).unwrap(),
            r#"[
 {
  "op_name": "own::op",
  "count": 3,
  "kernels": [
   "k\"1"
  ],
  "assumed": [
   "the library that registers the operator is imported (--import)"
  ],
  "replay_ir": {
   "list_pos_args": [
    {"arg_name": "", "arg_type": "Tensor", "value": {"shape": [2, 3], "dtype": "float", "strides": [3, 1], "init": "normal"}},
    {"arg_name": "", "arg_type": "Scalar[]", "value": [1, 2]},
    {"arg_name": "", "arg_type": "Scalar", "value": "inf"}
   ],
   "list_kwargs": []
  }
 }
]
"#
        );
        assert_eq!(to_json(&[]).unwrap(), "[]\n");
    }

    #[test]
    fn names_of_a_recording_stay_inside_their_literal() {
        let mut entries: Vec<Entry> = HOSTILE.iter().map(|name| entry(&format!("x::{name}"))).collect();
        entries[0].kernels = HOSTILE.map(str::to_owned).to_vec();
        let json = to_json(&entries).unwrap();
        assert!(json.bytes().all(|byte| byte == b'\n' || (b' '..=b'~').contains(&byte)));
        assert!(!json.contains("\"\"\""));
        let read: serde_json::Value = serde_json::from_str(&json).unwrap();
        for (position, name) in HOSTILE.iter().enumerate() {
            assert_eq!(read[0]["kernels"][position], *name);
            assert_eq!(read[position]["op_name"], format!("x::{name}"));
        }
        let program = to_python(&entries).unwrap();
        let (_, rest) = program.split_once("OPERATIONS = json.loads(\n    r\"\"\"").unwrap();
        let (inside, after) = rest.split_once("\"\"\"").unwrap();
        assert_eq!(inside, json);
        assert!(after.starts_with("\n)\n\nCOLUMNS = ["), "{}", &after[..40]);
    }

    #[test]
    fn the_program_has_the_two_places_that_are_filled_in() {
        for place in [NO_TYPES, NO_OPERATIONS] {
            assert_eq!(PROGRAM.matches(place).count(), 1, "{place}");
        }
        let program = to_python(&[]).unwrap();
        assert!(program.contains("    \"c10::BFloat16\": \"bfloat16\",\n"));
        assert!(!program.contains("# filled in"));
    }
}
