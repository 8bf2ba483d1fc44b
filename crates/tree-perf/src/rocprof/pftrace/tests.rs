//! Profiles made by hand, and the tables that they must give.

mod activity;
mod api;
mod fixture;
mod memory_copies;
mod properties;
