//! Element types of arrays in HLO.

use std::fmt;

use perf_models::{ComputeSpec, ComputeUnit, Precision};

/// The type of an array's elements. Displays as HLO text writes it: `bf16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs)] // the names are those of XLA
pub enum ElementType {
    Pred,
    S1,
    S2,
    S4,
    S8,
    S16,
    S32,
    S64,
    U1,
    U2,
    U4,
    U8,
    U16,
    U32,
    U64,
    F16,
    #[default]
    F32,
    Bf16,
    F64,
    F8E5M2,
    F8E4M3,
    F8E4M3Fn,
    F8E4M3B11Fnuz,
    F8E3M4,
    F8E5M2Fnuz,
    F8E4M3Fnuz,
    F4E2M1Fn,
    F8E8M0Fnu,
    C64,
    C128,
    /// A number that names no type of this list, or no type of elements at all.
    Unknown(i32),
}

use ElementType as T;

/// What is known of a type.
struct Row {
    element: ElementType,
    /// Number in XLA's protocol buffers.
    number: i32,
    name: &'static str,
    /// Bits of an element; a truth value takes a byte in memory.
    bits: u32,
    /// PyTorch's name in lower case, if it has the type.
    torch: Option<&'static str>,
    precision: Option<Precision>,
}

const fn row(
    element: ElementType,
    number: i32,
    name: &'static str,
    bits: u32,
    torch: &'static str,
    precision: Option<Precision>,
) -> Row {
    let torch = if torch.is_empty() { None } else { Some(torch) };
    Row { element, number, name, bits, torch, precision }
}

const TYPES: [Row; 30] = [
    row(T::Pred, 1, "pred", 8, "bool", None),
    row(T::S1, 30, "s1", 1, "", None),
    row(T::S2, 26, "s2", 2, "", None),
    row(T::S4, 21, "s4", 4, "", None),
    row(T::S8, 2, "s8", 8, "signed char", Some(Precision::Int8)),
    row(T::S16, 3, "s16", 16, "short int", None),
    row(T::S32, 4, "s32", 32, "int", None),
    row(T::S64, 5, "s64", 64, "long int", None),
    row(T::U1, 31, "u1", 1, "", None),
    row(T::U2, 27, "u2", 2, "", None),
    row(T::U4, 22, "u4", 4, "", None),
    row(T::U8, 6, "u8", 8, "unsigned char", Some(Precision::Int8)),
    row(T::U16, 7, "u16", 16, "unsigned short int", None),
    row(T::U32, 8, "u32", 32, "unsigned int", None),
    row(T::U64, 9, "u64", 64, "", None),
    row(T::F16, 10, "f16", 16, "c10::half", Some(Precision::Fp16)),
    row(T::F32, 11, "f32", 32, "float", Some(Precision::Fp32)),
    row(T::Bf16, 16, "bf16", 16, "c10::bfloat16", Some(Precision::Bf16)),
    row(T::F64, 12, "f64", 64, "double", Some(Precision::Fp64)),
    row(T::F8E5M2, 19, "f8e5m2", 8, "c10::float8_e5m2", Some(Precision::Fp8)),
    row(T::F8E4M3, 28, "f8e4m3", 8, "fp8", Some(Precision::Fp8)),
    row(T::F8E4M3Fn, 20, "f8e4m3fn", 8, "c10::float8_e4m3fn", Some(Precision::Fp8)),
    row(T::F8E4M3B11Fnuz, 23, "f8e4m3b11fnuz", 8, "fp8", Some(Precision::Fp8)),
    row(T::F8E3M4, 29, "f8e3m4", 8, "fp8", Some(Precision::Fp8)),
    row(T::F8E5M2Fnuz, 24, "f8e5m2fnuz", 8, "c10::float8_e5m2fnuz", Some(Precision::Fp8)),
    row(T::F8E4M3Fnuz, 25, "f8e4m3fnuz", 8, "c10::float8_e4m3fnuz", Some(Precision::Fp8)),
    row(T::F4E2M1Fn, 32, "f4e2m1fn", 4, "fp4", Some(Precision::Fp4)),
    row(T::F8E8M0Fnu, 33, "f8e8m0fnu", 8, "c10::float8_e8m0fnu", None),
    row(T::C64, 15, "c64", 64, "c10::complex<float>", Some(Precision::Fp32)),
    row(T::C128, 18, "c128", 128, "c10::complex<double>", Some(Precision::Fp64)),
];

impl ElementType {
    /// The type that XLA's protocol buffers give this number (`xla.PrimitiveType`).
    #[must_use]
    pub fn from_number(number: i32) -> Self {
        TYPES.iter().find(|row| row.number == number).map_or(Self::Unknown(number), |row| row.element)
    }

    /// Its number in XLA's protocol buffers.
    #[must_use]
    pub fn number(self) -> i32 {
        match self {
            Self::Unknown(number) => number,
            known => known.row().map_or(0, |row| row.number),
        }
    }

    /// The type of this name, upper or lower case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        TYPES.iter().find(|row| row.name.eq_ignore_ascii_case(name)).map(|row| row.element)
    }

    fn row(self) -> Option<&'static Row> {
        TYPES.iter().find(|row| row.element == self)
    }

    /// Bits that an element takes in memory; `None` for an unknown type.
    ///
    /// Types of less than a byte are packed; a layout may say otherwise
    /// ([`Layout::element_bits`](crate::Layout::element_bits)).
    #[must_use]
    pub fn bits(self) -> Option<u32> {
        self.row().map(|row| row.bits)
    }

    /// Whether its values have a fraction: floating-point and complex types.
    #[must_use]
    pub fn is_floating_point(self) -> bool {
        self.is_complex() || self.row().is_some_and(|row| row.name.starts_with('f') || row.name == "bf16")
    }

    /// Whether its values have a real and an imaginary part.
    #[must_use]
    pub fn is_complex(self) -> bool {
        matches!(self, T::C64 | T::C128)
    }

    /// Precision of arithmetic on it, as architectures state peaks; `None` where none is stated. That of a
    /// complex type is the one of its parts.
    #[must_use]
    pub fn precision(self) -> Option<Precision> {
        self.row()?.precision
    }

    /// The peak of the ordinary arithmetic units for it; `None` for integers, which have none.
    #[must_use]
    pub fn vector_spec(self) -> Option<ComputeSpec> {
        let precision = self.precision().filter(|_| self.is_floating_point())?;
        Some(ComputeSpec { unit: ComputeUnit::Vector, precision })
    }

    /// The name that PyTorch has for it, in lower case, as reports show types of operands.
    #[must_use]
    pub fn torch_name(self) -> String {
        self.row().and_then(|row| row.torch).map_or_else(|| self.to_string(), str::to_owned)
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.row() {
            Some(row) => f.pad(row.name),
            None => f.pad("invalid"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_type_has_one_number_and_one_name() {
        let distinct: HashSet<_> =
            TYPES.iter().flat_map(|row| [row.number.to_string(), row.name.to_owned()]).collect();
        assert_eq!(distinct.len(), 2 * TYPES.len());
        for Row { element, number, name, .. } in TYPES {
            assert_eq!((ElementType::from_number(number), element.number()), (element, number));
            assert_eq!(ElementType::from_name(&name.to_uppercase()), Some(element));
            assert_eq!(element.to_string(), name);
        }
        assert_eq!(ElementType::from_number(13), ElementType::Unknown(13));
        assert_eq!(ElementType::Unknown(13).bits(), None);
    }

    #[test]
    fn sizes_are_those_that_names_state() {
        for Row { element, name, bits, .. } in TYPES {
            let digits: String =
                name.chars().skip_while(|c| !c.is_ascii_digit()).take_while(char::is_ascii_digit).collect();
            let stated = if name == "pred" { 8 } else { digits.parse().unwrap() };
            assert_eq!((element.bits(), bits), (Some(stated), stated), "{name}");
        }
    }

    #[test]
    fn sizes_agree_with_those_of_pytorch_names() {
        for Row { element, name, bits, .. } in TYPES.iter().filter(|row| row.bits >= 8) {
            assert_eq!(perf_models::element_size(&element.torch_name()).ok(), known(*bits, name), "{name}");
        }
        fn known(bits: u32, name: &str) -> Option<f64> {
            (name != "u64").then_some(f64::from(bits) / 8.0)
        }
    }

    #[test]
    fn integers_have_no_peak_of_the_vector_units() {
        assert_eq!(T::S32.vector_spec(), None);
        assert_eq!(T::S8.vector_spec(), None);
        assert_eq!(T::Bf16.vector_spec().unwrap().to_string(), "vector_bf16");
        assert_eq!(T::C64.vector_spec().unwrap().to_string(), "vector_fp32");
        assert_eq!(T::S8.precision(), Some(Precision::Int8));
    }
}
