//! What an export says of the machine and of itself.

use super::enumerations::short_text;
use super::rows::LATEST;
use super::tables::{
    CAPTURE, EXPORT, GPU, GRAPH, KERNEL, MEMCPY, MEMSET, NVTX, RUNTIME, SESSION_START, SYSTEM, Tables,
};
use crate::category::Category;
use crate::facts::{DeviceProperties, RecorderFacts, RecordingKind, TraceFacts};
use crate::sqlite::Broken;
use crate::time::TimeUnit;
use crate::trace::Trace;
use crate::track_table::RowId;
use crate::warning::Warning;

/// Major version of the schema that is known.
const KNOWN_MAJOR: i64 = 3;

/// What `META_DATA_EXPORT` says.
#[derive(Default)]
pub(super) struct Export {
    pub(super) is_nsight_systems: bool,
    product_version: Option<String>,
    schema_version: Option<String>,
    schema_major: Option<i64>,
    /// Whether times are UTC.
    pub(super) is_normalised: bool,
    /// What was added to all times when they were exported, in nanoseconds.
    shift: i64,
}

impl Export {
    pub(super) fn read(tables: &Tables<'_>, warnings: &mut Vec<Warning>) -> Result<Export, Broken> {
        let mut export = Export::default();
        let refused = tables.rows(EXPORT, &[], &["name", "value"], |row| {
            let Some(name) = row.text(0) else { return Ok(()) };
            match name {
                b"EXPORT_PRODUCT_NAME" => {
                    export.is_nsight_systems =
                        row.text(1).is_some_and(|value| value == b"NVIDIA Nsight Systems");
                }
                b"EXPORT_PRODUCT_VERSION" => export.product_version = short_text(row, 1),
                b"EXPORT_SCHEMA_VERSION" => export.schema_version = short_text(row, 1),
                b"EXPORT_SCHEMA_VERSION_MAJOR" => export.schema_major = row.integer(1)?,
                b"EXPORT_PARAM_TIME_NORMALIZE" => {
                    export.is_normalised =
                        row.text(1).is_some_and(|value| value.eq_ignore_ascii_case(b"true"));
                }
                b"EXPORT_PARAM_TIME_SHIFT" => export.shift = row.integer(1)?.unwrap_or(0),
                _ => {}
            }
            Ok(())
        })?;
        warnings.extend(refused);
        Ok(export)
    }
}

/// States what is known of the recording, and what it lacks.
pub(super) fn read(tables: &Tables<'_>, trace: &mut Trace) -> Result<(), Broken> {
    let mut warnings = Vec::new();
    let export = Export::read(tables, &mut warnings)?;
    if let Some(major) = export.schema_major.filter(|&major| major != KNOWN_MAJOR) {
        let detail = format!("unknown schema version {major}, read as {KNOWN_MAJOR}");
        warnings.push(Warning::UnreadableFact { key: EXPORT, detail });
    }
    if export.shift != 0 {
        let text = format!("the export shifted all times by {} ns", export.shift);
        warnings.push(Warning::RecorderMessage { text });
    }
    trace.facts = TraceFacts {
        recorder: RecorderFacts {
            kind: Some(RecordingKind::Nsys),
            // Operators of PyTorch are ranges that the recorder was asked for.
            operators: trace.events.category.contains(&Category::CPU_OP),
            launches: tables.has(RUNTIME),
            // An export may be cut to a stretch of the session, in which kernels run that were launched before.
            all_launches: false,
            shapes: true,
            python_frames: false,
            launch_geometry: true,
            allocations: false,
            uncut_device_times: true,
            time_unit: TimeUnit::Nanoseconds,
        },
        recorder_version: export.product_version.map(|version| match &export.schema_version {
            Some(schema) => format!("NVIDIA Nsight Systems {version}, schema {schema}"),
            None => format!("NVIDIA Nsight Systems {version}"),
        }),
        schema_version: export.schema_major,
        base_time_nanoseconds: if export.is_normalised {
            Some(0)
        } else {
            session_start(tables, &mut warnings)?
        },
        record_shapes: trace.facts.record_shapes,
        devices: devices(tables, &mut warnings)?,
        cuda_driver_version: driver_version(tables, &mut warnings)?,
        ..TraceFacts::default()
    };
    for device in &trace.facts.devices {
        if let (Some(id), Some(name)) = (device.id, &device.name) {
            let row = RowId::Number(id);
            if trace.tracks.process(row).labels.is_some() {
                let name = trace.strings.intern(name);
                trace.tracks.process_mut(row).name = Some(name);
            }
        }
    }
    warnings.extend(missing(tables, &mut trace.warnings)?);
    warnings.extend(tables.unread()?);
    trace.warnings.append(&mut warnings);
    Ok(())
}

/// When the session began: what to add to a time for the wall clock.
pub(super) fn session_start(tables: &Tables<'_>, warnings: &mut Vec<Warning>) -> Result<Option<i64>, Broken> {
    let mut start = None;
    let refused = tables.rows(SESSION_START, &[], &["utcEpochNs"], |row| {
        // Later ones leave no room for the times that count from it.
        start = row.integer(0)?.filter(|start| (1..LATEST).contains(start)).or(start);
        Ok(())
    })?;
    warnings.extend(refused);
    Ok(start)
}

fn devices(tables: &Tables<'_>, warnings: &mut Vec<Warning>) -> Result<Vec<DeviceProperties>, Broken> {
    const COLUMNS: [&str; 11] = [
        "id",
        "name",
        "totalMemory",
        "computeMajor",
        "computeMinor",
        "smCount",
        "threadsPerWarp",
        "maxThreadsPerBlock",
        "maxWarpsPerSm",
        "maxRegistersPerBlock",
        "maxShmemPerBlock",
    ];
    let mut devices = Vec::new();
    let refused = tables.rows(GPU, &["id"], &COLUMNS, |row| {
        let positive = |column: usize| Ok(row.integer(column)?.filter(|&value| value > 0));
        let (warp_size, warps) = (positive(6)?, positive(8)?);
        devices.push(DeviceProperties {
            id: Some(row.required(0)?),
            name: short_text(row, 1).filter(|name| !name.is_empty()),
            total_memory: positive(2)?.map(i64::unsigned_abs),
            compute_major: positive(3)?,
            compute_minor: row.integer(4)?,
            multiprocessors: positive(5)?,
            warp_size,
            max_threads_per_block: positive(7)?,
            max_threads_per_multiprocessor: warp_size
                .zip(warps)
                .map(|(threads, warps)| threads.saturating_mul(warps)),
            registers_per_block: positive(9)?,
            shared_memory_per_block: positive(10)?,
        });
        Ok(())
    })?;
    warnings.extend(refused);
    Ok(devices)
}

/// As `cudaDriverGetVersion` gives it: 13000 is 13.0.
fn driver_version(tables: &Tables<'_>, warnings: &mut Vec<Warning>) -> Result<Option<String>, Broken> {
    let mut version = None;
    let refused = tables.rows(SYSTEM, &[], &["name", "value"], |row| {
        if row.text(0) == Some(b"CudaDriverVersion") {
            version = short_text(row, 1);
        }
        Ok(())
    })?;
    warnings.extend(refused);
    Ok(version)
}

/// What users would miss, because the recorder was not asked for it.
fn missing(tables: &Tables<'_>, warnings: &mut Vec<Warning>) -> Result<Vec<Warning>, Broken> {
    let mut missing = Vec::new();
    let has_work = [KERNEL, GRAPH, MEMCPY, MEMSET].iter().any(|table| tables.has(table));
    if !has_work {
        missing.push(Warning::NotRecorded { what: "GPU activity", advice: "record with --trace=cuda,nvtx" });
    }
    if has_work && !tables.has(RUNTIME) {
        missing.push(Warning::NotRecorded {
            what: "CUDA calls: launches of device work are unknown",
            advice: "record with --trace=cuda,nvtx, starting before the work is launched",
        });
    }
    if !tables.has(NVTX) {
        missing.push(Warning::NotRecorded {
            what: "NVTX ranges",
            advice: "record with --trace=cuda,nvtx; for PyTorch operators, add --pytorch=autograd-shapes-nvtx",
        });
    }
    let mut skips_calls = false;
    let refused = tables.rows(CAPTURE, &[], &["name", "value"], |row| {
        skips_calls |= row.text(0) == Some(b"CUDA_SKIP_SOME_API_CALLS")
            && row.text(1).is_some_and(|value| value.eq_ignore_ascii_case(b"true"));
        Ok(())
    })?;
    warnings.extend(refused);
    if skips_calls {
        missing.push(Warning::NotRecorded {
            what: "cheap CUDA calls: call counts omit them",
            advice: "record with --cuda-trace-all-apis=true",
        });
    }
    Ok(missing)
}
