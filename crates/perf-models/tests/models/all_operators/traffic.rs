//! Operators that are told by the tensors that they read and write, and reductions that TraceLens does not know.

use super::{Group, NONE, PLAIN};

const TRAFFIC: &str = "largest_shape num_elems_read num_elems_written dtype_in_out";
/// An operator that is told by its traffic, with what most such calls have.
const MOVES: Group = Group { parameters: TRAFFIC, ..PLAIN };
const REDUCTION: &str = "num_input_elems num_output_elems dtype_in_out reduce_type";

pub(crate) const GROUPS: &[Group] = &[
    Group {
        names: "aten::_softmax, aten::_log_softmax",
        shapes: "17,6",
        scalars: &[(1, "-1"), (2, "True")],
        figures: [306.0, 612.0, NONE, NONE],
        ..MOVES
    },
    Group {
        names: "aten::_safe_softmax",
        shapes: "17,6",
        scalars: &[(1, "-1")],
        figures: [306.0, 408.0, NONE, NONE],
        ..MOVES
    },
    Group {
        names: "aten::_softmax_backward_data, aten::_log_softmax_backward_data",
        shapes: "17,6 17,6",
        scalars: &[(2, "-1"), (3, "15")],
        figures: [408.0, 612.0, NONE, NONE],
        growing: "0.0 1.0",
        ..MOVES
    },
    Group {
        names: "aten::sub, aten::sub_, aten::subtract, aten::subtract_, aten::multiply, aten::multiply_, \
                aten::remainder, aten::remainder_, aten::fmod, aten::fmod_, aten::floor_divide, \
                aten::floor_divide_, aten::bitwise_and, aten::bitwise_and_, aten::bitwise_or, aten::bitwise_or_, \
                aten::bitwise_xor, aten::bitwise_xor_, aten::bitwise_left_shift, aten::bitwise_left_shift_, \
                aten::bitwise_right_shift, aten::bitwise_right_shift_, aten::hypot, aten::hypot_, aten::copysign, \
                aten::copysign_, aten::gcd, aten::gcd_, aten::lcm, aten::lcm_, aten::heaviside, aten::heaviside_, \
                aten::nextafter, aten::nextafter_, aten::atan2, aten::atan2_, aten::xlogy, aten::xlogy_, \
                aten::true_divide, aten::true_divide_, aten::rsub, aten::maximum, aten::minimum, aten::fmax, \
                aten::fmin, aten::logaddexp, aten::logaddexp2, aten::__and__, aten::__or__, aten::__xor__, \
                aten::__lshift__, aten::__rshift__, aten::_prelu_kernel, aten::pow_, aten::eq_, aten::ne_, \
                aten::lt_, aten::le_, aten::gt_, aten::ge_, aten::logical_and_, aten::logical_or_, \
                aten::logical_xor_",
        shapes: "17,6 6",
        figures: [102.0, 420.0, NONE, NONE],
        ..MOVES
    },
    Group {
        names: "aten::eq, aten::ne, aten::lt, aten::le, aten::gt, aten::ge, aten::logical_and, \
                aten::logical_or, aten::logical_xor",
        shapes: "17,6 6",
        figures: [102.0, 318.0, NONE, NONE],
        ..MOVES
    },
    Group {
        names: "aten::addcmul, aten::addcmul_, aten::addcdiv, aten::addcdiv_, aten::lerp, aten::lerp_",
        shapes: "17,6 6 17,6",
        figures: [306.0, 624.0, NONE, NONE],
        growing: "0.0 2.0",
        ..MOVES
    },
    Group {
        names: "aten::clamp, aten::clamp_, aten::clip, aten::clip_",
        shapes: "17,6 6 17,6",
        figures: [102.0, 624.0, NONE, NONE],
        growing: "0.0 2.0",
        ..MOVES
    },
    Group {
        names: "aten::masked_fill, aten::masked_fill_",
        shapes: "17,6 17,6 -",
        types: "bf16 bool Scalar",
        figures: [0.0, 510.0, NONE, NONE],
        growing: "0.0 1.0",
        ..MOVES
    },
    Group {
        names: "aten::where, aten::_s_where",
        shapes: "17,6 6 17,6",
        types: "bool bf16",
        figures: [0.0, 522.0, NONE, NONE],
        growing: "0.0 2.0",
        ..MOVES
    },
    Group {
        names: "aten::abs, aten::abs_, aten::ceil, aten::ceil_, aten::floor, aten::floor_, aten::round, \
                aten::round_, aten::trunc, aten::trunc_, aten::frac, aten::frac_, aten::sgn, aten::sgn_, \
                aten::sign, aten::sign_, aten::bitwise_not, aten::bitwise_not_, aten::conj_physical, \
                aten::conj_physical_, aten::nan_to_num, aten::nan_to_num_, aten::relu, aten::relu_, \
                aten::hardtanh, aten::hardtanh_, aten::leaky_relu, aten::leaky_relu_, aten::hardsigmoid, \
                aten::hardsigmoid_, aten::hardswish, aten::hardswish_, aten::threshold, aten::threshold_, \
                aten::elu, aten::elu_, aten::mish, aten::mish_, aten::exp, aten::exp_, aten::exp2, aten::exp2_, \
                aten::expm1, aten::expm1_, aten::log, aten::log_, aten::log2, aten::log2_, aten::log10, \
                aten::log10_, aten::log1p, aten::log1p_, aten::sqrt, aten::sqrt_, aten::sin, aten::sin_, \
                aten::cos, aten::cos_, aten::tan, aten::tan_, aten::sinh, aten::sinh_, aten::cosh, aten::cosh_, \
                aten::asin, aten::asin_, aten::acos, aten::acos_, aten::atan, aten::atan_, aten::asinh, \
                aten::asinh_, aten::acosh, aten::acosh_, aten::atanh, aten::atanh_, aten::erf, aten::erf_, \
                aten::erfc, aten::erfc_, aten::erfinv, aten::erfinv_, aten::reciprocal, aten::reciprocal_, \
                aten::lgamma, aten::lgamma_, aten::digamma, aten::digamma_, aten::logit, aten::logit_, aten::i0, \
                aten::i0_, aten::sinc, aten::sinc_, aten::neg_, aten::softplus, aten::softshrink, \
                aten::hardshrink, aten::rsqrt_",
        shapes: "17,6",
        figures: [102.0, 408.0, NONE, NONE],
        ..MOVES
    },
    Group {
        names: "aten::logical_not, aten::isnan, aten::isposinf, aten::isneginf, aten::signbit",
        shapes: "17,6",
        figures: [102.0, 306.0, NONE, NONE],
        ..MOVES
    },
    Group {
        names: "aten::gelu, aten::gelu_",
        shapes: "17,6 -",
        types: "bf16 none",
        figures: [816.0, 408.0, NONE, NONE],
        ..MOVES
    },
    Group {
        names: "aten::silu_, aten::sigmoid_, aten::tanh, aten::tanh_",
        shapes: "17,6",
        figures: [408.0, 408.0, NONE, NONE],
        ..MOVES
    },
    Group {
        names: "aten::gelu_backward",
        shapes: "17,6 17,6 -",
        types: "bf16 bf16 none",
        scalars: &[(2, "tanh")],
        figures: [1122.0, 612.0, NONE, NONE],
        growing: "0.0 1.0",
        ..MOVES
    },
    Group {
        names: "aten::silu_backward",
        shapes: "17,6 17,6",
        figures: [510.0, 612.0, NONE, NONE],
        growing: "0.0 1.0",
        ..MOVES
    },
    Group {
        names: "aten::tanh_backward",
        shapes: "17,6 17,6",
        figures: [306.0, 612.0, NONE, NONE],
        growing: "0.0 1.0",
        ..MOVES
    },
    Group {
        names: "aten::glu",
        shapes: "17,6 -",
        types: "bf16 Scalar",
        scalars: &[(1, "-1")],
        figures: [255.0, 306.0, NONE, NONE],
        ..MOVES
    },
    Group {
        names: "aten::native_dropout, aten::_fused_dropout",
        shapes: "17,6 -",
        types: "bf16 Scalar",
        figures: [204.0, 510.0, NONE, NONE],
        ..MOVES
    },
    Group {
        names: "aten::leaky_relu_backward, aten::hardtanh_backward, aten::hardswish_backward, \
                aten::hardsigmoid_backward, aten::elu_backward, aten::softplus_backward, \
                aten::softshrink_backward, aten::hardshrink_backward, aten::mish_backward, \
                aten::native_dropout_backward, aten::logit_backward",
        shapes: "17,6 17,6",
        figures: [102.0, 612.0, NONE, NONE],
        growing: "0.0 1.0",
        ..MOVES
    },
    Group {
        names: "aten::normal_, aten::uniform_, aten::bernoulli_, aten::random_, aten::exponential_, \
                aten::log_normal_, aten::cauchy_, aten::geometric_, aten::fill_, aten::zero_",
        shapes: "17,6",
        figures: [0.0, 204.0, NONE, NONE],
        ..MOVES
    },
    Group {
        names: "aten::flip, aten::roll, aten::tril, aten::tril_, aten::triu, aten::triu_",
        shapes: "17,6",
        figures: [0.0, 408.0, NONE, NONE],
        ..MOVES
    },
    Group {
        names: "aten::mse_loss, aten::l1_loss",
        shapes: "17,6 17,6 -",
        types: "bf16 bf16 Scalar",
        scalars: &[(2, "0")],
        figures: [306.0, 612.0, NONE, NONE],
        growing: "0.0 1.0",
        ..MOVES
    },
    Group {
        names: "aten::smooth_l1_loss, aten::huber_loss",
        shapes: "17,6 17,6 -",
        types: "bf16 bf16 Scalar",
        scalars: &[(2, "0")],
        figures: [612.0, 612.0, NONE, NONE],
        growing: "0.0 1.0",
        ..MOVES
    },
    Group {
        names: "aten::binary_cross_entropy",
        shapes: "17,6 17,6 17,6 -",
        types: "bf16 bf16 bf16 Scalar",
        scalars: &[(3, "0")],
        figures: [612.0, 816.0, NONE, NONE],
        growing: "0.0 1.0 2.0",
        ..MOVES
    },
    Group {
        names: "aten::mse_loss_backward",
        shapes: "17,6 17,6 17,6",
        figures: [306.0, 816.0, NONE, NONE],
        growing: "0.0 1.0 2.0",
        ..MOVES
    },
    Group {
        names: "aten::smooth_l1_loss_backward, aten::huber_loss_backward",
        shapes: "17,6 17,6 17,6",
        figures: [510.0, 816.0, NONE, NONE],
        growing: "0.0 1.0 2.0",
        ..MOVES
    },
    Group {
        names: "aten::binary_cross_entropy_backward",
        shapes: "17,6 17,6 17,6 17,6",
        figures: [510.0, 1020.0, NONE, NONE],
        growing: "0.0 1.0 2.0 3.0",
        ..MOVES
    },
    Group {
        names: "aten::nll_loss_forward, aten::nll_loss2d_forward",
        shapes: "17,6 17 6 -",
        types: "bf16 long bf16 Scalar",
        scalars: &[(3, "0")],
        figures: [17.0, 206.0, NONE, NONE],
        growing: "0.0 1.0",
        ..MOVES
    },
    Group {
        names: "aten::nll_loss_backward, aten::nll_loss2d_backward",
        shapes: "17 17,6 17 6",
        types: "bf16 bf16 long bf16",
        figures: [17.0, 374.0, NONE, NONE],
        growing: "0.0 1.0 2.0",
        ..MOVES
    },
    Group {
        names: "aten::cat, aten::_cat, aten::stack, aten::hstack, aten::vstack",
        shapes: "17,6;10 -",
        types: "TensorList Scalar",
        figures: [0.0, 896.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::_foreach_add, aten::_foreach_add_, aten::_foreach_sub, aten::_foreach_sub_, \
                aten::_foreach_mul, aten::_foreach_mul_, aten::_foreach_div, aten::_foreach_div_, \
                aten::_foreach_clamp_max, aten::_foreach_clamp_max_, aten::_foreach_clamp_min, \
                aten::_foreach_clamp_min_, aten::_foreach_maximum, aten::_foreach_maximum_, \
                aten::_foreach_minimum, aten::_foreach_minimum_, aten::_foreach_pow, aten::_foreach_pow_, \
                aten::_foreach_abs, aten::_foreach_abs_, aten::_foreach_ceil, aten::_foreach_ceil_, \
                aten::_foreach_exp, aten::_foreach_exp_, aten::_foreach_floor, aten::_foreach_floor_, \
                aten::_foreach_log, aten::_foreach_log_, aten::_foreach_neg, aten::_foreach_neg_, \
                aten::_foreach_reciprocal, aten::_foreach_reciprocal_, aten::_foreach_round, \
                aten::_foreach_round_, aten::_foreach_rsqrt, aten::_foreach_rsqrt_, aten::_foreach_sigmoid, \
                aten::_foreach_sigmoid_, aten::_foreach_sign, aten::_foreach_sign_, aten::_foreach_sqrt, \
                aten::_foreach_sqrt_, aten::_foreach_tanh, aten::_foreach_tanh_, aten::_foreach_trunc, \
                aten::_foreach_trunc_, aten::_amp_foreach_non_finite_check_and_unscale_",
        shapes: "17,6;10 -",
        types: "TensorList Scalar",
        figures: [112.0, 896.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::_foreach_addcmul, aten::_foreach_addcmul_, aten::_foreach_addcdiv, \
                aten::_foreach_addcdiv_, aten::_foreach_lerp, aten::_foreach_lerp_",
        shapes: "17,6;10 17,6;10 17,6;10",
        types: "TensorList",
        figures: [336.0, 1792.0, NONE, NONE],
        spec: "vector_fp32",
        growing: "0.0 1.0 2.0",
        ..MOVES
    },
    Group {
        names: "aten::_foreach_copy_",
        shapes: "17,6;10 17,6;10",
        types: "TensorList",
        figures: [0.0, 896.0, NONE, NONE],
        spec: "vector_fp32",
        growing: "0.0 1.0",
        ..MOVES
    },
    Group {
        names: "aten::_foreach_zero_",
        shapes: "17,6;10",
        types: "TensorList",
        figures: [0.0, 448.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::_foreach_norm",
        shapes: "17,6;10",
        types: "TensorList",
        figures: [224.0, 456.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::_fused_adam_, aten::_fused_adamw_",
        shapes: "17,6;10 17,6;10 17,6;10 17,6;10 -",
        types: "TensorList",
        figures: [1680.0, 3136.0, NONE, NONE],
        spec: "vector_fp32",
        growing: "0.0 1.0 2.0 3.0",
        ..MOVES
    },
    Group {
        names: "aten::_fused_sgd_",
        shapes: "17,6;10 17,6;10 17,6;10",
        types: "TensorList",
        figures: [672.0, 2240.0, NONE, NONE],
        spec: "vector_fp32",
        growing: "0.0 1.0 2.0",
        ..MOVES
    },
    Group {
        names: "aten::_fused_adagrad_",
        shapes: "17,6;10 17,6;10 17,6;10",
        types: "TensorList",
        figures: [1008.0, 2240.0, NONE, NONE],
        spec: "vector_fp32",
        growing: "0.0 1.0 2.0",
        ..MOVES
    },
    Group {
        names: "aten::index_select",
        shapes: "17,6 - 5",
        types: "bf16 Scalar long",
        scalars: &[(1, "0")],
        figures: [0.0, 160.0, NONE, NONE],
        growing: "2.0",
        ..MOVES
    },
    Group {
        names: "aten::gather",
        shapes: "17,6 - 5,6",
        types: "bf16 Scalar long",
        scalars: &[(1, "0")],
        figures: [0.0, 360.0, NONE, NONE],
        growing: "2.0",
        ..MOVES
    },
    Group {
        names: "aten::take",
        shapes: "17,6 5,6",
        types: "bf16 long",
        figures: [0.0, 360.0, NONE, NONE],
        growing: "1.0",
        ..MOVES
    },
    Group {
        names: "aten::scatter_",
        shapes: "17,6 - 5,6 5,6",
        types: "bf16 Scalar long bf16",
        scalars: &[(1, "0")],
        figures: [0.0, 360.0, NONE, NONE],
        growing: "2.0 3.0",
        ..MOVES
    },
    Group {
        names: "aten::scatter",
        shapes: "17,6 - 5,6 5,6",
        types: "bf16 Scalar long bf16",
        scalars: &[(1, "0")],
        figures: [0.0, 768.0, NONE, NONE],
        growing: "2.0 3.0",
        ..MOVES
    },
    Group {
        names: "aten::scatter_add_, aten::scatter_reduce_",
        shapes: "17,6 - 5,6 5,6",
        types: "bf16 Scalar long bf16",
        scalars: &[(1, "0")],
        figures: [30.0, 420.0, NONE, NONE],
        growing: "2.0 3.0",
        ..MOVES
    },
    Group {
        names: "aten::scatter_add, aten::scatter_reduce",
        shapes: "17,6 - 5,6 5,6",
        types: "bf16 Scalar long bf16",
        scalars: &[(1, "0")],
        figures: [30.0, 828.0, NONE, NONE],
        growing: "2.0 3.0",
        ..MOVES
    },
    Group {
        names: "aten::index_add_",
        shapes: "17,6 - 5 5,6",
        types: "bf16 Scalar long bf16",
        scalars: &[(1, "0")],
        figures: [30.0, 220.0, NONE, NONE],
        growing: "2.0 3.0",
        ..MOVES
    },
    Group {
        names: "aten::index_add",
        shapes: "17,6 - 5 5,6",
        types: "bf16 Scalar long bf16",
        scalars: &[(1, "0")],
        figures: [30.0, 628.0, NONE, NONE],
        growing: "2.0 3.0",
        ..MOVES
    },
    Group {
        names: "aten::index_copy_",
        shapes: "17,6 - 5 5,6",
        types: "bf16 Scalar long bf16",
        scalars: &[(1, "0")],
        figures: [0.0, 160.0, NONE, NONE],
        growing: "2.0 3.0",
        ..MOVES
    },
    Group {
        names: "aten::index_copy",
        shapes: "17,6 - 5 5,6",
        types: "bf16 Scalar long bf16",
        scalars: &[(1, "0")],
        figures: [0.0, 568.0, NONE, NONE],
        growing: "2.0 3.0",
        ..MOVES
    },
    Group {
        names: "aten::index_fill_",
        shapes: "17,6 - 5 -",
        types: "bf16 Scalar long Scalar",
        scalars: &[(1, "0")],
        figures: [0.0, 100.0, NONE, NONE],
        growing: "2.0",
        ..MOVES
    },
    Group {
        names: "aten::index_fill",
        shapes: "17,6 - 5 -",
        types: "bf16 Scalar long Scalar",
        scalars: &[(1, "0")],
        figures: [0.0, 508.0, NONE, NONE],
        growing: "2.0",
        ..MOVES
    },
    Group {
        names: "aten::index_put_, aten::_index_put_impl_",
        shapes: "17,6 - 5,6 -",
        types: "bf16 none bf16 Scalar",
        scalars: &[(3, "True")],
        figures: [30.0, 180.0, NONE, NONE],
        growing: "2.0",
        ..MOVES
    },
    Group {
        names: "aten::index_put",
        shapes: "17,6 - 5,6 -",
        types: "bf16 none bf16 Scalar",
        scalars: &[(3, "True")],
        figures: [30.0, 588.0, NONE, NONE],
        growing: "2.0",
        ..MOVES
    },
    Group { names: "aten::sort", shapes: "17,6", figures: [0.0, 1224.0, NONE, NONE], ..MOVES },
    Group {
        names: "aten::topk",
        shapes: "17,6 - -",
        types: "bf16 Scalar",
        scalars: &[(1, "2"), (2, "-1")],
        figures: [102.0, 544.0, NONE, NONE],
        ..MOVES
    },
    Group {
        names: "aten::bucketize",
        shapes: "5,7 16",
        types: "long",
        figures: [140.0, 688.0, NONE, NONE],
        spec: "",
        ..MOVES
    },
    Group {
        names: "aten::searchsorted",
        shapes: "16 5,7",
        types: "long",
        figures: [140.0, 688.0, NONE, NONE],
        spec: "",
        growing: "1.0",
        ..MOVES
    },
    Group {
        names: "aten::embedding",
        shapes: "17,6 5",
        types: "bf16 long",
        figures: [0.0, 160.0, NONE, NONE],
        growing: "1.0",
        ..MOVES
    },
    Group {
        names: "aten::embedding_dense_backward",
        shapes: "5,6 5 -",
        types: "bf16 long Scalar",
        scalars: &[(2, "17")],
        figures: [30.0, 304.0, NONE, NONE],
        growing: "0.0 1.0",
        ..MOVES
    },
    Group {
        names: "aten::_embedding_bag, aten::_embedding_bag_forward_only",
        shapes: "17,6 5 3",
        types: "bf16 long",
        figures: [30.0, 160.0, NONE, NONE],
        growing: "1.0 2.0",
        ..MOVES
    },
    Group {
        names: "fbgemm::permute_pooled_embs, fbgemm::permute_pooled_embs_auto_grad, \
                torch::autograd::CppNode<fbgemm_gpu::PermutePooledEmbsFunction<&fbgemm_gpu::permute_pooled_embs_gpu> >",
        shapes: "17,6",
        types: "float",
        figures: [0.0, 816.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "fbgemm::split_embedding_codegen_lookup_sgd_function, \
                fbgemm::split_embedding_codegen_lookup_adam_function, \
                fbgemm::split_embedding_codegen_lookup_adagrad_function, \
                fbgemm::split_embedding_codegen_lookup_rowwise_adagrad_function, \
                fbgemm::split_embedding_codegen_lookup_lamb_function, \
                fbgemm::split_embedding_codegen_lookup_lars_sgd_function, \
                fbgemm::split_embedding_codegen_lookup_partial_rowwise_adam_function, \
                fbgemm::split_embedding_codegen_lookup_none_function",
        shapes: "- 1000 - - - - 3 - - - - 60 21",
        types: "none half none none none none int Scalar Scalar none Scalar long long",
        scalars: &[(7, "16")],
        figures: [480.0, 2248.0, NONE, NONE],
        spec: "vector_fp16",
        growing: "11.0 12.0+",
        ..MOVES
    },
    Group {
        names: "torch::autograd::CppNode<SplitLookupFunction_sgd_Op>, \
                torch::autograd::CppNode<SplitLookupFunction_adam_Op>, \
                torch::autograd::CppNode<SplitLookupFunction_adagrad_Op>, \
                torch::autograd::CppNode<SplitLookupFunction_rowwise_adagrad_Op>, \
                torch::autograd::CppNode<SplitLookupFunction_lamb_Op>, \
                torch::autograd::CppNode<SplitLookupFunction_lars_sgd_Op>, \
                torch::autograd::CppNode<SplitLookupFunction_partial_rowwise_adam_Op>, \
                torch::autograd::CppNode<SplitLookupFunction_none_Op>",
        shapes: "10,16 1000 - - - - 3 - - - - 60 21",
        types: "float half none none none none int Scalar Scalar none Scalar long long",
        scalars: &[(7, "16")],
        surroundings: &[("forward", "")],
        figures: [960.0, 3208.0, NONE, NONE],
        spec: "vector_fp32",
        growing: "0.0 11.0 12.0+",
        ..MOVES
    },
    Group {
        names: "fbgemm::permute_sparse_data, fbgemm::permute_1D_sparse_data, fbgemm::permute_2D_sparse_data, \
                fbgemm::permute_sparse_features",
        shapes: "3 6,10 600 - -",
        types: "int int long none Scalar",
        figures: [0.0, 5052.0, NONE, NONE],
        spec: "",
        growing: "1.1 2.0",
        ..MOVES
    },
    Group {
        names: "fbgemm::block_bucketize_sparse_features",
        shapes: "20 600 - - 2 - -",
        types: "int long Scalar Scalar long Scalar none",
        scalars: &[(2, "False"), (3, "True"), (5, "8")],
        figures: [0.0, 15120.0, NONE, NONE],
        spec: "",
        growing: "0.0 1.0",
        ..MOVES
    },
    Group {
        names: "fbgemm::bounds_check_indices",
        shapes: "2 600 21",
        types: "long",
        figures: [600.0, 4968.0, NONE, NONE],
        spec: "",
        growing: "1.0 2.0",
        ..MOVES
    },
    Group {
        names: "fbgemm::asynchronous_complete_cumsum",
        shapes: "20",
        types: "int",
        figures: [20.0, 164.0, NONE, NONE],
        spec: "",
        ..MOVES
    },
    Group {
        names: "fbgemm::asynchronous_inclusive_cumsum, fbgemm::asynchronous_exclusive_cumsum",
        shapes: "20",
        types: "int",
        figures: [20.0, 160.0, NONE, NONE],
        spec: "",
        ..MOVES
    },
    Group {
        names: "fbgemm::FloatToFP8RowwiseQuantized",
        shapes: "10,254",
        types: "float",
        figures: [7620.0, 12800.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "fbgemm::FP8RowwiseQuantizedToFloat",
        shapes: "10,264",
        types: "uint8",
        figures: [2560.0, 12880.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "fbgemm::FloatToHFP8Quantized",
        shapes: "100",
        types: "float",
        figures: [100.0, 500.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "fbgemm::HFP8QuantizedToFloat",
        shapes: "100",
        types: "uint8",
        figures: [100.0, 500.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::max_pool2d_with_indices",
        shapes: "2,3,8,8",
        types: "float",
        scalars: &[(1, "[3, 3]"), (2, "[2, 2]"), (3, "[1, 1]"), (4, "[1, 1]"), (5, "False")],
        figures: [864.0, 2688.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::max_pool3d_with_indices",
        shapes: "2,3,8,8,8",
        types: "float",
        scalars: &[(1, "[3, 3, 3]"), (2, "[2]"), (3, "[1]"), (4, "[1]"), (5, "False")],
        figures: [10368.0, 16896.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::avg_pool2d",
        shapes: "2,3,8,8",
        types: "float",
        scalars: &[(1, "[2]"), (2, "[]")],
        figures: [384.0, 1920.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::avg_pool3d",
        shapes: "2,3,8,8,8",
        types: "float",
        scalars: &[(1, "[2]"), (2, "[]")],
        figures: [3072.0, 13824.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::_adaptive_avg_pool2d, aten::_adaptive_avg_pool3d",
        shapes: "2,3,8,8",
        types: "float",
        scalars: &[(1, "[2, 2]")],
        figures: [384.0, 1632.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::adaptive_max_pool2d, aten::adaptive_max_pool3d",
        shapes: "2,3,8,8",
        types: "float",
        scalars: &[(1, "[2, 2]")],
        figures: [384.0, 1824.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::max_pool2d_with_indices_backward, aten::max_pool3d_with_indices_backward",
        shapes: "2,3,4,4 2,3,8,8 - - - - - 2,3,4,4",
        types: "float float none none none none none long",
        figures: [96.0, 2688.0, NONE, NONE],
        spec: "vector_fp32",
        growing: "0.0 1.0 7.0",
        ..MOVES
    },
    Group {
        names: "aten::avg_pool2d_backward, aten::avg_pool3d_backward, aten::_adaptive_avg_pool2d_backward, \
                aten::_adaptive_avg_pool3d_backward",
        shapes: "2,3,4,4 2,3,8,8",
        types: "float",
        figures: [384.0, 1920.0, NONE, NONE],
        spec: "vector_fp32",
        growing: "0.0 1.0",
        ..MOVES
    },
    Group {
        names: "aten::adaptive_max_pool2d_backward, aten::adaptive_max_pool3d_backward",
        shapes: "2,3,4,4 2,3,8,8 2,3,4,4",
        types: "float float long",
        figures: [96.0, 2688.0, NONE, NONE],
        spec: "vector_fp32",
        growing: "0.0 1.0 2.0",
        ..MOVES
    },
    Group {
        names: "aten::_upsample_nearest_exact1d, aten::_upsample_nearest_exact2d, \
                aten::_upsample_nearest_exact3d",
        shapes: "2,3,4",
        types: "float",
        scalars: &[(1, "[8]")],
        figures: [0.0, 288.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::upsample_linear1d",
        shapes: "2,3,4",
        types: "float",
        scalars: &[(1, "[8]")],
        figures: [192.0, 288.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::upsample_bilinear2d, aten::_upsample_bilinear2d_aa",
        shapes: "2,3,4",
        types: "float",
        scalars: &[(1, "[8]")],
        figures: [384.0, 288.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::upsample_trilinear3d",
        shapes: "2,3,4",
        types: "float",
        scalars: &[(1, "[8]")],
        figures: [768.0, 288.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::upsample_bicubic2d, aten::_upsample_bicubic2d_aa",
        shapes: "2,3,4",
        types: "float",
        scalars: &[(1, "[8]")],
        figures: [1536.0, 288.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::upsample_nearest1d_backward, aten::upsample_nearest2d_backward, \
                aten::upsample_nearest3d_backward",
        shapes: "2,3,8",
        types: "float",
        scalars: &[(1, "[8]"), (2, "[2, 3, 4]")],
        figures: [48.0, 288.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::upsample_linear1d_backward",
        shapes: "2,3,8",
        types: "float",
        scalars: &[(1, "[8]"), (2, "[2, 3, 4]")],
        figures: [192.0, 288.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::upsample_bilinear2d_backward",
        shapes: "2,3,8",
        types: "float",
        scalars: &[(1, "[8]"), (2, "[2, 3, 4]")],
        figures: [384.0, 288.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::upsample_trilinear3d_backward",
        shapes: "2,3,8",
        types: "float",
        scalars: &[(1, "[8]"), (2, "[2, 3, 4]")],
        figures: [768.0, 288.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::upsample_bicubic2d_backward",
        shapes: "2,3,8",
        types: "float",
        scalars: &[(1, "[8]"), (2, "[2, 3, 4]")],
        figures: [1536.0, 288.0, NONE, NONE],
        spec: "vector_fp32",
        ..MOVES
    },
    Group {
        names: "aten::reflection_pad1d, aten::reflection_pad2d, aten::reflection_pad3d",
        shapes: "3,5,7",
        scalars: &[(1, "[1, 2]")],
        figures: [150.0, 510.0, NONE, NONE],
        parameters: "input_shape output_shape padding op_shape dtype_in_out stride_input stride_output",
        ..PLAIN
    },
    Group {
        names: "aten::argmax, aten::argmin, aten::count_nonzero",
        shapes: "17,6 -",
        types: "bf16 Scalar",
        scalars: &[(1, "0")],
        figures: [102.0, 252.0, 102.0, 252.0],
        parameters: REDUCTION,
        growing: "0.1",
        ..PLAIN
    },
    Group {
        names: "aten::all, aten::any",
        shapes: "17,6 -",
        types: "bf16 Scalar",
        scalars: &[(1, "0")],
        figures: [102.0, 210.0, 102.0, 210.0],
        parameters: REDUCTION,
        growing: "0.1",
        ..PLAIN
    },
    Group {
        names: "aten::prod",
        shapes: "17,6 - -",
        types: "bf16 Scalar",
        scalars: &[(1, "0")],
        figures: [102.0, 216.0, 102.0, 216.0],
        parameters: REDUCTION,
        growing: "0.1",
        ..PLAIN
    },
    Group {
        names: "aten::nansum",
        shapes: "17,6 -",
        types: "bf16 ScalarList",
        scalars: &[(1, "[0]")],
        figures: [102.0, 216.0, 102.0, 216.0],
        parameters: REDUCTION,
        growing: "0.1",
        ..PLAIN
    },
    Group {
        names: "aten::linalg_vector_norm",
        shapes: "17,6 - -",
        types: "bf16 Scalar",
        scalars: &[(1, "2"), (2, "[0]")],
        figures: [102.0, 216.0, 102.0, 216.0],
        parameters: REDUCTION,
        growing: "0.1",
        ..PLAIN
    },
    Group {
        names: "aten::_logcumsumexp",
        shapes: "17,6 -",
        types: "bf16 Scalar",
        scalars: &[(1, "0")],
        figures: [102.0, 408.0, 102.0, 408.0],
        parameters: REDUCTION,
        growing: "0.1",
        ..PLAIN
    },
    Group {
        names: "_moe_C::topk_softmax",
        shapes: "17,2 17,2 17,2 17,8",
        types: "float int int bf16",
        figures: [544.0, 680.0, NONE, NONE],
        growing: "0.0 1.0 2.0 3.0",
        ..MOVES
    },
    Group {
        names: "sgl_kernel::topk_softmax",
        shapes: "17,2 17,2 17,8",
        types: "float int bf16",
        figures: [544.0, 544.0, NONE, NONE],
        growing: "0.0 1.0 2.0",
        ..MOVES
    },
    Group {
        names: "_moe_C::moe_align_block_size, sgl_kernel::moe_align_block_size",
        shapes: "17,2 - - 64 9 1",
        types: "int Scalar Scalar int",
        figures: [0.0, 432.0, NONE, NONE],
        spec: "",
        growing: "0.0 3.0",
        ..MOVES
    },
    Group {
        names: "_moe_C::moe_sum",
        shapes: "17,2,6 17,6",
        figures: [204.0, 612.0, NONE, NONE],
        growing: "0.0 1.0",
        ..MOVES
    },
    Group {
        names: "_C_cache_ops::reshape_and_cache, _C_cache_ops::reshape_and_cache_flash",
        shapes: "17,2,6 17,2,6 99,4,2,6 99,4,2,6 17",
        types: "bf16 bf16 uint8 uint8 long",
        figures: [0.0, 1360.0, NONE, NONE],
        growing: "0.0 1.0 4.0",
        ..MOVES
    },
    Group {
        names: "_C_cache_ops::concat_and_cache_mla",
        shapes: "17,6 17,2 99,4,8 17",
        types: "bf16 bf16 bf16 long",
        figures: [0.0, 680.0, NONE, NONE],
        growing: "0.0 1.0 3.0",
        ..MOVES
    },
    Group {
        names: "_C::fused_add_rms_norm, sgl_kernel::fused_add_rmsnorm",
        shapes: "17,40 17,40 40",
        figures: [3434.0, 5520.0, NONE, NONE],
        parameters: "op_shape dtype_in_out stride_input stride_output num_channels has_bias is_affine is_training",
        ..PLAIN
    },
];
