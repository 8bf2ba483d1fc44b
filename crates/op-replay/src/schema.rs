//! Schemas of operators in the text form of PyTorch's registry:
//! `aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor`.

use std::fmt;

/// Name and parameters of one overload of an operator. What it returns is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema<'s> {
    /// Name with its namespace: `aten::sum`.
    pub name: &'s str,
    /// Name of the overload: `dim_IntList`; empty for the default one.
    pub overload: &'s str,
    /// Parameters in their order, positional ones first.
    pub parameters: Vec<Parameter<'s>>,
}

/// A parameter of an operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter<'s> {
    /// Name, such as `self`.
    pub name: &'s str,
    /// The type as it is written, without marks of aliases and writes: `int[1]?`.
    pub written_type: String,
    /// The type.
    pub parameter_type: ParameterType,
    /// The default as it is written: `[0, 1]`, `"none"`, `None`.
    pub default: Option<&'s str>,
    /// Whether it is passed by name.
    pub keyword_only: bool,
    /// Whether the operator writes to it: `Tensor(a!)`.
    pub is_written: bool,
}

/// Type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParameterType {
    /// What it is made of.
    pub base: BaseType,
    /// Whether it is a list of them.
    pub is_list: bool,
    /// Whether items of the list may be `None`: `Tensor?[]`.
    pub has_optional_items: bool,
    /// Whether all of it may be `None`: `Tensor?`, `int[]?`.
    pub is_optional: bool,
}

/// What types are made of, as far as recorded arguments tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseType {
    /// `Tensor`
    Tensor,
    /// `int`, `SymInt`
    Int,
    /// `float`
    Float,
    /// `bool`
    Bool,
    /// `complex`
    Complex,
    /// `Scalar`: a number of any kind.
    Number,
    /// `ScalarType`, `Layout`, `MemoryFormat`: enumerations, recorded as numbers.
    Enumeration,
    /// `str`, whose values the profiler does not record.
    Text,
    /// `Device`, whose values the profiler does not record.
    Device,
    /// `Generator`, whose values the profiler does not record.
    Generator,
    /// Any other, such as `Stream` or a list of lists.
    Other,
}

/// Why a text is no schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an operator schema: at byte {at}, expected {expected}, found {found:?}")]
pub struct SchemaError {
    at: usize,
    expected: &'static str,
    found: String,
}

impl<'s> Schema<'s> {
    /// Reads a schema; what is returned may be left out.
    ///
    /// # Errors
    /// When the text has another form.
    pub fn parse(text: &'s str) -> Result<Self, SchemaError> {
        let mut cursor = Cursor { text, at: 0 };
        let full_name = cursor.word("the name of an operator", |c| is_word(c) || c == ':' || c == '.')?;
        // Namespaces have no dots, and names of operators do not either.
        let (name, overload) = full_name.split_once('.').unwrap_or((full_name, ""));
        cursor.require("(")?;
        let mut parameters = Vec::new();
        let mut keyword_only = false;
        cursor.spaces();
        while !cursor.take(")") {
            if cursor.take("*") {
                keyword_only = true;
            } else {
                parameters.push(cursor.parameter(keyword_only)?);
            }
            cursor.spaces();
            if !cursor.take(",") && !cursor.rest().starts_with(')') {
                return Err(cursor.expected("`,` or `)`"));
            }
            cursor.spaces();
        }
        cursor.spaces();
        if !cursor.rest().is_empty() && !cursor.rest().starts_with("->") {
            return Err(cursor.expected("`->` or the end"));
        }
        Ok(Schema { name, overload, parameters })
    }
}

impl fmt::Display for Schema<'_> {
    /// Name and overload: `aten::sum.dim_IntList`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        if !self.overload.is_empty() {
            write!(f, ".{}", self.overload)?;
        }
        Ok(())
    }
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// What is left of a schema's text.
struct Cursor<'s> {
    text: &'s str,
    at: usize,
}

impl<'s> Cursor<'s> {
    fn rest(&self) -> &'s str {
        &self.text[self.at..]
    }

    fn expected(&self, expected: &'static str) -> SchemaError {
        SchemaError { at: self.at, expected, found: self.rest().chars().take(20).collect() }
    }

    fn spaces(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn take(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn require(&mut self, token: &'static str) -> Result<(), SchemaError> {
        if self.take(token) { Ok(()) } else { Err(self.expected(token)) }
    }

    fn word(&mut self, what: &'static str, is_part: fn(char) -> bool) -> Result<&'s str, SchemaError> {
        let rest = self.rest();
        let word = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        if word.is_empty() {
            return Err(self.expected(what));
        }
        self.at += word.len();
        Ok(word)
    }

    /// What stands between brackets, which may hold others; texts in quotes are passed over.
    fn brackets(&mut self, open: char, close: char) -> Result<&'s str, SchemaError> {
        let start = self.at;
        let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
        for (offset, c) in self.rest().char_indices() {
            match c {
                _ if escaped => escaped = false,
                '\\' if in_text => escaped = true,
                '"' => in_text = !in_text,
                _ if in_text => {}
                _ if c == open => depth += 1,
                _ if c == close => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += offset + c.len_utf8();
                        return Ok(&self.text[start..self.at]);
                    }
                }
                _ => {}
            }
        }
        Err(self.expected("a closing bracket"))
    }

    fn parameter(&mut self, keyword_only: bool) -> Result<Parameter<'s>, SchemaError> {
        let (written_type, parameter_type, is_written) = self.parameter_type()?;
        self.spaces();
        let name = self.word("the name of a parameter", is_word)?;
        let default = if self.take("=") { Some(self.default_value()?) } else { None };
        Ok(Parameter { name, written_type, parameter_type, default, keyword_only, is_written })
    }

    fn parameter_type(&mut self) -> Result<(String, ParameterType, bool), SchemaError> {
        let start = self.at;
        let is_tuple = self.rest().starts_with('(');
        let name = match is_tuple {
            true => self.brackets('(', ')')?,
            false => self.word("a type", |c| is_word(c) || c == '.')?,
        };
        let base = match name {
            "Tensor" => BaseType::Tensor,
            "int" | "SymInt" => BaseType::Int,
            "float" => BaseType::Float,
            "bool" => BaseType::Bool,
            "complex" => BaseType::Complex,
            "Scalar" => BaseType::Number,
            "ScalarType" | "Layout" | "MemoryFormat" => BaseType::Enumeration,
            "str" => BaseType::Text,
            "Device" => BaseType::Device,
            "Generator" => BaseType::Generator,
            _ => BaseType::Other,
        };
        let mut found = ParameterType { base, is_list: false, has_optional_items: false, is_optional: false };
        let mut written_type = self.text[start..self.at].to_owned();
        let mut is_written = false;
        loop {
            let suffix = self.at;
            if self.rest().starts_with('(') {
                // Of a tensor, the alias that it is: `(a)`, `(a!)`, `(a -> *)`. Of others, parts of the type.
                let inner = self.brackets('(', ')')?;
                if base == BaseType::Tensor {
                    is_written |= inner.contains('!');
                    continue;
                }
            } else if self.rest().starts_with('[') {
                self.brackets('[', ']')?;
                if found.is_list {
                    found.base = BaseType::Other;
                }
                found.has_optional_items = std::mem::take(&mut found.is_optional);
                found.is_list = true;
            } else if self.take("?") {
                found.is_optional = true;
            } else {
                return Ok((written_type, found, is_written));
            }
            written_type.push_str(&self.text[suffix..self.at]);
        }
    }

    fn default_value(&mut self) -> Result<&'s str, SchemaError> {
        let start = self.at;
        match self.rest().chars().next() {
            Some('[') => self.brackets('[', ']'),
            Some('"') => {
                let rest = self.rest();
                let mut escaped = false;
                let end = rest.char_indices().skip(1).find(|&(_, c)| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                });
                let (end, _) = end.ok_or_else(|| self.expected("a closing quote"))?;
                self.at += end + 1;
                Ok(&self.text[start..self.at])
            }
            _ => self.word("a default", |c| is_word(c) || matches!(c, '.' | '-' | '+')),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(text: &str) -> Vec<String> {
        let schema = Schema::parse(text).unwrap();
        let parameters = schema.parameters.iter();
        parameters.map(|parameter| parameter.written_type.clone()).collect()
    }

    #[test]
    fn names_defaults_and_keywords_are_told_apart() {
        let schema = Schema::parse(
            "aten::norm.dim(Tensor(a!) self, float[]? p, int[1] dim=[0, 1], *, str mode=\"a, \\\"b)\", Tensor? out=None) -> (Tensor(a!), Tensor[])",
        )
        .unwrap();
        assert_eq!(schema.to_string(), "aten::norm.dim");
        let shown: Vec<_> = schema
            .parameters
            .iter()
            .map(|parameter| {
                (parameter.name, parameter.default, parameter.keyword_only, parameter.is_written)
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("self", None, false, true),
                ("p", None, false, false),
                ("dim", Some("[0, 1]"), false, false),
                ("mode", Some("\"a, \\\"b)\""), true, false),
                ("out", Some("None"), true, false),
            ]
        );
    }

    #[test]
    fn types_keep_lists_and_options_apart() {
        let parse = |text: &str| {
            let text = format!("f({text} x)");
            Schema::parse(&text).unwrap().parameters[0].parameter_type
        };
        let plain =
            |base| ParameterType { base, is_list: false, has_optional_items: false, is_optional: false };
        for (text, expected) in [
            ("Tensor", plain(BaseType::Tensor)),
            ("Tensor(a -> *)", plain(BaseType::Tensor)),
            ("SymInt?", ParameterType { is_optional: true, ..plain(BaseType::Int) }),
            ("int[1]?", ParameterType { is_list: true, is_optional: true, ..plain(BaseType::Int) }),
            (
                "Tensor?[]",
                ParameterType { is_list: true, has_optional_items: true, ..plain(BaseType::Tensor) },
            ),
            ("Tensor(a!)[]", ParameterType { is_list: true, ..plain(BaseType::Tensor) }),
            ("int[][]", ParameterType { is_list: true, ..plain(BaseType::Other) }),
            ("Dict(str, Tensor)", plain(BaseType::Other)),
            ("(int, Tensor)[]", ParameterType { is_list: true, ..plain(BaseType::Other) }),
            ("__torch__.torch.classes.rnn.CellParamsBase", plain(BaseType::Other)),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
        assert_eq!(types("f(Tensor(a!)[] x, int[2]? y)"), ["Tensor[]", "int[2]?"]);
    }

    #[test]
    fn what_is_no_schema_says_where() {
        for (text, expected) in [
            ("", "at byte 0, expected the name of an operator, found \"\""),
            ("aten::mm", "at byte 8, expected (, found \"\""),
            ("aten::mm(Tensor self", "at byte 20, expected `,` or `)`, found \"\""),
            ("aten::mm(Tensor[2 self)", "at byte 15, expected a closing bracket, found \"[2 self)\""),
            ("f(str x=\"a)", "at byte 8, expected a closing quote, found \"\\\"a)\""),
            ("f(int x=)", "at byte 8, expected a default, found \")\""),
            ("f(int x) Tensor", "at byte 9, expected `->` or the end, found \"Tensor\""),
        ] {
            let error = Schema::parse(text).unwrap_err().to_string();
            assert_eq!(error.split_once(": ").unwrap().1, expected, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "[a-zA-Z:.(){}\\[\\]*,?=!>\" \\\\-]{0,60}") {
            let _ = Schema::parse(&text);
        }
    }
}
