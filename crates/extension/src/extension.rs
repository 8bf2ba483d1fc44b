//! An extension file of either form.

use std::error::Error;
use std::fmt;
use std::path::Path;

use perf_models::{OpCall, Undefined};
use trace2tree::TraceTree;
use tree_perf::{AnalysisExtension, ExtensionModel, Notice, TreeChanges};

use crate::error::ExtensionError;
use crate::loaded::Loaded;
use crate::python::{Python, PythonFile};
use crate::table::Table;

/// An extension file, loaded.
pub struct Extension {
    form: Form,
    inner: Box<dyn Loaded>,
}

/// The two forms of extension files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A table in TOML.
    Table,
    /// A file in Python.
    Python,
}

impl Form {
    /// The form that the name of a file says.
    ///
    /// # Errors
    ///
    /// [`ExtensionError::Form`] for any other ending than `.toml` and `.py`.
    pub fn of(path: &str) -> Result<Form, ExtensionError> {
        let ending = Path::new(path).extension().map(|ending| ending.to_string_lossy().to_lowercase());
        let help = match ending.as_deref() {
            Some("toml") => return Ok(Form::Table),
            Some("py") => return Ok(Form::Python),
            Some("star") => {
                "Starlark is no longer supported: rename the file to .py, put `from tracelens import model, work, prod, element_size, fail` at its top, and replace `reversed(x)` with `x[::-1]`"
            }
            _ => "write a template with `tracelens extension --init my.toml` or `my.py`",
        };
        Err(ExtensionError::Form { path: path.to_owned(), help })
    }

    /// A commented file of this form to start from.
    #[must_use]
    pub const fn start(self) -> &'static str {
        match self {
            Form::Table => include_str!("start.toml"),
            Form::Python => include_str!("start.py"),
        }
    }
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Extension")
            .field("form", &self.form)
            .field("models", &self.modelled())
            .finish_non_exhaustive()
    }
}

impl Extension {
    /// Loads an extension file. Messages call it `path`, whose ending decides the form; its text is not read from there.
    /// A Python file is run by `python`.
    ///
    /// # Errors
    ///
    /// When the text is not in its language, when running it fails or exceeds a limit, when a member has the wrong type,
    /// and when there is no Python.
    pub fn load(path: &str, text: &str, python: &Python) -> Result<Extension, ExtensionError> {
        let form = Form::of(path)?;
        let inner: Box<dyn Loaded> = match form {
            Form::Table => Box::new(Table::load(path, text)?),
            Form::Python => Box::new(PythonFile::load(path, text, python)?),
        };
        Ok(Extension { form, inner })
    }

    /// The form of the file.
    #[must_use]
    pub fn form(&self) -> Form {
        self.form
    }

    /// The operators that the file models, sorted.
    #[must_use]
    pub fn modelled(&self) -> Vec<&str> {
        self.inner.modelled()
    }

    /// The operators that the file only puts in a category, with the category, sorted.
    #[must_use]
    pub fn categories(&self) -> Vec<(&str, &str)> {
        self.inner.categories()
    }

    /// The roofline sheets that the file names, each with an operator that it puts there, sorted.
    #[must_use]
    pub fn sheet_members(&self) -> Vec<(&str, &str)> {
        self.inner.sheet_members()
    }

    /// Whether the file has a rule on the tree.
    #[must_use]
    pub fn changes_tree(&self) -> bool {
        self.inner.changes_tree()
    }
}

impl AnalysisExtension for Extension {
    fn change_tree(&self, tree: &mut TraceTree) -> Result<TreeChanges, Box<dyn Error + Send + Sync>> {
        self.inner.change_tree(tree)
    }

    fn tables(&self, tree: &TraceTree) -> Vec<sheets::Table> {
        self.inner.tables(tree)
    }

    fn has_model(&self, operator: &str) -> bool {
        self.inner.has_model(operator)
    }

    fn prepare(&self, calls: &[OpCall<'_>]) {
        self.inner.prepare(calls);
    }

    fn model(&self, call: &OpCall<'_>) -> Option<Result<ExtensionModel, Undefined>> {
        self.inner.model(call)
    }

    fn category(&self, operator: &str) -> Option<&str> {
        self.inner.category(operator)
    }

    fn sheets(&self, operator: &str) -> Vec<&str> {
        self.inner.sheets(operator)
    }

    fn notices(&self) -> Vec<Notice> {
        self.inner.notices()
    }
}
