//! `*_results.json`: a list of processes, each with its agents, kernels, tables of names and records.
//!
//! The text is never held as a whole: a window moves over it (`walker.rs`), records go straight into the profile
//! (`records.rs`, `element.rs`), and what they refer to is put in at the end of a process (`resolve.rs`).

pub(super) mod chrome;
mod descriptions;
mod element;
mod faults;
mod records;
mod resolve;
mod tables;
mod values;
mod walker;

use std::path::Path;

pub(super) use self::descriptions::described_agent;

use memchr::memmem;

use self::element::Element;
use self::faults::Faults;
use self::walker::{Container, Stop, Walk, Walker};
use super::builder::{Machines, ProfileBuilder};
use super::profile::Profile;
use crate::error::IngestError;
use crate::format::Certainty;
use crate::json::scanner::BYTE_ORDER_MARK;
use crate::read_ahead::read_ahead;
use crate::source::{ReadOptions, TextSource};
use crate::warning::Warning;

/// What users call the format.
pub(super) const NAME: &str = "rocprofv3 JSON";

/// The member of the root that makes a text a profile.
pub(super) const ROOT: &str = "rocprofiler-sdk-tool";

/// How sure it is that a text that begins with `head` is a profile.
pub(super) fn probe(head: &[u8]) -> Certainty {
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head).trim_ascii_start();
    let has_root = || memmem::find(text, b"\"rocprofiler-sdk-tool\"").is_some();
    match text.first() {
        Some(b'{') if has_root() => Certainty::Certain,
        _ => Certainty::No,
    }
}

pub(super) fn read(
    path: &Path,
    source: TextSource<'_>,
    options: &ReadOptions<'_>,
) -> Result<Profile, IngestError> {
    let mut reading = Reading::default();
    let (outcome, damage, offset, unused) = read_ahead(source.text, options.thread_count(), |blocks| {
        let mut walker = Walker::new(blocks);
        let outcome = reading.walk(&mut walker);
        let offset = walker.offset();
        let unused = if reading.is_refused() { 0 } else { walker.drain() };
        (outcome, walker.damage.take(), offset, unused)
    });
    if outcome == Err(Stop::TooLong) {
        return Err(IngestError::Damaged {
            path: path.to_path_buf(),
            format: NAME,
            field: "a record".to_string(),
            offset,
            detail: "it does not end within 64 MiB".to_string(),
        });
    }
    if let Some(missing) = reading.missing(outcome, damage.as_deref()) {
        let found = match &reading.keys[..] {
            [] => "a JSON object".to_string(),
            keys => format!("a JSON object that begins with {}", keys.join(", ")),
        };
        return Err(IngestError::NotRocprof { path: path.to_path_buf(), missing, found });
    }
    let Reading { mut builder, faults, .. } = reading;
    let warnings = &mut builder.profile.warnings;
    warnings.extend(source.warnings);
    match (damage, outcome) {
        (Some(detail), _) => warnings.push(Warning::DamagedCompression { bytes_read: None, detail }),
        (None, Err(Stop::Malformed(detail))) => {
            let (detail, bytes_lost) = (detail.to_string(), unused);
            warnings.push(Warning::BrokenText { offset, detail, bytes_lost });
        }
        (None, Err(_)) => warnings.push(Warning::Truncated { bytes_lost: unused }),
        (None, Ok(())) => {}
    }
    faults.report(warnings);
    Ok(builder.finish())
}

/// What was found in the root.
#[derive(Default)]
struct Reading {
    builder: ProfileBuilder,
    machines: Machines,
    faults: Faults,
    /// Its first members.
    keys: Vec<String>,
    /// What stood at [`ROOT`].
    root: Option<Container>,
    elements: u64,
    has_records: bool,
}

impl Reading {
    fn walk(&mut self, walker: &mut Walker<'_>) -> Walk<()> {
        walker.skip_byte_order_mark();
        if walker.peek()? != b'{' {
            return Err(Stop::Malformed("the text is not a JSON object"));
        }
        walker.object(&mut |walker, key| self.member(walker, key))?;
        walker.used = walker.offset();
        match walker.peek() {
            Ok(_) => Err(Stop::Malformed("text follows the end of the profile")),
            Err(_) => Ok(()),
        }
    }

    fn member(&mut self, walker: &mut Walker<'_>, key: &str) -> Walk<()> {
        if self.keys.len() < 8 {
            self.keys.push(key.chars().take(40).collect());
        }
        match key {
            ROOT => {
                self.root = Some(Container::Entered);
                self.root = Some(walker.list(&mut |walker| self.element(walker))?);
                Ok(())
            }
            _ => walker.skip(),
        }
    }

    fn element(&mut self, walker: &mut Walker<'_>) -> Walk<()> {
        self.elements += 1;
        let mut element = Element::new(&mut self.builder, &mut self.machines, &mut self.faults);
        let outcome = element.walk(walker);
        self.has_records |= element.has_records;
        element.resolve();
        outcome
    }

    /// Whether the text is no profile, so that how it ends is of no interest.
    fn is_refused(&self) -> bool {
        self.root.is_none() || !self.has_records
    }

    /// What a text lacks to be a profile, if it lacks anything.
    fn missing(&self, outcome: Walk<()>, damage: Option<&str>) -> Option<String> {
        let missing = match self.root {
            None => "missing 'rocprofiler-sdk-tool' key",
            Some(Container::Null | Container::Other) => "'rocprofiler-sdk-tool' is not a list",
            Some(_) if self.elements == 0 => "'rocprofiler-sdk-tool' is an empty list",
            Some(_) if !self.has_records => "missing 'buffer_records'",
            Some(_) => return None,
        };
        let reason = match (outcome, damage) {
            (_, Some(damage)) => format!(": the compressed data is damaged before it ({damage})"),
            (Err(Stop::Cut), None) => ": the text ends before it".to_string(),
            (Err(Stop::Malformed(detail)), None) => format!(" ({detail})"),
            _ => String::new(),
        };
        Some(format!("{missing}{reason}"))
    }
}
