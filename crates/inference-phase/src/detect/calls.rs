//! The calls and launches of a trace that say something of phases, and what their shapes say.

use hashbrown::HashMap;
use perf_models::{AttentionLayout, PhaseOperator, PhaseWords};
use trace_ingest::{ArgumentValue, Category, EventId, SignatureId, StringId, Trace, TrackId};
use trace2tree::TraceTree;

use super::names::{Names, Transfer};

/// A call of interest, its shapes read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// `tokens` rows of a table of `entries`; `per_request` where the ids have a dimension of requests.
    Embedding {
        entries: i64,
        width: i64,
        tokens: i64,
        per_request: Option<i64>,
    },
    /// `rows`×`inner` by `inner`×`outer`; `outer` is unknown of weights packed in a format of their own.
    Projection {
        rows: i64,
        inner: i64,
        outer: Option<i64>,
        per_request: Option<i64>,
    },
    /// Normalization of `rows`×`width`.
    Norm {
        rows: i64,
        width: i64,
    },
    /// Rows picked out of `rows`×`width`.
    Selection {
        rows: i64,
        width: i64,
    },
    Attention(AttentionCall),
    /// A choice for each of `rows` among `width`.
    Sampling {
        rows: i64,
        width: i64,
        sure: bool,
    },
    /// Work on images.
    Image,
    /// Anything else with a tensor of `rows`×`width` that is as wide as a vocabulary.
    Wide {
        rows: i64,
        width: i64,
    },
}

/// What attention's shapes say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AttentionCall {
    /// Query tokens of all requests together.
    pub(crate) rows: Option<i64>,
    /// Requests, where offsets of packed sequences are among the inputs.
    pub(crate) requests: Option<i64>,
    /// Query tokens of the longest of these sequences.
    pub(crate) longest: Option<i64>,
    /// Query tokens per request, where requests have a dimension of their own.
    pub(crate) queries: Option<i64>,
    /// Keys per request, likewise.
    pub(crate) keys: Option<i64>,
}

/// No vocabulary of a language model, whole or a rank's share of it, is narrower.
pub(crate) const NARROWEST_VOCABULARY: i64 = 8192;

/// Reads calls; each distinct one once.
pub(crate) struct CallReader<'t> {
    trace: &'t Trace,
    read: HashMap<(StringId, SignatureId), Option<Call>>,
}

impl<'t> CallReader<'t> {
    pub(crate) fn new(trace: &'t Trace) -> Self {
        CallReader { trace, read: HashMap::new() }
    }

    /// The call of an operator; `None` where its name or shapes are of no interest.
    pub(crate) fn read(&mut self, event: EventId, names: &mut Names<'_>) -> Option<Call> {
        let trace = self.trace;
        let events = trace.events();
        let (name, signature) = (events.name(event), events.signature(event)?);
        *self.read.entry((name, signature)).or_insert_with(|| {
            let dims = trace.argument(event, |s| s.dims)?.as_list()?;
            let shapes: Vec<Vec<i64>> =
                dims.iter().map(|shape| shape.as_ints().unwrap_or_default()).collect();
            let types =
                trace.argument(event, |s| s.types).and_then(ArgumentValue::as_list).unwrap_or_default();
            let written = trace.argument(event, |s| s.concrete).and_then(ArgumentValue::as_list);
            let call = match names.get(name).kind {
                PhaseOperator::Embedding => embedding(&shapes),
                PhaseOperator::Projection => projection(&shapes),
                PhaseOperator::Norm => activations(&shapes).map(|(rows, width)| Call::Norm { rows, width }),
                PhaseOperator::Selection => {
                    matrix(&shapes).map(|(rows, width)| Call::Selection { rows, width })
                }
                PhaseOperator::Attention(layout) => {
                    let written = written.unwrap_or_default();
                    Some(Call::Attention(attention(&shapes, types, written, layout)))
                }
                PhaseOperator::Sampling { sure } => matrix(&shapes)
                    .filter(|&(_, width)| width >= NARROWEST_VOCABULARY)
                    .map(|(rows, width)| Call::Sampling { rows, width, sure }),
                PhaseOperator::Image => return Some(Call::Image),
                PhaseOperator::Other => None,
            };
            call.or_else(|| {
                let wide = |&&(rows, width): &&(i64, i64)| rows > 0 && width >= NARROWEST_VOCABULARY;
                let matrices: Vec<(i64, i64)> = shapes.iter().filter_map(|shape| pair(shape)).collect();
                matrices.iter().find(wide).map(|&(rows, width)| Call::Wide { rows, width })
            })
        })
    }
}

fn pair(shape: &[i64]) -> Option<(i64, i64)> {
    <[i64; 2]>::try_from(shape).ok().map(|[rows, columns]| (rows, columns))
}

/// The first input, if it is a matrix.
fn matrix(shapes: &[Vec<i64>]) -> Option<(i64, i64)> {
    pair(shapes.first()?)
}

/// Rows and width of the first input with two dimensions or more, all but the last taken together.
fn activations(shapes: &[Vec<i64>]) -> Option<(i64, i64)> {
    let shape = shapes.iter().find(|shape| shape.len() >= 2)?;
    let (&width, rows) = shape.split_last()?;
    Some((product(rows), width))
}

fn product(extents: &[i64]) -> i64 {
    extents.iter().fold(1, |all, &extent| all.saturating_mul(extent.max(0)))
}

fn embedding(shapes: &[Vec<i64>]) -> Option<Call> {
    let (entries, width) = matrix(shapes)?;
    let ids = shapes.get(1)?;
    let per_request = (ids.len() == 2).then(|| ids[1]);
    Some(Call::Embedding { entries, width, tokens: product(ids), per_request })
}

fn projection(shapes: &[Vec<i64>]) -> Option<Call> {
    let tensors: Vec<&[i64]> = shapes.iter().map(Vec::as_slice).filter(|shape| shape.len() >= 2).collect();
    // Some libraries pass the output first: it shares its rows with the second input and its columns with the third.
    let output_first = match tensors[..] {
        [[rows, columns], [again, inner], weight, ..] => {
            rows == again && (weight == [*inner, *columns] || weight == [*columns, *inner])
        }
        _ => false,
    };
    let tensors = if output_first { &tensors[1..] } else { &tensors[..] };
    let (&activations, rest) = tensors.split_first()?;
    let (&inner, rows) = activations.split_last()?;
    let per_request = (rows.len() == 2).then(|| rows[1]);
    let outer = rest.iter().find_map(|weight| match **weight {
        [a, b] if a == inner => Some(b),
        [a, b] if b == inner => Some(a),
        _ => None,
    });
    Some(Call::Projection { rows: product(rows), inner, outer, per_request })
}

fn attention(
    shapes: &[Vec<i64>],
    types: &[ArgumentValue],
    written: &[ArgumentValue],
    layout: AttentionLayout,
) -> AttentionCall {
    let mut tensors = shapes.iter().filter(|shape| shape.len() >= 2);
    let Some(query) = tensors.next() else { return AttentionCall::default() };
    if let [batch, second, third, _] = query[..] {
        let key = tensors.next().and_then(|key| <[i64; 4]>::try_from(key.as_slice()).ok());
        let (queries, keys) = match layout {
            AttentionLayout::HeadsFirst => (third, key.map(|key| key[2])),
            AttentionLayout::TokensFirst => (second, key.map(|key| key[1])),
            AttentionLayout::PagedKeys => (second, None),
        };
        return AttentionCall {
            rows: Some(batch.saturating_mul(queries)),
            requests: Some(batch),
            longest: None,
            queries: Some(queries),
            keys,
        };
    }
    // Offsets of packed sequences are the first list of integers, one longer than there are sequences; attention over
    // pages alone has lengths in that place, which are no offsets.
    let offsets = (layout != AttentionLayout::PagedKeys)
        .then(|| {
            shapes.iter().zip(types).enumerate().find_map(|(at, (shape, text))| {
                match (&shape[..], text.as_text()) {
                    ([length], Some("int")) if *length >= 2 => Some((at, length - 1)),
                    _ => None,
                }
            })
        })
        .flatten();
    let rows = query.first().copied();
    let longest = rows
        .zip(offsets)
        .and_then(|(rows, (at, requests))| longest_sequence(written.get(at + 1..)?, rows, requests));
    let requests = offsets.map(|(_, requests)| requests);
    AttentionCall { rows, requests, longest, queries: None, keys: None }
}

/// Length of the longest of packed sequences: the first whole number behind their offsets (`max_seqlen_q` of FlashAttention's
/// and aiter's functions over sequences of different lengths). `None` where it can be no such length.
fn longest_sequence(behind_offsets: &[ArgumentValue], rows: i64, requests: i64) -> Option<i64> {
    let whole = |value: &ArgumentValue| match value {
        ArgumentValue::Int(number) => Some(*number),
        value => value.as_text()?.parse().ok(),
    };
    let longest = behind_offsets.iter().find_map(whole)?;
    let is_possible = (1..=rows).contains(&longest) && longest.saturating_mul(requests) >= rows;
    is_possible.then_some(longest)
}

/// A call of interest or a launch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) start: i64,
    pub(super) end: i64,
    /// The operator's, or the call's.
    pub(super) name: StringId,
    pub(super) what: What,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum What {
    Call(Call),
    /// An operator without shapes that attends.
    Attends,
    /// An operator without shapes that chooses tokens.
    Chooses,
    /// An operator whose name has a word of a phase.
    Named,
    /// A call that launched device work.
    Launch(Launch),
}

/// A call that launched device work.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launch {
    /// Whether it replays a captured graph.
    pub(super) is_graph: bool,
    /// Σ of the durations of what it launched.
    pub(super) device_time: i64,
    /// How many of them attend.
    pub(super) attention: usize,
    /// How it attends, if it is no graph.
    pub(super) attends: Option<Attends>,
    /// Which way it copies.
    pub(super) transfer: Option<Transfer>,
}

/// How a kernel attends, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Attends {
    /// As for generation alone.
    Generation,
    /// As for prompts, or for either.
    Otherwise,
}

/// Items of one thread, by start, of equal starts the longest first.
#[derive(Debug)]
pub(super) struct ThreadItems {
    pub(super) track: TrackId,
    pub(super) items: Vec<Item>,
}

impl ThreadItems {
    /// Whether anything says that the thread runs a model, rather than copying for one that does.
    pub(super) fn runs_model(&self) -> bool {
        self.items.iter().any(|item| match item.what {
            What::Call(Call::Image | Call::Wide { .. } | Call::Selection { .. }) => false,
            What::Named | What::Chooses => false,
            What::Call(_) | What::Attends => true,
            What::Launch(launch) => launch.is_graph || launch.attention > 0,
        })
    }
}

/// Device events by launch: the linked ones are sorted by it.
pub(super) fn launches(tree: &TraceTree) -> impl Iterator<Item = (EventId, &[EventId])> {
    tree.linked_device_events()
        .chunk_by(|&a, &b| tree.launch(a) == tree.launch(b))
        .filter_map(|group| Some((tree.launch(*group.first()?)?, group)))
}

/// All items of the trace, one list for each thread that has any.
pub(super) fn gather(tree: &TraceTree, names: &mut Names<'_>) -> Vec<ThreadItems> {
    let trace = tree.trace();
    let events = trace.events();
    let mut by_track: Vec<Vec<Item>> = Vec::new();
    by_track.resize_with(trace.tracks().len(), Vec::new);
    let mut reader = CallReader::new(trace);
    for event in events.ids().filter(|&event| events.category(event) == Category::CPU_OP) {
        let name = events.name(event);
        let words = names.get(name).words;
        let what = match reader.read(event, names) {
            Some(call) => What::Call(call),
            None if words.attention => What::Attends,
            None if names.get(name).chooses && events.signature(event).is_none() => What::Chooses,
            None if words.weak_context || words.weak_generation => What::Named,
            None => continue,
        };
        let item = Item { start: events.start(event), end: events.end(event), name, what };
        by_track[events.track(event).index()].push(item);
    }
    for (event, device_events) in launches(tree) {
        let name = events.name(event);
        let is_graph = names.get(name).graph_launch;
        let kernel =
            device_events.first().filter(|_| !is_graph).map(|&device| names.get(events.name(device)));
        let launch = Launch {
            is_graph,
            attends: kernel.and_then(|kernel| match kernel.words {
                PhaseWords { generation: true, .. } => Some(Attends::Generation),
                PhaseWords { context: true, .. } | PhaseWords { plain_attention: true, .. } => {
                    Some(Attends::Otherwise)
                }
                _ => None,
            }),
            transfer: kernel.and_then(|kernel| kernel.transfer),
            device_time: device_events.iter().map(|&device| events.duration(device)).sum(),
            attention: device_events
                .iter()
                .filter(|&&device| names.get(events.name(device)).words.attention)
                .count(),
        };
        let item =
            Item { start: events.start(event), end: events.end(event), name, what: What::Launch(launch) };
        by_track[events.track(event).index()].push(item);
    }
    let mut threads = Vec::new();
    for (track, mut items) in trace.tracks().ids().zip(by_track).filter(|(_, items)| !items.is_empty()) {
        items.sort_by_key(|item| (item.start, std::cmp::Reverse(item.end)));
        threads.push(ThreadItems { track, items });
    }
    threads
}

#[cfg(test)]
mod calls_tests {
    use super::*;

    fn shapes(all: &[&[i64]]) -> Vec<Vec<i64>> {
        all.iter().map(|shape| shape.to_vec()).collect()
    }

    #[test]
    fn projections_are_read_in_every_order_of_their_inputs() {
        /// Shapes of the inputs; rows, inner and outer extent, tokens per request.
        type Case = (&'static [&'static [i64]], i64, i64, Option<i64>, Option<i64>);
        let cases: &[Case] = &[
            (&[&[46, 2880], &[2880, 201_088]], 46, 2880, Some(201_088), None),
            (&[&[2880], &[640, 888], &[888, 2880]], 640, 888, Some(2880), None),
            (&[&[46, 2880], &[201_088, 2880], &[]], 46, 2880, Some(201_088), None),
            (&[&[16, 559, 1024], &[2816, 1024], &[]], 8944, 1024, Some(2816), Some(559)),
            // out, a, b, scales
            (&[&[17, 6144], &[17, 4096], &[4096, 6144], &[17, 1], &[1, 6144]], 17, 4096, Some(6144), None),
            // a, packed weight
            (&[&[8, 4096], &[256, 12_288], &[128, 6144]], 8, 4096, None, None),
        ];
        for &(dims, rows, inner, outer, per_request) in cases {
            let expected = Call::Projection { rows, inner, outer, per_request };
            assert_eq!(projection(&shapes(dims)), Some(expected), "{dims:?}");
        }
    }

    #[test]
    fn packed_attention_tells_tokens_and_requests() {
        let types: Vec<ArgumentValue> = ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "int", "int"]
            .into_iter()
            .map(|text| ArgumentValue::Text(text.into()))
            .collect();
        let dims = shapes(&[&[888, 32, 128], &[888, 8, 128], &[888, 8, 128], &[5], &[5]]);
        let call = attention(&dims, &types, &[], AttentionLayout::TokensFirst);
        assert_eq!((call.rows, call.requests, call.longest), (Some(888), Some(4), None));
        let longest = |number: &str| {
            let written: Vec<ArgumentValue> = ["", "", "", "", "", number, "1024", "0.", "True"]
                .into_iter()
                .map(|text| ArgumentValue::Text(text.into()))
                .collect();
            attention(&dims, &types, &written, AttentionLayout::TokensFirst).longest
        };
        assert_eq!(longest("700"), Some(700));
        // Longer than all together; four of them are not 888.
        assert_eq!([longest("889"), longest("221")], [None, None]);
        let paged = attention(&dims, &types, &[], AttentionLayout::PagedKeys);
        assert_eq!((paged.rows, paged.requests), (Some(888), None));
    }

    #[test]
    fn dense_attention_tells_lengths_in_both_layouts() {
        let dims = shapes(&[&[2, 16, 1, 64], &[2, 16, 559, 64], &[2, 16, 559, 64]]);
        let call = attention(&dims, &[], &[], AttentionLayout::HeadsFirst);
        assert_eq!((call.queries, call.keys, call.rows), (Some(1), Some(559), Some(2)));
        let dims = shapes(&[&[2, 1, 16, 64], &[2, 559, 16, 64]]);
        let call = attention(&dims, &[], &[], AttentionLayout::TokensFirst);
        assert_eq!((call.queries, call.keys), (Some(1), Some(559)));
    }
}
