//! Element types: their sizes and the precision that arithmetic on them has.

use std::fmt;

use crate::Undefined;

/// Precision of arithmetic, as architectures state peaks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)] // the names say it
pub enum Precision {
    Fp64,
    Fp32,
    Fp16,
    Bf16,
    Fp8,
    Fp4,
    Int8,
}

impl Precision {
    /// The spelling in compute specs and architecture files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Precision::Fp64 => "fp64",
            Precision::Fp32 => "fp32",
            Precision::Fp16 => "fp16",
            Precision::Bf16 => "bf16",
            Precision::Fp8 => "fp8",
            Precision::Fp4 => "fp4",
            Precision::Int8 => "int8",
        }
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

/// Bytes of one element of a type as PyTorch names it, upper or lower case.
///
/// # Errors
///
/// When the type is unknown or is no element type (`""`, `ScalarList`).
pub fn element_size(type_name: &str) -> Result<f64, Undefined> {
    let size = match type_name.to_ascii_lowercase().as_str() {
        "c10::complex<double>" => 16.0,
        "double" | "long int" | "c10::complex<float>" => 8.0,
        "float" | "scalar" | "int" | "unsigned int" => 4.0,
        "c10::half" | "c10::bfloat16" | "short int" | "unsigned short int" => 2.0,
        "c10::float8_e4m3fnuz"
        | "c10::float8_e4m3fn"
        | "c10::float8_e5m2"
        | "c10::float8_e5m2fnuz"
        | "c10::float8_e8m0fnu"
        | "unsigned char"
        | "signed char"
        | "fp8"
        | "bool" => 1.0,
        // One element of this type is a pair of four-bit numbers.
        "c10::float4_e2m1fn_x2" | "fp4" => 1.0,
        _ => return Err(Undefined::data_type(type_name)),
    };
    Ok(size)
}

/// Precision of arithmetic on a type as PyTorch names it; `None` for types that no peak is stated for.
#[must_use]
pub fn precision(type_name: &str) -> Option<Precision> {
    Some(match type_name.to_ascii_lowercase().as_str() {
        "double" => Precision::Fp64,
        "float" => Precision::Fp32,
        "c10::half" => Precision::Fp16,
        "c10::bfloat16" => Precision::Bf16,
        "c10::float8_e4m3fnuz"
        | "c10::float8_e4m3fn"
        | "c10::float8_e5m2"
        | "c10::float8_e5m2fnuz"
        | "unsigned char"
        | "fp8" => Precision::Fp8,
        "fp4" | "mxfp4" | "c10::float4_e2m1fn_x2" => Precision::Fp4,
        "signed char" => Precision::Int8,
        _ => return None,
    })
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
        for name in ["", "ScalarList", "BFloat16", "Tensor"] {
            assert!(element_size(name).is_err(), "{name}");
        }
    }
}
