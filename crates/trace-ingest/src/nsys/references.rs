//! What rows of an export refer to: numbers of other tables, and what a call shares with the work that it launched.

use hashbrown::HashMap;

use super::enumerations::Enumerations;
use super::global_id::GlobalId;
use super::gpus::Gpus;
use super::payload::Schemas;
use super::tables::Tables;
use crate::sqlite::Broken;
use crate::warning::Warning;

/// Process and correlation id: what a call shares with the device work that it launched.
pub(super) type Key = (GlobalId, i64);

/// Correlation numbers, 64 to an entry: processes count their calls, so that most numbers between the first and the last
/// are there.
#[derive(Default)]
pub(super) struct Correlations(HashMap<i64, u64>);

impl Correlations {
    pub(super) fn insert(&mut self, number: i64) {
        *self.0.entry(number >> 6).or_default() |= 1 << (number & 63);
    }

    pub(super) fn contains(&self, number: i64) -> bool {
        self.0.get(&(number >> 6)).is_some_and(|bits| bits & 1 << (number & 63) != 0)
    }

    pub(super) fn extend(&mut self, others: Correlations) {
        for (entry, bits) in others.0 {
            *self.0.entry(entry).or_default() |= bits;
        }
    }
}

/// What rows refer to.
pub(super) struct References {
    pub(super) enumerations: Enumerations,
    /// What payloads of NVTX ranges say.
    pub(super) payloads: Schemas,
    /// GPUs of the machine by the numbers that processes give them.
    pub(super) gpus: Gpus,
}

impl References {
    pub(super) fn read(tables: &Tables<'_>, warnings: &mut Vec<Warning>) -> Result<References, Broken> {
        Ok(References {
            enumerations: Enumerations::read(tables, warnings)?,
            payloads: Schemas::read(tables, warnings)?,
            gpus: Gpus::read(tables, warnings)?,
        })
    }
}
