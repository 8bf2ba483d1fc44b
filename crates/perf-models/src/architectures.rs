//! The bundled architectures, one file for each, and how a trace's device is recognised.

use std::sync::LazyLock;

use crate::Architecture;

/// The files, each with its name in lower case.
const FILES: &[(&str, &str)] = &[
    ("a100-pcie-40gb", include_str!("architectures/a100-pcie-40gb.json")),
    ("a100-pcie-80gb", include_str!("architectures/a100-pcie-80gb.json")),
    ("a100-sxm-40gb", include_str!("architectures/a100-sxm-40gb.json")),
    ("a100-sxm-80gb", include_str!("architectures/a100-sxm-80gb.json")),
    ("b200", include_str!("architectures/b200.json")),
    ("gb200", include_str!("architectures/gb200.json")),
    ("h100-pcie", include_str!("architectures/h100-pcie.json")),
    ("h100-sxm", include_str!("architectures/h100-sxm.json")),
    ("h200", include_str!("architectures/h200.json")),
    ("l40s", include_str!("architectures/l40s.json")),
    ("mi210", include_str!("architectures/mi210.json")),
    ("mi250x", include_str!("architectures/mi250x.json")),
    ("mi300x", include_str!("architectures/mi300x.json")),
    ("mi325x", include_str!("architectures/mi325x.json")),
    ("mi355x", include_str!("architectures/mi355x.json")),
    ("rtx-4090", include_str!("architectures/rtx-4090.json")),
    ("tpu-v4", include_str!("architectures/tpu-v4.json")),
    ("tpu-v5e", include_str!("architectures/tpu-v5e.json")),
    ("tpu-v5p", include_str!("architectures/tpu-v5p.json")),
    ("tpu-v6e", include_str!("architectures/tpu-v6e.json")),
];

/// Other names, in lower case with hyphens.
const ALIASES: &[(&str, &str)] = &[
    ("a100", "a100-sxm-80gb"),
    ("a100-40gb", "a100-sxm-40gb"),
    ("a100-80gb", "a100-sxm-80gb"),
    ("a100-pcie", "a100-pcie-80gb"),
    ("a100-sxm", "a100-sxm-80gb"),
    ("a100-sxm4-40gb", "a100-sxm-40gb"),
    ("a100-sxm4-80gb", "a100-sxm-80gb"),
    ("geforce-rtx-4090", "rtx-4090"),
    ("h100", "h100-sxm"),
    ("h100-sxm5", "h100-sxm"),
    ("h200-sxm", "h200"),
    ("rtx4090", "rtx-4090"),
    ("tpu-v5-lite", "tpu-v5e"),
    ("tpu-v5", "tpu-v5p"),
    ("tpu-v6-lite", "tpu-v6e"),
    ("trillium", "tpu-v6e"),
];

static ARCHITECTURES: LazyLock<Vec<(&str, Architecture)>> = LazyLock::new(|| {
    // A file that could not be read would be missing; a test reads every one.
    FILES.iter().filter_map(|&(name, text)| Some((name, Architecture::from_json(text).ok()?))).collect()
});

/// The bundled architectures, by name.
pub fn architectures() -> impl Iterator<Item = &'static Architecture> {
    ARCHITECTURES.iter().map(|(_, architecture)| architecture)
}

/// The bundled architecture of this name: `H100-SXM`, `h100_sxm`, `h100`.
///
/// Case does not matter, nor whether words are joined by hyphens, underscores or spaces. A family without
/// its variant means the one for servers with the most memory.
#[must_use]
pub fn architecture(name: &str) -> Option<&'static Architecture> {
    let name = name.trim().to_ascii_lowercase().replace(['_', ' '], "-");
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name.as_str(), |(_, name)| name);
    ARCHITECTURES.iter().find(|(known, _)| *known == name).map(|(_, architecture)| architecture)
}

/// What a trace says of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Device<'a> {
    /// Its name, such as `NVIDIA H100 80GB HBM3`, or the name of its instruction set (`gfx942:sramecc+`).
    /// Empty in some traces.
    pub name: &'a str,
    /// Bytes of its memory.
    pub memory_bytes: Option<u64>,
    /// Its multiprocessors or compute units.
    pub multiprocessors: Option<u32>,
    /// Its compute capability; for AMD devices the version of their instruction set: (9, 4) is gfx942.
    pub compute_capability: Option<(u32, u32)>,
}

/// How the devices of an architecture present themselves.
struct Signature {
    architecture: &'static str,
    /// Words that the name has.
    words: &'static [&'static str],
    /// Words of variants with other figures.
    without: &'static [&'static str],
    /// Multiprocessors of the whole device. Fewer mean a partition, whose figures are other ones.
    multiprocessors: u32,
    /// Least and most memory in 10⁹ bytes: drivers keep some for themselves, and count in powers of two.
    memory_gb: (f64, f64),
}

const fn signature(
    architecture: &'static str,
    words: &'static [&'static str],
    without: &'static [&'static str],
    multiprocessors: u32,
    memory_gb: (f64, f64),
) -> Signature {
    Signature { architecture, words, without, multiprocessors, memory_gb }
}

const SIGNATURES: &[Signature] = &[
    signature("a100-sxm-40gb", &["a100", "sxm4"], &["mig"], 108, (38.0, 44.0)),
    signature("a100-sxm-80gb", &["a100", "sxm4"], &["mig"], 108, (76.0, 88.0)),
    signature("a100-pcie-40gb", &["a100", "pcie"], &["mig"], 108, (38.0, 44.0)),
    signature("a100-pcie-80gb", &["a100", "pcie"], &["mig"], 108, (76.0, 88.0)),
    signature("h100-sxm", &["h100", "80gb", "hbm3"], &["mig"], 132, (76.0, 88.0)),
    signature("h100-pcie", &["h100", "pcie"], &["mig"], 114, (76.0, 88.0)),
    signature("h200", &["h200"], &["mig", "nvl"], 132, (135.0, 155.0)),
    signature("b200", &["b200"], &["mig"], 148, (175.0, 210.0)),
    signature("gb200", &["gb200"], &["mig"], 148, (175.0, 210.0)),
    signature("l40s", &["l40s"], &[], 142, (44.0, 52.0)),
    signature("rtx-4090", &["rtx", "4090"], &["d", "laptop"], 128, (23.0, 27.0)),
    signature("mi210", &["mi210"], &[], 104, (60.0, 70.0)),
    signature("mi250x", &["mi250x"], &[], 110, (60.0, 70.0)),
    signature("mi300x", &["mi300x"], &["hf"], 304, (180.0, 215.0)),
    signature("mi325x", &["mi325x"], &[], 304, (250.0, 290.0)),
    signature("mi355x", &["mi355x"], &[], 256, (280.0, 320.0)),
    // ROCm names the instruction set, or nothing, where the driver's table of products is missing.
    signature("mi210", &["gfx90a"], &[], 104, (60.0, 70.0)),
    signature("mi250x", &["gfx90a"], &[], 110, (60.0, 70.0)),
    signature("mi300x", &["gfx942"], &[], 304, (180.0, 215.0)),
    signature("mi325x", &["gfx942"], &[], 304, (250.0, 290.0)),
];

/// The bundled architecture of a device that a trace was recorded on; `None` if it is another, or if the
/// trace does not say enough to tell it from one with other figures.
///
/// ```
/// use perf_models::{Device, architecture_of_device};
///
/// let device = Device { name: "NVIDIA H100 80GB HBM3", multiprocessors: Some(132), ..Device::default() };
/// assert_eq!(architecture_of_device(&device).map(|found| found.name.as_str()), Some("H100-SXM"));
///
/// // A seventh of the same GPU.
/// let device = Device { multiprocessors: Some(16), ..device };
/// assert_eq!(architecture_of_device(&device), None);
/// ```
#[must_use]
pub fn architecture_of_device(device: &Device<'_>) -> Option<&'static Architecture> {
    let name = device.name.to_ascii_lowercase();
    let mut words: Vec<&str> =
        name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    if words.first() == Some(&"tpu") {
        return architecture(&words.join("-"));
    }
    let is_unnamed = words.is_empty();
    if is_unnamed {
        // Only AMD devices are recorded without a name, and a version alone is not one of theirs: NVIDIA's
        // Hopper is (9, 0) like gfx90a. Number of units and memory must both be there and fit.
        if device.multiprocessors.is_none() || device.memory_bytes.is_none() {
            return None;
        }
        words.push(match device.compute_capability? {
            (9, 0) => "gfx90a",
            (9, 4) => "gfx942",
            _ => return None,
        });
    }
    let mut fitting = SIGNATURES.iter().filter(|signature| signature.fits(&words, device));
    let first = fitting.next()?;
    // Two that fit differ in what the trace does not say.
    match fitting.next() {
        None => architecture(first.architecture),
        Some(_) => None,
    }
}

impl Signature {
    fn fits(&self, words: &[&str], device: &Device<'_>) -> bool {
        let (least, most) = self.memory_gb;
        let memory_gb = device.memory_bytes.map(|bytes| bytes as f64 / 1e9).or_else(|| memory_in_name(words));
        self.words.iter().all(|word| words.contains(word))
            && !self.without.iter().any(|word| words.contains(word))
            && device.multiprocessors.is_none_or(|count| count == self.multiprocessors)
            && memory_gb.is_none_or(|memory_gb| (least..=most).contains(&memory_gb))
    }
}

/// The memory that a name such as `NVIDIA A100-SXM4-40GB` states.
fn memory_in_name(words: &[&str]) -> Option<f64> {
    words.iter().find_map(|word| word.strip_suffix("gb")?.parse().ok())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::ComputeUnit;

    #[test]
    fn every_bundled_file_is_read() {
        for (name, text) in FILES {
            let read = Architecture::from_json(text).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(read.name.to_ascii_lowercase(), *name);
            assert!(read.source.as_ref().is_some_and(|source| !source.is_empty()), "{name} has no source");
            assert!(read.memory_gb.is_some(), "{name} has no memory size");
            assert!(!read.peaks_tflops.is_empty(), "{name} has no peaks");
            assert_eq!(read.unknown_peaks_tflops.keys().next(), None, "{name}");
        }
        assert_eq!(architectures().count(), FILES.len());
    }

    #[test]
    fn every_file_of_the_folder_is_bundled() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/architectures");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        files.sort();
        assert_eq!(files, FILES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }

    #[test]
    fn the_platforms_of_the_reference_have_its_figures() {
        let columns = [
            "matrix_fp16",
            "matrix_bf16",
            "matrix_fp32",
            "matrix_fp64",
            "matrix_fp8",
            "matrix_int8",
            "vector_fp16",
            "vector_bf16",
            "vector_fp32",
            "vector_fp64",
        ];
        let rows = [
            ("MI300X", 5300.0, 192.0, [654.0, 708.0, 163.0, 81.0, 1273.0, 2600.0, 163.0, 163.0, 81.0, 40.0]),
            ("MI325X", 6000.0, 256.0, [794.0, 843.0, 194.0, 97.0, 1519.0, 3094.0, 194.0, 194.0, 97.0, 48.0]),
        ];
        for (name, bandwidth, memory_gb, peaks) in rows {
            let found = architecture(name).unwrap();
            assert_eq!(
                (found.memory_bandwidth_gb_per_s, found.memory_gb),
                (bandwidth, Some(memory_gb)),
                "{name}"
            );
            assert_eq!(
                columns.map(|column| found.peak_tflops(column.parse().unwrap()).unwrap()),
                peaks,
                "{name}"
            );
            assert_eq!(found.peaks_tflops.len(), columns.len(), "{name}");
        }
    }

    /// Narrower numbers are never slower, and matrix units never slower than vector units.
    #[test]
    fn peaks_are_in_proportion() {
        for found in architectures() {
            let peak = |text: &str| found.peak_tflops(text.parse().unwrap());
            let order = [
                ["vector_fp64", "vector_fp32"],
                ["vector_fp32", "vector_fp16"],
                ["vector_fp64", "matrix_fp64"],
                ["matrix_fp64", "matrix_fp32"],
                ["vector_fp32", "matrix_fp32"],
                ["matrix_fp32", "matrix_fp16"],
                ["matrix_fp32", "matrix_bf16"],
                ["matrix_fp16", "matrix_int8"],
                ["matrix_bf16", "matrix_fp8"],
                ["matrix_fp8", "matrix_fp4"],
            ];
            for [slower, faster] in order {
                if let (Some(slow), Some(fast)) = (peak(slower), peak(faster)) {
                    assert!(slow <= fast, "{}: {slower} {slow} > {faster} {fast}", found.name);
                }
            }
            for (spec, peak) in &found.peaks_tflops {
                let ridge = found.ridge_point(*spec).unwrap();
                let usual = if spec.unit == ComputeUnit::Matrix { 4.0..2000.0 } else { 1.0..200.0 };
                assert!(usual.contains(&ridge), "{} {spec} {peak}: ridge point {ridge}", found.name);
            }
        }
    }

    #[test]
    fn names_are_unique_and_aliases_resolve() {
        let mut names = HashSet::new();
        for (name, _) in FILES {
            assert!(names.insert(*name), "{name} twice");
        }
        for (alias, name) in ALIASES {
            assert!(names.insert(*alias), "{alias} twice");
            assert_eq!(architecture(alias), architecture(name), "{alias}");
            assert!(architecture(alias).is_some(), "{alias}");
        }
        for signature in SIGNATURES {
            let found = architecture(signature.architecture).unwrap();
            let (least, most) = signature.memory_gb;
            assert!((least..=most).contains(&found.memory_gb.unwrap()), "{}", signature.architecture);
        }
    }

    #[test]
    fn case_and_joints_of_a_name_do_not_matter() {
        for (name, expected) in [
            ("h100-sxm", Some("H100-SXM")),
            ("H100_SXM", Some("H100-SXM")),
            (" h100 sxm ", Some("H100-SXM")),
            ("mi300X", Some("MI300X")),
            ("Trillium", Some("TPU-v6e")),
            ("h100-nvl", None),
            ("mi300", None),
            ("", None),
        ] {
            assert_eq!(architecture(name).map(|found| found.name.as_str()), expected, "{name:?}");
        }
    }

    #[test]
    fn devices_of_traces_are_recognised() {
        const GIB: u64 = 1 << 30;
        let cases = [
            ("NVIDIA H100 80GB HBM3", Some(85_018_279_936), Some(132), Some((9, 0)), Some("H100-SXM")),
            ("NVIDIA H100 80GB HBM3", None, None, None, Some("H100-SXM")),
            ("NVIDIA H100 PCIe", Some(80 * GIB), Some(114), Some((9, 0)), Some("H100-PCIe")),
            ("NVIDIA H100 NVL", Some(94 * GIB), Some(132), Some((9, 0)), None),
            ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", Some(10 * GIB), Some(16), Some((9, 0)), None),
            ("NVIDIA H200", Some(140 * GIB), Some(132), Some((9, 0)), Some("H200")),
            ("NVIDIA H200 NVL", Some(140 * GIB), Some(132), Some((9, 0)), None),
            ("NVIDIA GH200 480GB", Some(96 * GIB), Some(132), Some((9, 0)), None),
            ("NVIDIA B200", Some(179 * GIB), Some(148), Some((10, 0)), Some("B200")),
            ("NVIDIA GB200", Some(184 * GIB), Some(148), Some((10, 0)), Some("GB200")),
            ("NVIDIA A100-SXM4-40GB", Some(42_405_855_232), Some(108), Some((8, 0)), Some("A100-SXM-40GB")),
            ("NVIDIA A100-SXM4-80GB", None, None, None, Some("A100-SXM-80GB")),
            ("NVIDIA A100 80GB PCIe", None, Some(108), None, Some("A100-PCIe-80GB")),
            ("A100-PCIE-40GB", Some(40 * GIB), Some(108), None, Some("A100-PCIe-40GB")),
            // Which of two memories is not said.
            ("NVIDIA A100-SXM4", None, Some(108), None, None),
            ("NVIDIA L40S", Some(45 * GIB), Some(142), Some((8, 9)), Some("L40S")),
            ("NVIDIA GeForce RTX 4090", Some(24 * GIB), Some(128), Some((8, 9)), Some("RTX-4090")),
            ("NVIDIA GeForce RTX 4090 D", Some(24 * GIB), Some(114), Some((8, 9)), None),
            ("NVIDIA GeForce RTX 4090 Laptop GPU", None, None, None, None),
            ("AMD Instinct MI300X", Some(206_141_652_992), Some(304), Some((9, 4)), Some("MI300X")),
            ("AMD Instinct MI300X VF", Some(205_571_227_648), Some(304), Some((9, 4)), Some("MI300X")),
            // One of the eight partitions of a device.
            ("AMD Instinct MI300X", Some(24 * GIB), Some(38), Some((9, 4)), None),
            ("AMD Instinct MI325X", Some(256 * GIB), Some(304), Some((9, 4)), Some("MI325X")),
            ("AMD Instinct MI355X", Some(288 * GIB), Some(256), Some((9, 5)), Some("MI355X")),
            ("AMD Instinct MI210", Some(68_702_699_520), Some(104), Some((9, 0)), Some("MI210")),
            ("AMD Instinct MI250X/MI250", Some(64 * GIB), Some(110), Some((9, 0)), Some("MI250X")),
            ("AMD Instinct MI250X/MI250", Some(64 * GIB), Some(104), Some((9, 0)), None),
            ("", Some(206_141_652_992), Some(304), Some((9, 4)), Some("MI300X")),
            ("", Some(256 * GIB), Some(304), Some((9, 4)), Some("MI325X")),
            ("", Some(68_702_699_520), Some(104), Some((9, 0)), Some("MI210")),
            ("", None, Some(304), Some((9, 4)), None),
            ("", Some(206_141_652_992), Some(304), None, None),
            ("gfx942:sramecc+:xnack-", Some(206_141_652_992), Some(304), Some((9, 4)), Some("MI300X")),
            ("gfx942", Some(128 * GIB), Some(228), Some((9, 4)), None),
            // Two products have this instruction set, number of units and memory.
            ("gfx950", Some(288 * GIB), Some(256), Some((9, 5)), None),
            ("TPU v6 lite", None, None, None, Some("TPU-v6e")),
            ("TPU v4", None, None, None, Some("TPU-v4")),
            ("Tesla V100-SXM2-16GB", Some(16 * GIB), Some(80), Some((7, 0)), None),
            ("", None, None, None, None),
        ];
        for (name, memory_bytes, multiprocessors, compute_capability, expected) in cases {
            let device = Device { name, memory_bytes, multiprocessors, compute_capability };
            let found = architecture_of_device(&device).map(|found| found.name.as_str());
            assert_eq!(found, expected, "{device:?}");
        }
    }

    proptest! {
        #[test]
        fn any_device_is_recognised_or_not(
            name in ".*|(NVIDIA |AMD )?(A100|H100|MI300X|gfx942)[- A-Z0-9]*",
            memory_bytes in proptest::option::of(any::<u64>()),
            multiprocessors in proptest::option::of(any::<u32>()),
            compute_capability in proptest::option::of(any::<(u32, u32)>()),
        ) {
            let device = Device { name: &name, memory_bytes, multiprocessors, compute_capability };
            let found = architecture_of_device(&device);
            // Never an architecture whose memory is far from the device's.
            if let (Some(found), Some(bytes)) = (found, memory_bytes) {
                let ratio = bytes as f64 / 1e9 / found.memory_gb.unwrap();
                prop_assert!((0.8..1.25).contains(&ratio) || name.to_ascii_lowercase().starts_with("tpu"));
            }
        }
    }
}
