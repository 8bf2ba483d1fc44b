//! The tables of operators: one module for each kind of work.

pub(crate) mod attention;
pub(crate) mod collective;
pub(crate) mod convolution;
pub(crate) mod cross_entropy;
pub(crate) mod elementwise;
pub(crate) mod gemm;
mod group;
pub(crate) mod grouped_gemm;
pub(crate) mod hyper_connection;
pub(crate) mod inference_attention;
pub(crate) mod moe;
pub(crate) mod normalization;
pub(crate) mod quantization;
pub(crate) mod reduce;
pub(crate) mod rms_norm;
pub(crate) mod rope;
pub(crate) mod sampling;
pub(crate) mod state_space;
pub(crate) mod traffic;
pub(crate) mod triton;

pub use group::BackwardWork;
pub(crate) use group::{OpGroup, ReadModel, Row, named};
use group::{gemm, op};

pub(crate) fn groups() -> impl Iterator<Item = &'static OpGroup> {
    [
        gemm::GROUPS,
        attention::GROUPS,
        convolution::GROUPS,
        inference_attention::GROUPS,
        elementwise::GROUPS,
        grouped_gemm::GROUPS,
        moe::GROUPS,
        state_space::GROUPS,
        rope::GROUPS,
        cross_entropy::GROUPS,
        rms_norm::GROUPS,
        sampling::GROUPS,
        quantization::GROUPS,
        collective::GROUPS,
        hyper_connection::GROUPS,
        normalization::GROUPS,
        reduce::GROUPS,
        traffic::softmax::GROUPS,
        traffic::pointwise::GROUPS,
        traffic::loss::GROUPS,
        traffic::lists::GROUPS,
        traffic::index::GROUPS,
        traffic::embedding::GROUPS,
        traffic::pooling::GROUPS,
        traffic::serving::GROUPS,
    ]
    .into_iter()
    .flatten()
}
