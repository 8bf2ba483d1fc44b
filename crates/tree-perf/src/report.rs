//! What a report needs beside its sheets: those of an extension, and what all of them leave out.

use std::collections::HashSet;

use gpu_timeline::Activity;
use operator_sheets::Iterated;
use perf_models::bare_kernel_name;
use sheets::{Sheet, Table, TableError};
use trace_ingest::PerString;

use crate::analysis::Analysis;
use crate::extended_operators::ExtendedOperators;
use crate::notice::Notice;
use crate::sheets::{ops_all, pytorch_sheets, rooflines, short_kernels};
use crate::unified::peaks_missing;

impl Analysis {
    /// The roofline sheets that the extension's categories and lists make beside the built-in ones.
    pub fn extension_sheets<'a>(&self) -> Vec<Sheet<'a, Analysis>> {
        let names = |sheet: Sheet<'_, Analysis>| {
            let reference_name = sheet.reference_name.map(str::to_owned);
            [Some(sheet.name.into_owned()), reference_name].into_iter().flatten()
        };
        rooflines::extension_sheets(self, pytorch_sheets().into_iter().flat_map(names))
    }

    /// The tables that the extension adds, under names beside those that are taken. The extension makes them now.
    ///
    /// # Errors
    /// When a name cannot be one of a table.
    pub fn extension_tables<'n>(
        &self,
        taken: impl Iterator<Item = &'n str>,
    ) -> Result<Vec<Table>, TableError> {
        let mut taken: HashSet<String> = taken.map(str::to_lowercase).collect();
        let tables = self.models().extended().map(|extended| extended.tables(self.tree()));
        let tables = tables.into_iter().flatten();
        tables
            .map(|table| {
                let name = rooflines::sheet_name(table.name(), "", &mut taken);
                table.renamed(&name)
            })
            .collect()
    }

    /// Computes what several sheets share, which the first of them computes else, in pieces that need nothing of each
    /// other. Threads that do these first do not wait for each other where sheets are made on several.
    pub const SHARED_WORK: [fn(&Analysis); 3] = [
        |analysis| {
            analysis.unified_rows();
            analysis.roofs();
        },
        |analysis| {
            Iterated::iterations(analysis);
        },
        |analysis| {
            analysis.memory();
        },
    ];

    /// What the sheets leave out, so that nothing goes missing silently.
    pub fn notices(&self) -> Vec<Notice> {
        let sheet_notices = [
            ops_all::calls_outside_kernel_lists(self),
            short_kernels::short_kernels_without_arguments(self),
            peaks_missing(self),
            self.communication_guessed(),
            self.memory_missing(),
            self.memory_without_totals(),
            self.no_range_of_name(),
        ];
        let model_notices = self.models().failures(self.tree());
        let extension_notices = self.models().extended().map(ExtendedOperators::notices).unwrap_or_default();
        let pass_notices = self.pass_notices();
        sheet_notices
            .into_iter()
            .flatten()
            .chain(pass_notices)
            .chain(model_notices)
            .chain(extension_notices)
            .collect()
    }

    /// What the sheets of memory lack although it was asked for, or although the recording may have it.
    fn memory_missing(&self) -> Option<Notice> {
        let is_asked = self.options().memory;
        match self.memory() {
            None => is_asked.then_some(Notice::NoMemory),
            Some(memory) if memory.has_modules || memory.devices.is_empty() => None,
            Some(_) => {
                let reads_frames = self.tree().options().python_frames;
                let is_told = if reads_frames { is_asked } else { self.trace().skipped_frames() > 0 };
                is_told.then_some(match reads_frames {
                    true => Notice::MemoryWithoutModules,
                    false => Notice::MemoryWithoutFrames,
                })
            }
        }
    }

    /// The allocations that do not say how much is allocated in all.
    fn memory_without_totals(&self) -> Option<Notice> {
        let count = self.memory()?.without_totals;
        (count > 0).then_some(Notice::MemoryWithoutTotals { count })
    }

    /// The kernels that are taken for communication for a word in their names, if there are any.
    fn communication_guessed(&self) -> Option<Notice> {
        let (trace, events) = (self.trace(), self.trace().events());
        let patterns = &self.options().communication;
        let mut is_guess = PerString::new(trace.strings(), |name| patterns.is_guess(name));
        let mut kernels = self.device.ids.iter().zip(&self.device.activity).filter(|&(&event, &activity)| {
            activity == Activity::Communication && *is_guess.get(events.name(event))
        });
        let (&first, _) = kernels.next()?;
        let (mut count, mut time) = (1, events.duration(first));
        for (&event, _) in kernels {
            count += 1;
            time += events.duration(event);
        }
        let example = bare_kernel_name(trace.name(first));
        Some(Notice::CommunicationGuessed { kernels: count, time_us: self.us(time), example })
    }
}
