//! Tables of an export of schema 3.25.0, as `nsys export --type sqlite` creates them.

/// A table, which an export has only if there are rows for it.
pub(super) struct Table {
    pub(super) name: &'static str,
    /// Columns as SQL declares them.
    columns: &'static str,
    /// Columns that [`super::Database::insert`] gives values for, in their order; the others are NULL.
    filled: &'static str,
}

impl Table {
    pub(super) fn creation(&self) -> String {
        format!("CREATE TABLE {} ({})", self.name, self.columns)
    }

    pub(super) fn insertion(&self) -> String {
        let places = vec!["?"; self.filled.split(',').count()].join(", ");
        format!("INSERT INTO {} ({}) VALUES ({places})", self.name, self.filled)
    }
}

pub(super) const EXPORT: Table =
    Table { name: "META_DATA_EXPORT", columns: "name TEXT NOT NULL, value TEXT", filled: "name, value" };

pub(super) const CAPTURE: Table =
    Table { name: "META_DATA_CAPTURE", columns: "name TEXT NOT NULL, value TEXT", filled: "name, value" };

pub(super) const STRINGS: Table = Table {
    name: "StringIds",
    columns: "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL",
    filled: "id, value",
};

pub(super) const SESSION_START: Table = Table {
    name: "TARGET_INFO_SESSION_START_TIME",
    columns: "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT, systemClockNs INTEGER",
    filled: "utcEpochNs, systemClockNs",
};

pub(super) const SYSTEM: Table = Table {
    name: "TARGET_INFO_SYSTEM_ENV",
    columns: "globalVid INTEGER, devStateName TEXT NOT NULL, name TEXT NOT NULL, nameEnum INTEGER NOT NULL, \
              value TEXT NOT NULL",
    filled: "globalVid, devStateName, name, nameEnum, value",
};

pub(super) const GPU: Table = Table {
    name: "TARGET_INFO_GPU",
    columns: "vmId INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT, busLocation TEXT, isDiscrete INTEGER, \
              l2CacheSize INTEGER, totalMemory INTEGER, memoryBandwidth INTEGER, clockRate INTEGER, \
              smCount INTEGER, pwGpuId INTEGER, uuid TEXT, luid INTEGER, chipName TEXT, cuDevice INTEGER, \
              ctxswDevPath TEXT, ctrlDevPath TEXT, revision INTEGER, nodeMask INTEGER, constantMemory INTEGER, \
              maxIPC INTEGER, maxRegistersPerBlock INTEGER, maxShmemPerBlock INTEGER, \
              maxShmemPerBlockOptin INTEGER, maxShmemPerSm INTEGER, maxRegistersPerSm INTEGER, \
              threadsPerWarp INTEGER, asyncEngines INTEGER, maxWarpsPerSm INTEGER, maxBlocksPerSm INTEGER, \
              maxThreadsPerBlock INTEGER, maxBlockDimX INTEGER, maxBlockDimY INTEGER, maxBlockDimZ INTEGER, \
              maxGridDimX INTEGER, maxGridDimY INTEGER, maxGridDimZ INTEGER, computeMajor INTEGER, \
              computeMinor INTEGER, smMajor INTEGER, smMinor INTEGER",
    filled: "vmId, id, name, totalMemory, smCount, chipName, maxRegistersPerBlock, maxShmemPerBlock, \
             threadsPerWarp, maxWarpsPerSm, maxThreadsPerBlock, computeMajor, computeMinor",
};

pub(super) const CUDA_DEVICE: Table = Table {
    name: "TARGET_INFO_CUDA_DEVICE",
    columns: "gpuId INTEGER, cudaId INTEGER NOT NULL, pid INTEGER NOT NULL, uuid TEXT, \
              numMultiprocessors INTEGER",
    filled: "gpuId, cudaId, pid, numMultiprocessors",
};

pub(super) const PROCESSES: Table = Table {
    name: "PROCESSES",
    columns: "globalPid INTEGER, pid INTEGER, name TEXT",
    filled: "globalPid, pid, name",
};

pub(super) const THREAD_NAMES: Table = Table {
    name: "ThreadNames",
    columns: "nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER",
    filled: "nameId, globalTid",
};

pub(super) const KERNEL: Table = Table {
    name: "CUPTI_ACTIVITY_KIND_KERNEL",
    columns: "start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, deviceId INTEGER NOT NULL, \
              contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, \
              correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, \
              shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, \
              registersPerThread INTEGER NOT NULL, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, \
              gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, \
              blockZ INTEGER NOT NULL, staticSharedMemory INTEGER NOT NULL, \
              dynamicSharedMemory INTEGER NOT NULL, localMemoryPerThread INTEGER NOT NULL, \
              localMemoryTotal INTEGER NOT NULL, gridId INTEGER NOT NULL, sharedMemoryExecuted INTEGER, \
              graphNodeId INTEGER, sharedMemoryLimitConfig INTEGER, qmdBulkReleaseDone INTEGER, \
              qmdPreexitDone INTEGER, qmdLastCtaDone INTEGER, graphId INTEGER, clusterX INTEGER, \
              clusterY INTEGER, clusterZ INTEGER, clusterSchedulingPolicy INTEGER, \
              maxPotentialClusterSize INTEGER, maxActiveClusters INTEGER, \
              sharedMemoryRequestedPercentage INTEGER, tensorSizeMinusOneElements TEXT NOT NULL",
    filled: "start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName, \
             launchType, registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, \
             dynamicSharedMemory, localMemoryPerThread, localMemoryTotal, gridId, graphNodeId, \
             tensorSizeMinusOneElements",
};

pub(super) const MEMCPY: Table = Table {
    name: "CUPTI_ACTIVITY_KIND_MEMCPY",
    columns: "start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, deviceId INTEGER NOT NULL, \
              contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, \
              correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, \
              deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, \
              srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER, migrationCause INTEGER, \
              graphNodeId INTEGER, virtualAddress INTEGER, copyCount INTEGER",
    filled: "start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, bytes, copyKind, srcKind, \
             dstKind, copyCount",
};

pub(super) const MEMSET: Table = Table {
    name: "CUPTI_ACTIVITY_KIND_MEMSET",
    columns: "start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, deviceId INTEGER NOT NULL, \
              contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, \
              correlationId INTEGER, globalPid INTEGER, value INTEGER NOT NULL, bytes INTEGER NOT NULL, \
              graphNodeId INTEGER, memKind INTEGER",
    filled: "start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, value, bytes, memKind",
};

pub(super) const SYNCHRONIZATION: Table = Table {
    name: "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
    columns: "start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, deviceId INTEGER NOT NULL, \
              contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, \
              correlationId INTEGER, globalPid INTEGER, deprecatedSyncType INTEGER, syncType INTEGER NOT NULL, \
              eventId INTEGER NOT NULL, eventSyncId INTEGER",
    filled: "start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, syncType, eventId",
};

pub(super) const RUNTIME: Table = Table {
    name: "CUPTI_ACTIVITY_KIND_RUNTIME",
    columns: "start INTEGER NOT NULL, \"end\" INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER, \
              correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER",
    filled: "start, \"end\", eventClass, globalTid, correlationId, nameId, returnValue",
};

pub(super) const NVTX: Table = Table {
    name: "NVTX_EVENTS",
    columns: "start INTEGER NOT NULL, \"end\" INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, \
              category INTEGER, color INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, \
              textId INTEGER, domainId INTEGER, uint64Value INTEGER, int64Value INTEGER, doubleValue REAL, \
              uint32Value INTEGER, int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, jsonText TEXT, \
              binaryData TEXT",
    filled: "start, \"end\", eventType, text, globalTid, domainId, binaryData",
};

pub(super) const PAYLOAD_SCHEMAS: Table = Table {
    name: "NVTX_PAYLOAD_SCHEMAS",
    columns: "domainId INTEGER, schemaId INTEGER, name TEXT, type INTEGER, flags INTEGER, numEntries INTEGER, \
              payloadSize INTEGER, alignTo INTEGER",
    filled: "domainId, schemaId, type, numEntries, payloadSize",
};

pub(super) const PAYLOAD_ENTRIES: Table = Table {
    name: "NVTX_PAYLOAD_SCHEMA_ENTRIES",
    columns: "domainId INTEGER NOT NULL, schemaId INTEGER NOT NULL, idx INTEGER NOT NULL, flags INTEGER, \
              type INTEGER, name TEXT, description TEXT, arrayOrUnionDetail INTEGER, \"offset\" INTEGER",
    filled: "domainId, schemaId, idx, type, name, \"offset\"",
};

/// An enumeration's numbers, names and labels.
const fn enumeration(name: &'static str) -> Table {
    let columns = "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT";
    Table { name, columns, filled: "id, name, label" }
}

type Entries = &'static [(i64, &'static str, &'static str)];

/// Enumerations, with the entries that rows of these exports refer to.
pub(super) const ENUMERATIONS: [(Table, Entries); 3] = [
    (
        enumeration("ENUM_CUDA_MEMCPY_OPER"),
        &[
            (1, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device"),
            (2, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host"),
            (8, "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device"),
        ],
    ),
    (
        enumeration("ENUM_CUDA_MEM_KIND"),
        &[
            (0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable"),
            (1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned"),
            (2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device"),
        ],
    ),
    (
        enumeration("ENUM_CUPTI_SYNC_TYPE"),
        &[
            (1, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE", "Event sync"),
            (2, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT", "Stream wait sync"),
            (3, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE", "Stream sync"),
            (4, "CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE", "Context sync"),
        ],
    ),
];
