//! Kernels of PyTorch on ROCm, with the names that the profiler has for each, and the counters collected of them.

use std::borrow::Cow;

/// A kernel of a code object.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    /// Its number.
    pub(super) id: u64,
    pub(super) name: Name,
    /// Registers of a work item: vector, accumulation; scalar ones of a wave.
    pub(super) vgprs: u64,
    pub(super) accum_vgprs: u64,
    pub(super) sgprs: u64,
    /// Local data share of a work group and scratch memory of a work item, in bytes.
    pub(super) lds: u64,
    pub(super) scratch: u64,
    /// Work items of a work group.
    pub(super) workgroup: [u64; 3],
    /// Usual duration, in nanoseconds.
    pub(super) duration: u64,
}

/// What a kernel is called.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// One written in assembler or C: the name of the symbol is all there is.
    Plain(&'static str),
    /// One written in C++.
    Mangled { mangled: &'static str, formatted: &'static str, truncated: &'static str },
}

impl Symbol {
    /// As the code object has it.
    pub(super) fn mangled(&self) -> String {
        match self.name {
            Name::Plain(name) => format!("{name}.kd"),
            Name::Mangled { mangled, .. } => format!("{mangled}.kd"),
        }
    }

    /// Demangled, with the suffix of the code object.
    pub(super) fn demangled(&self) -> String {
        match self.name {
            Name::Plain(name) => format!("{name}.kd"),
            Name::Mangled { formatted, .. } => format!("{formatted} [clone .kd]"),
        }
    }

    /// Demangled, without it.
    pub(super) fn formatted(&self) -> &'static str {
        match self.name {
            Name::Plain(name) => name,
            Name::Mangled { formatted, .. } => formatted,
        }
    }

    /// As Perfetto traces have it: those written in assembler or C keep the suffix there.
    pub(super) fn in_perfetto(&self) -> Cow<'static, str> {
        match self.name {
            Name::Plain(name) => format!("{name}.kd").into(),
            Name::Mangled { formatted, .. } => formatted.into(),
        }
    }

    /// Without namespace, template arguments and parameters.
    pub(super) fn truncated(&self) -> Cow<'static, str> {
        match self.name {
            Name::Plain(name) => format!("{name}.kd").into(),
            Name::Mangled { truncated, .. } => truncated.into(),
        }
    }
}

pub(super) const GEMM: usize = 0;
pub(super) const ADD: usize = 1;
pub(super) const ATTENTION: usize = 2;
pub(super) const ALL_REDUCE: usize = 3;
pub(super) const LAYER_NORM: usize = 4;
pub(super) const SUM: usize = 5;
pub(super) const FILL: usize = 6;
pub(super) const CONCATENATE: usize = 7;

/// The kernels, at the positions above.
pub(super) static SYMBOLS: [Symbol; 8] = [
    Symbol {
        id: 3,
        name: Name::Plain("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x128x64_MI16x16x1_SN"),
        vgprs: 256,
        accum_vgprs: 128,
        sgprs: 112,
        lds: 65_536,
        scratch: 0,
        workgroup: [256, 1, 1],
        duration: 182_000,
    },
    Symbol {
        id: 17,
        name: Name::Mangled {
            mangled: "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayIPcLm3EEEEviT0_T1_",
            formatted: "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, \
                        std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
            truncated: "vectorized_elementwise_kernel",
        },
        vgprs: 16,
        accum_vgprs: 0,
        sgprs: 32,
        lds: 0,
        scratch: 0,
        workgroup: [256, 1, 1],
        duration: 6_200,
    },
    Symbol {
        id: 18,
        name: Name::Plain("attn_fwd"),
        vgprs: 128,
        accum_vgprs: 128,
        sgprs: 96,
        lds: 32_768,
        scratch: 16,
        workgroup: [256, 1, 1],
        duration: 64_000,
    },
    Symbol {
        id: 41,
        name: Name::Mangled {
            mangled: "_Z23ncclDevKernel_Generic_124ncclDevKernelArgsStorageILm4096EE",
            formatted: "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",
            truncated: "ncclDevKernel_Generic_1",
        },
        vgprs: 96,
        accum_vgprs: 24,
        sgprs: 112,
        lds: 29_632,
        scratch: 1_024,
        workgroup: [256, 1, 1],
        duration: 310_000,
    },
    Symbol {
        id: 42,
        name: Name::Mangled {
            mangled: "_ZN2at6native12_GLOBAL__N_128vectorized_layer_norm_kernelIffEEviT0_PKT_S5_S5_PS3_S6_PS4_",
            formatted: "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>(int, \
                        float, float const*, float const*, float const*, float*, float*, float*)",
            truncated: "vectorized_layer_norm_kernel",
        },
        vgprs: 24,
        accum_vgprs: 0,
        sgprs: 48,
        lds: 24,
        scratch: 0,
        workgroup: [64, 4, 1],
        duration: 11_500,
    },
    Symbol {
        id: 43,
        name: Name::Mangled {
            mangled: "_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_14func_wrapper_tIfZNS0_11sum_functorIfffEclERNS_14TensorIteratorEEUlffE_EEjfLi4ELi4EEEEEvT1_",
            formatted: "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, \
                        at::native::func_wrapper_t<float, at::native::sum_functor<float, float, \
                        float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4, \
                        4> >(at::native::ReduceOp<float, at::native::func_wrapper_t<float, \
                        at::native::sum_functor<float, float, \
                        float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, float, 4, \
                        4>)",
            truncated: "reduce_kernel",
        },
        vgprs: 40,
        accum_vgprs: 0,
        sgprs: 64,
        lds: 16,
        scratch: 0,
        workgroup: [32, 16, 1],
        duration: 8_900,
    },
    Symbol {
        id: 44,
        name: Name::Plain("__amd_rocclr_fillBufferAligned"),
        vgprs: 8,
        accum_vgprs: 0,
        sgprs: 32,
        lds: 0,
        scratch: 0,
        workgroup: [256, 1, 1],
        duration: 2_600,
    },
    Symbol {
        id: 108,
        name: Name::Mangled {
            mangled: "_ZN2at6native12_GLOBAL__N_126CatArrayBatchedCopy_contigINS1_10OpaqueTypeILj2EEEjLi2ELi64ELi64EEEvPT_",
            formatted: "void at::native::(anonymous \
                        namespace)::CatArrayBatchedCopy_contig<at::native::(anonymous namespace)::OpaqueType<2u>, \
                        unsigned int, 2, 64, 64>(at::native::(anonymous namespace)::OpaqueType<2u>*)",
            truncated: "CatArrayBatchedCopy_contig",
        },
        vgprs: 32,
        accum_vgprs: 0,
        sgprs: 48,
        lds: 0,
        scratch: 0,
        workgroup: [128, 2, 1],
        duration: 14_300,
    },
];

/// A hardware counter.
pub(super) struct Counter {
    pub(super) id: u64,
    pub(super) name: &'static str,
    pub(super) block: &'static str,
    pub(super) description: &'static str,
}

/// The counters that are collected of matrix products.
pub(super) const COUNTERS: [Counter; 3] = [
    Counter { id: 701, name: "SQ_WAVES", block: "SQ", description: "Waves sent to the compute units" },
    Counter {
        id: 702,
        name: "SQ_INSTS_VALU_MFMA_MOPS_BF16",
        block: "SQ",
        description: "Matrix operations on bfloat16, in units of 512",
    },
    Counter {
        id: 703,
        name: "GRBM_GUI_ACTIVE",
        block: "GRBM",
        description: "Cycles in which the GPU is active",
    },
];
