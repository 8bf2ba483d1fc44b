//! What a script defines.

use std::collections::{BTreeMap, BTreeSet};

use starlark::environment::FrozenModule;
use starlark::values::dict::DictRef;
use starlark::values::{OwnedFrozenValue, Value as ScriptValue};
use tree_perf::Notice;

use crate::error::{ExtensionError, Place};
use crate::values::from_script;

const MODELS: &str = "perf_model_extension";
const CATEGORIES: &str = "op_category_extension";
pub(crate) const POSTPROCESS: &str = "tree_postprocess_extension";
const SHEETS: &str = "dict_cat2names_extension";
const MEMBERS: [&str; 4] = [MODELS, CATEGORIES, SHEETS, POSTPROCESS];
/// A member that scripts for TraceLens may define, and why it has no effect here.
const WITHOUT_EFFECT: (&str, &str) = ("get_additional_dataframes_extension", "scripts cannot add tables");

/// What a script defined, each member read and checked.
pub(crate) struct Members {
    /// The dict from operator name to function.
    pub(crate) models: Option<OwnedFrozenValue>,
    /// The operators in it.
    pub(crate) modelled: BTreeSet<String>,
    /// Categories by operator.
    pub(crate) categories: BTreeMap<String, String>,
    /// Sheets by operator.
    pub(crate) sheets: BTreeMap<String, Vec<String>>,
    /// The rule on the tree.
    pub(crate) postprocess: Option<OwnedFrozenValue>,
    /// Members that nothing reads.
    pub(crate) without_effect: Vec<Notice>,
}

impl Members {
    /// Reads what a script defined. `path` and `text` are those of the script, for messages.
    pub(crate) fn read(path: &str, text: &str, module: &FrozenModule) -> Result<Members, ExtensionError> {
        let script = Script { path, text, module };
        let modelled = script.names(MODELS, "a dict from operator name to function", |value| {
            (value.get_type() == "function").then_some(())
        })?;
        let categories = script.names(CATEGORIES, "a dict from operator name to category", |value| {
            value.unpack_str().map(str::to_owned)
        })?;
        Ok(Members {
            models: script.member(MODELS)?,
            modelled: modelled.into_keys().collect(),
            categories,
            sheets: script.sheets()?,
            postprocess: script.postprocess()?,
            without_effect: script.members_without_effect().collect(),
        })
    }
}

/// What a script defined, with its text for the lines of messages.
struct Script<'s> {
    path: &'s str,
    text: &'s str,
    module: &'s FrozenModule,
}

impl Script<'_> {
    fn member(&self, name: &'static str) -> Result<Option<OwnedFrozenValue>, ExtensionError> {
        let found = self.module.get_option(name);
        found
            .map(|value| value.filter(|value| !value.value().is_none()))
            .map_err(|error| self.wrong(name, "a public member", error.to_string()))
    }

    /// A dict from names, its values read by `read`.
    fn names<T>(
        &self,
        member: &'static str,
        expected: &'static str,
        read: impl Fn(ScriptValue<'_>) -> Option<T>,
    ) -> Result<BTreeMap<String, T>, ExtensionError> {
        let Some(value) = self.member(member)? else { return Ok(BTreeMap::new()) };
        let value = value.value();
        let Some(dict) = DictRef::from_value(value) else {
            return Err(self.wrong(member, expected, format!("a {}", value.get_type())));
        };
        dict.iter()
            .map(|(name, value)| match (name.unpack_str(), read(value)) {
                (Some(name), Some(value)) => Ok((name.to_owned(), value)),
                (None, _) => Err(self.wrong(member, expected, format!("the key {}", name.to_repr()))),
                (Some(name), None) => {
                    Err(self.wrong(member, expected, format!("a {} for {name}", value.get_type())))
                }
            })
            .collect()
    }

    /// Sheets by operator; the script lists operators by sheet.
    fn sheets(&self) -> Result<BTreeMap<String, Vec<String>>, ExtensionError> {
        let lists = self.names(SHEETS, "a dict from sheet to list of operator names", |value| {
            let items = from_script(value).ok()?;
            items.items()?.iter().map(|item| item.as_text().map(str::to_owned)).collect::<Option<Vec<_>>>()
        })?;
        let mut sheets: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (sheet, operators) in lists {
            for operator in operators {
                sheets.entry(operator).or_default().push(sheet.clone());
            }
        }
        Ok(sheets)
    }

    fn postprocess(&self) -> Result<Option<OwnedFrozenValue>, ExtensionError> {
        let rule = self.member(POSTPROCESS)?;
        match rule.as_ref().map(|rule| rule.value().get_type()) {
            None | Some("function") => Ok(rule),
            Some(found) => Err(self.wrong(POSTPROCESS, "a function of the tree", format!("a {found}"))),
        }
    }

    /// Members that look as if they were meant for the tool.
    fn members_without_effect(&self) -> impl Iterator<Item = Notice> + '_ {
        let members = self.module.names().filter(|name| !MEMBERS.contains(&name.as_str()));
        members.filter_map(|member| {
            let member = member.as_str();
            let (refused, reason) = WITHOUT_EFFECT;
            let reason = if member == refused {
                reason.to_owned()
            } else if member.ends_with("_extension") || member.ends_with("_extensions") {
                format!("a script may define {}", MEMBERS.join(", "))
            } else {
                return None;
            };
            let reason = format!("{}: {member} has no effect: {reason}", self.place(member));
            Some(Notice::ExtensionWithoutEffect { reason })
        })
    }

    fn wrong(&self, member: &'static str, expected: &'static str, found: String) -> ExtensionError {
        ExtensionError::Member { at: self.place(member), member, expected, found }
    }

    /// The last line that assigns or defines a member.
    fn place(&self, member: &str) -> Place {
        let defines = |line: &str| {
            let line = line.strip_prefix("def ").unwrap_or(line);
            line.strip_prefix(member).is_some_and(|rest| rest.trim_start().starts_with(['=', '(']))
        };
        let line = self.text.lines().enumerate().filter(|(_, line)| defines(line)).last();
        Place { path: self.path.to_owned(), line: line.map(|(position, _)| position + 1) }
    }
}
