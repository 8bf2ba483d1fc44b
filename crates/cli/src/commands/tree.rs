//! `tracelens tree`: the call tree as text.

use std::fmt;
use std::io::Write;

use trace_ingest::{EventId, RowId, Track, read_path};
use trace2tree::{OperatorField, PrintOptions, TraceTree, TreeOptions};

use crate::arguments::tree::TreeArguments;
use crate::console;
use crate::error::Failure;
use crate::progress::with_progress;

pub(crate) fn run(arguments: &TreeArguments) -> Result<(), Failure> {
    let fields = arguments.fields.iter().map(|name| field(name)).collect::<Result<Vec<_>, _>>()?;
    let trace = with_progress(false, &arguments.reading, |options| read_path(&arguments.file, options))?;
    let options = TreeOptions {
        python_frames: arguments.python_frames,
        link_by: arguments.reading.link_by,
        ..TreeOptions::default()
    };
    let tree = TraceTree::build(trace, &options);
    let starts = starts(&tree, arguments)?;
    let options = PrintOptions {
        prune_non_gpu: !arguments.all,
        operator_fields: &fields,
        follow_backward_links: arguments.backward,
        max_depth: arguments.depth,
    };
    console::write_with(|out| {
        let mut out = PlainText(out, Ok(()));
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
        let what = if arguments.all { "events" } else { "events with GPU work; --all prints the others" };
        console::warning(format_args!("the tree has no {what}"));
    }
    tree.trace().warnings().iter().for_each(console::warning);
    tree.warnings().iter().for_each(console::warning);
    Ok(())
}

fn field(name: &str) -> Result<OperatorField, Failure> {
    OperatorField::ALL.into_iter().find(|field| field.label().eq_ignore_ascii_case(name)).ok_or_else(|| {
        let known: Vec<&str> = OperatorField::ALL.iter().map(|field| field.label()).collect();
        Failure::UnknownField { name: name.to_string(), known: known.join(", ") }
    })
}

/// The events to start at.
fn starts(tree: &TraceTree, arguments: &TreeArguments) -> Result<Vec<EventId>, Failure> {
    let path = || arguments.file.clone();
    if let Some(uid) = arguments.uid {
        let last = tree.trace().entries().saturating_sub(1);
        let found = tree.trace().events().find_uid(uid).filter(|_| uid <= last);
        return Ok(vec![found.ok_or(Failure::NoSuchEvent { path: path(), uid, last })?]);
    }
    let found: Vec<EventId> = if let Some(name) = &arguments.name {
        tree.find_by_name(name).to_vec()
    } else if let (Some(id), Some(pid), Some(tid)) = (arguments.external_id, arguments.pid, arguments.tid) {
        let track = Track { pid: RowId::Number(pid), tid: RowId::Number(tid) };
        tree.find_by_external_id(id, track).into_iter().collect()
    } else {
        return Ok(tree
            .roots()
            .iter()
            .copied()
            .filter(|&root| arguments.all || !tree.non_gpu_path(root))
            .collect());
    };
    if found.is_empty() {
        let what = match (&arguments.name, arguments.external_id) {
            (Some(name), _) => format!("named {name:?} in its tree"),
            (None, id) => format!("with External id {} on that process and thread", id.unwrap_or_default()),
        };
        return Err(Failure::NothingFound { path: path(), what });
    }
    Ok(found)
}

/// Writes text with control characters, which a terminal would obey, replaced by `U+FFFD`. Keeps the error
/// that formatting cannot carry.
struct PlainText<'o>(&'o mut dyn Write, std::io::Result<()>);

impl fmt::Write for PlainText<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let is_unsafe = |c: char| c.is_control() && c != '\n';
        let written = if text.contains(is_unsafe) {
            let plain = text.replace(is_unsafe, "\u{fffd}");
            self.0.write_all(plain.as_bytes())
        } else {
            self.0.write_all(text.as_bytes())
        };
        written.map_err(|error| {
            self.1 = Err(error);
            fmt::Error
        })
    }
}
