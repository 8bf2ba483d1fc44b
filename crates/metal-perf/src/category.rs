//! Categories of operations, by name.

use crate::op::OpCategory;

const SUFFIX: &str = "DeviceOperation";

/// What the name of an operation that ran on the host ends in.
pub(crate) const HOST_MARK: &str = "(torch)";

/// Names by category, as they are or with `DeviceOperation` behind them.
const NAMES: &[(OpCategory, &[&str])] = &[
    (
        OpCategory::Compute,
        &[
            "AllGatherMatmul",
            "RMSAllGather",
            "ScaledDotProductAttentionDecode",
            "SdpaDecode",
            "RotaryEmbeddingLlama",
            "RotaryEmbedding",
            "SDPAOperation",
            "OptimizedConvNew",
            "Conv2d",
            "Matmul",
            "BinaryNg",
            "Binary",
            "Unary",
            "Pool2D",
            "UpSample",
            "UpsampleOperation",
            "GroupNorm",
            "GridSample",
            "Accumulation",
            "LayerNorm",
            "ScaledDotProductAttention",
            "Reduce",
            "FastReduceNC",
            "ArgMax",
            "Softmax",
            "Embeddings",
            "MinimalMatmulOp",
            "SparseMatmul",
            "IntImg",
            "GridSampleOperation",
            "MoeGroupedTopk",
            "MaskedBincount",
            "OffsetCumsum",
            "UnifiedRoutedExpertFfn",
            "PostCombineReduce",
        ],
    ),
    (
        OpCategory::Dm,
        &[
            "PagedUpdateCacheDeviceOperation",
            "Move",
            "Copy",
            "InterleavedToSharded",
            "ShardedToInterleaved",
            "InterleavedToShardedPartial",
            "ShardedToInterleavedPartial",
            "Halo",
            "Where",
            "CloneOperation",
            "Reshard",
        ],
    ),
    (
        OpCategory::Ccl,
        &[
            "AllGather",
            "AllGatherAsync",
            "AllGatherConcat",
            "ReduceScatter",
            "ReduceScatterMinimalAsync",
            "ReduceScatterMinimalDirect",
            "StridedReduceScatterAsync",
            "LlamaReduceScatter",
            "DeepseekMoEReduceScatter",
            "StridedAllGatherAsync",
            "SliceReshardAsync",
            "SelectiveReduceCombine",
            "ReduceToRootOp",
            "AllReduceAsync",
            "AllToAllAsync",
            "AllToAllAsyncGeneric",
            "AllToAllDispatch",
            "AllToAllDispatchMetadata",
            "AllToAllCombine",
            "AllBroadcast",
            "Broadcast",
            "SendAsync",
            "RecvAsync",
            "SendDirectAsync",
            "RecvDirectAsync",
            "Dispatch",
            "Combine",
        ],
    ),
    (
        OpCategory::Tm,
        &[
            "NLPCreateHeadsDecodeDeviceOperation",
            "NLPCreateQKVHeadsDecodeDeviceOperation",
            "NLPConcatHeadsDecodeDeviceOperation",
            "Fold",
            "CreateQKVHeadsDeviceOperation",
            "ConcatenateHeads",
            "Reshape",
            "ReshapeView",
            "Transpose",
            "Permute",
            "Slice",
            "PaddedSlice",
            "SliceWrite",
            "Concat",
            "Split",
            "Repeat",
            "TilizeWithValPadding",
            "Tilize",
            "UntilizeWithUnpadding",
            "Untilize",
            "Typecast",
            "NLPConcatHeads",
            "NlpCreateHeads",
            "Ternary",
            "FillPad",
            "PadDeviceOperation",
        ],
    ),
];

/// Category of a label, by its first word; [`OpCategory::Other`] for names that no category has.
pub(crate) fn category(label: &str) -> OpCategory {
    if label.contains(HOST_MARK) {
        return OpCategory::Host;
    }
    let name = label.split_whitespace().next().unwrap_or_default();
    let is_it =
        |known: &&str| name == *known || name.strip_suffix(SUFFIX).is_some_and(|short| short == *known);
    NAMES
        .iter()
        .find(|(_, names)| names.iter().any(&is_it))
        .map_or(OpCategory::Other, |(category, _)| *category)
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
            ("RingJointSDPADeviceOperation", OpCategory::Other),
            ("DeviceOperation", OpCategory::Other),
            ("add (torch)", OpCategory::Host),
            ("Matmul (torch)", OpCategory::Host),
            ("", OpCategory::Other),
        ];
        for (label, expected) in cases {
            assert_eq!(category(label), expected, "{label}");
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
