//! Element types of tensors: as profilers record them, and their names in PyTorch.

/// A type that tensors can be made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ElementType {
    pub(crate) recorded: &'static str,
    /// Attribute of the module `torch`.
    pub(crate) torch: &'static str,
    /// Bytes of an element.
    pub(crate) size: u64,
    pub(crate) kind: NumberKind,
}

/// What the elements of a tensor are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberKind {
    Bool,
    Integer,
    Real,
    Complex,
}

macro_rules! types {
    ($($kind:ident $size:literal $torch:literal: $($recorded:literal)+;)+) => {
        &[$($(ElementType {
            recorded: $recorded,
            torch: $torch,
            size: $size,
            kind: NumberKind::$kind,
        },)+)+]
    };
}

/// By the name in PyTorch; compilers spell names of integers in several ways.
pub(crate) const ELEMENT_TYPES: &[ElementType] = types! {
    Bool 1 "bool": "bool";
    Integer 1 "uint8": "unsigned char";
    Integer 1 "int8": "signed char" "char";
    Integer 2 "int16": "short int" "short";
    Integer 4 "int32": "int";
    Integer 8 "int64": "long int" "long" "long long";
    Integer 2 "uint16": "unsigned short int" "unsigned short";
    Integer 4 "uint32": "unsigned int";
    Integer 8 "uint64": "unsigned long int" "unsigned long" "unsigned long long";
    Real 4 "float32": "float";
    Real 8 "float64": "double";
    Real 2 "float16": "c10::Half";
    Real 2 "bfloat16": "c10::BFloat16";
    Real 1 "float8_e4m3fn": "c10::Float8_e4m3fn";
    Real 1 "float8_e4m3fnuz": "c10::Float8_e4m3fnuz";
    Real 1 "float8_e5m2": "c10::Float8_e5m2";
    Real 1 "float8_e5m2fnuz": "c10::Float8_e5m2fnuz";
    Real 1 "float8_e8m0fnu": "c10::Float8_e8m0fnu";
    Real 1 "float4_e2m1fn_x2": "c10::Float4_e2m1fn_x2";
    Complex 4 "complex32": "c10::complex<c10::Half>";
    Complex 8 "complex64": "c10::complex<float>";
    Complex 16 "complex128": "c10::complex<double>";
};

pub(crate) fn element_type(recorded: &str) -> Option<&'static ElementType> {
    ELEMENT_TYPES.iter().find(|known| known.recorded == recorded)
}
