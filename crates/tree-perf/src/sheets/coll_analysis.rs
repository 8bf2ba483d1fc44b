//! Collective communication by kind and size.

use std::cmp::Reverse;

use gpu_timeline::{Activity, SortFew, Summary};
use perf_models::{CollectiveKind, element_size, type_of_scalar_name};
use sheets::columns::collectives::{BUS_BANDWIDTH_MAX, DURATION_SUM, GROUP, MESSAGE_SIZE, NAME};
use sheets::names::COLL_ANALYSIS;
use sheets::{Cell, Chart, ChartShape, Column, ColumnKind, Field, Figure, Nested, Role, Sheet, Unit};
use trace_ingest::{Category as EventCategory, Collective, EventId, StringId, Trace};

use crate::IndexMap;
use crate::analysis::Analysis;
use crate::conventions::{Conventions, MessageTypes};
use crate::host_collectives::{HostCollective, Timed, host_collectives};

/// What distinguishes kinds of collectives.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key<'a> {
    /// Without its name.
    collective: Collective,
    /// Name of the collective; where the trace has none, that of a custom collective by its kernel.
    name: Option<&'a str>,
    stream: Option<i64>,
    timed: Timed,
    /// Element type of a collective on the host, as operators name it.
    type_name: Option<&'a str>,
}

type Row<'a> = (Key<'a>, Summary);

/// What all rows share.
struct Kinds<'a> {
    trace: &'a Trace,
    /// What stands for a process group without a name.
    unknown_group: &'static str,
    rank: i64,
    /// Whether some collectives have no kernel.
    has_host_calls: bool,
    conventions: Conventions,
}

impl Kinds<'_> {
    fn text(&self, id: Option<StringId>) -> Option<&str> {
        id.map(|id| self.trace.text(id))
    }

    fn us(&self, time: f64) -> f64 {
        time / self.trace.time_unit().per_microsecond() as f64
    }

    /// Size of so many elements in bytes.
    fn bytes(&self, elements: Option<i64>, key: &Key<'_>) -> Option<f64> {
        let dtype = self.text(key.collective.dtype);
        let are_known = self.conventions.message_types == MessageTypes::All;
        if !are_known && dtype.is_some_and(|dtype| dtype == "Char" || dtype.starts_with("Float8")) {
            return None;
        }
        let size = match dtype {
            Some(dtype) => element_size(type_of_scalar_name(dtype)?),
            None => element_size(key.type_name?),
        };
        Some(elements? as f64 * size.ok()?)
    }

    /// Size of the message as nccl-tests counts it: the larger of what the rank gives and what it gets.
    fn message_bytes(&self, key: &Key<'_>) -> Option<f64> {
        let Collective { in_elements, out_elements, .. } = key.collective;
        // What a rank gives is no measure of what it gathers.
        let gathers = key.name.is_some_and(|name| name.contains("gather"));
        if gathers && out_elements.is_none() {
            return None;
        }
        let given = self.bytes(in_elements, key);
        let got = self.bytes(out_elements, key);
        given.into_iter().chain(got).reduce(f64::max).filter(|&bytes| bytes > 0.0)
    }

    /// Bytes of the message over a time in the trace's unit, in GB/s.
    fn algorithm_bandwidth(&self, key: &Key<'_>, time: f64) -> Option<f64> {
        let seconds = self.us(time) / 1e6;
        (seconds > 0.0).then_some(self.message_bytes(key)? / 1e9 / seconds)
    }

    /// The same times the share that has to cross a link, which the kind and the size of the group give.
    fn bus_bandwidth(&self, key: &Key<'_>, time: f64) -> Option<f64> {
        let ranks = usize::try_from(key.collective.group_size?).ok().filter(|&ranks| ranks > 1)?;
        Some(self.algorithm_bandwidth(key, time)? * CollectiveKind::from_name(key.name?).bus_factor(ranks))
    }
}

/// What a collective of a kernel exchanges.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct CollectiveMessage<'a> {
    /// What the collective is called.
    pub name: &'a str,
    /// Size of the message as nccl-tests counts it, in bytes.
    pub bytes: f64,
    /// Devices of its group.
    pub devices: usize,
    /// Share of the bytes that has to cross a link.
    pub bus_factor: f64,
}

impl Analysis {
    /// What the collective of a kernel exchanges among the devices of this host; `None` where the recording does not tell
    /// size and group, where other hosts take part or may do so, and of collectives that move unequal parts or wait for a
    /// sender.
    pub fn message(&self, kernel: EventId) -> Option<CollectiveMessage<'_>> {
        let trace = self.trace();
        let collective = trace.events().arguments().collective.get(kernel.index())?;
        let name = collective.name.map(|name| trace.text(name))?;
        let kind = CollectiveKind::of_equal_parts(name)?;
        let devices = usize::try_from(collective.group_size?).ok().filter(|&devices| devices > 1)?;
        self.is_on_this_host(&collective, devices).then_some(())?;
        let conventions = self.options().conventions;
        let kinds = Kinds { trace, unknown_group: "", rank: 0, has_host_calls: false, conventions };
        let key = Key { collective, name: Some(name), stream: None, timed: Timed::Kernel, type_name: None };
        let bytes = kinds.message_bytes(&key)?;
        Some(CollectiveMessage { name, bytes, devices, bus_factor: kind.bus_factor(devices) })
    }

    /// Whether a group is of devices of the recorded host alone: the job has no others, or its ranks are numbered host by host
    /// and lie in one of them.
    fn is_on_this_host(&self, collective: &Collective, devices: usize) -> bool {
        let facts = self.trace().facts();
        let host_device_count = facts.devices.len() as i64;
        let world = facts.distributed.as_ref().and_then(|distributed| distributed.world_size);
        if devices as i64 > host_device_count {
            return false;
        }
        if world.is_some_and(|world| world <= host_device_count) {
            return true;
        }
        let ranks = collective.group_ranks.map(|ranks| self.trace().text(ranks));
        let numbers: Option<Vec<i64>> = ranks.and_then(|ranks| {
            let list = ranks.trim().strip_prefix('[')?.strip_suffix(']')?;
            list.split(',').map(|rank| rank.trim().parse().ok()).collect()
        });
        numbers.is_some_and(|ranks| {
            ranks.len() == devices
                && ranks.iter().all(|rank| rank / host_device_count == ranks[0] / host_device_count)
        })
    }
}

const DUR_MEAN: Column = Column::microseconds("dur_mean", "Mean duration in µs.")
    .showing(&[Figure::SumsOfDeviceTime])
    .per("collective");

const IN_SIZE: Column = Column::new(
    "In msg size (MB)_first",
    ColumnKind::Number(Unit::Mebibytes),
    "Input size in MiB: In msg nelems × size of dtype / 1024².",
);

/// One row per kind of collective.
pub(crate) fn sheet<'a>() -> Sheet<'a, Analysis> {
    let spread = |name, description| {
        Column::microseconds(name, description)
            .showing(&[Figure::SumsOfDeviceTime])
            .spread_of(DUR_MEAN.name)
            .per("collective")
    };
    let fields = [
        Column::identifier(
            "rank",
            "Rank of the recorded process (distributedInfo.rank); 0 if not recorded.",
        )
        .field_in(|kinds: &Kinds<'_>, _: &Row<'_>| kinds.rank.into()),
        GROUP
        .field_in(|kinds: &Kinds<'_>, (key, _): &Row<'_>| {
            kinds.text(key.collective.group_name).unwrap_or(kinds.unknown_group).into()
        }),
        list("Process Group Ranks", "Ranks of the group.", |collective| collective.group_ranks),
        NAME.field(|(key, _): &Row<'_>| key.name.into()),
        count(Column::count("Group size", "Number of ranks in the group."), |collective| collective.group_size),
        Column::text("dtype", "Element type.").distinguishing()
            .field_in(|kinds: &Kinds<'_>, (key, _): &Row<'_>| kinds.text(key.collective.dtype).or(key.type_name).into()),
        count(Column::count("In msg nelems", "Number of the rank's input elements.").with_role(Role::Detail).per("message"), |collective| collective.in_elements),
        count(Column::count("Out msg nelems", "Number of the rank's output elements.").with_role(Role::Detail).per("message"), |collective| collective.out_elements),
        list("In split size", "Input elements for each rank, if the parts differ.", |collective| {
            collective.in_split_size
        }),
        list("Out split size", "Output elements from each rank, if the parts differ.", |collective| {
            collective.out_split_size
        }),
        Column::identifier("stream", "Stream of the kernel.").with_role(Role::Detail).distinguishing()
            .field(|(key, _): &Row<'_>| key.stream.into()),
        Column::text(
            "timed",
            "What was timed. kernel: the kernel. host: the collective run by Gloo on a host thread. host call: only the host's call, which may return before the collective ends. Present if some collectives have no kernel.",
        )
        .field(|(key, _): &Row<'_>| key.timed.as_str().into())
        .when(|kinds: &Kinds<'_>| kinds.has_host_calls),
        size(
            IN_SIZE,
            |collective| collective.in_elements,
        ),
        size(
            Column::new("Out msg size (MB)_first", ColumnKind::Number(Unit::Mebibytes), "Output size in MiB: Out msg nelems × size of dtype / 1024²."),
            |collective| collective.out_elements,
        ),
        duration(
            DURATION_SUM,
            |all| Some(all.sum as f64),
        ),
        duration(DUR_MEAN, |all| Some(all.mean)),
        duration(
            spread("dur_std", "Sample standard deviation (n − 1) of durations in µs; empty for one duration."),
            |all| all.sample_std,
        ),
        duration(spread("dur_min", "Shortest duration in µs."), |all| Some(all.min as f64)),
        duration(spread("dur_max", "Longest duration in µs."), |all| Some(all.max as f64)),
        Column::count("operation_count", "Number of kernels or host collectives.")
            .field(|(_, durations): &Row<'_>| durations.count.into()),
        MESSAGE_SIZE
        .field_in(|kinds: &Kinds<'_>, (key, _): &Row<'_>| kinds.message_bytes(key).into())
        .when(|kinds| kinds.conventions.is_full()),
        bandwidth(rate("algorithm bandwidth (GB/s)_mean", "Message size / mean duration, in GB/s (10⁹ bytes). The duration includes waits for other ranks: a mean \
            far below the maximum indicates waiting."), |kinds, key, durations| kinds.algorithm_bandwidth(key, durations.mean)),
        bandwidth(rate("algorithm bandwidth (GB/s)_max", "Message size / shortest duration."), |kinds, key, durations| kinds.algorithm_bandwidth(key, durations.min as f64)),
        bandwidth(rate("bus bandwidth (GB/s)_mean", "Mean algorithm bandwidth × correction factor, comparable with link speeds. The factor is 2(n−1)/n for all-reduce, (n−1)/n for all-gather, reduce-scatter and all-to-all, else 1 (nccl-tests, doc/PERFORMANCE.md). Empty if the group size is not recorded."), |kinds, key, durations| kinds.bus_bandwidth(key, durations.mean)),
        bandwidth(
            BUS_BANDWIDTH_MAX,
            |kinds, key, durations| kinds.bus_bandwidth(key, durations.min as f64),
        ),
    ];
    Sheet::with_context(
        COLL_ANALYSIS,
        "Communication kernels (with a correlation or External id) and host collectives (those of Gloo or, if there is no device work at all, calls named after a collective), by process group, collective, type, size and stream, most time first; omitted if there are none or collective analysis is off.",
        fields,
        rows,
    ).showing(&[Figure::Collectives])
    .with_chart(
        Chart::new(
            "Collectives by time",
            NAME.name,
            DURATION_SUM.name,
            "time (µs)",
            ChartShape::Bars(15),
        )
        .told_by(&[GROUP.name, "dtype", IN_SIZE.name, "stream"]),
    )
}

const fn rate(name: &'static str, description: &'static str) -> Column {
    Column::new(name, ColumnKind::Number(Unit::GigabytesPerSecond), description)
}

type KindField<'a> = Field<Kinds<'a>, Row<'a>>;

/// Numbers that the trace records as a text.
fn list<'a>(
    name: &'static str,
    description: &'static str,
    text: fn(&Collective) -> Option<StringId>,
) -> KindField<'a> {
    Column::nested(name, description).distinguishing().field_in(
        move |kinds: &Kinds<'_>, (key, _): &Row<'_>| kinds.text(text(&key.collective)).map(numbers).into(),
    )
}

fn count<'a>(column: Column, number: fn(&Collective) -> Option<i64>) -> KindField<'a> {
    column.distinguishing().field(move |(key, _): &Row<'_>| number(&key.collective).into())
}

fn size<'a>(column: Column, elements: fn(&Collective) -> Option<i64>) -> KindField<'a> {
    column.per("message").field_in(move |kinds: &Kinds<'_>, (key, _): &Row<'_>| {
        let bytes = kinds.bytes(elements(&key.collective), key);
        bytes.map(|bytes| bytes / (1024.0 * 1024.0)).into()
    })
}

/// A rate, where the report tells all.
fn bandwidth<'a>(column: Column, rate: fn(&Kinds<'_>, &Key<'_>, &Summary) -> Option<f64>) -> KindField<'a> {
    column
        .showing(&[Figure::SumsOfDeviceTime])
        .per("collective")
        .field_in(move |kinds: &Kinds<'_>, (key, durations): &Row<'_>| rate(kinds, key, durations).into())
        .when(|kinds: &Kinds<'_>| kinds.conventions.is_full())
}

fn duration<'a>(column: Column, time: fn(&Summary) -> Option<f64>) -> KindField<'a> {
    column.field_in(move |kinds: &Kinds<'_>, (_, durations): &Row<'_>| {
        time(durations).map(|time| kinds.us(time)).into()
    })
}

fn rows(analysis: &Analysis) -> Option<(Kinds<'_>, Vec<Row<'_>>)> {
    let options = analysis.options();
    if options.disable_coll_analysis || (!options.conventions.is_full() && analysis.is_gpu_only()) {
        return None;
    }
    let (trace, events) = (analysis.trace(), analysis.trace().events());
    let kernels: Vec<EventId> = (0..analysis.device.len())
        .filter(|&position| analysis.device.activity[position] == Activity::Communication)
        .map(|position| analysis.device.ids[position])
        .filter(|&id| events.category(id) == EventCategory::KERNEL)
        .filter(|&id| events.correlation(id).or(events.external_id(id)).is_some())
        .collect();
    let conventions = analysis.options().conventions;
    let host_calls = if conventions.is_full() { host_collectives(analysis) } else { Vec::new() };
    if kernels.is_empty() && host_calls.is_empty() {
        return None;
    }
    let text = |id: Option<StringId>| id.map(|id| trace.text(id));
    // What varies between collectives of one kind does not distinguish kinds.
    let kind = |collective: Collective| Collective {
        name: None,
        group_description: None,
        rank: None,
        global_rank_start: None,
        global_rank_stride: None,
        sequence: None,
        source_rank: None,
        destination_rank: None,
        ..collective
    };
    let mut groups: IndexMap<Key<'_>, Vec<i64>> = IndexMap::default();
    for &kernel in &kernels {
        let collective = events.arguments().collective.get(kernel.index()).unwrap_or_default();
        let name =
            text(collective.name).or_else(|| analysis.options().communication.collective(trace.name(kernel)));
        let stream = events.stream(kernel);
        let key = Key { collective: kind(collective), name, stream, timed: Timed::Kernel, type_name: None };
        groups.entry(key).or_default().push(events.duration(kernel));
    }
    for &HostCollective { event, timed, name, collective, type_name } in &host_calls {
        let key = Key { collective: kind(collective), name: Some(name), stream: None, timed, type_name };
        groups.entry(key).or_default().push(events.duration(event));
    }
    let mut rows: Vec<Row<'_>> = groups
        .into_iter()
        .filter_map(|(key, durations)| Some((key, Summary::from_values(&durations)?)))
        .collect();
    // Equal times: by the key columns in their order.
    rows.sort_few_by_key(|(key, summary)| {
        let Key { collective, name, stream, timed, type_name } = key;
        let group = (text(collective.group_name), text(collective.group_ranks), *name, collective.group_size);
        let sizes = (text(collective.dtype), collective.in_elements, collective.out_elements);
        let splits = (text(collective.in_split_size), text(collective.out_split_size));
        (Reverse(summary.sum), group, sizes, splits, *stream, (*timed, *type_name))
    });

    let streams = rows.iter().map(|(key, _)| key.stream).collect::<std::collections::BTreeSet<_>>();
    let lacks_group_names = rows.iter().all(|(key, _)| key.collective.group_name.is_none());
    let unknown_group = if lacks_group_names && streams.len() <= 1 { "all" } else { "Unknown_Group" };
    let rank = trace.facts().distributed.as_ref().and_then(|distributed| distributed.rank).unwrap_or(0);
    let has_host_calls = !host_calls.is_empty();
    Some((Kinds { trace, unknown_group, rank, has_host_calls, conventions }, rows))
}

/// Numbers that the trace records as a text, as the list or tuple that they stand for.
fn numbers(text: &str) -> Cell<'_> {
    let list = |open, close| text.strip_prefix(open)?.strip_suffix(close);
    let (items, sequence): (_, fn(Vec<Nested>) -> Nested) = match (list('[', ']'), list('(', ')')) {
        (Some(items), _) => (items, Nested::List),
        (_, Some(items)) => (items, Nested::Tuple),
        _ => return text.into(),
    };
    let items = items.split(',').map(str::trim).filter(|item| !item.is_empty());
    let items: Result<Vec<i64>, _> = items.map(str::parse).collect();
    // Only where the cell reads as the text does: an ellipsis or other spacing stays as it is.
    let numbers = items.ok().map(|items| sequence(items.into_iter().map(Nested::Whole).collect()));
    match numbers.filter(|numbers| numbers.to_string() == text) {
        Some(numbers) => numbers.into(),
        None => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_a_text_are_a_list_that_reads_the_same() {
        for (text, is_list) in [
            ("[0, 1, 2]", true),
            ("(7,)", true),
            ("[0, 1, ..., 6, 7]", false),
            ("[0,1]", false),
            ("[]", true),
            ("[0,, 1]", false),
            ("0, 1", false),
        ] {
            let cell = numbers(text);
            assert_eq!(cell.text(), text);
            assert_eq!(matches!(cell, Cell::Nested(_)), is_list, "{text}");
        }
    }
}
