//! Where our figures are meant to differ from the reference's.

use super::case::{Case, Outcome};

/// A difference that a quirk of the reference explains: its page says that it is to be put right.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exception {
    /// Name of the operator, or the start of names followed by `*`.
    pub(crate) op: &'static str,
    /// A part of the case's line that tells it from others of its operator, or `*` for all.
    pub(crate) args: &'static str,
    /// `flops`, `bytes`, `flops_bwd`, `bytes_bwd`, `spec`, `params` (the names in order) or `param: NAME`;
    /// several separated by ` | `, or `*` for all.
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
            && (self.field == "*" || self.field.split(" | ").any(|one| one == field))
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
