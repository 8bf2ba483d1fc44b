//! The kernels that the ops launch: names as the vendors' libraries give them, sizes, durations.

use std::rc::Rc;

use super::flavour::{Call, Flavour, Stream};
use super::plan::Kernel;

/// Matrix rate reached, in FLOP per nanosecond (about half of what such a device can do).
const FLOP_PER_NS: u64 = 450_000;
/// Memory rate reached, in bytes per nanosecond.
const BYTES_PER_NS: u64 = 2_500;
/// Rate of a collective between eight devices, in bytes per nanosecond.
const BUS_BYTES_PER_NS: u64 = 200;
/// Shortest duration of a kernel, in nanoseconds.
const FLOOR_NS: u64 = 1_600;

pub(super) fn kernel(name: String, call: Call, duration: u64, grid: [u64; 3], block: [u64; 3]) -> Kernel {
    Kernel {
        name: name.into(),
        call,
        stream: Stream::Compute,
        duration: duration + FLOOR_NS,
        grid,
        block,
        registers: 32,
        shared_memory: 0,
        collective: "".into(),
    }
}

/// The matrix library's kernel for `m × n × k`; the tile depends on the size.
pub(super) fn gemm(flavour: Flavour, [m, n, k]: [u64; 3]) -> Kernel {
    let (tile_m, tile_n) = if m * n >= 1 << 23 { (256, 128) } else { (128, 64) };
    let name = match (flavour, (m / 64 + n / 64 + k / 64) % 3) {
        (Flavour::Cuda, 0) => format!("nvjet_tst_{tile_m}x{tile_n}_64x4_1x2_h_bz_coopA_TNT"),
        (Flavour::Cuda, 1) => format!(
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize{tile_m}x{tile_n}x64_warpgroupsize2x1x1\
             _execute_segment_k_off_kernel__5x_cublas"
        ),
        (Flavour::Cuda, _) => {
            let tile = format!("cutlass_80_tensorop_bf16_s16816gemm_bf16_{tile_m}x{tile_n}_32x3_tn_align8");
            format!("void cutlass::Kernel2<{tile}>({tile}::Params)")
        }
        (Flavour::Rocm, variant) => format!(
            "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT{tile_m}x{tile_n}x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1\
             _CLR1_CADS0_DTVA0_DTVB0_EPS0_GRVWA8_GRVWB8_GSUAMB_GLS0_ISA942_IU1_K1_LRVW8_MIWT{}_{}_NTn1_PGR2\
             _PLR1_SIA3_SS1_SU{variant}_SVW4_TLDS1_USL1_VWA4_VWB4_WS64_WG64_4_1",
            tile_m / 64,
            tile_n / 16
        ),
    };
    let grid = [m.div_ceil(tile_m), n.div_ceil(tile_n), 1];
    let block = if flavour == Flavour::Cuda { [384, 1, 1] } else { [256, 1, 1] };
    let mut gemm = kernel(name, Call::LaunchLibrary, 2 * m * n * k / FLOP_PER_NS, grid, block);
    gemm.registers = 168;
    gemm.shared_memory = if flavour == Flavour::Cuda { 213_248 } else { 0 };
    gemm
}

/// A pointwise kernel of `operands` tensors, inputs and output.
pub(super) fn elementwise(functor: &str, operands: u64, elements: u64) -> Kernel {
    let pointers = format!("std::array<char*, {operands}ul>");
    let name = format!(
        "void at::native::vectorized_elementwise_kernel<4, {functor}, {pointers} >(int, {functor}, {pointers})"
    );
    let bytes = operands * elements * 2;
    let grid = [elements.div_ceil(1024), 1, 1];
    kernel(name, Call::LaunchKernel, bytes / BYTES_PER_NS, grid, [128, 1, 1])
}

/// Functor of a pointwise kernel for bf16.
pub(super) const ADD: &str = "at::native::CUDAFunctor_add<c10::BFloat16>";
/// Functor of the pointwise product.
pub(super) const MULTIPLY: &str = "at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, \
     at::native::binary_internal::MulFunctor<float> >";
/// Functor that writes a constant.
pub(super) const FILL: &str = "at::native::FillFunctor<float>";
/// Functor of the activation.
pub(super) const GELU: &str = "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() \
     const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}";
/// Functor of the activation's gradient.
pub(super) const GELU_BACKWARD: &str = "at::native::GeluBackwardCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::\
     operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16, c10::BFloat16)#1}";
/// Functor of the rectifier.
pub(super) const RELU: &str = "at::native::(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar, c10::Scalar)::{lambda()#1}";
/// Functor of the sigmoid's product with its argument.
pub(super) const SILU: &str = "at::native::(anonymous namespace)::silu_kernel(at::TensorIteratorBase&)::{lambda()#1}::operator()() const::\
     {lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}";
/// Functor of a conversion.
pub(super) const CONVERT: &str =
    "at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}";

/// Attention of `[batch, heads, sequence, head]`.
pub(super) fn attention(flavour: Flavour, [batch, heads, sequence, head]: [u64; 4]) -> Kernel {
    let duration = 4 * batch * heads * sequence * sequence * head / FLOP_PER_NS;
    let name = match flavour {
        Flavour::Cuda => {
            "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, 128, 128, 4, false, \
             false, cutlass::bfloat16_t, pytorch_flash::Flash_kernel_traits<64, 128, 128, 4, \
             cutlass::bfloat16_t> >, false, true, false, false, true, true, false, false>\
             (pytorch_flash::Flash_fwd_params)"
        }
        Flavour::Rocm => "attn_fwd",
    };
    let mut attention = kernel(
        name.into(),
        if flavour == Flavour::Cuda { Call::LaunchKernel } else { Call::LaunchModule },
        duration,
        [sequence.div_ceil(128), batch, heads],
        [128, 1, 1],
    );
    attention.registers = 255;
    attention.shared_memory = 49_152;
    attention
}

/// The gradient of attention: one kernel that prepares, one that computes.
pub(super) fn attention_backward(flavour: Flavour, [batch, heads, sequence, head]: [u64; 4]) -> [Kernel; 2] {
    let (prepare, compute) = match flavour {
        Flavour::Cuda => (
            "void pytorch_flash::flash_bwd_dot_do_o_kernel<true, pytorch_flash::Flash_bwd_kernel_traits<64, 128, \
             128, 8, 4, 4, 4, false, false, cutlass::bfloat16_t> >(pytorch_flash::Flash_bwd_params)",
            "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<pytorch_flash::\
             Flash_bwd_kernel_traits<64, 128, 128, 8, 4, 4, 4, false, false, cutlass::bfloat16_t>, false, true, \
             false, false, true, true, false>(pytorch_flash::Flash_bwd_params)",
        ),
        Flavour::Rocm => ("bwd_preprocess", "bwd_kernel_dk_dv"),
    };
    let call = if flavour == Flavour::Cuda { Call::LaunchKernel } else { Call::LaunchModule };
    let grid = [sequence.div_ceil(128), batch, heads];
    let elements = batch * heads * sequence * head;
    [
        kernel(prepare.into(), call, 4 * elements / BYTES_PER_NS, grid, [256, 1, 1]),
        kernel(compute.into(), call, 10 * elements * sequence / FLOP_PER_NS, grid, [256, 1, 1]),
    ]
}

/// Layer norm over rows of `hidden`.
pub(super) fn layer_norm(rows: u64, hidden: u64) -> Kernel {
    let name = "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, \
                c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)";
    let mut norm =
        kernel(name.into(), Call::LaunchKernel, 4 * rows * hidden / BYTES_PER_NS, [rows, 1, 1], [32, 4, 1]);
    norm.shared_memory = 24;
    norm
}

/// The gradients of layer norm: of its input, then of its weight and bias.
pub(super) fn layer_norm_backward(rows: u64, hidden: u64) -> [Kernel; 2] {
    let duration = 6 * rows * hidden / BYTES_PER_NS;
    let input_kernel = "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, \
                    float>(c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, \
                    c10::BFloat16 const*, c10::BFloat16*, int)";
    let weight_kernel = "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<c10::BFloat16, \
                      float, 32u, 32u, 256u, true, true, true>(long, long, c10::BFloat16 const*, \
                      c10::BFloat16 const*, float const*, float const*, c10::BFloat16*, c10::BFloat16*)";
    [
        kernel(input_kernel.into(), Call::LaunchKernel, duration, [rows, 1, 1], [128, 1, 1]),
        kernel(
            weight_kernel.into(),
            Call::LaunchKernel,
            duration,
            [hidden.div_ceil(32), rows.div_ceil(256), 1],
            [32, 32, 1],
        ),
    ]
}

/// A sum over `rows` rows of `columns`.
pub(super) fn sum(rows: u64, columns: u64) -> Kernel {
    let operation = "at::native::ReduceOp<c10::BFloat16, at::native::func_wrapper_t<c10::BFloat16, \
                     at::native::sum_functor<c10::BFloat16, float, c10::BFloat16>::operator()\
                     (at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, c10::BFloat16, 4, 4>";
    let name = format!("void at::native::reduce_kernel<128, 4, {operation} >({operation})");
    let mut sum = kernel(
        name,
        Call::LaunchKernel,
        2 * rows * columns / BYTES_PER_NS,
        [columns.div_ceil(128), 16, 1],
        [32, 16, 1],
    );
    sum.shared_memory = 16;
    sum
}

/// One kernel of the fused optimiser over many tensors.
pub(super) fn adamw(elements: u64) -> Kernel {
    let name = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::\
                FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<float, \
                4, (at::native::ADAM_MODE)1, false>, float const*, double, double, double, double, double, bool, \
                float*, float*>";
    let grid = [elements.div_ceil(65_536), 1, 1];
    kernel(name.into(), Call::LaunchKernel, 16 * elements / BYTES_PER_NS, grid, [512, 1, 1])
}

/// One kernel of an operator on lists of tensors.
pub(super) fn for_each(elements: u64) -> Kernel {
    let name = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::\
                TensorListMetadata<2>, at::native::(anonymous namespace)::BinaryOpListAlphaFunctor<c10::BFloat16, 2, 2, \
                0>, std::plus<float>, float>(at::native::(anonymous namespace)::TensorListMetadata<2>)";
    let grid = [elements.div_ceil(65_536), 1, 1];
    kernel(name.into(), Call::LaunchKernel, 6 * elements / BYTES_PER_NS, grid, [512, 1, 1])
}

/// One kernel of Apex's optimiser over many tensors.
pub(super) fn apex_adam(elements: u64) -> Kernel {
    let name = "void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float, float, int>, float, float, \
                float, int, int, float, adamMode_t, float>(long, int volatile*, TensorListMetadata<4>)";
    let grid = [elements.div_ceil(65_536), 1, 1];
    kernel(name.into(), Call::LaunchKernel, 16 * elements / BYTES_PER_NS, grid, [512, 1, 1])
}

/// A collective's kernel over `bytes`, which names the collective in its arguments.
pub(super) fn collective(flavour: Flavour, operation: &str, bytes: u64, about: Rc<str>) -> Kernel {
    let name = match flavour {
        Flavour::Cuda => format!("ncclDevKernel_{operation}_RING_LL(ncclDevKernelArgsStorage<4096ul>)"),
        Flavour::Rocm => "ncclDevKernel_Generic_4(ncclDevKernelArgsStorage<4096ul>)".to_owned(),
    };
    let duration = 20_000 + bytes / BUS_BYTES_PER_NS;
    let mut kernel = kernel(name, Call::LaunchCollective, duration, [24, 1, 1], [544, 1, 1]);
    kernel.stream = Stream::Communication;
    kernel.registers = 96;
    kernel.shared_memory = 82_240;
    kernel.collective = about;
    kernel
}

/// A kernel of an inference engine that reads and writes so many bytes, a block for each row.
fn streaming(name: &str, rows: u64, bytes: u64) -> Kernel {
    kernel(name.into(), Call::LaunchKernel, bytes / BYTES_PER_NS, [rows, 1, 1], [256, 1, 1])
}

/// Normalization by the root mean square.
pub(super) fn rms_norm(rows: u64, width: u64) -> Kernel {
    let name = "void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*, c10::BFloat16 const*, c10::BFloat16 const*, float, int, int)";
    streaming(name, rows, 4 * rows * width)
}

/// Rotary position embedding in place.
pub(super) fn rotary(rows: u64, width: u64) -> Kernel {
    let name = "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, c10::BFloat16*)";
    streaming(name, rows, 4 * rows * width)
}

/// Keys and values into the cache.
pub(super) fn store_keys(rows: u64, width: u64) -> Kernel {
    let name = "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(__nv_bfloat16 const*, __nv_bfloat16 const*)";
    streaming(name, rows, 8 * rows * width)
}

/// Gated activation.
pub(super) fn silu_and_mul(rows: u64, width: u64) -> Kernel {
    let name = "void vllm::act_and_mul_kernel<c10::BFloat16, vllm::silu_kernel<c10::BFloat16>, true>(c10::BFloat16*, c10::BFloat16 const*, int)";
    streaming(name, rows, 6 * rows * width)
}

/// Rows picked out of a matrix.
pub(super) fn gather_rows(rows: u64, width: u64) -> Kernel {
    let name = "void at::native::index_elementwise_kernel<128, 4, at::native::OpaqueType<2> >(long)";
    streaming(name, rows, 4 * rows * width)
}

/// Place of the largest in each row.
pub(super) fn argmax(rows: u64, width: u64) -> Kernel {
    let name = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::BFloat16, at::native::ArgMaxOps<float>, unsigned int, long, 4> >(at::native::ReduceOp)";
    streaming(name, rows, 2 * rows * width)
}

/// Norms of many tensors in one kernel.
pub(super) fn norms(elements: u64) -> Kernel {
    let name = "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::\
                TensorListMetadata<1>, at::native::(anonymous namespace)::LpNormFunctor<c10::BFloat16, \
                (at::native::NormType)1, c10::BFloat16, 1, 1, 0>, float*, int>";
    let grid = [elements.div_ceil(65_536), 1, 1];
    kernel(name.into(), Call::LaunchKernel, 2 * elements / BYTES_PER_NS, grid, [512, 1, 1])
}

/// A convolution of `side × side` pixels as a product of matrices, 3 × 3 pixels of each channel at a time.
pub(super) fn convolution(flavour: Flavour, images: u64, channels: [u64; 2], side: u64) -> Kernel {
    let name = match flavour {
        Flavour::Cuda => {
            "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize128x128x64_stage4_warpsize2x2x1\
             _g1_tensor16x8x16_alignc8_execute_kernel__5x_cudnn"
        }
        Flavour::Rocm => {
            "igemm_fwd_gtcx3_nhwc_bf16_bx0_ex1_bt256x128x32_wt32x32x8_ws1x1_wr2x2_ta1x8x4x1_1x4x1x64"
        }
    };
    let pixels = images * side * side;
    let duration = 18 * pixels * channels[0] * channels[1] / FLOP_PER_NS;
    let grid = [pixels.div_ceil(128), channels[1].div_ceil(128), 1];
    let mut convolution = kernel(name.into(), Call::LaunchLibrary, duration, grid, [128, 1, 1]);
    convolution.registers = 232;
    convolution
}

/// Mean and spread of each group of channels.
pub(super) fn group_moments(groups: u64, elements: u64) -> Kernel {
    let name = "void at::native::(anonymous namespace)::RowwiseMomentsCUDAKernel<c10::BFloat16>(long, float, \
                c10::BFloat16 const*, c10::BFloat16*, c10::BFloat16*)";
    kernel(name.into(), Call::LaunchKernel, 2 * elements / BYTES_PER_NS, [groups, 1, 1], [512, 1, 1])
}

/// Pixels doubled in both directions.
pub(super) fn upsample(elements: u64) -> Kernel {
    let name = "void at::native::(anonymous namespace)::upsample_nearest2d_nhwc_out_frame<c10::BFloat16, \
                &at::native::nearest_neighbor_compute_source_index>(c10::BFloat16 const*, c10::BFloat16*, unsigned long)";
    streaming(name, elements.div_ceil(1024), 10 * elements)
}

/// Normal random numbers.
pub(super) fn normal(elements: u64) -> Kernel {
    let name = "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4, \
                at::native::templates::cuda::normal_and_transform<c10::BFloat16, float, at::CUDAGeneratorImpl*>>(long)";
    streaming(name, elements.div_ceil(1024), 2 * elements)
}

/// Rows of several tables of embeddings, summed for each bag.
pub(super) fn embedding_bags(bags: u64, lookups: u64, width: u64) -> Kernel {
    let name = "void split_embedding_codegen_forward_unweighted_kernel<float, float, float, false, long, 4ul, true>\
                (at::PackedTensorAccessor64<float, 1ul, at::RestrictPtrTraits>)";
    streaming(name, bags.div_ceil(8), 4 * (bags + lookups) * width)
}

/// Ids put in order, so that the gradients of one row come together.
pub(super) fn sort_ids(lookups: u64) -> Kernel {
    let name = "void cub::CUB_200601_900_NS::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, int, int>\
                ::Policy900, false, long, int, int, int>(int*)";
    streaming(name, lookups.div_ceil(4096), 48 * lookups)
}

/// The gradients of embeddings, and the rows' update by them.
pub(super) fn embedding_update(lookups: u64, width: u64) -> Kernel {
    let name = "void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_warp_per_row_1<float, float, \
                float, long, 4ul, 32ul, false>(at::PackedTensorAccessor64<float, 2ul, at::RestrictPtrTraits>)";
    streaming(name, lookups.div_ceil(8), 12 * lookups * width)
}

/// Products of small matrices, one pair for each sample.
pub(super) fn batched_products(flavour: Flavour, samples: u64, vectors: u64, width: u64) -> Kernel {
    let mut products = gemm(flavour, [samples * vectors, vectors, width]);
    products.grid = [samples, 1, 1];
    products
}

/// What an inference engine's attention works on in one kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PagedAttention {
    /// Prompts alone.
    Prompts,
    /// New tokens of requests whose prompts are done.
    Generation,
    /// Both at once: the kernel does not show which.
    Either,
}

/// Attention of `queries` new tokens of some requests to `keys` tokens of each on average, in pages.
pub(super) fn paged_attention(
    flavour: Flavour,
    kind: PagedAttention,
    [heads, head]: [u64; 2],
    queries: u64,
    keys: u64,
) -> Kernel {
    let name = match (flavour, kind) {
        (Flavour::Cuda, PagedAttention::Prompts) => {
            "void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<(flashinfer::MaskMode)1, 128u, \
             2u, 4u, 8u, 8u, 4u, 1u, (flashinfer::PosEncodingMode)0, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16>>"
        }
        (Flavour::Cuda, PagedAttention::Generation) => {
            "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u, 4u, 8u, 16u, 4u, 2u, \
             flashinfer::DefaultAttention<false, false, false, false>>"
        }
        (Flavour::Cuda, PagedAttention::Either) => {
            "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::\
             CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1>>, cute::tuple<cute::C<128>, \
             cute::C<128>, cute::C<128>>, 128, cutlass::bfloat16_t, float, cutlass::arch::Sm90>>>>"
        }
        (Flavour::Rocm, PagedAttention::Prompts) => "_fwd_kernel_context_attention",
        (Flavour::Rocm, PagedAttention::Generation) => {
            "void paged_attention_ll4mi_QKV_mfma16_kernel<__hip_bfloat16, __hip_bfloat16, (vllm::Fp8KVCacheDataType)0, \
             __hip_bfloat16, 16, 128, 256, false, 4>"
        }
        (Flavour::Rocm, PagedAttention::Either) => "kernel_unified_attention_2d",
    };
    let work = 4 * heads * queries * keys * head / FLOP_PER_NS;
    let traffic = 4 * heads * keys * head / BYTES_PER_NS;
    let grid = [queries.div_ceil(128), heads, 1];
    let call = if flavour == Flavour::Cuda { Call::LaunchKernel } else { Call::LaunchModule };
    kernel(name.into(), call, work.max(traffic), grid, [128, 1, 1])
}
