//! The bundled architectures, one file for each vendor, and how a trace's device is recognised.

use std::ops::RangeInclusive;
use std::sync::{LazyLock, OnceLock};

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::Architecture;

/// The files: a list of what [`Architecture::from_json`] reads, each architecture with the source of its figures.
const FILES: [&str; 4] = [
    include_str!("architectures/nvidia.json"),
    include_str!("architectures/amd.json"),
    include_str!("architectures/intel.json"),
    include_str!("architectures/google.json"),
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
    ("a800", "a800-sxm-80gb"),
    ("a800-pcie", "a800-pcie-80gb"),
    ("a800-sxm", "a800-sxm-80gb"),
    ("a800-sxm4-80gb", "a800-sxm-80gb"),
    ("gaudi2", "gaudi-2"),
    ("gaudi3", "gaudi-3"),
    ("gh200", "gh200-144gb"),
    ("h100", "h100-sxm"),
    ("h100-sxm5", "h100-sxm"),
    ("h200-sxm", "h200"),
    ("h800", "h800-sxm"),
    ("mi50", "mi50-32gb"),
    ("radeon-pro-w7900", "pro-w7900"),
    ("radeon-rx-7900-xtx", "rx-7900-xtx"),
    ("rtx-4060-ti", "rtx-4060-ti-16gb"),
    ("rtx-pro-6000", "rtx-pro-6000-blackwell"),
    ("rtx4090", "rtx-4090"),
    ("tpu-v5-lite", "tpu-v5e"),
    ("tpu-v5", "tpu-v5p"),
    ("tpu-v6-lite", "tpu-v6e"),
    ("trillium", "tpu-v6e"),
    ("v100", "v100-sxm2-32gb"),
    ("v100-pcie", "v100-pcie-32gb"),
    ("v100-sxm2", "v100-sxm2-32gb"),
    ("w7900", "pro-w7900"),
];

/// A bundled architecture. A report needs one or two of them, so each is read when it is first asked for.
struct Bundled {
    /// In lower case.
    name: String,
    json: &'static RawValue,
    read: OnceLock<Option<Architecture>>,
}

impl Bundled {
    /// One that could not be read would be missing; a test reads every one.
    fn architecture(&self) -> Option<&Architecture> {
        self.read.get_or_init(|| Architecture::from_json(self.json.get()).ok()).as_ref()
    }
}

static ARCHITECTURES: LazyLock<Vec<Bundled>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Named<'a> {
        name: &'a str,
    }
    let lists = FILES.iter().filter_map(|text| serde_json::from_str::<Vec<&RawValue>>(text).ok());
    let bundled = |json: &'static RawValue| {
        let Named { name } = serde_json::from_str(json.get()).ok()?;
        Some(Bundled { name: name.to_ascii_lowercase(), json, read: OnceLock::new() })
    };
    lists.flatten().filter_map(bundled).collect()
});

/// The bundled architectures, by vendor and age.
pub fn architectures() -> impl Iterator<Item = &'static Architecture> {
    ARCHITECTURES.iter().filter_map(Bundled::architecture)
}

/// The bundled architecture of this name: `H100-SXM`, `h100_sxm`, `h100`, `GeForce RTX 3090`.
///
/// Case does not matter, nor whether words are joined by hyphens, underscores or spaces. A family without
/// its variant means the one for servers with the most memory.
#[must_use]
pub fn architecture(name: &str) -> Option<&'static Architecture> {
    let name = name.trim().to_ascii_lowercase().replace(['_', ' '], "-");
    let name = ["nvidia-", "amd-", "intel-", "geforce-", "instinct-"]
        .iter()
        .fold(name.as_str(), |name, brand| name.strip_prefix(brand).unwrap_or(name));
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    ARCHITECTURES.iter().find(|bundled| bundled.name == name)?.architecture()
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

/// How the devices of an architecture present themselves. Their memory, where it is recorded, is the architecture's.
struct Signature {
    architecture: &'static str,
    words: &'static [&'static str],
    /// Words of variants with other figures.
    without: &'static [&'static str],
    /// Multiprocessors of the whole device, as drivers count them; any number where that is not known. Fewer mean a
    /// partition, whose figures are other ones.
    multiprocessors: &'static [u32],
}

const fn signature(
    architecture: &'static str,
    words: &'static [&'static str],
    without: &'static [&'static str],
    multiprocessors: &'static [u32],
) -> Signature {
    Signature { architecture, words, without, multiprocessors }
}

/// Words of devices with the name of another and other figures.
const VARIANTS: [&str; 3] = ["mig", "laptop", "mobile"];

const SIGNATURES: &[Signature] = &[
    signature("v100-sxm2-16gb", &["v100", "sxm2"], &[], &[80]),
    signature("v100-pcie-16gb", &["v100", "pcie"], &[], &[80]),
    signature("v100-sxm2-32gb", &["v100", "sxm2"], &[], &[80]),
    signature("v100-pcie-32gb", &["v100", "pcie"], &[], &[80]),
    // The DGX Station's, which its data sheet has do as many operations as four of SXM2.
    signature("v100-sxm2-16gb", &["v100", "dgxs"], &[], &[80]),
    signature("v100-sxm2-32gb", &["v100", "dgxs"], &[], &[80]),
    signature("v100s-pcie-32gb", &["v100s", "pcie"], &[], &[80]),
    signature("t4", &["t4"], &[], &[40]),
    signature("a10", &["a10"], &[], &[72]),
    signature("a10g", &["a10g"], &[], &[80]),
    signature("a30", &["a30"], &[], &[56]),
    signature("a40", &["a40"], &[], &[84]),
    signature("a100-sxm-40gb", &["a100", "sxm4"], &[], &[108]),
    signature("a100-pcie-40gb", &["a100", "pcie"], &[], &[108]),
    signature("a100-sxm-80gb", &["a100", "sxm4"], &[], &[108]),
    signature("a100-pcie-80gb", &["a100", "pcie"], &[], &[108]),
    signature("a800-sxm-80gb", &["a800", "sxm4"], &[], &[108]),
    signature("a800-pcie-80gb", &["a800", "pcie"], &[], &[108]),
    // A board for SXM.
    signature("a100-sxm-40gb", &["a100", "pg509"], &[], &[108]),
    signature("l4", &["l4"], &[], &[58]),
    signature("l40s", &["l40s"], &[], &[142]),
    signature("h100-sxm", &["h100", "80gb", "hbm3"], &[], &[132]),
    signature("h100-pcie", &["h100", "pcie"], &[], &[114]),
    signature("h100-nvl", &["h100", "nvl"], &[], &[132]),
    signature("h200", &["h200"], &["nvl"], &[132]),
    signature("h200-nvl", &["h200", "nvl"], &[], &[132]),
    signature("h800-sxm", &["h800"], &["pcie"], &[132]),
    signature("h800-pcie", &["h800", "pcie"], &[], &[114]),
    signature("h20", &["h20"], &[], &[78]),
    signature("gh200-96gb", &["gh200", "480gb"], &[], &[132]),
    signature("gh200-96gb", &["gh200", "240gb"], &[], &[132]),
    signature("gh200-96gb", &["gh200", "120gb"], &[], &[132]),
    signature("gh200-144gb", &["gh200", "144g"], &[], &[132]),
    signature("b200", &["b200"], &[], &[148]),
    signature("gb200", &["gb200"], &[], &[148, 152]),
    signature("b300", &["b300"], &[], &[]),
    signature("gb300", &["gb300"], &[], &[]),
    signature("rtx-3060", &["rtx", "3060"], &["ti"], &[28]),
    signature("rtx-3060-ti", &["rtx", "3060", "ti"], &[], &[38]),
    signature("rtx-3070", &["rtx", "3070"], &["ti"], &[46]),
    signature("rtx-3070-ti", &["rtx", "3070", "ti"], &[], &[48]),
    signature("rtx-3080", &["rtx", "3080"], &["ti"], &[68]),
    signature("rtx-3080-ti", &["rtx", "3080", "ti"], &[], &[80]),
    signature("rtx-3090", &["rtx", "3090"], &["ti"], &[82]),
    signature("rtx-3090-ti", &["rtx", "3090", "ti"], &[], &[84]),
    signature("rtx-4060", &["rtx", "4060"], &["ti", "super"], &[24]),
    signature("rtx-4060-ti-8gb", &["rtx", "4060", "ti"], &["super"], &[34]),
    signature("rtx-4060-ti-16gb", &["rtx", "4060", "ti"], &["super"], &[34]),
    signature("rtx-4070", &["rtx", "4070"], &["ti", "super"], &[46]),
    signature("rtx-4070-super", &["rtx", "4070", "super"], &["ti"], &[56]),
    signature("rtx-4070-ti", &["rtx", "4070", "ti"], &["super"], &[60]),
    signature("rtx-4070-ti-super", &["rtx", "4070", "ti", "super"], &[], &[66]),
    signature("rtx-4080", &["rtx", "4080"], &["ti", "super"], &[76]),
    signature("rtx-4080-super", &["rtx", "4080", "super"], &["ti"], &[80]),
    signature("rtx-4090", &["rtx", "4090"], &["d"], &[128]),
    signature("rtx-5070", &["rtx", "5070"], &["ti"], &[48]),
    signature("rtx-5070-ti", &["rtx", "5070", "ti"], &[], &[70]),
    signature("rtx-5080", &["rtx", "5080"], &["ti"], &[84]),
    signature("rtx-5090", &["rtx", "5090"], &["d"], &[170]),
    signature("rtx-pro-6000-blackwell", &["rtx", "pro", "6000", "blackwell"], &["server", "max"], &[188]),
    signature("mi50-16gb", &["mi50"], &[], &[60]),
    signature("mi50-32gb", &["mi50"], &[], &[60]),
    signature("mi100", &["mi100"], &[], &[120]),
    signature("mi210", &["mi210"], &[], &[104]),
    signature("mi250x", &["mi250x"], &[], &[110]),
    signature("mi300a", &["mi300a"], &[], &[228]),
    signature("mi300x", &["mi300x"], &["hf"], &[304]),
    signature("mi325x", &["mi325x"], &[], &[304]),
    signature("mi350x", &["mi350x"], &[], &[256]),
    signature("mi355x", &["mi355x"], &[], &[256]),
    // ROCm counts the compute units of these GPUs in pairs.
    signature("rx-7900-xtx", &["7900", "xtx"], &[], &[48, 96]),
    signature("pro-w7900", &["w7900"], &[], &[48, 96]),
    // ROCm names the instruction set, or nothing, where the driver's table of products is missing.
    signature("mi100", &["gfx908"], &[], &[120]),
    signature("mi210", &["gfx90a"], &[], &[104]),
    signature("mi250x", &["gfx90a"], &[], &[110]),
    signature("mi300a", &["gfx942"], &[], &[228]),
    signature("mi300x", &["gfx942"], &[], &[304]),
    signature("mi325x", &["gfx942"], &[], &[304]),
    signature("rx-7900-xtx", &["gfx1100"], &[], &[48, 96]),
    signature("pro-w7900", &["gfx1100"], &[], &[48, 96]),
    signature("max-1550", &["max", "1550"], &[], &[]),
    signature("max-1550-stack", &["max", "1550"], &[], &[]),
    signature("gaudi-2", &["gaudi2"], &[], &[]),
    signature("gaudi-2", &["hl", "225"], &[], &[]),
    signature("gaudi-3", &["gaudi3"], &[], &[]),
    signature("gaudi-3", &["hl", "325"], &[], &[]),
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
        words.extend(match device.compute_capability? {
            (9, 0) => &["gfx908", "gfx90a"][..],
            (9, 4) => &["gfx942"],
            (11, 0) => &["gfx1100"],
            _ => return None,
        });
    }
    if VARIANTS.iter().any(|variant| words.contains(variant)) {
        return None;
    }
    let mut fitting = SIGNATURES.iter().filter(|signature| signature.fits(&words, device));
    let first = fitting.next()?;
    // Two that fit differ in what the trace does not say.
    match fitting.next() {
        None => architecture(first.architecture),
        Some(_) => None,
    }
}

/// Memory that devices report over that of the data sheet: drivers keep some for themselves, and count in powers of two.
const MEMORY_RATIO: RangeInclusive<f64> = 0.92..=1.09;

impl Signature {
    fn fits(&self, words: &[&str], device: &Device<'_>) -> bool {
        let (is_any, counts) = (self.multiprocessors.is_empty(), self.multiprocessors);
        self.words.iter().all(|word| words.contains(word))
            && !self.without.iter().any(|word| words.contains(word))
            && device.multiprocessors.is_none_or(|count| is_any || counts.contains(&count))
            && self.has_memory_of(words, device)
    }

    fn has_memory_of(&self, words: &[&str], device: &Device<'_>) -> bool {
        let Some(memory_gb) = architecture(self.architecture).and_then(|found| found.memory_gb) else {
            return false;
        };
        let recorded = device.memory_bytes.map(|bytes| bytes as f64 / 1e9);
        let recorded = recorded.or_else(|| self.memory_in_name(words));
        recorded.is_none_or(|recorded| MEMORY_RATIO.contains(&(recorded / memory_gb)))
    }

    /// The memory that a name such as `NVIDIA A100-SXM4-40GB` states. Not a word of all devices of the architecture:
    /// `120GB`, `240GB` or `480GB` is the memory of the host in a GH200.
    fn memory_in_name(&self, words: &[&str]) -> Option<f64> {
        let mut stated = words.iter().filter(|word| !self.words.contains(word));
        stated.find_map(|word| word.strip_suffix("gb")?.parse().ok())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;
    use crate::{ComputeUnit, PeakBasis};

    #[test]
    fn every_bundled_architecture_is_read_and_has_a_source() {
        let mut count = 0;
        for text in FILES {
            for one in serde_json::from_str::<Vec<serde_json::Value>>(text).unwrap() {
                let read = Architecture::from_json(&one.to_string())
                    .unwrap_or_else(|error| panic!("{one}: {error}"));
                let name = &read.name;
                assert!(
                    read.source.as_ref().is_some_and(|source| !source.is_empty()),
                    "{name} has no source"
                );
                assert!(read.memory_gb.is_some(), "{name} has no memory size");
                assert!(!read.nominal_tflops.is_empty(), "{name} has no nominal peaks");
                let has_source = read.source_of_achievable.is_some();
                assert_eq!(has_source, !read.achievable_tflops.is_empty(), "{name}");
                assert_eq!(read.unknown_keys, Vec::<String>::new(), "{name}");
                count += 1;
            }
        }
        assert_eq!(architectures().count(), count);
    }

    #[test]
    fn every_file_of_the_folder_is_bundled() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/architectures");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
            .collect();
        files.sort();
        let mut bundled = FILES.to_vec();
        bundled.sort_unstable();
        assert_eq!(files, bundled);
    }

    #[test]
    fn pcie_links_have_the_rate_of_their_generation_and_width() {
        let mut seen = 0;
        for link in architectures().filter_map(|found| found.host_link.as_ref()) {
            let Some(kind) = link.name.strip_prefix("PCIe ") else { continue };
            let (generation, lanes) = kind.split_once(" x").unwrap();
            // Gigatransfers a second, of which 128 in 130 bits are data from the third generation on.
            let transfers = match generation {
                "3.0" => 8.0,
                "4.0" => 16.0,
                "5.0" => 32.0,
                other => panic!("{other}"),
            };
            let rate = transfers * lanes.parse::<f64>().unwrap() * 128.0 / 130.0 / 8.0;
            assert!((link.gb_per_s / rate - 1.0).abs() < 1e-3, "{link:?}: {rate}");
            seen += 1;
        }
        assert!(seen > 50, "{seen}");
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
            // The others of the reference, 194, 3094 and again 194, lie above the nominal peaks.
            ("MI325X", 6000.0, 256.0, [794.0, 843.0, 163.4, 97.0, 1519.0, 2614.9, 163.4, 163.4, 97.0, 48.0]),
        ];
        for (name, bandwidth, memory_gb, peaks) in rows {
            let found = &architecture(name).unwrap().with_basis(PeakBasis::Achievable);
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
            assert_eq!(found.achievable_tflops.len(), columns.len(), "{name}");
        }
    }

    /// What was measured, or is taken for it, is no more than the data sheet states; 16-bit vectors without a figure there are
    /// as fast as those of 32 bits.
    #[test]
    fn achievable_peaks_are_not_above_nominal_ones() {
        for found in architectures() {
            let nominal = found.with_basis(PeakBasis::Nominal);
            for (spec, &achievable) in &found.achievable_tflops {
                let (_, nominal) = nominal.applicable_peak(*spec).unwrap();
                assert!(achievable <= nominal, "{} {spec}: {achievable} of {nominal}", found.name);
            }
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
                ["vector_fp32", "matrix_tf32"],
                ["matrix_fp32", "matrix_tf32"],
                ["matrix_fp32", "matrix_bf16"],
                ["matrix_tf32", "matrix_fp16"],
                ["matrix_tf32", "matrix_bf16"],
                ["matrix_fp16", "matrix_int8"],
                ["matrix_bf16", "matrix_fp8"],
                ["matrix_fp8", "matrix_fp4"],
            ];
            for [slower, faster] in order {
                if let (Some(slow), Some(fast)) = (peak(slower), peak(faster)) {
                    assert!(slow <= fast, "{}: {slower} {slow} > {faster} {fast}", found.name);
                }
            }
            for (spec, peak) in &found.nominal_tflops {
                let ridge = found.ridge_point(*spec).unwrap();
                let usual = if spec.unit == ComputeUnit::Matrix { 4.0..2000.0 } else { 1.0..200.0 };
                assert!(usual.contains(&ridge), "{} {spec} {peak}: ridge point {ridge}", found.name);
            }
            // What is measured is no more than what is possible, but for figures of TraceLens that nobody measured.
            for spec in ["matrix_fp8", "matrix_fp16", "matrix_bf16"].map(|spec| spec.parse().unwrap()) {
                if let Some(achievable) = found.achievable_tflops.get(&spec) {
                    assert!(*achievable < found.nominal_tflops[&spec], "{} {spec}", found.name);
                }
            }
        }
    }

    #[test]
    fn names_are_unique_and_aliases_resolve() {
        let mut names = HashSet::new();
        for Bundled { name, .. } in ARCHITECTURES.iter() {
            assert!(names.insert(name.as_str()), "{name} twice");
        }
        for (alias, name) in ALIASES {
            assert!(names.insert(*alias), "{alias} twice");
            assert_eq!(architecture(alias), architecture(name), "{alias}");
            assert!(architecture(alias).is_some(), "{alias}");
        }
        for signature in SIGNATURES {
            assert!(architecture(signature.architecture).is_some(), "{}", signature.architecture);
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
            ("h100-nvl", Some("H100-NVL")),
            ("GeForce RTX 3090", Some("RTX-3090")),
            ("AMD Instinct MI300X", Some("MI300X")),
            ("v100", Some("V100-SXM2-32GB")),
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
            ("NVIDIA H100 NVL", Some(99_944_366_080), Some(132), Some((9, 0)), Some("H100-NVL")),
            ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", Some(10 * GIB), Some(16), Some((9, 0)), None),
            ("NVIDIA H200", Some(140 * GIB), Some(132), Some((9, 0)), Some("H200")),
            ("NVIDIA H200 NVL", Some(140 * GIB), Some(132), Some((9, 0)), Some("H200-NVL")),
            ("NVIDIA GH200 480GB", Some(102_005_473_280), Some(132), Some((9, 0)), Some("GH200-96GB")),
            ("NVIDIA GH200 480GB", None, None, None, Some("GH200-96GB")),
            ("NVIDIA GH200 120GB", Some(102_005_473_280), Some(132), Some((9, 0)), Some("GH200-96GB")),
            ("NVIDIA GH200 120GB", None, None, None, Some("GH200-96GB")),
            ("NVIDIA GH200 120GB", Some(150_000_000_000), Some(132), Some((9, 0)), None),
            ("NVIDIA GH200 240GB", None, Some(132), None, Some("GH200-96GB")),
            ("NVIDIA GH200 144G HBM3e", None, Some(132), None, Some("GH200-144GB")),
            ("NVIDIA H800", Some(80 * GIB), Some(132), Some((9, 0)), Some("H800-SXM")),
            ("NVIDIA H800 PCIe", Some(80 * GIB), Some(114), Some((9, 0)), Some("H800-PCIe")),
            ("NVIDIA H20", Some(102_113_000_000), Some(78), Some((9, 0)), Some("H20")),
            // Another memory with another bandwidth.
            ("NVIDIA H20", Some(140 * GIB), Some(78), Some((9, 0)), None),
            ("NVIDIA B300 SXM6 AC", Some(288_400_000_000), None, Some((10, 3)), Some("B300")),
            ("NVIDIA B200", Some(179 * GIB), Some(148), Some((10, 0)), Some("B200")),
            ("NVIDIA GB200", Some(184 * GIB), Some(152), Some((10, 0)), Some("GB200")),
            ("NVIDIA A100-SXM4-40GB", Some(42_405_855_232), Some(108), Some((8, 0)), Some("A100-SXM-40GB")),
            ("NVIDIA A100-SXM4-80GB", None, None, None, Some("A100-SXM-80GB")),
            ("NVIDIA A100 80GB PCIe", None, Some(108), None, Some("A100-PCIe-80GB")),
            ("A100-PCIE-40GB", Some(40 * GIB), Some(108), None, Some("A100-PCIe-40GB")),
            ("NVIDIA A100-PG509-200", Some(42_297_524_224), Some(108), Some((8, 0)), Some("A100-SXM-40GB")),
            ("NVIDIA A800-SXM4-80GB", None, None, None, Some("A800-SXM-80GB")),
            ("NVIDIA A800 80GB PCIe", Some(80 * GIB), Some(108), Some((8, 0)), Some("A800-PCIe-80GB")),
            ("NVIDIA A10G", Some(23_800_000_000), Some(80), Some((8, 6)), Some("A10G")),
            ("NVIDIA A10", Some(23_800_000_000), Some(72), Some((8, 6)), Some("A10")),
            ("NVIDIA A30", Some(24 * GIB), Some(56), Some((8, 0)), Some("A30")),
            ("NVIDIA A30 MIG 1g.6gb", Some(6 * GIB), Some(14), Some((8, 0)), None),
            ("NVIDIA A40", Some(47_608_692_736), Some(84), Some((8, 6)), Some("A40")),
            ("NVIDIA L4", Some(23_600_000_000), Some(58), Some((8, 9)), Some("L4")),
            ("Tesla T4", Some(15_835_660_288), Some(40), Some((7, 5)), Some("T4")),
            ("Tesla V100-DGXS-32GB", Some(34_084_028_416), Some(80), Some((7, 0)), Some("V100-SXM2-32GB")),
            ("Tesla V100-PCIE-16GB", Some(16_945_512_448), Some(80), Some((7, 0)), Some("V100-PCIe-16GB")),
            ("Tesla V100-PCIE-32GB", None, None, None, Some("V100-PCIe-32GB")),
            ("Tesla V100S-PCIE-32GB", Some(34_089_730_048), Some(80), Some((7, 0)), Some("V100S-PCIe-32GB")),
            ("NVIDIA GeForce RTX 3060", Some(12 * GIB), Some(28), Some((8, 6)), Some("RTX-3060")),
            // Half the memory on a narrower bus.
            ("NVIDIA GeForce RTX 3060", Some(8 * GIB), Some(28), Some((8, 6)), None),
            ("GeForce RTX 3090", Some(25_447_170_048), Some(82), Some((8, 6)), Some("RTX-3090")),
            ("NVIDIA GeForce RTX 3080 Ti", None, None, None, Some("RTX-3080-Ti")),
            ("NVIDIA GeForce RTX 4060 Ti", Some(16 * GIB), Some(34), Some((8, 9)), Some("RTX-4060-Ti-16GB")),
            ("NVIDIA GeForce RTX 4060 Ti", None, Some(34), Some((8, 9)), None),
            ("NVIDIA GeForce RTX 4070", None, None, None, Some("RTX-4070")),
            ("NVIDIA GeForce RTX 4070 Ti", None, None, None, Some("RTX-4070-Ti")),
            ("NVIDIA GeForce RTX 4070 SUPER", None, None, None, Some("RTX-4070-SUPER")),
            ("NVIDIA GeForce RTX 4070 Ti SUPER", None, None, None, Some("RTX-4070-Ti-SUPER")),
            ("NVIDIA GeForce RTX 5090", Some(34_190_000_000), Some(170), Some((12, 0)), Some("RTX-5090")),
            ("NVIDIA GeForce RTX 5090 D", Some(34_190_000_000), Some(170), Some((12, 0)), None),
            ("NVIDIA GeForce RTX 5070 Ti", Some(16 * GIB), Some(70), Some((12, 0)), Some("RTX-5070-Ti")),
            (
                "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
                Some(102_000_000_000),
                Some(188),
                Some((12, 0)),
                Some("RTX-PRO-6000-Blackwell"),
            ),
            ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", None, Some(188), None, None),
            // Which of two memories is not said.
            ("NVIDIA A100-SXM4", None, Some(108), None, None),
            ("NVIDIA L40S", Some(45 * GIB), Some(142), Some((8, 9)), Some("L40S")),
            ("NVIDIA GeForce RTX 4090", Some(24 * GIB), Some(128), Some((8, 9)), Some("RTX-4090")),
            ("NVIDIA GeForce RTX 4090 D", Some(24 * GIB), Some(114), Some((8, 9)), None),
            ("NVIDIA GeForce RTX 4090 Laptop GPU", None, None, None, None),
            ("AMD Instinct MI300X", Some(206_141_652_992), Some(304), Some((9, 4)), Some("MI300X")),
            ("AMD Instinct MI300X VF", Some(205_571_227_648), Some(304), Some((9, 4)), Some("MI300X")),
            ("AMD Instinct MI300X OAM", Some(206_141_652_992), Some(304), Some((9, 4)), Some("MI300X")),
            ("AMD Instinct MI300A", Some(128 * GIB), Some(228), Some((9, 4)), Some("MI300A")),
            ("AMD Instinct MI350X", Some(288 * GIB), Some(256), Some((9, 5)), Some("MI350X")),
            ("AMD Instinct MI100", Some(32 * GIB), Some(120), Some((9, 0)), Some("MI100")),
            ("AMD Instinct MI60 / MI50", Some(32 * GIB), Some(60), Some((9, 0)), Some("MI50-32GB")),
            ("AMD Instinct MI60 / MI50", Some(32 * GIB), Some(64), Some((9, 0)), None),
            ("AMD Radeon RX 7900 XTX", Some(24 * GIB), Some(48), Some((11, 0)), Some("RX-7900-XTX")),
            ("AMD Radeon PRO W7900", Some(48 * GIB), Some(48), Some((11, 0)), Some("PRO-W7900")),
            ("gfx1100", Some(24 * GIB), Some(48), Some((11, 0)), Some("RX-7900-XTX")),
            ("gfx90a:sramecc+:xnack-", Some(64 * GIB), Some(110), Some((9, 0)), Some("MI250X")),
            ("gfx908:sramecc+:xnack-", Some(32 * GIB), Some(120), Some((9, 0)), Some("MI100")),
            ("", Some(32 * GIB), Some(120), Some((9, 0)), Some("MI100")),
            ("Intel(R) Data Center GPU Max 1550", Some(64 * GIB), Some(512), None, Some("Max-1550-stack")),
            ("Intel(R) Data Center GPU Max 1550", Some(128 * GIB), Some(1024), None, Some("Max-1550")),
            ("Intel(R) Data Center GPU Max 1550", None, None, None, None),
            ("GAUDI2", None, None, None, Some("Gaudi-2")),
            ("HL-325", None, None, None, Some("Gaudi-3")),
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
            ("gfx942", Some(128 * GIB), Some(228), Some((9, 4)), Some("MI300A")),
            // Two products have this instruction set, number of units and memory.
            ("gfx950", Some(288 * GIB), Some(256), Some((9, 5)), None),
            ("TPU v6 lite", None, None, None, Some("TPU-v6e")),
            ("TPU v4", None, None, None, Some("TPU-v4")),
            ("Tesla V100-SXM2-16GB", Some(16 * GIB), Some(80), Some((7, 0)), Some("V100-SXM2-16GB")),
            ("Tesla V100-SXM3-32GB", Some(32 * GIB), Some(80), Some((7, 0)), None),
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
