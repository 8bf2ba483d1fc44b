//! What runs: the operations of an iteration, in order.

/// Something that happens once.
#[derive(Debug, Clone, Copy)]
pub(super) enum Step {
    /// A mark of the program.
    Signpost(&'static str),
    /// An operation that ran on the host: name and its time in nanoseconds.
    Host(&'static str, u64),
    /// An operation of all devices.
    Device(&'static Operation),
}

/// An operation of the devices.
#[derive(Debug)]
pub(super) struct Operation {
    pub(super) code: &'static str,
    pub(super) attributes: &'static str,
    pub(super) fidelity: &'static str,
    pub(super) cores: u64,
    pub(super) inputs: &'static [Tensor],
    pub(super) output: Tensor,
    /// About so long, in nanoseconds.
    pub(super) duration: u64,
    /// Whether devices that come early wait in it for the others.
    pub(super) waits: bool,
}

/// Z, Y and X; W is 1.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tensor {
    pub(super) padded: [u64; 3],
    pub(super) logical: [u64; 3],
    pub(super) datatype: &'static str,
    pub(super) memory: &'static str,
}

const BF16: &str = "BFLOAT16";
const BFP8: &str = "BFLOAT8_B";
const DRAM: &str = "DRAM_INTERLEAVED";
const L1: &str = "L1_INTERLEAVED";
const HEIGHT: &str = "L1_HEIGHT_SHARDED";

const fn tensor(padded: [u64; 3], datatype: &'static str, memory: &'static str) -> Tensor {
    Tensor { padded, logical: padded, datatype, memory }
}

const fn hidden(memory: &'static str) -> Tensor {
    Tensor { logical: [1, 1003, 2048], ..tensor([1, 1024, 2048], BF16, memory) }
}

const fn weights(rows: u64, columns: u64) -> Tensor {
    tensor([1, rows, columns], BFP8, DRAM)
}

const fn elementwise(
    code: &'static str,
    inputs: &'static [Tensor],
    output: Tensor,
    duration: u64,
) -> Operation {
    let attributes = "{'output_dtype': 'DataType::BFLOAT16'}";
    Operation { code, attributes, fidelity: "HiFi4", cores: 110, inputs, output, duration, waits: false }
}

const fn matmul(
    attributes: &'static str,
    cores: u64,
    inputs: &'static [Tensor],
    output: Tensor,
    duration: u64,
) -> Operation {
    let code = "MatmulDeviceOperation";
    Operation { code, attributes, fidelity: "HiFi2", cores, inputs, output, duration, waits: false }
}

const fn collective(
    code: &'static str,
    inputs: &'static [Tensor],
    output: Tensor,
    duration: u64,
) -> Operation {
    let attributes = "{'num_links': '2'; 'topology': 'Topology::Ring'}";
    Operation { code, attributes, fidelity: "", cores: 20, inputs, output, duration, waits: true }
}

const MULTICAST: &str = "{'output_dtype': 'DataType::BFLOAT16'; 'program_config': \
    'MatmulMultiCoreReuseMultiCastProgramConfig(in0_block_w=8;out_subblock_h=2;out_subblock_w=4)'; 'transpose_b': 'false'}";
const SMALL_BLOCKS: &str = "{'output_dtype': 'DataType::BFLOAT16'; 'program_config': \
    'MatmulMultiCoreReuseMultiCastProgramConfig(in0_block_w=1;out_subblock_h=1;out_subblock_w=1)'; 'transpose_b': 'false'}";
const DRAM_SHARDED: &str = "{'output_dtype': 'DataType::BFLOAT16'; 'program_config': \
    'MatmulMultiCoreReuseMultiCastDRAMShardedProgramConfig(in0_block_w=4;per_core_M=1;per_core_N=8)'}";
const UNCONFIGURED: &str = "{'output_dtype': 'DataType::BFLOAT16'; 'transpose_b': 'false'}";
const WINDOW: &str = "{'sliding_window_config': 'SlidingWindowConfig(window_hw=(3;3); stride_hw=(1;1); \
    padding=((1; 1); (1; 1)); dilation_hw=(1;1); groups=1)'; 'memory_layout=TensorMemoryLayout::HEIGHT_SHARDED;'; \
    'per_core_out_matrix_height_ntile=8;'; 'act_block_h_ntiles=4;'; 'enable_act_double_buffer': 'true'}";

const IMAGE: Tensor = tensor([1, 16384, 32], BF16, HEIGHT);
const ONE_TOKEN: Tensor = Tensor { logical: [1, 1, 2048], ..tensor([1, 32, 2048], BF16, L1) };

const HALO: Operation = Operation {
    code: "HaloDeviceOperation",
    attributes: WINDOW,
    fidelity: "",
    cores: 64,
    inputs: &[IMAGE],
    output: IMAGE,
    duration: 6_400,
    waits: false,
};
const CONV: Operation = Operation {
    code: "Conv2dDeviceOperation",
    attributes: WINDOW,
    fidelity: "LoFi",
    cores: 64,
    inputs: &[IMAGE, tensor([1, 288, 64], BFP8, DRAM)],
    output: tensor([1, 16384, 64], BF16, HEIGHT),
    duration: 14_000,
    waits: false,
};
const RESHARD: Operation =
    elementwise("ReshardDeviceOperation", &[IMAGE], tensor([1, 16384, 32], BF16, L1), 9_000);
const LAYER_NORM: Operation = elementwise("LayerNormDeviceOperation", &[hidden(DRAM)], hidden(L1), 21_000);
const QKV: Operation =
    matmul(MULTICAST, 88, &[hidden(L1), weights(2048, 3072)], tensor([1, 1024, 3072], BF16, DRAM), 92_000);
const CREATE_HEADS: Operation = elementwise(
    "NlpCreateHeadsDeviceOperation",
    &[tensor([1, 1024, 3072], BF16, DRAM)],
    tensor([16, 1024, 128], BF16, DRAM),
    33_000,
);
const ATTENTION: Operation = elementwise(
    "SDPAOperation",
    &[tensor([16, 1024, 128], BF16, DRAM), tensor([4, 1024, 128], BFP8, DRAM)],
    tensor([16, 1024, 128], BF16, DRAM),
    140_000,
);
const CONCAT_HEADS: Operation = elementwise(
    "NLPConcatHeadsDeviceOperation",
    &[tensor([16, 1024, 128], BF16, DRAM)],
    hidden(DRAM),
    24_000,
);
const OUT: Operation = matmul(SMALL_BLOCKS, 64, &[hidden(DRAM), weights(2048, 2048)], hidden(DRAM), 118_000);
const REDUCE_SCATTER: Operation = collective(
    "ReduceScatterMinimalAsyncDeviceOperation",
    &[hidden(DRAM)],
    tensor([1, 1024, 512], BF16, DRAM),
    160_000,
);
const ALL_GATHER: Operation =
    collective("AllGatherAsyncDeviceOperation", &[tensor([1, 1024, 512], BF16, DRAM)], hidden(DRAM), 120_000);
const FEED_FORWARD: Operation =
    matmul(MULTICAST, 110, &[hidden(DRAM), weights(2048, 8192)], tensor([1, 1024, 8192], BFP8, L1), 140_000);
const ACTIVATION: Operation = elementwise(
    "UnaryDeviceOperation",
    &[tensor([1, 1024, 8192], BFP8, L1)],
    tensor([1, 1024, 8192], BFP8, L1),
    17_000,
);
const PROJECTION: Operation = matmul(
    UNCONFIGURED,
    110,
    &[tensor([1, 1024, 8192], BFP8, L1), weights(8192, 2048)],
    hidden(DRAM),
    190_000,
);
const LOGITS: Operation =
    matmul(DRAM_SHARDED, 8, &[ONE_TOKEN, weights(2048, 32768)], tensor([1, 32, 32768], BF16, L1), 171_000);

const STEM: [Step; 3] = [Step::Device(&HALO), Step::Device(&CONV), Step::Device(&RESHARD)];
const LAYER: [Step; 11] = [
    Step::Device(&LAYER_NORM),
    Step::Device(&QKV),
    Step::Device(&CREATE_HEADS),
    Step::Device(&ATTENTION),
    Step::Device(&CONCAT_HEADS),
    Step::Device(&OUT),
    Step::Device(&REDUCE_SCATTER),
    Step::Device(&ALL_GATHER),
    Step::Device(&FEED_FORWARD),
    Step::Device(&ACTIVATION),
    Step::Device(&PROJECTION),
];
const LAYERS: usize = 2;

/// All that happens, without end: a warm-up, then iterations.
pub(super) fn steps() -> impl Iterator<Item = Step> {
    let iteration = |name: &'static str, end: &'static str| {
        std::iter::once(Step::Signpost(name))
            .chain(STEM)
            .chain(std::iter::repeat_n(LAYER, LAYERS).flatten())
            .chain([Step::Device(&LOGITS), Step::Host("argmax (torch)", 45_000), Step::Signpost(end)])
    };
    iteration("warmup", "warmup finished")
        .chain(std::iter::repeat_with(move || iteration("iteration", "iteration finished")).flatten())
}
