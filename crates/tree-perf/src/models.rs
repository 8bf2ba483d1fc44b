//! Performance models of the operators of a trace; every distinct call is evaluated once.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::{HashMap, HashSet};
use perf_models::{
    BackwardWork, Category, CommunicationPatterns, Gap, MemoryKernel, OpCall, Operator, Tables, Value,
    rocm_memory_kernel, work_category,
};
use trace_ingest::{
    ArgumentId, ArgumentValue, Category as EventCategory, EventId, SignatureId, StringId, Trace,
};
use trace2tree::TraceTree;

use crate::analysis_extension::ExtensionModel;
use crate::extended_operators::ExtendedOperators;
use crate::notice::Notice;
use crate::step_annotations::step_annotations;
use operator_sheets::{Classified, Evaluated, OpCategory};

mod answers;

pub(crate) use answers::{AnswerId, Evaluation};
use answers::{Answers, ModelInput};

/// Whether operators of a name have a model.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Claim {
    Nothing,
    /// A model is registered for the name.
    Name,
    /// The kernels of a call decide ([`Tables::decides_by_kernels`]).
    Kernels,
}

/// The models of one trace.
pub(crate) struct Models {
    /// What is claimed of operators, per string.
    by_name: Vec<Claim>,
    /// Step of the inference engine around an operator.
    annotations: HashMap<EventId, StringId>,
    /// Forward calls by name and sequence number.
    forward: HashMap<(&'static str, i64), EventId>,
    answers: Answers,
    arguments: Mutex<HashMap<ArgumentId, Arc<Vec<Value>>>>,
    /// By the names of an operator and a kernel.
    categories: Mutex<HashMap<(StringId, Option<StringId>), Category>>,
    communication: CommunicationPatterns,
    tables: Tables,
    /// What the user adds to the built-in models; asked first.
    extended: Option<ExtendedOperators>,
}

impl Models {
    pub(crate) fn new(
        trace: &Trace,
        extended: Option<ExtendedOperators>,
        communication: &CommunicationPatterns,
        tables: Tables,
    ) -> Self {
        let is_extended =
            |name: StringId| extended.as_ref().is_some_and(|extended| extended.is_modelled(name));
        let claim = |(id, name): (StringId, &str)| match is_extended(id) || tables.has_model(name) {
            false => Claim::Nothing,
            true if !is_extended(id) && tables.decides_by_kernels(name) => Claim::Kernels,
            true => Claim::Name,
        };
        let by_name = trace.strings().iter().map(claim).collect();
        let events = trace.events();
        let extended_names = extended.iter().flat_map(ExtendedOperators::names);
        let modelled = extended_names.filter(|(_, operator)| operator.is_modelled);
        let annotated: Vec<&str> = modelled.map(|(name, _)| trace.text(name)).collect();
        let annotations = step_annotations(trace, &annotated);
        let mut forward = HashMap::new();
        for name in tables.operators().filter_map(|operator| operator.forward_call) {
            let Some(id) = trace.strings().find(name) else { continue };
            for event in events.ids().filter(|&event| events.name(event) == id) {
                forward.extend(events.sequence_number(event).map(|number| ((name, number), event)));
            }
        }
        Models {
            by_name,
            annotations,
            forward,
            answers: Answers::new(events.len()),
            arguments: Mutex::default(),
            categories: Mutex::default(),
            communication: communication.clone(),
            tables,
            extended,
        }
    }

    /// The tables that answer for all operators that the extension does not know.
    pub(crate) fn tables(&self) -> Tables {
        self.tables
    }

    /// What the tables say of operators of this name.
    pub(crate) fn operator(&self, name: &str) -> Option<&'static Operator> {
        self.tables.operator(name)
    }

    /// What the user adds to the built-in models.
    pub(crate) fn extended(&self) -> Option<&ExtendedOperators> {
        self.extended.as_ref()
    }

    /// Kind of work that a device event did for the operator or call that is charged with it: communication and copies
    /// are their own whoever launched them, the rest is what the extension says of the operator, else what the names of
    /// both say ([`work_category`]).
    pub(crate) fn work(&self, tree: &TraceTree, operator: EventId, device_event: EventId) -> OpCategory {
        let (trace, events) = (tree.trace(), tree.trace().events());
        if events.category(device_event) == EventCategory::GPU_MEMCPY {
            return Category::CopyFill.into();
        }
        let names = (events.name(operator), events.name(device_event));
        let find = || {
            let (operator, kernel) = (trace.text(names.0), trace.text(names.1));
            match rocm_memory_kernel(kernel) {
                Some(MemoryKernel::Copy) => Category::CopyFill,
                _ => work_category(operator, kernel, &self.communication),
            }
        };
        let category = *lock(&self.categories).entry((names.0, Some(names.1))).or_insert_with(find);
        match category {
            Category::Communication | Category::CopyFill => category.into(),
            _ => self.category_by_extension(tree, operator).unwrap_or_else(|| category.into()),
        }
    }

    /// Kind of work of an operator call: what the extension says of it, else that of its name or its first kernel.
    pub(crate) fn category(
        &self,
        tree: &TraceTree,
        event: EventId,
        first_kernel: Option<EventId>,
    ) -> OpCategory {
        let trace = tree.trace();
        let by_names = || {
            let names = (trace.events().name(event), first_kernel.map(|kernel| trace.events().name(kernel)));
            let find =
                || self.tables.op_category(trace.text(names.0), names.1.map(|kernel| trace.text(kernel)));
            (*lock(&self.categories).entry(names).or_insert_with(find)).into()
        };
        self.category_by_extension(tree, event).unwrap_or_else(by_names)
    }

    /// Kind of work of something that is no event, by its name or its first kernel.
    pub(crate) fn category_of_name(&self, name: &str, first_kernel: Option<&str>) -> OpCategory {
        let by_extension = self.extended.as_ref().and_then(|extended| extended.category_of_text(name));
        by_extension.unwrap_or_else(|| self.tables.op_category(name, first_kernel).into())
    }

    /// What the extension says of the kind of work; the name comes before the model.
    pub(crate) fn category_by_extension(&self, tree: &TraceTree, event: EventId) -> Option<OpCategory> {
        let extended = self.extended.as_ref()?;
        let operator = extended.get(tree.trace().events().name(event))?;
        operator.category.clone().or_else(|| {
            let evaluation = operator.is_modelled.then(|| self.evaluate(tree, event))?;
            Some(evaluation.as_ref().ok()?.by_extension.as_ref()?.category.clone())
        })
    }

    /// Whether a model claims the operator; its figures may still be undefined.
    pub(crate) fn has_model(&self, tree: &TraceTree, event: EventId) -> bool {
        self.is_registered(tree, event)
            && !matches!(self.evaluate(tree, event), Err(undefined) if undefined.gap == Gap::NoModel)
    }

    /// Category of the backward work of the operator, if its model has figures of it.
    pub(crate) fn backward_category(&self, tree: &TraceTree, event: EventId) -> Option<OpCategory> {
        if !self.is_registered(tree, event) {
            return None;
        }
        let category = match self.is_extended(tree, event) {
            true => self.category_by_extension(tree, event)?.backward(),
            false => self.tables.family(tree.trace().name(event))?.backward_category()?.into(),
        };
        let evaluation = self.evaluate(tree, event);
        matches!(evaluation, Ok(evaluated) if evaluated.backward.flops.is_ok()).then_some(category)
    }

    /// Whether the extension models the operator.
    pub(crate) fn is_extended(&self, tree: &TraceTree, event: EventId) -> bool {
        let name = tree.trace().events().name(event);
        self.extended.as_ref().is_some_and(|extended| extended.is_modelled(name))
    }

    fn is_registered(&self, tree: &TraceTree, event: EventId) -> bool {
        self.claim(tree, event) != Claim::Nothing
    }

    /// Whether only our tables have a model of the operator: it is none of those that TraceLens knows, nor of the
    /// extension.
    pub(crate) fn is_ours_alone(&self, tree: &TraceTree, event: EventId) -> bool {
        !self.is_extended(tree, event) && !Tables::Common.has_model(tree.trace().name(event))
    }

    /// Whether it is backward work that only our tables have a model of. An autograd node around it that stands for nothing
    /// else has the figures of its forward call instead.
    pub(crate) fn models_backward_alone(&self, tree: &TraceTree, event: EventId) -> bool {
        let operator = self.operator(tree.trace().name(event));
        operator.is_some_and(|operator| operator.backward_work == BackwardWork::Itself)
            && self.is_ours_alone(tree, event)
    }

    /// The autograd node around backward work, up to five levels above, and the forward operator that it links to, where its
    /// model has figures of the backward pass.
    pub(crate) fn modelled_forward(&self, tree: &TraceTree, event: EventId) -> Option<(EventId, EventId)> {
        let mut above = tree.ancestors(event).take(5);
        let linked = above.find_map(|above| Some((above, tree.forward_event(above)?)));
        linked.filter(|&(_, forward)| self.backward_category(tree, forward).is_some())
    }

    /// Whether only the operator that launched kernels has a model, and operators around it do not.
    pub(crate) fn decides_by_kernels(&self, tree: &TraceTree, event: EventId) -> bool {
        self.claim(tree, event) == Claim::Kernels
    }

    fn claim(&self, tree: &TraceTree, event: EventId) -> Claim {
        self.by_name[tree.trace().events().name(event).index()]
    }

    /// What the operator's model says of this call.
    pub(crate) fn evaluate(&self, tree: &TraceTree, event: EventId) -> &Evaluation {
        self.evaluation(self.answer(tree, event))
    }

    /// Which answer the operator's model gives to this call.
    pub(crate) fn answer(&self, tree: &TraceTree, event: EventId) -> AnswerId {
        self.answers.answer(event, || self.key(tree, event), |key| self.evaluate_call(tree, event, key))
    }

    pub(crate) fn evaluation(&self, answer: AnswerId) -> &Evaluation {
        self.answers.get(answer)
    }

    fn key(&self, tree: &TraceTree, event: EventId) -> ModelInput {
        /// Kernels below a call that models may look at. Operators around operators have those of all inside, each.
        const MOST_KERNELS: usize = 1_024;
        let events = tree.trace().events();
        let below = tree.device_events(event);
        let mut device_events = below[..below.len().min(MOST_KERNELS)].to_vec();
        device_events.sort_by_key(|&device_event| events.start(device_event));
        let forward = self.forward_of(tree, event);
        ModelInput {
            name: events.name(event),
            signature: events.signature(event),
            kernels: device_events.iter().map(|&device_event| events.name(device_event)).collect(),
            annotation: self.annotations.get(&event).copied(),
            forward: forward.map(|forward| (events.name(forward), events.signature(forward))),
            call: self.has_own_arguments(tree, event).then_some(event),
        }
    }

    /// Whether the call has arguments of its own beside what its signature says: passes put them on operators
    /// that they insert, an extension on any, and collectives are recorded with some.
    fn has_own_arguments(&self, tree: &TraceTree, event: EventId) -> bool {
        let recorded = || tree.trace().events().arguments().collective.get(event.index()).is_some();
        !tree.pseudo_attributes(event).is_empty()
            || self.extended.as_ref().is_some_and(|extended| !extended.attributes(event).is_empty())
            || (self.is_extended(tree, event) && recorded())
    }

    fn forward_of(&self, tree: &TraceTree, event: EventId) -> Option<EventId> {
        let trace = tree.trace();
        if self.is_extended(tree, event) {
            // The link is that of the autograd node around the operator.
            return std::iter::once(event)
                .chain(tree.ancestors(event).take(1))
                .find_map(|linked| tree.forward_event(linked));
        }
        let name = self.operator(trace.name(event))?.forward_call?;
        self.forward.get(&(name, trace.events().sequence_number(event)?)).copied()
    }

    fn evaluate_call(&self, tree: &TraceTree, event: EventId, key: &ModelInput) -> Evaluation {
        let arguments = self.arguments_of_call(tree, event, key);
        let forward = arguments.forward_call();
        let call = arguments.call(forward.as_ref());
        let extended = self.extended.as_ref().filter(|extended| extended.is_modelled(key.name));
        match extended.and_then(|extended| extended.model(&call)) {
            Some(answer) => answer.map(by_extension),
            None => self.tables.model(&call).map(|model| Evaluated::new(&*model)),
        }
    }

    fn arguments_of_call<'a>(
        &'a self,
        tree: &'a TraceTree,
        event: EventId,
        key: &ModelInput,
    ) -> CallArguments<'a> {
        let trace = tree.trace();
        let forward =
            key.forward.map(|(name, signature)| (trace.text(name), self.recorded(trace, signature)));
        CallArguments {
            name: trace.text(key.name),
            recorded: self.recorded(trace, key.signature),
            attributes: self.attributes(tree, event),
            annotation: key.annotation.map(|name| trace.text(name)),
            kernels: key.kernels.iter().map(|&name| trace.text(name)).collect(),
            forward,
        }
    }

    /// Names every call that the extension's models will be asked for, so that it can answer them together.
    pub(crate) fn prepare_extension(&self, tree: &TraceTree) {
        let Some(extended) = &self.extended else { return };
        let mut keys = HashSet::new();
        let mut arguments = Vec::new();
        for event in self.extended_calls(tree) {
            let key = self.key(tree, event);
            if !keys.contains(&key) {
                arguments.push(self.arguments_of_call(tree, event, &key));
                keys.insert(key);
            }
        }
        let forward: Vec<_> = arguments.iter().map(CallArguments::forward_call).collect();
        let calls: Vec<_> =
            arguments.iter().zip(&forward).map(|(call, forward)| call.call(forward.as_ref())).collect();
        extended.prepare(&calls);
    }

    /// The calls with device work that the extension models.
    fn extended_calls<'a>(&'a self, tree: &'a TraceTree) -> impl Iterator<Item = EventId> + 'a {
        let extended = self.extended.iter().flat_map(ExtendedOperators::names);
        let modelled = extended.filter(|(_, operator)| operator.is_modelled);
        let calls = modelled.flat_map(|(name, _)| tree.find_by_name_id(name).iter().copied());
        calls.filter(|&event| {
            !tree.non_gpu_path(event) && tree.trace().events().category(event) == EventCategory::CPU_OP
        })
    }

    /// Arguments beside the four lists that a model may read.
    fn attributes<'a>(&'a self, tree: &'a TraceTree, event: EventId) -> Vec<(&'a str, Value)> {
        let mut all = recorded_attributes(tree.trace(), event, self.is_extended(tree, event));
        let inserted = tree.pseudo_attributes(event).iter().map(|(name, text)| (name.as_str(), value(text)));
        let given = self.extended.iter().flat_map(|extended| extended.attributes(event));
        for (name, value) in inserted.chain(given.map(|(name, value)| (name.as_str(), value.clone()))) {
            set_attribute(&mut all, name, value);
        }
        all
    }

    /// Calls that the extension models but cannot read, by reason.
    pub(crate) fn failures(&self, tree: &TraceTree) -> Vec<Notice> {
        let mut failures: BTreeMap<String, usize> = BTreeMap::new();
        for event in self.extended_calls(tree) {
            if let Err(undefined) = self.evaluate(tree, event)
                && undefined.gap == Gap::Arguments
            {
                *failures.entry(undefined.to_string()).or_default() += 1;
            }
        }
        failures.into_iter().map(|(reason, calls)| Notice::ExtensionModelFailed { reason, calls }).collect()
    }

    pub(crate) fn recorded(&self, trace: &Trace, signature: Option<SignatureId>) -> Recorded {
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

/// What a model is asked about a call, gathered.
struct CallArguments<'a> {
    name: &'a str,
    recorded: Recorded,
    attributes: Vec<(&'a str, Value)>,
    annotation: Option<&'a str>,
    kernels: Vec<&'a str>,
    forward: Option<(&'a str, Recorded)>,
}

impl CallArguments<'_> {
    fn forward_call(&self) -> Option<OpCall<'_>> {
        self.forward.as_ref().map(|(name, recorded)| recorded.call(name))
    }

    fn call<'c>(&'c self, forward: Option<&'c OpCall<'c>>) -> OpCall<'c> {
        OpCall {
            attributes: &self.attributes,
            annotation: self.annotation,
            kernels: &self.kernels,
            forward,
            ..self.recorded.call(self.name)
        }
    }
}

/// The content of a mutex. A panic elsewhere leaves a cache whole: entries are put in complete.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The answers of an extension's model.
fn by_extension(answer: ExtensionModel) -> Evaluated {
    let category = OpCategory::named(&answer.category);
    let classified = Classified { category, family: answer.family };
    Evaluated { by_extension: Some(classified), ..Evaluated::new(&*answer.model) }
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

/// Recorded arguments of a call: shapes, types, strides, values.
pub(crate) struct Recorded([Option<Arc<Vec<Value>>>; 4]);

impl Recorded {
    pub(crate) fn call<'a>(&'a self, name: &'a str) -> OpCall<'a> {
        let [dims, types, strides, concrete] =
            self.0.each_ref().map(|list| list.as_deref().map(Vec::as_slice));
        OpCall { name, dims, types, strides, concrete, ..OpCall::default() }
    }
}

/// Further arguments as recorded: of the call of a generated kernel, and of a collective, if that is wanted.
fn recorded_attributes(trace: &Trace, event: EventId, with_collective: bool) -> Vec<(&str, Value)> {
    let arguments = trace.events().arguments();
    let text = |id: Option<StringId>| id.map(|id| Value::from(trace.text(id)));
    let number = |number: Option<i64>| number.map(Value::Int);
    let mut all = Vec::new();
    if let Some(triton) = arguments.triton.get(event.index()) {
        all.extend([
            ("kernel_file", text(triton.file)),
            ("kernel_hash", text(triton.hash)),
            ("kernel_kwargs", text(triton.keyword_arguments)),
        ]);
    }
    if let Some(collective) = arguments.collective.get(event.index()).filter(|_| with_collective) {
        all.extend([
            ("Collective name", text(collective.name)),
            ("Process Group Name", text(collective.group_name)),
            ("Process Group Description", text(collective.group_description)),
            ("Process Group Ranks", text(collective.group_ranks)),
            ("Group size", number(collective.group_size)),
            ("dtype", text(collective.dtype)),
            ("In msg nelems", number(collective.in_elements)),
            ("Out msg nelems", number(collective.out_elements)),
            ("In split size", text(collective.in_split_size)),
            ("Out split size", text(collective.out_split_size)),
        ]);
    }
    all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

/// Gives an attribute a value: what comes later overrides what is there.
pub(crate) fn set_attribute<N: AsRef<str>>(attributes: &mut Vec<(N, Value)>, name: N, value: Value) {
    match attributes.iter_mut().find(|(known, _)| known.as_ref() == name.as_ref()) {
        Some((_, old)) => *old = value,
        None => attributes.push((name, value)),
    }
}
