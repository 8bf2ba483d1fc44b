//! A step while its evidence is gathered, and how it is decided.

use trace_ingest::{EventId, TrackId};

use super::evidence::Evidence;
use super::layers::{Verdict, beside_prompts, by_attention, by_graphs, by_tokens, with_generation};
use super::marks::{AnnotatedStep, Cue};
use super::options::DetectOptions;
use crate::step::{Load, Phase, Source, Step};

/// A step while its evidence is gathered.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) annotation: Option<EventId>,
    pub(super) track: Option<TrackId>,
    pub(super) start: i64,
    pub(super) end: i64,
    /// What the annotation says.
    pub(super) annotated: Option<Verdict>,
    /// Whether the engine says that no request is run.
    pub(super) idle: bool,
    pub(super) load: Load,
    pub(super) cues: [bool; 3],
    pub(super) evidence: Evidence,
    pub(super) verdict: Verdict,
    /// Whether it processes prompts though the phase is not known.
    pub(super) has_prompts: bool,
    /// Whether an annotation or frame marks it; it then stays a step without device events too.
    pub(super) marked: bool,
}

impl Draft {
    /// A step that nothing marks.
    pub(super) fn implied(track: Option<TrackId>, start: i64, end: i64) -> Self {
        Draft {
            annotation: None,
            track,
            start,
            end,
            annotated: None,
            idle: false,
            load: Load::default(),
            cues: [false; 3],
            evidence: Evidence::default(),
            verdict: Verdict::NONE,
            has_prompts: false,
            marked: false,
        }
    }

    pub(super) fn annotated(track: Option<TrackId>, step: &AnnotatedStep) -> Self {
        let verdict = Verdict { phase: step.phase, source: Source::Annotation, confidence: step.confidence };
        Draft {
            annotation: step.annotations.first().copied(),
            annotated: Some(verdict),
            idle: step.idle,
            load: step.load,
            marked: true,
            ..Draft::implied(track, step.start, step.end)
        }
    }

    /// Whether a last resort may decide it: the host says something of it, nothing else did decide, and it is no pass
    /// of a model that only looks at images.
    pub(super) fn is_open(&self) -> bool {
        let evidence = &self.evidence;
        let is_text = evidence.images == 0 || evidence.logit_rows().is_some();
        self.verdict.phase == Phase::Unknown && !self.idle && evidence.host_items > 0 && is_text
    }

    pub(super) fn cue(&mut self, cue: Cue) {
        self.cues[match cue {
            Cue::Context => 0,
            Cue::Generation => 1,
            Cue::Verification => 2,
        }] = true;
    }

    /// What the engine's frames say.
    fn framed(&self) -> Option<Verdict> {
        let phase = match self.cues {
            // What is verified is processed like a prompt and calls what prompts call.
            [_, _, true] | [false, true, false] => Phase::Decode,
            [true, true, false] => Phase::Mixed,
            [true, false, false] => Phase::Prefill,
            [false, false, false] => return None,
        };
        Some(Verdict { phase, source: Source::EngineFrames, confidence: 0.95 })
    }

    /// Decides by the first layer that knows.
    pub(super) fn decide(&mut self, options: &DetectOptions, is_language_model: bool) {
        if self.idle {
            self.verdict = Verdict { phase: Phase::Unknown, ..self.annotated.unwrap_or(Verdict::NONE) };
            return;
        }
        let annotated = self.annotated.filter(|verdict| verdict.phase != Phase::Unknown);
        if let Some(verdict) = annotated.filter(|verdict| verdict.confidence >= 1.0) {
            self.verdict = verdict;
            return;
        }
        let evidence = &self.evidence;
        let found = self
            .framed()
            .or_else(|| {
                let verdict = by_tokens(evidence, options, is_language_model)?;
                Some(Verdict { phase: with_generation(verdict.phase, evidence), ..verdict })
            })
            .or_else(|| by_attention(evidence, options.decode_threshold))
            .or_else(|| by_graphs(evidence));
        self.verdict = match (annotated, found) {
            // An unsure annotation knows of prompts that it names, others only from what it leaves open.
            (Some(said), Some(found)) if said.phase.bears_context() == found.phase.bears_context() => {
                Verdict { confidence: said.confidence.max(found.confidence), ..said }
            }
            (Some(said), Some(found))
                if !said.phase.bears_context() && found.confidence > said.confidence =>
            {
                found
            }
            (Some(said), _) => said,
            (None, found) => found.unwrap_or(Verdict::NONE),
        };
    }

    /// Says whether requests are extended beside prompts, or that nothing shows it. The engine's own word stands.
    pub(super) fn look_beside_prompts(&mut self) {
        let is_said = self.verdict.source <= Source::EngineFrames;
        if self.verdict.phase != Phase::Prefill || is_said {
            return;
        }
        match beside_prompts(&self.evidence) {
            Some(phase) => self.verdict.phase = phase,
            None => (self.verdict, self.has_prompts) = (Verdict::NONE, true),
        }
    }

    /// The step as it was decided.
    pub(super) fn step(&self) -> Step {
        let Verdict { phase, source, confidence } = self.verdict;
        Step {
            annotation: self.annotation,
            track: self.track,
            start: self.start,
            end: self.end,
            phase,
            source,
            confidence,
            has_prompts: self.has_prompts || phase.bears_context(),
            load: self.load(),
        }
    }

    /// Requests and tokens where a decision by tokens leaves no doubt of them.
    fn load(&self) -> Load {
        let rows = self.evidence.logit_rows();
        let is_by_tokens = self.verdict.source == Source::Tokens || self.has_prompts;
        if self.annotated.is_some() || !is_by_tokens {
            return self.load;
        }
        match (self.verdict.phase, rows, self.evidence.tokens()) {
            (Phase::Decode, Some(rows), Some(tokens)) if tokens == rows => Load {
                context_requests: Some(0),
                context_tokens: Some(0),
                // Rows are tokens; of how many requests each, nothing says.
                generation_requests: None,
                generation_tokens: Some(rows),
                undivided_tokens: None,
            },
            (phase, _, tokens) if self.has_prompts || phase.bears_context() => {
                Load { undivided_tokens: tokens, ..self.load }
            }
            _ => self.load,
        }
    }
}
