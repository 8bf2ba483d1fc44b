//! `tracelens metal`: reports of Tenstorrent operations, its options, and what it says of files that it cannot use.

mod files;
mod place;
mod rows;
mod terminal;
mod unusable;
