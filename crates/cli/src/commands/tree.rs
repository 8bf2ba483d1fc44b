//! `tracelens tree`: the call tree as text.

use std::fmt;
use std::io::Write;
use std::slice;

use answers::{Notice, Part};
use serde_json::{Value, json};
use sheets::escaped;
use trace_ingest::{EventId, RowId, Track, read_path};
use trace2tree::{DeviceTimes, OperatorField, PrintOptions, TraceTree, TreeOptions};

use crate::arguments::answer_output::JsonPage;
use crate::arguments::tree::TreeArguments;
use crate::console;
use crate::context::Context;
use crate::error::Failure;
use crate::progress::with_progress;

pub(crate) fn run(arguments: &TreeArguments, context: &Context<'_>) -> Result<(), Failure> {
    let fields = arguments.fields.iter().map(|name| field(name)).collect::<Result<Vec<_>, _>>()?;
    let trace = with_progress(false, &arguments.reading, |options| read_path(&arguments.file, options))?;
    let options = TreeOptions { python_frames: arguments.python_frames, ..arguments.reading.tree_options() };
    let tree = TraceTree::build(trace, &options);
    let times = tree.device_times();
    let starts = starts(&tree, &times, arguments)?;
    let options = PrintOptions {
        prune_non_gpu: !arguments.all,
        operator_fields: &fields,
        follow_backward_links: arguments.backward,
        max_depth: arguments.depth,
        device_times: Some(&times),
        min_device_time_us: arguments.min_time.unwrap_or(0.0),
        shown_text: escaped,
    };
    if arguments.answer.is_json() {
        let shown = starts.iter().flat_map(|&start| match arguments.parents {
            true => std::iter::once(start).chain(tree.ancestors(start)).zip(0..).collect(),
            false => tree.shown_subtree(start, &options),
        });
        let JsonPage { page_rows: top, page_start: skip } = arguments.page;
        let (mut rows, mut total) = (Vec::new(), 0);
        for (event, depth) in shown {
            if (skip..skip.saturating_add(top.get())).contains(&total) {
                rows.push(row(&tree, &times, event, depth));
            }
            total += 1;
        }
        let next = Some(skip + rows.len()).filter(|&next| next < total && !rows.is_empty());
        let result = json!({ "events": rows, "events_total": total, "next": next });
        let notices = Notice::all_of_reading(&arguments.file, tree.trace());
        let answer = context.about(slice::from_ref(&arguments.file)).with_notices(&notices);
        context.print_result(answer, &result)?;
        tree.trace().warnings().iter().for_each(console::diagnostic);
        tree.warnings().iter().for_each(console::diagnostic);
        return Ok(());
    }
    console::write_text_with(|out| {
        let mut out = Formatted(out, Ok(()));
        for &event in &starts {
            let written = match arguments.parents {
                true => tree.write_parents(&mut out, event, &options),
                false => tree.write_subtree(&mut out, event, &options),
            };
            if written.is_err() {
                break;
            }
        }
        out.1
    })?;
    if starts.is_empty() {
        let what = match (arguments.min_time, arguments.all) {
            (Some(least), _) => format!("roots with at least {least} µs of device time"),
            (None, true) => "events".to_owned(),
            (None, false) => "events with GPU work; --all prints all events".to_owned(),
        };
        console::warning(format_args!("the tree has no {what}"));
    }
    tree.trace().warnings().iter().for_each(console::diagnostic);
    tree.warnings().iter().for_each(console::diagnostic);
    Ok(())
}

/// An event of the tree as JSON. Times are in µs.
fn row(tree: &TraceTree, times: &DeviceTimes<'_>, event: EventId, depth: usize) -> Value {
    let (trace, events) = (tree.trace(), tree.trace().events());
    json!({
        "depth": depth,
        "uid": events.uid(event),
        "name": trace.name(event),
        "category": trace.category_name(events.category(event)),
        "start_us": trace.to_microseconds(events.start(event)),
        "duration_us": trace.to_microseconds(events.duration(event)),
        "device_us": times.microseconds(event),
        "device_pct": times.percent(event),
    })
}

fn field(name: &str) -> Result<OperatorField, Failure> {
    OperatorField::ALL.into_iter().find(|field| field.label().eq_ignore_ascii_case(name)).ok_or_else(|| {
        let known: Vec<&str> = OperatorField::ALL.iter().map(|field| field.label()).collect();
        Failure::UnknownField { name: name.to_string(), known: known.join(", ") }
    })
}

/// The events to start at.
fn starts(
    tree: &TraceTree,
    times: &DeviceTimes<'_>,
    arguments: &TreeArguments,
) -> Result<Vec<EventId>, Failure> {
    let path = || arguments.file.clone();
    if let Some(uid) = arguments.uid {
        let last = tree.trace().entries().saturating_sub(1);
        let found = tree.trace().events().find_uid(uid).filter(|_| uid <= last);
        return Ok(vec![found.ok_or(Failure::NoSuchEvent { path: path(), uid, last })?]);
    }
    let found: Vec<EventId> = if let Some(name) = &arguments.name {
        named(tree, name).map_err(|candidates| Failure::SeveralNames { name: name.clone(), candidates })?
    } else if let (Some(id), Some(pid), Some(tid)) = (arguments.external_id, arguments.pid, arguments.tid) {
        let track = Track { pid: RowId::Number(pid), tid: RowId::Number(tid) };
        tree.find_by_external_id(id, track).into_iter().collect()
    } else {
        return Ok(tree
            .roots()
            .iter()
            .copied()
            .filter(|&root| arguments.all || !tree.non_gpu_path(root))
            .filter(|&root| arguments.min_time.is_none_or(|least| times.microseconds(root) >= least))
            .collect());
    };
    if found.is_empty() {
        let what = match (&arguments.name, arguments.external_id) {
            (Some(name), _) => {
                let known = tree.node_names().map(|known| tree.trace().text(known));
                let near = answers::nearest_names(&answers::did_you_mean(name, known));
                format!("named {name:?} in its tree; {near}")
            }
            (None, id) => format!("with External id {} in that process and thread", id.unwrap_or_default()),
        };
        return Err(Failure::NothingFound { path: path(), what });
    }
    Ok(found)
}

/// The events with this name, or with the only name that contains it; the candidates where several do.
fn named(tree: &TraceTree, name: &str) -> Result<Vec<EventId>, String> {
    let exact = tree.find_by_name(name);
    if !exact.is_empty() {
        return Ok(exact.to_vec());
    }
    let candidates: Vec<Part> = tree
        .names_containing(name)
        .into_iter()
        .map(|(name, time)| Part {
            name: tree.trace().text(name).to_owned(),
            count: tree.find_by_name_id(name).len(),
            time_us: time.microseconds(),
        })
        .collect();
    match &candidates[..] {
        [] => Ok(Vec::new()),
        [only] => Ok(tree.find_by_name(&only.name).to_vec()),
        _ => Err(answers::candidates(&candidates)),
    }
}

/// Takes text for a stream of bytes, and keeps the error that formatting cannot carry.
struct Formatted<'o>(&'o mut dyn Write, std::io::Result<()>);

impl fmt::Write for Formatted<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.write_all(text.as_bytes()).map_err(|error| {
            self.1 = Err(error);
            fmt::Error
        })
    }
}
