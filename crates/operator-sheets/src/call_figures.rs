//! The figures of a row that stands for several calls, and their columns.

use gpu_timeline::Spread;
use perf_models::{ComputeSpec, Gap, Roofline, Undefined};
use sheets::{Absence, AbsenceCode, Column, Field};

use crate::figures::Figures;
use sheets::columns::{COMPUTE_SPEC, PCT_ROOFLINE, ROOFLINE_BOUND, ROOFLINE_TIME, TB_PER_S, TFLOPS_PER_S};

/// Work of the first call that has it, and rates over all calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallFigures {
    /// Floating-point operations in units of 1e9.
    pub gflops: Option<f64>,
    /// Bytes in units of 1024².
    pub mebibytes: Option<f64>,
    /// Arithmetic intensity in FLOPs per byte.
    pub intensity: Option<f64>,
    /// Peak that the work is held against.
    pub spec: Option<ComputeSpec>,
    /// Least time of the work on the architecture.
    pub roofline: Option<Roofline>,
    /// Achieved bandwidth in units of 1e12 bytes per second.
    pub tb_per_s: Spread,
    /// Achieved rate in units of 1e12 floating-point operations per second.
    pub tflops_per_s: Spread,
    /// Least time over measured time, in percent.
    pub percent_of_roofline: Spread,
}

/// Why a cell with a figure of a model is empty.
#[must_use]
pub fn absence(Undefined { gap, reason }: Undefined) -> Absence {
    let code = match gap {
        Gap::NoModel => AbsenceCode::NoModel,
        Gap::NoFormula => AbsenceCode::NoFormula,
        Gap::Arguments => AbsenceCode::Arguments,
        Gap::DataType => AbsenceCode::DataType,
    };
    Absence { code, reason }
}

impl CallFigures {
    /// The figures of the calls that have some.
    pub fn new<'f>(calls: impl Iterator<Item = &'f Figures> + Clone) -> Self {
        let spread = |figure: fn(&Figures) -> Option<f64>| Spread::from_values(calls.clone().map(figure));
        CallFigures {
            gflops: calls.clone().next().map(Figures::gflops),
            mebibytes: calls.clone().find_map(Figures::mebibytes),
            intensity: calls.clone().find_map(Figures::intensity),
            spec: calls.clone().find_map(|figures| figures.spec),
            roofline: calls.clone().find_map(|figures| figures.roofline),
            tb_per_s: spread(Figures::tb_per_s),
            tflops_per_s: spread(Figures::tflops_per_s),
            percent_of_roofline: spread(Figures::percent_of_roofline),
        }
    }

    /// The peak as sheets show it.
    pub fn spec_text(&self) -> Option<String> {
        self.spec.as_ref().map(ComputeSpec::to_string)
    }

    /// Why there is no rate although there is work.
    fn without_rate(work: Option<f64>) -> Option<Absence> {
        let absence = Absence::new(AbsenceCode::Undefined, "no rate is defined: work or time is 0");
        work.map(|_| absence)
    }

    /// Why there is no intensity although FLOPs and bytes are known.
    fn without_intensity(&self) -> Option<Absence> {
        self.mebibytes.map(|_| Absence::new(AbsenceCode::Undefined, "no bytes are moved"))
    }

    /// Why there is no least time although FLOPs and bytes are known.
    fn without_roofline(&self) -> Option<Absence> {
        let absence = Absence::new(AbsenceCode::Undefined, "the architecture has no peak for this work");
        self.mebibytes.filter(|_| self.roofline.is_none()).map(|_| absence)
    }
}

/// FLOPs, bytes and intensity, under the names of these columns. `gap` says why the model has none.
pub fn work_fields<C, R>(
    [gflops, data_moved, intensity]: [Column; 3],
    figures: impl Fn(&R) -> &CallFigures + Copy + Send + Sync + 'static,
    gap: impl Fn(&C, &R) -> Option<Absence> + Copy + Send + Sync + 'static,
) -> [Field<C, R>; 3] {
    [
        gflops.field(move |row| figures(row).gflops.into()),
        data_moved.field(move |row| figures(row).mebibytes.into()),
        intensity
            .field(move |row| figures(row).intensity.into())
            .because(move |_, row| figures(row).without_intensity()),
    ]
    .map(|field| field.because(gap))
}

/// Achieved bandwidth and rate over calls. `gap` says why the model has no bytes, or no FLOPs.
pub fn rate_fields<C, R>(
    figures: impl Fn(&R) -> &CallFigures + Copy + Send + Sync + 'static,
    gap: impl Fn(&C, &R) -> Option<Absence> + Copy + Send + Sync + 'static,
) -> impl Iterator<Item = Field<C, R>> {
    let bandwidth = TB_PER_S
        .fields(move |row| &figures(row).tb_per_s)
        .map(|field| field.because(move |_, row| CallFigures::without_rate(figures(row).mebibytes)));
    let rate = TFLOPS_PER_S
        .fields(move |row| &figures(row).tflops_per_s)
        .map(|field| field.because(move |_, row| CallFigures::without_rate(figures(row).gflops)));
    bandwidth.into_iter().chain(rate).map(move |field| field.because(gap))
}

/// The peak, and with an architecture the columns of the roofline. `gap` says why the model has no FLOPs or no bytes.
pub fn roofline_fields<C, R>(
    has_architecture: impl Fn(&C) -> bool + Copy + Send + Sync + 'static,
    figures: impl Fn(&R) -> &CallFigures + Copy + Send + Sync + 'static,
    gap: impl Fn(&C, &R) -> Option<Absence> + Copy + Send + Sync + 'static,
) -> impl Iterator<Item = Field<C, R>> {
    let roofline = [
        ROOFLINE_TIME.field(move |row| figures(row).roofline.map(|roofline| roofline.time_us()).into()),
        ROOFLINE_BOUND
            .named("Roofline Bound_first")
            .field(move |row| figures(row).roofline.map(|roofline| roofline.bound().to_string()).into()),
    ];
    let percent = PCT_ROOFLINE.fields(move |row| &figures(row).percent_of_roofline);
    let known = roofline
        .into_iter()
        .chain(percent)
        .map(move |field| field.because(move |_, row| figures(row).without_roofline()).because(gap));
    let spec = COMPUTE_SPEC.field(move |row| figures(row).spec_text().into());
    std::iter::once(spec).chain(known.map(move |field| field.when(has_architecture)))
}
