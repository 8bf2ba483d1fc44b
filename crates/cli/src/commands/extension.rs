//! `tracelens extension`: a commented extension file to start from, and what a file registers.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use extension::{Extension, Form};
use serde_json::json;
use tree_perf::AnalysisExtension;

use crate::arguments::ExtensionArguments;
use crate::console;
use crate::context::Context;
use crate::error::Failure;
use crate::extension_file;

pub(crate) fn run(arguments: &ExtensionArguments, context: &Context<'_>) -> Result<(), Failure> {
    let json = arguments.document.json;
    if let Some(path) = &arguments.init {
        let form = Form::of(&path.to_string_lossy())?;
        let failed = |source| Failure::File { path: path.clone(), source };
        let mut file = fs::File::create_new(path).map_err(failed)?;
        file.write_all(form.start().as_bytes()).map_err(failed)?;
        return match json {
            true => context.print_result(context.about(&[]), &json!({ "written": context.name(path) })),
            false => Ok(console::print(format_args!("{}\n", path.display()))?),
        };
    }
    let Some(path) = &arguments.check else { return Ok(()) };
    let extension = extension_file::load(path, arguments.python.as_deref())?;
    extension.notices().iter().for_each(console::extension);
    if json {
        let registered = json!({
            "form": match extension.form() { Form::Table => "table", Form::Python => "python" },
            "models": extension.modelled(),
            "categories": extension.categories().into_iter().collect::<BTreeMap<_, _>>(),
            "sheets": sheets(&extension),
            "changes_tree": extension.changes_tree(),
        });
        return context.print_result(context.about(&[]), &registered);
    }
    Ok(console::print(registered(path, &extension))?)
}

fn sheets(extension: &Extension) -> BTreeMap<&str, Vec<&str>> {
    let mut sheets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (sheet, operator) in extension.sheet_members() {
        sheets.entry(sheet).or_default().push(operator);
    }
    sheets
}

/// What the file registers, a kind to a line.
fn registered(path: &Path, extension: &Extension) -> String {
    let form = match extension.form() {
        Form::Table => "a table",
        Form::Python => "a Python file",
    };
    let mut text = format!("{}: {form}\n", path.display());
    let mut line = |kind: &str, items: Vec<String>| {
        if !items.is_empty() {
            let _ = writeln!(text, "  {kind}: {}", items.join(", "));
        }
    };
    line("models", extension.modelled().into_iter().map(str::to_owned).collect());
    let categories = extension.categories().into_iter();
    line("categories", categories.map(|(operator, category)| format!("{operator} ({category})")).collect());
    let sheets = sheets(extension).into_iter();
    line("sheets", sheets.map(|(sheet, operators)| format!("{sheet} ({})", operators.join(", "))).collect());
    if extension.changes_tree() {
        text.push_str("  a pass over the call tree\n");
    }
    text
}
