//! Recordings of other tools that this crate does not read: what they are, and what to do with them.

use std::path::Path;

use crate::source::file_name;

/// What a file is, and what its owner can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    pub(crate) what: &'static str,
    pub(crate) advice: &'static str,
}

/// A kind of files of another tool.
struct ForeignFormat {
    foreign: Foreign,
    /// Whether a text that begins so is one, for formats that have a signature.
    signature: fn(head: &[u8]) -> bool,
    /// Endings of file names, for those that have none.
    endings: &'static [&'static str],
}

const NO_SIGNATURE: fn(&[u8]) -> bool = |_| false;

const FORMATS: &[ForeignFormat] = &[
    ForeignFormat {
        foreign: Foreign {
            what: "an Nsight Systems recording, which only Nsight Systems can read",
            advice: "export it and pass the database: nsys export --type sqlite --include-blobs true -o FILE.sqlite FILE.nsys-rep",
        },
        signature: NO_SIGNATURE,
        endings: &[".nsys-rep", ".qdrep", ".qdstrm"],
    },
    ForeignFormat {
        foreign: Foreign {
            what: "an Nsight Compute report on individual kernels, which only Nsight Compute can read",
            advice: "print it as CSV with `ncu --import FILE --csv`; for a tracelens report, record with PyTorch's profiler or another supported recorder",
        },
        // The four bytes that every report begins with.
        signature: |head| head.starts_with(b"NVR\0"),
        endings: &[".ncu-rep"],
    },
    ForeignFormat {
        foreign: Foreign {
            what: "an HDF5 file, as from `nsys export --type hdf`",
            advice: "export the recording as a database instead: nsys export --type sqlite --include-blobs true -o FILE.sqlite FILE.nsys-rep",
        },
        signature: |head| head.starts_with(b"\x89HDF\r\n\x1a\n"),
        endings: &[],
    },
    ForeignFormat {
        foreign: Foreign {
            what: "a perf trace",
            advice: "read it with `perf report` or `perf script`; for a tracelens report, record with PyTorch's profiler or another supported recorder",
        },
        signature: |head| head.starts_with(b"PERFILE2"),
        endings: &[],
    },
];

/// The tool whose recording a file is. A signature in the content counts before the file's name.
pub(crate) fn foreign(path: &Path, head: &[u8]) -> Option<Foreign> {
    let name = file_name(path).to_ascii_lowercase();
    let by_content = || FORMATS.iter().find(|format| (format.signature)(head));
    let is_named = |format: &&ForeignFormat| format.endings.iter().any(|ending| name.ends_with(ending));
    by_content().or_else(|| FORMATS.iter().find(is_named)).map(|format| format.foreign)
}

/// The tool that wrote a database with these tables.
#[cfg(all(feature = "nsys", feature = "rocprof"))]
pub(crate) fn database(entries: &crate::sqlite::Entries) -> Option<Foreign> {
    let has = |name: &str| entries.kind(name).is_some();
    (has("StringTable") && has("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL")).then_some(Foreign {
        what: "an nvprof database",
        advice: "record with `nsys profile` and export that: nsys export --type sqlite",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signatures_count_before_names() {
        let what = |name: &str, head: &[u8]| foreign(Path::new(name), head).map(|foreign| foreign.what);
        let of = |part: &str, found: Option<&str>| found.is_some_and(|found| found.contains(part));
        assert!(of("Nsight Compute", what("a.bin", b"NVR\0\x10")));
        assert!(of("Nsight Compute", what("a.nsys-rep", b"NVR\0\x10")));
        for name in ["a.nsys-rep", "A.QDREP", "dir.x/a.qdstrm"] {
            assert!(of("Nsight Systems", what(name, b"\x01\x02")), "{name}");
        }
        assert!(of("Nsight Compute", what("a.ncu-rep", b"\x01")));
        assert!(of("HDF5", what("a.h5", b"\x89HDF\r\n\x1a\n\0")));
        assert!(of("perf", what("perf.data", b"PERFILE2\x68")));
        assert_eq!(what("a.json", b"{}"), None);
    }
}
