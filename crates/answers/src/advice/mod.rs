//! What to change first: the facts of recordings, brought to the rules of `advise`.

mod facts;
mod job;
mod regression;
mod serving;
mod take_turns;
mod tenstorrent;
mod trace;
mod trace_rules;
mod xla;

use std::path::{Path, PathBuf};

use advise::{Advice, Limits};
use metal_perf::{MetalOptions, MetalReport};
use perf_models::{Architecture, CommunicationPatterns, PeakBasis};
use trace_doctor::Diagnosis;
use trace_ingest::metal::read_ops;
use trace_ingest::xplane::read_profile;
use trace_ingest::{ReadOptions, RecordingKind, read_path, recognise};
use trace2tree::{TraceTree, TreeOptions};
use tree_perf::{Analysis, AnalysisOptions};
use xla_perf::{JaxAnalysis, JaxOptions};

pub(crate) use facts::{first_of, tables_of};
pub(crate) use job::job_advice;
pub(crate) use tenstorrent::operation_advice;
pub(crate) use trace::trace_advice;
pub(crate) use xla::profile_advice;

use crate::error::Error;
use crate::host_alone::no_gpu_events;
use crate::notice::Notice;

/// Reads a recording and says what to change first.
#[derive(Default)]
pub struct Advisor {
    /// What the device can do; `None` is the device that the recording names.
    pub architecture: Option<Architecture>,
    /// Which peaks count, if the user says it.
    pub peak_basis: Option<PeakBasis>,
    /// Names of kernels that communicate.
    pub communication: CommunicationPatterns,
    /// How trees are built: what finds the launch of a device event, and whether recorded ends are kept.
    pub tree: TreeOptions,
    /// An earlier recording of the same program, of traces.
    pub baseline: Option<PathBuf>,
    /// From where on something is worth a finding.
    pub limits: Limits,
}

impl Advisor {
    /// What to change first in the program of a recording, with call sites where they are recorded; and what there is to
    /// say of the recording.
    ///
    /// # Errors
    /// When the file cannot be read or has no device work, and when a baseline is given with a recording that is no trace.
    pub fn advise(&self, path: &Path, reading: &ReadOptions<'_>) -> Result<(Advice, Vec<Notice>), Error> {
        let kind = recognise(path, reading)?;
        if let Some(baseline) = &self.baseline
            && !matches!(kind, RecordingKind::Trace)
        {
            return Err(Error::BaselineOfTrace {
                path: path.to_path_buf(),
                kind,
                baseline: baseline.clone(),
            });
        }
        match kind {
            RecordingKind::Trace | RecordingKind::Nsys | RecordingKind::Rocprof => {
                self.advise_on_trace(path, reading)
            }
            RecordingKind::XPlane => {
                let profile = read_profile(path, reading)?;
                let notices = profile.trace.warnings().iter().cloned().map(Notice::Reading).collect();
                let options = JaxOptions {
                    architecture: self.architecture.clone(),
                    peak_basis: self.peak_basis,
                    communication: self.communication.clone(),
                    ..JaxOptions::default()
                };
                let analysis = JaxAnalysis::new(profile, options);
                let advice = profile_advice(&analysis, &self.limits);
                Ok((advice.ok_or_else(|| no_gpu_events(path, analysis.trace()))?, notices))
            }
            RecordingKind::TenstorrentOps => {
                let paths = [path.to_path_buf()];
                let table = read_ops(&paths, reading)?;
                let report = MetalReport::new(table, MetalOptions::default())
                    .map_err(|error| Error::Metal { paths: paths.to_vec(), error })?;
                let notices = report.notices.iter().cloned().map(Notice::Tenstorrent).collect();
                Ok((operation_advice(&report, &self.limits), notices))
            }
        }
    }

    fn advise_on_trace(
        &self,
        path: &Path,
        reading: &ReadOptions<'_>,
    ) -> Result<(Advice, Vec<Notice>), Error> {
        let analysis = |path: &Path| {
            let trace = read_path(path, reading)?;
            let options = AnalysisOptions {
                architecture: self.architecture.clone(),
                peak_basis: self.peak_basis,
                communication: self.communication.clone(),
                link_by: self.tree.link_by,
                keep_overruns: self.tree.keep_overruns,
                include_call_stack: true,
                ..AnalysisOptions::default()
            };
            let tree_options = TreeOptions { threads: reading.thread_count(), ..options.tree_options() };
            let tree = TraceTree::build(trace, &tree_options);
            let diagnosis = Diagnosis::new(&tree);
            let analysis = Analysis::from_tree(tree, options);
            match analysis.timeline() {
                Some(_) => Ok((analysis, diagnosis)),
                None => Err(no_gpu_events(path, analysis.trace())),
            }
        };
        let (trace, diagnosis) = analysis(path)?;
        let baseline = self.baseline.as_deref().map(analysis).transpose()?;
        let baseline = baseline.as_ref().map(|(baseline, _)| baseline);
        let notices = trace.trace().warnings().iter().cloned().map(Notice::Reading).collect();
        Ok((trace_advice(&trace, Some(&diagnosis), baseline, &self.limits), notices))
    }
}

/// The names of the rules whose findings [`Advisor::advise`] gives.
pub fn advice_rules() -> impl Iterator<Item = &'static str> {
    let trace_rule_ids = trace::TRACE_RULES.iter().flat_map(|rules| rules.ids.iter().copied());
    trace_rule_ids.chain(advise::rule_names()).chain(tenstorrent::RULES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::any_recording::AnyReporter;
    use crate::known_sheets;
    use crate::report::{Reporter, Run};

    /// Holds the rows that findings name against the report that they stand in.
    fn check_rows(path: &Path) {
        let report = AnyReporter::default().report(&[path.to_path_buf()], &mut Run::default()).unwrap();
        let findings = report.advice.unwrap().findings;
        let shown = path.display();
        assert!(!findings.is_empty(), "{shown}");
        let known = known_sheets();
        for row in findings.iter().flat_map(|finding| &finding.rows) {
            let (column, value) = &row.key;
            let has_column =
                |sheet: &crate::KnownSheet| sheet.columns.iter().any(|known| known.name == *column);
            assert!(
                known.iter().any(|sheet| sheet.name == row.table && has_column(sheet)),
                "{shown}: {row:?}"
            );
            match report.tables.tables().iter().find(|table| table.name() == row.table) {
                Some(table) => {
                    let mut cells = table.column(column).unwrap().cells();
                    assert!(cells.any(|cell| cell.text() == *value), "{shown}: {row:?}");
                }
                None => assert_eq!(row.table, "idle_causes", "{shown}: the others are always written"),
            }
        }
    }

    #[test]
    fn findings_name_rows_that_the_report_has() {
        let generated = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/generated");
        for name in [
            "cuda_training_step.json.gz",
            "rocm_training_step.json.gz",
            "cuda_serving.json.gz",
            "metal_ops.csv",
            "rocprof/run_results.json.gz",
        ] {
            check_rows(&generated.join(name));
        }
    }

    #[test]
    fn findings_of_the_corpus_name_rows_that_the_report_has() {
        for recording in [
            "pytorch/torch-compile-triton/trace.json.gz",
            "pytorch/normalization-layers/trace.json.gz",
            "kineto/mtia-inference/trace.json.gz",
            "jax/mi300-conv3d-jax06/trace.xplane.pb",
            "rocprof/mi300-allreduce/908_results.json.gz",
            "metal/bh_64_clip_encoder_1/ops.csv",
        ] {
            if let Some(path) = testdata::corpus(recording) {
                check_rows(&path);
            }
        }
    }
}
