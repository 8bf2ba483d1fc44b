//! Memory of recorded traces: figures that another implementation computed from the same files.

use tree_perf::{Analysis, AnalysisOptions};

use super::read;
use crate::common::Table;

fn analysis(case: &str, modules: bool) -> Option<Analysis> {
    let options = AnalysisOptions { memory: modules, ..AnalysisOptions::default() };
    Some(Analysis::new(read(&testdata::corpus(&format!("{case}/trace.json.gz"))?), options))
}

/// What a GPU's row of memory_summary has, and the owners that it has in memory_owners.
struct Expected {
    case: &'static str,
    events: i64,
    device: &'static str,
    /// base, peak, reserved, attributed, blocks.
    sizes: [i64; 4],
    blocks: Option<i64>,
    operators: &'static [(&'static str, i64)],
    module: Option<(&'static str, i64)>,
}

const EXPECTED: [Expected; 6] = [
    Expected {
        case: "pytorch/h100-falconsai-vit",
        events: 620,
        device: "CUDA 0",
        sizes: [214_877_184, 231_332_864, 245_366_784, 16_455_680],
        blocks: Some(7),
        operators: &[
            ("aten::addmm", 6_051_840),
            ("aten::gelu", 4_841_472),
            ("aten::add", 4_352_000),
            ("aten::native_layer_norm", 1_210_368),
        ],
        module: None,
    },
    Expected {
        case: "pytorch/h100-owlv2-large",
        events: 13_474,
        device: "CUDA 0",
        sizes: [917_445_120, 2_707_847_680, 3_600_809_984, 1_790_402_560],
        blocks: Some(12),
        operators: &[("aten::bmm", 860_295_680), ("aten::_softmax", 860_295_680)],
        module: Some(("Owlv2Attention_1", 1_752_448_000)),
    },
    Expected {
        case: "pytorch/h100-qwen1.5-0.5b",
        events: 2_450,
        device: "CUDA 0",
        sizes: [984_742_400, 2_088_508_416, 2_629_828_608, 1_103_766_016],
        blocks: Some(58),
        operators: &[("aten::add", 476_250_112), ("aten::addmm", 439_615_488)],
        module: None,
    },
    Expected {
        case: "pytorch/mi300-qwen1.5-0.5b",
        events: 2_692,
        device: "HIP 0",
        sizes: [1_085_405_696, 2_219_047_936, 2_533_359_616, 1_133_642_240],
        blocks: None,
        operators: &[],
        module: None,
    },
    Expected {
        case: "pytorch/mi300-timesformer",
        events: 1_360,
        device: "HIP 0",
        sizes: [388_360_704, 4_591_406_080, 6_671_040_512, 4_203_045_376],
        blocks: None,
        operators: &[],
        module: Some(("TimesformerSelfAttention_7", 3_779_067_904)),
    },
    Expected {
        case: "pytorch/normalization-layers",
        events: 475,
        device: "HIP 0",
        sizes: [665_600, 8_154_624, 8_388_608, 7_489_024],
        blocks: None,
        operators: &[],
        module: None,
    },
];

fn row(table: &Table, device: &str, columns: &str) -> Vec<i64> {
    let rows = table.select(&format!("device | {columns}"));
    let found = rows.iter().find_map(|row| row.strip_prefix(&format!("{device} | "))).unwrap();
    found.split(" | ").map(|cell| cell.parse().unwrap()).collect()
}

#[test]
fn peaks_and_owners_of_recorded_traces_are_known() {
    for expected in EXPECTED {
        let Some(analysis) = analysis(expected.case, true) else { continue };
        let case = expected.case;
        let summary = Table::of_sheet(&analysis, "memory_summary");
        let events: f64 = summary.numbers("events").iter().sum();
        assert_eq!(events as i64, expected.events, "{case}");
        let columns = "base_bytes | peak_bytes | reserved_peak_bytes | attributed_bytes";
        assert_eq!(row(&summary, expected.device, columns), expected.sizes, "{case}");
        let owners = Table::of_sheet(&analysis, "memory_owners");
        let of_peak = owners.select("device | by | owner | bytes_at_peak | blocks_at_peak");
        let of_kind = |kind: &str| -> Vec<(String, i64, i64)> {
            let start = format!("{} | {kind} | ", expected.device);
            let rows = of_peak.iter().filter_map(|row| row.strip_prefix(&start));
            rows.map(|row| {
                let cells: Vec<&str> = row.split(" | ").collect();
                (cells[0].to_owned(), cells[1].parse().unwrap(), cells[2].parse().unwrap())
            })
            .collect()
        };
        for kind in ["operator", "outermost operator", "module"] {
            let sum: i64 = of_kind(kind).iter().map(|(_, size, _)| size).sum();
            assert!(sum == expected.sizes[3] || of_kind(kind).is_empty(), "{case} {kind}");
        }
        let operators = of_kind("operator");
        if let Some(blocks) = expected.blocks {
            assert_eq!(operators.iter().map(|(.., blocks)| blocks).sum::<i64>(), blocks, "{case}");
        }
        for &(name, size) in expected.operators {
            assert!(
                operators.iter().any(|owner| owner.0 == name && owner.1 == size),
                "{case}: {operators:?}"
            );
        }
        if let Some((name, size)) = expected.module {
            let modules = of_kind("module");
            assert_eq!((modules[0].0.as_str(), modules[0].1), (name, size), "{case}");
        }
        let timeline = Table::of_sheet(&analysis, "memory_timeline");
        let highest = timeline.numbers("allocated_max_mib").into_iter().fold(0.0, f64::max);
        assert_eq!(highest * 1_048_576.0, expected.sizes[1] as f64, "{case}");
        assert!(timeline.rows.len() <= 4_000, "{case}");
    }
}

#[test]
fn single_figures_of_recorded_traces_are_known() {
    let of = |case: &str| analysis(case, false);
    if let Some(falconsai) = of("pytorch/h100-falconsai-vit") {
        let finding = falconsai.memory_finding().unwrap();
        // 1.418 ms after the first event of the device's allocator.
        let summary = Table::of_sheet(&falconsai, "memory_summary");
        assert_eq!(row(&summary, "CUDA 0", "events"), [572]);
        let first = Table::of_sheet(&falconsai, "memory_timeline");
        let start = first.select("device | t_ms");
        let start = start.iter().find_map(|row| row.strip_prefix("CUDA 0 | ")).unwrap();
        let since = finding.peak_us / 1e3 - start.parse::<f64>().unwrap();
        assert_eq!(format!("{since:.3}"), "1.418");
    }
    if let Some(owlv2) = of("pytorch/h100-owlv2-large") {
        let summary = Table::of_sheet(&owlv2, "memory_summary");
        let [allocations, churn] = row(&summary, "CUDA 0", "allocations | churn_bytes")[..] else {
            panic!("two cells")
        };
        assert_eq!((allocations, churn / 10_000_000), (6_135, 24_827));
    }
    if let Some(normalization) = of("pytorch/normalization-layers") {
        let summary = Table::of_sheet(&normalization, "memory_summary");
        let growths = row(&summary, "HIP 0", "growths | growth_bytes");
        assert_eq!(growths, [3, 8_388_608 - 2_097_152]);
        let blocks = Table::of_sheet(&normalization, "memory_owners");
        assert!(blocks.select("by").iter().all(|kind| kind != "module"));
    }
}

#[test]
fn old_recordings_without_totals_have_no_figures_of_memory() {
    let Some(analysis) = analysis("kineto/pytorch-1.9-resnet50", false) else { return };
    assert_eq!(analysis.memory_finding(), None);
    let said = analysis.notices().iter().any(|notice| {
        notice.to_string()
            == "12838 allocations are missing from memory figures: the total allocated memory was not recorded"
    });
    assert!(said);
}
