//! Numbers of GPUs: a process counts those that it sees, the machine all that it has.

use hashbrown::HashMap;

use super::global_id::GlobalId;
use super::tables::{CUDA_DEVICE, Tables};
use crate::sqlite::Broken;
use crate::warning::Warning;

/// GPUs of the machine by the numbers that processes give them.
pub(super) struct Gpus {
    /// `gpuId` by PID and `cudaId`.
    by_process: HashMap<(i64, i64), i64>,
    /// `gpuId` by `cudaId` alone, where all processes agree.
    common: HashMap<i64, Option<i64>>,
}

impl Gpus {
    pub(super) fn read(tables: &Tables<'_>, warnings: &mut Vec<Warning>) -> Result<Gpus, Broken> {
        let mut gpus = Gpus { by_process: HashMap::new(), common: HashMap::new() };
        let refused = tables.rows(CUDA_DEVICE, &[], &["gpuId", "cudaId", "pid"], |row| {
            let (Some(gpu), Some(device)) = (row.integer(0)?, row.integer(1)?) else { return Ok(()) };
            if gpu < 0 {
                return Err(row.fault(0, &gpu.to_string()));
            }
            if let Some(pid) = row.integer(2)? {
                gpus.by_process.insert((pid, device), gpu);
            }
            let common = gpus.common.entry(device).or_insert(Some(gpu));
            if *common != Some(gpu) {
                *common = None;
            }
            Ok(())
        })?;
        warnings.extend(refused);
        Ok(gpus)
    }

    /// The machine's number of a GPU, by that of a process.
    pub(super) fn number(&self, process: Option<GlobalId>, device: i64) -> i64 {
        let process_number =
            process.and_then(|process| self.by_process.get(&(process.pid(), device)).copied());
        let common = || self.common.get(&device).copied().flatten();
        process_number.or_else(common).unwrap_or(device)
    }
}
