//! What the names of calls and kernels say, decided once per distinct name.

use perf_models::LoopWords;
use trace_ingest::{StringId, StringTable};
use trace2tree::is_graph_launch;

/// What the strings of a trace say, each found when it is first asked for, and whether they are calls that launch a captured
/// graph.
pub(crate) struct Names<'t> {
    strings: &'t StringTable,
    known: Vec<Option<(LoopWords, bool)>>,
}

impl<'t> Names<'t> {
    pub(crate) fn new(strings: &'t StringTable) -> Self {
        Names { strings, known: vec![None; strings.len()] }
    }

    pub(crate) fn get(&mut self, name: StringId) -> LoopWords {
        self.known(name).0
    }

    pub(crate) fn is_graph_launch(&mut self, name: StringId) -> bool {
        self.known(name).1
    }

    fn known(&mut self, name: StringId) -> (LoopWords, bool) {
        let found = |text: &str| (LoopWords::from_name(text), is_graph_launch(text));
        *self.known[name.index()].get_or_insert_with(|| found(self.strings.get(name)))
    }
}

/// A name without its numbers, by which iterations of one kind are one group, and the last of these numbers.
pub(crate) fn without_numbers(name: &str) -> (String, Option<i64>) {
    let mut key = String::with_capacity(name.len());
    let mut number = None;
    let mut rest = name;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = rest[at..].find(|c: char| !c.is_ascii_digit()).map_or(rest.len(), |end| at + end);
        key.push_str(&rest[..at]);
        number = rest[at..digits].parse().ok();
        rest = &rest[digits..];
        key.push('0');
    }
    key.push_str(rest);
    (key, number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_taken_out_of_names() {
        assert_eq!(without_numbers("ProfilerStep#12"), ("ProfilerStep#0".to_owned(), Some(12)));
        assert_eq!(without_numbers("step 3 of 10"), ("step 0 of 0".to_owned(), Some(10)));
        assert_eq!(without_numbers("forward"), ("forward".to_owned(), None));
    }
}
