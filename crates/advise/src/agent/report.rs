//! Findings, their ranking, and the files that the agent reads.

use serde::{Serialize, Serializer};

use super::fusion::ModelledKernels;
use super::fusion_estimate::{FusionConfidence, FusionEstimate, estimates, worthwhile};
use super::operation::{Estimation, ImpactEstimate, Operation, OperationRow};
use super::{AgentInput, Candidate, IndexMap, Timeline, round};

/// Findings with less, in percent of the whole time, are left out.
const LEAST_FINDING: f64 = 0.5;
/// Most recommendations.
const MOST_RECOMMENDATIONS: usize = 6;
/// Idle time from which on it is flagged, in percent.
const HIGH_IDLE: f64 = 15.0;
/// Computation below which idle time is flagged, in percent.
const LOW_COMPUTATION: f64 = 85.0;
/// Categories without a finding are shown from this part of computation on.
const SHOWN_FROM: f64 = 0.05;

const STANDALONE: &str = "standalone";

/// All that the agent's rules find, as the documents that it writes.
#[derive(Debug, Serialize)]
pub struct AgentReport {
    /// `priority_data.json`.
    pub priorities: PriorityData,
    /// `category_data/category_manifest.json`.
    pub manifest: CategoryManifest,
    /// `category_data/<category>_metrics.json`, by category, in the order of the manifest.
    pub categories: Vec<CategoryMetrics>,
    /// `category_data/cpu_idle_metrics.json`.
    pub cpu_idle: CpuIdleMetrics,
    /// `category_data/kernel_fusion_metrics.json`; `None` where nothing might be fused.
    pub fusion: Option<FusionMetrics>,
    /// `category_data/fusion_candidates.json`.
    pub candidates: Vec<Candidate>,
}

/// Ranked findings and categories.
#[derive(Debug, Serialize)]
pub struct PriorityData {
    /// Whole time in ms, of which scores are percent.
    pub baseline_ms: f64,
    /// Categories in the order in which to look at them.
    pub priorities: Vec<Priority>,
    /// Categories with a score.
    pub recommendations: Vec<Recommendation>,
    /// Findings of all categories, by score.
    pub findings: Vec<RankedFinding>,
    /// Estimates of all operators and fusions.
    pub all_estimates: Vec<Estimate>,
}

/// A category by its rank.
#[derive(Debug, Serialize)]
pub struct Priority {
    /// From 1.
    pub rank: usize,
    /// Name of the category.
    pub category: String,
    /// Its name in the report.
    pub display_name: String,
    /// Sum of its findings with a model, in percent of the whole time; `None` where there is no finding.
    pub impact_score: Option<f64>,
    /// The same for 75 % of the way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impact_score_low: Option<f64>,
    /// The same for all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub impact_score_high: Option<f64>,
    /// Kernel time in ms, where there is no finding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu_kernel_time_ms: Option<f64>,
    /// `findings_rollup` or `manifest_fallback`.
    pub source: &'static str,
}

/// A category with the sum of its findings.
#[derive(Clone, Debug, Serialize)]
pub struct Recommendation {
    /// Name of the category.
    pub category: String,
    /// Sum of its findings with a model, in percent of the whole time.
    pub impact_score: f64,
    /// The same for 75 % of the way.
    pub impact_score_low: f64,
    /// The same for all of it.
    pub impact_score_high: f64,
    /// Always 0 (AQ11).
    pub operation_count: usize,
    /// Always `kernel_tuning`.
    #[serde(rename = "type")]
    pub kind: &'static str,
}

/// Estimates of a category that have bound, library and efficiency in common.
#[derive(Clone, Debug, Serialize)]
pub struct CategoryFinding {
    /// `compute`, `memory`, `unknown`, or `unmodeled` for an operator without a model.
    pub bound_type: &'static str,
    /// Library of the kernels.
    pub library: &'static str,
    /// Range of efficiencies in percent.
    pub eff_bucket: &'static str,
    /// Sum of its members, in percent of the whole time.
    pub impact_score: f64,
    /// The same for 75 % of the way.
    pub impact_score_low: f64,
    /// The same for all of it.
    pub impact_score_high: f64,
    /// What the estimates rest on.
    pub estimation: Estimation,
    /// Number of members.
    pub member_count: usize,
    /// Its estimates, by score.
    pub members: Vec<ImpactEstimate>,
}

/// A finding of a category by its rank.
#[derive(Clone, Debug, Serialize)]
pub struct RankedInCategory {
    /// The finding.
    #[serde(flatten)]
    pub finding: CategoryFinding,
    /// From 1.
    pub rank: usize,
}

/// A finding by its rank among all.
#[derive(Clone, Debug, Serialize)]
pub struct RankedFinding {
    /// The finding.
    #[serde(flatten)]
    pub finding: CategoryFinding,
    /// Its category.
    pub category: String,
    /// Among those of the category, from 1.
    pub category_rank: usize,
    /// Among all, from 1.
    pub global_rank: usize,
}

/// An estimate of either kind.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Estimate {
    /// Of an operator.
    Operation(ImpactEstimate),
    /// Of a fusion.
    Fusion(FusionEstimate),
}

/// The categories with their times.
#[derive(Debug, Serialize)]
pub struct CategoryManifest {
    /// Name of the device.
    pub platform: String,
    /// The trace.
    pub trace_path: String,
    /// Always `standalone`: one trace.
    pub comparison_scope: &'static str,
    /// Shares of time.
    pub gpu_utilization: Timeline,
    /// Idle time and kinds of work.
    pub categories: Vec<ManifestCategory>,
}

/// A category with its times.
#[derive(Debug, Serialize)]
pub struct ManifestCategory {
    /// Name in file names.
    pub name: String,
    /// Name in the report.
    pub display_name: String,
    /// `compute_kernel` or `system`.
    pub tier: &'static str,
    /// Rows of it.
    pub ops_count: usize,
    /// Times, but for idle time.
    #[serde(flatten)]
    pub times: Option<CategoryTimes>,
}

/// Times of a category, in ms.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct CategoryTimes {
    /// Kernel time.
    pub gpu_kernel_time_ms: f64,
    /// Time on the host.
    pub cpu_duration_ms: f64,
    /// Time on the host beyond kernel time, of rows with five times as much (AQ17).
    pub sync_time_ms: f64,
    /// Those rows.
    pub sync_ops_count: usize,
    /// Whether that is more than a tenth of kernel time and 1 ms.
    pub has_sync_bottleneck: bool,
}

/// Operators, estimates and findings of a category.
#[derive(Debug, Serialize)]
pub struct CategoryMetrics {
    /// Its name.
    pub category: String,
    /// Always `OK`.
    pub status: &'static str,
    /// Always `standalone`.
    pub comparison_scope: &'static str,
    /// Kernel time.
    pub total_time_ms: f64,
    /// Kernel time in percent of the whole time (AQ7).
    pub percent_of_compute: f64,
    /// Calls.
    pub operation_count: u64,
    /// Operators, most time first.
    pub operations: Vec<Operation>,
    /// Their estimates, by score.
    pub impact_estimates: Vec<ImpactEstimate>,
    /// Findings, by score.
    pub category_findings: Vec<RankedInCategory>,
}

/// Idle time.
#[derive(Debug, Serialize)]
pub struct CpuIdleMetrics {
    /// Always `cpu_idle`.
    pub category: &'static str,
    /// Always `OK`.
    pub status: &'static str,
    /// Shares of time.
    pub gpu_utilization: Timeline,
    /// In percent.
    pub idle_time_percent: f64,
    /// Whether it is more than 15 %.
    pub idle_flagged: bool,
    /// Whether it is, or computation is less than 85 %.
    pub high_idle_note: bool,
    /// Always empty: idle time has no figure (AQ1).
    pub impact_estimates: [ImpactEstimate; 0],
}

/// Estimates of fusions.
#[derive(Debug, Serialize)]
pub struct FusionMetrics {
    /// Always `kernel_fusion`.
    pub category: &'static str,
    /// `OK`, or `NO_DATA` where no candidate is worth an estimate.
    pub status: &'static str,
    /// Kernel time of the candidates that are worth an estimate; they overlap (AQ3).
    pub total_time_ms: f64,
    /// Their number.
    pub candidate_count: usize,
    /// Number of estimates.
    pub estimated_count: usize,
    /// Sum of their scores.
    pub total_impact_score: f64,
    /// Name of the device.
    pub platform: String,
    /// Its memory bandwidth in 10¹² bytes a second.
    pub peak_hbm_bw_tbs: f64,
    /// The estimates, by score.
    pub impact_estimates: Vec<FusionEstimate>,
    /// That kernels have no model.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Kernels of probable fusions: operators with one of them have no estimate (AQ4).
    #[serde(serialize_with = "as_object")]
    pub high_confidence_kernel_map: IndexMap<String, String>,
}

fn as_object<S: Serializer>(map: &IndexMap<String, String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(map)
}

impl AgentReport {
    /// Applies the agent's rules.
    #[must_use]
    pub fn new(input: &AgentInput) -> Self {
        let AgentInput { platform, timeline, rows, .. } = input;
        let modelled = ModelledKernels::new(rows);
        let candidates = input.scopes.candidates(&modelled);
        let fusion = (!candidates.is_empty()).then(|| fusion_metrics(input, &candidates, &modelled));
        let covered = fusion.as_ref().map(|fusion| &fusion.high_confidence_kernel_map);
        let mut by_category: IndexMap<String, Vec<&OperationRow>> = IndexMap::default();
        for row in rows {
            by_category.entry(category_name(&row.category)).or_default().push(row);
        }
        let mut categories = vec![ManifestCategory {
            name: "cpu_idle".to_owned(),
            display_name: "CPU/Idle Analysis".to_owned(),
            tier: "system",
            ops_count: 0,
            times: None,
        }];
        let mut metrics = Vec::with_capacity(by_category.len());
        for (name, rows) in by_category {
            categories.push(ManifestCategory {
                name: name.clone(),
                display_name: display_name(&rows[0].category).to_owned(),
                tier: "compute_kernel",
                ops_count: rows.len(),
                times: Some(times(&rows)),
            });
            let covering = |row: &OperationRow| covering_fusion(row, covered?);
            metrics.push(category_metrics(name, rows, input, covering));
        }
        if !candidates.is_empty() {
            categories.push(ManifestCategory {
                name: "kernel_fusion".to_owned(),
                display_name: "Kernel Fusion Opportunities".to_owned(),
                tier: "system",
                ops_count: candidates.len(),
                times: Some(CategoryTimes::default()),
            });
        }
        let manifest = CategoryManifest {
            platform: platform.name.clone(),
            trace_path: input.trace_path.clone(),
            comparison_scope: STANDALONE,
            gpu_utilization: *timeline,
            categories,
        };
        AgentReport {
            priorities: priority_data(&manifest, &metrics, fusion.as_ref()),
            manifest,
            categories: metrics,
            cpu_idle: CpuIdleMetrics {
                category: "cpu_idle",
                status: "OK",
                gpu_utilization: *timeline,
                idle_time_percent: timeline.idle_percent,
                idle_flagged: timeline.idle_percent > HIGH_IDLE,
                high_idle_note: timeline.idle_percent > HIGH_IDLE
                    || timeline.computation_percent < LOW_COMPUTATION,
                impact_estimates: [],
            },
            fusion,
            candidates,
        }
    }
}

fn category_name(category: &str) -> String {
    display_name(category).replace([' ', '/'], "_").to_lowercase()
}

fn display_name(category: &str) -> &str {
    if category.is_empty() { "Other" } else { category }
}

fn times(rows: &[&OperationRow]) -> CategoryTimes {
    let gpu_ms = rows.iter().map(|row| row.kernel_us).sum::<f64>() / 1000.0;
    let host_ms = rows.iter().filter_map(|row| row.host_us).sum::<f64>() / 1000.0;
    let waits = rows.iter().filter_map(|row| {
        let host_us = row.host_us.filter(|&host| row.kernel_us > 0.0 && host > 5.0 * row.kernel_us)?;
        Some((host_us - row.kernel_us) / 1000.0)
    });
    let sync_ms: f64 = waits.clone().sum();
    CategoryTimes {
        gpu_kernel_time_ms: round(gpu_ms, 3),
        cpu_duration_ms: round(host_ms, 3),
        sync_time_ms: round(sync_ms, 3),
        sync_ops_count: waits.count(),
        has_sync_bottleneck: sync_ms > 0.1 * gpu_ms && sync_ms > 1.0,
    }
}

fn fusion_metrics(
    input: &AgentInput,
    candidates: &[Candidate],
    modelled: &ModelledKernels<'_>,
) -> FusionMetrics {
    let total_ms = input.timeline.total_ms;
    let worthwhile = worthwhile(candidates, total_ms);
    let estimates = estimates(&worthwhile, modelled, &input.platform, total_ms);
    let total_us: f64 = worthwhile.iter().map(|candidate| candidate.total_kernel_time_us).sum();
    let mut covered = IndexMap::default();
    for estimate in estimates.iter().filter(|estimate| estimate.confidence == FusionConfidence::High) {
        for kernel in estimate.affected_gpu_kernels.iter().filter(|kernel| !kernel.is_empty()) {
            covered.insert(kernel.clone(), estimate.operation.clone());
        }
    }
    FusionMetrics {
        category: "kernel_fusion",
        status: if worthwhile.is_empty() { "NO_DATA" } else { "OK" },
        total_time_ms: round(total_us / 1000.0, 3),
        candidate_count: worthwhile.len(),
        estimated_count: estimates.len(),
        total_impact_score: round(estimates.iter().map(|estimate| estimate.impact_score).sum(), 2),
        platform: input.platform.name.clone(),
        peak_hbm_bw_tbs: input.platform.tb_per_s(),
        warnings: estimates.iter().filter_map(|estimate| estimate.warning.clone()).collect(),
        impact_estimates: estimates,
        high_confidence_kernel_map: covered,
    }
}

/// The probable fusion that has a kernel of the row's name, or one whose name begins the other's.
fn covering_fusion<'c>(row: &OperationRow, covered: &'c IndexMap<String, String>) -> Option<&'c str> {
    row.listed_kernels().find_map(|kernel| {
        let alike = |fused: &String| fused.starts_with(kernel) || kernel.starts_with(fused.as_str());
        let exact = covered.get(kernel);
        let fusion =
            exact.or_else(|| covered.iter().find(|(fused, _)| alike(fused)).map(|(_, fusion)| fusion));
        fusion.map(String::as_str)
    })
}

fn category_metrics<'c>(
    category: String,
    mut rows: Vec<&OperationRow>,
    input: &AgentInput,
    covering: impl Fn(&OperationRow) -> Option<&'c str>,
) -> CategoryMetrics {
    let total_us: f64 = rows.iter().map(|row| row.kernel_us).sum();
    rows.sort_by(|a, b| b.kernel_us.total_cmp(&a.kernel_us));
    let operations: Vec<Operation> = rows
        .iter()
        .map(|row| row.operation(&input.timeline, &input.platform, total_us, covering(row)))
        .collect();
    let estimates = operations.iter().filter_map(|operation| operation.estimate(&category, &input.timeline));
    let mut estimates: Vec<ImpactEstimate> = estimates.collect();
    by_score(&mut estimates, |estimate| estimate.impact_score);
    let total_ms = total_us / 1000.0;
    CategoryMetrics {
        status: "OK",
        comparison_scope: STANDALONE,
        total_time_ms: round(total_ms, 3),
        percent_of_compute: match input.timeline.total_ms > 0.0 {
            true => round(total_ms / input.timeline.total_ms * 100.0, 2),
            false => 0.0,
        },
        operation_count: rows.iter().map(|row| row.count).sum(),
        operations,
        category_findings: findings(&estimates),
        impact_estimates: estimates,
        category,
    }
}

/// Sorts by score, the highest first; equal ones stay in their order.
fn by_score<T>(values: &mut [T], score: impl Fn(&T) -> f64) {
    values.sort_by(|a, b| score(b).total_cmp(&score(a)));
}

fn efficiency_bucket(percent: Option<f64>) -> &'static str {
    match percent {
        None => "unknown",
        Some(percent) if percent < 30.0 => "0-30",
        Some(percent) if percent < 60.0 => "30-60",
        Some(_) => "60-100",
    }
}

/// What the members of a finding have in common.
#[derive(PartialEq, Eq, Hash)]
enum Group<'e> {
    Quantified { bound: &'static str, library: &'static str, bucket: &'static str },
    Heuristic { operation: &'e str },
}

fn group(estimate: &ImpactEstimate) -> Group<'_> {
    use super::BoundType;
    match estimate.estimation {
        Estimation::Heuristic => Group::Heuristic { operation: &estimate.operation },
        Estimation::Quantified => Group::Quantified {
            bound: match estimate.bound_type {
                Some(BoundType::Compute) => "compute",
                Some(BoundType::Memory) => "memory",
                None => "unknown",
            },
            library: estimate.library.unwrap_or("Unknown"),
            bucket: efficiency_bucket(estimate.efficiency_pct),
        },
    }
}

/// The findings of a category from its estimates, which are sorted by score.
fn findings(estimates: &[ImpactEstimate]) -> Vec<RankedInCategory> {
    let mut groups: IndexMap<Group<'_>, Vec<&ImpactEstimate>> = IndexMap::default();
    for estimate in estimates {
        groups.entry(group(estimate)).or_default().push(estimate);
    }
    let finding = |(group, members): (Group<'_>, Vec<&ImpactEstimate>)| {
        let sum = |score: fn(&ImpactEstimate) -> f64| members.iter().map(|member| score(member)).sum::<f64>();
        let mid = sum(|member| member.impact_score);
        let (bound_type, library, eff_bucket, estimation) = match group {
            Group::Quantified { bound, library, bucket } => (bound, library, bucket, Estimation::Quantified),
            Group::Heuristic { .. } => {
                let library = members.iter().find_map(|member| member.library);
                ("unmodeled", library.unwrap_or("Unknown"), "unknown", Estimation::Heuristic)
            }
        };
        (mid >= LEAST_FINDING).then(|| CategoryFinding {
            bound_type,
            library,
            eff_bucket,
            impact_score: round(mid, 2),
            impact_score_low: round(sum(|member| member.impact_score_low), 2),
            impact_score_high: round(sum(|member| member.impact_score_high), 2),
            estimation,
            member_count: members.len(),
            members: members.iter().map(|&member| member.clone()).collect(),
        })
    };
    let mut findings: Vec<CategoryFinding> = groups.into_iter().filter_map(finding).collect();
    by_score(&mut findings, |finding| finding.impact_score);
    findings.into_iter().zip(1..).map(|(finding, rank)| RankedInCategory { finding, rank }).collect()
}

fn priority_data(
    manifest: &CategoryManifest,
    metrics: &[CategoryMetrics],
    fusion: Option<&FusionMetrics>,
) -> PriorityData {
    // The reference reads the files by their names.
    const FUSION: &str = "kernel_fusion_metrics.json";
    let mut files: Vec<(String, Option<&CategoryMetrics>)> =
        metrics.iter().map(|metrics| (format!("{}_metrics.json", metrics.category), Some(metrics))).collect();
    files.extend(fusion.map(|_| (FUSION.to_owned(), None)));
    files.sort_by(|a, b| a.0.cmp(&b.0));
    let mut all_estimates = Vec::new();
    let mut ranked = Vec::new();
    for (_, metrics) in files {
        let Some(metrics) = metrics else {
            let estimates = fusion.iter().flat_map(|fusion| fusion.impact_estimates.iter().cloned());
            all_estimates.extend(estimates.map(Estimate::Fusion));
            continue;
        };
        all_estimates.extend(metrics.impact_estimates.iter().cloned().map(Estimate::Operation));
        ranked.extend(metrics.category_findings.iter().map(|found| RankedFinding {
            finding: found.finding.clone(),
            category: metrics.category.clone(),
            category_rank: found.rank,
            global_rank: 0,
        }));
    }
    let recommendations = recommendations(&ranked);
    let priorities = priorities(manifest, &ranked, &recommendations);
    by_score(&mut ranked, |found| found.finding.impact_score);
    for (found, rank) in ranked.iter_mut().zip(1..) {
        found.global_rank = rank;
    }
    PriorityData {
        baseline_ms: manifest.gpu_utilization.total_ms,
        priorities,
        recommendations,
        findings: ranked,
        all_estimates,
    }
}

fn recommendations(findings: &[RankedFinding]) -> Vec<Recommendation> {
    let mut sums: IndexMap<&str, [f64; 3]> = IndexMap::default();
    for found in findings.iter().filter(|found| found.finding.estimation == Estimation::Quantified) {
        let finding = &found.finding;
        let scores = [finding.impact_score_low, finding.impact_score, finding.impact_score_high];
        let sums = sums.entry(&found.category).or_default();
        for (sum, score) in sums.iter_mut().zip(scores) {
            *sum += score;
        }
    }
    let recommendation = |(category, [low, mid, high]): (&str, [f64; 3])| Recommendation {
        category: category.to_owned(),
        impact_score: round(mid, 2),
        impact_score_low: round(low, 2),
        impact_score_high: round(high, 2),
        operation_count: 0,
        kind: "kernel_tuning",
    };
    let mut recommendations: Vec<Recommendation> = sums.into_iter().map(recommendation).collect();
    by_score(&mut recommendations, |recommendation| recommendation.impact_score);
    recommendations.truncate(MOST_RECOMMENDATIONS);
    recommendations
}

fn priorities(
    manifest: &CategoryManifest,
    findings: &[RankedFinding],
    recommendations: &[Recommendation],
) -> Vec<Priority> {
    let display_name = |category: &str| {
        let entry = manifest.categories.iter().find(|entry| entry.name == category);
        entry.map_or(category, |entry| &entry.display_name).to_owned()
    };
    let found = recommendations.iter().map(|recommendation| Priority {
        rank: 0,
        category: recommendation.category.clone(),
        display_name: display_name(&recommendation.category),
        impact_score: Some(recommendation.impact_score),
        impact_score_low: Some(recommendation.impact_score_low),
        impact_score_high: Some(recommendation.impact_score_high),
        gpu_kernel_time_ms: None,
        source: "findings_rollup",
    });
    let utilization = &manifest.gpu_utilization;
    let least_ms = utilization.total_ms * utilization.computation_percent / 100.0 * SHOWN_FROM;
    let has_finding = |category: &str| findings.iter().any(|found| found.category == category);
    let rest = manifest.categories.iter().filter_map(|entry| {
        let time = entry.times?.gpu_kernel_time_ms;
        let is_shown = entry.tier == "compute_kernel" && !has_finding(&entry.name) && time >= least_ms;
        is_shown.then_some((entry, time))
    });
    let mut rest: Vec<_> = rest.collect();
    by_score(&mut rest, |&(_, time)| time);
    let rest = rest.into_iter().map(|(entry, time)| Priority {
        rank: 0,
        category: entry.name.clone(),
        display_name: entry.display_name.clone(),
        impact_score: None,
        impact_score_low: None,
        impact_score_high: None,
        gpu_kernel_time_ms: Some(time),
        source: "manifest_fallback",
    });
    found.chain(rest).zip(1..).map(|(priority, rank)| Priority { rank, ..priority }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{BoundType, Platform};
    use super::*;

    fn row(name: &str, category: &str, kernel_us: f64, percent: Option<f64>) -> OperationRow {
        OperationRow {
            name: name.to_owned(),
            category: category.to_owned(),
            count: 1,
            kernel_us,
            roofline_percent: percent,
            bound: percent.map(|_| BoundType::Memory),
            kernels: vec![format!("void at::native::{name}")],
            ..OperationRow::default()
        }
    }

    fn report(rows: Vec<OperationRow>) -> AgentReport {
        AgentReport::new(&AgentInput {
            platform: Platform { name: "MI300X".to_owned(), memory_gb_per_s: 5300.0, ..Platform::default() },
            timeline: Timeline {
                total_ms: 10.0,
                computation_percent: 80.0,
                idle_percent: 15.1,
                ..Timeline::default()
            },
            rows,
            ..AgentInput::default()
        })
    }

    #[test]
    fn estimates_group_by_bound_library_and_efficiency() {
        let found = report(vec![
            row("add", "elementwise", 1000.0, Some(40.0)),
            row("mul", "elementwise", 500.0, Some(59.99)),
            row("neg", "elementwise", 400.0, Some(60.0)),
            row("exp", "elementwise", 100.0, Some(70.0)),
            row("tiny", "elementwise", 50.0, Some(10.0)),
        ]);
        let findings: Vec<_> = found
            .priorities
            .findings
            .iter()
            .map(|found| (found.finding.eff_bucket, found.finding.impact_score, found.finding.member_count))
            .collect();
        // 0.39 of `tiny` is no finding.
        assert_eq!(findings, [("30-60", 7.0, 2), ("60-100", 1.66, 2)]);
        assert_eq!(found.priorities.priorities[0].impact_score, Some(8.66));
        assert_eq!(found.priorities.all_estimates.len(), 5);
        assert_eq!(found.priorities.recommendations[0].operation_count, 0);
    }

    #[test]
    fn operators_without_a_model_are_findings_by_name_and_no_recommendation() {
        let found = report(vec![
            row("softmax", "reduce", 300.0, None),
            row("softmax", "reduce", 100.0, None),
            row("sum", "reduce", 100.0, None),
            row("cat", "other", 10.0, None),
        ]);
        let [softmax] = &found.priorities.findings[..] else { panic!("{:?}", found.priorities.findings) };
        assert_eq!((softmax.finding.bound_type, softmax.finding.impact_score), ("unmodeled", 1.2));
        assert!(found.priorities.recommendations.is_empty());
        // Reduce has a finding without a score, the other category too little time.
        assert!(found.priorities.priorities.is_empty());
    }

    #[test]
    fn large_categories_without_a_finding_come_last() {
        let found = report(vec![
            row("conv", "CONV_fwd", 1000.0, Some(100.0)),
            row("mm", "GEMM", 5000.0, Some(99.9)),
            row("add", "", 1000.0, Some(10.0)),
            row("small", "reduce", 399.0, Some(100.0)),
        ]);
        let priorities: Vec<_> = found
            .priorities
            .priorities
            .iter()
            .map(|priority| (priority.rank, priority.category.as_str(), priority.impact_score))
            .collect();
        assert_eq!(priorities, [(1, "other", Some(7.88)), (2, "gemm", None), (3, "conv_fwd", None)]);
        assert_eq!(found.manifest.categories[2].display_name, "GEMM");
    }

    #[test]
    fn long_host_calls_count_as_synchronisation() {
        let host = |kernel_us, host_us| OperationRow { host_us, ..row("a", "other", kernel_us, None) };
        let rows =
            [host(100.0, Some(501.0)), host(100.0, Some(500.0)), host(0.0, Some(9e3)), host(10.0, None)];
        let found = times(&rows.iter().collect::<Vec<_>>());
        assert_eq!((found.sync_ops_count, found.sync_time_ms, found.has_sync_bottleneck), (1, 0.401, false));
        assert!(times(&[&host(100.0, Some(2000.0))]).has_sync_bottleneck);
    }

    #[test]
    fn idle_time_is_flagged_without_a_figure() {
        let found = report(vec![row("add", "elementwise", 1.0, Some(99.0))]);
        assert!(found.cpu_idle.idle_flagged && found.cpu_idle.high_idle_note);
    }
}
