//! Steps from one value to another, as a native chart: stacked columns, of which the lowest part is invisible.

use rust_xlsxwriter::{Chart as NativeChart, ChartFormat, ChartType, XlsxError};
use sheets::{Chart, ChartShape};

use super::cells::{Source, sheet_rows};
use super::charts::{fill, gridlines, lay_out, number, scaled};
use crate::picture::{KINDS, PALETTE};

const WIDTH: u32 = 960;
const HEIGHT: u32 = 420;
/// The plot as shares of the chart: left, top, width, height. Below it stand the names of the steps and the legend.
const PLOT: [f64; 4] = [0.1, 0.13, 0.87, 0.55];
/// Space between columns in percent of their width.
const GAP: u16 = 40;
/// Steps upwards and downwards, in colours that most colour-blind people distinguish.
const RISE: u32 = KINDS[2];
const FALL: u32 = 0x22_8833;

/// The chart with its width in pixels.
pub(super) fn draw(chart: &Chart, own: Source<'_>) -> Result<Option<(NativeChart, u32)>, XlsxError> {
    let ChartShape::Waterfall { base, rise, fall } = chart.shape else { return Ok(None) };
    let Some((categories, _)) = own.column(chart.categories) else { return Ok(None) };
    let rows: Vec<usize> = (1..=sheet_rows(own.table)).collect();
    let parts = [(base, None), (chart.values, Some(PALETTE[0])), (rise, Some(RISE)), (fall, Some(FALL))];
    let mut native = NativeChart::new(ChartType::ColumnStacked);
    let mut highest = 0.0_f64;
    for (name, color) in parts {
        let Some((values, cells)) = own.column(name) else { return Ok(None) };
        highest = cells.cells().filter_map(|cell| number(&cell)).fold(highest, f64::max);
        let series = native.add_series();
        own.set_cells(series, (0, values), (categories, &rows), (values, &rows))?;
        match color {
            Some(color) => series.set_format(&mut fill(color)),
            None => {
                series.set_format(ChartFormat::new().set_no_fill().set_no_line()).delete_from_legend(true)
            }
        };
        series.set_gap(GAP);
    }
    if rows.is_empty() || highest <= 0.0 {
        return Ok(None);
    }
    lay_out(&mut native, (chart.title, 14), [WIDTH, HEIGHT], PLOT);
    let (axis, format) = scaled(chart.axis, highest);
    native.y_axis().set_name(&*axis).set_num_format(format);
    gridlines(native.y_axis());
    Ok(Some((native, WIDTH)))
}
