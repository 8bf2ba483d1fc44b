//! A row of the report, and the categories of operations by name.

use std::sync::LazyLock;

use trace_ingest::StringId;

/// What a row of the report is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OpKind {
    /// An operation of a device.
    #[default]
    Device,
    /// An operation of the host.
    Host,
    /// A mark of the program.
    Signpost,
}

/// Which figures an operation's model has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Analysed {
    /// DRAM and FLOPs.
    Full,
    /// FLOPs.
    FlopsOnly,
    /// DRAM.
    DramOnly,
    /// None.
    #[default]
    None,
}

/// What bounds an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// At least 65% of the DRAM bandwidth.
    Dram,
    /// At least 65% of the FLOPs.
    Flop,
    /// Both.
    Both,
    /// Neither.
    Slow,
    /// It runs on the host.
    Host,
}

/// Category of an operation, in the order of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum OpCategory {
    /// Arithmetic.
    Compute,
    /// Communication between devices (collective communication library).
    Ccl,
    /// Tensor manipulation: layout and shape.
    Tm,
    /// Data movement.
    Dm,
    /// On the host.
    Host,
    /// Any other.
    Other,
}

/// Batches of a sparse matrix product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SparseBatches {
    /// Products that are computed; `None` when neither the operation nor the user says.
    pub active: Option<u64>,
    /// Products that a dense operation would compute.
    pub dense: u64,
}

/// A row of the report: an operation of a device (or the same operation of all devices), of the host, or a signpost.
/// Figures are `None` where there are none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Op {
    /// Position of the row of the table that it stands for.
    pub row: u32,
    /// ID: line in a spreadsheet of the file.
    pub id: u32,
    /// What it is.
    pub kind: OpKind,
    /// Name with the sizes of what it computes: `Matmul 3200 x 1792 x 1536`.
    pub label: String,
    /// `OP CODE`
    pub raw_op_code: StringId,
    /// Device.
    pub device: Option<u32>,
    /// Positions of the rows of other devices that it stands for too.
    pub merged_rows: Vec<u32>,
    /// Time on the device, in microseconds.
    pub device_time_us: Option<f64>,
    /// Time on the host of a host operation, in microseconds.
    pub host_time_us: Option<f64>,
    /// From the end of the operation before, in microseconds.
    pub gap_us: Option<f64>,
    /// Whether its duration cannot be right.
    pub invalid_duration: bool,
    /// Cores that it ran on.
    pub cores: Option<u32>,
    /// Cores that it could have run on.
    pub available_cores: u32,
    /// Bytes moved from and to DRAM.
    pub bytes: Option<f64>,
    /// In 1e9 bytes per second.
    pub dram_gb_per_s: Option<f64>,
    /// Of the chip's bandwidth.
    pub dram_percent: Option<f64>,
    /// In 1e12 operations per second.
    pub tflop_per_s: Option<f64>,
    /// Of what its cores reach at its fidelity.
    pub flops_percent: Option<f64>,
    /// Fidelity and datatypes: `HiFi2 BF16 x BFP8 => BF16`.
    pub math_fidelity: String,
    /// Whether its weights are sharded over DRAM banks.
    pub dram_sharded: bool,
    /// `in0_block_w` of the program configuration.
    pub inner_block_width: Option<u32>,
    /// `out_subblock_h` of the program configuration.
    pub out_subblock_h: Option<u32>,
    /// `out_subblock_w` of the program configuration.
    pub out_subblock_w: Option<u32>,
    /// Category; signposts have none.
    pub category: Option<OpCategory>,
    /// Which figures its model has.
    pub analysed: Analysed,
    /// Batches, for sparse products.
    pub sparse: Option<SparseBatches>,
    /// Device time and gap, of those of all rows.
    pub total_percent: Option<f64>,
    /// Device time, of that of all rows.
    pub device_percent: Option<f64>,
    /// What bounds it.
    pub bound: Option<Bound>,
}

/// How many rows there are of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Operations of devices.
    pub device_ops: usize,
    /// Operations of the host.
    pub host_ops: usize,
    /// Signposts.
    pub signposts: usize,
}

impl Counts {
    /// Counts rows.
    pub fn of<'a>(ops: impl IntoIterator<Item = &'a Op>) -> Counts {
        ops.into_iter().fold(Counts::default(), |mut counts, op| {
            match op.kind {
                OpKind::Device => counts.device_ops += 1,
                OpKind::Host => counts.host_ops += 1,
                OpKind::Signpost => counts.signposts += 1,
            }
            counts
        })
    }

    /// Rows of any kind.
    pub fn rows(&self) -> usize {
        self.device_ops + self.host_ops + self.signposts
    }
}

impl Bound {
    /// Name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Bound::Dram => "DRAM",
            Bound::Flop => "FLOP",
            Bound::Both => "BOTH",
            Bound::Slow => "SLOW",
            Bound::Host => "HOST",
        }
    }
}

impl OpCategory {
    /// Name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            OpCategory::Compute => "Compute",
            OpCategory::Ccl => "CCL",
            OpCategory::Tm => "TM",
            OpCategory::Dm => "DM",
            OpCategory::Host => "Host",
            OpCategory::Other => "Other",
        }
    }

    /// Name for those who do not know the abbreviations.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            OpCategory::Compute => "compute",
            OpCategory::Ccl => "communication",
            OpCategory::Tm => "tensor manipulation",
            OpCategory::Dm => "data movement",
            OpCategory::Host => "host",
            OpCategory::Other => "unknown category",
        }
    }
}

impl Analysed {
    /// Name in reports.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Analysed::Full => "full",
            Analysed::FlopsOnly => "flops_only",
            Analysed::DramOnly => "dram_only",
            Analysed::None => "none",
        }
    }
}

const SUFFIX: &str = "DeviceOperation";

/// What the name of an operation that ran on the host ends in.
pub(crate) const HOST_MARK: &str = "(torch)";

/// Names by category, as they are or with `DeviceOperation` behind them.
static NAMES: LazyLock<[(OpCategory, Vec<&str>); 4]> = LazyLock::new(|| {
    [
        (
            OpCategory::Compute,
            "AllGatherMatmul RMSAllGather ScaledDotProductAttentionDecode SdpaDecode RotaryEmbeddingLlama \
             RotaryEmbedding SDPAOperation OptimizedConvNew Conv2d Matmul BinaryNg Binary Unary Pool2D \
             UpSample UpsampleOperation GroupNorm GridSample Accumulation LayerNorm \
             ScaledDotProductAttention Reduce FastReduceNC ArgMax Softmax Embeddings MinimalMatmulOp \
             SparseMatmul IntImg GridSampleOperation MoeGroupedTopk MaskedBincount OffsetCumsum \
             UnifiedRoutedExpertFfn PostCombineReduce",
        ),
        (
            OpCategory::Dm,
            "PagedUpdateCacheDeviceOperation Move Copy InterleavedToSharded ShardedToInterleaved \
             InterleavedToShardedPartial ShardedToInterleavedPartial Halo Where CloneOperation Reshard",
        ),
        (
            OpCategory::Ccl,
            "AllGather AllGatherAsync AllGatherConcat ReduceScatter ReduceScatterMinimalAsync \
             ReduceScatterMinimalDirect StridedReduceScatterAsync LlamaReduceScatter \
             DeepseekMoEReduceScatter StridedAllGatherAsync SliceReshardAsync SelectiveReduceCombine \
             ReduceToRootOp AllReduceAsync AllToAllAsync AllToAllAsyncGeneric AllToAllDispatch \
             AllToAllDispatchMetadata AllToAllCombine AllBroadcast Broadcast SendAsync RecvAsync \
             SendDirectAsync RecvDirectAsync Dispatch Combine",
        ),
        (
            OpCategory::Tm,
            "NLPCreateHeadsDecodeDeviceOperation NLPCreateQKVHeadsDecodeDeviceOperation \
             NLPConcatHeadsDecodeDeviceOperation Fold CreateQKVHeadsDeviceOperation ConcatenateHeads \
             Reshape ReshapeView Transpose Permute Slice PaddedSlice SliceWrite Concat Split Repeat \
             TilizeWithValPadding Tilize UntilizeWithUnpadding Untilize Typecast NLPConcatHeads \
             NlpCreateHeads Ternary FillPad PadDeviceOperation",
        ),
    ]
    .map(|(category, names)| (category, names.split_whitespace().collect()))
});

/// What names of attention have in them, such as `RingJointSDPADeviceOperation` and `RingDistributedSdpa`: tt-metal adds
/// one for each way to spread it over a device and over several.
const ATTENTION: [&str; 3] = ["SDPA", "Sdpa", "ScaledDotProductAttention"];

/// Category of a label, by its first word: the listed one, that of attention where `listed_only` does not forbid it, and
/// [`OpCategory::Other`] for all other names.
pub(crate) fn category(label: &str, listed_only: bool) -> OpCategory {
    if label.contains(HOST_MARK) {
        return OpCategory::Host;
    }
    let name = label.split_whitespace().next().unwrap_or_default();
    let is_it =
        |known: &&str| name == *known || name.strip_suffix(SUFFIX).is_some_and(|short| short == *known);
    let listed = NAMES.iter().find(|(_, names)| names.iter().any(&is_it)).map(|(category, _)| *category);
    let is_attention = !listed_only && ATTENTION.iter().any(|part| name.contains(part));
    listed.or(is_attention.then_some(OpCategory::Compute)).unwrap_or(OpCategory::Other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_decides_with_and_without_its_suffix() {
        let cases = [
            ("Matmul 32 x 64 x 32", OpCategory::Compute),
            ("MatmulDeviceOperation 32 x 64 x 32", OpCategory::Compute),
            ("HaloDeviceOperation w=(3,3)", OpCategory::Dm),
            ("PagedUpdateCacheDeviceOperation", OpCategory::Dm),
            ("ReduceScatterMinimalAsyncDeviceOperation", OpCategory::Ccl),
            ("PadDeviceOperation", OpCategory::Tm),
            ("Pad", OpCategory::Other),
            ("DeviceOperation", OpCategory::Other),
            ("add (torch)", OpCategory::Host),
            ("Matmul (torch)", OpCategory::Host),
            ("", OpCategory::Other),
        ];
        for (label, expected) in cases {
            assert_eq!(category(label, false), expected, "{label}");
            assert_eq!(category(label, true), expected, "{label}");
        }
    }

    #[test]
    fn attention_is_compute_under_all_its_names() {
        for label in ["RingJointSDPADeviceOperation 1 x 8", "JointSDPA", "RingDistributedSdpaDeviceOperation"]
        {
            assert_eq!(category(label, false), OpCategory::Compute, "{label}");
            assert_eq!(category(label, true), OpCategory::Other, "{label}");
        }
    }

    #[test]
    fn no_name_is_in_two_categories() {
        let mut names: Vec<&str> = NAMES.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }
}
