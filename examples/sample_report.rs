//! Writes a small report in every format: `sample_report DIRECTORY`.

use std::error::Error;
use std::io::Write;
use std::path::PathBuf;

use report_writers::step_timeline::{MeasuredOn, StepBar, StepEngine, StepTimeline};
use report_writers::{Report, WRITERS, terminal};
use sheets::{Cell, Chart, ChartShape, Column, ColumnKind, Nested, Table, TableColumn, TableError, Unit};

const MS: ColumnKind = ColumnKind::Number(Unit::Milliseconds);
const US: ColumnKind = ColumnKind::Number(Unit::Microseconds);
const PERCENT: ColumnKind = ColumnKind::Number(Unit::Percent);

fn column<'c, C: Into<Cell<'c>>>(
    name: &'static str,
    kind: ColumnKind,
    description: &'static str,
    cells: impl IntoIterator<Item = C>,
) -> TableColumn {
    TableColumn::new(Column::new(name, kind, description), cells.into_iter().map(Into::into))
}

pub(crate) fn run(arguments: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let directory = arguments.first().map(PathBuf::from).ok_or("usage: sample_report DIRECTORY")?;
    std::fs::create_dir_all(&directory)?;
    let report =
        Report::new("Sample report", vec![timeline()?, categories()?, kernels()?, histogram()?, steps()?])?
            .with_known_names(["timeline", "categories", "kernels", "histogram", "steps", "collectives"]);
    for writer in WRITERS {
        let written = writer.write(&report, &directory.join(format!("sample.{}", writer.name())))?;
        for path in written.paths {
            writeln!(out, "{}", path.display())?;
        }
        for warning in written.warnings {
            writeln!(out, "warning: {warning}")?;
        }
    }

    let picture = directory.join("steps.svg");
    std::fs::write(&picture, step_picture()?)?;
    writeln!(out, "{}", picture.display())?;

    let style = terminal::Style { width: 72, colored: true, unicode: true };
    let parts = [
        terminal::Segment { label: "computation", fraction: 0.914, color: terminal::Color::Green },
        terminal::Segment { label: "exposed communication", fraction: 0.031, color: terminal::Color::Yellow },
        terminal::Segment { label: "idle", fraction: 0.055, color: terminal::Color::Red },
    ];
    write!(out, "\n{}\n", terminal::bar(&parts, style))?;
    let columns = [
        terminal::TextColumn::left("kernel", |kernel: &Kernel| kernel.1),
        terminal::TextColumn::right("time (µs)", |kernel: &Kernel| format!("{:.3}", kernel.2)),
    ];
    write!(out, "{}", terminal::table(&columns, &KERNELS, style))?;
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

fn steps() -> Result<Table, TableError> {
    let columns = vec![
        column("step", ColumnKind::Identifier, "Number of the step.", 0..STEPS.len()),
        column("phase", ColumnKind::Text, "What it does.", STEPS.map(|step| PHASES[step.0])),
        column("prompt tokens", ColumnKind::Count, "Tokens of prompts.", STEPS.map(|step| step.1)),
        column("generated tokens", ColumnKind::Count, "Tokens that it generates.", STEPS.map(|step| step.2)),
        column("busy (ms)", MS, "Time in ms that the device is busy with it.", STEPS.map(|step| step.3)),
    ];
    let shape = ChartShape::Grouped {
        title: "step",
        groups: "phase",
        order: &PHASES,
        labels: &["prompt tokens", "generated tokens"],
        rows: 500,
    };
    let chart = Chart::new("Busy time of steps", "step", "busy (ms)", "busy time (ms)", shape);
    Table::new("steps", columns)?.with_chart(chart)
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
        measured_on: MeasuredOn::Device,
        phases: PHASES.map(String::from).to_vec(),
        label_meaning: "tokens".into(),
        engines: vec![StepEngine { name: String::new(), steps: bars.to_vec() }],
        footnote: String::new(),
    };
    Ok(timeline.to_svg()?)
}

fn timeline() -> Result<Table, TableError> {
    let parts = ["computation_time", "exposed_comm_time", "busy_time", "idle_time", "total_time"];
    let times = [31.903115234375, 1.082, 32.985115234375, 1.91, 34.895115234375];
    let shares = [91.42573, 3.10072, 94.52645, 5.47355, 100.0];
    let columns = vec![
        column("type", ColumnKind::Text, "Part of the traced time.", parts),
        column("time ms", MS, "Length of the part in ms.", times),
        column("percent", PERCENT, "Share of the traced time in percent.", shares),
    ];
    let shape =
        ChartShape::Stacked { parts: &["computation_time", "exposed_comm_time", "idle_time"], per: None };
    let chart = Chart::new("Where the device's time goes", "type", "time ms", "time (ms)", shape);
    Table::new("timeline", columns)?.with_chart(chart)
}

fn categories() -> Result<Table, TableError> {
    let names = ["elementwise", "GEMM", "SDPA_fwd", "reduce", "other"];
    let direct = [17.360615, 9.001278, 2.722704, 0.743327, 0.2];
    let shares = [Some(57.81), Some(29.97), Some(9.07), Some(2.48), None];
    let columns = vec![
        column("op category", ColumnKind::Text, "Category of the operation.", names),
        column("Count", ColumnKind::Count, "Number of operations.", [735_u64, 169, 24, 49, 12]),
        column("direct (ms)", MS, "Time of the kernels that the operations launch, in ms.", direct),
        column("Percentage (%)", PERCENT, "Share of the direct time of all operations in percent.", shares),
    ];
    let shape = ChartShape::Bars(10);
    let chart = Chart::new("Device time by category", "op category", "direct (ms)", "time (ms)", shape);
    Table::new("categories", columns)?.with_chart(chart)
}

type Kernel = (&'static str, &'static str, f64, u32);
const KERNELS: [Kernel; 6] = [
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

fn kernels() -> Result<Table, TableError> {
    let shape = |dims: [i64; 2]| Nested::Tuple(dims.map(Nested::Whole).to_vec());
    let shapes = Nested::Tuple(vec![shape([8944, 1024]), shape([1024, 2816])]);
    let operations = KERNELS.map(|kernel| Some(kernel.0).filter(|name| !name.is_empty()));
    let rates = [1.1975199165160728, 0.0646, 1.5785550214158972, 2.232889871737575, 2.4, f64::NAN];
    let columns = vec![
        column("Parent cpu_op", ColumnKind::Text, "Operation that launched the kernel.", operations),
        column("Kernel name", ColumnKind::Text, "Name of the kernel.", KERNELS.map(|kernel| kernel.1)),
        column("Input Dims", ColumnKind::Nested, "Shapes of the inputs in elements.", [&shapes; 6]),
        column("Kernel duration (µs)_sum", US, "Sum of durations.", KERNELS.map(|kernel| kernel.2)),
        column(
            "Kernel duration (µs)_count",
            ColumnKind::Count,
            "Number of runs.",
            KERNELS.map(|kernel| kernel.3),
        ),
        column(
            "TB/s_mean",
            ColumnKind::Number(Unit::TerabytesPerSecond),
            "Mean of the achieved memory throughput in TB/s.",
            rates,
        ),
        column(
            "has_perf_model",
            ColumnKind::Flag,
            "Whether the operation's work is known.",
            [true, true, true, true, false, false],
        ),
    ];
    let shape = ChartShape::Bars(5);
    let chart = Chart::new("Longest kernels", "Kernel name", "Kernel duration (µs)_sum", "time (µs)", shape);
    Table::new("kernels", columns)?.with_chart(chart)
}

fn histogram() -> Result<Table, TableError> {
    let starts = (0..30_u32).map(|bin| 1.471 + f64::from(bin) * 0.25);
    let counts = (0..30_i64).map(|bin| (bin * 37) % 23);
    let columns = vec![
        column("bin_start", US, "Shortest duration of the bin in µs.", starts),
        column("count", ColumnKind::Count, "Number of kernels in the bin.", counts),
    ];
    let shape = ChartShape::Columns("start of the bin (µs)");
    Table::new("histogram", columns)?.with_chart(Chart::new(
        "Short kernels",
        "bin_start",
        "count",
        "kernels",
        shape,
    ))
}
