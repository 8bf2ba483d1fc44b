//! What was wrong with the records of a file, counted list by list.

use super::walker::Tally;
use crate::warning::Warning;

#[derive(Debug, Default)]
pub(super) struct Faults {
    lists: Vec<(String, ListFaults)>,
}

#[derive(Debug, Default)]
struct ListFaults {
    malformed: u64,
    first: Option<(u64, &'static str)>,
    unused: u64,
    without_times: u64,
}

impl Faults {
    fn list(&mut self, name: &str) -> &mut ListFaults {
        let position = self.lists.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
            self.lists.push((name.to_string(), ListFaults::default()));
            self.lists.len() - 1
        });
        &mut self.lists[position].1
    }

    /// Adds what became of the records of a list.
    pub(super) fn tally(&mut self, name: &str, tally: Tally) {
        if let Some(first) = tally.first {
            let list = self.list(name);
            list.malformed += tally.malformed;
            list.first.get_or_insert(first);
        }
    }

    /// Adds one that is not what it should be.
    pub(super) fn malformed(&mut self, name: &str, offset: u64, detail: &'static str) {
        self.tally(name, Tally { read: 0, malformed: 1, first: Some((offset, detail)) });
    }

    /// Adds the records of a list that no analysis uses.
    pub(super) fn unused(&mut self, name: &str, tally: Tally) {
        let count = tally.read + tally.malformed;
        if count > 0 {
            self.list(name).unused += count;
        }
    }

    /// Counts a record that does not say when it began or ended.
    pub(super) fn without_times(&mut self, name: &str) {
        self.list(name).without_times += 1;
    }

    /// Adds a warning per list and kind of fault.
    pub(super) fn report(self, warnings: &mut Vec<Warning>) {
        for (list, faults) in self.lists {
            if let Some((offset, detail)) = faults.first {
                let detail = format!("at byte {offset}: {detail}");
                warnings.push(Warning::MalformedRecords {
                    list: list.clone(),
                    count: faults.malformed,
                    detail,
                });
            }
            if faults.without_times > 0 {
                let count = faults.without_times;
                warnings.push(Warning::RecordsWithoutTimes { list: list.clone(), count });
            }
            if faults.unused > 0 {
                warnings.push(Warning::UnusedRecords { list, count: faults.unused });
            }
        }
    }
}
