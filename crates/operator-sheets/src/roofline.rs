//! Operators under the ceilings of the device: what every picture of a roofline is drawn from, and its two sheets.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use gpu_timeline::SortFew;
use perf_models::{Architecture, ComputeSpec, DataPath, PeakBasis};
use sheets::names::{ROOFLINE, ROOFLINE_POINTS};
use sheets::{
    Cell, Chart, ChartShape, Column, ColumnKind, Figure, Nested, Role, ScatterPoints, Sheet, Unit, percent,
};

use crate::category::OpCategory;
use crate::figures::Figures;
use sheets::columns;

/// A peak of arithmetic with the work that is held against it.
#[derive(Clone, Debug, PartialEq)]
pub struct Roof {
    /// Unit and precision of the work.
    pub spec: ComputeSpec,
    /// The peak that it is held against; another one than `spec` where the architecture states none for that.
    pub peak: ComputeSpec,
    /// That peak in 10¹² operations a second.
    pub peak_tflops: f64,
    /// What that peak is a figure of.
    pub basis: PeakBasis,
    /// Operations per byte at which the bandwidth of the memory feeds just that peak.
    pub ridge: f64,
    /// Bandwidth of the memory in 10⁹ bytes a second.
    pub bandwidth_gb_per_s: f64,
    /// The work, most kernel time first; never empty.
    pub points: Vec<RooflinePoint>,
}

/// Calls of one operator with the same arguments that have FLOPs, bytes, time and a peak.
#[derive(Clone, Debug, PartialEq)]
pub struct RooflinePoint {
    /// Operator.
    pub name: String,
    /// Kind of its work.
    pub category: OpCategory,
    /// Calls.
    pub calls: usize,
    /// Bytes that a call moves.
    pub bytes: f64,
    /// Arithmetic intensity in operations per byte, above zero.
    pub intensity: f64,
    /// Mean over calls of the achieved rate in 10¹² operations a second, above zero.
    pub tflops: f64,
    /// Sum over calls of the kernel time, in µs.
    pub kernel_time_us: f64,
    /// The same in the recording's unit of time.
    pub time: i64,
    /// Shapes of the inputs, where they are recorded.
    pub dims: Option<Nested>,
    /// Index of the first of the calls in the recording's list of events.
    pub uid: i64,
}

impl Roof {
    /// The roofs of these points, each with the peak of its work and the peak that it is held against; that with the
    /// most kernel time first. A point stays out where the architecture states no such peak.
    pub fn group(
        architecture: &Architecture,
        points: impl IntoIterator<Item = (ComputeSpec, ComputeSpec, RooflinePoint)>,
    ) -> Vec<Roof> {
        let mut roofs: Vec<Roof> = Vec::new();
        for (spec, peak, point) in points {
            match roofs.iter_mut().find(|roof| roof.spec == spec) {
                Some(roof) => roof.points.push(point),
                None => roofs.extend(Roof::new(architecture, spec, peak, point)),
            }
        }
        let time = |roof: &Roof| roof.points.iter().map(|point| point.time).sum::<i64>();
        roofs.sort_few_by_key(|roof| (Reverse(time(roof)), roof.spec));
        roofs
    }

    /// `None` where the architecture states no such peak.
    fn new(
        architecture: &Architecture,
        spec: ComputeSpec,
        peak: ComputeSpec,
        first: RooflinePoint,
    ) -> Option<Self> {
        let (peak_tflops, ridge) = (architecture.peak_tflops(peak)?, architecture.ridge_point(peak)?);
        let (basis, bandwidth_gb_per_s) =
            (architecture.basis_of(peak)?, architecture.memory_bandwidth_gb_per_s);
        Some(Roof { spec, peak, peak_tflops, basis, ridge, bandwidth_gb_per_s, points: vec![first] })
    }

    /// The rate at which the architecture can do work of so many operations per byte, in 10¹² operations a
    /// second: the peak, or what the bandwidth feeds, whichever is smaller (Williams, Waterman, Patterson,
    /// *Roofline*, Communications of the ACM 52(4), 2009).
    pub fn attainable_tflops(&self, intensity: f64) -> f64 {
        (self.bandwidth_gb_per_s * intensity / 1e3).min(self.peak_tflops)
    }
}

/// An analysis with operators that can stand under a roofline.
pub trait Rooflines {
    /// The peaks with the operators that are held against each, that with the most kernel time first.
    fn roofs(&self) -> &[Roof];
    /// Kernel time of all operators, those without a place under a roofline included, in the recording's unit.
    fn kernel_time(&self) -> i64;
    /// A time of the recording in ms.
    fn milliseconds(&self, time: i64) -> f64;
    /// Shows all device work, call by call, in no particular order.
    fn visit_calls(&self, visit: &mut dyn FnMut(RooflineCall<'_>));
}

/// A call of an operator, or device events that belong to none, held against their roofline.
pub struct RooflineCall<'a> {
    /// Operator.
    pub name: &'a str,
    /// Device time in µs.
    pub kernel_time_us: f64,
    /// Its work held against its time; `None` where the work is unknown.
    pub figures: Option<Figures>,
    /// Why FLOPs and bytes are not known; `None` where they are.
    pub gap: Option<&'static str>,
}

/// The highest rates of the calls of a recording: what stands in for peaks where these are not known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BestRates {
    /// 10¹² floating-point operations a second, with their arithmetic and the operator.
    pub tflops_per_s: Option<(f64, ComputeSpec, String)>,
    /// 10¹² bytes a second in the device's memory or its caches, with the operator.
    pub tb_per_s: Option<(f64, String)>,
}

/// Calls below this time in µs stand in for peaks only where no others do: recorders round their times, some to whole
/// microseconds, and what is that short often lies in a cache.
const SHORT_US: f64 = 10.0;

impl BestRates {
    /// The best of an analysis; `None` where no call has figures.
    pub fn new(analysis: &impl Rooflines) -> Option<Self> {
        let mut arithmetic: Option<((bool, f64), ComputeSpec, String)> = None;
        let mut memory: Option<((bool, f64), String)> = None;
        analysis.visit_calls(&mut |call| {
            let Some(figures) = call.figures else { return };
            let rank = |rate: Option<f64>| {
                rate.filter(|&rate| rate > 0.0).map(|rate| (figures.time_us >= SHORT_US, rate))
            };
            if let (Some(rank), Some(spec)) = (rank(figures.tflops_per_s()), figures.spec)
                && arithmetic.as_ref().is_none_or(|(best, ..)| rank > *best)
            {
                arithmetic = Some((rank, spec, call.name.to_owned()));
            }
            if let Some(rank) = rank(figures.tb_per_s())
                && figures.path == DataPath::Memory
                && memory.as_ref().is_none_or(|(best, _)| rank > *best)
            {
                memory = Some((rank, call.name.to_owned()));
            }
        });
        let best = BestRates {
            tflops_per_s: arithmetic.map(|((_, rate), spec, name)| (rate, spec, name)),
            tb_per_s: memory.map(|((_, rate), name)| (rate, name)),
        };
        (best != BestRates::default()).then_some(best)
    }
}

/// How much of the device time the models know, and how much of it is lost.
#[derive(Clone, Debug, PartialEq)]
pub struct RooflineShares {
    /// Time of calls with FLOPs and bytes, in percent of all device time.
    pub modelled_percent: f64,
    /// The rest of the device time by reason, in percent of all of it; the most first.
    pub rest: Vec<(&'static str, f64)>,
    /// Time of calls that take less than twice their roofline, in percent of the time of calls with one; `None` where
    /// there are none.
    pub near_percent: Option<f64>,
    /// Time in µs beyond the roofline by operator, the most first. A call that beats its roofline (its data came from a
    /// cache) makes up for no other.
    pub losses: Vec<(String, f64)>,
    /// Operators without FLOPs and bytes that are neither communication nor copies: the device time of each in percent
    /// of all of it, the most first.
    pub unknown: Vec<(String, f64)>,
}

impl RooflineShares {
    /// Reason of work that is communication.
    pub const COMMUNICATION: &'static str = "communication";
    /// Reason of work that copies or fills memory.
    pub const COPIES: &'static str = "copies";
    /// Reason of device events whose launch is not in the recording.
    pub const UNLINKED: &'static str = "unlinked";

    /// The shares of an analysis; `None` when nothing took any time.
    pub fn new(analysis: &impl Rooflines) -> Option<Self> {
        let (mut all, mut modelled, mut held, mut near) = (0.0, 0.0, 0.0, 0.0);
        let mut rest: BTreeMap<&'static str, f64> = BTreeMap::new();
        let mut losses: BTreeMap<String, f64> = BTreeMap::new();
        let mut unknown: BTreeMap<String, f64> = BTreeMap::new();
        let add = |sums: &mut BTreeMap<String, f64>, name: &str, time: f64| match sums.get_mut(name) {
            Some(sum) => *sum += time,
            None => drop(sums.insert(name.to_owned(), time)),
        };
        analysis.visit_calls(&mut |call| {
            let time = call.kernel_time_us;
            all += time;
            match call.gap {
                None => modelled += time,
                Some(gap) => {
                    *rest.entry(gap).or_default() += time;
                    if ![Self::COMMUNICATION, Self::COPIES, Self::UNLINKED].contains(&gap) {
                        add(&mut unknown, call.name, time);
                    }
                }
            }
            let Some(roofline) = call.figures.and_then(|figures| figures.roofline) else { return };
            let roofline = roofline.time_us();
            held += time;
            if time < 2.0 * roofline {
                near += time;
            }
            if time > roofline {
                add(&mut losses, call.name, time - roofline);
            }
        });
        if all <= 0.0 {
            return None;
        }
        let share = |time: f64| time / all * 100.0;
        Some(RooflineShares {
            modelled_percent: share(modelled),
            rest: most_first(rest.into_iter().map(|(gap, time)| (gap, share(time)))),
            near_percent: (held > 0.0).then(|| near / held * 100.0),
            losses: most_first(losses),
            unknown: most_first(unknown.into_iter().map(|(name, time)| (name, share(time)))),
        })
    }
}

/// Stable: what is equal stays in its order.
fn most_first<N>(sums: impl IntoIterator<Item = (N, f64)>) -> Vec<(N, f64)> {
    let mut sums: Vec<(N, f64)> = sums.into_iter().collect();
    sums.sort_few_by(|a, b| b.1.total_cmp(&a.1));
    sums
}

const INTENSITY: Column = columns::FLOPS_PER_BYTE;
const SPEC: Column = columns::COMPUTE_SPEC;
const HEIGHT: Column = Column::new(
    "Attainable TFLOPS/s",
    ColumnKind::Number(Unit::TeraflopsPerSecond),
    "Attainable rate at this intensity, in TFLOP/s.",
);
const LABEL: Column = Column::text(
    "label",
    "Label of the line: bandwidth in GB/s, or peak rate in TFLOP/s and the ridge point's intensity in FLOP/byte.",
);

/// End of a line; the slope of the memory's bandwidth has no roof of its own.
struct LineEnd<'a> {
    roof: Option<&'a Roof>,
    point: &'static str,
    intensity: f64,
    tflops: f64,
}

/// The roofs as the two ends of each line, with the chart that shows operators under them.
pub fn roofline_sheet<'a, A: Rooflines>() -> Sheet<'a, A> {
    let fields = [
        SPEC.described("Unit and precision of the compute ceiling; empty for the memory slope.")
.with_role(Role::Name)
            .field(|end: &LineEnd<'_>| end.roof.map(|roof| roof.spec.to_string()).into()),
        Column::text(
            "Peak Spec",
            "Reference peak of the architecture; a substitute if it has none for the Compute Spec; empty for the memory slope.",
        )
        .field(|end: &LineEnd<'_>| end.roof.map(|roof| roof.peak.to_string()).into()),
        Column::text(
            "Peak Basis",
            "Source of the line's height: nominal (vendor's data sheet) or achievable (measured with the fastest known kernel); always nominal for the memory slope.",
        ).with_role(Role::Detail)
        .field(|end: &LineEnd<'_>| end.roof.map_or(PeakBasis::Nominal, |roof| roof.basis).to_string().into()),
        LABEL.field_in(|&bandwidth_gb_per_s: &f64, end: &LineEnd<'_>| label(end.roof, bandwidth_gb_per_s).into()),
        Column::text(
            "point",
            "start: left end of the slope; ridge: intersection of the slope and a ceiling (the memory slope ends at the highest ceiling); end: right end of a ceiling.",
        )
        .field(|end: &LineEnd<'_>| end.point.into()),
        INTENSITY
            .described("Floating-point operations per byte. The start and end points are powers of ten outside the range of roofline_points and of the ridges.")
            .field(|end: &LineEnd<'_>| end.intensity.into()),
        HEIGHT.field(|end: &LineEnd<'_>| end.tflops.into()),
    ];
    Sheet::with_context(
        ROOFLINE,
        "Lines of the chart, each by its two end points: the memory bandwidth slope, and for each reference peak the flat ceiling to the right of its ridge point. The operators below the lines are the rows of roofline_points. Omitted without an architecture.",
        fields,
        |analysis: &A| {
            let roofs = analysis.roofs();
            let highest = roofs.iter().max_by(|a, b| a.ridge.total_cmp(&b.ridge))?;
            Some((highest.bandwidth_gb_per_s, line_ends(highest, roofs)))
        },
    )
    .showing(&[Figure::Rooflines, Figure::AllOfTheDevice])
    .with_chart(Chart::new(
        "Operators under the roofline (marker size: 10% of kernel time or more, 1 to 10%, less)",
        LABEL.name,
        HEIGHT.name,
        "achieved rate (TFLOP/s)",
        ChartShape::Scatter {
            x: INTENSITY.name,
            x_axis: "arithmetic intensity (FLOP/byte)",
            groups: SPEC.name,
            points: ScatterPoints {
                table: ROOFLINE_POINTS,
                x: INTENSITY.name,
                y: columns::TFLOPS_PER_S.mean.name,
                groups: SPEC.name,
                labels: columns::OP_NAME.name,
                weights: columns::SHARE_OF_KERNEL_TIME.name,
                thresholds: &[10.0, 1.0],
            },
        },
    ))
}

/// The memory's slope up to the highest ridge, and the level of every roof.
fn line_ends<'a>(highest: &Roof, roofs: &'a [Roof]) -> Vec<LineEnd<'a>> {
    let intensities = roofs
        .iter()
        .flat_map(|roof| roof.points.iter().map(|point| point.intensity).chain(std::iter::once(roof.ridge)));
    let (least, most) = intensities.fold((f64::INFINITY, 0.0_f64), |(least, most), intensity| {
        (least.min(intensity), most.max(intensity))
    });
    // Room beside the outermost points.
    let (start, end) = (10_f64.powf((least / 1.5).log10().floor()), 10_f64.powf((most * 1.5).log10().ceil()));
    let slope = |point, intensity| LineEnd {
        roof: None,
        point,
        intensity,
        tflops: highest.attainable_tflops(intensity),
    };
    let mut ends = vec![slope("start", start), slope("ridge", highest.ridge)];
    for roof in roofs {
        let level =
            |point, intensity| LineEnd { roof: Some(roof), point, intensity, tflops: roof.peak_tflops };
        ends.extend([level("ridge", roof.ridge), level("end", end)]);
    }
    ends
}

fn label(roof: Option<&Roof>, bandwidth_gb_per_s: f64) -> String {
    let Some(roof) = roof else {
        return format!("memory: {} GB/s", rounded(bandwidth_gb_per_s));
    };
    let peak = match roof.peak == roof.spec {
        true => String::new(),
        false => format!(" (compared with {})", roof.peak),
    };
    let (level, ridge) = (rounded(roof.peak_tflops), rounded(roof.ridge));
    format!("{}{peak}: {level} TFLOP/s, ridge {ridge} FLOP/byte", roof.spec)
}

/// To a tenth, small figures to a thousandth.
fn rounded(figure: f64) -> f64 {
    let scale = if figure < 10.0 { 1e3 } else { 10.0 };
    (figure * scale).round() / scale
}

struct PointRow<'a> {
    roof: &'a Roof,
    point: &'a RooflinePoint,
    attainable_tflops: f64,
}

struct Points<'a, A> {
    analysis: &'a A,
    kernel_time: i64,
}

/// The operators under the roofs of [`roofline_sheet`], one row each. The description says which operators.
pub fn roofline_points_sheet<'a, A: Rooflines>(description: &'static str) -> Sheet<'a, A> {
    let fields = [
        columns::OP_NAME
            .described("Operator; <operator>-><kernel> (Synthetic Op) for a device event not covered by its operator's rows.")
            .field(|row: &PointRow<'_>| row.point.name.as_str().into()),
        columns::OP_CATEGORY.field(|row: &PointRow<'_>| row.point.category.as_str().into()),
        SPEC.described("Unit and precision of the reference peak, see roofline.")
            .field(|row: &PointRow<'_>| row.roof.spec.to_string().into()),
        columns::INPUT_DIMS.described("Shapes of the inputs.").distinguishing().field(|row: &PointRow<'_>| row.point.dims.as_ref().into()),
        Column::count("operation_count", "Number of calls.")
            .field(|row: &PointRow<'_>| row.point.calls.into()),
        INTENSITY
            .described("Arithmetic intensity: floating-point operations per byte; horizontal position of the point.")
            .field(|row: &PointRow<'_>| row.point.intensity.into()),
        columns::TFLOPS_PER_S
            .mean
            .described("Mean achieved rate of calls (floating-point operations / kernel time), in TFLOP/s; height of the point.")
            .field(|row: &PointRow<'_>| row.point.tflops.into()),
        HEIGHT
            .described("Height of the roofline at the point's intensity, in TFLOP/s: the peak rate, or what the peak bandwidth sustains at this intensity, whichever is smaller.")
            .field(|row: &PointRow<'_>| row.attainable_tflops.into()),
        columns::PCT_ROOFLINE
            .mean
            .described("Achieved / attainable rate; above 100, the model or the recorded arguments are wrong, or the data came from a cache.")
            .field(|row: &PointRow<'_>| (row.point.tflops / row.attainable_tflops * 100.0).into()),
        Column::milliseconds(
            "Kernel Time (ms)_sum",
            "Union of each call's device event spans, summed over calls.",
        ).with_role(Role::Headline)
        .showing(&[Figure::Unified, Figure::SumsOfDeviceTime])
        .field_in(|points: &Points<'_, A>, row: &PointRow<'_>| points.analysis.milliseconds(row.point.time).into()),
        columns::SHARE_OF_KERNEL_TIME
            .described("Share of the kernel time of all rows of unified_perf_summary, including those without a roofline; size of the point.")
            .field_in(|points: &Points<'_, A>, row: &PointRow<'_>| -> Cell<'_> { percent(row.point.time, points.kernel_time).into() }),
        Column::identifier(
            "ex_UID",
            "Index of the first of these calls in the file's event list, as in unified_perf_summary.",
        )
        .field(|row: &PointRow<'_>| row.point.uid.into()),
    ];
    Sheet::with_context(ROOFLINE_POINTS, description, fields, |analysis: &A| {
        let row = |roof, point: &'a RooflinePoint| PointRow {
            roof,
            point,
            attainable_tflops: roof.attainable_tflops(point.intensity),
        };
        let rows: Vec<PointRow<'_>> = analysis
            .roofs()
            .iter()
            .flat_map(|roof| roof.points.iter().map(move |point| row(roof, point)))
            .collect();
        (!rows.is_empty()).then(|| (Points { analysis, kernel_time: analysis.kernel_time() }, rows))
    })
    .showing(&[Figure::Rooflines, Figure::AllOfTheDevice])
    .with_sums_showing(&[Figure::SharesOfDeviceTime])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::{MissingPeak, Work};

    /// Calls with their operations, bytes, time in µs, and what the bytes pass.
    struct Calls(Vec<(&'static str, f64, f64, f64, DataPath)>);

    impl Rooflines for Calls {
        fn roofs(&self) -> &[Roof] {
            &[]
        }

        fn kernel_time(&self) -> i64 {
            0
        }

        fn milliseconds(&self, _: i64) -> f64 {
            0.0
        }

        fn visit_calls(&self, visit: &mut dyn FnMut(RooflineCall<'_>)) {
            for &(name, flops, bytes, time_us, path) in &self.0 {
                let work = Work { flops: Ok(flops), bytes: Ok(bytes) };
                let figures =
                    Figures::new(&work, "matrix_bf16".parse().ok(), time_us, None, MissingPeak::NoRoofline);
                let figures = figures.map(|figures| Figures { path, ..figures });
                visit(RooflineCall { name, kernel_time_us: time_us, figures, gap: None });
            }
            visit(RooflineCall {
                name: "unknown",
                kernel_time_us: 1.0,
                figures: None,
                gap: Some("no model"),
            });
        }
    }

    #[test]
    fn the_best_rates_are_those_of_calls_that_take_their_time() {
        let best = |calls: &[_]| BestRates::new(&Calls(calls.to_vec()));
        let spec: ComputeSpec = "matrix_bf16".parse().unwrap();
        let short = ("short", 9e9, 90e6, 1.0, DataPath::Memory);
        let product = ("product", 5e9, 1e6, 10.0, DataPath::Memory);
        let sum = ("sum", 1e6, 20e6, 20.0, DataPath::Memory);
        let copy = ("copy", 0.0, 900e6, 100.0, DataPath::Link);
        let expected = BestRates {
            tflops_per_s: Some((500.0, spec, "product".to_owned())),
            tb_per_s: Some((1.0, "sum".to_owned())),
        };
        assert_eq!(best(&[short, product, sum, copy]), Some(expected));
        let of_short = best(&[short]).unwrap();
        assert_eq!(of_short.tflops_per_s, Some((9000.0, spec, "short".to_owned())));
        assert_eq!(best(&[copy]), None);
        assert_eq!(best(&[]), None);
    }

    #[test]
    fn shares_are_of_all_device_time_and_the_rest_has_a_reason() {
        let calls = Calls(vec![
            ("product", 5e9, 1e6, 2.0, DataPath::Memory),
            ("sum", 1e6, 2e7, 1.0, DataPath::Memory),
        ]);
        let shares = RooflineShares::new(&calls).unwrap();
        assert_eq!((shares.modelled_percent, shares.near_percent), (75.0, None));
        assert_eq!(shares.rest, [("no model", 25.0)]);
        assert_eq!(shares.unknown, [("unknown".to_owned(), 25.0)]);
        assert_eq!(shares.losses, []);
    }
}
