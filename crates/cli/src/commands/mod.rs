//! One file per subcommand.

pub(crate) mod advise;
pub(crate) mod archs;
pub(crate) mod columns;
pub(crate) mod compare;
pub(crate) mod critical_path;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod extension;
pub(crate) mod fuse;
pub(crate) mod gate;
pub(crate) mod jax;
pub(crate) mod match_blocks;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
pub(crate) mod metal;
pub(crate) mod model;
pub(crate) mod nsys;
pub(crate) mod pytorch;
pub(crate) mod ranks;
pub(crate) mod replay;
pub(crate) mod rocprof;
pub(crate) mod shell;
pub(crate) mod split;
pub(crate) mod table;
pub(crate) mod tree;
