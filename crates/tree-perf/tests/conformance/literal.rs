//! The text of a cell as a value: numbers, Python literals (also as numpy prints scalars in them), JSON.

/// What a cell says. Tuples, lists and sets are all lists; a dictionary keeps its order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Flag(bool),
    Number(f64),
    Text(String),
    List(Vec<Value>),
    Dictionary(Vec<(String, Value)>),
}

impl Value {
    pub(crate) fn of_cell(cell: &str) -> Value {
        let text = cell.trim();
        match text {
            "" | "nan" | "NaN" | "None" | "null" | "NaT" => return Value::Null,
            "True" | "true" | "TRUE" => return Value::Flag(true),
            "False" | "false" | "FALSE" => return Value::Flag(false),
            _ => {}
        }
        if let Ok(number) = text.parse() {
            return Value::Number(number);
        }
        let parsed = text.starts_with(['[', '(', '{']).then(|| Parser { rest: text }.whole()).flatten();
        parsed.unwrap_or_else(|| Value::Text(text.to_owned()))
    }

    /// A text that is equal for equal values: what rows are matched by.
    pub(crate) fn key(&self) -> String {
        match self {
            Value::Dictionary(entries) => {
                let mut entries: Vec<_> = entries.iter().map(|(key, value)| (key, value.key())).collect();
                entries.sort();
                format!("{entries:?}")
            }
            Value::List(items) => format!("{:?}", items.iter().map(Value::key).collect::<Vec<_>>()),
            other => format!("{other:?}"),
        }
    }

    /// The text itself; of anything else nothing.
    pub(crate) fn text(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            _ => String::new(),
        }
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Dictionary(entries) => {
                entries.iter().find(|(name, _)| name == key).map(|(_, value)| value)
            }
            _ => None,
        }
    }
}

struct Parser<'a> {
    rest: &'a str,
}

impl Parser<'_> {
    fn whole(mut self) -> Option<Value> {
        let value = self.value()?;
        self.rest.trim().is_empty().then_some(value)
    }

    fn value(&mut self) -> Option<Value> {
        self.rest = self.rest.trim_start();
        match self.rest.chars().next()? {
            '[' => self.items(']'),
            '(' => self.items(')'),
            '{' => self.entries(),
            '\'' | '"' => self.text().map(Value::Text),
            _ => self.scalar(),
        }
    }

    fn take(&mut self, expected: char) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(expected) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn items(&mut self, close: char) -> Option<Value> {
        self.rest = &self.rest[1..];
        let mut items = Vec::new();
        while !self.take(close) {
            items.push(self.value()?);
            if !self.take(',') {
                return self.take(close).then_some(Value::List(items));
            }
        }
        Some(Value::List(items))
    }

    fn entries(&mut self) -> Option<Value> {
        self.rest = &self.rest[1..];
        let mut entries = Vec::new();
        while !self.take('}') {
            let key = match self.value()? {
                Value::Text(key) => key,
                other => other.key(),
            };
            let value = if self.take(':') { self.value()? } else { return None };
            entries.push((key, value));
            if !self.take(',') {
                return self.take('}').then_some(Value::Dictionary(entries));
            }
        }
        Some(Value::Dictionary(entries))
    }

    fn text(&mut self) -> Option<String> {
        let quote = self.rest.chars().next()?;
        let mut text = String::new();
        let mut characters = self.rest[1..].char_indices();
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => text.push(characters.next()?.1),
                _ if character == quote => {
                    self.rest = &self.rest[at + 2..];
                    return Some(text);
                }
                _ => text.push(character),
            }
        }
        None
    }

    fn scalar(&mut self) -> Option<Value> {
        if let Some(inner) = self.rest.strip_prefix("np.") {
            let (_, inner) = inner.split_once('(')?;
            self.rest = inner;
            let value = self.scalar()?;
            return self.take(')').then_some(value);
        }
        let end = self.rest.find([',', ')', ']', '}', ':']).unwrap_or(self.rest.len());
        let (scalar, rest) = self.rest.split_at(end);
        self.rest = rest;
        match Value::of_cell(scalar) {
            Value::Text(_) => None,
            value => Some(value),
        }
    }
}

#[test]
fn cells_are_read_as_values() {
    let number = Value::Number;
    let text = |text: &str| Value::Text(text.to_owned());
    for (cell, value) in [
        ("", Value::Null),
        ("nan", Value::Null),
        ("True", Value::Flag(true)),
        ("1.5e-05", number(1.5e-5)),
        ("8944", number(8944.0)),
        ("aten::mm", text("aten::mm")),
        ("(1,)", Value::List(vec![number(1.0)])),
        ("()", Value::List(vec![])),
        (
            "[[2, 3], ['a, b', None]]",
            Value::List(vec![
                Value::List(vec![number(2.0), number(3.0)]),
                Value::List(vec![text("a, b"), Value::Null]),
            ]),
        ),
        (r#"["it's", 'a\'b']"#, Value::List(vec![text("it's"), text("a'b")])),
        (
            "{'k': np.float64(1.5), 'n': [np.int64(2)]}",
            Value::Dictionary(vec![
                ("k".to_owned(), number(1.5)),
                ("n".to_owned(), Value::List(vec![number(2.0)])),
            ]),
        ),
        ("(anonymous namespace)::k", text("(anonymous namespace)::k")),
        ("[unfinished", text("[unfinished")),
    ] {
        assert_eq!(Value::of_cell(cell), value, "{cell}");
    }
}
