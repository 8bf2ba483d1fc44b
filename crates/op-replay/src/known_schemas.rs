//! The schemas of the namespace `aten`, so that verdicts need no PyTorch.
//!
//! `schemas/aten.txt` was listed from the registry of the PyTorch that its first line names, by
//! `schemas/list_schemas.py`, which says what it leaves out. PyTorch is licensed under BSD-3-Clause
//! (<https://github.com/pytorch/pytorch/blob/main/LICENSE>). The target's PyTorch decides when the operators run:
//! the program that replays them asks its registry.

use std::sync::LazyLock;

use crate::schema::Schema;

const TEXT: &str = include_str!("../schemas/aten.txt");

/// All of them, by name; overloads in the order of the registry.
static SCHEMAS: LazyLock<Vec<Schema<'static>>> =
    LazyLock::new(|| lines().filter_map(|line| Schema::parse(line).ok()).collect());

fn lines() -> impl Iterator<Item = &'static str> {
    TEXT.lines().filter(|line| !line.starts_with('#'))
}

/// The overloads of an operator by its name, such as `aten::sum`; none for operators that are not listed.
#[must_use]
pub fn overloads(name: &str) -> &'static [Schema<'static>] {
    let from = SCHEMAS.partition_point(|schema| schema.name < name);
    let to = SCHEMAS.partition_point(|schema| schema.name <= name);
    &SCHEMAS[from..to]
}

/// The PyTorch that the schemas are of: `PyTorch 2.15.0`.
#[must_use]
pub fn schemas_of() -> &'static str {
    TEXT.lines().next().unwrap_or_default().trim_start_matches("# ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_schema_and_they_are_sorted() {
        for line in lines() {
            Schema::parse(line).unwrap();
        }
        assert!(SCHEMAS.is_sorted_by_key(|schema| schema.name));
        assert!(SCHEMAS.len() > 1900, "{}", SCHEMAS.len());
        assert!(schemas_of().starts_with("PyTorch 2."), "{}", schemas_of());
    }

    #[test]
    fn overloads_are_those_of_one_name() {
        let of = |name| overloads(name).iter().map(|schema| schema.overload).collect::<Vec<_>>();
        assert_eq!(of("aten::addmm"), ["", "out", "dtype_out", "dtype"]);
        assert_eq!(of("aten::fill_"), ["Scalar", "Tensor"]);
        assert_eq!(of("aten::no_such_operator"), [""; 0]);
        assert_eq!(of("vllm::moe_forward"), [""; 0]);
    }
}
