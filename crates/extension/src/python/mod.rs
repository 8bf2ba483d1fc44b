//! The Python form: the user's file, run by the user's Python in a process of its own.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use perf_models::{Family, OpCall, Undefined, Value};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use sheets::{Cell, Column, ColumnKind, Table, TableColumn, Unit};
use trace2tree::TraceTree;
use tree_perf::{AnalysisExtension, ExtensionModel, Notice, TreeChanges};

use crate::error::{ExtensionError, Place};
use crate::families::ModelFamily;
use crate::loaded::{Loaded, sheet_members};
use crate::work::{OwnBackward, ParameterNames, Work, figure, spec};

mod built_in;
mod interpreter;
mod json;
mod process;
mod tree;

pub use interpreter::{Limits, Python};
use json::{call_to_json, from_json};
use process::{Process, Reply, Stop};
use tree::Edit;

const RULE: &str = "tree_postprocess_extension";
const TABLES: &str = "get_additional_dataframes_extension";

/// A Python file, loaded.
pub(crate) struct PythonFile {
    path: String,
    modelled: BTreeSet<String>,
    categories: BTreeMap<String, String>,
    sheets: BTreeMap<String, Vec<String>>,
    has_rule: bool,
    has_tables: bool,
    without_effect: Vec<Notice>,
    names: ParameterNames,
    talk: Mutex<Talk>,
}

/// What is said between the program and the file's process.
struct Talk {
    process: Process,
    /// Why the process is of no more use.
    ended: Option<Ended>,
    /// What the file printed outside of its rule.
    printed: Vec<String>,
    /// Why it added no tables.
    without_tables: Vec<Notice>,
    /// Answers by call, so that no call is asked for twice.
    answers: HashMap<String, Result<ExtensionModel, Undefined>>,
}

#[derive(Clone)]
struct Ended {
    line: Option<usize>,
    reason: String,
    kind: Kind,
}

/// What kind of end it was; the names are those of the bridge.
#[derive(Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    #[default]
    Fault,
    Syntax,
    Member,
    Limit,
    /// There is no figure rather than a fault.
    Unsupported,
}

/// What the process answered.
enum Answer {
    Said(Json),
    Failed(Ended),
}

impl Talk {
    /// Sends a request; answers what the process asks in between.
    fn request(&mut self, request: &Json, host: impl Fn(&Json) -> Result<Reply, String>) -> Answer {
        self.send(request);
        self.answer(&host)
    }

    fn send(&mut self, request: &Json) {
        if self.ended.is_none() {
            self.process.restart_clock();
            self.process.send(request.to_string());
        }
    }

    fn answer(&mut self, host: &dyn Fn(&Json) -> Result<Reply, String>) -> Answer {
        loop {
            if let Some(ended) = &self.ended {
                return Answer::Failed(ended.clone());
            }
            match self.process.receive() {
                Ok(mut answer) => {
                    if let Some(Json::String(text)) = answer.get_mut("printed") {
                        self.printed.push(std::mem::take(text));
                    } else if let Some(question) = answer.get("ask") {
                        self.process.reply(host(question));
                    } else if let Some(error) = answer.get("error") {
                        return Answer::Failed(Ended::from_json(error));
                    } else {
                        return Answer::Said(answer);
                    }
                }
                Err(Stop { line, reason, is_limit }) => {
                    let kind = if is_limit { Kind::Limit } else { Kind::Fault };
                    self.ended = Some(Ended { line, reason, kind });
                }
            }
        }
    }
}

impl Ended {
    fn fault(reason: String) -> Ended {
        Ended { line: None, reason, kind: Kind::Fault }
    }

    fn from_json(error: &Json) -> Ended {
        Ended {
            line: error.get("line").and_then(Json::as_u64).map(|line| line as usize),
            reason: error.get("reason").and_then(Json::as_str).unwrap_or("it failed").to_owned(),
            kind: error.get("kind").and_then(|kind| Kind::deserialize(kind).ok()).unwrap_or_default(),
        }
    }

    fn into_error(self, path: &str, activity: &'static str) -> ExtensionError {
        let at = Place { path: path.to_owned(), line: self.line };
        let reason = self.reason;
        match self.kind {
            Kind::Limit => ExtensionError::Limit { at, activity, reason },
            Kind::Syntax => ExtensionError::Syntax { at, activity, reason },
            Kind::Member => ExtensionError::Member { at, activity, reason },
            Kind::Fault | Kind::Unsupported => ExtensionError::Failed { at, activity, reason },
        }
    }
}

/// What a loaded file registers.
#[derive(serde::Deserialize)]
struct Registered {
    models: Vec<String>,
    categories: BTreeMap<String, String>,
    sheets: BTreeMap<String, Vec<String>>,
    rule: bool,
    tables: bool,
    without_effect: Vec<(String, Option<usize>, String)>,
}

impl PythonFile {
    pub(crate) fn load(path: &str, text: &str, python: &Python) -> Result<PythonFile, ExtensionError> {
        let process = Process::start(path, python).map_err(|reason| ExtensionError::NoPython {
            path: path.to_owned(),
            python: python.program.to_string_lossy().into_owned(),
            reason,
        })?;
        let mut talk = Talk {
            process,
            ended: None,
            printed: Vec::new(),
            without_tables: Vec::new(),
            answers: HashMap::new(),
        };
        let failed = |ended: Ended| ended.into_error(path, "loading");
        let registered = match talk.request(&json!({ "load": path, "text": text }), built_in::answer) {
            Answer::Said(answer) => serde_json::from_value::<Registered>(answer).map_err(|error| {
                failed(Ended::fault(format!("invalid answer from the extension process: {error}")))
            })?,
            Answer::Failed(ended) => return Err(failed(ended)),
        };
        let without_effect = registered.without_effect.into_iter().map(|(member, line, reason)| {
            let at = Place { path: path.to_owned(), line };
            Notice::ExtensionWithoutEffect { reason: format!("{at}: {member} has no effect: {reason}") }
        });
        Ok(PythonFile {
            path: path.to_owned(),
            modelled: registered.models.into_iter().collect(),
            categories: registered.categories,
            sheets: registered.sheets,
            has_rule: registered.rule,
            has_tables: registered.tables,
            without_effect: without_effect.collect(),
            names: ParameterNames::default(),
            talk: Mutex::new(talk),
        })
    }

    /// A panic elsewhere leaves at worst a request unanswered, which the next one notices.
    fn talk(&self) -> MutexGuard<'_, Talk> {
        self.talk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn says(&self, text: &str) -> Notice {
        Notice::ExtensionSays { text: format!("{}: {text}", self.path) }
    }

    /// Asks for the models of calls that were not asked for before, in one batch.
    fn ask(&self, talk: &mut Talk, calls: &[OpCall<'_>]) {
        let mut requests = Vec::new();
        let mut keys = Vec::new();
        for call in calls {
            let request = call_to_json(call);
            let key = request.to_string();
            if !talk.answers.contains_key(&key) {
                // Holds the place, so that a batch has no call twice.
                talk.answers.insert(key.clone(), Err(Undefined::arguments("")));
                requests.push(request);
                keys.push((key, call.name));
            }
        }
        if requests.is_empty() {
            return;
        }
        talk.send(&json!({ "calls": requests }));
        for (key, operator) in keys {
            let answer = match talk.answer(&built_in::answer) {
                Answer::Said(answer) => self.model_of(&answer),
                Answer::Failed(mut ended) => {
                    // What ended the process is to blame for all that comes after.
                    if let Some(end) = &mut talk.ended {
                        if !end.reason.contains("(in ") {
                            end.reason = format!("{} (in the model of {operator})", end.reason);
                        }
                        ended = end.clone();
                    }
                    let at = Place { path: self.path.clone(), line: ended.line };
                    let reason = format!("{at}: {}", ended.reason);
                    Err(match ended.kind {
                        Kind::Unsupported => Undefined::no_formula(reason),
                        _ => Undefined::arguments(reason),
                    })
                }
            };
            talk.answers.insert(key, answer);
        }
    }

    /// The model that the file's function or class describes.
    fn model_of(&self, answer: &Json) -> Result<ExtensionModel, Undefined> {
        if answer.get("none").is_some() {
            return Err(Undefined::no_formula(format!("{} returned no figures for this call", self.path)));
        }
        self.described(answer).map_err(|reason| {
            let line = answer.get("line").and_then(Json::as_u64).map(|line| line as usize);
            let at = Place { path: self.path.clone(), line };
            Undefined::arguments(format!("{at}: {reason}"))
        })
    }

    fn described(&self, answer: &Json) -> Result<ExtensionModel, String> {
        let number = |name: &str| figure(name, &answer.get(name).map_or(Ok(Value::None), from_json)?);
        let text = |name: &str| answer.get(name).and_then(Json::as_str);
        let backward = (number("backward_flops")?, number("backward_bytes")?);
        if let Some(family) = text("family") {
            let family = ModelFamily::named(family)?;
            let given = answer.get("parameters").and_then(Json::as_object).into_iter().flatten();
            let given = given.map(|(name, value)| Ok((name.clone(), from_json(value)?)));
            let model = family.build(given.collect::<Result<_, String>>()?)?;
            let is_modelled = answer.get("backward").and_then(Json::as_bool).unwrap_or(true);
            let model = match is_modelled && backward == (None, None) {
                true => model,
                false => Arc::new(OwnBackward { forward: model, flops: backward.0, bytes: backward.1 }),
            };
            let category = text("category").unwrap_or(family.category.as_str()).to_owned();
            return Ok(ExtensionModel { model, family: Some(family.family), category });
        }
        let mut parameters = Vec::new();
        for pair in answer.get("params").and_then(Json::as_array).into_iter().flatten() {
            if let [Json::String(name), value] = pair.as_array().map_or(&[][..], Vec::as_slice) {
                parameters.push((self.names.get(name)?, from_json(value)?));
            }
        }
        let work = Work {
            flops: number("flops")?,
            bytes: number("bytes")?,
            backward_flops: backward.0,
            backward_bytes: backward.1,
            spec: text("spec").map(spec).transpose()?,
            parameters,
        };
        let sheet = text("sheet");
        let family = Family::all().find(|family| sheet.is_some_and(|sheet| family.to_string() == sheet));
        let category = text("category").ok_or("the category is missing")?.to_owned();
        Ok(ExtensionModel { model: Arc::new(work), family, category })
    }
}

/// Tables as the bridge sends them: name, and headers with their cells.
fn table_from_json(tables: &Json) -> Result<Vec<Table>, String> {
    type Columns = Vec<(String, Vec<Json>)>;
    let tables: Vec<(String, Columns)> = serde_json::from_value(tables.clone())
        .map_err(|error| format!("invalid answer from the extension process: {error}"))?;
    let table = |(name, columns): (String, Columns)| {
        let columns = columns.into_iter().map(|(header, cells)| column(header, &cells));
        Table::new(name, columns.collect::<Result<_, _>>()?).map_err(|error| error.to_string())
    };
    tables.into_iter().map(table).collect()
}

/// A column of the kind that all its cells are of; of texts where they are of several.
fn column(header: String, cells: &[Json]) -> Result<TableColumn, String> {
    let values = cells.iter().map(from_json).collect::<Result<Vec<_>, _>>()?;
    let all = |is: fn(&Value) -> bool| values.iter().all(|value| *value == Value::None || is(value));
    let kind = if all(|value| matches!(value, Value::Bool(_))) {
        ColumnKind::Flag
    } else if all(|value| matches!(value, Value::Int(_))) {
        ColumnKind::Whole(Unit::One)
    } else if all(|value| matches!(value, Value::Int(_) | Value::Float(_))) {
        ColumnKind::Number(Unit::One)
    } else {
        ColumnKind::Text
    };
    let cell = |value: &Value| match value {
        Value::None => Cell::Missing,
        Value::Bool(flag) if kind == ColumnKind::Flag => Cell::Flag(*flag),
        Value::Int(number) if kind != ColumnKind::Text => Cell::Whole(*number),
        Value::Float(number) if kind != ColumnKind::Text => Cell::Number(*number),
        Value::Text(text) => Cell::Text(text.clone().into()),
        other => {
            let mut text = String::new();
            let _ = other.write_literal(&mut text);
            Cell::Text(text.into())
        }
    };
    let cells: Vec<Cell<'static>> = values.iter().map(cell).collect();
    Ok(TableColumn::named(header, Column::new("", kind, "Column from an extension."), cells))
}

impl AnalysisExtension for PythonFile {
    fn change_tree(&self, tree: &mut TraceTree) -> Result<TreeChanges, Box<dyn Error + Send + Sync>> {
        if !self.has_rule {
            return Ok(TreeChanges::default());
        }
        let mut talk = self.talk();
        let before = talk.printed.len();
        let request = json!({ "tree": tree.trace().events().len() });
        let answer = talk.request(&request, |question| tree::answer(tree, question));
        let failed = match answer {
            Answer::Said(mut answer) => {
                let edits = answer.get_mut("edits").map_or(Json::Null, Json::take);
                let edits = serde_json::from_value::<Vec<Edit>>(edits);
                let edits =
                    edits.map_err(|error| format!("invalid answer from the extension process: {error}"));
                match edits.and_then(|edits| tree::carry_out(tree, edits)) {
                    Ok(attributes) => {
                        let printed = talk.printed.split_off(before);
                        let notices = printed.iter().map(|text| self.says(text)).collect();
                        return Ok(TreeChanges { notices, attributes });
                    }
                    Err(reason) => Ended::fault(reason),
                }
            }
            Answer::Failed(ended) => ended,
        };
        if let Some(ended) = &mut talk.ended {
            ended.reason = format!("{} (in {RULE})", ended.reason);
        }
        Err(failed.into_error(&self.path, RULE).into())
    }

    fn tables(&self, tree: &TraceTree) -> Vec<Table> {
        if !self.has_tables {
            return Vec::new();
        }
        let mut talk = self.talk();
        let request = json!({ "tables": tree.trace().events().len() });
        let tables = match talk.request(&request, |question| tree::answer(tree, question)) {
            Answer::Said(answer) => table_from_json(&answer["tables"]).map_err(Ended::fault),
            Answer::Failed(ended) => Err(ended),
        };
        tables.unwrap_or_else(|ended| {
            let reason = ended.into_error(&self.path, TABLES).to_string();
            talk.without_tables.push(Notice::ExtensionWithoutEffect { reason });
            Vec::new()
        })
    }

    fn has_model(&self, operator: &str) -> bool {
        self.modelled.contains(operator)
    }

    fn prepare(&self, calls: &[OpCall<'_>]) {
        self.ask(&mut self.talk(), calls);
    }

    /// The file's model of a call.
    ///
    /// A function that fails, exceeds a limit or returns something else leaves the call without figures; the reason
    /// names file and line.
    fn model(&self, call: &OpCall<'_>) -> Option<Result<ExtensionModel, Undefined>> {
        if !self.has_model(call.name) {
            return None;
        }
        let mut talk = self.talk();
        self.ask(&mut talk, std::slice::from_ref(call));
        talk.answers.get(&call_to_json(call).to_string()).cloned()
    }

    fn category(&self, operator: &str) -> Option<&str> {
        self.categories.get(operator).map(String::as_str)
    }

    fn sheets(&self, operator: &str) -> Vec<&str> {
        self.sheets.get(operator).into_iter().flatten().map(String::as_str).collect()
    }

    /// Members without effect, then what loading and the models printed so far.
    fn notices(&self) -> Vec<Notice> {
        let talk = self.talk();
        let printed = talk.printed.iter().map(|text| self.says(text));
        let without_tables = talk.without_tables.iter().cloned();
        self.without_effect.iter().cloned().chain(printed).chain(without_tables).collect()
    }
}

impl Loaded for PythonFile {
    fn modelled(&self) -> Vec<&str> {
        self.modelled.iter().map(String::as_str).collect()
    }

    fn categories(&self) -> Vec<(&str, &str)> {
        self.categories.iter().map(|(operator, category)| (operator.as_str(), category.as_str())).collect()
    }

    fn sheet_members(&self) -> Vec<(&str, &str)> {
        sheet_members(&self.sheets)
    }

    fn changes_tree(&self) -> bool {
        self.has_rule
    }
}
