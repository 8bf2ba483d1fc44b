//! The sheets of whole trace files, beside the text that they had when somebody last looked.

use std::fmt::Write;
use std::num::NonZeroUsize;
use std::path::Path;

use operator_sheets::KernelOptions;
use trace_ingest::{ReadOptions, read_path};
use tree_perf::{Analysis, AnalysisOptions, pytorch_sheets};

use crate::common::Table;
use crate::incomplete_traces::{everything, sheets};

const ROWS: usize = 10;
const CELL: usize = 32;

fn read(file: &str, options: AnalysisOptions) -> Analysis {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(file);
    Analysis::new(read_path(&path, &ReadOptions::default()).unwrap(), options)
}

/// All sheets: how many rows, and the first of them with long cells cut; then what they leave out.
fn first_rows(analysis: &Analysis) -> String {
    let mut text = String::new();
    for sheet in pytorch_sheets() {
        let Some(table) = Table::build(analysis, &sheet.name) else { continue };
        writeln!(text, "# {}, {} rows\n{}", sheet.name, table.rows.len(), table.headers.join(",")).unwrap();
        for row in table.rows.iter().take(ROWS) {
            let cells: Vec<String> = row
                .iter()
                .map(|cell| cell.iter().flat_map(|cell| cell.chars()).take(CELL).collect())
                .collect();
            writeln!(text, "{}", cells.join(",")).unwrap();
        }
        text.push('\n');
    }
    text.push_str("# left out\n");
    for notice in analysis.notices() {
        writeln!(text, "{notice}").unwrap();
    }
    text
}

#[test]
fn frames_change_nothing_where_no_option_needs_them() {
    let options = AnalysisOptions {
        kernel_summary: true,
        kernels: KernelOptions { short_kernel_study: true, ..KernelOptions::default() },
        include_overlap_info: true,
        include_first_occurrence_time: true,
        ..AnalysisOptions::default()
    };
    assert!(!options.tree_options().python_frames);
    for file in ["generated/cuda_training_step.json.gz", "generated/rocm_training_step.json.gz"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata").join(file);
        let [with, without] = [false, true].map(|skip_python_frames| {
            let reading = ReadOptions { skip_python_frames, ..ReadOptions::default() };
            Analysis::new(read_path(&path, &reading).unwrap(), options.clone())
        });
        assert!(without.trace().skipped_frames() > 100 && with.trace().skipped_frames() == 0, "{file}");
        for sheet in pytorch_sheets() {
            let [with, without] = [&with, &without].map(|analysis| Table::build(analysis, &sheet.name));
            let [with, without] = [with, without].map(|table| table.map(|table| (table.headers, table.rows)));
            assert_eq!(with, without, "{file}: {}", sheet.name);
        }
    }
}

#[test]
fn generated_traces_have_the_sheets_they_had() {
    for flavour in ["cuda", "rocm"] {
        let options = AnalysisOptions {
            micro_idle_thresh_us: Some(5.0),
            kernel_summary: true,
            kernels: KernelOptions {
                short_kernel_study: true,
                short_kernel_histogram_bins: NonZeroUsize::new(ROWS).unwrap(),
                ..KernelOptions::default()
            },
            ..AnalysisOptions::default()
        };
        let analysis = read(&format!("generated/{flavour}_training_step.json.gz"), options);
        let accept = "an operator or column that was added? INSTA_UPDATE=always cargo test -p tracelens-tree-perf --test sheets golden";
        insta::with_settings!({ snapshot_path => "../snapshots", prepend_module_to_snapshot => false, description => accept }, {
            insta::assert_snapshot!(format!("{flavour}_training_step"), first_rows(&analysis));
        });
    }
}

#[test]
fn recordings_of_a_host_alone_have_the_sheets_of_operators_and_none_of_devices() {
    for name in [
        "compiled_cpp",
        "conv_net_step",
        "gloo_collectives_rank0",
        "gloo_collectives_rank1",
        "stacks_modules",
        "transformer_fp8",
        "transformer_step",
    ] {
        let analysis = read(&format!("recorded/cpu/{name}.json.gz"), everything());
        assert_eq!(analysis.device_event_count(), 0, "{name}");
        assert!(!analysis.is_gpu_only(), "{name}");
        let expected = [
            "ops_summary_by_category",
            "ops_summary",
            "host_ops",
            "unified_perf_summary",
            "short_kernels_histogram",
            "short_kernels_all_details",
        ];
        // The host alone shows iterations.
        let mut sheets = sheets(&analysis);
        sheets.retain(|sheet| !sheet.starts_with("iteration"));
        let names: Vec<&str> = sheets.iter().filter_map(|sheet| sheet.split(':').next()).collect();
        let collectives = name.starts_with("gloo").then_some("coll_analysis");
        assert_eq!(names, expected.into_iter().chain(collectives).collect::<Vec<_>>(), "{name}");
    }
}
