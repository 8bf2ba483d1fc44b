//! The report of a trace as the arguments ask for it.

use answers::{HtaTables, Picture, TraceReporter};
use trace_ingest::RecordingKind;
use tree_perf::AnalysisOptions;

use crate::arguments::pytorch::TraceArguments;
use crate::arguments::{Reference, conventions};
use crate::context::Context;
use crate::error::Failure;
use crate::request::{PERF_REPORT, Request};
use crate::{extension_file, phases};

/// What is asked for around the report.
pub(crate) fn request<'a>(
    arguments: &'a TraceArguments,
    context: &'a Context<'a>,
) -> Result<Request<'a>, Failure> {
    let output = &arguments.output;
    let rooflines = output.roofline_svg.as_deref().map(|path| (Picture::Rooflines, path));
    let steps = output.step_svg.as_deref().map(|path| (Picture::Steps, path));
    let finds_steps = phases::options(&arguments.phases)?.is_none_or(|phases| phases.finds_steps());
    if steps.is_some() && !finds_steps {
        return Err(Failure::StepsNotLookedFor { option: "--step_svg" });
    }
    let mut request = Request {
        pictures: rooflines.into_iter().chain(steps).collect(),
        workbook: Some((RecordingKind::Trace, PERF_REPORT)),
        reading: arguments.reading.options(),
        ..Request::new("pytorch", arguments.recordings.paths(), &output.tables, context)
    };
    request.warnings.extend(phases::without_effect(&arguments.phases));
    Ok(request)
}

/// How the report is made.
pub(crate) fn reporter(arguments: &TraceArguments) -> Result<TraceReporter, Failure> {
    let (asked, output) = (&arguments.analysis, &arguments.output);
    if asked.hta_sequences_of.is_some() && asked.parity != Some(Reference::Hta) {
        let lacks = "--hta_sequences_of requires --parity hta; frequent_sequences (--waits) covers all \
            operators";
        return Err(Failure::Arguments(lacks.to_owned()));
    }
    Ok(TraceReporter {
        analysis: AnalysisOptions {
            link_by: arguments.reading.link_by,
            keep_overruns: arguments.reading.overruns.keep_overruns,
            architecture: asked.devices.architecture()?,
            peak_basis: asked.devices.peak_basis(),
            communication: asked.devices.communication(asked.parity),
            conventions: conventions(asked.parity).traces,
            ..asked.options.clone()
        },
        phases: phases::options(&arguments.phases)?,
        extension: match &asked.extension_file {
            Some(path) => Some(extension_file::load(path, asked.python.as_deref())?),
            None => None,
        },
        captures: None,
        sheet_names: output.naming.sheet_names,
        window: arguments.window.chosen(),
        other: None,
        hta: (asked.parity == Some(Reference::Hta))
            .then(|| HtaTables { sequences_of: asked.hta_sequences_of.clone() }),
        modules: output.tables.has_page(),
        tells_phases: false,
    })
}
