//! Writes a small report in every format: `sample_report DIRECTORY`.

#![allow(clippy::print_stdout, reason = "an example shows its result")]

use std::error::Error;
use std::path::PathBuf;

use polars::prelude::*;
use report_writers::step_timeline::{StepBar, StepEngine, StepTimeline};
use report_writers::{
    CellKind, Chart, ChartKind, ColumnFormat, GroupColumns, Report, SeriesFrom, Table, WRITERS, terminal,
};

fn main() -> Result<(), Box<dyn Error>> {
    let directory = std::env::args_os().nth(1).map(PathBuf::from).ok_or("usage: sample_report DIRECTORY")?;
    std::fs::create_dir_all(&directory)?;
    let report =
        Report::new("Sample report", vec![timeline()?, categories()?, kernels()?, histogram()?, steps()?])?
            .with_known_names(["timeline", "categories", "kernels", "histogram", "steps", "collectives"]);
    for writer in WRITERS {
        let written = writer.write(&report, &directory.join(format!("sample.{}", writer.name())))?;
        for path in written.paths {
            println!("{}", path.display());
        }
        for warning in written.warnings {
            println!("warning: {warning}");
        }
    }

    let picture = directory.join("steps.svg");
    std::fs::write(&picture, step_picture()?)?;
    println!("{}", picture.display());

    let style = terminal::Style { width: 72, colored: true, unicode: true };
    let parts = [
        terminal::Segment { label: "computation", fraction: 0.914, color: terminal::Color::Green },
        terminal::Segment { label: "exposed communication", fraction: 0.031, color: terminal::Color::Yellow },
        terminal::Segment { label: "idle", fraction: 0.055, color: terminal::Color::Red },
    ];
    print!("\n{}\n", terminal::bar(&parts, style));
    let columns = [
        terminal::TextColumn { header: "kernel", alignment: terminal::Alignment::Left },
        terminal::TextColumn { header: "time (µs)", alignment: terminal::Alignment::Right },
    ];
    let rows: Vec<Vec<String>> =
        KERNELS.iter().map(|k| vec![k.1.to_owned(), format!("{:.3}", k.2)]).collect();
    print!("{}", terminal::table(&columns, &rows, style));
    Ok(())
}

const PHASES: [&str; 3] = ["Prefill", "Decode", "Mixed"];

/// Phase, tokens of prompts, generated tokens, busy time in ms.
const STEPS: [(usize, i64, i64, f64); 8] = [
    (0, 15360, 0, 92.0),
    (1, 0, 32, 6.1),
    (1, 0, 32, 6.2),
    (1, 0, 31, 6.0),
    (2, 2048, 31, 21.5),
    (1, 0, 32, 6.3),
    (1, 0, 32, 6.1),
    (1, 0, 30, 5.9),
];

fn steps() -> Result<Table, Box<dyn Error>> {
    let frame = df!(
        "step" => (0_i64..).take(STEPS.len()).collect::<Vec<_>>(),
        "phase" => STEPS.map(|step| PHASES[step.0]),
        "prompt tokens" => STEPS.map(|step| step.1),
        "generated tokens" => STEPS.map(|step| step.2),
        "busy (ms)" => STEPS.map(|step| step.3),
    )?;
    let formats = vec![
        ColumnFormat::new(CellKind::Integer, "Number of the step."),
        ColumnFormat::new(CellKind::Text, "What it does."),
        ColumnFormat::new(CellKind::Integer, "Tokens of prompts."),
        ColumnFormat::new(CellKind::Integer, "Tokens that it generates."),
        ColumnFormat::new(CellKind::Milliseconds, "Time in ms that the device is busy with it."),
    ];
    let chart = GroupColumns {
        title: "Busy time of steps".into(),
        categories: "step".into(),
        category_axis: "step".into(),
        values: "busy (ms)".into(),
        value_axis: "busy time (ms)".into(),
        groups: "phase".into(),
        group_order: PHASES.map(String::from).to_vec(),
        labels: vec!["prompt tokens".into(), "generated tokens".into()],
        max_rows: 500,
    };
    Ok(Table::new("steps", frame, formats)?.with_group_columns(chart)?)
}

fn step_picture() -> Result<String, Box<dyn Error>> {
    let mut at = 0.0;
    let bars = STEPS.map(|(phase, prompt, generated, busy_ms)| {
        let from = at;
        at += busy_ms + 0.7;
        StepBar {
            span_ms: Some((from, from + busy_ms)),
            busy_ms,
            phase,
            label: (prompt + generated).to_string(),
        }
    });
    let timeline = StepTimeline {
        title: "Sample steps".into(),
        phases: PHASES.map(String::from).to_vec(),
        label_meaning: "tokens".into(),
        engines: vec![StepEngine { name: String::new(), steps: bars.to_vec() }],
        footnote: String::new(),
    };
    Ok(timeline.to_svg()?)
}

fn timeline() -> Result<Table, Box<dyn Error>> {
    let frame = df!(
        "type" => ["computation_time", "exposed_comm_time", "busy_time", "idle_time", "total_time"],
        "time ms" => [31.903115234375, 1.082, 32.985115234375, 1.91, 34.895115234375],
        "percent" => [91.42573, 3.10072, 94.52645, 5.47355, 100.0],
    )?;
    let chart = Chart::new(ChartKind::StackedBar, "Where the device's time goes", "type", ["time ms"])
        .with_series_from(SeriesFrom::Rows)
        .with_only_rows(["computation_time", "exposed_comm_time", "idle_time"])
        .with_value_axis("time (ms)");
    Ok(Table::new(
        "timeline",
        frame,
        vec![
            ColumnFormat::new(CellKind::Text, "Part of the traced time."),
            ColumnFormat::new(CellKind::Milliseconds, "Length of the part in ms."),
            ColumnFormat::new(CellKind::Percent, "Share of the traced time in percent."),
        ],
    )?
    .with_chart(chart)?)
}

fn categories() -> Result<Table, Box<dyn Error>> {
    let frame = df!(
        "op category" => ["elementwise", "GEMM", "SDPA_fwd", "reduce", "other"],
        "Count" => [735u64, 169, 24, 49, 12],
        "direct (ms)" => [17.360615, 9.001278, 2.722704, 0.743327, 0.2],
        "subtree (ms)" => [18.1, 9.3, 2.722704, 1.1, 0.4],
        "Percentage (%)" => [Some(57.81), Some(29.97), Some(9.07), Some(2.48), None],
    )?;
    let chart =
        Chart::new(ChartKind::Bar, "Device time by category", "op category", ["direct (ms)", "subtree (ms)"])
            .with_only_rows(["elementwise", "GEMM", "reduce", "other"])
            .with_value_axis("time (ms)");
    Ok(Table::new(
        "categories",
        frame,
        vec![
            ColumnFormat::new(CellKind::Text, "Category of the operation."),
            ColumnFormat::new(CellKind::Integer, "Number of operations."),
            ColumnFormat::new(CellKind::Milliseconds, "Time of the kernels that the operations launch, in ms."),
            ColumnFormat::new(
                CellKind::Milliseconds,
                "Time of all kernels below the operations, in ms. A kernel below two operations of the category \
                 counts once.",
            ),
            ColumnFormat::new(CellKind::Percent, "Share of the direct time of all operations in percent."),
        ],
    )?
    .with_chart(chart)?)
}

const KERNELS: [(&str, &str, f64, u32); 6] = [
    (
        "aten::mm",
        "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas",
        6588.415,
        96,
    ),
    (
        "aten::_flash_attention_forward",
        "void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, false, cutlass::bfloat16_t>>(Flash_fwd_params)",
        2722.705,
        24,
    ),
    (
        "aten::add",
        "void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::CUDAFunctor_add<c10::BFloat16>>>(int)",
        1671.096,
        48,
    ),
    (
        "aten::mul",
        "void at::native::elementwise_kernel<128, 2, at::native::BinaryFunctor<float, float, float>>(int)",
        1608.923,
        49,
    ),
    (
        "aten::mean",
        "void at::native::reduce_kernel<512, 1, at::native::MeanOps<float, float, float, float>>(ReduceOp)",
        743.327,
        49,
    ),
    ("", "Memset (Device)", 39.75, 48),
];

fn kernels() -> Result<Table, Box<dyn Error>> {
    let frame = df!(
        "Parent cpu_op" => KERNELS.map(|k| Some(k.0).filter(|op| !op.is_empty())),
        "Kernel name" => KERNELS.map(|k| k.1),
        "Input Dims" => ["((8944, 1024), (1024, 2816))"; 6],
        "Kernel duration (µs)_sum" => KERNELS.map(|k| k.2),
        "Kernel duration (µs)_count" => KERNELS.map(|k| k.3),
        "TB/s_mean" => [1.1975199165160728, 0.0646, 1.5785550214158972, 2.232889871737575, 2.4, f64::NAN],
        "has_perf_model" => [true, true, true, true, false, false],
    )?;
    let chart = Chart::new(ChartKind::Bar, "Longest kernels", "Kernel name", ["Kernel duration (µs)_sum"])
        .with_max_rows(5)
        .with_value_axis("time (µs)");
    Ok(Table::new(
        "kernels",
        frame,
        vec![
            ColumnFormat::new(CellKind::Text, "Operation that launched the kernel."),
            ColumnFormat::new(CellKind::Text, "Name of the kernel."),
            ColumnFormat::new(CellKind::Literal, "Shapes of the operation's inputs in elements."),
            ColumnFormat::new(CellKind::Microseconds, "Sum of the durations in µs."),
            ColumnFormat::new(CellKind::Integer, "Number of runs."),
            ColumnFormat::new(CellKind::Number, "Mean of the achieved memory throughput in TB/s."),
            ColumnFormat::new(CellKind::Text, "Whether the operation's work is known."),
        ],
    )?
    .with_chart(chart)?)
}

fn histogram() -> Result<Table, Box<dyn Error>> {
    let starts: Vec<f64> = (0..30u32).map(|bin| 1.471 + f64::from(bin) * 0.25).collect();
    let counts: Vec<i64> = (0..30i64).map(|bin| (bin * 37) % 23).collect();
    let frame = df!("bin_start" => starts, "count" => counts)?;
    let chart =
        Chart::new(ChartKind::Column, "Short kernels", "bin_start", ["count"]).with_value_axis("kernels");
    Ok(Table::new(
        "histogram",
        frame,
        vec![
            ColumnFormat::new(CellKind::Microseconds, "Shortest duration of the bin in µs."),
            ColumnFormat::new(CellKind::Integer, "Number of kernels in the bin."),
        ],
    )?
    .with_chart(chart)?)
}
