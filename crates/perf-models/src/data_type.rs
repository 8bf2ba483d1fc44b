//! Element types: their sizes and the precision that arithmetic on them has.

use std::fmt;

use crate::Undefined;

/// Precision of arithmetic, as architectures state peaks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // the names say it
pub enum Precision {
    Fp64,
    Fp32,
    /// FP32 rounded to ten bits of mantissa, as matrix units of some devices multiply it.
    Tf32,
    Fp16,
    Bf16,
    Fp8,
    Fp4,
    Int8,
}

const PRECISIONS: [(Precision, &str); 8] = [
    (Precision::Fp64, "fp64"),
    (Precision::Fp32, "fp32"),
    (Precision::Tf32, "tf32"),
    (Precision::Fp16, "fp16"),
    (Precision::Bf16, "bf16"),
    (Precision::Fp8, "fp8"),
    (Precision::Fp4, "fp4"),
    (Precision::Int8, "int8"),
];

impl Precision {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        PRECISIONS.iter().map(|row| row.0)
    }

    /// The spelling in compute specs and architecture files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        PRECISIONS[self as usize].1
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        PRECISIONS.iter().find(|row| row.1 == name).map(|row| row.0)
    }
}

/// Unit of the device that does the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ComputeUnit {
    /// Tensor cores, matrix cores.
    Matrix,
    /// The ordinary arithmetic units.
    Vector,
}

/// Which peak of an architecture a model is held against. Displays as `matrix_bf16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ComputeSpec {
    /// The unit.
    pub unit: ComputeUnit,
    /// The precision.
    pub precision: Precision,
}

impl ComputeSpec {
    /// The matrix units' peak for elements of this type; `None` where none is stated.
    #[must_use]
    pub fn matrix(type_name: &str) -> Option<Self> {
        precision(type_name).map(|precision| Self { unit: ComputeUnit::Matrix, precision })
    }

    /// The ordinary arithmetic units' peak for elements of this type; `None` where none is stated, as for
    /// integers of every width.
    #[must_use]
    pub fn vector(type_name: &str) -> Option<Self> {
        let precision = precision(type_name).filter(|&precision| precision != Precision::Int8)?;
        Some(Self { unit: ComputeUnit::Vector, precision })
    }
}

impl fmt::Display for ComputeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            ComputeUnit::Matrix => "matrix",
            ComputeUnit::Vector => "vector",
        };
        write!(f, "{unit}_{}", self.precision.as_str())
    }
}

/// Element types as PyTorch records them, in lower case: bytes of an element, and the precision that peaks are
/// stated for.
const TYPES: [(&str, f64, Option<Precision>); 28] = [
    ("c10::complex<double>", 16.0, None),
    ("double", 8.0, Some(Precision::Fp64)),
    ("long int", 8.0, None),
    ("c10::complex<float>", 8.0, None),
    ("float", 4.0, Some(Precision::Fp32)),
    ("scalar", 4.0, None),
    ("int", 4.0, None),
    ("unsigned int", 4.0, None),
    ("c10::half", 2.0, Some(Precision::Fp16)),
    ("c10::bfloat16", 2.0, Some(Precision::Bf16)),
    ("short int", 2.0, None),
    ("unsigned short int", 2.0, None),
    ("c10::float8_e4m3fnuz", 1.0, Some(Precision::Fp8)),
    ("c10::float8_e4m3fn", 1.0, Some(Precision::Fp8)),
    ("c10::float8_e5m2", 1.0, Some(Precision::Fp8)),
    ("c10::float8_e5m2fnuz", 1.0, Some(Precision::Fp8)),
    ("c10::float8_e8m0fnu", 1.0, None),
    ("unsigned char", 1.0, Some(Precision::Fp8)),
    ("signed char", 1.0, Some(Precision::Int8)),
    ("fp8", 1.0, Some(Precision::Fp8)),
    ("bool", 1.0, None),
    // One element of this type is a pair of four-bit numbers.
    ("c10::float4_e2m1fn_x2", 1.0, Some(Precision::Fp4)),
    ("fp4", 1.0, Some(Precision::Fp4)),
    // Elements of which the kernels of PyTorch that copy them know the size alone.
    ("opaquetype<1>", 1.0, None),
    ("opaquetype<2>", 2.0, None),
    ("opaquetype<4>", 4.0, None),
    ("opaquetype<8>", 8.0, None),
    ("opaquetype<16>", 16.0, None),
];

/// What else programs, compilers and people call these types, in lower case.
const SPELLINGS: [(&str, &str); 40] = [
    ("complex128", "c10::complex<double>"),
    ("complex64", "c10::complex<float>"),
    ("float64", "double"),
    ("fp64", "double"),
    ("f64", "double"),
    ("float32", "float"),
    ("fp32", "float"),
    ("f32", "float"),
    ("c10::float", "float"),
    ("float16", "c10::half"),
    ("fp16", "c10::half"),
    ("f16", "c10::half"),
    ("__half", "c10::half"),
    ("bf16", "c10::bfloat16"),
    ("__nv_bfloat16", "c10::bfloat16"),
    ("__hip_bfloat16", "c10::bfloat16"),
    ("float8_e4m3", "c10::float8_e4m3fn"),
    ("fp8_e4m3", "c10::float8_e4m3fn"),
    ("fp8_e4m3fn", "c10::float8_e4m3fn"),
    ("fp8_e4m3fnuz", "c10::float8_e4m3fnuz"),
    ("fp8_e5m2", "c10::float8_e5m2"),
    ("fp8_e5m2fnuz", "c10::float8_e5m2fnuz"),
    ("int64", "long int"),
    ("int64_t", "long int"),
    ("long", "long int"),
    ("int32", "int"),
    ("int32_t", "int"),
    ("uint32", "unsigned int"),
    ("uint32_t", "unsigned int"),
    ("int16", "short int"),
    ("int16_t", "short int"),
    ("short", "short int"),
    ("uint16", "unsigned short int"),
    ("uint16_t", "unsigned short int"),
    ("int8", "signed char"),
    ("int8_t", "signed char"),
    ("char", "signed char"),
    ("uint8", "unsigned char"),
    ("uint8_t", "unsigned char"),
    ("byte", "unsigned char"),
];

/// PyTorch's scalar types: number in the enumeration `c10::ScalarType`, name, and the type as it is recorded.
const SCALAR_TYPES: [(&str, &str, &str); 14] = [
    ("0", "Byte", "unsigned char"),
    ("1", "Char", "signed char"),
    ("2", "Short", "short int"),
    ("3", "Int", "int"),
    ("4", "Long", "long int"),
    ("5", "Half", "c10::Half"),
    ("6", "Float", "float"),
    ("7", "Double", "double"),
    ("11", "Bool", "bool"),
    ("15", "BFloat16", "c10::BFloat16"),
    ("23", "Float8_e5m2", "c10::Float8_e5m2"),
    ("24", "Float8_e4m3fn", "c10::Float8_e4m3fn"),
    ("25", "Float8_e5m2fnuz", "c10::Float8_e5m2fnuz"),
    ("26", "Float8_e4m3fnuz", "c10::Float8_e4m3fnuz"),
];

type ElementType = (&'static str, f64, Option<Precision>);

/// The type of this name: as PyTorch records it, without its namespace, or in another common spelling, with or without
/// `torch.` before it.
fn element_type(type_name: &str) -> Option<&'static ElementType> {
    recorded_type(type_name).or_else(|| {
        let name = match type_name.split_at_checked("torch.".len()) {
            Some((module, name)) if module.eq_ignore_ascii_case("torch.") => name,
            _ => type_name,
        };
        let spelling = SPELLINGS.iter().find(|(spelling, _)| spelling.eq_ignore_ascii_case(name));
        recorded_type(spelling.map_or(name, |spelling| spelling.1))
    })
}

fn recorded_type(type_name: &str) -> Option<&'static ElementType> {
    TYPES.iter().find(|(name, ..)| {
        name.eq_ignore_ascii_case(type_name)
            || name.strip_prefix("c10::").is_some_and(|bare| bare.eq_ignore_ascii_case(type_name))
    })
}

/// Bytes of one element of a type as PyTorch names it, or in another common spelling (`bf16`, `torch.bfloat16`,
/// `BFloat16`), upper or lower case.
///
/// # Errors
///
/// When the type is unknown or is no element type (`""`, `ScalarList`).
pub fn element_size(type_name: &str) -> Result<f64, Undefined> {
    element_type(type_name).map(|&(_, size, _)| size).ok_or_else(|| Undefined::data_type(type_name))
}

/// Bytes of one number, not of one element: two numbers of four bits share a byte. `None` for types that
/// [`element_size`] does not know, except those whose name begins with `float8_`.
#[must_use]
pub fn number_size(type_name: &str) -> Option<f64> {
    match element_type(type_name) {
        Some((.., Some(Precision::Fp4))) => Some(0.5),
        Some(&(_, size, _)) => Some(size),
        None => type_name.to_ascii_lowercase().starts_with("float8_").then_some(1.0),
    }
}

/// The type as PyTorch records it of a scalar type by its name, such as `Long`.
#[must_use]
pub fn type_of_scalar_name(name: &str) -> Option<&'static str> {
    SCALAR_TYPES.iter().find(|row| row.1 == name).map(|row| row.2)
}

/// The same by its number in the enumeration.
pub(crate) fn type_of_scalar_number(number: &str) -> Option<&'static str> {
    SCALAR_TYPES.iter().find(|row| row.0 == number).map(|row| row.2)
}

/// Precision of arithmetic on a type, in any spelling that [`element_size`] knows; `None` for types that no peak is stated
/// for.
#[must_use]
pub fn precision(type_name: &str) -> Option<Precision> {
    match type_name.eq_ignore_ascii_case("mxfp4") {
        true => Some(Precision::Fp4),
        false => element_type(type_name)?.2,
    }
}

/// The type as PyTorch records it, in lower case; the name itself where it is unknown.
pub(crate) fn recorded_name(type_name: &str) -> &str {
    element_type(type_name).map_or(type_name, |row| row.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_the_peaks_of_their_arithmetic() {
        let shown = |spec: Option<ComputeSpec>| spec.map(|spec| spec.to_string()).unwrap_or_default();
        for (name, matrix, vector) in [
            ("c10::BFloat16", "matrix_bf16", "vector_bf16"),
            ("FLOAT", "matrix_fp32", "vector_fp32"),
            ("c10::Float8_e5m2", "matrix_fp8", "vector_fp8"),
            ("unsigned char", "matrix_fp8", "vector_fp8"),
            ("c10::Float4_e2m1fn_x2", "matrix_fp4", "vector_fp4"),
            ("signed char", "matrix_int8", ""),
            ("c10::Float8_e8m0fnu", "", ""),
            ("int", "", ""),
            ("bool", "", ""),
            ("", "", ""),
        ] {
            assert_eq!(shown(ComputeSpec::matrix(name)), matrix, "{name}");
            assert_eq!(shown(ComputeSpec::vector(name)), vector, "{name}");
        }
    }

    #[test]
    fn every_element_type_has_a_size() {
        for (size, names) in [
            (16.0, "c10::complex<double>"),
            (8.0, "double|long int|c10::complex<float>"),
            (4.0, "float|Scalar|int|unsigned int"),
            (2.0, "c10::Half|c10::BFloat16|short int|unsigned short int"),
            (1.0, "c10::Float8_e4m3fn|c10::Float8_e4m3fnuz|c10::Float8_e5m2|c10::Float8_e5m2fnuz"),
            (1.0, "c10::Float8_e8m0fnu|c10::Float4_e2m1fn_x2|unsigned char|signed char|bool|fp8|fp4"),
        ] {
            for name in names.split('|') {
                assert_eq!(element_size(name), Ok(size), "{name}");
            }
        }
        for name in ["", "ScalarList", "torch.", "torch.nn", "Tensor"] {
            assert!(element_size(name).is_err(), "{name}");
        }
    }

    #[test]
    fn types_are_known_by_every_common_spelling() {
        for (recorded, spellings) in [
            ("c10::BFloat16", "bf16|bfloat16|torch.bfloat16|BFloat16|BF16|__nv_bfloat16"),
            ("c10::Half", "fp16|f16|float16|torch.float16|half|torch.half|Half"),
            ("float", "fp32|float32|torch.float32|torch.float|Float"),
            ("double", "fp64|float64|torch.float64|torch.double|Double"),
            ("long int", "int64|torch.int64|torch.long|Long"),
            ("int", "int32|torch.int32|torch.int|Int"),
            ("signed char", "int8|torch.int8|Char"),
            ("unsigned char", "uint8|torch.uint8|Byte"),
            ("c10::Float8_e4m3fn", "float8_e4m3fn|torch.float8_e4m3fn|fp8_e4m3"),
            ("c10::complex<float>", "complex64|torch.complex64"),
            ("bool", "torch.bool|Bool"),
        ] {
            for spelling in spellings.split('|') {
                assert_eq!(element_size(spelling), element_size(recorded), "{spelling}");
                assert_eq!(precision(spelling), precision(recorded), "{spelling}");
                assert_eq!(number_size(spelling), number_size(recorded), "{spelling}");
            }
        }
        for (_, recorded) in SPELLINGS {
            assert!(recorded_type(recorded).is_some(), "{recorded}");
        }
        assert_eq!((number_size("fp4"), number_size("float8_e3m4")), (Some(0.5), Some(1.0)));
    }
}
