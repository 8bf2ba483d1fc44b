//! The report of Tenstorrent operations.

use std::path::PathBuf;

use metal_perf::{Comparison, MetalOptions, MetalReport, comparison_sheet, metal_sheets};
use trace_ingest::metal::read_ops;

use crate::error::Error;
use crate::notice::{NothingToDraw, Notice};
use crate::report::{
    Analysed, Picture, Report, Reporter, Run, Stage, layout, pictures, tables, title, titled,
};
use crate::stacked_picture;
use crate::summary::Summary;

/// Makes the report of Tenstorrent operations, of the files of several hosts of one run as of one.
#[derive(Default)]
pub struct TenstorrentReporter {
    /// What is reported.
    pub analysis: MetalOptions,
    /// A run to compare with.
    pub baseline: Option<PathBuf>,
}

impl Reporter for TenstorrentReporter {
    fn report(self, paths: &[PathBuf], run: &mut Run<'_>) -> Result<Report, Error> {
        let Some(first) = paths.first() else { return Err(Error::NoRecording) };
        let is_compat = self.analysis.compat;
        let analysis = analysis(paths, self.analysis.clone(), run)?;
        let comparison = match &self.baseline {
            Some(path) => {
                // IDs of one file say nothing of another.
                let options = MetalOptions { id_range: None, ..self.analysis };
                let baseline = self::analysis(std::slice::from_ref(path), options, run)?;
                Some(Comparison::new(&baseline, &analysis))
            }
            None => None,
        };
        run.begin(Stage::Sheets);
        let title = title(first);
        let (mut made, mut known) = tables(&analysis, metal_sheets(), layout(is_compat))?;
        known.push(comparison_sheet().name.into_owned());
        if let Some(comparison) = &comparison {
            made.extend(tables(comparison, vec![comparison_sheet()], layout(is_compat))?.0);
        }
        let tables = titled(&title, (made, known), run)?;
        let mut notices = analysis.notices.iter().cloned().map(Notice::Tenstorrent).collect();
        let pictures = pictures(run, &mut notices, |picture| match picture {
            Picture::StackedTime(arrangement) => stacked_picture::svg(&analysis, &title, arrangement).map(Ok),
            Picture::Rooflines | Picture::Steps => Ok(Err(NothingToDraw::OtherReports)),
        })?;
        let summary = Summary { head: vec![title, analysis.chip.name.to_string()], ..Summary::default() };
        let analysis = Analysed::Tenstorrent(Box::new(analysis), comparison);
        let report = Report { tables, summary, notices, pictures, analysis };
        if is_compat { Ok(report) } else { report.with_overview(run) }
    }
}

fn analysis(paths: &[PathBuf], options: MetalOptions, run: &mut Run<'_>) -> Result<MetalReport, Error> {
    run.begin(Stage::Read);
    let table = read_ops(paths)?;
    run.count_events(table.rows.len());
    run.begin(Stage::Analysis);
    MetalReport::new(table, options).map_err(|error| Error::Metal { paths: paths.to_vec(), error })
}
