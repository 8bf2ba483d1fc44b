//! The known top-level entries of a Kineto trace.

use std::borrow::Cow;
use std::fmt;

use serde_core::de::{DeserializeOwned, IgnoredAny, MapAccess, Visitor};
use serde_core::{Deserialize, Deserializer};

use crate::facts::{DeviceProperties, DistributedInfo, ProcessGroup, RecorderLog, TraceFacts};
use crate::warning::Warning;

type ReadFact = fn(&[u8], &mut TraceFacts) -> serde_json::Result<()>;

/// The known keys, and how the value of each is read.
const FACTS: [(&str, ReadFact); 21] = [
    ("schemaVersion", |value, facts| set(value, &mut facts.schema_version)),
    ("traceName", |value, facts| set(value, &mut facts.trace_name)),
    ("trace_id", |value, facts| set(value, &mut facts.trace_id)),
    ("displayTimeUnit", |value, facts| set(value, &mut facts.display_time_unit)),
    ("baseTimeNanoseconds", |value, facts| set(value, &mut facts.base_time_nanoseconds)),
    ("record_shapes", |value, facts| set_flag(value, &mut facts.record_shapes)),
    ("with_stack", |value, facts| set_flag(value, &mut facts.with_stack)),
    ("with_flops", |value, facts| set_flag(value, &mut facts.with_flops)),
    ("with_modules", |value, facts| set_flag(value, &mut facts.with_modules)),
    ("profile_memory", |value, facts| set_flag(value, &mut facts.profile_memory)),
    ("cuda_runtime_version", |value, facts| set_version(value, &mut facts.cuda_runtime_version)),
    ("cuda_driver_version", |value, facts| set_version(value, &mut facts.cuda_driver_version)),
    ("cupti_version", |value, facts| set_version(value, &mut facts.cupti_version)),
    ("hip_runtime_version", |value, facts| set_version(value, &mut facts.hip_runtime_version)),
    ("hip_driver_version", |value, facts| set_version(value, &mut facts.hip_driver_version)),
    ("roctracer_version", |value, facts| set_version(value, &mut facts.roctracer_version)),
    ("deviceProperties", |value, facts| set(value, &mut facts.devices)),
    ("distributedInfo", |value, facts| set(value, &mut facts.distributed)),
    (LOGS[0], |value, facts| count_records(value, &mut facts.log)),
    (LOGS[1], |value, facts| {
        facts.log.warnings = log_lines(value)?.len() as u64;
        Ok(())
    }),
    (LOGS[2], |value, facts| {
        let lines = log_lines(value)?;
        let says_no_gpu = |line: &&Cow<'_, str>| line.contains("gpuGetDeviceCount failed with code 35");
        facts.log.missing_gpus = lines.iter().filter(says_no_gpu).count() as u64;
        facts.log.errors = lines.len() as u64 - facts.log.missing_gpus;
        Ok(())
    }),
];

/// The recorder's log, of which numbers are read and nothing is handed on.
const LOGS: [&str; 3] = ["INFO", "WARNING", "ERROR"];

/// Whether a fact is the recorder's log.
pub(crate) fn is_log(key: &str) -> bool {
    LOGS.contains(&key)
}

fn log_lines(value: &[u8]) -> serde_json::Result<Vec<Cow<'_, str>>> {
    serde_json::from_slice(value)
}

/// Reads the line `… Record counts: Out-of-range = 0, Blocklisted runtime = 3, …`.
fn count_records(value: &[u8], log: &mut RecorderLog) -> serde_json::Result<()> {
    for line in log_lines(value)? {
        let Some((_, counts)) = line.split_once("Record counts:") else { continue };
        for (name, count) in counts.split(',').filter_map(|count| count.split_once('=')) {
            let Ok(count) = count.trim().parse::<u64>() else { continue };
            match name.trim() {
                "Out-of-range" => log.out_of_range += count,
                "Invalid ext correlations" => log.invalid_external_ids += count,
                "CPU GPU out-of-order" => log.out_of_order += count,
                "Unexpected CUDA events" => log.unexpected_events += count,
                "CUPTI stopped early?" => log.stopped_early |= count > 0,
                _ => {}
            }
        }
    }
    Ok(())
}

/// The known key with this text.
pub(crate) fn known_key(key: &[u8]) -> Option<&'static str> {
    FACTS.iter().map(|(known, _)| *known).find(|known| known.as_bytes() == key)
}

/// Reads the value of a known key into `facts`; what cannot be understood becomes a warning.
pub(crate) fn read_fact(
    key: &'static str,
    value: &[u8],
    facts: &mut TraceFacts,
    warnings: &mut Vec<Warning>,
) {
    let Some((_, read)) = FACTS.iter().find(|(known, _)| *known == key) else { return };
    if let Err(error) = read(value, facts) {
        // The category of the error, never its text: that may quote the value.
        let detail =
            format!("{:?} error at line {} column {}", error.classify(), error.line(), error.column());
        warnings.push(Warning::UnreadableFact { key, detail });
    }
}

fn set<T: DeserializeOwned>(value: &[u8], slot: &mut T) -> serde_json::Result<()> {
    *slot = serde_json::from_slice(value)?;
    Ok(())
}

/// Versions are written as a number or as a text.
fn set_version(value: &[u8], slot: &mut Option<String>) -> serde_json::Result<()> {
    *slot = match serde_json::from_slice::<serde_json::Number>(value) {
        Ok(number) => Some(number.to_string()),
        Err(_) => serde_json::from_slice(value)?,
    };
    Ok(())
}

/// Profiler options are written as `true` or as `1`, depending on the version.
fn set_flag(value: &[u8], slot: &mut Option<bool>) -> serde_json::Result<()> {
    let number: Option<i64> = match serde_json::from_slice::<Option<bool>>(value) {
        Ok(flag) => {
            *slot = flag;
            return Ok(());
        }
        Err(_) => serde_json::from_slice(value)?,
    };
    *slot = number.map(|number| number != 0);
    Ok(())
}

/// Reads an object into a struct, members that are not named here left out. What a derive macro writes, without the four
/// packages that expand it.
macro_rules! read_members {
    ($into:ident { $($key:literal => $field:ident,)* }) => {
        impl<'de> Deserialize<'de> for $into {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Members;

                impl<'de> Visitor<'de> for Members {
                    type Value = $into;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_map<M: MapAccess<'de>>(self, mut members: M) -> Result<$into, M::Error> {
                        let mut read = $into::default();
                        while let Some(key) = members.next_key::<Cow<'de, str>>()? {
                            match &*key {
                                $($key => read.$field = members.next_value()?,)*
                                _ => drop(members.next_value::<IgnoredAny>()?),
                            }
                        }
                        Ok(read)
                    }
                }

                deserializer.deserialize_map(Members)
            }
        }
    };
}

read_members!(DeviceProperties {
    "id" => id,
    "name" => name,
    "totalGlobalMem" => total_memory,
    "computeMajor" => compute_major,
    "computeMinor" => compute_minor,
    "numSms" => multiprocessors,
    "warpSize" => warp_size,
    "maxThreadsPerBlock" => max_threads_per_block,
    "maxThreadsPerMultiprocessor" => max_threads_per_multiprocessor,
    "regsPerBlock" => registers_per_block,
    "sharedMemPerBlock" => shared_memory_per_block,
});

read_members!(DistributedInfo {
    "backend" => backend,
    "rank" => rank,
    "world_size" => world_size,
    "pg_count" => process_group_count,
    "pg_config" => process_groups,
    "nccl_version" => nccl_version,
});

read_members!(ProcessGroup {
    "pg_name" => name,
    "pg_desc" => description,
    "pg_size" => size,
    "ranks" => ranks,
});

#[cfg(test)]
mod tests {
    #[test]
    fn the_log_is_counted_and_not_kept() {
        let (mut facts, mut warnings) = (TraceFacts::default(), Vec::new());
        for (key, value) in [
            (
                "INFO",
                r#"["a b.cpp:1] start", "a b.cpp:2] Record counts: Out-of-range = 7, Blocklisted runtime = 3, Invalid ext correlations = 1, CPU GPU out-of-order = 2, Unexpected CUDA events = 4, CUPTI stopped early? = 1"]"#,
            ),
            ("WARNING", r#"["w", "w"]"#),
            ("ERROR", r#"["x.cpp:47] gpuGetDeviceCount failed with code 35", "e"]"#),
        ] {
            read_fact(known_key(key.as_bytes()).unwrap(), value.as_bytes(), &mut facts, &mut warnings);
        }
        let expected = RecorderLog {
            errors: 1,
            missing_gpus: 1,
            warnings: 2,
            out_of_range: 7,
            invalid_external_ids: 1,
            out_of_order: 2,
            unexpected_events: 4,
            stopped_early: true,
        };
        assert_eq!((facts.log, warnings.is_empty()), (expected, true));
    }

    use super::*;

    #[test]
    fn facts_are_read_and_errors_do_not_quote_the_value() {
        let (mut facts, mut warnings) = (TraceFacts::default(), Vec::new());
        for (key, value) in [
            ("with_stack", "1"),
            ("record_shapes", "false"),
            ("cupti_version", "24"),
            ("roctracer_version", "\"4.1\""),
            ("deviceProperties", r#"[{"id": 0, "name": "NVIDIA H100", "numSms": 132, "new": []}]"#),
            (
                "distributedInfo",
                r#"{"rank": 3, "world_size": 8, "pg_config": [{"pg_name": "0", "ranks": [0, 3]}]}"#,
            ),
            ("traceName", r#"{"token": "hunter2"}"#),
        ] {
            let key = known_key(key.as_bytes()).unwrap();
            read_fact(key, value.as_bytes(), &mut facts, &mut warnings);
        }
        assert_eq!((facts.with_stack, facts.record_shapes), (Some(true), Some(false)));
        assert_eq!(
            (facts.cupti_version.as_deref(), facts.roctracer_version.as_deref()),
            (Some("24"), Some("4.1"))
        );
        assert_eq!(facts.devices[0].multiprocessors, Some(132));
        let distributed = facts.distributed.unwrap();
        assert_eq!((distributed.rank, &distributed.process_groups[0].ranks[..]), (Some(3), &[0, 3][..]));
        assert_eq!(warnings.len(), 1);
        assert!(!warnings[0].to_string().contains("hunter2"), "{}", warnings[0]);
    }
}
