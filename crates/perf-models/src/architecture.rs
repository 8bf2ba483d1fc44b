use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde_json::{Map, Value as Json};

use crate::{ComputeSpec, ComputeUnit, Precision};

/// What a device can do at most: the ceilings of a roofline.
///
/// ```
/// use perf_models::{Architecture, PeakBasis};
///
/// let text = r#"{
///     "name": "my accelerator",
///     "mem_bw_gbps": 1000,
///     "peak_tflops": { "matrix_bf16": 100, "vector_fp32": 10 },
///     "max_achievable_tflops": { "matrix_bf16": 70 }
/// }"#;
/// let nominal = Architecture::from_json(text)?;
/// assert_eq!(nominal.ridge_point("matrix_bf16".parse()?), Some(100.0));
/// let achievable = nominal.with_basis(PeakBasis::Achievable);
/// assert_eq!(achievable.ridge_point("matrix_bf16".parse()?), Some(70.0));
/// assert_eq!(achievable.peak_tflops("vector_fp32".parse()?), Some(10.0));
/// assert_eq!(achievable.peaks_in_words(), "achievable peaks, nominal where missing");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Architecture {
    /// Name for people.
    pub name: String,
    /// Memory bandwidth in 10⁹ bytes a second.
    pub memory_bandwidth_gb_per_s: f64,
    /// Memory size in 10⁹ bytes, as vendors state it; `None` if it is not known.
    pub memory_gb: Option<f64>,
    /// Size in bytes of the last cache before the memory; `None` if it is not known.
    pub last_level_cache_bytes: Option<f64>,
    /// The way to the host's memory; `None` if it is not known.
    pub host_link: Option<Link>,
    /// The way to another device, where it is not that to the host.
    pub peer_link: Option<Link>,
    /// Peaks in 10¹² operations a second as the vendor's data sheet states them, without sparsity.
    pub nominal_tflops: BTreeMap<ComputeSpec, f64>,
    /// The most that was measured, in 10¹² operations a second.
    pub achievable_tflops: BTreeMap<ComputeSpec, f64>,
    /// Which of the two tables counts.
    pub basis: PeakBasis,
    /// Keys that mean nothing, among them those of peaks that no model asks for: somebody may have misspelt them.
    pub unknown_keys: Vec<String>,
    /// Where the figures come from.
    pub source: Option<String>,
    /// Where the achievable peaks come from.
    pub source_of_achievable: Option<String>,
}

/// A link of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Kind, generation and width: `PCIe 4.0 x16`.
    pub name: String,
    /// Most that it moves in one direction, in 10⁹ bytes a second.
    pub gb_per_s: f64,
    /// To how many peers a device has such a link each; `None` of one that is shared by the ways to all of them.
    pub peers: Option<u32>,
}

/// What a group of devices has between them.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupLink {
    /// The link: `xGMI`.
    pub name: String,
    /// Most that a device sends to the others of the group at once, in 10⁹ bytes a second: a bound of the bus bandwidth.
    pub gb_per_s: f64,
    /// What libraries usually reach of that with large messages.
    pub usual_gb_per_s: f64,
}

/// What peaks are figures of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PeakBasis {
    /// The vendor's data sheet: units times clock. All vendors state it, so figures compare.
    #[default]
    Nominal,
    /// Measurements: what the best known program reaches.
    Achievable,
}

impl fmt::Display for PeakBasis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PeakBasis::Nominal => "nominal",
            PeakBasis::Achievable => "achievable",
        })
    }
}

impl Architecture {
    /// Keys of an architecture file that mean something.
    pub const KEYS: [&'static str; 8] = [
        "name",
        BANDWIDTH,
        "memory_gb",
        "last_level_cache_mib",
        "host_link",
        "peer_link",
        NOMINAL,
        ACHIEVABLE,
    ];

    /// What so many devices of one host have between them; `None` of one device, and where no link is known. A link that does
    /// not reach all of them leaves the way over the host.
    #[must_use]
    pub fn group_link(&self, devices: usize) -> Option<GroupLink> {
        /// Of links between devices, and of those by the host, which others share.
        const USUAL: [f64; 2] = [0.7, 0.4];
        let others = devices.checked_sub(1).filter(|&others| others > 0)?;
        let rate = |link: &Link| match link.peers {
            None => Some(link.gb_per_s),
            Some(peers) => (others <= peers as usize).then_some(link.gb_per_s * others as f64),
        };
        let peer = self.peer_link.as_ref().and_then(|link| Some((link, rate(link)?, USUAL[0])));
        let (link, gb_per_s, usual) =
            peer.or_else(|| self.host_link.as_ref().map(|link| (link, link.gb_per_s, USUAL[1])))?;
        Some(GroupLink { name: link.name.clone(), gb_per_s, usual_gb_per_s: usual * gb_per_s })
    }

    /// The same device with its peaks taken from this basis where it has them.
    #[must_use]
    pub fn with_basis(&self, basis: PeakBasis) -> Self {
        Architecture { basis, ..self.clone() }
    }

    /// The peak for a compute spec in 10¹² operations a second; `None` if it is not known. Achievable peaks are
    /// completed by nominal ones, because few are published; nominal ones stand alone where there are any.
    #[must_use]
    pub fn peak_tflops(&self, spec: ComputeSpec) -> Option<f64> {
        let (nominal, achievable) = (&self.nominal_tflops, &self.achievable_tflops);
        let peak = match self.basis {
            PeakBasis::Achievable => achievable.get(&spec).or_else(|| nominal.get(&spec)),
            PeakBasis::Nominal if nominal.is_empty() => achievable.get(&spec),
            PeakBasis::Nominal => nominal.get(&spec),
        };
        peak.copied()
    }

    /// What the peak for a compute spec is a figure of; `None` if there is none.
    #[must_use]
    pub fn basis_of(&self, spec: ComputeSpec) -> Option<PeakBasis> {
        self.peak_tflops(spec)?;
        let is_nominal = self.nominal_tflops.contains_key(&spec);
        let is_achievable = self.achievable_tflops.contains_key(&spec);
        Some(match self.basis {
            PeakBasis::Achievable if is_achievable => PeakBasis::Achievable,
            _ if is_nominal => PeakBasis::Nominal,
            _ => PeakBasis::Achievable,
        })
    }

    /// What the peaks are, in words: `nominal peaks`.
    #[must_use]
    pub fn peaks_in_words(&self) -> &'static str {
        let is_measured = |spec| self.achievable_tflops.contains_key(spec);
        match self.basis {
            PeakBasis::Nominal if !self.nominal_tflops.is_empty() => "nominal peaks",
            PeakBasis::Nominal => "achievable peaks (no nominal ones)",
            PeakBasis::Achievable if self.achievable_tflops.is_empty() => {
                "nominal peaks (no achievable ones)"
            }
            PeakBasis::Achievable if self.nominal_tflops.keys().all(is_measured) => "achievable peaks",
            PeakBasis::Achievable => "achievable peaks, nominal where missing",
        }
    }

    /// The peak that work of this spec is held against, and its value in 10¹² operations a second: that of the spec,
    /// or that of the unit that does such work where the architecture states none. `None` if it states neither.
    ///
    /// | work | stands in, the first that is stated |
    /// | --- | --- |
    /// | `matrix_fp32` | `matrix_tf32`: frameworks and libraries let FP32 products run as TF32, and the least time must not be too long; then `vector_fp32` |
    /// | `matrix_tf32` | `matrix_fp32`, then `vector_fp32`: without TF32 the arithmetic is FP32 |
    /// | `matrix_fp64` | `vector_fp64` |
    /// | any on the matrix units of a device without matrix units | the vector units' of the same precision |
    /// | `vector_fp16`, `vector_bf16` | `vector_fp32`: devices do it at that rate or faster, and elementwise kernels of PyTorch compute in FP32 anyway |
    #[must_use]
    pub fn applicable_peak(&self, spec: ComputeSpec) -> Option<(ComputeSpec, f64)> {
        use ComputeUnit::{Matrix, Vector};
        use Precision::{Bf16, Fp16, Fp32, Fp64, Tf32};
        let of = |unit, precision| Some(ComputeSpec { unit, precision });
        let substitutes = match (spec.unit, spec.precision) {
            (Matrix, Fp32) => [of(Matrix, Tf32), of(Vector, Fp32)],
            (Matrix, Tf32) => [of(Matrix, Fp32), of(Vector, Fp32)],
            (Matrix, Fp64) => [of(Vector, Fp64), None],
            (Matrix, precision) if !self.has_matrix_units() => [of(Vector, precision), None],
            (Vector, Fp16 | Bf16) => [of(Vector, Fp32), None],
            _ => [None, None],
        };
        std::iter::once(spec)
            .chain(substitutes.into_iter().flatten())
            .find_map(|spec| self.peak_tflops(spec).map(|peak| (spec, peak)))
    }

    fn has_matrix_units(&self) -> bool {
        let specs = [&self.nominal_tflops, &self.achievable_tflops].into_iter().flat_map(BTreeMap::keys);
        specs.into_iter().any(|spec| spec.unit == ComputeUnit::Matrix)
    }

    /// The arithmetic intensity, in operations a byte, above which a kernel is bound by arithmetic and below
    /// which by memory; `None` if the peak is not known.
    ///
    /// Source: Williams, Waterman, Patterson, *Roofline: an insightful visual performance model for
    /// multicore architectures*, Communications of the ACM 52(4), 2009.
    #[must_use]
    pub fn ridge_point(&self, spec: ComputeSpec) -> Option<f64> {
        Some(self.peak_tflops(spec)? * 1e12 / (self.memory_bandwidth_gb_per_s * 1e9))
    }

    /// Reads an architecture file.
    ///
    /// | key | value |
    /// | --- | --- |
    /// | `name` | text; optional |
    /// | `mem_bw_gbps` | memory bandwidth in 10⁹ bytes a second |
    /// | `peak_tflops` | nominal peaks: object of compute spec, such as `matrix_bf16`, to 10¹² operations a second |
    /// | `max_achievable_tflops` | the same, achievable peaks; one of the two must be there |
    /// | `memory_gb` | memory size in 10⁹ bytes; optional |
    /// | `last_level_cache_mib` | size of the last cache before the memory, in 1024² bytes; optional |
    /// | `host_link`, `peer_link` | object: `name`, `gbps`, 10⁹ bytes a second in one direction, and of links to one peer each `peers`, how many; optional |
    /// | `_reference`, `_reference_achievable` | source of the figures, and of the achievable peaks; optional |
    ///
    /// TraceLens's files have achievable peaks only. Other keys are collected in
    /// [`unknown_keys`](Self::unknown_keys), but for those that begin with an underscore, which are remarks, and
    /// `freq_mhz`, which TraceLens's files have for a simulator.
    ///
    /// # Errors
    ///
    /// When the text is no JSON object, or a key is missing or has a value that cannot be one; the error
    /// names the key.
    pub fn from_json(text: &str) -> Result<Self, ArchitectureError> {
        match serde_json::from_str(text).map_err(|error| ArchitectureError::Syntax(error.to_string()))? {
            Json::Object(members) => Self::from_members(&members),
            _ => Err(ArchitectureError::NotAnObject),
        }
    }

    fn from_members(members: &Map<String, Json>) -> Result<Self, ArchitectureError> {
        let mut unknown_keys: Vec<String> = members
            .keys()
            .filter(|key| {
                !Self::KEYS.contains(&key.as_str()) && !key.starts_with('_') && *key != SIMULATED_CLOCK
            })
            .cloned()
            .collect();
        if !members.contains_key(NOMINAL) && !members.contains_key(ACHIEVABLE) {
            return Err(ArchitectureError::Missing { key: NOMINAL });
        }
        Ok(Architecture {
            name: optional_text(members, "name")?.unwrap_or_else(|| "unnamed architecture".to_owned()),
            memory_bandwidth_gb_per_s: optional_positive(members, BANDWIDTH)?
                .ok_or(ArchitectureError::Missing { key: BANDWIDTH })?,
            memory_gb: optional_positive(members, "memory_gb")?,
            last_level_cache_bytes: optional_positive(members, "last_level_cache_mib")?
                .map(|mebibytes| mebibytes * 1024.0 * 1024.0),
            host_link: link(members, "host_link", &mut unknown_keys)?,
            peer_link: link(members, "peer_link", &mut unknown_keys)?,
            nominal_tflops: peaks(members, NOMINAL, &mut unknown_keys)?,
            achievable_tflops: peaks(members, ACHIEVABLE, &mut unknown_keys)?,
            basis: PeakBasis::default(),
            source: remark(members, "_reference"),
            source_of_achievable: remark(members, "_reference_achievable"),
            unknown_keys,
        })
    }
}

const BANDWIDTH: &str = "mem_bw_gbps";
const NOMINAL: &str = "peak_tflops";
const ACHIEVABLE: &str = "max_achievable_tflops";

const SIMULATED_CLOCK: &str = "freq_mhz";

fn member<'m>(members: &'m Map<String, Json>, key: &str) -> Option<&'m Json> {
    members.get(key).filter(|value| !value.is_null())
}

/// A member that is an object.
fn object<'m>(
    members: &'m Map<String, Json>,
    key: &str,
    expected: &'static str,
) -> Result<Option<&'m Map<String, Json>>, ArchitectureError> {
    match member(members, key) {
        None => Ok(None),
        Some(Json::Object(object)) => Ok(Some(object)),
        Some(other) => Err(wrong(key, expected, other)),
    }
}

fn peaks(
    members: &Map<String, Json>,
    key: &str,
    unknown: &mut Vec<String>,
) -> Result<BTreeMap<ComputeSpec, f64>, ArchitectureError> {
    let mut peaks = BTreeMap::new();
    for (name, value) in object(members, key, "numbers keyed by compute spec")?.into_iter().flatten() {
        let path = format!("{key}.{name}");
        let peak = positive(&path, value)?;
        match name.parse::<ComputeSpec>() {
            Ok(spec) => drop(peaks.insert(spec, peak)),
            Err(_) => unknown.push(path),
        }
    }
    Ok(peaks)
}

fn link(
    members: &Map<String, Json>,
    key: &'static str,
    unknown: &mut Vec<String>,
) -> Result<Option<Link>, ArchitectureError> {
    let Some(object) = object(members, key, "an object with name and gbps")? else { return Ok(None) };
    unknown.extend(
        object
            .keys()
            .filter(|name| !matches!(name.as_str(), "name" | "gbps" | "peers"))
            .map(|name| format!("{key}.{name}")),
    );
    let name = optional_text(object, "name")?.unwrap_or_else(|| key.replace('_', " "));
    let rate = object.get("gbps").ok_or(ArchitectureError::Missing { key })?;
    let gb_per_s = positive(&format!("{key}.gbps"), rate)?;
    let peers = object.get("peers").map(|peers| positive(&format!("{key}.peers"), peers)).transpose()?;
    Ok(Some(Link { name, gb_per_s, peers: peers.map(|peers| peers as u32) }))
}

fn optional_positive(members: &Map<String, Json>, key: &str) -> Result<Option<f64>, ArchitectureError> {
    member(members, key).map(|value| positive(key, value)).transpose()
}

fn optional_text(members: &Map<String, Json>, key: &str) -> Result<Option<String>, ArchitectureError> {
    match members.get(key) {
        None | Some(Json::Null) => Ok(None),
        Some(Json::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(wrong(key, "a text", other)),
    }
}

/// A remark for people: whatever it is, it is kept as a text.
fn remark(members: &Map<String, Json>, key: &str) -> Option<String> {
    match member(members, key)? {
        Json::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn positive(key: &str, value: &Json) -> Result<f64, ArchitectureError> {
    value
        .as_f64()
        .filter(|number| number.is_finite() && *number > 0.0)
        .ok_or_else(|| wrong(key, "a number above 0", value))
}

fn wrong(key: &str, expected: &'static str, found: &Json) -> ArchitectureError {
    const LONGEST: usize = 60;
    let mut found = found.to_string();
    if let Some((cut, _)) = found.char_indices().nth(LONGEST) {
        found.truncate(cut);
        found.push('…');
    }
    ArchitectureError::Wrong { key: key.to_owned(), expected, found }
}

/// Why an architecture file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ArchitectureError {
    /// It is no JSON; says where.
    Syntax(String),
    /// It is JSON, but no object.
    NotAnObject,
    /// A key that must be there is not.
    Missing {
        /// The key.
        key: &'static str,
    },
    /// A key has a value that cannot be one.
    Wrong {
        /// The key, that of an object before that of its member: `max_achievable_tflops.matrix_bf16`.
        key: String,
        /// What it must be.
        expected: &'static str,
        /// What it is, as JSON.
        found: String,
    },
}

impl fmt::Display for ArchitectureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(message) => write!(f, "the architecture file is not JSON: {message}"),
            Self::NotAnObject => f.write_str("the architecture file is not a JSON object"),
            Self::Missing { key: NOMINAL } => {
                write!(f, "the architecture file has neither {NOMINAL:?} nor {ACHIEVABLE:?}")
            }
            Self::Missing { key: key @ ("host_link" | "peer_link") } => {
                write!(f, "{key:?} of the architecture file has no \"gbps\"")
            }
            Self::Missing { key } => write!(f, "the architecture file has no {key:?}"),
            Self::Wrong { key, expected, found } => {
                write!(f, "{key:?} of the architecture file must be {expected}, not {found}")
            }
        }
    }
}

impl std::error::Error for ArchitectureError {}

impl FromStr for ComputeSpec {
    type Err = UnknownComputeSpec;

    /// Reads the spelling of architecture files: `matrix_bf16`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let unknown = || UnknownComputeSpec(text.to_owned());
        let (unit, precision) = text.split_once('_').ok_or_else(unknown)?;
        let unit = match unit {
            "matrix" => ComputeUnit::Matrix,
            "vector" => ComputeUnit::Vector,
            _ => return Err(unknown()),
        };
        let precision = Precision::from_name(precision).ok_or_else(unknown)?;
        Ok(ComputeSpec { unit, precision })
    }
}

/// A text that is no compute spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownComputeSpec(pub String);

impl fmt::Display for UnknownComputeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a compute spec such as matrix_bf16 or vector_fp32", self.0)
    }
}

impl std::error::Error for UnknownComputeSpec {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn errors_name_the_key() {
        let cases = [
            (r#"{"#, "the architecture file is not JSON: EOF while parsing an object at line 1 column 1"),
            (r#"[1]"#, "the architecture file is not a JSON object"),
            (
                r#"{"mem_bw_gbps": 1}"#,
                r#"the architecture file has neither "peak_tflops" nor "max_achievable_tflops""#,
            ),
            (r#"{"max_achievable_tflops": {}}"#, r#"the architecture file has no "mem_bw_gbps""#),
            (
                r#"{"mem_bw_gbps": "fast", "max_achievable_tflops": {}}"#,
                r#""mem_bw_gbps" of the architecture file must be a number above 0, not "fast""#,
            ),
            (
                r#"{"mem_bw_gbps": 1, "max_achievable_tflops": {"matrix_bf16": 0}}"#,
                r#""max_achievable_tflops.matrix_bf16" of the architecture file must be a number above 0, not 0"#,
            ),
            (
                r#"{"mem_bw_gbps": 1, "max_achievable_tflops": 7}"#,
                r#""max_achievable_tflops" of the architecture file must be numbers keyed by compute spec, not 7"#,
            ),
            (
                r#"{"mem_bw_gbps": 1, "peak_tflops": {}, "host_link": "PCIe"}"#,
                r#""host_link" of the architecture file must be an object with name and gbps, not "PCIe""#,
            ),
            (
                r#"{"mem_bw_gbps": 1, "peak_tflops": {}, "peer_link": {"name": "xGMI"}}"#,
                r#""peer_link" of the architecture file has no "gbps""#,
            ),
            (
                r#"{"name": 7, "mem_bw_gbps": 1, "max_achievable_tflops": {}}"#,
                r#""name" of the architecture file must be a text, not 7"#,
            ),
            (
                r#"{"memory_gb": -1, "mem_bw_gbps": 1, "max_achievable_tflops": {}}"#,
                r#""memory_gb" of the architecture file must be a number above 0, not -1"#,
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(Architecture::from_json(text).unwrap_err().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn unknown_keys_are_collected_and_remarks_are_none() {
        let text = r#"{"mem_bw_gbps": 1, "mem_bw": 2, "freq_mhz": 2100, "_reference": ["a", "b"], "_todo": 1,
            "max_achievable_tflops": {"matrix_fp6": 3, "matrix_fp4": 4},
            "host_link": {"name": "PCIe 4.0 x16", "gbps": 31.5, "lanes": 16}}"#;
        let architecture = Architecture::from_json(text).unwrap();
        assert_eq!(architecture.peak_tflops("matrix_fp4".parse().unwrap()), Some(4.0));
        assert_eq!(
            architecture.unknown_keys,
            ["mem_bw", "host_link.lanes", "max_achievable_tflops.matrix_fp6"]
        );
        assert_eq!(architecture.source.as_deref(), Some(r#"["a","b"]"#));
        let link = Link { name: "PCIe 4.0 x16".to_owned(), gb_per_s: 31.5, peers: None };
        assert_eq!(architecture.host_link, Some(link));
    }

    #[test]
    fn a_group_has_the_links_that_reach_all_of_it() {
        let architecture = |links: &str| {
            let text = format!(r#"{{"mem_bw_gbps": 1, "peak_tflops": {{}}, {links}}}"#);
            Architecture::from_json(&text).unwrap()
        };
        let host = r#""host_link": {"name": "PCIe", "gbps": 30}"#;
        let each = format!(r#""peer_link": {{"name": "xGMI", "gbps": 64, "peers": 7}}, {host}"#);
        let shared = r#""peer_link": {"name": "NVLink", "gbps": 450}"#;
        for (links, devices, expected) in [
            (&*each, 8, Some(("xGMI", 448.0))),
            (&each, 2, Some(("xGMI", 64.0))),
            (&each, 16, Some(("PCIe", 30.0))),
            (shared, 16, Some(("NVLink", 450.0))),
            (host, 4, Some(("PCIe", 30.0))),
            (host, 1, None),
            (r#""memory_gb": 1"#, 4, None),
        ] {
            let found = architecture(links).group_link(devices);
            let found = found.as_ref().map(|link| (&*link.name, link.gb_per_s));
            assert_eq!(found, expected, "{links} {devices}");
        }
    }

    fn with_peaks(nominal: &str, achievable: &str) -> Architecture {
        let text = format!(
            r#"{{"mem_bw_gbps": 1, "peak_tflops": {{{nominal}}}, "max_achievable_tflops": {{{achievable}}}}}"#
        );
        Architecture::from_json(&text).unwrap()
    }

    #[test]
    fn the_basis_says_which_peaks_count() {
        use PeakBasis::{Achievable, Nominal};
        let (peak, other) = (r#""matrix_bf16": 100"#, r#""matrix_bf16": 70, "vector_fp32": 9"#);
        let cases = [
            (peak, "", Nominal, 100.0, "nominal peaks"),
            (peak, "", Achievable, 100.0, "nominal peaks (no achievable ones)"),
            ("", peak, Nominal, 100.0, "achievable peaks (no nominal ones)"),
            ("", peak, Achievable, 100.0, "achievable peaks"),
            (peak, other, Nominal, 100.0, "nominal peaks"),
            (peak, other, Achievable, 70.0, "achievable peaks"),
            (other, peak, Nominal, 70.0, "nominal peaks"),
            (other, peak, Achievable, 100.0, "achievable peaks, nominal where missing"),
        ];
        for (nominal, achievable, basis, value, words) in cases {
            let found = with_peaks(nominal, achievable).with_basis(basis);
            assert_eq!(found.peak_tflops("matrix_bf16".parse().unwrap()), Some(value), "{words}");
            assert_eq!(found.peaks_in_words(), words);
            let of_other = found.peak_tflops("vector_fp32".parse().unwrap());
            // Figures of two kinds are not mixed without being asked for.
            let mixes = basis == Achievable || nominal.is_empty() || nominal == other;
            assert_eq!(of_other.is_some(), mixes && (nominal == other || achievable == other), "{words}");
        }
    }

    #[test]
    fn work_without_a_peak_is_held_against_the_unit_that_does_it() {
        let cases = [
            ("matrix_fp32", r#""matrix_fp32": 2, "matrix_tf32": 4"#, "matrix_fp32"),
            ("matrix_fp32", r#""matrix_tf32": 4, "vector_fp32": 1"#, "matrix_tf32"),
            ("matrix_fp32", r#""matrix_fp16": 8, "vector_fp32": 1"#, "vector_fp32"),
            ("matrix_tf32", r#""matrix_fp32": 2, "vector_fp32": 1"#, "matrix_fp32"),
            ("matrix_tf32", r#""matrix_fp16": 8, "vector_fp32": 1"#, "vector_fp32"),
            ("matrix_fp64", r#""matrix_fp16": 8, "vector_fp64": 1"#, "vector_fp64"),
            ("vector_bf16", r#""vector_fp32": 1"#, "vector_fp32"),
            // No matrix units at all; with some, a missing peak is unknown.
            ("matrix_fp16", r#""vector_fp16": 1"#, "vector_fp16"),
            ("matrix_fp16", r#""vector_fp16": 1, "matrix_fp8": 2"#, ""),
            ("matrix_fp8", r#""vector_fp32": 1"#, ""),
        ];
        for (spec, peaks, expected) in cases {
            let found = with_peaks(peaks, "").applicable_peak(spec.parse().unwrap());
            let found = found.map_or(String::new(), |(spec, _)| spec.to_string());
            assert_eq!(found, expected, "{spec} {peaks}");
        }
    }

    #[test]
    fn compute_specs_are_read_as_they_are_written() {
        for text in ["matrix_fp8", "matrix_int8", "matrix_fp4", "matrix_tf32", "vector_bf16", "vector_fp64"] {
            assert_eq!(text.parse::<ComputeSpec>().unwrap().to_string(), text);
        }
        for text in ["", "matrix", "matrix_", "matrix_bf16 ", "tensor_bf16", "vector_bf32", "Matrix_bf16"] {
            assert_eq!(text.parse::<ComputeSpec>(), Err(UnknownComputeSpec(text.to_owned())));
        }
    }

    /// Figures as vendors state them, to three decimals: the JSON reader is exact for those.
    fn figure() -> impl Strategy<Value = f64> {
        (1..100_000_000_u32).prop_map(|thousandths| f64::from(thousandths) / 1e3)
    }

    fn peaks_by_name() -> impl Strategy<Value = BTreeMap<String, f64>> {
        let name = "(matrix|vector)_(fp4|fp8|int8|fp16|bf16|tf32|fp32|fp64)|[a-z]{1,9}";
        proptest::collection::btree_map(name, figure(), 0..9)
    }

    proptest! {
        #[test]
        fn every_figure_of_a_file_is_read(
            name in ".*",
            bandwidth in figure(),
            memory_gb in proptest::option::of(figure()),
            nominal in peaks_by_name(),
            achievable in peaks_by_name(),
            source in proptest::option::of(".*"),
        ) {
            let file = serde_json::json!({
                "name": name,
                "mem_bw_gbps": bandwidth,
                "memory_gb": memory_gb,
                "peak_tflops": nominal,
                "max_achievable_tflops": achievable,
                "_reference": source,
            });
            let mut architecture = Architecture {
                name,
                memory_bandwidth_gb_per_s: bandwidth,
                memory_gb,
                source,
                ..Architecture::default()
            };
            let tables = [
                ("peak_tflops", nominal, &mut architecture.nominal_tflops),
                ("max_achievable_tflops", achievable, &mut architecture.achievable_tflops),
            ];
            for (key, peaks, table) in tables {
                for (name, peak) in peaks {
                    match name.parse() {
                        Ok(spec) => drop(table.insert(spec, peak)),
                        Err(_) => architecture.unknown_keys.push(format!("{key}.{name}")),
                    }
                }
            }
            prop_assert_eq!(Architecture::from_json(&file.to_string()), Ok(architecture));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".*|\\{\"(name|mem_bw_gbps|memory_gb|max_achievable_tflops)\": [-0-9{}\\[\\]\"a-z]{0,9}\\}") {
            let _ = Architecture::from_json(&text);
        }
    }
}
