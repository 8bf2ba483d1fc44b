//! The queries: those that are shipped, and those of the user.

/// A query with what it is called in messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Query {
    /// Its file, or the name of a shipped query.
    pub name: String,
    /// One statement of SQL.
    pub text: String,
}

/// A query that is shipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShippedQuery {
    /// Name, such as `slowest-groups`.
    pub name: &'static str,
    /// What it answers, in a few words.
    pub about: &'static str,
    /// The text of its file.
    pub text: &'static str,
}

impl From<&ShippedQuery> for Query {
    fn from(shipped: &ShippedQuery) -> Self {
        Query { name: shipped.name.to_owned(), text: shipped.text.to_owned() }
    }
}

macro_rules! shipped {
    ($($name:literal: $about:literal,)*) => {
        &[$(ShippedQuery {
            name: $name,
            about: $about,
            text: include_str!(concat!("../queries/", $name, ".sql")),
        },)*]
    };
}

/// The shipped queries, in the order in which a user asks.
pub const SHIPPED: &[ShippedQuery] = shipped! {
    "slowest-groups": "groups by the time in their collectives, and how much of it is waiting",
    "stragglers-by-host": "hosts by how long other ranks waited for theirs",
    "bandwidth-outliers": "collectives that took twice as long as others of their group, kind and size",
    "step-regression": "device time of a step, by rank, against another job",
    "waits-by-hour": "waiting in collectives by the hour",
    "ops-by-total-time": "operators by device time over all ranks",
};

/// The view `entries`, which shipped queries share and queries of users may use.
pub(crate) const ENTRIES: ShippedQuery = ShippedQuery {
    name: "entries",
    about: "a rank in a collective that the program numbers, with how long it waited there",
    text: include_str!("../queries/entries.sql"),
};
