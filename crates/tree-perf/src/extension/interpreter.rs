//! Running a script under its limits.

use starlark::environment::{FrozenModule, GlobalsBuilder, LibraryExtension, Module};
use starlark::eval::Evaluator;
use starlark::syntax::{AstModule, Dialect, DialectTypes};

use super::builtins::builtins;
use super::error::{Fault, FaultKind};
use super::host::Host;
use super::limits::{COMPILER_STACK, CurrentLine, LONGEST_SCRIPT, Limits};
use super::memory::calls::{calls, names};
use super::memory::operators::{operators, replacements};
use super::memory::rewrite::{methods_asked_for, methods_in, rewritten};

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

/// Parses a script and changes it so that it asks for the memory that it takes.
fn bounded(path: &str, text: &str) -> Result<AstModule, Fault> {
    let parse = |text: String| AstModule::parse(path, text, &dialect()).map_err(|error| Fault::of(&error));
    let ast = parse(text.to_owned())?;
    let mut changed = parse(rewritten(text, &ast)?)?;
    if methods_asked_for(&changed) != methods_in(&ast) {
        let reason =
            "brackets around what a method is called of are not understood; put it into a variable first";
        return Err(Fault { line: None, reason: reason.to_owned(), kind: FaultKind::Script });
    }
    changed.replace_binary_operators(&replacements());
    Ok(changed)
}

/// Runs a script from top to bottom; gives what it defined and what it printed.
pub(super) fn run(path: &str, text: &str, limits: Limits) -> Result<(FrozenModule, Vec<String>), Fault> {
    if text.len() > LONGEST_SCRIPT {
        return Err(Fault::limit(format!(
            "a script may have {} KiB, not {}",
            LONGEST_SCRIPT >> 10,
            text.len() >> 10
        )));
    }
    let compile = || {
        let ast = bounded(path, text)?;
        let globals = GlobalsBuilder::extended_by(&[
            LibraryExtension::StructType,
            LibraryExtension::SetType,
            LibraryExtension::Map,
            LibraryExtension::Filter,
            LibraryExtension::Partial,
            LibraryExtension::Print,
            LibraryExtension::Typing,
        ])
        .with(builtins)
        .with(operators)
        .with(calls)
        .with(names)
        .build();
        let host = Host::new(limits);
        let module = Module::with_temp_heap(|module| {
            evaluate(&module, &host, limits, limits.loading_steps, |eval| {
                eval.eval_module(ast, &globals).map(|_| ())
            })?;
            module.freeze().map_err(|error| Fault::of(&starlark::Error::from(error)))
        })?;
        Ok((module, host.printed.take()))
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
pub(super) fn evaluate<'v, 't, R>(
    module: &Module<'v>,
    host: &Host<'t>,
    limits: Limits,
    steps: u64,
    body: impl FnOnce(&mut Evaluator<'v, '_, 't>) -> starlark::Result<R>,
) -> Result<R, Fault> {
    let mut eval = Evaluator::new(module);
    eval.extra = Some(host);
    eval.set_print_handler(host);
    let until = limits.apply(steps, &mut eval)?;
    let current = CurrentLine::of(&mut eval);
    body(&mut eval).map_err(|error| {
        let fault = Fault::of(&error);
        let line = fault.line.or_else(|| current.get());
        match host.memory.refused().or_else(|| limits.exceeded(steps, until, &mut eval)) {
            Some(reason) => Fault { reason, kind: FaultKind::Limit, line },
            None => Fault { line, ..fault },
        }
    })
}
