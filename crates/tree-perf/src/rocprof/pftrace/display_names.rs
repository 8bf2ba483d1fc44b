//! Names of kernels as the tables show them, each once.

use std::sync::LazyLock;

use hashbrown::HashMap;
use regex::Regex;
use trace_ingest::rocprof::{KernelNames, Profile};

/// Distinct names of those kernels of a profile that were asked for.
pub(super) struct DisplayNames<'a> {
    profile: &'a Profile,
    names: KernelNames,
    /// Position of a kernel's name; `None` until it is asked for, because a profile lists every kernel that was
    /// loaded and few of them run.
    of_kernel: Vec<Option<u32>>,
    positions: HashMap<String, u32>,
    texts: Vec<String>,
}

impl<'a> DisplayNames<'a> {
    pub(super) fn new(profile: &'a Profile, names: KernelNames) -> Self {
        let of_kernel = vec![None; profile.kernels.len()];
        DisplayNames { profile, names, of_kernel, positions: HashMap::new(), texts: Vec::new() }
    }

    /// Position of a kernel's name.
    pub(super) fn of_kernel(&mut self, kernel: u32) -> u32 {
        if let Some(position) = self.of_kernel[kernel as usize] {
            return position;
        }
        let position = self.of_text(&self.profile.kernel_name(kernel, self.names));
        self.of_kernel[kernel as usize] = Some(position);
        position
    }

    /// Position of a text among the names.
    pub(super) fn of_text(&mut self, text: &str) -> u32 {
        if let Some(&position) = self.positions.get(text) {
            return position;
        }
        let position = self.texts.len() as u32;
        self.positions.insert(text.to_owned(), position);
        self.texts.push(text.to_owned());
        position
    }

    /// The names by position.
    pub(super) fn into_texts(self) -> Vec<String> {
        self.texts
    }
}

/// Labels of rows, and the position of each name's label.
pub(super) struct Labels {
    pub(super) texts: Vec<String>,
    pub(super) of_name: Vec<u32>,
}

impl Labels {
    /// The names themselves, or, to merge those that differ in digits only, the names without digits.
    pub(super) fn of(names: &[String], merge: bool) -> Self {
        if merge { Labels::without_digits(names) } else { Labels::full(names) }
    }

    fn full(names: &[String]) -> Self {
        Labels { texts: names.to_vec(), of_name: (0..names.len() as u32).collect() }
    }

    /// Equal ones are one label.
    fn without_digits(names: &[String]) -> Self {
        let mut positions = HashMap::new();
        let mut texts = Vec::new();
        let mut position = |name: &String| {
            *positions.entry(without_digits(name)).or_insert_with_key(|text| {
                texts.push(text.clone());
                texts.len() as u32 - 1
            })
        };
        let of_name = names.iter().map(&mut position).collect();
        Labels { texts, of_name }
    }
}

/// Decimal digits of any script go, as they do for the reference; fractions and superscripts stay.
fn without_digits(name: &str) -> String {
    static DIGITS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\d+").ok());
    DIGITS.as_ref().map_or_else(|| name.to_owned(), |digits| digits.replace_all(name, "").into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_without_digits_put_names_together() {
        let names = ["fusion_12", "gemm", "fusion_3", "k\u{663}x²"].map(str::to_owned);
        let labels = Labels::without_digits(&names);
        assert_eq!(labels.texts, ["fusion_", "gemm", "kx²"]);
        assert_eq!(labels.of_name, [0, 1, 0, 2]);
        assert_eq!(Labels::full(&names).of_name, [0, 1, 2, 3]);
    }
}
