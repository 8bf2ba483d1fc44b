//! Kinds of work as the tables have them: the built-in ones, and those that an extension made up.

use std::fmt;
use std::sync::Arc;

use perf_models::Category;

/// What kind of work an operator does: the unit over which reports sum device time. A clone copies no text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OpCategory {
    /// One that the tables of operators know.
    BuiltIn(Category),
    /// An extension's own; never the spelling of a built-in one, so that equal texts are equal categories.
    Own(Arc<str>),
}

impl OpCategory {
    /// The category of this spelling.
    #[must_use]
    pub fn named(text: &str) -> Self {
        let built_in = Category::all().find(|category| category.as_str() == text);
        built_in.map_or_else(|| OpCategory::Own(text.into()), OpCategory::BuiltIn)
    }

    /// The spelling in reports.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            OpCategory::BuiltIn(category) => category.as_str(),
            OpCategory::Own(text) => text,
        }
    }

    /// Whether it says that the operator is backward work.
    pub fn is_backward(&self) -> bool {
        self.as_str().ends_with(BACKWARD)
    }

    /// The category of the backward work of an operator of this category; the same where it names no direction.
    pub fn backward(&self) -> Self {
        match self.as_str().strip_suffix(FORWARD) {
            Some(work) => OpCategory::named(&format!("{work}{BACKWARD}")),
            None => self.clone(),
        }
    }

    /// The spelling without the direction.
    pub fn work(&self) -> &str {
        without_direction(self.as_str())
    }
}

/// How a category says that its work is forward.
pub const FORWARD: &str = "_fwd";
/// How a category says that its work is backward.
pub const BACKWARD: &str = "_bwd";

/// A category's spelling without the direction.
pub fn without_direction(category: &str) -> &str {
    [FORWARD, BACKWARD].iter().find_map(|suffix| category.strip_suffix(suffix)).unwrap_or(category)
}

impl From<Category> for OpCategory {
    fn from(category: Category) -> Self {
        OpCategory::BuiltIn(category)
    }
}

impl fmt::Display for OpCategory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_spelling_of_a_built_in_category_is_that_category() {
        assert_eq!(OpCategory::named("SDPA_fwd"), Category::SdpaForward.into());
        assert_eq!(OpCategory::named("sdpa_fwd"), OpCategory::Own("sdpa_fwd".into()));
        assert_eq!(OpCategory::named("mine").to_string(), "mine");
    }

    #[test]
    fn backward_work_has_the_category_of_the_other_direction() {
        for (forward, backward) in [("SDPA_fwd", "SDPA_bwd"), ("mine_fwd", "mine_bwd"), ("mine", "mine")] {
            let of_backward = OpCategory::named(forward).backward();
            assert_eq!(of_backward, OpCategory::named(backward));
            assert_eq!(of_backward.is_backward(), backward.ends_with("_bwd"));
            assert_eq!(of_backward.work(), OpCategory::named(forward).work());
        }
    }
}
