//! `tracelens jax`.

use answers::{Picture, XlaReporter};
use iterations::WindowOptions;
use trace_ingest::RecordingKind;
use xla_perf::JaxOptions;

use crate::arguments::conventions;
use crate::arguments::jax::{JaxAnalysisArguments, JaxArguments, JaxOutput};
use crate::context::Context;
use crate::error::Failure;
use crate::request::{PERF_REPORT, Request};

/// Options of the report of one profile; that of several is about their collectives.
const SINGLE_PROFILE_OPTIONS: [&str; 7] = [
    "roofline_svg",
    "step_svg",
    "kernel_metadata_keyword_filters",
    "gpu_arch_json_path",
    "gpu_arch_platform",
    "peak",
    "parity",
];

pub(crate) fn run(arguments: &JaxArguments, context: &Context<'_>) -> Result<(), Failure> {
    if arguments.analysis.enable_origami {
        let instead = "matmul times are not simulated here; the roofline columns show the minimum time";
        return Err(Failure::Unsupported { option: "--enable-origami", instead });
    }
    let files = arguments.recordings.paths();
    let is_single = files.len() < 2;
    let single_profile_options = || [SINGLE_PROFILE_OPTIONS.as_slice(), &WindowOptions::NAMES].concat();
    if let (false, Some(option)) =
        (is_single, context.given.names(&single_profile_options()).into_iter().next())
    {
        return Err(Failure::SeveralProfiles { option });
    }
    let JaxOutput { roofline_svg, step_svg, .. } = &arguments.output;
    let pictures = [(Picture::Rooflines, roofline_svg), (Picture::Steps, step_svg)];
    let pictures = pictures.into_iter().filter_map(|(picture, path)| Some((picture, path.as_deref()?)));
    let mut request = Request {
        pictures: pictures.collect(),
        workbook: Some((RecordingKind::XPlane, if is_single { PERF_REPORT } else { "_collectives" })),
        ..Request::new("jax", files, &arguments.output.tables, context)
    };
    if is_single && arguments.analysis.options.gpus_per_node.is_some() {
        let warning = "--gpus_per_node has no effect on a single profile: its GPUs are on one host";
        request.warnings.push(warning.into());
    }
    let analysis = options(&arguments.analysis)?;
    request.warnings.extend(arguments.analysis.devices.warning(analysis.architecture.as_ref()));
    let sheet_names = arguments.output.naming.sheet_names;
    let reporter = XlaReporter { analysis, sheet_names, window: arguments.window.chosen() };
    request.answer(reporter, &())
}

fn options(asked: &JaxAnalysisArguments) -> Result<JaxOptions, Failure> {
    Ok(JaxOptions {
        architecture: asked.devices.architecture()?,
        peak_basis: asked.devices.peak_basis(),
        conventions: conventions(asked.parity).xla,
        communication: asked.devices.communication(asked.parity),
        ..asked.options.clone()
    })
}
