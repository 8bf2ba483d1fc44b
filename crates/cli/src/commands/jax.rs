//! `tracelens jax`.

use answers::{Picture, XlaReporter};
use perf_models::PeakBasis;
use trace_ingest::RecordingKind;
use xla_perf::{CopyKernels, JaxFigures, JaxOptions};

use super::report::{PERF_REPORT, Request};
use crate::arguments::jax::{JaxAnalysisArguments, JaxArguments};
use crate::arguments::{Given, Reference};
use crate::error::Failure;
use crate::timings::Timings;

/// Options of the report of one profile; that of several is about their collectives.
const OF_ONE_PROFILE: [&str; 6] = [
    "roofline_svg",
    "kernel_metadata_keyword_filters",
    "gpu_arch_json_path",
    "gpu_arch_platform",
    "peak",
    "parity",
];

pub(crate) fn run(arguments: &JaxArguments, given: &Given, timings: &mut Timings) -> Result<(), Failure> {
    if arguments.analysis.enable_origami {
        let instead =
            "times of matrix products are not simulated here; the roofline columns say the least time";
        return Err(Failure::Unsupported { option: "--enable-origami", instead });
    }
    let files = arguments.recordings.paths();
    let is_of_one = files.len() < 2;
    if let (false, Some(option)) = (is_of_one, given.names(&OF_ONE_PROFILE).into_iter().next()) {
        return Err(Failure::SeveralProfiles { option });
    }
    let picture = arguments.output.roofline_svg.as_deref();
    let mut request = Request {
        pictures: picture.map(|path| (Picture::Rooflines, path)).into_iter().collect(),
        workbook: Some((RecordingKind::XPlane, if is_of_one { PERF_REPORT } else { "_collectives" })),
        ..Request::new("jax", files, &arguments.output.tables, given)
    };
    if is_of_one && arguments.analysis.gpus_per_node.is_some() {
        let warning = "--gpus_per_node has no effect on one profile: its GPUs are one host's";
        request.warnings.push(warning.into());
    }
    let analysis = options(&arguments.analysis)?;
    request.warnings.extend(arguments.analysis.devices.warning(analysis.architecture.as_ref()));
    request.answer(XlaReporter { analysis, sheet_names: arguments.output.naming.sheet_names }, &(), timings)
}

fn options(asked: &JaxAnalysisArguments) -> Result<JaxOptions, Failure> {
    let defaults = JaxOptions::default();
    Ok(JaxOptions {
        architecture: asked.devices.architecture()?,
        peak_basis: asked.devices.peak_basis().unwrap_or(match asked.parity {
            Some(Reference::TraceLens) => PeakBasis::Achievable,
            None => PeakBasis::Nominal,
        }),
        keyword_filters: asked.kernel_metadata_keyword_filters.clone(),
        figures: if asked.parity.is_some() { JaxFigures::TraceLens } else { JaxFigures::Correct },
        copy_kernels: match asked.rebucket_copy_kernels {
            true => CopyKernels::Memcpy,
            false => CopyKernels::Computation,
        },
        communication: asked.devices.communication(asked.parity),
        gpus_per_node: asked.gpus_per_node.map_or(defaults.gpus_per_node, Into::into),
    })
}
