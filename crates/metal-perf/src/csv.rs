//! The report as CSV files.

use std::io::{self, Write};

use sheets::Cell;

use crate::options::GroupBy;
use crate::report::MetalReport;
use crate::sheets::ops::{
    self, ADVICE, CALL_COUNT, INPUT_0_DATATYPE, INPUT_1_DATATYPE, OUTPUT_DATATYPE, OWN_COLUMNS, RAW_OP_CODE,
};
use crate::stacked::stacked;
use crate::tt_perf_report::BlankCells;

/// What the file of operations holds besides the columns that it always has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CsvOptions {
    /// A column with the advice on each operation.
    pub advice: bool,
    /// A column with the operation's name as the profiler wrote it.
    pub raw_op_codes: bool,
}

impl Default for CsvOptions {
    fn default() -> Self {
        CsvOptions { advice: true, raw_op_codes: false }
    }
}

/// Writes the sheet of operations, a line each, with all digits: times in µs, `DRAM` in 1e9 bytes per second, `FLOPs` in
/// 1e12 operations per second. Lines end with CR LF.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_csv(report: &MetalReport, options: CsvOptions, out: &mut impl Write) -> io::Result<()> {
    let compat = report.options.compat;
    let sheet = ops::sheet();
    let shared = sheet.columns.len() - OWN_COLUMNS;
    let is_shown = |(position, name): &(usize, &str)| match *name {
        _ if *position >= shared => !compat,
        name if name == ADVICE.name => options.advice,
        name if name == RAW_OP_CODE.name => options.raw_op_codes,
        _ => true,
    };
    let names = || sheet.columns.iter().map(|column| column.name).enumerate().filter(is_shown);
    let mut line = Line::new(out, "\r\n");
    for (_, name) in names() {
        line.text(name)?;
    }
    line.end()?;
    let Some(table) = sheet.table(report).map_err(io::Error::other)? else { return Ok(()) };
    let has = report.table.has;
    let datatypes = [
        (OUTPUT_DATATYPE.name, has.output_0_datatype),
        (INPUT_0_DATATYPE.name, has.input_0_datatype),
        (INPUT_1_DATATYPE.name, has.input_1_datatype),
    ];
    let compat = compat.then(|| BlankCells::of(&report.table, datatypes, CALL_COUNT.name));
    for row in 0..table.height() {
        for (position, name) in names() {
            let cell = table.columns()[position].cell(row);
            line.cell(&match &compat {
                Some(compat) => compat.cell(name, cell),
                None => cell,
            })?;
        }
        line.end()?;
    }
    Ok(())
}

/// Writes the summary, a line per group, with two digits behind the point: times in µs, shares in percent. Lines end
/// with LF.
///
/// # Errors
/// When `out` cannot be written to.
pub fn write_summary_csv(report: &MetalReport, out: &mut impl Write) -> io::Result<()> {
    let by_category = report.options.group_by == GroupBy::Category;
    let groups = stacked(report);
    let by_device = groups.iter().any(|group| group.device.is_some());
    let mut line = Line::new(out, "\n");
    line.text("Total % [%]")?;
    line.text("Op Code")?;
    if by_device {
        line.text("Device")?;
    }
    line.text("Device Time Sum [μs]")?;
    line.text("Op Count")?;
    if !by_category {
        for name in ["Op Category", "Min FLOPs [%]", "Max FLOPs [%]", "Mean FLOPs [%]", "Std FLOPs [%]"] {
            line.text(name)?;
        }
        line.text("Weighted Mean FLOPs [%]")?;
    }
    let has_buffers = groups.iter().any(|group| group.buffer.is_some());
    if has_buffers {
        line.text("Buffer")?;
    }
    line.end()?;
    for group in &groups {
        line.rounded(Some(group.percent))?;
        line.text(&group.name)?;
        if by_device {
            line.whole(group.device)?;
        }
        line.rounded(Some(group.time_us))?;
        line.whole(Some(group.count as i64))?;
        if !by_category {
            line.text(group.category.map_or("", |category| category.as_str()))?;
            let flops = [
                group.flops.map(|flops| flops.min),
                group.flops.map(|flops| flops.max),
                group.flops.map(|flops| flops.mean),
                group.flops.and_then(|flops| flops.std),
                group.flops.and_then(|flops| flops.weighted_mean),
            ];
            for figure in flops {
                line.rounded(figure)?;
            }
        }
        if has_buffers {
            line.text(group.buffer.as_deref().unwrap_or_default())?;
        }
        line.end()?;
    }
    Ok(())
}

/// A line of a CSV file, cell by cell.
struct Line<'a, W> {
    out: &'a mut W,
    ending: &'static str,
    first: bool,
}

impl<'a, W: Write> Line<'a, W> {
    fn new(out: &'a mut W, ending: &'static str) -> Self {
        Line { out, ending, first: true }
    }

    fn end(&mut self) -> io::Result<()> {
        self.first = true;
        self.out.write_all(self.ending.as_bytes())
    }

    fn empty(&mut self) -> io::Result<()> {
        if !self.first {
            self.out.write_all(b",")?;
        }
        self.first = false;
        Ok(())
    }

    /// A text that cannot be taken for a formula: a spreadsheet would run what starts with one of these characters.
    fn text(&mut self, text: &str) -> io::Result<()> {
        self.empty()?;
        let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
        if text.contains([',', '"', '\r', '\n']) {
            write!(self.out, "\"{guard}{}\"", text.replace('"', "\"\""))
        } else {
            write!(self.out, "{guard}{text}")
        }
    }

    /// Numbers with the fewest digits that read back as the same number; figures that do not exist are empty.
    fn cell(&mut self, cell: &Cell<'_>) -> io::Result<()> {
        match cell {
            Cell::Text(text) => self.text(text),
            Cell::Number(number) if !number.is_finite() => self.empty(),
            cell => {
                self.empty()?;
                self.out.write_all(cell.text().as_bytes())
            }
        }
    }

    fn whole(&mut self, value: Option<impl Into<i64>>) -> io::Result<()> {
        self.empty()?;
        value.map_or(Ok(()), |value| write!(self.out, "{}", value.into()))
    }

    /// A number with two digits behind the point.
    fn rounded(&mut self, value: Option<f64>) -> io::Result<()> {
        self.empty()?;
        value.filter(|value| value.is_finite()).map_or(Ok(()), |value| write!(self.out, "{value:.2}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(write: impl FnOnce(&mut Line<'_, Vec<u8>>) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        let mut line = Line::new(&mut out, "\r\n");
        write(&mut line).unwrap();
        line.end().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn texts_are_quoted_only_where_they_must_be() {
        let cases = [
            ("BF16 => BF16", "BF16 => BF16"),
            ("UINT32, BF16 => BF16", "\"UINT32, BF16 => BF16\""),
            ("say \"so\"", "\"say \"\"so\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("", ""),
        ];
        for (text, cell) in cases {
            assert_eq!(line(|line| line.text(text)), format!("{cell}\r\n"));
        }
    }

    #[test]
    fn texts_that_a_spreadsheet_would_run_are_guarded() {
        for start in ["=", "+", "-", "@", "\t"] {
            assert_eq!(line(|line| line.text(&format!("{start}1"))), format!("'{start}1\r\n"));
        }
        assert_eq!(line(|line| line.text("\r1")), "\"'\r1\"\r\n");
        assert_eq!(line(|line| line.text("=a,b")), "\"'=a,b\"\r\n");
        assert_eq!(line(|line| line.text("a=b")), "a=b\r\n");
    }

    #[test]
    fn cells_are_separated_by_commas_and_figures_rounded() {
        let cells = line(|line| {
            line.whole(Some(2_u32))?;
            line.rounded(None)?;
            line.rounded(Some(267.065))?;
            line.whole(Some(-3_i64))
        });
        assert_eq!(cells, "2,,267.06,-3\r\n");
    }
}
