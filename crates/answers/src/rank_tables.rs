//! The tables of a recording of a job.

use std::path::Path;

use multi_rank::{FindingRow, Members, RankFolder, RankTables, rank_tables, single_events, waits};
use perf_models::CommunicationPatterns;
use trace_doctor::{Diagnosis, Finding};
use trace2tree::TraceTree;
use tree_perf::Analysis;

use crate::error::Error;
use crate::notice::Notice;

/// How recordings are brought into tables.
#[derive(Clone, Debug, Default)]
pub struct MapOptions {
    /// Names of communication kernels.
    pub communication: CommunicationPatterns,
    /// Whether events are kept one by one, in a table `events`.
    pub keep_events: bool,
    /// Whether to say what was waited for, in the tables `queue`, `membw` and `critical_path`.
    pub waits: bool,
    /// Recordings that are read at the same time, as far as the memory allows; `None` takes as many as there are threads.
    pub jobs: Option<usize>,
}

/// A recording whose tables are in the folder of a job.
#[derive(Clone, Debug)]
pub struct Mapped {
    /// The rank of a trace, or those of the devices of a profile.
    pub ranks: Members,
    /// Events that were read; `None` where the tables were there already.
    pub events: Option<usize>,
    /// What reading got over. Of tables that were there already, whether the recording was cut off.
    pub notices: Vec<Notice>,
}

impl Mapped {
    /// A recording whose tables were there.
    pub(crate) fn there(path: &Path, tables: &[&RankFolder], ranks: Members) -> Result<Self, Error> {
        let cut_off = tables.iter().map(|rank| rank.is_cut_off()).collect::<Result<Vec<bool>, _>>()?;
        let notice = Notice::CutOffWhenMapped { path: path.to_owned() };
        let notices = cut_off.contains(&true).then_some(notice).into_iter().collect();
        Ok(Mapped { ranks, events: None, notices })
    }
}

/// All tables of a rank; those of single events and of waits where they are asked for.
pub(crate) fn tables_of_rank(
    analysis: &Analysis,
    path: &Path,
    keep_events: bool,
    waits_too: bool,
) -> RankTables {
    let mut tables = rank_tables(analysis, path);
    tables.findings = findings(analysis.tree());
    tables.waits = waits_too.then(|| waits(analysis));
    tables.events = keep_events.then(|| single_events(analysis));
    tables
}

/// What is wrong with a recording, as rows of its tables.
fn findings(tree: &TraceTree) -> Vec<FindingRow> {
    let diagnosis = Diagnosis::new(tree);
    let whole = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let row = |finding: &Finding| FindingRow {
        rule: Some(finding.rule.id.into()),
        severity: Some(finding.severity.as_str().into()),
        count: whole(finding.count),
        out_of: finding.of.map(whole),
        time_ns: finding.time.map(|time| time / (diagnosis.time_unit.per_microsecond() / 1000)),
        finding: Some(finding.text.as_str().into()),
        consequence: finding.consequence.map(Into::into),
    };
    diagnosis.findings.iter().map(row).collect()
}

pub(crate) fn members(rank: Option<i64>) -> Members {
    Members::new(rank.and_then(|rank| u32::try_from(rank).ok()))
}

/// Memory in bytes that the tables of a recording of this size take to make, generously: a report takes at most 0.4 bytes
/// per byte of text (`benches/README.md`), and what is compressed is up to twenty times as long as text.
pub(crate) fn memory_to_read(path: &Path, bytes: u64) -> u64 {
    const LEAST: u64 = 32 << 20;
    let is_plain = path.extension().is_some_and(|ending| ending == "json");
    LEAST.saturating_add(if is_plain { bytes / 2 } else { bytes.saturating_mul(8) })
}
