//! Collectives that the host ran itself, or asked for, and that no kernel shows.

use perf_models::CollectiveKind;
use trace_ingest::{ArgumentValue, Category, Collective, EventId, PerString, Phase, Trace};

use crate::analysis::Analysis;

/// What the time of a collective is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Timed {
    Kernel,
    /// That in which a library ran it on a thread of the host.
    Host,
    /// That of the host's call alone.
    HostCall,
}

impl Timed {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Timed::Kernel => "kernel",
            Timed::Host => "host",
            Timed::HostCall => "host call",
        }
    }
}

pub(crate) struct HostCollective<'a> {
    pub(crate) event: EventId,
    pub(crate) timed: Timed,
    pub(crate) name: &'a str,
    pub(crate) collective: Collective,
    /// Element type as PyTorch names it for operators, where the collective has none of its own.
    pub(crate) type_name: Option<&'a str>,
}

/// What spans begin with in which Gloo runs a collective.
const GLOO: &str = "gloo:";

/// Marks of process groups that move nothing: the host waits, or a group begins.
const NO_COLLECTIVES: [&str; 2] = ["wait", "init"];

/// The collectives on the host, in the order of the file: those of Gloo; without any, and without any device event, the calls
/// that name one, of whatever library.
pub(crate) fn host_collectives(analysis: &Analysis) -> Vec<HostCollective<'_>> {
    let (trace, events) = (analysis.trace(), analysis.trace().events());
    let mut is_gloo = PerString::new(trace.strings(), |name: &str| name.starts_with(GLOO));
    let is_span = |event: &EventId| {
        matches!(events.category(*event), Category::USER_ANNOTATION | Category::CPU_OP)
            && events.phase(*event) == Phase::Complete
    };
    let gloo = events.ids().filter(is_span).filter(|&event| *is_gloo.get(events.name(event)));
    let gloo_collectives: Vec<_> = gloo.map(|event| span_collective(trace, event)).collect();
    if !gloo_collectives.is_empty() || !analysis.is_host_only() {
        return gloo_collectives;
    }
    let named = events.arguments().collective.iter().filter_map(|(row, collective)| {
        let event = EventId(u32::try_from(row).ok()?);
        let name = trace.text(collective.name?);
        (is_span(&event) && !NO_COLLECTIVES.contains(&name)).then_some(HostCollective {
            event,
            timed: Timed::HostCall,
            name,
            collective,
            type_name: None,
        })
    });
    named.collect()
}

/// What a span of Gloo says of its collective: the tensors that it was given.
fn span_collective(trace: &Trace, event: EventId) -> HostCollective<'_> {
    let events = trace.events();
    let name = trace.name(event);
    let name = name.strip_prefix(GLOO).unwrap_or(name);
    let tensors = tensors(trace, event);
    let group_size = sole_group_size(trace);
    let (in_elements, out_elements) = match (tensors, CollectiveKind::from_name(name), name) {
        (None, ..) | (_, _, "sparse_all_reduce") => (None, None),
        (Some((_, n)), CollectiveKind::AllReduce, _) | (Some((_, n)), _, "reduce" | "broadcast") => {
            (Some(n), Some(n))
        }
        (Some((_, n)), CollectiveKind::AllGather, _) => {
            (Some(n), group_size.and_then(|ranks| n.checked_mul(ranks)))
        }
        (Some((_, n)), CollectiveKind::ReduceScatter, _) => {
            (Some(n), group_size.filter(|ranks| n % ranks == 0).map(|ranks| n / ranks))
        }
        (Some((_, n)), CollectiveKind::AllToAll, _) | (Some((_, n)), _, "gather" | "send") => (Some(n), None),
        (Some((_, n)), _, "recv" | "recvAnySource") => (None, Some(n)),
        (Some(_), ..) => (None, None),
    };
    HostCollective {
        event,
        timed: Timed::Host,
        name,
        collective: Collective {
            group_size,
            in_elements,
            out_elements,
            ..events.arguments().collective.get(event.index()).unwrap_or_default()
        },
        type_name: tensors.map(|(type_name, _)| type_name),
    }
}

/// The type of the tensors that an event was given, and how many elements they have; `None` where these are not recorded, or
/// the types differ.
fn tensors(trace: &Trace, event: EventId) -> Option<(&str, i64)> {
    let signature = trace.signatures().get(trace.events().signature(event)?);
    let argument = |id| trace.signatures().argument(id).as_list();
    let (dims, types) = (argument(signature.dims?)?, argument(signature.types?)?);
    let type_name = types.first()?.as_text()?;
    if type_name.is_empty() || types.iter().any(|other| other.as_text() != Some(type_name)) {
        return None;
    }
    let size = |shape: &ArgumentValue| {
        shape.as_ints()?.into_iter().try_fold(1_i64, |product, length| product.checked_mul(length))
    };
    let elements = dims.iter().try_fold(0_i64, |sum, shape| sum.checked_add(size(shape)?))?;
    Some((type_name, elements))
}

/// Ranks of the process group, where the job has only one.
fn sole_group_size(trace: &Trace) -> Option<i64> {
    let distributed = trace.facts().distributed.as_ref()?;
    match &distributed.process_groups[..] {
        [only] if distributed.process_group_count.is_none_or(|count| count == 1) => {
            only.size.filter(|&size| size > 0)
        }
        _ => None,
    }
}
