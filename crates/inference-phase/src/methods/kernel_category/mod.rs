//! What kind of work a kernel does, by its name: an ordered list of rules, the first that fits decides.

mod legacy;
mod rules;

pub use legacy::legacy_kernel_category;
pub use rules::kernel_category;

/// One rule: what it looks for, and which categories it tells apart.
struct Rule {
    /// Any of these parts makes the rule decide.
    any: &'static [&'static str],
    /// But none of these may be there.
    unless: &'static [&'static str],
    /// Categories by further parts, the first that fits.
    kinds: &'static [(&'static [&'static str], &'static str)],
    /// The category otherwise.
    otherwise: &'static str,
}

/// A rule without exceptions.
const fn rule(
    any: &'static [&'static str],
    kinds: &'static [(&'static [&'static str], &'static str)],
    otherwise: &'static str,
) -> Rule {
    Rule { any, unless: &[], kinds, otherwise }
}

impl Rule {
    fn decide(&self, text: &str) -> Option<&'static str> {
        (has(text, self.any) && !has(text, self.unless)).then(|| {
            let kind = self.kinds.iter().find(|(parts, _)| has(text, parts));
            kind.map_or(self.otherwise, |&(_, category)| category)
        })
    }
}

fn has(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}
