//! Nothing but its manifest: the features of third-party crates that the whole workspace needs. All packages have it as
//! a development dependency, so that `cargo test -p NAME` finds the dependencies that `cargo test --workspace` compiled.
//! `cargo hakari generate` (from the crate `cargo-hakari`) writes the manifest after a change of dependencies. A stale
//! list costs compile time, nothing else.
