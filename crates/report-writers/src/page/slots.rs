//! The data of a page: gzip and base64 in script elements that no browser runs.

use std::io::{self, Write};
use std::sync::Arc;

use base64::engine::general_purpose::STANDARD as BASE64;
use base64::write::EncoderWriter;
use flate2::{Compression, GzBuilder};
use sheets::{Caveat, Chart, ChartShape, ColumnKind, Role, Table, Verdict};

use super::content::Page;
use super::timeline::Timeline;
use crate::json::{PageCell, aggregate_of};
use crate::report::Report;

/// Most rows of a table that a page has; a line says how many more there are.
pub const MOST_ROWS: usize = 5_000;

/// Beyond 6 pages are a hundredth smaller, and take three times as long.
const LEVEL: u32 = 6;

/// Writes the slots: the page, its events, its tables.
pub(super) fn write(page: &Page, report: &Report, output: &mut impl Write) -> io::Result<()> {
    slot("page", output, |mut out| {
        out.write_all(b"{\"page\":")?;
        serde_json::to_writer(&mut out, page)?;
        out.write_all(b",\"timeline\":")?;
        match &page.timeline {
            Some(timeline) => timeline.write_header(&mut out)?,
            None => out.write_all(b"null")?,
        }
        out.write_all(b"}")
    })?;
    if let Some(timeline) = &page.timeline {
        slot("events", output, |out| Timeline::write_events(timeline, out))?;
    }
    // Tables are compressed on as many threads as the report may have, each in a slot of its own, which the page opens
    // when it shows the table.
    let slots = report.each_table(|table| {
        let mut made = Vec::new();
        slot("table", &mut made, |mut out| write_table(table, &mut out))?;
        Ok::<_, io::Error>(made)
    })?;
    slot("tables", output, |mut out| write_contents(report, &mut out))?;
    slots.iter().try_for_each(|slot| output.write_all(slot))
}

fn slot(
    name: &str,
    output: &mut impl Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    write!(output, "<script type=\"application/gzip\" data-slot=\"{name}\">")?;
    // Without a time the same data gives the same bytes.
    let base64 = EncoderWriter::new(&mut *output, &BASE64);
    let mut gzip = GzBuilder::new().mtime(0).write(base64, Compression::new(LEVEL));
    {
        let mut buffered = io::BufWriter::new(&mut gzip);
        write(&mut buffered)?;
        buffered.flush()?;
    }
    gzip.finish()?.finish()?;
    output.write_all(b"</script>\n")
}

/// What tables there are, in the order of their slots.
fn write_contents(report: &Report, out: &mut impl Write) -> io::Result<()> {
    out.write_all(b"[")?;
    for (position, table) in report.tables().iter().enumerate() {
        out.write_all(if position > 0 { b"," } else { b"" })?;
        out.write_all(b"{\"name\":")?;
        serde_json::to_writer(&mut *out, table.name())?;
        write!(out, ",\"rows\":{}}}", table.height())?;
    }
    out.write_all(b"]")
}

fn write_table(table: &Table, out: &mut impl Write) -> io::Result<()> {
    let shown = table.height().min(MOST_ROWS);
    write!(out, "{{\"left_out\":{},\"caveats\":", table.height() - shown)?;
    write_caveats(table.caveats(), out)?;
    out.write_all(b",\"chart\":")?;
    match table.chart() {
        Some(chart) => write_chart(chart, out)?,
        None => out.write_all(b"null")?,
    }
    out.write_all(b",\"columns\":[")?;
    let described = table.headers().into_iter().zip(table.explanations());
    for (position, (column, (header, description))) in table.columns().iter().zip(described).enumerate() {
        out.write_all(if position > 0 { b",\n" } else { b"\n" })?;
        out.write_all(b"{\"name\":")?;
        serde_json::to_writer(&mut *out, column.name())?;
        out.write_all(b",\"title\":")?;
        serde_json::to_writer(&mut *out, &header)?;
        let unit = column.kind().unit().map_or("", sheets::Unit::symbol);
        write!(
            out,
            ",\"kind\":\"{}\",\"unit\":\"{unit}\",\"role\":\"{}\",\"sums\":{},\"better\":\"{}\",\"description\":",
            kind(column.kind()),
            role(column.role()),
            aggregate_of(column) == "sum",
            match column.verdict() {
                Some(Verdict::LessIsBetter) => "less",
                Some(Verdict::AboveOneIsBetter) => "above one",
                None => "",
            }
        )?;
        serde_json::to_writer(&mut *out, &description)?;
        out.write_all(b",\"caveats\":")?;
        write_caveats(column.caveats(), out)?;
        out.write_all(b",\"cells\":[")?;
        for (row, cell) in column.cells().take(shown).enumerate() {
            out.write_all(if row > 0 { b"," } else { b"" })?;
            serde_json::to_writer(&mut *out, &PageCell(cell))?;
        }
        out.write_all(b"]}")?;
    }
    out.write_all(b"]}")
}

fn write_caveats(caveats: &[Arc<Caveat>], out: &mut impl Write) -> io::Result<()> {
    let texts: Vec<&str> = caveats.iter().map(|caveat| caveat.text.as_str()).collect();
    Ok(serde_json::to_writer(out, &texts)?)
}

/// The charts that the page draws from the cells of a table. Rooflines it draws from points of its own.
fn write_chart(chart: &Chart, out: &mut impl Write) -> io::Result<()> {
    let (shape, x, series, most) = match chart.shape {
        ChartShape::Bars(most) => ("bars", None, Vec::new(), most),
        ChartShape::Columns(title) => ("columns", Some((chart.categories, title)), Vec::new(), usize::MAX),
        ChartShape::Grouped { title, groups, rows, .. } => {
            ("columns", Some((chart.categories, title)), vec![groups], rows)
        }
        ChartShape::Lines { x, x_axis, also, .. } => ("lines", Some((x, x_axis)), also.to_vec(), usize::MAX),
        ChartShape::Waterfall { base, rise, fall } => ("waterfall", None, vec![base, rise, fall], usize::MAX),
        ChartShape::Stacked { .. } | ChartShape::Scatter { .. } => return out.write_all(b"null"),
    };
    let (x, x_axis) = x.unwrap_or_default();
    let value = serde_json::json!({
        "title": chart.title, "categories": chart.categories, "values": chart.values, "axis": chart.axis,
        "told_by": chart.told_by, "shape": shape, "x": x, "x_axis": x_axis, "series": series,
        "most": most.min(MOST_ROWS),
    });
    Ok(serde_json::to_writer(out, &value)?)
}

const fn kind(kind: ColumnKind) -> &'static str {
    match kind {
        ColumnKind::Text => "text",
        ColumnKind::Nested => "nested",
        ColumnKind::Names => "names",
        ColumnKind::Flag => "flag",
        ColumnKind::Identifier => "identifier",
        ColumnKind::Count | ColumnKind::Whole(_) => "whole",
        ColumnKind::Number(_) => "number",
    }
}

const fn role(role: Role) -> &'static str {
    match role {
        Role::Name => "name",
        Role::Headline => "headline",
        Role::Figure => "figure",
        Role::Spread => "spread",
        Role::Detail => "detail",
        Role::Provenance => "provenance",
    }
}
