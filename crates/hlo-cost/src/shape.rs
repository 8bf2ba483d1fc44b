//! Shapes of values in HLO and their text.

use std::fmt;

use perf_models::{Undefined, elements};
use prost::Message;

use crate::ElementType;

/// The shape of a value. Displays as HLO text writes it: `(bf16[4096,2048]{1,0}, ...)` without blanks.
///
/// ```
/// use hlo_cost::{ElementType, Shape};
///
/// let matrix = Shape::array(ElementType::Bf16, [4096, 2048]);
/// assert_eq!(matrix.to_string(), "bf16[4096,2048]{1,0}");
/// assert_eq!(matrix.bytes()?, 16_777_216.0);
/// let workspace = Shape::array(ElementType::S8, [64]);
/// assert_eq!(Shape::Tuple(vec![matrix, workspace]).to_string(), "(bf16[4096,2048]{1,0},s8[64]{0})");
/// # Ok::<(), perf_models::Undefined>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// An array; a scalar is one without dimensions.
    Array(ArrayShape),
    /// Several values.
    Tuple(Vec<Shape>),
    /// A value without data that orders side effects.
    Token,
    /// A value that only the runtime understands.
    Opaque,
    /// Memory that holds an array and is written in place.
    Buffer(Box<Shape>),
}

impl Default for Shape {
    /// The empty tuple.
    fn default() -> Self {
        Self::Tuple(Vec::new())
    }
}

/// The shape of an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArrayShape {
    /// Type of the elements.
    pub element_type: ElementType,
    /// Extents, outermost first in the logical order; upper bounds where they are dynamic.
    pub dimensions: Vec<u64>,
    /// Which extents are upper bounds; may be shorter than `dimensions`.
    pub dynamic: Vec<bool>,
    /// How the elements lie in memory; `None` where the compiler has not decided.
    pub layout: Option<Layout>,
}

/// How the elements of an array lie in memory.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Layout {
    /// Dimensions from the one whose neighbours lie next to each other to the outermost.
    #[prost(int64, repeated, tag = "1")]
    pub minor_to_major: Vec<i64>,
    /// Tiles that the array is cut into, outermost first.
    #[prost(message, repeated, tag = "6")]
    pub tiles: Vec<Tile>,
    /// Bits of an element where they are not those of its type; 0 where they are.
    #[prost(int64, tag = "7")]
    pub element_bits: i64,
    /// Memory that it lies in: 0 is the device's main memory, 5 on TPUs the host's.
    #[prost(int64, tag = "8")]
    pub memory_space: i64,
}

/// A tile of a layout.
#[derive(Clone, PartialEq, Eq, Message)]
pub struct Tile {
    /// Extents; `i64::MIN` joins a dimension to the next.
    #[prost(int64, repeated, tag = "1")]
    pub dimensions: Vec<i64>,
}

impl Shape {
    /// An array in row-major order.
    pub fn array(element_type: ElementType, dimensions: impl Into<Vec<u64>>) -> Self {
        let dimensions = dimensions.into();
        let minor_to_major = (0..dimensions.len() as i64).rev().collect();
        let layout = Some(Layout { minor_to_major, ..Layout::default() });
        Self::Array(ArrayShape { element_type, dimensions, dynamic: Vec::new(), layout })
    }

    /// The arrays in it, in order.
    #[must_use]
    pub fn arrays(&self) -> Vec<&ArrayShape> {
        // A stack: a file may nest tuples deeper than calls may.
        let (mut found, mut open) = (Vec::new(), vec![self]);
        while let Some(shape) = open.pop() {
            match shape {
                Self::Array(array) => found.push(array),
                Self::Tuple(parts) => open.extend(parts.iter().rev()),
                Self::Buffer(held) => open.push(held),
                Self::Token | Self::Opaque => {}
            }
        }
        found
    }

    /// The array, where it is one.
    #[must_use]
    pub fn as_array(&self) -> Option<&ArrayShape> {
        match self {
            Self::Array(array) => Some(array),
            Self::Buffer(held) => held.as_array(),
            _ => None,
        }
    }

    /// The parts of a tuple, or the shape alone.
    #[must_use]
    pub fn parts(&self) -> &[Shape] {
        match self {
            Self::Tuple(parts) => parts,
            other => std::slice::from_ref(other),
        }
    }

    /// Number of elements of all arrays.
    #[must_use]
    pub fn elements(&self) -> f64 {
        self.arrays().into_iter().map(ArrayShape::elements).sum()
    }

    /// Bytes of all arrays, without the padding of tiles.
    ///
    /// # Errors
    ///
    /// When an element type has no known size.
    pub fn bytes(&self) -> Result<f64, Undefined> {
        self.arrays().into_iter().map(ArrayShape::bytes).sum()
    }
}

impl ArrayShape {
    /// Number of elements: the product of the extents, 1 for a scalar.
    #[must_use]
    pub fn elements(&self) -> f64 {
        elements(&self.dimensions)
    }

    /// Bits of an element: those that the layout states, else those of the type.
    #[must_use]
    pub fn element_bits(&self) -> Option<f64> {
        let stated = self.layout.as_ref().map_or(0, |layout| layout.element_bits);
        if stated > 0 { Some(stated as f64) } else { self.element_type.bits().map(f64::from) }
    }

    /// Bytes of all elements, whole bytes for types of less than one.
    ///
    /// # Errors
    ///
    /// When the element type has no known size.
    pub fn bytes(&self) -> Result<f64, Undefined> {
        let bits = self.element_bits().ok_or_else(|| Undefined::data_type(&self.element_type.to_string()))?;
        Ok((self.elements() * bits / 8.0).ceil())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Array(array) => array.fmt(f),
            Self::Token => f.write_str("token[]"),
            Self::Opaque => f.write_str("opaque[]"),
            Self::Buffer(held) => write!(f, "b({held})"),
            Self::Tuple(parts) => {
                f.write_str("(")?;
                for (position, part) in parts.iter().enumerate() {
                    if position > 0 {
                        f.write_str(",")?;
                    }
                    part.fmt(f)?;
                }
                f.write_str(")")
            }
        }
    }
}

impl fmt::Display for ArrayShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[", self.element_type)?;
        for (axis, extent) in self.dimensions.iter().enumerate() {
            let comma = if axis > 0 { "," } else { "" };
            let bound = if self.dynamic.get(axis) == Some(&true) { "<=" } else { "" };
            write!(f, "{comma}{bound}{extent}")?;
        }
        f.write_str("]")?;
        match &self.layout {
            Some(layout) if !self.dimensions.is_empty() || layout.has_details() => layout.fmt(f),
            _ => Ok(()),
        }
    }
}

impl Layout {
    fn has_details(&self) -> bool {
        !self.tiles.is_empty() || self.element_bits > 0 || self.memory_space != 0
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{}", joined(&self.minor_to_major))?;
        if self.has_details() {
            f.write_str(":")?;
            for (position, tile) in self.tiles.iter().enumerate() {
                let sign = if position == 0 { "T" } else { "" };
                write!(f, "{sign}({})", joined(&tile.dimensions))?;
            }
            if self.element_bits > 0 {
                write!(f, "E({})", self.element_bits)?;
            }
            if self.memory_space != 0 {
                write!(f, "S({})", self.memory_space)?;
            }
        }
        f.write_str("}")
    }
}

fn joined(numbers: &[i64]) -> String {
    let texts: Vec<String> =
        numbers.iter().map(|&n| if n == i64::MIN { "*".to_owned() } else { n.to_string() }).collect();
    texts.join(",")
}

/// `xla.PrimitiveType` numbers that name no type of elements.
const TUPLE: i32 = 13;
const OPAQUE: i32 = 14;
const TOKEN: i32 = 17;
const BUFFER: i32 = 34;

/// `xla.ShapeProto`.
#[derive(Clone, PartialEq, Message)]
struct ShapeMessage {
    #[prost(int32, tag = "2")]
    element_type: i32,
    #[prost(int64, repeated, tag = "3")]
    dimensions: Vec<i64>,
    #[prost(message, repeated, tag = "4")]
    parts: Vec<Shape>,
    #[prost(message, optional, tag = "5")]
    layout: Option<Layout>,
    #[prost(bool, repeated, tag = "6")]
    dynamic: Vec<bool>,
}

message_by_way_of!(Shape, ShapeMessage);

impl Shape {
    /// Takes fields of its message in. Every writer puts the type before what describes it.
    fn absorb(&mut self, fields: ShapeMessage) {
        match fields.element_type {
            0 => {}
            TUPLE => *self = Self::Tuple(Vec::new()),
            OPAQUE => *self = Self::Opaque,
            TOKEN => *self = Self::Token,
            BUFFER => *self = Self::Buffer(Box::default()),
            number => {
                let element_type = ElementType::from_number(number);
                *self = Self::Array(ArrayShape { element_type, ..ArrayShape::default() });
            }
        }
        match self {
            Self::Tuple(parts) => parts.extend(fields.parts),
            Self::Buffer(held) => {
                if let Some(part) = fields.parts.into_iter().next() {
                    **held = part;
                }
            }
            Self::Array(array) => {
                array.dimensions.extend(fields.dimensions.into_iter().map(count));
                array.dynamic.extend(fields.dynamic);
                if fields.layout.is_some() {
                    array.layout = fields.layout;
                }
            }
            Self::Token | Self::Opaque => {}
        }
    }
}

/// Extents and numbers of devices are not negative; an unbounded extent is written as the least number.
pub(crate) fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

impl From<&Shape> for ShapeMessage {
    fn from(shape: &Shape) -> Self {
        let typed = |element_type, parts| Self { element_type, parts, ..Self::default() };
        match shape {
            Shape::Tuple(parts) => typed(TUPLE, parts.clone()),
            Shape::Opaque => typed(OPAQUE, Vec::new()),
            Shape::Token => typed(TOKEN, Vec::new()),
            Shape::Buffer(held) => typed(BUFFER, vec![held.as_ref().clone()]),
            Shape::Array(array) => Self {
                element_type: array.element_type.number(),
                dimensions: array.dimensions.iter().map(|&extent| extent as i64).collect(),
                parts: Vec::new(),
                layout: array.layout.clone(),
                dynamic: array.dynamic.clone(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid_out(element_type: ElementType, dimensions: &[u64], layout: Layout) -> Shape {
        let dimensions = dimensions.to_vec();
        Shape::Array(ArrayShape { element_type, dimensions, dynamic: Vec::new(), layout: Some(layout) })
    }

    #[test]
    fn texts_are_those_of_hlo() {
        let tiled = |minor_to_major: &[i64], tiles: &[&[i64]], memory_space| Layout {
            minor_to_major: minor_to_major.to_vec(),
            tiles: tiles.iter().map(|tile| Tile { dimensions: tile.to_vec() }).collect(),
            memory_space,
            ..Layout::default()
        };
        let packed = Layout { minor_to_major: vec![0], element_bits: 4, ..Layout::default() };
        let scalar = Shape::array(ElementType::F32, []);
        let without = Shape::Array(ArrayShape {
            element_type: ElementType::F32,
            dimensions: vec![2, 3],
            dynamic: vec![true],
            layout: None,
        });
        for (shape, text) in [
            (scalar.clone(), "f32[]"),
            (Shape::array(ElementType::Bf16, [0]), "bf16[0]{0}"),
            (laid_out(ElementType::F32, &[8, 16], tiled(&[0, 1], &[], 0)), "f32[8,16]{0,1}"),
            (laid_out(ElementType::F32, &[8], tiled(&[0], &[&[8, 128]], 5)), "f32[8]{0:T(8,128)S(5)}"),
            (
                laid_out(ElementType::Bf16, &[8], tiled(&[0], &[&[8, 128], &[2, 1]], 0)),
                "bf16[8]{0:T(8,128)(2,1)}",
            ),
            (laid_out(ElementType::U32, &[], tiled(&[], &[], 2)), "u32[]{:S(2)}"),
            (laid_out(ElementType::F32, &[], tiled(&[], &[&[128]], 6)), "f32[]{:T(128)S(6)}"),
            (laid_out(ElementType::S4, &[8], packed), "s4[8]{0:E(4)}"),
            (without, "f32[<=2,3]"),
            (Shape::Tuple(vec![scalar.clone(), Shape::Tuple(vec![Shape::Token])]), "(f32[],(token[]))"),
            (Shape::default(), "()"),
        ] {
            assert_eq!(shape.to_string(), text);
        }
    }

    #[test]
    fn shapes_survive_being_written() {
        let tiles = vec![Tile { dimensions: vec![8, 128] }, Tile { dimensions: vec![i64::MIN] }];
        let tiled = Layout { minor_to_major: vec![1, 0], tiles, element_bits: 4, memory_space: 5 };
        let dynamic = Shape::Array(ArrayShape {
            element_type: ElementType::S4,
            dimensions: vec![8, 128],
            dynamic: vec![false, true],
            layout: Some(tiled),
        });
        let parts = vec![
            dynamic,
            Shape::Token,
            Shape::Opaque,
            Shape::Buffer(Box::new(Shape::array(ElementType::F32, [2]))),
            Shape::Tuple(vec![Shape::array(ElementType::Unknown(99), [])]),
            Shape::default(),
        ];
        let shape = Shape::Tuple(parts);
        assert_eq!(Shape::decode(&shape.encode_to_vec()[..]), Ok(shape));
    }

    #[test]
    fn unbounded_extents_are_none() {
        let unbounded =
            ShapeMessage { element_type: 11, dimensions: vec![3, i64::MIN], ..Default::default() };
        let shape = Shape::decode(&unbounded.encode_to_vec()[..]).unwrap();
        assert_eq!(shape.to_string(), "f32[3,0]");
    }

    #[test]
    fn tuples_nested_beyond_all_reason_are_refused() {
        let nested = |depth| (0..depth).fold(Shape::Token, |shape, _| Shape::Tuple(vec![shape]));
        let decoded = |depth| Shape::decode(&nested(depth).encode_to_vec()[..]);
        assert!(decoded(50).is_ok());
        assert!(decoded(200).unwrap_err().to_string().contains("recursion limit"));
    }

    #[test]
    fn elements_of_less_than_a_byte_are_packed() {
        for (element_type, extent, bytes) in [
            (ElementType::S4, 5, 3.0),
            (ElementType::F4E2M1Fn, 8, 4.0),
            (ElementType::U1, 9, 2.0),
            (ElementType::Pred, 3, 3.0),
        ] {
            assert_eq!(Shape::array(element_type, [extent]).bytes(), Ok(bytes), "{element_type}");
        }
        let wide = Layout { minor_to_major: vec![0], element_bits: 8, ..Layout::default() };
        assert_eq!(laid_out(ElementType::S4, &[5], wide).bytes(), Ok(5.0));
        assert!(Shape::array(ElementType::Unknown(99), [1]).bytes().is_err());
        assert_eq!(
            Shape::Tuple(vec![Shape::Token, Shape::array(ElementType::F64, [2, 2])]).bytes(),
            Ok(32.0)
        );
    }

    #[test]
    fn arrays_come_in_order() {
        let inner = Shape::Tuple(vec![Shape::array(ElementType::S8, []), Shape::array(ElementType::F16, [])]);
        let shape =
            Shape::Tuple(vec![Shape::array(ElementType::F32, []), inner, Shape::array(ElementType::F64, [])]);
        let types: Vec<String> = shape.arrays().iter().map(|array| array.element_type.to_string()).collect();
        assert_eq!(types, ["f32", "s8", "f16", "f64"]);
    }
}
