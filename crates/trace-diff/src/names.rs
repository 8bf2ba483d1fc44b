//! Operators that have different names in different backends and do the same work.

use hashbrown::HashMap;

/// Operators that PyTorch dispatches to a library of the vendor, and attention as each library calls it.
const KNOWN: &[&[&str]] = &[
    &["aten::cudnn_convolution", "aten::miopen_convolution"],
    &["aten::native_batch_norm", "aten::miopen_batch_norm"],
    &["aten::native_batch_norm_backward", "aten::miopen_batch_norm_backward"],
    &[
        "FlashAttnFunc",
        "flash_attn::_flash_attn_forward",
        "aten::_efficient_attention_forward",
        "aten::_scaled_dot_product_cudnn_attention",
    ],
    &[
        "FlashAttnFuncBackward",
        "flash_attn::_flash_attn_backward",
        "aten::_efficient_attention_backward",
        "aten::_scaled_dot_product_cudnn_attention_backward",
    ],
];

/// Classes of names that stand for the same work. The first name of a class stands for all of it.
#[derive(Clone, Debug)]
pub struct NameClasses {
    representatives: HashMap<String, String>,
}

impl Default for NameClasses {
    /// Convolutions, batch normalisations and attention of cuDNN, MIOpen and the flash attention packages.
    fn default() -> Self {
        let mut classes = NameClasses::exact();
        KNOWN.iter().for_each(|class| classes.add(class.iter().copied()));
        classes
    }
}

impl NameClasses {
    /// Every name stands for itself alone.
    #[must_use]
    pub fn exact() -> Self {
        NameClasses { representatives: HashMap::new() }
    }

    /// Declares that these names stand for the same work. A class that already has one of them becomes part of this one.
    pub fn add<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) {
        let mut names = names.into_iter();
        let Some(first) = names.next() else { return };
        for name in std::iter::once(first).chain(names) {
            let before = self.canonical(name).to_owned();
            for representative in self.representatives.values_mut().filter(|known| **known == before) {
                first.clone_into(representative);
            }
            for joined in [before.as_str(), name] {
                self.representatives.insert(joined.to_owned(), first.to_owned());
            }
        }
    }

    /// The name that stands for the class of `name`: `name` itself where it is in none.
    #[must_use]
    pub fn canonical<'n>(&'n self, name: &'n str) -> &'n str {
        self.representatives.get(name).map_or(name, String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_class_have_one_representative() {
        let classes = NameClasses::default();
        for class in KNOWN {
            assert!(class.iter().all(|name| classes.canonical(name) == class[0]), "{class:?}");
        }
        assert_eq!(classes.canonical("aten::mm"), "aten::mm");
        assert_eq!(NameClasses::exact().canonical(KNOWN[0][1]), KNOWN[0][1]);
    }

    #[test]
    fn a_new_class_takes_in_those_that_it_shares_a_name_with() {
        let mut classes = NameClasses::default();
        classes.add(["a", "b"]);
        classes.add(["c", "b", "aten::miopen_convolution"]);
        for name in ["a", "b", "c", "aten::cudnn_convolution", "aten::miopen_convolution"] {
            assert_eq!(classes.canonical(name), "c", "{name}");
        }
    }
}
