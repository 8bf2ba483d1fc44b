//! Changing a script so that it asks for memory before it takes it.
//!
//! The text is changed and not the tree, which the interpreter keeps for itself. Lines stay where they are, because
//! messages name them.

use starlark::syntax::AstModule;
use starlark::syntax::ast::{
    Argument, AssignOp, AssignTarget, AstAssignTarget, AstExpr, AstStmt, BinOp, Expr, Stmt,
};

use super::super::error::{Fault, FaultKind};
use super::RESERVED;
use super::calls::{FUNCTIONS, METHODS};

/// Values that one f-string may have: each is a text of its own.
const MOST_WRITTEN: usize = 64;

/// The changed text of a script that was parsed.
pub(in crate::extension) fn rewritten(text: &str, ast: &AstModule) -> Result<String, Fault> {
    if text.contains(RESERVED) {
        return Err(fault(text, text.find(RESERVED), format!("names must not contain {RESERVED}")));
    }
    let mut changes = Changes { text, edits: Vec::new(), fault: None };
    changes.statement(ast.statement());
    ast.statement().visit_expr(|expression| changes.expression(expression));
    match changes.fault {
        Some((at, reason)) => Err(fault(text, Some(at), reason)),
        None => changes.apply(),
    }
}

/// How many methods the changed script asks for as it should: where brackets around a receiver led astray, it is less
/// than [`methods_in`] of the script.
pub(in crate::extension) fn methods_asked_for(ast: &AstModule) -> usize {
    fn count(expression: &AstExpr, found: &mut usize) {
        if let Expr::Call(function, arguments) = &expression.node
            && let Expr::Identifier(function) = &function.node
            && ["_tracelens_method", "_tracelens_field"].contains(&function.node.ident.as_str())
            && let Some(Argument::Positional(name)) = arguments.args.get(1).map(|argument| &argument.node)
            && matches!(&name.node, Expr::Identifier(name) if name.node.ident.starts_with(RESERVED))
        {
            *found += 1;
        }
        expression.visit_expr(|inner| count(inner, found));
    }
    let mut found = 0;
    ast.statement().visit_expr(|expression| count(expression, &mut found));
    found
}

/// How many methods a script has that it has to ask for.
pub(in crate::extension) fn methods_in(ast: &AstModule) -> usize {
    fn count(expression: &AstExpr, found: &mut usize) {
        if matches!(&expression.node, Expr::Dot(_, name) if METHODS.contains(&name.node.as_str())) {
            *found += 1;
        }
        expression.visit_expr(|inner| count(inner, found));
    }
    let mut found = 0;
    ast.statement().visit_expr(|expression| count(expression, &mut found));
    found
}

fn fault(text: &str, at: Option<usize>, reason: String) -> Fault {
    let line = at.map(|at| text[..at].matches('\n').count() + 1);
    Fault { line, reason, kind: FaultKind::Script }
}

/// A piece of text in place of another.
struct Edit {
    at: usize,
    removed: usize,
    inserted: String,
    /// Whether it begins something: behind all that ends at the same place.
    begins: bool,
}

struct Changes<'t> {
    text: &'t str,
    edits: Vec<Edit>,
    /// Where something stands that cannot be changed.
    fault: Option<(usize, String)>,
}

fn begin(expression: &AstExpr) -> usize {
    expression.span.begin().get() as usize
}

fn end(expression: &AstExpr) -> usize {
    expression.span.end().get() as usize
}

impl Changes<'_> {
    fn opens(&mut self, at: usize, inserted: impl Into<String>) {
        self.edits.push(Edit { at, removed: 0, inserted: inserted.into(), begins: true });
    }

    fn closes(&mut self, at: usize, inserted: impl Into<String>) {
        self.edits.push(Edit { at, removed: 0, inserted: inserted.into(), begins: false });
    }

    fn replaces(&mut self, at: usize, removed: usize, inserted: impl Into<String>) {
        self.edits.push(Edit { at, removed, inserted: inserted.into(), begins: true });
    }

    fn refuse(&mut self, at: usize, reason: impl Into<String>) {
        self.fault.get_or_insert((at, reason.into()));
    }

    /// The text with all edits. What ends at a place comes before what begins there; of what begins at one place the
    /// outer comes first, of what ends the inner, as they were found.
    fn apply(mut self) -> Result<String, Fault> {
        self.edits.sort_by_key(|edit| (edit.at, edit.begins));
        let mut changed = String::with_capacity(self.text.len() * 2);
        let mut done = 0;
        for edit in &self.edits {
            let Some(kept) = self.text.get(done..edit.at) else {
                let reason = "this is not understood; put parts of it into variables".to_owned();
                return Err(fault(self.text, Some(edit.at), reason));
            };
            changed.push_str(kept);
            changed.push_str(&edit.inserted);
            done = edit.at + edit.removed;
        }
        changed.push_str(self.text.get(done..).unwrap_or_default());
        Ok(changed)
    }

    /// `target *= value` becomes `target = target * (value)`, which asks.
    fn statement(&mut self, statement: &AstStmt) {
        if let Stmt::AssignModify(target, operator, value) = &statement.node {
            match operator {
                AssignOp::Multiply => self.assignment(statement, target, "*", value),
                AssignOp::Percent => self.assignment(statement, target, "%", value),
                AssignOp::LeftShift => self.assignment(statement, target, "<<", value),
                AssignOp::Add => self.identity("_tracelens_taken", value),
                _ => {}
            }
        }
        statement.visit_stmt(|inner| self.statement(inner));
    }

    fn assignment(&mut self, statement: &AstStmt, target: &AstAssignTarget, operator: &str, value: &AstExpr) {
        let start = target.span.begin().get() as usize;
        let stop = target.span.end().get() as usize;
        let name = &self.text[start..stop];
        let gap = &self.text[stop..begin(value)];
        let written = format!("{operator}=");
        let sign = gap.find(&written).filter(|&at| gap[..at].trim().is_empty());
        let is_whole = statement.span.begin().get() as usize == start;
        let (Some(sign), true, true) = (sign, is_whole, is_plain_target(target) && is_one_line(name)) else {
            let reason = format!(
                "write this as an assignment with {operator} of the value, which stands in a variable"
            );
            return self.refuse(start, reason);
        };
        self.replaces(stop + sign, written.len(), format!("= {name} {operator}"));
        self.opens(begin(value), "(");
        self.closes(end(value), ")");
    }

    fn expression(&mut self, expression: &AstExpr) {
        match &expression.node {
            Expr::Call(function, arguments) => {
                match &function.node {
                    Expr::Dot(receiver, name) if METHODS.contains(&name.node.as_str()) => {
                        self.method(function, receiver, &name.node, name.span.begin().get() as usize, true);
                        self.expression(receiver);
                    }
                    Expr::Identifier(name) if FUNCTIONS.contains(&name.node.ident.as_str()) => {
                        self.function(function, &name.node.ident);
                    }
                    _ => self.expression(function),
                }
                for argument in &arguments.args {
                    let value = argument.node.expr();
                    if matches!(argument.node, Argument::Args(_)) {
                        self.identity("_tracelens_taken", value);
                    }
                    self.expression(value);
                }
            }
            Expr::Dot(receiver, name) if METHODS.contains(&name.node.as_str()) => {
                self.method(expression, receiver, &name.node, name.span.begin().get() as usize, false);
                self.expression(receiver);
                self.closes(end(expression), ")");
            }
            Expr::FString(format) => {
                if format.expressions.len() > MOST_WRITTEN {
                    let reason = format!("an f-string may have {MOST_WRITTEN} values");
                    self.refuse(begin(expression), reason);
                }
                for value in &format.expressions {
                    self.identity("_tracelens_written", value);
                    self.expression(value);
                }
            }
            Expr::Dict(entries) if !entries.is_empty() => self.made(expression),
            Expr::DictComprehension(..) => {
                self.made(expression);
            }
            Expr::ListComprehension(..) => self.comprehension(expression),
            _ => expression.visit_expr(|inner| self.expression(inner)),
        }
    }

    /// Gives a value to a function that looks at it and returns it. The parts of a tuple are looked at where they
    /// are made, and what an operator makes is.
    fn identity(&mut self, function: &str, value: &AstExpr) {
        if self.has_bracketed_start(value) {
            if !matches!(value.node, Expr::Op(..)) || function == "_tracelens_written" {
                self.refuse(begin(value), "put this value into a variable first");
            }
        } else if !matches!(value.node, Expr::Tuple(_)) {
            self.opens(begin(value), format!("{function}("));
            self.closes(end(value), ")");
        }
    }

    /// Whether the first part of a value stands in brackets that end before the value does: `(a + b)[0]`. The value
    /// seems to begin within them then.
    fn has_bracketed_start(&self, value: &AstExpr) -> bool {
        let first = match &value.node {
            Expr::Dot(first, _) | Expr::Call(first, _) | Expr::Slice(first, ..) | Expr::Op(first, ..) => {
                first
            }
            Expr::Index(parts) => &parts.0,
            Expr::Index2(parts) => &parts.0,
            Expr::If(parts) => &parts.1,
            Expr::Tuple(items) => match items.first() {
                Some(first) if begin(first) == begin(value) => first,
                _ => return false,
            },
            _ => return false,
        };
        self.text[end(first)..].trim_start().starts_with(')') || self.has_bracketed_start(first)
    }

    fn comprehension(&mut self, expression: &AstExpr) {
        expression.visit_expr(|inner| self.expression(inner));
        self.closes(end(expression) - 1, " if _tracelens_room()");
    }

    /// A dict, or a comprehension that makes one.
    fn made(&mut self, expression: &AstExpr) {
        self.opens(begin(expression), "_tracelens_made(");
        match &expression.node {
            Expr::DictComprehension(..) => self.comprehension(expression),
            _ => expression.visit_expr(|inner| self.expression(inner)),
        }
        self.closes(end(expression), ")");
    }

    /// `name(…` becomes `_tracelens_function(_tracelens_name, name, …`.
    fn function(&mut self, function: &AstExpr, name: &str) {
        let stop = end(function);
        let rest = &self.text[stop..];
        let gap = rest.len() - rest.trim_start().len();
        if !rest[gap..].starts_with('(') {
            return self.refuse(begin(function), format!("write {name} without brackets around it"));
        }
        self.opens(begin(function), format!("_tracelens_function(_tracelens_{name}, "));
        self.replaces(stop + gap, 1, ", ");
    }

    /// `receiver.name(…` becomes `_tracelens_method(receiver, _tracelens_name, …`; without a call it is
    /// `_tracelens_field(receiver, _tracelens_name` and what called this closes it.
    fn method(&mut self, whole: &AstExpr, receiver: &AstExpr, name: &str, at: usize, is_called: bool) {
        let advice = || format!("put what stands before .{name} into a variable");
        let between = &self.text[end(receiver)..at];
        // Brackets around the receiver are no part of it.
        let brackets = between.matches(')').count();
        let plain = between.chars().all(|letter| letter.is_whitespace() || ")\\.".contains(letter));
        let plain = plain && !self.has_bracketed_start(receiver);
        let (Some(dot), true) = (between.rfind('.'), plain) else { return self.refuse(at, advice()) };
        let mut start = begin(receiver);
        for _ in 0..brackets {
            let before = self.text[..start].trim_end();
            match before.ends_with('(') {
                true => start = before.len() - 1,
                false => return self.refuse(at, advice()),
            }
        }
        let stop = end(whole);
        let rest = &self.text[stop..];
        let gap = rest.len() - rest.trim_start().len();
        if is_called && !rest[gap..].starts_with('(') {
            return self.refuse(at, format!("write .{name} without brackets around it"));
        }
        self.opens(start, if is_called { "_tracelens_method(" } else { "_tracelens_field(" });
        self.replaces(end(receiver) + dot, 1, ", ");
        self.replaces(at, name.len(), format!("_tracelens_{name}"));
        if is_called {
            self.replaces(stop + gap, 1, ", ");
        }
    }
}

/// Whether a target can be written twice: it calls nothing.
fn is_plain_target(target: &AstAssignTarget) -> bool {
    fn is_plain(expression: &AstExpr) -> bool {
        match &expression.node {
            Expr::Identifier(_) | Expr::Literal(_) => true,
            Expr::Index(parts) => is_plain(&parts.0) && is_plain(&parts.1),
            Expr::Dot(receiver, name) => is_plain(receiver) && !METHODS.contains(&name.node.as_str()),
            Expr::Minus(value) => is_plain(value),
            Expr::Op(left, BinOp::Add | BinOp::Subtract, right) => is_plain(left) && is_plain(right),
            _ => false,
        }
    }
    match &target.node {
        AssignTarget::Identifier(_) => true,
        AssignTarget::Index(parts) => is_plain(&parts.0) && is_plain(&parts.1),
        AssignTarget::Dot(receiver, _) => is_plain(receiver),
        AssignTarget::Tuple(_) => false,
    }
}

/// Whether a text stands in one line and has no brackets that may belong to what is around it.
fn is_one_line(text: &str) -> bool {
    !text.contains(['\n', '#', '\\', '(', ')'])
}
