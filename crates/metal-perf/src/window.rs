//! Which rows are reported: those between signposts, in the order of time.

use trace_ingest::metal::{OpType, OpsTable};

use crate::conventions::first_signposts;
use crate::notice::{MetalNotice, SignpostMark};
use crate::options::MetalOptions;

/// Rows of the window, in order, by position in the table.
pub(crate) fn window(table: &OpsTable, options: &MetalOptions, notices: &mut Vec<MetalNotice>) -> Vec<u32> {
    let rows = in_order(table, options, notices);
    let signposts: Vec<u32> = rows.iter().copied().filter(|&row| is_signpost(table, row)).collect();
    if signposts.len() == rows.len() {
        if !rows.is_empty() {
            notices.push(MetalNotice::OnlySignposts { signposts: signposts.len() });
        }
        return if options.ignore_signposts || options.print_signposts { rows } else { Vec::new() };
    }
    if options.ignore_signposts || signposts.is_empty() {
        for (name, is_end) in [(&options.start_signpost, false), (&options.end_signpost, true)] {
            if let Some(name) = name.as_ref().filter(|_| !options.ignore_signposts) {
                notices.push(MetalNotice::SignpostNotFound { name: name.clone(), is_end, occurrences: 0 });
            }
        }
        return rows;
    }
    let cut = Cut { table, options, rows: &rows, signposts: &signposts };
    let mut kept = match options.conventions.first_signposts {
        true => cut.by_first_names(notices),
        false => cut.per_file(notices),
    };
    if !options.print_signposts {
        kept.retain(|&row| !is_signpost(table, row));
    }
    kept
}

/// Rows in the order of the host's time, those without one last; or in the order of the file.
fn in_order(table: &OpsTable, options: &MetalOptions, notices: &mut Vec<MetalNotice>) -> Vec<u32> {
    let mut rows: Vec<u32> = (0..table.rows.len() as u32).collect();
    if !options.tracing_mode {
        if table.has.host_start {
            rows.sort_by_key(|&row| table.rows[row as usize].host_start.map_or((1, 0), |start| (0, start)));
        } else {
            notices.push(MetalNotice::NotSorted);
        }
    }
    rows
}

fn is_signpost(table: &OpsTable, row: u32) -> bool {
    table.rows[row as usize].op_type == OpType::Signpost
}

fn mark(table: &OpsTable, row: u32) -> SignpostMark {
    let row = &table.rows[row as usize];
    SignpostMark { name: table.text(row.op_code).to_owned(), id: row.id }
}

struct Cut<'a> {
    table: &'a OpsTable,
    options: &'a MetalOptions,
    /// All rows, in order.
    rows: &'a [u32],
    /// Those that are signposts.
    signposts: &'a [u32],
}

impl Cut<'_> {
    fn name(&self, row: u32) -> &str {
        self.table.text(self.table.rows[row as usize].op_code)
    }

    /// Cuts all files at once, by [`first_signposts`].
    fn by_first_names(&self, notices: &mut Vec<MetalNotice>) -> Vec<u32> {
        let named = |name: &String| -> Vec<u32> {
            self.signposts.iter().copied().filter(|&row| self.name(row) == name).collect()
        };
        let names = [&self.options.start_signpost, &self.options.end_signpost].map(Option::as_ref);
        let (start, end) = first_signposts(names, named, notices);
        let asked = start.is_some() || end.is_some();
        let (kept, start) = if asked {
            let id = |row: u32| self.table.rows[row as usize].id;
            let keeps = |row: &u32| {
                start.is_none_or(|start| id(*row) > id(start)) && end.is_none_or(|end| id(*row) < id(end))
            };
            (self.rows.iter().copied().filter(keeps).collect(), start)
        } else {
            // What comes after the first row that is named like the last signpost.
            let last = self.signposts.last().map_or("", |&row| self.name(row));
            let first = self.rows.iter().position(|&row| self.name(row) == last).unwrap_or(0);
            (self.rows[first + 1..].to_vec(), self.rows.get(first).copied())
        };
        self.tell(&kept, start, end, None, asked, notices);
        kept
    }

    /// Cuts each file at its own signposts, by order. Hosts write a file each, and each host reaches a signpost at
    /// its own time. A file that lacks a signpost is cut at the time of the first file that has it.
    fn per_file(&self, notices: &mut Vec<MetalNotice>) -> Vec<u32> {
        let files = self.table.files.len().max(1) as u32;
        let asked = self.options.start_signpost.is_some() || self.options.end_signpost.is_some();
        let bounds: Vec<Bounds> = (0..files)
            .map(
                |file| {
                    if asked { self.asked_bounds(file) } else { self.last_with_operations(file, notices) }
                },
            )
            .collect();
        let mut any = true;
        if asked {
            any = self.tell_missing(&bounds, notices);
        }
        if asked && !any {
            // Neither signpost is there: as if none had been asked for.
            let options = MetalOptions { start_signpost: None, end_signpost: None, ..self.options.clone() };
            return Cut { options: &options, ..*self }.per_file(notices);
        }
        let time = |row: u32| self.table.rows[row as usize].host_start;
        let common_start = bounds.iter().find_map(|bounds| bounds.start).and_then(time);
        let common_end = bounds.iter().find_map(|bounds| bounds.end).and_then(time);
        let mut places = vec![0_usize; self.table.rows.len()];
        for (place, &row) in self.rows.iter().enumerate() {
            places[row as usize] = place;
        }
        let place = |row: u32| places[row as usize];
        let kept: Vec<u32> = self
            .rows
            .iter()
            .copied()
            .filter(|&row| {
                let bounds = &bounds[self.file(row)];
                let after = match (bounds.start, time(row).zip(common_start)) {
                    (Some(start), _) => place(row) > place(start),
                    (None, Some((time, start))) if !bounds.whole => time > start,
                    _ => true,
                };
                let before = match (bounds.end, time(row).zip(common_end)) {
                    (Some(end), _) => place(row) < place(end),
                    (None, Some((time, end))) if !bounds.whole => time < end,
                    _ => true,
                };
                after && before
            })
            .collect();
        for (file, bounds) in bounds.iter().enumerate() {
            if bounds.start.is_some() || bounds.end.is_some() {
                let file_rows: Vec<u32> =
                    kept.iter().copied().filter(|&row| self.file(row) == file).collect();
                let several = (files > 1).then_some(file as u32);
                self.tell(&file_rows, bounds.start, bounds.end, several, asked, notices);
            }
        }
        kept
    }

    fn file(&self, row: u32) -> usize {
        (self.table.rows[row as usize].file as usize).min(self.table.files.len().max(1) - 1)
    }

    /// Signposts of a file, in order.
    fn signposts_of(&self, file: u32) -> Vec<u32> {
        self.signposts.iter().copied().filter(|&row| self.file(row) == file as usize).collect()
    }

    /// Signposts that the user names: an occurrence of the start (or, without one, of the end), and the first end
    /// behind it.
    fn asked_bounds(&self, file: u32) -> Bounds {
        let signposts = self.signposts_of(file);
        let occurrence = self.options.occurrence.unwrap_or(1).saturating_sub(1);
        let named = |name: &str, from: usize, occurrence: usize| {
            let found = signposts.iter().enumerate().skip(from).filter(|(_, row)| self.name(**row) == name);
            found.map(|(place, _)| place).nth(occurrence)
        };
        let start = self.options.start_signpost.as_ref().and_then(|name| named(name, 0, occurrence));
        let end = self.options.end_signpost.as_ref().and_then(|name| match start {
            Some(start) => named(name, start + 1, 0),
            None if self.options.start_signpost.is_some() => named(name, 0, 0),
            None => named(name, 0, occurrence),
        });
        Bounds {
            start: start.map(|place| signposts[place]),
            end: end.map(|place| signposts[place]),
            whole: false,
        }
    }

    /// Tells which signposts no file has, and which occur several times. Whether any is there.
    fn tell_missing(&self, bounds: &[Bounds], notices: &mut Vec<MetalNotice>) -> bool {
        let asked = [
            (&self.options.start_signpost, false, bounds.iter().any(|bounds| bounds.start.is_some())),
            (&self.options.end_signpost, true, bounds.iter().any(|bounds| bounds.end.is_some())),
        ];
        for (name, is_end, found) in &asked {
            let Some(name) = name else { continue };
            let occurrences = self.signposts.iter().filter(|row| self.name(**row) == name).count();
            let repeats = occurrences > bounds.len() && self.options.occurrence.is_none() && !is_end;
            if !found {
                let is_end = *is_end;
                notices.push(MetalNotice::SignpostNotFound { name: name.clone(), is_end, occurrences });
            } else if repeats {
                notices.push(MetalNotice::SignpostRepeats { name: name.clone(), occurrences });
            }
        }
        asked.iter().any(|asked| asked.2)
    }

    /// The last signpost of a file that an operation follows: mostly the start of the last iteration.
    fn last_with_operations(&self, file: u32, notices: &mut Vec<MetalNotice>) -> Bounds {
        let signposts = self.signposts_of(file);
        let Some(&last) = signposts.last() else { return Bounds::default() };
        let file_rows = self.rows.iter().rev().filter(|&&row| self.file(row) == file as usize);
        let mut followed = false;
        let mut start = None;
        for &row in file_rows {
            if !is_signpost(self.table, row) {
                followed = true;
            } else if followed {
                start = Some(row);
                break;
            }
        }
        if followed && start != Some(last) {
            let taken = start.map(|row| mark(self.table, row));
            notices.push(MetalNotice::SteppedBack { empty: mark(self.table, last), taken });
        }
        Bounds { start, end: None, whole: start.is_none() }
    }

    fn tell(
        &self,
        kept: &[u32],
        start: Option<u32>,
        end: Option<u32>,
        file: Option<u32>,
        asked: bool,
        notices: &mut Vec<MetalNotice>,
    ) {
        let mark = |row: Option<u32>| row.map(|row| mark(self.table, row));
        let (after, before) = (mark(start), mark(end));
        notices.push(if kept.iter().all(|&row| is_signpost(self.table, row)) {
            MetalNotice::EmptyWindow { after, before }
        } else {
            MetalNotice::Window { after, before, file, asked }
        });
    }
}

/// Signposts around what is reported of a file.
#[derive(Clone, Copy, Debug, Default)]
struct Bounds {
    start: Option<u32>,
    end: Option<u32>,
    /// Whether the file has signposts but is reported as a whole: none has an operation behind it.
    whole: bool,
}

#[cfg(test)]
mod tests;
