//! `tracelens report`: the options of the reports of all recorders. Those of the recorder whose recording it is count.

use std::path::Path;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use trace_ingest::RecordingKind;

use super::jax::JaxArguments;
use super::metal::MetalArguments;
use super::pytorch::TraceArguments;
use super::rocprof::RocprofArguments;
use crate::error::Failure;

/// The options of `tracelens report`, not yet told apart by recorder.
pub(crate) struct AnyReport(ArgMatches);

/// The options of the report of one kind of recording.
pub(crate) enum ReportArguments {
    Trace(Box<TraceArguments>),
    Xla(Box<JaxArguments>),
    Rocprof(Box<RocprofArguments>),
    Tenstorrent(Box<MetalArguments>),
}

fn options_of(kind: RecordingKind) -> Command {
    let command = Command::new(name(kind));
    match kind {
        RecordingKind::Kineto => TraceArguments::augment_args(command),
        RecordingKind::XPlane => JaxArguments::augment_args(command),
        RecordingKind::Rocprof => RocprofArguments::augment_args(command),
        RecordingKind::TenstorrentOps => MetalArguments::augment_args(command),
    }
}

/// What help calls the recordings.
fn name(kind: RecordingKind) -> &'static str {
    match kind {
        RecordingKind::Kineto => "PyTorch traces",
        RecordingKind::XPlane => "XPlane profiles",
        RecordingKind::Rocprof => "rocprofv3 profiles",
        RecordingKind::TenstorrentOps => "Tenstorrent operations",
    }
}

/// The options of each kind's report.
fn all_options() -> impl Iterator<Item = (RecordingKind, Command)> {
    RecordingKind::ALL.iter().map(|&kind| (kind, options_of(kind)))
}

fn has(options: &Command, id: &str) -> bool {
    options.get_arguments().any(|known| known.get_id() == id)
}

impl Args for AnyReport {
    fn augment_args(mut command: Command) -> Command {
        let all: Vec<(RecordingKind, Command)> = all_options().collect();
        for (kind, options) in &all {
            for arg in options.get_arguments() {
                let id = arg.get_id().as_str();
                if has(&command, id) {
                    continue;
                }
                let is_shared = all.iter().any(|(other, options)| other != kind && has(options, id));
                command = command.arg(match is_shared {
                    true => arg.clone(),
                    false => arg.clone().help_heading(name(*kind)),
                });
            }
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for AnyReport {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(AnyReport(matches.clone()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0 = matches.clone();
        Ok(())
    }
}

impl AnyReport {
    /// The first of the recordings.
    pub(crate) fn first(&self) -> Option<&Path> {
        let files = ["files", "profile_json_path"];
        files.iter().find_map(|id| self.0.get_one::<std::path::PathBuf>(id)).map(|path| path.as_path())
    }

    /// The options of a recorder's report.
    ///
    /// # Errors
    /// When an option is given that only reports of other recorders have.
    pub(crate) fn for_kind(&self, kind: RecordingKind, path: &Path) -> Result<ReportArguments, Failure> {
        let known = options_of(kind);
        for option in super::Given(self.0.clone()).ids() {
            if !has(&known, &option) {
                let of = all_options().filter(|(_, options)| has(options, &option));
                let of: Vec<&str> = of.map(|(kind, _)| name(kind)).collect();
                return Err(Failure::OptionOfOtherRecorder {
                    option: super::long_name("report", &option),
                    of: of.join(" and "),
                    path: path.to_path_buf(),
                    kind,
                });
            }
        }
        let arguments =
            match kind {
                RecordingKind::Kineto => {
                    TraceArguments::from_arg_matches(&self.0).map(|it| ReportArguments::Trace(Box::new(it)))
                }
                RecordingKind::XPlane => {
                    JaxArguments::from_arg_matches(&self.0).map(|it| ReportArguments::Xla(Box::new(it)))
                }
                RecordingKind::Rocprof => RocprofArguments::from_arg_matches(&self.0)
                    .map(|it| ReportArguments::Rocprof(Box::new(it))),
                RecordingKind::TenstorrentOps => MetalArguments::from_arg_matches(&self.0)
                    .map(|it| ReportArguments::Tenstorrent(Box::new(it))),
            };
        arguments.map_err(|error| Failure::Arguments(error.to_string()))
    }
}
