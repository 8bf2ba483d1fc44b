//! Running a script under its limits.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use starlark::codemap::{FileSpanRef, Pos};
use starlark::environment::{FrozenModule, Globals, GlobalsBuilder, LibraryExtension, Module};
use starlark::eval::{BeforeStmtFunc, BeforeStmtFuncDyn, Evaluator};
use starlark::syntax::{AstModule, Dialect, DialectTypes};

use crate::builtins::builtins;
use crate::error::{Fault, FaultKind};
use crate::host::Host;
use crate::memory::bounded;
use crate::metered_source::{Lines, metered};

/// How much a script may use.
///
/// Work is counted in calls and passes of loops, so that a script ends at the same place on every machine; the
/// clock is for work that this does not see. What would make a large value out of little (`"a" * n`,
/// `list(range(n))`, `text.replace(…)`) is refused before it is made. A single call of a builtin function is not
/// interrupted, so what only takes time in one, such as comparing lists that hold one another many times over, is not
/// bounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Calls and passes of loops while loading, which takes no more than seconds.
    pub loading_steps: u64,
    /// The same for the rule on the tree, which may look at millions of events.
    pub tree_steps: u64,
    /// The same for one model.
    pub model_steps: u64,
    /// Bytes of the script's values. A text may have a 64th of them.
    pub memory_bytes: usize,
    /// Functions that call each other.
    pub call_depth: usize,
    /// Time of loading, of the tree's postprocessing, and of one model.
    pub time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            loading_steps: 10_000_000,
            tree_steps: 100_000_000,
            model_steps: 1_000_000,
            memory_bytes: 1 << 30,
            call_depth: 50,
            time: Duration::from_secs(60),
        }
    }
}

/// Longest script. Nested expressions take stack while they are compiled.
pub(crate) const LONGEST_SCRIPT: usize = 256 << 10;

/// Stack of the thread that compiles a script: enough for the longest script that is nothing but nesting.
pub(crate) const COMPILER_STACK: usize = 512 << 20;

/// Bytes of a compiled script, which the interpreter counts among the values.
const COMPILED: usize = 64 << 20;

impl Limits {
    /// Puts an evaluator under the limits.
    pub(crate) fn apply(self, steps: u64, eval: &mut Evaluator<'_, '_, '_>) -> Result<Instant, Fault> {
        let until = Instant::now() + self.time;
        eval.set_check_cancelled(Box::new(move || Instant::now() > until));
        eval.set_max_callstack_size(self.call_depth.max(1))
            .and_then(|()| eval.set_max_heap_size(self.memory_bytes.saturating_add(COMPILED)))
            .and_then(|()| eval.set_max_tick_count(steps.max(1)))
            .map_err(|error| Fault::limit(error.to_string()))?;
        Ok(until)
    }

    /// The limit that ended an evaluation, if one did.
    pub(crate) fn exceeded(
        self,
        steps: u64,
        until: Instant,
        eval: &mut Evaluator<'_, '_, '_>,
    ) -> Option<String> {
        if eval.get_total_tick_count() > steps {
            Some(format!("the script made {steps} calls and passes of loops without an end"))
        } else if eval.heap().peak_allocated_bytes() > self.memory_bytes {
            Some(format!("the script holds more than {} MiB", self.memory_bytes >> 20))
        } else if Instant::now() > until {
            Some(format!("the script ran longer than {} s", self.time.as_secs_f64()))
        } else {
            None
        }
    }
}

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
        Host::of(eval)?.memory.room(eval.heap(), 0)
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
            module.freeze().map_err(|error| Fault::of(&starlark::Error::from(error), Some(&lines)))
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
        let fault = Fault::of(&error, Some(lines));
        let line = fault.line.or_else(|| lines.line(current.0.get()?));
        match host.memory.refused().or_else(|| limits.exceeded(steps, until, &mut eval)) {
            Some(reason) => Fault { reason, kind: FaultKind::Limit, line },
            None => Fault { line, ..fault },
        }
    })
}
