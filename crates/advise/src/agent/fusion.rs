//! Kernels that might be one: those of a module, or of operators side by side.

use std::collections::BTreeMap;

use serde::Serialize;

use super::operation::OperationRow;
use super::{FirstInput, IndexMap, kernel_class};

const MODULE: &str = "nn.Module: ";

/// Kernels that no fusion takes, in lower case.
const EXCLUDED: [&str; 4] = ["nccl", "rccl", "memcpy", "memset"];

/// Kernels that are fused already, in lower case. One of them in a module hides all of it (AQ16).
const FUSED: [&str; 8] = [
    "attn_fwd",
    "attn_bwd",
    "fmha",
    "unified_attention",
    "paged_attention",
    "flash_attn",
    "flash_fwd",
    "silu_and_mul",
];

/// Normalisations, in lower case.
pub(super) const NORMS: [&str; 5] = ["batchnorm", "layernorm", "groupnorm", "instancenorm", "rmsnorm"];

/// Where a candidate stands in the program.
#[derive(Clone, Debug, Default)]
pub struct ScopeOrigin {
    /// Names of the events around it, nearest first.
    pub parents: Vec<String>,
    /// First input of its event, where arguments were recorded.
    pub input: Option<FirstInput>,
}

/// Collects modules and operators side by side, each base name once.
#[derive(Debug, Default)]
pub struct FusionScopes {
    modules: IndexMap<String, Candidate>,
    siblings: IndexMap<String, Candidate>,
}

/// Kernels that might be one.
#[derive(Clone, Debug, Serialize)]
pub struct Candidate {
    /// Event of the first instance.
    pub module_name: String,
    /// The same without what tells instances apart.
    pub base_name: String,
    /// Events around it, nearest first.
    pub parent_chain: Vec<String>,
    /// How often it ran.
    pub instance_count: usize,
    /// Kernels of the first instance.
    pub kernel_count: usize,
    /// Those of them that can be fused.
    pub eligible_kernel_count: usize,
    /// Kernels of the first instance, in their order.
    pub kernels: Vec<CandidateKernel>,
    /// Whether one of them is fused already.
    pub has_fused_kernel: bool,
    /// Kernel time of all instances in µs.
    pub total_kernel_time_us: f64,
    /// `sibling_sequence` for operators side by side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<&'static str>,
    #[serde(skip)]
    pub(super) input: Option<FirstInput>,
}

/// A kernel of a candidate.
#[derive(Clone, Debug, Serialize)]
pub struct CandidateKernel {
    /// Name.
    pub name: String,
    /// What it does, see [`kernel_class`].
    #[serde(rename = "type")]
    pub class: &'static str,
    /// Duration in µs.
    pub dur_us: f64,
    /// What it reads, in units of 1024² bytes.
    pub data_in_mb: Option<f64>,
    /// What it writes.
    pub data_out_mb: Option<f64>,
}

impl CandidateKernel {
    fn contains(&self, texts: &[&str]) -> bool {
        let name = self.name.to_lowercase();
        texts.iter().any(|text| name.contains(text))
    }
}

/// The name without the mark of modules and the number of the instance.
fn base_name(name: &str) -> &str {
    let name = name.strip_prefix(MODULE).unwrap_or(name);
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    match stem.strip_suffix('_') {
        Some(base) if stem.len() < name.len() => base,
        _ => name,
    }
}

fn parent_name(name: &str) -> Option<String> {
    let short = match name.strip_prefix(MODULE) {
        Some(module) => module,
        None => name.rsplit('/').next().unwrap_or(name),
    };
    (!name.is_empty()).then(|| short.to_owned())
}

impl FusionScopes {
    /// Adds a host event with two device events or more below it, in file order of the events. `kernels` are the names and
    /// durations in µs of those that are kernels; `origin` is asked for the first event of each base name.
    pub fn add_module<'k>(
        &mut self,
        name: &str,
        kernels: impl Iterator<Item = (&'k str, f64)>,
        origin: impl FnOnce() -> ScopeOrigin,
    ) {
        let base = base_name(name);
        if base.is_empty() {
            return;
        }
        if let Some(known) = self.modules.get_mut(base) {
            known.instance_count += 1;
            known.total_kernel_time_us += kernels.map(|(_, us)| us).sum::<f64>();
            return;
        }
        let kernels = classified(kernels);
        if kernels.len() >= 2 {
            let candidate = Candidate::new(name, kernels, origin());
            self.modules.insert(base.to_owned(), candidate);
        }
    }

    /// Adds operators with one kernel each below one event, in the order of the unified table's events. `kernels` are names
    /// and durations in µs; `input` is the first input of the event around them.
    pub fn add_siblings<'k>(
        &mut self,
        parent: &str,
        kernels: impl Iterator<Item = (&'k str, f64)>,
        input: Option<FirstInput>,
    ) {
        let kernels = classified(kernels);
        if kernels.len() < 2 {
            return;
        }
        let base = base_name(parent);
        if let Some(known) = self.siblings.get_mut(base) {
            known.instance_count += 1;
            known.total_kernel_time_us += kernels.iter().map(|kernel| kernel.dur_us).sum::<f64>();
            return;
        }
        let origin = ScopeOrigin { parents: Vec::new(), input };
        let candidate = Candidate::new(parent, kernels, origin);
        let candidate = Candidate {
            source: Some("sibling_sequence"),
            eligible_kernel_count: candidate.kernel_count,
            has_fused_kernel: false,
            ..candidate
        };
        self.siblings.insert(base.to_owned(), candidate);
    }

    /// The candidates, most time first.
    pub(super) fn candidates(&self, modelled: &ModelledKernels<'_>) -> Vec<Candidate> {
        let is_kept = |candidate: &&Candidate| {
            !candidate.has_fused_kernel
                && candidate.eligible_kernel_count >= 2
                && !candidate.is_product_with_norms()
        };
        let all = self.modules.values().filter(is_kept).chain(self.siblings.values());
        // Candidates of the same kernels: the one that is a module, then the deepest; the first of equal ones.
        let mut distinct: IndexMap<Vec<String>, Candidate> = IndexMap::default();
        for candidate in all {
            let mut candidate = candidate.clone();
            candidate.narrow_to_attention(modelled);
            let names = candidate.kernels.iter().map(|kernel| kernel.name.clone()).collect();
            match distinct.entry(names) {
                indexmap::map::Entry::Occupied(mut known) => {
                    if candidate.depth() > known.get().depth() {
                        known.insert(candidate);
                    }
                }
                indexmap::map::Entry::Vacant(place) => {
                    place.insert(candidate);
                }
            }
        }
        let mut candidates: Vec<Candidate> = distinct.into_values().collect();
        for candidate in &mut candidates {
            for kernel in &mut candidate.kernels {
                let row = modelled.row(&kernel.name, candidate.input.as_ref());
                let data = row.and_then(data_in_and_out);
                (kernel.data_in_mb, kernel.data_out_mb) = data.unzip();
            }
        }
        candidates.sort_by(|a, b| b.total_kernel_time_us.total_cmp(&a.total_kernel_time_us));
        candidates
    }
}

fn classified<'k>(kernels: impl Iterator<Item = (&'k str, f64)>) -> Vec<CandidateKernel> {
    let kernel = |(name, dur_us): (&str, f64)| CandidateKernel {
        name: name.to_owned(),
        class: kernel_class(name),
        dur_us,
        data_in_mb: None,
        data_out_mb: None,
    };
    kernels.map(kernel).collect()
}

impl Candidate {
    fn new(name: &str, kernels: Vec<CandidateKernel>, origin: ScopeOrigin) -> Self {
        let is_eligible = |kernel: &&CandidateKernel| !kernel.contains(&EXCLUDED) && !kernel.contains(&FUSED);
        Candidate {
            module_name: name.to_owned(),
            base_name: base_name(name).to_owned(),
            parent_chain: origin.parents.iter().filter_map(|parent| parent_name(parent)).collect(),
            instance_count: 1,
            kernel_count: kernels.len(),
            eligible_kernel_count: kernels.iter().filter(is_eligible).count(),
            has_fused_kernel: kernels.iter().any(|kernel| kernel.contains(&FUSED)),
            total_kernel_time_us: kernels.iter().map(|kernel| kernel.dur_us).sum(),
            source: None,
            input: origin.input,
            kernels,
        }
    }

    fn depth(&self) -> (bool, usize) {
        (self.module_name.starts_with("nn.Module:"), self.parent_chain.len())
    }

    /// Products followed by normalisations only are folded into weights, not fused.
    fn is_product_with_norms(&self) -> bool {
        let is_product = |kernel: &&CandidateKernel| kernel.class == "GEMM" || kernel.contains(&["conv"]);
        let (products, rest): (Vec<_>, Vec<_>) = self.kernels.iter().partition(is_product);
        // No kernel has one of the two types; the reference asks for them.
        let is_norm = |kernel: &&CandidateKernel| {
            kernel.contains(&NORMS) || ["Elementwise Add", "Copy/Cast"].contains(&kernel.class)
        };
        !products.is_empty() && !rest.is_empty() && rest.iter().all(is_norm)
    }

    /// Of attention without a fused kernel, leaves the two products and what is between them.
    fn narrow_to_attention(&mut self, modelled: &ModelledKernels<'_>) {
        let is_product = |kernel: &CandidateKernel| modelled.is_product(&kernel.name);
        let core = self.kernels.iter().enumerate().find_map(|(at, kernel)| {
            let first = self.kernels[..at].iter().rposition(is_product);
            let last = self.kernels[at + 1..].iter().position(is_product).map(|after| at + 1 + after);
            kernel.contains(&["softmax"]).then_some(first?..=last?)
        });
        if let Some(core) = core {
            self.kernels = self.kernels[core].to_vec();
            self.kernel_count = self.kernels.len();
            self.eligible_kernel_count = self.kernels.len();
            let of_one: f64 = self.kernels.iter().map(|kernel| kernel.dur_us).sum();
            self.total_kernel_time_us = of_one * self.instance_count as f64;
        }
    }
}

/// What a row's calls read and write, in units of 1024² bytes.
fn data_in_and_out(row: &OperationRow) -> Option<(f64, f64)> {
    let data = row.mebibytes?;
    let half = (data != 0.0).then_some((data / 2.0, data / 2.0));
    match (row.category.as_str(), row.product) {
        ("GEMM", Some([m, n, k])) if m != 0 && n != 0 && k != 0 => {
            let [m, n, k] = [m, n, k].map(|extent| extent as f64);
            let (inputs, output) = (m * k + k * n, m * n);
            Some((data * inputs / (inputs + output), data * m * n / (inputs + output)))
        }
        ("reduce", _) => Some((data, 0.0)),
        ("elementwise", _) if row.is_binary => Some((data * 2.0 / 3.0, data / 3.0)),
        _ => half,
    }
}

/// Rows by the kernels that they list and their first input.
pub(super) struct ModelledKernels<'r> {
    by_name: IndexMap<&'r str, IndexMap<Option<&'r FirstInput>, &'r OperationRow>>,
    /// Places of names by their order in the alphabet, in which all that begin alike stand together.
    sorted: BTreeMap<&'r str, usize>,
}

impl<'r> ModelledKernels<'r> {
    pub(super) fn new(rows: &'r [OperationRow]) -> Self {
        let mut by_name: IndexMap<&str, IndexMap<Option<&FirstInput>, &OperationRow>> = IndexMap::default();
        for row in rows {
            for name in row.listed_kernels() {
                by_name.entry(name).or_default().entry(row.input.as_ref()).or_insert(row);
            }
        }
        let sorted = by_name.keys().enumerate().map(|(place, &name)| (name, place)).collect();
        ModelledKernels { by_name, sorted }
    }

    /// The rows that list a kernel, else those of the first name that begins it, or that it begins.
    fn rows(&self, name: &str) -> Option<&IndexMap<Option<&'r FirstInput>, &'r OperationRow>> {
        if let Some(rows) = self.by_name.get(name) {
            return Some(rows);
        }
        let longer = self.sorted.range(name..).take_while(|(other, _)| other.starts_with(name));
        let shorter = name.char_indices().filter_map(|(end, _)| self.sorted.get_key_value(&name[..end]));
        let first = longer.chain(shorter).map(|(_, &place)| place).min()?;
        Some(&self.by_name[first])
    }

    /// The row of a kernel with this first input, else the first of the kernel.
    pub(super) fn row(&self, name: &str, input: Option<&FirstInput>) -> Option<&'r OperationRow> {
        let rows = self.rows(name)?;
        rows.get(&input).or_else(|| rows.values().next()).copied()
    }

    fn is_product(&self, name: &str) -> bool {
        self.rows(name).is_some_and(|rows| rows.values().any(|row| row.category == "GEMM"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(scopes: &mut FusionScopes, name: &str, kernels: &[(&'static str, f64)], parents: usize) {
        let parents = vec!["/srv/model.py(3): forward".to_owned(); parents];
        scopes.add_module(name, kernels.iter().copied(), || ScopeOrigin { parents, input: None });
    }

    fn row(category: &str, kernels: &[&str], input: &[i64]) -> OperationRow {
        OperationRow {
            category: category.to_owned(),
            kernels: kernels.iter().map(|&name| name.to_owned()).collect(),
            input: Some(FirstInput::Tensor(input.to_vec())),
            mebibytes: Some(6.0),
            ..OperationRow::default()
        }
    }

    #[test]
    fn names_lose_the_number_of_their_instance() {
        let cases = [
            ("nn.Module: Qwen2MLP_3", "Qwen2MLP"),
            ("nn.Module: Linear", "Linear"),
            ("BatchNorm2d_12", "BatchNorm2d"),
            ("model.py(218): forward", "model.py(218): forward"),
            ("conv2d", "conv2d"),
            ("_7", ""),
        ];
        for (name, base) in cases {
            assert_eq!(base_name(name), base);
        }
        assert_eq!(parent_name("/srv/model.py(3): forward").as_deref(), Some("model.py(3): forward"));
        assert_eq!(parent_name("nn.Module: A/B").as_deref(), Some("A/B"));
    }

    #[test]
    fn instances_of_a_module_are_one_candidate_with_the_kernels_of_the_first() {
        let mut scopes = FusionScopes::default();
        add(&mut scopes, "nn.Module: Norm_0", &[("pow", 2.0), ("rsqrt", 3.0)], 1);
        add(&mut scopes, "nn.Module: Norm_1", &[("pow", 1.0), ("mean", 1.0), ("rsqrt", 1.0)], 1);
        add(&mut scopes, "nn.Module: Single_0", &[("pow", 1.0)], 1);
        let candidates = scopes.candidates(&ModelledKernels::new(&[]));
        let [norm] = &candidates[..] else { panic!("{candidates:?}") };
        assert_eq!((norm.instance_count, norm.kernel_count, norm.total_kernel_time_us), (2, 2, 8.0));
        assert_eq!(norm.parent_chain, ["model.py(3): forward"]);
    }

    #[test]
    fn fused_excluded_and_folded_kernels_are_no_candidates() {
        let cases: [(&[(&str, f64)], usize); 4] = [
            (&[("pow", 1.0), ("fmha_fwd", 1.0), ("mul", 1.0)], 0),
            (&[("pow", 1.0), ("ncclDevKernel", 1.0)], 0),
            (&[("Cijk_Ailk", 1.0), ("MIOpenBatchNormFwd", 1.0)], 0),
            (&[("Cijk_Ailk", 1.0), ("relu", 1.0)], 1),
        ];
        for (kernels, count) in cases {
            let mut scopes = FusionScopes::default();
            scopes.add_module("nn.Module: M_0", kernels.iter().copied(), ScopeOrigin::default);
            assert_eq!(scopes.candidates(&ModelledKernels::new(&[])).len(), count, "{kernels:?}");
        }
    }

    #[test]
    fn attention_is_narrowed_to_its_products() {
        let rows = [row("GEMM", &["Cijk_Ailk"], &[4, 4])];
        let mut scopes = FusionScopes::default();
        let kernels = [
            ("copy", 1.0),
            ("Cijk_Ailk", 2.0),
            ("scale", 3.0),
            ("softmax_warp", 4.0),
            ("Cijk_Ailk_long", 5.0),
            ("copy", 6.0),
        ];
        for instance in 0..3 {
            add(&mut scopes, &format!("nn.Module: Attention_{instance}"), &kernels, 1);
        }
        let candidates = scopes.candidates(&ModelledKernels::new(&rows));
        let kernels: Vec<&str> = candidates[0].kernels.iter().map(|kernel| kernel.name.as_str()).collect();
        assert_eq!(kernels, ["Cijk_Ailk", "scale", "softmax_warp", "Cijk_Ailk_long"]);
        assert_eq!(candidates[0].total_kernel_time_us, 42.0);
    }

    #[test]
    fn of_candidates_with_the_same_kernels_the_module_then_the_deepest_stays() {
        let mut scopes = FusionScopes::default();
        let kernels = [("pow", 1.0), ("mul", 1.0)];
        add(&mut scopes, "forward", &kernels, 9);
        add(&mut scopes, "nn.Module: Outer_0", &kernels, 1);
        add(&mut scopes, "nn.Module: Inner_0", &kernels, 2);
        add(&mut scopes, "nn.Module: Other_0", &kernels, 2);
        scopes.add_siblings("forward", kernels.into_iter(), None);
        let candidates = scopes.candidates(&ModelledKernels::new(&[]));
        let names: Vec<&str> = candidates.iter().map(|candidate| candidate.base_name.as_str()).collect();
        assert_eq!(names, ["Inner"]);
    }

    #[test]
    fn kernels_are_found_by_name_then_by_its_beginning_and_shape() {
        let rows = [
            row("elementwise", &["void add<4>"], &[1]),
            row("reduce", &["void add<4>"], &[2]),
            row("GEMM", &["void ad"], &[3]),
        ];
        let kernels = ModelledKernels::new(&rows);
        let category = |name: &str, input: &[i64]| {
            let input = FirstInput::Tensor(input.to_vec());
            kernels.row(name, Some(&input)).map(|row| row.category.as_str())
        };
        assert_eq!(category("void add<4>", &[2]), Some("reduce"));
        assert_eq!(category("void add<4>", &[9]), Some("elementwise"));
        // Both names begin it; the first row's counts.
        assert_eq!(category("void add<4>(int)", &[9]), Some("elementwise"));
        assert_eq!(category("void a", &[9]), Some("elementwise"));
        assert_eq!(category("void ad(int)", &[9]), Some("GEMM"));
        assert_eq!(category("other", &[9]), None);
    }

    #[test]
    fn data_is_divided_by_what_the_operator_reads_and_writes() {
        let base = row("elementwise", &[], &[]);
        let cases = [
            (OperationRow { is_binary: true, ..base.clone() }, Some((4.0, 2.0))),
            (base.clone(), Some((3.0, 3.0))),
            (row("reduce", &[], &[]), Some((6.0, 0.0))),
            (OperationRow { product: Some([2, 2, 2]), ..row("GEMM", &[], &[]) }, Some((4.0, 2.0))),
            (OperationRow { product: Some([0, 2, 2]), ..row("GEMM", &[], &[]) }, Some((3.0, 3.0))),
            (OperationRow { mebibytes: None, ..base }, None),
        ];
        for (row, data) in cases {
            assert_eq!(data_in_and_out(&row), data, "{row:?}");
        }
    }
}
