//! `tracelens diff`.

use std::path::{Path, PathBuf};

use answers::numbers::{counted, decimal, grouped, unit_of_time};
use answers::{Analysed, DiffReporter, Report};
use inference_phase::capture::CaptureLibrary;
use perf_models::bare_kernel_name;
use report_writers::terminal::{Style, TextColumn, table, truncate_middle};
use trace_diff::{
    Confidence, DiffOptions, LedgerItem, LedgerLine, RepeatedWork, TreeDiff, UnitGroup, UnitStatus,
};
use trace2tree::module_name;

use crate::arguments::compare::name_classes;
use crate::arguments::diff::DiffArguments;
use crate::comparison_text::{changed, signed, write_repeated};
use crate::context::Context;
use crate::destinations::{check_destinations, save};
use crate::error::Failure;
use crate::request::{Extras, Request};
use crate::summary::{Detail, WIDEST};
use crate::wrapping::wrap;

/// Units of difference that are printed.
const MOST_UNITS: usize = 8;
/// Outermost repeated work that is printed, and parts of each.
const MOST_CLASSES: usize = 4;
const MOST_PARTS: usize = 3;
/// Columns of the name of an operator, or of a kernel without one.
const NAME_WIDTH: usize = 48;
/// A change by less of the whole is left out.
const LEAST_PERCENT: f64 = 0.05;

pub(crate) fn run(arguments: &DiffArguments, context: &Context<'_>) -> Result<(), Failure> {
    let merged_tree = arguments.merged_tree.as_deref();
    check_destinations(&arguments.files, merged_tree.map(|path| ("text", path)))?;
    let reading = arguments.reading.options();
    let folders = [&arguments.capture_folder, &arguments.capture_folder_b];
    let captures = folders
        .map(|folder| folder.as_ref().map(|folder| CaptureLibrary::open(folder, &reading)).transpose());
    let [captures_a, captures_b] = captures;
    let names = match arguments.names.as_slice() {
        [a, b] => [a.clone(), b.clone()],
        _ => ["A", "B"].map(str::to_owned),
    };
    let reporter = DiffReporter {
        names: arguments.names.clone(),
        options: DiffOptions { names: name_classes(&arguments.same), ..DiffOptions::default() },
        tree: arguments.reading.tree_options(),
        window: arguments.window.chosen(),
        map: arguments.map,
        captures: [captures_a?, captures_b?],
    };
    let request = Request { reading, ..Request::new("diff", &arguments.files, &arguments.tables, context) };
    request.answer(reporter, &FirstPage { names, merged_tree })
}

/// What is printed of two aligned runs, and the merged tree.
struct FirstPage<'a> {
    /// What tables call the runs: `A` and `B` where they were not named.
    names: [String; 2],
    merged_tree: Option<&'a Path>,
}

impl Extras for FirstPage<'_> {
    fn write(&self, report: &Report) -> Vec<Result<PathBuf, Failure>> {
        let (Analysed::Trees(diff), Some(path)) = (&report.analysis, self.merged_tree) else {
            return Vec::new();
        };
        vec![save(path, |file| {
            let mut out = std::io::BufWriter::new(file);
            diff.write_merged_tree(&mut out)?;
            std::io::Write::flush(&mut out)
        })]
    }

    const CAVEATS_ABOVE: bool = true;

    fn text(&self, report: &Report, caveats: &str, _: Detail, style: Style) -> String {
        let mut out = String::new();
        let head = match &self.names {
            [a, b] if a == "A" && b == "B" => "A → B: ",
            _ => "",
        };
        for line in &report.summary.head {
            wrap(line, head, "  ", style.width.min(WIDEST), &mut out);
        }
        for line in &report.summary.statements {
            wrap(line, "", "  ", style.width.min(WIDEST), &mut out);
        }
        out.push_str(caveats);
        if let Analysed::Trees(diff) = &report.analysis {
            if !diff.is_cut_differently() {
                self.write_ledger(diff, style, &mut out);
            }
            write_repeated(diff.repeated_parts(), self.names.clone(), style, &mut out);
            // Sums over what is matched say nothing where one recording goes on beyond the other.
            if !diff.is_cut_differently() {
                self.write_units(diff, style, &mut out);
            }
            self.write_classes(diff, style, &mut out);
        }
        if style.unicode {
            out
        } else {
            out.replace('µ', "u").replace('→', "->").replace('×', "x").replace('−', "-")
        }
    }
}

impl FirstPage<'_> {
    /// The parts of the difference, which add up.
    fn write_ledger(&self, diff: &TreeDiff, style: Style, out: &mut String) {
        let us = |time: i64| diff.time_unit().to_microseconds(time);
        let mut lines = diff.ledger();
        let Some(total) = lines.pop().filter(|line| line.item == LedgerItem::Total) else { return };
        if total.times == [0, 0] {
            return;
        }
        let (unit, size) = unit_of_time(us(total.times[0].max(total.times[1])));
        let [a, b] = &self.names;
        let headers = [format!("{a} {unit}"), format!("{b} {unit}"), format!("change {unit}")];
        let time = move |time: i64| decimal(us(time) / size, 3);
        let share = |line: &LedgerLine| {
            (total.times[0] > 0).then(|| 100.0 * line.delta() as f64 / total.times[0] as f64)
        };
        let percent = format!("% of {a}");
        let columns = [
            TextColumn::left("time category", |line: &LedgerLine| line.item.name()).with_total("total"),
            TextColumn::right(&headers[0], move |line: &LedgerLine| time(line.times[0]))
                .with_total(time(total.times[0])),
            TextColumn::right(&headers[1], move |line: &LedgerLine| time(line.times[1]))
                .with_total(time(total.times[1])),
            TextColumn::right(&headers[2], move |line: &LedgerLine| {
                changed(Some(us(line.delta())), 1.0 / size, 3)
            })
            .with_total(signed(us(total.delta()) / size, 3)),
            TextColumn::right(&percent, move |line: &LedgerLine| changed(share(line), 1.0, 1))
                .with_total(share(&total).map_or_else(String::new, |share| signed(share, 1))),
        ];
        out.push('\n');
        out.push_str(&table(&columns, &lines, style));
    }

    /// The units with the largest change, each with where it is called and what runs.
    fn write_units(&self, diff: &TreeDiff, style: Style, out: &mut String) {
        let us = |time: i64| diff.time_unit().to_microseconds(time);
        let groups = diff.unit_groups();
        let whole = groups.iter().map(|group| us(group.busy[0])).sum::<f64>();
        let is_told = |group: &&UnitGroup| {
            group.delta() != 0 && us(group.delta()).abs() >= whole * LEAST_PERCENT / 100.0
        };
        let told: Vec<&UnitGroup> = groups.iter().filter(is_told).collect();
        let shown = if told.len() == MOST_UNITS + 1 { told.len() } else { told.len().min(MOST_UNITS) };
        if shown == 0 {
            return;
        }
        let largest = us(told[0].busy[0].max(told[0].busy[1]));
        let (unit, size) = unit_of_time(largest);
        out.push_str(&format!("\nlargest changes, in {unit} ({} → {})\n", self.names[0], self.names[1]));
        let width = style.width.min(WIDEST);
        for group in &told[..shown] {
            let change = changed(Some(us(group.delta())), 1.0 / size, 3);
            let plain = format!("{:>10}", change.text);
            let painted = change.color.map_or_else(|| plain.clone(), |color| style.paint(&plain, color));
            let mut lines = String::new();
            wrap(
                &self.unit_in_words(group, us, size, style.unicode),
                "",
                "            ",
                width.saturating_sub(12),
                &mut lines,
            );
            out.push_str(&format!("{painted}  {lines}"));
            if !group.call_site.is_empty() {
                wrap(&group.call_site, "            at ", "            ", width, out);
            }
            if let Some(kernels) = kernels_in_words(group, width.saturating_sub(12), style.unicode) {
                wrap(&kernels, "            ", "              ", width, out);
            }
        }
        if told.len() > shown {
            let left: f64 = told[shown..].iter().map(|group| us(group.delta())).sum();
            let dots = if style.unicode { "…" } else { "..." };
            let more = grouped((told.len() - shown) as u128);
            out.push_str(&format!("{dots} and {more} more in diff_units with {}\n", signed(left / size, 3)));
        }
    }

    /// What a group of units is, how often, how long in both runs, and how sure the match is.
    fn unit_in_words(&self, group: &UnitGroup, us: impl Fn(i64) -> f64, size: f64, unicode: bool) -> String {
        let short = |name: &String| truncate_middle(&bare_kernel_name(name), NAME_WIDTH, unicode);
        let name = match group.names.each_ref().map(short) {
            [a, b] if a == b || b.is_empty() => a,
            [a, b] if a.is_empty() => b,
            [a, b] => format!("{a} → {b}"),
        };
        let place = if group.modules.is_empty() { String::new() } else { format!(" in {}", group.module()) };
        let times = group.busy.map(|busy| decimal(us(busy) / size, 3));
        let speedup = match group.busy {
            [a, b] if a > 0 && b > 0 => format!(", speedup {}", decimal(a as f64 / b as f64, 3)),
            _ => String::new(),
        };
        let is = match (group.status, group.confidence) {
            (UnitStatus::OnlyA, _) => format!("only in {}", self.names[0]),
            (UnitStatus::OnlyB, _) => format!("only in {}", self.names[1]),
            (status, Some(confidence)) if confidence < Confidence::Certain => {
                format!("{}, match {}", status.as_str().replace('-', " "), confidence.as_str())
            }
            (status, _) => status.as_str().replace('-', " "),
        };
        let count = counted(group.count, "place", "places");
        format!("{name}{place}: {count}, {} → {}{speedup}, {is}", times[0], times[1])
    }

    /// What is repeated, with the parts that make the difference; of recordings that are cut differently, the medians of one.
    fn write_classes(&self, diff: &TreeDiff, style: Style, out: &mut String) {
        let us = |time: f64| time / diff.time_unit().per_microsecond() as f64;
        let is_cut = diff.is_cut_differently();
        let all = diff.repeated_work();
        let least = diff.kernel_time()[0] as f64 * LEAST_PERCENT / 100.0;
        let is_told = |work: &RepeatedWork| {
            work.delta != 0 && work.delta.abs() as f64 >= least && !(is_cut && work.is_noise())
        };
        let within = |outer: Option<usize>, most: usize| {
            let parts = all.iter().enumerate().filter(move |(_, work)| work.within == outer);
            parts.filter(|(_, work)| is_told(work)).take(most).map(|(at, _)| at).collect::<Vec<_>>()
        };
        let mut rows: Vec<(usize, &RepeatedWork)> = Vec::new();
        for outer in within(None, MOST_CLASSES) {
            rows.push((0, &all[outer]));
            for part in within(Some(outer), MOST_PARTS) {
                rows.push((1, &all[part]));
                rows.extend(within(Some(part), MOST_PARTS).into_iter().map(|at| (2, &all[at])));
            }
        }
        if rows.is_empty() {
            if is_cut && !all.is_empty() {
                wrap(
                    "no repeated work differs between the runs by more than noise",
                    "\n",
                    "  ",
                    style.width.min(WIDEST),
                    out,
                );
            }
            return;
        }
        let [a, b] = &self.names;
        type Row<'r> = (usize, &'r RepeatedWork);
        let one = move |side: usize, (_, work): &Row<'_>| match is_cut {
            true => us(work.times[side].median),
            false => us(work.times[side].mean),
        };
        let change = move |row: &Row<'_>| match is_cut {
            true => one(1, row) - one(0, row),
            false => us(row.1.delta as f64),
        };
        let largest = rows.iter().map(|row| change(row).abs()).fold(0.0, f64::max);
        let (unit, size) = if is_cut { ("µs each", 1.0) } else { unit_of_time(largest) };
        let headers = [format!("{a} µs each"), format!("{b} µs each"), format!("change {unit}")];
        let name = |&(depth, work): &Row<'_>| {
            let [name_a, name_b] = diff.names_of_work(work).map(module_name);
            let name = if name_a == name_b { name_a.to_owned() } else { format!("{name_a} → {name_b}") };
            let [count, count_b] = work.times.each_ref().map(|times| grouped(times.count as u128));
            let count = if count == count_b { count } else { format!("{count} → {count_b}") };
            format!("{}{count} × {name}", "  ".repeat(depth))
        };
        let columns = [
            TextColumn::left("repeated work and its parts", name),
            TextColumn::right(&headers[0], move |row: &Row<'_>| decimal(one(0, row), 2)),
            TextColumn::right(&headers[1], move |row: &Row<'_>| decimal(one(1, row), 2)),
            TextColumn::right(&headers[2], move |row: &Row<'_>| changed(Some(change(row)), 1.0 / size, 3)),
            TextColumn::left("", |(_, work): &Row<'_>| if work.is_noise() { "noise" } else { "" }).kept(),
        ];
        out.push('\n');
        out.push_str(&table(&columns, &rows, style));
    }
}

/// The kernels of a group in both runs; `None` where they are the same.
fn kernels_in_words(group: &UnitGroup, width: usize, unicode: bool) -> Option<String> {
    /// Kernels of a side that are named.
    const NAMED: usize = 2;
    // Without an operator the kernel is what the unit is called.
    let is_named = |side: usize| group.kernels[side].iter().all(|kernel| *kernel == group.names[side]);
    if group.kernels[0] == group.kernels[1] || (is_named(0) && is_named(1)) {
        return None;
    }
    let side = |side: usize| {
        let kernels = &group.kernels[side];
        let short = |name: &String| truncate_middle(&bare_kernel_name(name), width / 3, unicode);
        let mut names: Vec<String> = kernels.iter().take(NAMED).map(short).collect();
        if kernels.len() > NAMED {
            names.push(format!("{} more", kernels.len() - NAMED));
        }
        if names.is_empty() { "nothing".to_owned() } else { names.join(" + ") }
    };
    Some(format!("{} → {}", side(0), side(1)))
}
