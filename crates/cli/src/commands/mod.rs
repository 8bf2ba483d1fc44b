//! One file per subcommand.

pub(crate) mod archs;
pub(crate) mod columns;
pub(crate) mod model;
pub(crate) mod report;
pub(crate) mod shell;
pub(crate) mod tree;
