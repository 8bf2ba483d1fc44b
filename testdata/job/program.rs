//! What a rank does in a step of training: forward, backward, exchange of gradients, update.

use super::layout::{Dimension, Parallelism};

/// Microbatches of a step, where there is a pipeline.
const MICROBATCHES: u32 = 4;

/// An operation in the order of the host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Op {
    BeginStep,
    /// Gets the next batch.
    Load,
    /// Copies the batch to the device.
    Copy,
    /// Where a fault has the host do nothing.
    Stall,
    /// Where a fault has Python collect garbage.
    Collect,
    /// Where a fault has the device do nothing.
    Preempt,
    Launch(Work),
    Exchange(Exchange),
    /// To the next stage, or with `backward` to the one before.
    Send {
        backward: bool,
    },
    /// From the stage before, or with `backward` from the next.
    Receive {
        backward: bool,
    },
    /// The stream of computation waits for those of communication.
    Await,
    /// The host waits for the device.
    Synchronise,
    EndStep,
}

/// An operator that launches a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Work {
    pub(super) operator: &'static str,
    pub(super) kernel: &'static str,
    /// In nanoseconds.
    pub(super) duration: i64,
    pub(super) is_gemm: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Exchange {
    pub(super) dimension: Dimension,
    pub(super) operator: &'static str,
    pub(super) name: &'static str,
    pub(super) kernel: &'static str,
    pub(super) dtype: &'static str,
    /// Elements of a rank.
    pub(super) elements: i64,
    /// In nanoseconds, from the last rank's entry on.
    pub(super) transfer: i64,
    /// Whether computation waits for it.
    pub(super) blocking: bool,
}

const fn gemm(duration: i64) -> Op {
    let kernel = "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT";
    Op::Launch(Work { operator: "aten::mm", kernel, duration, is_gemm: true })
}

const fn elementwise(operator: &'static str, duration: i64) -> Op {
    let kernel =
        "void at::native::vectorized_elementwise_kernel<4, at::native::BUnaryFunctor<c10::BFloat16>>";
    Op::Launch(Work { operator, kernel, duration, is_gemm: false })
}

const fn attention(operator: &'static str, kernel: &'static str, duration: i64) -> Op {
    Op::Launch(Work { operator, kernel, duration, is_gemm: false })
}

const TENSOR_REDUCE: Op = Op::Exchange(Exchange {
    dimension: Dimension::Tensor,
    operator: "c10d::allreduce_",
    name: "allreduce",
    kernel: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    dtype: "BFloat16",
    elements: 4 << 20,
    transfer: 70_000,
    blocking: true,
});

const EXPERTS: Op = Op::Exchange(Exchange {
    dimension: Dimension::Expert,
    operator: "c10d::alltoall_base_",
    name: "all_to_allv",
    kernel: "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
    dtype: "BFloat16",
    elements: 2 << 20,
    transfer: 90_000,
    blocking: true,
});

const GRADIENTS: Op = Op::Exchange(Exchange {
    dimension: Dimension::Data,
    operator: "c10d::allreduce_",
    name: "allreduce",
    kernel: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    dtype: "Float",
    elements: 25 << 18,
    transfer: 180_000,
    blocking: false,
});

const NORM: Op = Op::Exchange(Exchange {
    dimension: Dimension::World,
    operator: "c10d::allreduce_",
    name: "allreduce",
    kernel: "ncclDevKernel_AllReduce_Sum_f32_TREE_LL(ncclDevKernelArgsStorage<4096ul>)",
    dtype: "Float",
    elements: 1,
    transfer: 25_000,
    blocking: true,
});

/// The operations of a step on the ranks of a stage.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Program {
    pub(super) ops: Vec<Op>,
}

impl Program {
    pub(super) fn new(parallelism: Parallelism, stage: u32, layers: u32) -> Self {
        let mut ops = vec![Op::BeginStep, Op::Load];
        let is_first = stage == 0;
        let is_last = stage + 1 == parallelism.pipeline;
        let microbatches = if parallelism.pipeline > 1 { MICROBATCHES } else { 1 };
        if is_first || is_last {
            ops.push(Op::Copy);
        }
        for microbatch in 0..microbatches {
            ops.extend((!is_first).then_some(Op::Receive { backward: false }));
            for layer in 0..layers {
                forward(parallelism, &mut ops);
                if microbatch == 0 && layer == layers / 2 {
                    ops.push(Op::Stall);
                }
            }
            ops.extend((!is_last).then_some(Op::Send { backward: false }));
        }
        for microbatch in 0..microbatches {
            ops.extend((!is_last).then_some(Op::Receive { backward: true }));
            for layer in 0..layers {
                let is_reduced = microbatch + 1 == microbatches;
                backward(parallelism, is_reduced, &mut ops);
                if is_reduced && layer == layers / 2 {
                    ops.extend([Op::Collect, Op::Preempt]);
                }
            }
            ops.extend((!is_first).then_some(Op::Send { backward: true }));
        }
        ops.push(Op::Await);
        let dimensions = [parallelism.tensor, parallelism.pipeline, parallelism.data];
        if dimensions.into_iter().filter(|&size| size > 1).count() > 1 {
            ops.push(elementwise("aten::linalg_vector_norm", 40_000));
            ops.push(NORM);
        }
        ops.extend([elementwise("aten::_fused_adamw_", 350_000), Op::Synchronise, Op::EndStep]);
        Program { ops }
    }

    pub(super) fn exchanges(&self) -> usize {
        let is_exchange = |op: &&Op| matches!(op, Op::Exchange(_) | Op::Send { .. } | Op::Receive { .. });
        self.ops.iter().filter(is_exchange).count()
    }

    pub(super) fn exchanges_of(&self, dimension: Dimension) -> usize {
        let is_of = |op: &&Op| matches!(op, Op::Exchange(exchange) if exchange.dimension == dimension);
        self.ops.iter().filter(is_of).count()
    }

    pub(super) fn launches(&self, gemms_only: bool) -> usize {
        let is_meant = |op: &&Op| matches!(op, Op::Launch(work) if work.is_gemm || !gemms_only);
        self.ops.iter().filter(is_meant).count()
    }
}

fn forward(parallelism: Parallelism, ops: &mut Vec<Op>) {
    ops.extend([
        elementwise("aten::native_layer_norm", 30_000),
        gemm(170_000),
        attention(
            "aten::_flash_attention_forward",
            "void flash_fwd_kernel<Flash_fwd_kernel_traits<128>>",
            140_000,
        ),
        gemm(70_000),
    ]);
    ops.extend((parallelism.tensor > 1).then_some(TENSOR_REDUCE));
    ops.push(elementwise("aten::add", 25_000));
    ops.extend((parallelism.expert > 1).then_some(EXPERTS));
    ops.extend([gemm(210_000), elementwise("aten::gelu", 35_000), gemm(200_000)]);
    ops.extend((parallelism.expert > 1).then_some(EXPERTS));
    ops.extend((parallelism.tensor > 1).then_some(TENSOR_REDUCE));
}

fn backward(parallelism: Parallelism, is_reduced: bool, ops: &mut Vec<Op>) {
    ops.extend((parallelism.expert > 1).then_some(EXPERTS));
    ops.extend([
        gemm(205_000),
        gemm(215_000),
        elementwise("aten::gelu_backward", 40_000),
        gemm(200_000),
        gemm(210_000),
    ]);
    ops.extend((parallelism.expert > 1).then_some(EXPERTS));
    ops.extend((parallelism.tensor > 1).then_some(TENSOR_REDUCE));
    ops.extend([
        gemm(75_000),
        attention(
            "aten::_flash_attention_backward",
            "void flash_bwd_kernel<Flash_bwd_kernel_traits<128>>",
            280_000,
        ),
        gemm(175_000),
        gemm(165_000),
        elementwise("aten::native_layer_norm_backward", 45_000),
    ]);
    ops.extend((parallelism.tensor > 1).then_some(TENSOR_REDUCE));
    ops.extend((is_reduced && parallelism.data > 1).then_some(GRADIENTS));
}
