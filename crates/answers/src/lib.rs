#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod compare;
mod critical_path;
mod diff;
mod error;
mod gate;
mod host_profiles;
mod known_sheets;
pub mod model;
mod notice;
pub mod numbers;
mod overlay;
mod overview;
mod page;
mod parallel;
mod ranks;
mod replay;
mod report;
mod rocprof;
mod roofline_picture;
mod stacked_picture;
mod step_picture;
mod steps;
mod summary;
mod tenstorrent;
mod trace;
mod trust;
mod xla;

pub use compare::CompareReporter;
pub use critical_path::CriticalPathReporter;
pub use diff::DiffReporter;
pub use error::Error;
pub use gate::{GateReader, is_baseline_file};
pub use known_sheets::{KnownSheet, ReportOf, known_sheets};
pub use notice::{NothingToDraw, Notice};
pub use overlay::{OverlayEvents, write_counters, write_overlay};
pub use page::page;
pub use ranks::{JobRecordings, MapOptions, Mapped, RanksReporter, fuse_ranks, map_ranks};
pub use replay::{OperatorsToReplay, ReplayChoice, ReplayOptions, ReplayedOperator, operators_to_replay};
pub use report::{Analysed, Picture, Report, Reporter, Run, Stage, Watch, report};
pub use rocprof::RocprofReporter;
pub use summary::{LeftOut, Summary, Timeline};
pub use tenstorrent::TenstorrentReporter;
pub use trace::{OtherTrace, SheetNames, TraceReporter};
pub use xla::XlaReporter;
