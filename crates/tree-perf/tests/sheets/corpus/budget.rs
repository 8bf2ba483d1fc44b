//! Where the time of devices went: reference tables of recordings of Nsight Systems, and sums of all recordings.

use std::collections::BTreeMap;

use tree_perf::{Analysis, AnalysisOptions, Gap, GapParts};

use super::{cases, read};

fn nsys(case: &str) -> Option<(Analysis, std::path::PathBuf)> {
    let folder = testdata::corpus(&format!("nsys/{case}"))?;
    Some((
        Analysis::new(read(&folder.join("trace.sqlite")), AnalysisOptions::default()),
        folder.join("reference"),
    ))
}

fn rows(path: &std::path::Path) -> Vec<BTreeMap<String, String>> {
    csv::Reader::from_path(path).unwrap().deserialize().map(Result::unwrap).collect()
}

/// The parts as the references have them.
fn parts(row: &BTreeMap<String, String>) -> GapParts {
    let of = |column: &str| row[column].parse().unwrap();
    GapParts {
        sync: of("Sync (ns)"),
        other_calls: of("Other Calls (ns)"),
        launch: of("Launch (ns)"),
        host: of("Host (ns)"),
        queued: of("Queued (ns)"),
        unknown: of("Unknown (ns)"),
    }
}

#[test]
fn gaps_are_those_of_the_references() {
    for case in ["h100-2gpu-1s", "mock"] {
        let Some((analysis, reference)) = nsys(case) else { return };
        let trace = analysis.trace();
        let gaps = analysis.gaps();
        let of_gap = |gap: &Gap| (gap.device, trace.origin() + gap.time.start);
        let found: BTreeMap<(i64, i64), &Gap> = gaps.iter().map(|gap| (of_gap(gap), gap)).collect();
        let expected = rows(&reference.join("gpu_gaps.csv"));
        assert_eq!(gaps.iter().filter(|gap| gap.time.length() >= 10_000).count(), expected.len());
        for row in expected {
            let number = |column: &str| row[column].parse::<i64>().unwrap();
            let gap = found[&(number("device"), number("Start (ns)"))];
            assert_eq!(gap.time.length(), number("Duration (ns)"), "{case} {row:?}");
            assert_eq!(gap.parts, parts(&row), "{case} {row:?}");
            assert_eq!(gap.parts.cause(), row["cause"], "{case}");
            assert_eq!(
                [gap.loading, gap.profiler],
                [number("Loading (ns)"), number("Profiler (ns)")],
                "{case} {row:?}"
            );
            let call = gap.call.map_or("", |call| trace.name(call));
            assert_eq!(call, row["next call"], "{case}");
        }
        for row in rows(&reference.join("gpu_gap_causes.csv")).iter().filter(|row| row["length"] == "all") {
            let device: i64 = row["device"].parse().unwrap();
            let of_device = gaps.iter().filter(|gap| gap.device == device);
            assert_eq!(of_device.clone().count().to_string(), row["Count"]);
            assert_eq!(of_device.map(|gap| gap.parts).sum::<GapParts>(), parts(row), "{case} {device}");
        }
    }
}

#[test]
fn budgets_are_those_of_the_references() {
    for case in ["h100-2gpu-1s", "mock"] {
        let Some((analysis, reference)) = nsys(case) else { return };
        // The references have the instances of one operator, too.
        let named = AnalysisOptions {
            iteration: Some("aten::is_nonzero".parse().unwrap()),
            ..analysis.options().clone()
        };
        let analysis = Analysis::new(analysis.trace().clone(), named);
        let budgets = analysis.time_budgets();
        let expected = rows(&reference.join("time_budget.csv"));
        assert_eq!(budgets.len(), expected.len());
        for row in &expected {
            let number = |column: &str| row[column].parse::<i64>().unwrap();
            let index = row["index"].parse::<usize>().ok();
            let is_meant = |budget: &&tree_perf::TimeBudget| {
                let range = budget.range.as_deref().unwrap_or("(all)");
                (range, budget.index, budget.device) == (row["range"].as_str(), index, number("device"))
            };
            let budget = budgets.iter().find(is_meant).unwrap();
            let origin = analysis.trace().origin();
            assert_eq!(
                [origin + budget.time.start, origin + budget.time.end, budget.time.length()],
                [number("Start (ns)"), number("End (ns)"), number("Wall (ns)")]
            );
            assert_eq!(
                [budget.computation, budget.exposed_communication, budget.exposed_copies],
                [
                    number("GPU Compute (ns)"),
                    number("Exposed Communication (ns)"),
                    number("Exposed Copies (ns)")
                ]
            );
            assert_eq!(budget.idle, parts(row), "{case}");
        }
    }
}

#[test]
fn utilization_is_that_of_the_references() {
    for case in ["h100-2gpu-1s", "mock"] {
        let Some((analysis, reference)) = nsys(case) else { return };
        let (origin, found) = (analysis.trace().origin(), analysis.utilizations(30));
        let found = found.iter().map(|row| {
            let bounds = [origin + row.time.start, origin + row.time.end];
            [row.device, row.part as i64, bounds[0], bounds[1], row.busy, row.summed]
        });
        let expected = rows(&reference.join("gpu_utilization.csv"));
        let columns = ["device", "chunk", "Start (ns)", "End (ns)", "Busy (ns)", "Summed (ns)"];
        let expected = expected.iter().map(|row| columns.map(|column| row[column].parse::<i64>().unwrap()));
        assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{case}");
    }
}

#[test]
fn parts_add_up_in_every_recording() {
    let Some(folder) = testdata::corpus("pytorch") else { return };
    for case in cases(&folder) {
        let path = folder.join(&case).join("trace.json.gz");
        if !path.exists() {
            continue;
        }
        let analysis = Analysis::new(read(&path), AnalysisOptions::default());
        for gap in analysis.gaps() {
            assert_eq!(gap.parts.total(), gap.time.length(), "{case}: {gap:?}");
            assert!(gap.parts.named().iter().all(|(_, time)| *time >= 0), "{case}: {gap:?}");
        }
        let timelines = analysis.timelines_of_devices();
        for budget in analysis.time_budgets() {
            assert_eq!(budget.total(), budget.time.length(), "{case}: {budget:?}");
            if budget.range.is_none() {
                let timeline = timelines.iter().find(|of| of.device == budget.device).unwrap().breakdown;
                assert_eq!(budget.computation, timeline.computation, "{case}");
                assert_eq!(budget.idle.total(), timeline.idle, "{case}");
            }
        }
    }
}
