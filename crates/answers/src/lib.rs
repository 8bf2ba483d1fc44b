#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod advice;
mod any_recording;
mod call_tree;
mod captures;
mod columns_page;
mod compare;
mod critical_path;
pub mod diagnostic;
mod diff;
pub mod envelope;
mod error;
mod gate;
mod host_alone;
mod host_recordings;
mod known_sheets;
pub mod model;
mod notice;
pub mod numbers;
mod overlay;
mod overview;
mod page;
mod parallel;
mod parts;
mod picture;
mod rank_tables;
mod ranks;
mod repeated;
mod replay;
mod report;
mod requested_tables;
mod rocprof;
mod rows;
mod runs;
mod steps;
mod summary;
mod tenstorrent;
mod trace;
mod trace_tables;
mod trust;
mod why;
mod xla;

pub use advice::{Advisor, advice_rules};
pub use advise::means_rule;
pub use any_recording::AnyReporter;
pub use call_tree::{TreeQuery, TreeStart};
pub use columns_page::columns_page;
pub use compare::CompareReporter;
pub use critical_path::CriticalPathReporter;
pub use diff::DiffReporter;
pub use error::Error;
pub use gate::{GateReader, is_baseline_file};
pub use known_sheets::{KnownSheet, ReportOf, column_names, known_sheets};
pub use notice::{NoPythonFrames, Notice};
pub use overlay::{OverlayEvents, write_counters, write_overlay};
pub use page::page;
pub use parts::SheetNames;
pub use picture::{NothingToDraw, Picture};
pub use rank_tables::{MapOptions, Mapped};
pub use ranks::{JobRecordings, RanksReporter, fuse_ranks, map_ranks};
pub use replay::{OperatorsToReplay, ReplayChoice, ReplayOptions, ReplayedOperator, operators_to_replay};
pub use report::{Analysed, Report, Reporter, Run, Stage, Watch};
pub use requested_tables::{REQUESTED_TABLES, requested_table};
pub use rocprof::RocprofReporter;
pub use rows::{
    Condition, Order, RowError, RowQuery, Rows, Test, Value, did_you_mean, nearest, nearest_names,
    table_named,
};
pub use summary::{LeftOut, Summary, Timeline, TimelineWindow};
pub use tenstorrent::TenstorrentReporter;
pub use trace::{HtaTables, NsysReporter, OtherTrace, TraceReporter};
pub use why::{Cost, NamedIn, Part, RooflineShare, TargetKind, Why, WhyError, candidates};
pub use xla::XlaReporter;
