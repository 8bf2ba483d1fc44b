//! The tree as a script sees it.

mod edits;
mod events;
mod insertion;
mod methods;

pub(super) use edits::TreeHost;
pub(super) use methods::methods;

/// What a rule can ask an event and the tree for.
pub(super) fn fields() -> String {
    let mut methods: Vec<_> = methods::names().collect();
    methods.sort_unstable();
    format!("an event has {}; the tree has {}", events::FIELDS.join(", "), methods.join(", "))
}
