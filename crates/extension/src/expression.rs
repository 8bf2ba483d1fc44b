//! Expressions over the arguments of a call: numbers, texts and shapes, in the notation of Python.

use perf_models::{OpCall, Value, element_size};

/// Nesting of parentheses and operators that an expression may have.
const DEEPEST: usize = 64;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Constant(Value),
    Name(Name),
    List(Vec<Expression>),
    Negative(Box<Expression>),
    Not(Box<Expression>),
    Binary(Operator, Box<Expression>, Box<Expression>),
    Choice { condition: Box<Expression>, then: Box<Expression>, otherwise: Box<Expression> },
    Item(Box<Expression>, Box<Expression>),
    Slice(Box<Expression>, Option<Box<Expression>>, Option<Box<Expression>>),
    Call(Function, Vec<Expression>),
}

/// What an expression can look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Operator,
    Dims,
    Types,
    Strides,
    Concrete,
    Args,
    Kernels,
    Annotation,
}

const NAMES: [(&str, Name); 8] = [
    ("name", Name::Operator),
    ("dims", Name::Dims),
    ("types", Name::Types),
    ("strides", Name::Strides),
    ("concrete", Name::Concrete),
    ("args", Name::Args),
    ("kernels", Name::Kernels),
    ("annotation", Name::Annotation),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Prod,
    Sum,
    Min,
    Max,
    Ceil,
    Floor,
    Len,
    Size,
    Number,
}

const FUNCTIONS: [(&str, Function); 9] = [
    ("prod", Function::Prod),
    ("sum", Function::Sum),
    ("min", Function::Min),
    ("max", Function::Max),
    ("ceil", Function::Ceil),
    ("floor", Function::Floor),
    ("len", Function::Len),
    ("size", Function::Size),
    ("number", Function::Number),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Or,
    And,
    Equal,
    Unequal,
    LessOrEqual,
    GreaterOrEqual,
    Less,
    Greater,
    Add,
    Subtract,
    Power,
    FloorDivide,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    fn sign(self) -> &'static str {
        match self {
            Operator::Or => "or",
            Operator::And => "and",
            Operator::Equal => "==",
            Operator::Unequal => "!=",
            Operator::LessOrEqual => "<=",
            Operator::GreaterOrEqual => ">=",
            Operator::Less => "<",
            Operator::Greater => ">",
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Power => "**",
            Operator::FloorDivide => "//",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Remainder => "%",
        }
    }
}

/// Operators by how tightly they bind, loosest first; power binds tighter than the sign and groups to the right.
const LEVELS: [&[Operator]; 5] = [
    &[Operator::Or],
    &[Operator::And],
    &[
        Operator::Equal,
        Operator::Unequal,
        Operator::LessOrEqual,
        Operator::GreaterOrEqual,
        Operator::Less,
        Operator::Greater,
    ],
    &[Operator::Add, Operator::Subtract],
    &[Operator::FloorDivide, Operator::Multiply, Operator::Divide, Operator::Remainder],
];

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    /// What stands where it cannot, and what was expected.
    pub(crate) fn parse(text: &str) -> Result<Expression, String> {
        let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0 };
        let expression = parser.expression()?;
        match parser.next() {
            None => Ok(expression),
            Some(token) => Err(format!("expected the end of the expression, found {}", token.shown())),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Number(Value),
    Text(String),
    Word(String),
    Sign(&'static str),
}

impl Token {
    fn shown(&self) -> String {
        match self {
            Token::Number(number) => number.to_string(),
            Token::Text(text) => format!("'{text}'"),
            Token::Word(word) => format!("{word:?}"),
            Token::Sign(sign) => format!("{sign:?}"),
        }
    }
}

/// Signs, longer ones before those that they begin with.
const SIGNS: [&str; 21] = [
    "**", "//", "==", "!=", "<=", ">=", "<", ">", "+", "-", "*", "/", "%", "(", ")", "[", "]", ",", ":", "=",
    "!",
];

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length;
        if first.is_ascii_digit() || first == '.' {
            length = number_length(rest);
            let digits = rest[..length].replace('_', "");
            let number = match digits.parse() {
                Ok(number) => Value::Int(number),
                Err(_) => Value::Float(digits.parse().map_err(|_| format!("{digits:?} is not a number"))?),
            };
            tokens.push(Token::Number(number));
        } else if first == '\'' || first == '"' {
            let end = rest[1..].find(first).ok_or_else(|| format!("unterminated string {rest}"))?;
            tokens.push(Token::Text(rest[1..=end].to_owned()));
            length = end + 2;
        } else if first.is_alphabetic() || first == '_' {
            length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..length].to_owned()));
        } else {
            let sign = SIGNS.into_iter().find(|sign| rest.starts_with(sign));
            let sign = sign.ok_or_else(|| format!("unexpected {first:?}"))?;
            length = sign.len();
            tokens.push(Token::Sign(sign));
        }
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

/// Digits with an exponent, whose sign belongs to the number.
fn number_length(text: &str) -> usize {
    let mut previous = '0';
    for (at, c) in text.char_indices() {
        let is_exponent_sign = matches!(c, '+' | '-') && matches!(previous, 'e' | 'E');
        if !(c.is_ascii_digit() || matches!(c, '.' | '_' | 'e' | 'E') || is_exponent_sign) {
            return at;
        }
        previous = c;
    }
    text.len()
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    /// Goes past a sign or word if it comes next.
    fn take(&mut self, text: &str) -> bool {
        let found = match self.tokens.get(self.at) {
            Some(Token::Sign(sign)) => *sign == text,
            Some(Token::Word(word)) => word == text,
            _ => false,
        };
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.take(sign) {
            return Ok(());
        }
        let found = self.tokens.get(self.at).map_or("the end".to_owned(), Token::shown);
        Err(format!("expected {sign:?}, found {found}"))
    }

    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("the expression is nested more than {DEEPEST} deep"));
        }
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn expression(&mut self) -> Result<Expression, String> {
        self.nested(|parser| {
            let then = parser.level(0)?;
            if !parser.take("if") {
                return Ok(then);
            }
            let condition = Box::new(parser.level(0)?);
            parser.expect("else")?;
            let otherwise = Box::new(parser.expression()?);
            Ok(Expression::Choice { condition, then: Box::new(then), otherwise })
        })
    }

    fn level(&mut self, level: usize) -> Result<Expression, String> {
        let Some(operators) = LEVELS.get(level) else { return self.signed() };
        if level == 2 && self.take("not") {
            let inner = self.nested(|parser| parser.level(2))?;
            return Ok(Expression::Not(Box::new(inner)));
        }
        let mut left = self.level(level + 1)?;
        let mut length = 0;
        while let Some(operator) = operators.iter().copied().find(|operator| self.take(operator.sign())) {
            length += 1;
            if length > DEEPEST {
                return Err(format!("more than {DEEPEST} operators in a row"));
            }
            let right = self.level(level + 1)?;
            left = Expression::Binary(operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<Expression, String> {
        if self.take("-") {
            let inner = self.nested(Self::signed)?;
            return Ok(Expression::Negative(Box::new(inner)));
        }
        let base = self.postfix()?;
        if !self.take("**") {
            return Ok(base);
        }
        let exponent = self.nested(Self::signed)?;
        Ok(Expression::Binary(Operator::Power, Box::new(base), Box::new(exponent)))
    }

    fn postfix(&mut self) -> Result<Expression, String> {
        let mut inner = self.atom()?;
        for _ in 0..DEEPEST {
            if !self.take("[") {
                return Ok(inner);
            }
            let from = if self.take(":") { None } else { Some(Box::new(self.expression()?)) };
            if from.is_some() && !self.take(":") {
                self.expect("]")?;
                inner = match from {
                    Some(index) => Expression::Item(Box::new(inner), index),
                    None => inner,
                };
                continue;
            }
            let to = if self.take("]") { None } else { Some(Box::new(self.expression()?)) };
            if to.is_some() {
                self.expect("]")?;
            }
            inner = Expression::Slice(Box::new(inner), from, to);
        }
        Err(format!("more than {DEEPEST} brackets in a row"))
    }

    fn atom(&mut self) -> Result<Expression, String> {
        match self.next() {
            Some(Token::Number(number)) => Ok(Expression::Constant(number)),
            Some(Token::Text(text)) => Ok(Expression::Constant(text.into())),
            Some(Token::Word(word)) => self.word(&word),
            Some(Token::Sign("(")) => {
                let inner = self.expression()?;
                self.expect(")")?;
                Ok(inner)
            }
            Some(Token::Sign("[")) => Ok(Expression::List(self.items("]")?)),
            Some(token) => Err(format!("expected a value, found {}", token.shown())),
            None => Err("expected a value, found the end".to_owned()),
        }
    }

    fn word(&mut self, word: &str) -> Result<Expression, String> {
        let constant = match word {
            "True" | "true" => Some(Value::Bool(true)),
            "False" | "false" => Some(Value::Bool(false)),
            "None" => Some(Value::None),
            _ => None,
        };
        if let Some(constant) = constant {
            return Ok(Expression::Constant(constant));
        }
        if let Some((_, function)) = FUNCTIONS.iter().find(|(name, _)| *name == word) {
            self.expect("(")?;
            return Ok(Expression::Call(*function, self.items(")")?));
        }
        let name = NAMES.iter().find(|(name, _)| *name == word).map(|(_, name)| Expression::Name(*name));
        name.ok_or_else(|| {
            let names: Vec<_> =
                NAMES.iter().map(|(name, _)| *name).chain(FUNCTIONS.iter().map(|(name, _)| *name)).collect();
            format!("there is no {word}; choose one of {}", names.join(", "))
        })
    }

    fn items(&mut self, end: &str) -> Result<Vec<Expression>, String> {
        let mut items = Vec::new();
        while !self.take(end) {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(self.expression()?);
        }
        Ok(items)
    }
}

// ---- Evaluation ----

impl Expression {
    /// The value for a call.
    ///
    /// # Errors
    /// Why it has none.
    pub(crate) fn evaluate(&self, call: &OpCall<'_>) -> Result<Value, String> {
        match self {
            Expression::Constant(value) => Ok(value.clone()),
            Expression::Name(name) => Ok(name.of(call)),
            Expression::List(items) => all(items, call).map(Value::List),
            Expression::Negative(inner) => {
                let inner = inner.evaluate(call)?;
                let exact = inner.as_int().and_then(i64::checked_neg).map(Value::Int);
                exact.map_or_else(|| Ok(Value::Float(-number(&inner)?)), Ok)
            }
            Expression::Not(inner) => Ok(Value::Bool(!truth(&inner.evaluate(call)?))),
            Expression::Binary(operator, left, right) => binary(*operator, left, right, call),
            Expression::Choice { condition, then, otherwise } => {
                if truth(&condition.evaluate(call)?) { then } else { otherwise }.evaluate(call)
            }
            // One entry of a list is wanted, so only that is copied.
            Expression::Item(list, index) => match (&**list, index.evaluate(call)?) {
                (Expression::Name(Name::Args), Value::Text(label)) => {
                    call.attribute(&label).cloned().ok_or_else(|| format!("args[{label:?}] was not recorded"))
                }
                (list, index) => item(&list.evaluate(call)?, &index),
            },
            Expression::Slice(list, from, to) => {
                let list = list.evaluate(call)?;
                let items = items(&list)?;
                let bound = |end: &Option<Box<Expression>>, otherwise: usize| match end {
                    None => Ok(otherwise),
                    Some(end) => Ok::<_, String>(bounded(whole(&end.evaluate(call)?)?, items.len())),
                };
                let (from, to) = (bound(from, 0)?, bound(to, items.len())?);
                Ok(Value::List(items.get(from..to).unwrap_or_default().to_vec()))
            }
            Expression::Call(function, arguments) => function.call(&all(arguments, call)?),
        }
    }
}

impl Name {
    fn of(self, call: &OpCall<'_>) -> Value {
        let list = |items: Option<&[Value]>| Value::List(items.unwrap_or_default().to_vec());
        match self {
            Name::Operator => call.name.into(),
            Name::Dims => list(call.dims),
            Name::Types => list(call.types),
            Name::Strides => list(call.strides),
            Name::Concrete => list(call.concrete),
            Name::Args => Value::List(call.attributes.iter().map(|(name, _)| (*name).into()).collect()),
            Name::Kernels => Value::List(call.kernels.iter().map(|&name| name.into()).collect()),
            Name::Annotation => call.annotation.into(),
        }
    }
}

fn all(expressions: &[Expression], call: &OpCall<'_>) -> Result<Vec<Value>, String> {
    expressions.iter().map(|expression| expression.evaluate(call)).collect()
}

fn shown(value: &Value) -> String {
    let mut text = String::new();
    let _ = value.write_literal(&mut text);
    text
}

fn truth(value: &Value) -> bool {
    match value {
        Value::None => false,
        Value::Bool(flag) => *flag,
        Value::Int(number) => *number != 0,
        Value::Float(number) => *number != 0.0,
        Value::Text(text) => !text.is_empty(),
        Value::List(items) | Value::Tuple(items) => !items.is_empty(),
    }
}

fn number(value: &Value) -> Result<f64, String> {
    match value {
        Value::Bool(flag) => Ok(f64::from(u8::from(*flag))),
        Value::Int(number) => Ok(*number as f64),
        Value::Float(number) => Ok(*number),
        other => Err(format!("{} is not a number", shown(other))),
    }
}

fn whole(value: &Value) -> Result<i64, String> {
    value.as_int().ok_or_else(|| format!("{} is not a whole number", shown(value)))
}

fn items(value: &Value) -> Result<&[Value], String> {
    value.items().ok_or_else(|| format!("{} is not a list", shown(value)))
}

/// A position of a list as Python counts it, from the end where it is negative.
fn bounded(position: i64, length: usize) -> usize {
    let from_end = usize::try_from(position.unsigned_abs()).unwrap_or(usize::MAX);
    match position < 0 {
        true => length.saturating_sub(from_end),
        false => from_end.min(length),
    }
}

fn item(list: &Value, index: &Value) -> Result<Value, String> {
    let items = items(list)?;
    let position = whole(index)?;
    let at = if position < 0 { position.checked_add(items.len() as i64) } else { Some(position) };
    let found = at.and_then(|at| usize::try_from(at).ok()).and_then(|at| items.get(at));
    found.cloned().ok_or_else(|| format!("index {position} is out of range for a list of {}", items.len()))
}

fn binary(
    operator: Operator,
    left: &Expression,
    right: &Expression,
    call: &OpCall<'_>,
) -> Result<Value, String> {
    let left = left.evaluate(call)?;
    match (operator, truth(&left)) {
        (Operator::And, false) | (Operator::Or, true) => return Ok(left),
        (Operator::And | Operator::Or, _) => return right.evaluate(call),
        _ => {}
    }
    let right = right.evaluate(call)?;
    let equal = || match (number(&left), number(&right)) {
        (Ok(left), Ok(right)) => left == right,
        _ => left == right,
    };
    match operator {
        Operator::Equal => return Ok(Value::Bool(equal())),
        Operator::Unequal => return Ok(Value::Bool(!equal())),
        _ => {}
    }
    let (a, b) = (number(&left)?, number(&right)?);
    let ints = left.as_int().zip(right.as_int());
    let exact = |whole: fn(i64, i64) -> Option<i64>, float: f64| {
        ints.and_then(|(a, b)| whole(a, b)).map_or(Value::Float(float), Value::Int)
    };
    if b == 0.0 && matches!(operator, Operator::Divide | Operator::FloorDivide | Operator::Remainder) {
        return Err(format!("division of {} by zero", shown(&left)));
    }
    Ok(match operator {
        Operator::LessOrEqual => Value::Bool(a <= b),
        Operator::GreaterOrEqual => Value::Bool(a >= b),
        Operator::Less => Value::Bool(a < b),
        Operator::Greater => Value::Bool(a > b),
        Operator::Add => exact(i64::checked_add, a + b),
        Operator::Subtract => exact(i64::checked_sub, a - b),
        Operator::Multiply => exact(i64::checked_mul, a * b),
        Operator::Divide => Value::Float(a / b),
        Operator::FloorDivide => exact(floor_divide, (a / b).floor()),
        Operator::Remainder => exact(remainder, a - b * (a / b).floor()),
        Operator::Power => exact(power, a.powf(b)),
        Operator::Or | Operator::And | Operator::Equal | Operator::Unequal => return Ok(left),
    })
}

fn floor_divide(a: i64, b: i64) -> Option<i64> {
    let quotient = a.checked_div(b)?;
    Some(if a % b != 0 && (a < 0) != (b < 0) { quotient - 1 } else { quotient })
}

fn remainder(a: i64, b: i64) -> Option<i64> {
    a.checked_sub(floor_divide(a, b)?.checked_mul(b)?)
}

fn power(base: i64, exponent: i64) -> Option<i64> {
    base.checked_pow(u32::try_from(exponent).ok()?)
}

impl Function {
    fn call(self, arguments: &[Value]) -> Result<Value, String> {
        let [first] = arguments else {
            return match self {
                Function::Min | Function::Max if !arguments.is_empty() => {
                    self.call(&[Value::List(arguments.to_vec())])
                }
                _ => Err(format!("{} takes one value, found {}", self.name(), arguments.len())),
            };
        };
        match self {
            Function::Prod => fold(first, 1, i64::checked_mul, |a, b| a * b),
            Function::Sum => fold(first, 0, i64::checked_add, |a, b| a + b),
            Function::Min => extreme(first, |new, best| new < best),
            Function::Max => extreme(first, |new, best| new > best),
            Function::Ceil => Ok(rounded(first, f64::ceil)?),
            Function::Floor => Ok(rounded(first, f64::floor)?),
            Function::Len => match first {
                Value::Text(text) => Ok(Value::Int(text.chars().count() as i64)),
                list => Ok(Value::Int(items(list)?.len() as i64)),
            },
            Function::Size => {
                let name =
                    first.as_text().ok_or_else(|| format!("{} is not an element type", shown(first)))?;
                let size = element_size(name).map_err(|undefined| undefined.reason.into_owned())?;
                Ok(if size.fract() == 0.0 { Value::Int(size as i64) } else { Value::Float(size) })
            }
            Function::Number => match first {
                Value::Text(text) => {
                    let number = text.trim().parse().map(Value::Int);
                    number
                        .or_else(|_| text.trim().parse().map(Value::Float))
                        .map_err(|_| format!("{} is not a number", shown(first)))
                }
                other => number(other).map(|_| other.clone()),
            },
        }
    }

    fn name(self) -> &'static str {
        FUNCTIONS.iter().find(|(_, function)| *function == self).map_or("", |(name, _)| name)
    }
}

fn fold(
    list: &Value,
    start: i64,
    whole: fn(i64, i64) -> Option<i64>,
    float: fn(f64, f64) -> f64,
) -> Result<Value, String> {
    let mut result = Value::Int(start);
    for item in items(list)? {
        let exact = result.as_int().zip(item.as_int()).and_then(|(a, b)| whole(a, b));
        result = match exact {
            Some(exact) => Value::Int(exact),
            None => Value::Float(float(number(&result)?, number(item)?)),
        };
    }
    Ok(result)
}

fn extreme(list: &Value, better: fn(f64, f64) -> bool) -> Result<Value, String> {
    let mut best: Option<&Value> = None;
    for item in items(list)? {
        let value = number(item)?;
        if best.map(number).transpose()?.is_none_or(|best| better(value, best)) {
            best = Some(item);
        }
    }
    best.cloned().ok_or_else(|| "min or max of an empty list".to_owned())
}

fn rounded(value: &Value, round: fn(f64) -> f64) -> Result<Value, String> {
    if value.as_int().is_some() {
        return Ok(value.clone());
    }
    let rounded = round(number(value)?);
    Ok(if rounded.abs() < 2_f64.powi(63) { Value::Int(rounded as i64) } else { Value::Float(rounded) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<Value, String> {
        let dims = [Value::tuple([4, 1024]), Value::tuple([1024, 7])];
        let call = OpCall {
            name: "my::op",
            dims: Some(&dims),
            types: Some(&["c10::BFloat16".into()]),
            concrete: Some(&["".into(), "True".into(), "3.5".into()]),
            attributes: &[("topk", 2.into())],
            ..OpCall::default()
        };
        Expression::parse(text)?.evaluate(&call)
    }

    #[test]
    fn expressions_have_the_values_that_python_gives_them() {
        for (text, expected) in [
            ("1 + 2 * 3 - -4", Value::Int(11)),
            ("2 ** 3 ** 2", Value::Int(512)),
            ("-2 ** 2", Value::Int(-4)),
            ("7 // 2 + -7 // 2 + -7 % 3", Value::Int(1)),
            ("7 / 2", Value::Float(3.5)),
            ("1_000 * 1e3", Value::Float(1e6)),
            ("2 ** 70", Value::Float(2_f64.powi(70))),
            ("9223372036854775807 + 1", Value::Float(2_f64.powi(63))),
            ("prod(dims[0]) * size(types[0])", Value::Int(8192)),
            ("prod(dims[0][:-1]) + dims[-1][-1] + len(dims)", Value::Int(13)),
            ("dims[0][1:]", Value::List(vec![Value::Int(1024)])),
            ("min(3, 2, 5) + max([1, 4]) + sum([1, 2])", Value::Int(9)),
            ("ceil(7 / 2) + floor(3.9)", Value::Int(7)),
            ("5 if concrete[1] == 'True' and not 0 else 6", Value::Int(5)),
            ("number(concrete[2]) + number('2')", Value::Float(5.5)),
            ("args['topk'] * 3", Value::Int(6)),
            ("1 < 2 or dims[9]", Value::Bool(true)),
            ("annotation == None", Value::Bool(true)),
            ("name", Value::from("my::op")),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_expression_or_has_no_value_says_why() {
        let deep = "(".repeat(100);
        let long = vec!["1"; 200].join("+");
        for (text, reason) in [
            ("1 +", "expected a value, found the end"),
            ("1 2", "expected the end of the expression, found 2"),
            ("(1", "expected \")\", found the end"),
            ("shape[0]", "there is no shape; choose one of name, dims, types"),
            ("'abc", "unterminated string 'abc"),
            ("1 ; 2", "unexpected ';'"),
            ("1.2.3", "\"1.2.3\" is not a number"),
            (&deep, "the expression is nested more than 64 deep"),
            (&long, "more than 64 operators in a row"),
            ("dims[5]", "index 5 is out of range for a list of 2"),
            ("1 // 0", "division of 1 by zero"),
            ("types[0] + 1", "'c10::BFloat16' is not a number"),
            ("size('strange')", "element type \"strange\" has no known size"),
            ("prod(1, 2)", "prod takes one value, found 2"),
            ("max([])", "min or max of an empty list"),
            ("args['k']", "args[\"k\"] was not recorded"),
        ] {
            let found = value(text).unwrap_err();
            assert!(found.starts_with(reason), "{text}: {found}");
        }
    }
}
