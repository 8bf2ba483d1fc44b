//! Running a script under its limits.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::LazyLock;

use starlark::codemap::{FileSpanRef, Pos};
use starlark::environment::{FrozenModule, Globals, GlobalsBuilder, LibraryExtension, Module};
use starlark::eval::{BeforeStmtFunc, BeforeStmtFuncDyn, Evaluator};
use starlark::syntax::{AstModule, Dialect, DialectTypes};

use crate::bounded::bounded;
use crate::builtins::builtins;
use crate::error::{Fault, FaultKind, Lines};
use crate::host::Host;
use crate::limits::Limits;
use crate::metered_source::metered;

/// Longest script in bytes. Nested expressions take stack while they are compiled.
const LONGEST_SCRIPT: usize = 256 << 10;

/// Stack in bytes of the thread that compiles a script: enough for the longest script that is nothing but nesting. Code
/// that is not optimised takes more.
const COMPILER_STACK: usize = if cfg!(debug_assertions) { 2 << 30 } else { 512 << 20 };

/// Where the statement that runs begins: an evaluation that a limit ends does not say where it was.
#[derive(Clone, Default)]
struct CurrentStatement(Rc<Cell<Option<Pos>>>);

impl<'e> BeforeStmtFuncDyn<'e> for CurrentStatement {
    fn call<'v>(
        &mut self,
        span: FileSpanRef<'_>,
        _: bool,
        eval: &mut Evaluator<'v, '_, 'e>,
    ) -> starlark::Result<()> {
        self.0.set(Some(span.span.begin()));
        Host::from_evaluator(eval)?.memory.room(eval.heap(), 0)
    }
}

/// What a script's text says, as far as Starlark has it.
fn dialect() -> Dialect {
    Dialect {
        enable_load: false,
        enable_keyword_only_arguments: true,
        enable_positional_only_arguments: true,
        enable_types: DialectTypes::ParseOnly,
        enable_top_level_stmt: true,
        enable_f_strings: true,
        ..Dialect::Standard
    }
}

/// The functions of every script.
static GLOBALS: LazyLock<Globals> = LazyLock::new(|| {
    let all = GlobalsBuilder::extended_by(&[
        LibraryExtension::StructType,
        LibraryExtension::SetType,
        LibraryExtension::Map,
        LibraryExtension::Filter,
        LibraryExtension::Partial,
        LibraryExtension::Print,
        LibraryExtension::Typing,
    ]);
    bounded(&all.with(builtins).build())
});

/// What running a script from top to bottom gives.
pub(crate) struct Loaded {
    pub(crate) module: FrozenModule,
    pub(crate) lines: Lines,
    pub(crate) printed: Vec<String>,
}

/// Runs a script from top to bottom.
pub(crate) fn run(path: &str, text: &str, limits: Limits) -> Result<Loaded, Fault> {
    if text.len() > LONGEST_SCRIPT {
        return Err(Fault::limit(format!(
            "a script may have {} KiB, not {}",
            LONGEST_SCRIPT >> 10,
            text.len() >> 10
        )));
    }
    let compile = || {
        let parse = |text: &str| AstModule::parse(path, text.to_owned(), &dialect());
        let (ast, lines) = metered(text, parse)?;
        let host = Host::new(limits);
        let module = Module::with_temp_heap(|module| {
            evaluate(&module, &host, &lines, limits, limits.loading_steps, |eval| {
                eval.eval_module(ast, &GLOBALS).map(|_| ())
            })?;
            module.freeze().map_err(|error| Fault::from_error(&starlark::Error::from(error), Some(&lines)))
        })?;
        Ok(Loaded { module, lines, printed: host.printed.take() })
    };
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("extension script".to_owned())
            .stack_size(COMPILER_STACK)
            .spawn_scoped(scope, compile)
            .map_err(|error| Fault::limit(format!("no thread could be started for the script: {error}")))?
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Evaluates something of a script under its limits.
pub(crate) fn evaluate<'v, 't, R>(
    module: &Module<'v>,
    host: &Host<'t>,
    lines: &Lines,
    limits: Limits,
    steps: u64,
    body: impl FnOnce(&mut Evaluator<'v, '_, 't>) -> starlark::Result<R>,
) -> Result<R, Fault> {
    let mut eval = Evaluator::new(module);
    eval.extra = Some(host);
    eval.set_print_handler(host);
    let until = limits.apply(steps, &mut eval)?;
    let current = CurrentStatement::default();
    eval.before_stmt_for_dap(BeforeStmtFunc::from_dyn(Box::new(current.clone())));
    body(&mut eval).map_err(|error| {
        let fault = Fault::from_error(&error, Some(lines));
        let line = fault.line.or_else(|| lines.line(current.0.get()?));
        match host.memory.refused().or_else(|| limits.exceeded(steps, until, &mut eval)) {
            Some(reason) => Fault { reason, kind: FaultKind::Limit, line },
            None => Fault { line, ..fault },
        }
    })
}
