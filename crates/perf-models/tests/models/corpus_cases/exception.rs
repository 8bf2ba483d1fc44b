//! Where our figures are meant to differ from the reference's.

use super::case::{Case, Outcome};
use super::rules::rule;

/// A difference that a quirk of the reference explains: its page says that it is to be put right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exception {
    /// Name of the operator, or the start of names followed by `*`.
    pub(crate) op: &'static str,
    /// A part of the case's line that tells it from others of its operator, or `*` for all.
    pub(crate) args: &'static str,
    /// `flops`, `bytes`, `flops_bwd`, `bytes_bwd`, `spec`, `params` (the names in order) or `param: NAME`;
    /// several separated by ` | `.
    pub(crate) field: &'static str,
    /// Page and number of the quirk, such as `03 #1`.
    pub(crate) quirk: &'static str,
    /// What we say instead.
    pub(crate) ours: Ours,
    /// Why that is right.
    pub(crate) why: &'static str,
}

/// What we say where the reference says something else.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ours {
    Figure(f64),
    /// This compute spec, parameter or order of parameters.
    Text(&'static str),
    /// Nothing.
    Absent,
    /// What a second, independent derivation from the case says.
    Rule(fn(&Case) -> Outcome),
}

impl Exception {
    /// Whether it is about this field of this case.
    pub(crate) fn applies(&self, case: &Case, field: &str) -> bool {
        let name = &case.call.name;
        let named = self.op.strip_suffix('*').map_or(self.op == name, |start| name.starts_with(start));
        named
            && self.field.split(" | ").any(|one| one == field)
            && (self.args == "*" || case.line.contains(self.args))
    }

    /// What we say of the case.
    pub(crate) fn outcome(&self, case: &Case) -> Outcome {
        match self.ours {
            Ours::Figure(figure) => Outcome::Figure(figure),
            Ours::Text(text) => Outcome::Text(text.to_owned()),
            Ours::Absent => Outcome::Absent,
            Ours::Rule(rule) => rule(case),
        }
    }
}

/// Those of `exceptions.txt`, whose head describes the lines.
pub(crate) fn exceptions() -> Vec<Exception> {
    let (mut quirk, mut why, mut op, mut args) = ("", "", "", "");
    let mut exceptions = Vec::new();
    let lines = include_str!("exceptions.txt").lines();
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(answer) = line.strip_prefix("    ") {
            let (field, ours) = answer.split_once(" = ").unwrap();
            exceptions.push(Exception { op, args, field, quirk, ours: Ours::read(field, ours), why });
        } else if let Some(call) = line.strip_prefix("  ") {
            (op, args) = call.split_once(' ').unwrap();
        } else {
            (quirk, why) = line.split_once(": ").unwrap();
        }
    }
    exceptions
}

impl Ours {
    fn read(field: &str, text: &'static str) -> Self {
        match text.strip_prefix("rule ") {
            Some(name) => Self::Rule(rule(name)),
            None if text == "nothing" => Self::Absent,
            None if field.starts_with("flops") || field.starts_with("bytes") => {
                let product = |factors: &str| -> f64 {
                    factors.split('*').map(|factor| factor.parse::<f64>().unwrap()).product()
                };
                Self::Figure(text.split(" + ").map(product).sum())
            }
            None => Self::Text(text),
        }
    }
}
