//! Rewriting a script so that it asks for memory before it takes it.
//!
//! The interpreter offers no hook for this: it checks its heap once in a thousand calls and passes of loops, while
//! `"a" * 10000000000` is a single operation, and methods such as `join` cannot be replaced. So the syntax tree is
//! changed to call the functions of [`bounded`](crate::bounded) wherever something large can be made of little. The
//! interpreter compiles only what it has parsed, so the changed tree is printed and parsed again; [`Lines`] maps the
//! lines of the printed text to those of the script.

use std::mem;

use starlark::codemap::Span;
use starlark::syntax::AstModule;
use starlark::syntax::ast::{
    Argument, AssignOp, AssignP, AssignTarget, AstArgument, AstAssignTarget, AstExpr, AstIdent, AstLiteral,
    AstStmt, BinOp, CallArgsP, Clause, Expr, Ident, Parameter, Stmt,
};

use crate::bounded::{METHODS, RESERVED};
use crate::error::{Fault, FaultKind, Lines};

/// Deepest nesting of blocks, and of operators and calls in an expression. Compiling recurses.
const DEEPEST: usize = 2000;

/// Parses a script and rewrites it.
pub(crate) fn metered(
    text: &str,
    parse: impl Fn(&str) -> starlark::Result<AstModule>,
) -> Result<(AstModule, Lines), Fault> {
    let module = parse(text).map_err(|error| Fault::from_error(&error, None))?;
    let line_starts: Vec<_> = text.match_indices('\n').map(|(at, _)| at as u32 + 1).collect();
    let line = |at: u32| line_starts.partition_point(|&start| start <= at) + 1;
    let refused = |(at, reason)| Fault { line: Some(line(at)), reason, kind: FaultKind::Script };
    if let Some(at) = text.find(RESERVED) {
        return Err(refused((at as u32, format!("names must not contain {RESERVED}"))));
    }
    let mut root = module.statement().clone();
    let mut rewriting = Rewriting { text, depth: 0, refused: None };
    rewriting.statement(&mut root);
    if rewriting.refused.is_none() {
        root.visit_expr_mut(|expression| rewriting.expression(expression));
    }
    if let Some(refusal) = rewriting.refused {
        return Err(refused(refusal));
    }
    let rewritten = parse(&root.node.to_string())
        .map_err(|error| Fault { line: None, ..Fault::from_error(&error, None) })?;
    let (before, after) = (spans(&root), spans(rewritten.statement()));
    if before.len() != after.len() {
        return Err(refused((0, "an expression of this script is read in two ways; simplify it".to_owned())));
    }
    let pairs = before.into_iter().zip(after);
    let lines = pairs.map(|(before, after)| (after.begin().get(), line(before.begin().get()))).collect();
    Ok((rewritten, Lines(lines)))
}

/// Where the statements and expressions of a tree stand, in an order that depends on the tree alone.
fn spans(root: &AstStmt) -> Vec<Span> {
    fn statement(of: &AstStmt, spans: &mut Vec<Span>) {
        if !matches!(of.node, Stmt::Statements(_)) {
            spans.push(of.span);
        }
        of.visit_stmt(|inner| statement(inner, spans));
    }
    fn expression(of: &AstExpr, spans: &mut Vec<Span>) {
        spans.push(of.span);
        of.visit_expr(|inner| expression(inner, spans));
    }
    let mut spans = Vec::new();
    statement(root, &mut spans);
    root.visit_expr(|inner| expression(inner, &mut spans));
    spans
}

struct Rewriting<'t> {
    text: &'t str,
    depth: usize,
    /// Where something stands that cannot be rewritten, and why.
    refused: Option<(u32, String)>,
}

impl Rewriting<'_> {
    fn refuse(&mut self, at: Span, reason: impl Into<String>) {
        self.refused.get_or_insert((at.begin().get(), reason.into()));
    }

    fn is_too_deep(&mut self, at: Span) -> bool {
        let is_too_deep = self.depth > DEEPEST;
        if is_too_deep {
            self.refuse(at, format!("nested more than {DEEPEST} deep"));
        }
        is_too_deep
    }

    /// Writes `target *= value` as `target = target * value`, and leaves out types, which have no effect.
    fn statement(&mut self, statement: &mut AstStmt) {
        if self.is_too_deep(statement.span) {
            return;
        }
        self.depth += 1;
        statement.visit_stmt_mut(|inner| self.statement(inner));
        self.depth -= 1;
        match &mut statement.node {
            Stmt::Assign(assignment) => assignment.ty = None,
            Stmt::Def(function) => {
                function.return_type = None;
                for parameter in &mut function.params {
                    match &mut parameter.node {
                        Parameter::Normal(_, of, _) | Parameter::Args(_, of) | Parameter::KwArgs(_, of) => {
                            *of = None;
                        }
                        Parameter::Slash | Parameter::NoArgs => {}
                    }
                }
            }
            Stmt::AssignModify(target, operator, value) => {
                let binary = match operator {
                    AssignOp::Multiply => BinOp::Multiply,
                    AssignOp::Percent => BinOp::Percent,
                    AssignOp::LeftShift => BinOp::LeftShift,
                    // These change lists, dicts and sets in place.
                    AssignOp::Add => return wrap(value, "_tracelens_taken"),
                    AssignOp::BitOr => return wrap(value, "_tracelens_made"),
                    _ => return,
                };
                let Some(read) = read(target) else {
                    let reason =
                        format!("write this as an assignment with{binary}of the value, without a call in it");
                    return self.refuse(statement.span, reason);
                };
                let value = Box::new(mem::replace(&mut **value, none(statement.span)));
                let rhs = at(statement.span, Expr::Op(Box::new(read), binary, value));
                statement.node = Stmt::Assign(AssignP { lhs: target.clone(), ty: None, rhs });
            }
            _ => {}
        }
    }

    /// Rewrites the parts of an expression and then the expression.
    fn expression(&mut self, expression: &mut AstExpr) {
        if self.is_too_deep(expression.span) {
            return;
        }
        self.depth += 1;
        expression.visit_expr_mut(|inner| self.expression(inner));
        self.depth -= 1;
        let span = expression.span;
        let call = |function: &str, arguments: Vec<AstExpr>| called(span, function, arguments).node;
        expression.node = match mem::replace(&mut expression.node, Expr::Tuple(Vec::new())) {
            // As it was written: printing loses the kind of some numbers.
            Expr::Literal(_) => raw(&self.text[span.begin().get() as usize..span.end().get() as usize]),
            Expr::FString(parts) => {
                let format = AstLiteral::String(parts.node.format).to_string();
                let given = [format.as_str(), "\"format\""].map(|text| at(span, raw(text)));
                call("_tracelens_method", given.into_iter().chain(parts.node.expressions).collect())
            }
            Expr::Dot(receiver, name) if METHODS.contains(&name.node.as_str()) => {
                let name = at(span, raw(&format!("\"{}\"", name.node)));
                call("_tracelens_getattr", vec![*receiver, name])
            }
            Expr::Call(function, mut arguments) => {
                for argument in &mut arguments.args {
                    if let Argument::Args(values) = &mut argument.node {
                        wrap(values, "_tracelens_taken");
                    }
                }
                match function.node {
                    // A method, which was rewritten as a part of this.
                    Expr::Call(getattr, mut given) if is(&getattr, "_tracelens_getattr") => {
                        given.args.append(&mut arguments.args);
                        Expr::Call(Box::new(at(span, raw("_tracelens_method"))), given)
                    }
                    node => Expr::Call(Box::new(at(function.span, node)), arguments),
                }
            }
            Expr::Slice(value, first, last, step) => {
                let given = [first, last, step].map(|part| part.map_or_else(|| none(span), |part| *part));
                call("_tracelens_slice", std::iter::once(*value).chain(given).collect())
            }
            Expr::Op(left, operator, right) => {
                match operator {
                    BinOp::Multiply | BinOp::Add | BinOp::Percent | BinOp::LeftShift => {
                        let sign = at(span, raw(&format!("\"{}\"", operator.to_string().trim())));
                        call("_tracelens_operator", vec![*left, sign, *right])
                    }
                    // Of dicts and sets they make another.
                    BinOp::BitOr | BinOp::BitAnd | BinOp::BitXor | BinOp::Subtract => {
                        call("_tracelens_made", vec![at(span, Expr::Op(left, operator, right))])
                    }
                    _ => Expr::Op(left, operator, right),
                }
            }
            Expr::Dict(entries) if !entries.is_empty() => {
                call("_tracelens_made", vec![at(span, Expr::Dict(entries))])
            }
            Expr::ListComprehension(item, each, mut clauses) => {
                clauses.push(Clause::If(called(span, "_tracelens_room", Vec::new())));
                Expr::ListComprehension(item, each, clauses)
            }
            Expr::DictComprehension(entry, each, mut clauses) => {
                clauses.push(Clause::If(called(span, "_tracelens_room", Vec::new())));
                call("_tracelens_made", vec![at(span, Expr::DictComprehension(entry, each, clauses))])
            }
            Expr::Lambda(mut lambda) => {
                let room = Box::new(called(span, "_tracelens_room", Vec::new()));
                let body = mem::replace(&mut *lambda.body, none(span));
                *lambda.body = at(span, Expr::Op(room, BinOp::And, Box::new(body)));
                Expr::Lambda(lambda)
            }
            other => other,
        };
    }
}

fn at(span: Span, node: Expr) -> AstExpr {
    AstExpr { node, span }
}

/// An expression that is printed like this.
fn raw(text: &str) -> Expr {
    let ident = Ident { ident: text.to_owned(), payload: () };
    Expr::Identifier(AstIdent { node: ident, span: Span::default() })
}

fn none(span: Span) -> AstExpr {
    at(span, raw("None"))
}

fn is(expression: &AstExpr, name: &str) -> bool {
    matches!(&expression.node, Expr::Identifier(found) if found.node.ident == name)
}

fn called(span: Span, function: &str, arguments: Vec<AstExpr>) -> AstExpr {
    let args = arguments
        .into_iter()
        .map(|argument| AstArgument { span: argument.span, node: Argument::Positional(argument) });
    at(span, Expr::Call(Box::new(at(span, raw(function))), CallArgsP { args: args.collect() }))
}

/// Passes a value through a function.
fn wrap(value: &mut AstExpr, function: &str) {
    let inner = mem::replace(value, none(value.span));
    *value = called(inner.span, function, vec![inner]);
}

/// The value of a target, unless reading it could do something.
fn read(target: &AstAssignTarget) -> Option<AstExpr> {
    fn calls(expression: &AstExpr) -> bool {
        let mut found = matches!(expression.node, Expr::Call(..));
        expression.visit_expr(|inner| found |= calls(inner));
        found
    }
    let node = match &target.node {
        AssignTarget::Identifier(name) => raw(&name.node.ident),
        AssignTarget::Index(parts) if !calls(&parts.0) && !calls(&parts.1) => Expr::Index(parts.clone()),
        AssignTarget::Dot(receiver, name) if !calls(receiver) => Expr::Dot(receiver.clone(), name.clone()),
        _ => return None,
    };
    Some(at(target.span, node))
}
