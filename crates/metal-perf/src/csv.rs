//! The report as CSV files.

use std::borrow::Cow;
use std::io::{self, Write};

use csv::{Terminator, WriterBuilder};
use sheets::{Cell, Column, ColumnKind, Layout, Sheet, TableColumn, Unit, escaped};

use crate::conventions::BlankCells;
use crate::options::GroupBy;
use crate::report::MetalReport;
use crate::sheets::ops::{
    self, ADVICE, CALL_COUNT, INPUT_0_DATATYPE, INPUT_1_DATATYPE, OUTPUT_DATATYPE, OWN_COLUMNS, RAW_OP_CODE,
};
use crate::sheets::summary;

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
pub fn write_csv(report: &MetalReport, options: CsvOptions, out: &mut impl Write) -> io::Result<()> {
    let is_plain = report.options.conventions.plain_csv;
    let sheet = ops::sheet();
    let shared = sheet.columns.len() - OWN_COLUMNS;
    let is_shown = |position: usize, _: Option<&TableColumn>| match sheet.columns[position].name {
        _ if position >= shared => !is_plain,
        name if name == ADVICE.name => options.advice,
        name if name == RAW_OP_CODE.name => options.raw_op_codes,
        _ => true,
    };
    let has = report.table.has;
    let datatypes = [
        (OUTPUT_DATATYPE.name, has.output_0_datatype),
        (INPUT_0_DATATYPE.name, has.input_0_datatype),
        (INPUT_1_DATATYPE.name, has.input_1_datatype),
    ];
    let blank = is_plain.then(|| BlankCells::new(&report.table, datatypes, CALL_COUNT.name));
    let cell = |column: &Column, cell: Cell<'_>| match &blank {
        Some(blank) => text(&blank.cell(column.name, cell), is_plain),
        None => text(&cell, is_plain),
    };
    write(report, &sheet, Terminator::CRLF, is_shown, |column| column.name.into(), cell, out)
}

/// Writes the summary, a line per group, with two digits behind the point: times in µs, shares in percent. Lines end
/// with LF.
pub fn write_summary_csv(report: &MetalReport, out: &mut impl Write) -> io::Result<()> {
    let sheet = summary();
    let by_category = report.options.group_by == GroupBy::Category;
    let is_shown = |position: usize, column: Option<&TableColumn>| match sheet.columns[position].name {
        "Device" | "Buffer" => {
            column.is_some_and(|column| column.cells().any(|cell| !matches!(cell, Cell::Missing)))
        }
        "Op Category" => !by_category,
        name if name.ends_with(" FLOPs") => !by_category,
        _ => true,
    };
    let header = |column: &Column| match column.kind {
        ColumnKind::Number(Unit::Percent) => format!("{} [%]", column.name).into(),
        ColumnKind::Number(Unit::Microseconds) => format!("{} [μs]", column.name).into(),
        _ => column.name.into(),
    };
    let cell = |_: &Column, cell: Cell<'_>| match cell {
        Cell::Number(number) if number.is_finite() => format!("{number:.2}"),
        cell => text(&cell, report.options.conventions.plain_csv),
    };
    write(report, &sheet, Terminator::Any(b'\n'), is_shown, header, cell, out)
}

/// Writes the columns of a sheet that are shown; only their headers where it has no rows.
fn write<'a>(
    report: &'a MetalReport,
    sheet: &Sheet<'a, MetalReport>,
    terminator: Terminator,
    is_shown: impl Fn(usize, Option<&TableColumn>) -> bool,
    header: impl Fn(&Column) -> Cow<'static, str>,
    cell: impl Fn(&Column, Cell<'_>) -> String,
    out: &mut impl Write,
) -> io::Result<()> {
    let table = sheet.table_in(report, Layout::Listed).map_err(io::Error::other)?;
    let filled = |position: usize| table.as_ref().map(|table| &table.columns()[position]);
    let shown: Vec<usize> =
        (0..sheet.columns.len()).filter(|&position| is_shown(position, filled(position))).collect();
    let mut out = WriterBuilder::new().terminator(terminator).from_writer(out);
    out.write_record(shown.iter().map(|&position| header(&sheet.columns[position]).into_owned()))?;
    for row in 0..table.as_ref().map_or(0, |table| table.height()) {
        for &position in &shown {
            let value = filled(position).map_or(Cell::Missing, |column| column.cell(row));
            out.write_field(cell(&sheet.columns[position], value))?;
        }
        out.write_record(None::<&[u8]>)?;
    }
    out.flush()
}

/// Numbers have the fewest digits that read back as the same number; figures that do not exist are empty. Text cannot be
/// taken for a formula: a spreadsheet would run what starts with one of these characters. A row is one line unless
/// `is_plain` asks for the texts as they are.
fn text(cell: &Cell<'_>, is_plain: bool) -> String {
    match cell {
        Cell::Number(number) if !number.is_finite() => String::new(),
        Cell::Text(text) => {
            let text = if is_plain { Cow::Borrowed(&**text) } else { escaped(text) };
            match text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
                true => format!("'{text}"),
                false => text.into_owned(),
            }
        }
        cell => cell.text().into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hand_made::{Line, report};
    use crate::options::MetalOptions;

    /// The cells of the first column that is a name, as the file of operations has them.
    fn name(name: &'static str) -> String {
        let report = report(&[Line::op(name)], MetalOptions::default());
        let mut out = Vec::new();
        write_csv(&report, CsvOptions::default(), &mut out).unwrap();
        let line = String::from_utf8(out).unwrap().split_once("\r\n").unwrap().1.to_owned();
        line.strip_prefix("2,100.0,,").unwrap().split_once(",0,").unwrap().0.to_owned()
    }

    #[test]
    fn texts_are_quoted_only_where_they_must_be() {
        for (text, cell) in [
            ("BF16 => BF16", "BF16 => BF16"),
            ("UINT32, BF16", "\"UINT32, BF16\""),
            ("say \"so\"", "\"say \"\"so\"\"\""),
            ("two\nlines", "two\\nlines"),
            ("\u{202e}x", "\\u{202e}x"),
        ] {
            assert_eq!(name(text), cell);
        }
    }

    #[test]
    fn texts_that_a_spreadsheet_would_run_are_guarded() {
        for (text, cell) in [
            ("=1", "'=1"),
            ("+1", "'+1"),
            ("-1", "'-1"),
            ("@1", "'@1"),
            ("\t1", "\\t1"),
            ("=a,b", "\"'=a,b\""),
            ("a=b", "a=b"),
        ] {
            assert_eq!(name(text), cell);
        }
    }

    #[test]
    fn the_summary_has_units_two_digits_and_only_the_columns_in_use() {
        let lines =
            [Line { memory: "DEV_0_L1_BLOCK_SHARDED", duration: Some(1234.0), ..Line::op("Transpose") }];
        let summary = |group_by| {
            let report = report(&lines, MetalOptions { group_by, ..MetalOptions::default() });
            let mut out = Vec::new();
            write_summary_csv(&report, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            summary(GroupBy::Category),
            "Total % [%],Op Code,Device Time Sum [μs],Op Count\n100.00,TM,1.23,1\n"
        );
        assert_eq!(
            summary(GroupBy::Memory),
            "Total % [%],Op Code,Device Time Sum [μs],Op Count,Op Category,Min FLOPs [%],Max FLOPs [%],Mean FLOPs [%],\
             Std FLOPs [%],Weighted Mean FLOPs [%],Buffer\n\
             100.00,Transpose (in0:block_sharded),1.23,1,TM,,,,,,L1\n"
        );
    }
}
