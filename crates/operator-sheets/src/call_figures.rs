//! The figures of a row that stands for several calls, and their columns.

use gpu_timeline::Spread;
use perf_models::{ComputeSpec, Gap, Roofline, Undefined};
use sheets::{Absence, AbsenceCode, Column, Field};

use crate::columns::{COMPUTE_SPEC, PCT_ROOFLINE, ROOFLINE_BOUND, ROOFLINE_TIME};
use crate::figures::Figures;

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
}

/// FLOPs, bytes and intensity, under the names of these columns.
pub fn work_fields<C, R>(
    [gflops, data_moved, intensity]: [Column; 3],
    figures: impl Fn(&R) -> &CallFigures + Copy + Send + Sync + 'static,
) -> [Field<C, R>; 3] {
    [
        gflops.field(move |row| figures(row).gflops.into()),
        data_moved.field(move |row| figures(row).mebibytes.into()),
        intensity.field(move |row| figures(row).intensity.into()),
    ]
}

/// The peak, and with an architecture the columns of the roofline.
pub fn roofline_fields<C, R>(
    has_architecture: impl Fn(&C) -> bool + Copy + Send + Sync + 'static,
    figures: impl Fn(&R) -> &CallFigures + Copy + Send + Sync + 'static,
) -> impl Iterator<Item = Field<C, R>> {
    let roofline = [
        ROOFLINE_TIME.field(move |row| figures(row).roofline.map(|roofline| roofline.time_us()).into()),
        ROOFLINE_BOUND
            .named("Roofline Bound_first")
            .field(move |row| figures(row).roofline.map(|roofline| roofline.bound().to_string()).into()),
    ];
    let percent = PCT_ROOFLINE.fields(move |row| &figures(row).percent_of_roofline);
    let known = roofline.into_iter().chain(percent);
    let spec = COMPUTE_SPEC.field(move |row| figures(row).spec_text().into());
    std::iter::once(spec).chain(known.map(move |field| field.when(has_architecture)))
}
