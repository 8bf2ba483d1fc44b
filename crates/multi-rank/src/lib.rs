#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod align;
mod analysis;
mod causes;
mod clocks;
mod collectives;
mod conventions;
mod diagnostic;
mod error;
mod exchange;
mod finding;
mod folder;
mod fuse;
mod gpus;
mod host_profile;
mod job;
mod map;
mod matching;
mod members;
mod occupancy;
mod options;
mod pack;
mod reduction;
mod rows;
mod sheets;
mod source;
mod statistic;
mod tables;
mod waits;

pub use analysis::{JobAnalysis, StepLateness};
pub use causes::CauseKind;
pub use clocks::ClockMode;
pub use conventions::{
    BandwidthRule, Conventions, LabelRule, MetadataRule, RankColumns, Rounding, ShareRule, SynchronisingRule,
    TieRule,
};
pub use diagnostic::Diagnostic;
pub use error::Error;
pub use finding::{JobFinding, LocalExchange, Steps, Straggler};
pub use folder::{JobFolder, ProfileDevice, RankFolder, SCHEMA, Source, TableShape, table_shapes};
pub use fuse::{FuseOptions, FuseOutput, Fused, FusedEvents, FusedFile, FusedRecording, fuse};
pub use gpus::{gpus_of_trace, place_rank, trace_of_gpu};
pub use host_profile::{HostOfJob, host_names, rank_tables_of_host, recorded_host};
pub use job::Job;
pub use map::{rank_tables, single_events};
pub use matching::{Pairing, Tier};
pub use members::Members;
pub use options::JobOptions;
pub use pack::Packing;
pub use rows::{ColumnShape, Holds};
pub use sheets::job_sheets;
pub use source::RankPattern;
pub use statistic::Statistic;
pub use tables::{
    CollectiveRow, CopyRateRow, EventRow, FindingRow, GroupRow, KernelRow, OpRow, PathRow, QueueRow, RankRow,
    RankTables, StepRow, WaitTables,
};
pub use waits::waits;
