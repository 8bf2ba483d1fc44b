//! Performance models of the operators of a trace; every distinct call is evaluated once.

use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashMap;
use perf_models::{
    Category, ComputeSpec, Family, Figure, Gap, OpCall, Parameter, PerfModel, Undefined, Value, family, model,
};
use trace_ingest::{ArgumentId, ArgumentValue, EventId, SignatureId, StringId, Trace};
use trace2tree::{TraceTree, annotate};

/// What a model says of a call, or why there is none.
pub(crate) type Evaluation = Result<Evaluated, Undefined>;

/// The answers of a model, kept.
#[derive(Clone, Debug)]
pub(crate) struct Evaluated {
    pub(crate) forward: Work,
    pub(crate) backward: Work,
    pub(crate) spec: Option<ComputeSpec>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) assumption: Option<String>,
}

/// FLOPs and bytes of one direction.
#[derive(Clone, Debug)]
pub(crate) struct Work {
    pub(crate) flops: Figure,
    pub(crate) bytes: Figure,
}

/// What distinguishes calls for a model.
#[derive(Clone, PartialEq, Eq, Hash)]
struct CallKey {
    name: StringId,
    signature: Option<SignatureId>,
    /// By start.
    kernels: Vec<StringId>,
    annotation: Option<StringId>,
    /// Arguments of the forward call, where the call records none of its own.
    forward: Option<(StringId, Option<SignatureId>)>,
}

/// Operators whose work is in the text of the inference engine's step around them.
const ANNOTATED: &str = "vllm::unified_attention_with_output";

/// Forward operators whose backward, called the same with `Backward` behind it, records no shapes: it is the
/// call with the same sequence number.
const SHAPES_ARE_FORWARD: [&str; 2] = ["ConvBias_", "ConvBiasReLU_"];

/// The models of one trace.
pub(crate) struct Models {
    /// Whether a model is registered for the name, per string.
    by_name: Vec<bool>,
    /// Step of the inference engine around an operator.
    annotations: HashMap<EventId, StringId>,
    /// Forward calls by name and sequence number.
    forward: HashMap<(&'static str, i64), EventId>,
    evaluations: Mutex<HashMap<CallKey, Arc<Evaluation>>>,
    arguments: Mutex<HashMap<ArgumentId, Arc<Vec<Value>>>>,
}

impl Models {
    pub(crate) fn new(trace: &Trace) -> Self {
        let by_name = trace.strings().iter().map(|(_, name)| is_registered(name)).collect();
        let events = trace.events();
        let annotations = annotate(trace, &[ANNOTATED])
            .into_iter()
            .filter_map(|found| Some((found.event, events.name(found.annotation?))))
            .collect();
        let mut forward = HashMap::new();
        for name in SHAPES_ARE_FORWARD {
            let Some(id) = trace.strings().find(name) else { continue };
            for event in events.ids().filter(|&event| events.name(event) == id) {
                forward.extend(events.sequence_number(event).map(|number| ((name, number), event)));
            }
        }
        Models { by_name, annotations, forward, evaluations: Mutex::default(), arguments: Mutex::default() }
    }

    /// Whether a model claims the operator; its figures may still be undefined.
    pub(crate) fn has_model(&self, tree: &TraceTree, event: EventId) -> bool {
        self.is_registered(tree, event)
            && !matches!(&*self.evaluate(tree, event), Err(undefined) if undefined.gap == Gap::NoModel)
    }

    /// Category of the backward work of the operator, if its model has figures of it.
    pub(crate) fn backward_category(&self, tree: &TraceTree, event: EventId) -> Option<Category> {
        if !self.is_registered(tree, event) {
            return None;
        }
        let name = tree.trace().name(event);
        let category = match family(name)? {
            Family::Sdpa => Category::SdpaBackward,
            Family::Conv => Category::ConvBackward,
            Family::GroupedGemm => Category::GroupedGemmBackward,
            Family::MoeCommunication => Category::MoeCommunicationBackward,
            Family::StateSpace if name.starts_with("Mamba") => Category::StateSpaceBackward,
            _ => return None,
        };
        let evaluation = self.evaluate(tree, event);
        matches!(&*evaluation, Ok(evaluated) if evaluated.backward.flops.is_ok()).then_some(category)
    }

    fn is_registered(&self, tree: &TraceTree, event: EventId) -> bool {
        self.by_name[tree.trace().events().name(event).index()]
    }

    /// What the operator's model says of this call.
    pub(crate) fn evaluate(&self, tree: &TraceTree, event: EventId) -> Arc<Evaluation> {
        let events = tree.trace().events();
        let mut device_events = tree.device_events(event).to_vec();
        device_events.sort_by_key(|&device_event| events.start(device_event));
        let kernels: Vec<StringId> =
            device_events.iter().map(|&device_event| events.name(device_event)).collect();
        let forward = self.forward_of(tree.trace(), event);
        let key = CallKey {
            name: events.name(event),
            signature: events.signature(event),
            kernels,
            annotation: self.annotations.get(&event).copied(),
            forward: forward.map(|forward| (events.name(forward), events.signature(forward))),
        };
        // What passes put on operators that they insert differs call by call.
        if !tree.pseudo_attributes(event).is_empty() {
            return Arc::new(self.evaluate_call(tree, event, &key));
        }
        if let Some(known) = lock(&self.evaluations).get(&key) {
            return Arc::clone(known);
        }
        let evaluation = Arc::new(self.evaluate_call(tree, event, &key));
        lock(&self.evaluations).insert(key, Arc::clone(&evaluation));
        evaluation
    }

    fn forward_of(&self, trace: &Trace, event: EventId) -> Option<EventId> {
        let forward = trace.name(event).strip_suffix("Backward")?;
        let name = SHAPES_ARE_FORWARD.into_iter().find(|&name| name == forward)?;
        self.forward.get(&(name, trace.events().sequence_number(event)?)).copied()
    }

    fn evaluate_call(&self, tree: &TraceTree, event: EventId, key: &CallKey) -> Evaluation {
        let trace = tree.trace();
        let kernels: Vec<&str> = key.kernels.iter().map(|&name| trace.text(name)).collect();
        let attributes = attributes(tree, event);
        let recorded = self.recorded(trace, key.signature);
        let forward = key.forward.map(|(name, signature)| (name, self.recorded(trace, signature)));
        let forward = forward.as_ref().map(|(name, recorded)| recorded.call(trace.text(*name)));
        let call = OpCall {
            attributes: &attributes,
            annotation: key.annotation.map(|name| trace.text(name)),
            kernels: &kernels,
            forward: forward.as_ref(),
            ..recorded.call(trace.text(key.name))
        };
        model(&call).map(|model| Evaluated::of(&*model))
    }

    fn recorded(&self, trace: &Trace, signature: Option<SignatureId>) -> Recorded {
        let signature = signature.map(|id| trace.signatures().get(id)).unwrap_or_default();
        Recorded(
            [signature.dims, signature.types, signature.strides, signature.concrete]
                .map(|list| list.map(|id| self.argument(trace, id))),
        )
    }

    /// The elements of an argument list, converted once.
    fn argument(&self, trace: &Trace, id: ArgumentId) -> Arc<Vec<Value>> {
        let convert = || match trace.signatures().argument(id) {
            ArgumentValue::List(items) => items.iter().map(value).collect(),
            other => vec![value(other)],
        };
        Arc::clone(lock(&self.arguments).entry(id).or_insert_with(|| Arc::new(convert())))
    }
}

/// Recorded arguments of a call: shapes, types, strides, values.
struct Recorded([Option<Arc<Vec<Value>>>; 4]);

impl Recorded {
    fn call<'a>(&'a self, name: &'a str) -> OpCall<'a> {
        let [dims, types, strides, concrete] =
            self.0.each_ref().map(|list| list.as_deref().map(Vec::as_slice));
        OpCall { name, dims, types, strides, concrete, ..OpCall::default() }
    }
}

/// The content of a mutex. A panic elsewhere leaves a cache whole: entries are put in complete.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Arguments beside the four lists that a model may read.
fn attributes(tree: &TraceTree, event: EventId) -> Vec<(&str, Value)> {
    let trace = tree.trace();
    let inserted = tree.pseudo_attributes(event).iter().map(|(name, text)| (name.as_str(), value(text)));
    let triton = trace.events().arguments().triton.get(event.index());
    let triton = triton.map(|triton| {
        [
            ("kernel_file", triton.file),
            ("kernel_hash", triton.hash),
            ("kernel_kwargs", triton.keyword_arguments),
        ]
    });
    let generated = triton.into_iter().flatten();
    inserted
        .chain(generated.filter_map(|(name, text)| Some((name, Value::from(trace.text(text?))))))
        .collect()
}

impl Evaluated {
    fn of(model: &dyn PerfModel) -> Self {
        Evaluated {
            forward: Work { flops: model.flops(), bytes: model.bytes() },
            backward: Work { flops: model.backward_flops(), bytes: model.backward_bytes() },
            spec: model.compute_spec(),
            parameters: model.parameters(),
            assumption: model.assumption(),
        }
    }
}

/// Whether a model is registered for operators of this name.
fn is_registered(name: &str) -> bool {
    family(name).is_some()
        || ["triton_poi_", "triton_red_", "triton_per_"].iter().any(|prefix| name.starts_with(prefix))
}

/// An argument of the trace as the models take it.
pub(crate) fn value(argument: &ArgumentValue) -> Value {
    match argument {
        ArgumentValue::Null => Value::None,
        ArgumentValue::Bool(value) => Value::Bool(*value),
        ArgumentValue::Int(value) => Value::Int(*value),
        ArgumentValue::Float(value) => Value::Float(*value),
        ArgumentValue::Text(text) => Value::Text(text.clone()),
        ArgumentValue::List(items) => Value::List(items.iter().map(value).collect()),
    }
}
