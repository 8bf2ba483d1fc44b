//! A job, analysed: what its collectives took and who was waited for.

use std::collections::BTreeMap;

use gpu_timeline::upper_median;

use crate::causes::{Cause, CauseKind, causes};
use crate::clocks::Clocks;
use crate::collectives::Collectives;
use crate::diagnostic::Diagnostic;
use crate::error::Error;
use crate::exchange::Entry;
use crate::job::Job;
use crate::matching::{Lane, Matching, Pairing, RankMatch, Signatures, match_collectives};
use crate::options::JobOptions;
use crate::reduction::{RankFigures, Reduction, SizeClass, StepShifts, StepTimes, Steps, find_own_lateness};

/// How late ranks were in the steps of the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepLateness {
    /// The ranks.
    pub ranks: Vec<u32>,
    /// Numbers of the steps, ascending.
    pub steps: Vec<i64>,
    /// By rank and step the time in nanoseconds by which the rank entered collectives after the middle rank by its own
    /// doing, each delay once; `None` where the recording does not have all of the step.
    pub lateness: Vec<Vec<Option<i64>>>,
}

/// A job, analysed.
pub struct JobAnalysis {
    pub(crate) job: Job,
    pub(crate) options: JobOptions,
    pub(crate) lanes: Vec<Lane>,
    pub(crate) signatures: Signatures,
    pub(crate) matches: Vec<RankMatch>,
    pub(crate) clocks: Clocks,
    /// By recording.
    pub(crate) ranks: Vec<RankFigures>,
    pub(crate) classes: Vec<SizeClass>,
    /// The kernels of each collective, where there are not too many.
    pub(crate) details: Option<Vec<Vec<Entry>>>,
    pub(crate) causes: Vec<Cause>,
    pub(crate) steps: Vec<StepTimes>,
    /// By recording the numbers of its steps.
    pub(crate) step_numbers: Vec<Vec<i64>>,
    pub(crate) collectives: Collectives,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

impl JobAnalysis {
    /// Analyses a job.
    ///
    /// # Errors
    /// When a table cannot be read, or there is no space for what does not fit in memory.
    pub fn new(job: Job, options: JobOptions) -> Result<Self, Error> {
        let pairing = options.conventions.pairing.unwrap_or(options.pairing);
        let clock = options.conventions.clock.unwrap_or(options.clock);
        let Matching { lanes, signatures, entries, rank_matches, clock_pairs, windows, diagnostics } =
            match_collectives(&job, pairing)?;
        let clocks = Clocks::solve(&job, &clock_pairs, clock);
        let keeps = options.detail_rows;
        let kernels: i64 = job.recordings.iter().map(|recording| recording.row.collectives).sum();
        let keeps_details = usize::try_from(kernels).is_ok_and(|kernels| kernels <= keeps);
        let mut reduction = Reduction::new(&job, &lanes, &signatures, &clocks, &windows, keeps_details);
        let steps = Steps::read(&job)?;
        let mut shifts = StepShifts::default();
        entries.for_each(|together| {
            reduction.add(together);
            if !steps.numbered && pairing == Pairing::Best {
                shifts.vote(together);
            }
        })?;
        let Reduction { mut ranks, classes, mut arrivals, details, .. } = reduction;
        find_own_lateness(&mut arrivals, &job, &lanes);
        for arrival in &arrivals {
            let rank = &mut ranks[arrival.recording];
            rank.lateness += arrival.own;
            rank.by_step.entry(arrival.step).or_default().lateness += arrival.own;
        }
        let classes: Vec<SizeClass> = classes.into_values().collect();
        let (steps, step_numbers) = steps.times(&shifts);
        let mut durations: Vec<Vec<i64>> = vec![Vec::new(); ranks.len()];
        for &(recording, duration) in steps.iter().flat_map(|step| &step.durations) {
            durations[recording].push(duration);
        }
        for (figures, durations) in ranks.iter_mut().zip(&durations) {
            figures.usual_step = upper_median(durations.iter().copied());
        }
        let causes = if options.tells_all() { causes(&job, &lanes, &arrivals)? } else { Vec::new() };
        let collectives = Collectives::new(details.as_deref(), &job, &lanes, &clocks, &options)?;
        let mut analysis = JobAnalysis {
            options,
            lanes,
            signatures,
            matches: rank_matches,
            ranks,
            classes,
            details,
            causes,
            steps,
            step_numbers,
            collectives,
            diagnostics: job
                .diagnostics
                .iter()
                .cloned()
                .chain(diagnostics)
                .chain(clocks.diagnostics.clone())
                .collect(),
            clocks,
            job,
        };
        analysis.diagnose_classes();
        Ok(analysis)
    }

    fn diagnose_classes(&mut self) {
        let mut by_group: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
        for class in &self.classes {
            let sums = by_group.entry(class.group).or_default();
            *sums = (sums.0 + class.contradictions, sums.1 + class.ends_apart);
        }
        for (recording, figures) in
            self.job.recordings.iter().zip(&self.ranks).filter(|_| self.options.tells_all())
        {
            let (rank, [before, collectives, after]) = (recording.rank, figures.lacks);
            if collectives > 0 {
                self.diagnostics.push(Diagnostic::KernelsMissing { rank, collectives });
            }
            if before + after > 0 {
                self.diagnostics.push(Diagnostic::ShorterWindow { rank, before, after });
            }
            // Recordings always begin a little apart.
            if 100 * figures.start_skew > recording.row.busy_ns + recording.row.idle_ns {
                self.diagnostics
                    .push(Diagnostic::StartSkew { rank, microseconds: figures.start_skew / 1000 });
            }
        }
        for (group, (contradictions, ends_apart)) in by_group {
            let group = self.job.groups[group].title();
            if contradictions > 0 {
                let collectives = contradictions;
                self.diagnostics.push(Diagnostic::Contradiction { group: group.clone(), collectives });
            }
            if ends_apart > 0 && self.options.tells_all() {
                self.diagnostics.push(Diagnostic::EndsApart { group, collectives: ends_apart });
            }
        }
    }

    /// What is odd about the recordings, most of all before the figures are trusted.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.diagnostics
    }

    /// Number of kernels of collectives.
    #[must_use]
    pub fn kernels(&self) -> usize {
        let kernels: i64 = self.job.recordings.iter().map(|recording| recording.row.collectives).sum();
        usize::try_from(kernels).unwrap_or(usize::MAX)
    }

    /// Whether collectives are shown one by one: not where they are too many.
    #[must_use]
    pub fn has_details(&self) -> bool {
        self.details.is_some()
    }

    /// Names of the devices with the number of ranks that have one, in the order of the ranks.
    #[must_use]
    pub fn device_names(&self) -> Vec<(String, usize)> {
        let mut names: Vec<(String, usize)> = Vec::new();
        for name in self.job.recordings.iter().filter_map(|recording| recording.row.device_name.as_deref()) {
            match names.iter_mut().find(|(known, _)| known == name) {
                Some((_, count)) => *count += 1,
                None => names.push((name.to_owned(), 1)),
            }
        }
        names
    }

    /// How late each rank was in each step; `None` in a report of the core.
    #[must_use]
    pub fn step_lateness(&self) -> Option<StepLateness> {
        if !self.options.tells_all() {
            return None;
        }
        let (ranks, steps) = (self.job.recordings.len(), self.steps.len());
        let mut lateness = vec![vec![None; steps]; ranks];
        for (place, step) in self.steps.iter().enumerate() {
            step.durations.iter().for_each(|&(recording, _)| lateness[recording][place] = Some(0));
        }
        for cause in self.causes.iter().filter(|cause| cause.kind != CauseKind::PassedOn) {
            let number = self.step_number(cause.recording, cause.step);
            let place =
                number.and_then(|number| self.steps.binary_search_by_key(&number, |step| step.step).ok());
            if let Some(place) = place {
                *lateness[cause.recording][place].get_or_insert(0) += cause.lateness;
            }
        }
        Some(StepLateness {
            ranks: self.job.recordings.iter().map(|recording| recording.rank).collect(),
            steps: self.steps.iter().map(|step| step.step).collect(),
            lateness,
        })
    }

    /// The cause of most of a rank's lateness.
    pub(crate) fn main_cause(&self, recording: usize) -> Option<&Cause> {
        let mut sums: BTreeMap<(CauseKind, Option<&str>), (i64, &Cause)> = BTreeMap::new();
        for cause in self.causes.iter().filter(|cause| cause.recording == recording) {
            sums.entry((cause.kind, cause.what.as_deref())).or_insert((0, cause)).0 += cause.lateness;
        }
        sums.into_values().max_by_key(|(sum, _)| *sum).map(|(_, cause)| cause)
    }

    /// Number of a step of a recording, which its rows tell by the index; `None` outside of steps.
    pub(crate) fn step_number(&self, recording: usize, step: i32) -> Option<i64> {
        self.step_numbers[recording].get(usize::try_from(step).ok()?).copied()
    }
}
