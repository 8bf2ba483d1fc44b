//! A trace as the rules of the reference's agent see it: the figures of the reference's report.

use advise::agent::{
    AgentInput, AgentReport, BoundType, FirstInput, FusionScopes, OperationRow, Platform, ScopeOrigin,
    Timeline,
};
use hashbrown::HashMap;
use perf_models::{Architecture, Bound, Parameter, Value};
use trace_ingest::{ArgumentValue, Category, EventId, Sequence, Trace};
use tree_perf::{Analysis, AnalysisOptions, UnifiedSummaryRow};

/// What an analysis must be asked for.
pub(super) fn options(options: AnalysisOptions) -> AnalysisOptions {
    AnalysisOptions {
        parity: true,
        enable_pseudo_ops: true,
        include_call_stack: true,
        group_by_num_kernels: true,
        ..options
    }
}

/// What the agent's rules find in a trace; `None` without device work.
pub(super) fn report(analysis: &Analysis, architecture: &Architecture, path: String) -> Option<AgentReport> {
    let breakdown = analysis.timeline()?;
    let trace = analysis.trace();
    let percent = |time| if breakdown.total > 0 { breakdown.percent_of_total(time) } else { 0.0 };
    let input = AgentInput {
        trace_path: path,
        platform: platform(architecture),
        timeline: Timeline {
            total_ms: trace.to_microseconds(breakdown.total) / 1000.0,
            computation_percent: percent(breakdown.computation),
            exposed_communication_percent: percent(breakdown.exposed_communication),
            exposed_copy_percent: percent(breakdown.exposed_memcpy),
            idle_percent: percent(breakdown.idle),
        },
        rows: analysis.unified_summary().into_iter().map(|row| operation(trace, row)).collect(),
        scopes: scopes(analysis),
    };
    Some(AgentReport::new(&input))
}

fn platform(architecture: &Architecture) -> Platform {
    let specs = architecture.achievable_tflops.keys().chain(architecture.nominal_tflops.keys());
    let peaks = specs.filter_map(|&spec| Some((spec.to_string(), architecture.peak_tflops(spec)?)));
    Platform {
        name: architecture.name.clone(),
        memory_gb_per_s: architecture.memory_bandwidth_gb_per_s,
        peak_tflops: peaks.collect(),
    }
}

fn operation(trace: &Trace, row: UnifiedSummaryRow<'_>) -> OperationRow {
    let figures = &row.figures;
    let bound = figures.roofline.and_then(|roofline| match roofline.bound() {
        Bound::Compute => Some(BoundType::Compute),
        Bound::Memory => Some(BoundType::Memory),
        Bound::Link | Bound::AtLeastMemory => None,
    });
    OperationRow {
        name: row.name.into_owned(),
        category: row.category,
        count: row.count as u64,
        kernel_us: row.total_us,
        kernel_us_mean: row.kernel_us.mean,
        kernel_us_std: row.kernel_us.std,
        host_us: row.host_us,
        roofline_percent: figures.percent_of_roofline.mean,
        bound,
        compute_spec: figures.spec_text(),
        gflops: figures.gflops,
        mebibytes: figures.mebibytes,
        flops_per_byte: figures.intensity,
        tflops_per_s: figures.tflops_per_s.mean,
        tb_per_s: figures.tb_per_s.mean,
        kernels: row.kernels.iter().map(|&name| trace.text(name).to_owned()).collect(),
        input: first_input(trace, row.first),
        arguments: arguments(trace, row.first),
        product: product(row.parameters),
        is_binary: row.parameters.iter().any(|&(name, _)| name == "shape_in1"),
        entry_point: row.entry_point,
        call_stack: row.call_stack.into_iter().map(Into::into).collect(),
    }
}

fn product(parameters: &[Parameter]) -> Option<[i64; 3]> {
    let extent = |wanted| {
        parameters.iter().find_map(|parameter| match parameter {
            (name, Value::Int(extent)) if *name == wanted => Some(*extent),
            _ => None,
        })
    };
    Some([extent("M")?, extent("N")?, extent("K")?])
}

/// Recorded extents and types of an event's inputs.
fn recorded(trace: &Trace, event: EventId) -> (Option<&[ArgumentValue]>, Option<&[ArgumentValue]>) {
    let signatures = trace.signatures();
    let Some(signature) = trace.events().signature(event) else { return (None, None) };
    let signature = signatures.get(signature);
    let list = |id| signatures.argument(id).as_list();
    (signature.dims.and_then(list), signature.types.and_then(list))
}

fn first_input(trace: &Trace, event: EventId) -> Option<FirstInput> {
    let first = recorded(trace, event).0?.first()?;
    match first.as_ints() {
        Some(extents) => Some(FirstInput::Tensor(extents)),
        None => Some(FirstInput::List(
            first.as_list()?.iter().map(ArgumentValue::as_ints).collect::<Option<_>>()?,
        )),
    }
}

/// The inputs as a cell of the agent's table; scalars without a type are left out.
fn arguments(trace: &Trace, event: EventId) -> Option<String> {
    let (Some(extents), Some(types)) = recorded(trace, event) else { return None };
    let argument = |(extents, kind): (&ArgumentValue, &ArgumentValue)| {
        let shape = extents.as_list().filter(|shape| !shape.is_empty());
        let kind = kind.as_text().unwrap_or_default();
        if shape.is_none() && matches!(kind, "" | "Scalar") {
            return None;
        }
        let shape = match shape {
            Some(_) => extents.display(Sequence::Tuple).to_string().replace(", ", ","),
            None => "()".to_owned(),
        };
        Some(format!("{shape} {kind}").trim_end().to_owned())
    };
    let arguments: Vec<String> = extents.iter().zip(types).filter_map(argument).collect();
    (!arguments.is_empty()).then(|| arguments.join("<br>"))
}

/// What might be fused: host events above two device events or more, in file order, and operators of one kernel side by side.
fn scopes(analysis: &Analysis) -> FusionScopes {
    let (trace, tree) = (analysis.trace(), analysis.tree());
    let events = trace.events();
    let is_kernel = |event: &EventId| events.category(*event) == Category::KERNEL;
    let kernel = |event: EventId| (trace.name(event), trace.to_microseconds(events.duration(event)));
    let mut scopes = FusionScopes::default();
    for event in events.ids() {
        let category = events.category(event);
        if category.is_launch_api() || category.is_device() || tree.device_events(event).len() < 2 {
            continue;
        }
        let kernels = tree.device_events_in_file_order(event).into_iter().filter(is_kernel).map(kernel);
        scopes.add_module(trace.name(event), kernels, || ScopeOrigin {
            parents: tree.ancestors(event).map(|parent| trace.name(parent).to_owned()).collect(),
            input: first_input(trace, event),
        });
    }
    // By the event around them, in the order of the first of each.
    let mut siblings: Vec<(EventId, Vec<EventId>)> = Vec::new();
    let mut places: HashMap<EventId, usize> = HashMap::new();
    for work in analysis.charged_work() {
        if let ([kernel], Some(parent)) = (work.device_events, tree.parent(work.operator))
            && is_kernel(kernel)
        {
            let place = *places.entry(parent).or_insert(siblings.len());
            if place == siblings.len() {
                siblings.push((parent, Vec::new()));
            }
            siblings[place].1.push(*kernel);
        }
    }
    for (parent, kernels) in siblings {
        let kernels = kernels.into_iter().map(kernel);
        scopes.add_siblings(trace.name(parent), kernels, first_input(trace, parent));
    }
    scopes
}

#[cfg(test)]
mod tests {
    //! The worked examples: figures of the reference's agent on recordings of MI300X.

    use advise::agent::{Estimation, FusionConfidence};
    use perf_models::architecture;
    use trace_ingest::ReadOptions;

    use super::*;
    use crate::Advisor;

    fn on_mi300x(case: &str) -> Option<AgentReport> {
        let path = testdata::corpus(&format!("pytorch/{case}/trace.json.gz"))?;
        let advisor = Advisor {
            architecture: architecture("MI300X").cloned(),
            communication: perf_models::CommunicationPatterns::tracelens(),
            ..Advisor::default()
        };
        Some(advisor.agent_report(&path, &ReadOptions::default()).unwrap().0)
    }

    /// Whether a time in ms is the reference's, whose times have fractions of a ns; ours have none.
    fn is_of_whole_ns(ms: f64, reference: f64) -> bool {
        (ms - reference).abs() < 1e-6
    }

    /// Category, probable score and time of a category without one, by rank.
    fn priorities(report: &AgentReport) -> Vec<(&str, Option<f64>, Option<f64>)> {
        let priorities = report.priorities.priorities.iter();
        priorities
            .map(|priority| (priority.category.as_str(), priority.impact_score, priority.gpu_kernel_time_ms))
            .collect()
    }

    #[test]
    fn qwen_of_the_corpus_has_the_findings_of_the_reference() {
        let Some(report) = on_mi300x("mi300-qwen1.5-0.5b") else { return };
        let found = &report.priorities;
        assert!(is_of_whole_ns(found.baseline_ms, 33.131_333_496_093_75), "{}", found.baseline_ms);
        let timeline = report.manifest.gpu_utilization;
        assert_eq!(
            [timeline.computation_percent, timeline.idle_percent].map(|share| format!("{share:.2}")),
            ["89.77", "10.22"]
        );
        let times: Vec<_> = report
            .manifest
            .categories
            .iter()
            .filter(|category| category.tier == "compute_kernel")
            .map(|category| (category.name.as_str(), category.times.unwrap().gpu_kernel_time_ms))
            .collect();
        for time in [
            ("elementwise", 12.080),
            ("gemm", 11.646),
            ("sdpa_fwd", 4.016),
            ("other", 1.380),
            ("reduce", 0.621),
        ] {
            assert!(times.contains(&time), "{time:?}: {times:?}");
        }
        let attention = &found.findings[0];
        let scores = |finding: &advise::agent::CategoryFinding| {
            [finding.impact_score_high, finding.impact_score, finding.impact_score_low]
        };
        assert_eq!((attention.category.as_str(), attention.global_rank), ("sdpa_fwd", 1));
        assert_eq!(scores(&attention.finding), [11.07, 9.69, 8.30]);
        let [flash] = &attention.finding.members[..] else { panic!() };
        assert_eq!((flash.efficiency_pct, flash.time_ms), (Some(8.68), 4.016));
        let elementwise = found.findings.iter().filter(|found| found.category == "elementwise");
        let elementwise: Vec<_> = elementwise.map(|found| &found.finding).collect();
        let [copies, add] = &elementwise[..] else { panic!("{elementwise:?}") };
        assert_eq!(scores(copies), [2.36, 2.07, 1.77]);
        assert_eq!(
            (copies.bound_type, copies.library, copies.eff_bucket),
            ("memory", "PyTorch Native", "30-60")
        );
        let members: Vec<_> = copies
            .members
            .iter()
            .map(|copy| (copy.time_ms, copy.impact_score, copy.efficiency_pct))
            .collect();
        assert_eq!(members, [(1.088, 1.56, Some(45.8)), (0.359, 0.51, Some(46.2))]);
        assert_eq!((add.impact_score, add.members[0].efficiency_pct), (0.50, Some(72.29)));
        assert_eq!(
            priorities(&report),
            [("sdpa_fwd", Some(9.69), None), ("elementwise", Some(2.57), None), ("gemm", None, Some(11.646))]
        );
    }

    #[test]
    fn qwen_of_the_corpus_has_the_fusions_of_the_reference() {
        let Some(report) = on_mi300x("mi300-qwen1.5-0.5b") else { return };
        let fusion = report.fusion.as_ref().unwrap();
        let found: Vec<_> = fusion
            .impact_estimates
            .iter()
            .map(|found| (found.operation.as_str(), found.kernel_count, found.impact_score))
            .collect();
        assert_eq!((report.candidates.len(), fusion.candidate_count, found.len()), (10, 7, 5), "{found:?}");
        assert_eq!(fusion.total_impact_score, 34.04, "{found:?}");
        let [norm, rotary, siblings, mlp, forward] = &fusion.impact_estimates[..] else {
            panic!("{found:?}")
        };
        assert_eq!(
            (norm.operation.as_str(), norm.kernel_count, norm.instance_count),
            ("Qwen2RMSNorm", 8, 49)
        );
        assert_eq!([norm.impact_score_high, norm.impact_score, norm.impact_score_low], [13.39, 11.72, 10.04]);
        assert_eq!((norm.time_ms, norm.confidence), (4.789, FusionConfidence::High));
        assert!(rotary.operation.contains("apply_rotary_pos_emb") && siblings.operation == rotary.operation);
        assert_eq!((rotary.kernel_count, rotary.modeled_kernel_count, rotary.impact_score), (10, 8, 7.42));
        assert_eq!((siblings.kernel_count, siblings.impact_score), (6, 6.34));
        assert_eq!((mlp.operation.as_str(), mlp.impact_score), ("Qwen2MLP", 4.57));
        assert_eq!(mlp.bound_type, BoundType::Compute);
        assert!(forward.operation.ends_with("(218): forward"), "{}", forward.operation);
        assert_eq!((forward.kernel_count, forward.impact_score), (3, 3.99));
        assert_eq!(forward.confidence, FusionConfidence::Medium);
        let candidate = report.candidates.iter().find(|found| found.base_name == "Qwen2RMSNorm").unwrap();
        let duration: f64 = candidate.kernels.iter().map(|kernel| kernel.dur_us).sum();
        assert!((duration - 97.736).abs() < 5e-4, "{duration}");
        let kernels = &candidate.kernels;
        let known: Vec<_> =
            kernels.iter().filter_map(|kernel| kernel.data_in_mb.zip(kernel.data_out_mb)).collect();
        assert_eq!(known[0].0, 26.203_125);
        assert!((known[known.len() - 1].1 - 11.668_579_1).abs() < 1e-6, "{known:?}");
    }

    #[test]
    fn timesformer_of_the_corpus_has_the_findings_of_the_reference() {
        let Some(report) = on_mi300x("mi300-timesformer") else { return };
        let found = &report.priorities;
        assert!(is_of_whole_ns(found.baseline_ms, 121.267_204_101_562_5), "{}", found.baseline_ms);
        let first: Vec<_> = found
            .findings
            .iter()
            .take(4)
            .map(|found| {
                (
                    found.category.as_str(),
                    found.finding.bound_type,
                    found.finding.eff_bucket,
                    found.finding.impact_score,
                )
            })
            .collect();
        let softmax = &found.findings[2];
        assert_eq!(
            first[..2],
            [("gemm", "memory", "0-30", 12.05), ("gemm", "memory", "30-60", 11.08)],
            "{first:?}"
        );
        assert_eq!((first[2].1, first[2].2, first[2].3), ("unmodeled", "unknown", 10.35));
        assert_eq!(first[3], ("gemm", "compute", "60-100", 2.30));
        assert_eq!(found.findings[0].finding.library, "Tensile");
        let bmm = &found.findings[0].finding.members[0];
        assert_eq!(
            (bmm.operation.as_str(), bmm.time_ms, bmm.efficiency_pct, bmm.impact_score),
            ("aten::bmm", 13.710, Some(1.36), 9.76)
        );
        assert_eq!(softmax.finding.estimation, Estimation::Heuristic);
        let members: Vec<_> = softmax
            .finding
            .members
            .iter()
            .map(|member| (member.operation.as_str(), member.impact_score))
            .collect();
        assert_eq!(members, [("aten::_softmax", 10.32), ("aten::_softmax", 0.03)]);
        assert_eq!(
            priorities(&report),
            [("gemm", Some(26.22), None), ("elementwise", Some(5.27), None), ("norm_fwd", Some(1.26), None)]
        );
        let fusion = report.fusion.as_ref();
        assert!(fusion.is_none_or(|fusion| fusion.impact_estimates.is_empty()), "{fusion:?}");
    }

    #[test]
    fn bert_of_the_corpus_is_idle_and_has_the_findings_of_the_reference() {
        let Some(report) = on_mi300x("mi300-bert-small") else { return };
        let found = &report.priorities;
        assert!(is_of_whole_ns(found.baseline_ms, 3.495_976_074_218_75), "{}", found.baseline_ms);
        assert_eq!(format!("{:.2}", report.cpu_idle.idle_time_percent), "88.82");
        assert!(report.cpu_idle.idle_flagged);
        let scores: Vec<_> = found.recommendations.iter().map(|category| category.impact_score).collect();
        assert_eq!(scores, [4.01, 2.84, 0.99, 0.53], "{:?}", found.recommendations);
    }
}
