//! What the user of a script should know.

use std::fmt;

use super::error::Place;

/// Something that the user of a script should know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExtensionNotice {
    /// A member of the script has no effect.
    WithoutEffect {
        /// Where it is assigned.
        at: Place,
        /// Its name.
        member: String,
        /// Why, or what to write instead.
        reason: String,
    },
    /// The script printed a text.
    Printed {
        /// The script.
        path: String,
        /// The text.
        text: String,
    },
}

impl fmt::Display for ExtensionNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExtensionNotice::WithoutEffect { at, member, reason } => {
                write!(f, "{at}: {member} has no effect: {reason}")
            }
            ExtensionNotice::Printed { path, text } => write!(f, "{path}: {text}"),
        }
    }
}
