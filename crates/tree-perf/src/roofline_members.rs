//! Which calls stand in the roofline sheets of which subject.

use std::collections::BTreeSet;
use std::sync::Arc;

use perf_models::Family;
use trace_ingest::{Category, EventId};

use crate::analysis::Analysis;
use crate::derived::{RooflineMembers, Subject};
use crate::extended_operators::ExtendedOperator;
use operator_sheets::{OpCategory, without_direction};

impl Subject {
    /// The subject of this name, without regard to case: names of sheets differ in more than that.
    fn named(name: &str) -> Self {
        let name = without_direction(name);
        let is_name = |family: &Family| family.as_str().eq_ignore_ascii_case(name);
        match Family::all().find(is_name) {
            Some(family) => Subject::Family(family),
            // The category of normalizations is spelled in another way than their family.
            None if name.eq_ignore_ascii_case("NORM") => Subject::Family(Family::Normalization),
            None => Subject::Own(name.into()),
        }
    }
}

impl Analysis {
    /// Which operators the extension puts in which roofline sheet. Computed once.
    pub(crate) fn roofline_members(&self) -> &RooflineMembers {
        self.derived.roofline_members.get_or_init(|| RooflineMembers::new(self))
    }
}

impl RooflineMembers {
    fn new(analysis: &Analysis) -> Self {
        let mut members = RooflineMembers::default();
        let Some(extended) = analysis.models().extended() else { return members };
        let events = analysis.trace().events();
        for (name, operator) in extended.names() {
            // Generated kernels are named as their operators.
            let is_operator = |call: &EventId| events.category(*call) == Category::CPU_OP;
            let calls = analysis.tree().find_by_name_id(name).iter().copied().filter(is_operator);
            let own_category = matches!(operator.category, Some(OpCategory::Own(_)));
            if !operator.sheets.is_empty() {
                for subject in
                    operator.sheets.iter().map(|name| Subject::named(name)).collect::<BTreeSet<_>>()
                {
                    members.calls.entry(subject).or_default().extend(calls.clone());
                }
            } else if operator.is_modelled || own_category {
                for call in calls {
                    if let Some(subject) = subject(analysis, call, operator) {
                        members.calls.entry(subject).or_default().push(call);
                    }
                }
            } else {
                continue;
            }
            members.decided.insert(name);
        }
        members.calls.values_mut().for_each(|calls| calls.sort_unstable());
        members
    }

    /// The names that are no family's, in their order.
    pub(crate) fn own_names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.calls.keys().filter_map(|subject| match subject {
            Subject::Own(name) => Some(name),
            Subject::Family(_) => None,
        })
    }

    /// All calls of a subject in file order, figures or not.
    pub(crate) fn calls(&self, analysis: &Analysis, subject: &Subject) -> Vec<EventId> {
        let (tree, strings) = (analysis.tree(), analysis.trace().strings());
        let mut calls = self.calls.get(subject).cloned().unwrap_or_default();
        if let Subject::Family(family) = subject {
            let names =
                analysis.models().tables().ops_of_family(*family).filter_map(|name| strings.find(name));
            let built_in = names.filter(|name| !self.decided.contains(name));
            calls.extend(built_in.flat_map(|name| tree.find_by_name_id(name)));
        }
        calls.sort_unstable();
        calls
    }
}

/// Where a call stands: by a category of the extension's own, else by the family of its model, else by category.
fn subject(analysis: &Analysis, call: EventId, operator: &ExtendedOperator) -> Option<Subject> {
    let models = analysis.models();
    let category = models.category_by_extension(analysis.tree(), call)?;
    if let OpCategory::Own(name) = &category {
        return Some(Subject::named(name));
    }
    let family = if operator.is_modelled {
        let evaluation = models.evaluate(analysis.tree(), call);
        evaluation.as_ref().ok()?.by_extension.as_ref()?.family
    } else {
        models.tables().family(analysis.trace().name(call))
    };
    Some(family.map_or_else(|| Subject::named(category.work()), Subject::Family))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_is_named_as_its_sheets_are() {
        for (name, subject) in [
            ("GEMM", Subject::Family(Family::Gemm)),
            ("gemm", Subject::Family(Family::Gemm)),
            ("SDPA_bwd", Subject::Family(Family::Sdpa)),
            ("NORM_fwd", Subject::Family(Family::Normalization)),
            ("reduce", Subject::Family(Family::Reduce)),
            ("elementwise", Subject::Family(Family::Sampling)),
            ("mine_fwd", Subject::Own("mine".into())),
            ("other", Subject::Own("other".into())),
        ] {
            assert_eq!(Subject::named(name), subject, "{name}");
        }
    }
}
