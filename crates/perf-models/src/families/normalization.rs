//! Batch, layer, group, instance and RMS normalization.

mod layout;
pub(crate) mod model;

use super::OpGroup;
use crate::{Category, Family};
use layout::{
    BATCH, GROUP, LAYER, NATIVE_GROUP, RMS, batch_backward, forward, group_backward, group_forward,
    instance_backward, layer_backward, modulated, modulated_backward, rms_backward, vendor_batch_backward,
};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::Normalization,
        Category::NormForward,
        &[
            ("aten::batch_norm", |call| forward(call, &BATCH)),
            ("aten::layer_norm", |call| forward(call, &LAYER)),
            ("aten::group_norm", |call| forward(call, &GROUP)),
            ("aten::instance_norm", |call| forward(call, &BATCH)),
            ("aten::native_batch_norm", |call| forward(call, &BATCH)),
            ("aten::native_layer_norm", |call| forward(call, &LAYER)),
            ("aten::native_group_norm", |call| forward(call, &NATIVE_GROUP)),
            ("aten::native_instance_norm", |call| forward(call, &BATCH)),
            ("aten::miopen_batch_norm", |call| forward(call, &BATCH)),
            ("aten::miopen_layer_norm", |call| forward(call, &LAYER)),
            ("aten::miopen_group_norm", |call| forward(call, &GROUP)),
            ("aten::miopen_instance_norm", |call| forward(call, &BATCH)),
            ("aten::cudnn_batch_norm", |call| forward(call, &BATCH)),
            ("aten::cudnn_layer_norm", |call| forward(call, &LAYER)),
            ("aten::cudnn_group_norm", |call| forward(call, &GROUP)),
            ("aten::cudnn_instance_norm", |call| forward(call, &BATCH)),
            ("aten::_fused_rms_norm", |call| forward(call, &RMS)),
            ("aiter::_groupnorm_run", group_forward),
            ("primus::fused_ln_modulate", modulated),
        ],
    ),
    OpGroup::modelled(
        Family::Normalization,
        Category::NormBackward,
        &[
            ("aten::batch_norm_backward", batch_backward),
            ("aten::layer_norm_backward", layer_backward),
            ("aten::group_norm_backward", group_backward),
            ("aten::instance_norm_backward", instance_backward),
            ("aten::rms_norm_backward", rms_backward),
            ("aten::native_batch_norm_backward", batch_backward),
            ("aten::native_layer_norm_backward", layer_backward),
            ("aten::native_group_norm_backward", group_backward),
            ("aten::native_instance_norm_backward", instance_backward),
            ("aten::native_rms_norm_backward", rms_backward),
            ("aten::miopen_batch_norm_backward", vendor_batch_backward),
            ("aten::miopen_layer_norm_backward", layer_backward),
            ("aten::miopen_group_norm_backward", group_backward),
            ("aten::miopen_instance_norm_backward", instance_backward),
            ("aten::miopen_rms_norm_backward", rms_backward),
            ("aten::cudnn_batch_norm_backward", vendor_batch_backward),
            ("aten::cudnn_layer_norm_backward", layer_backward),
            ("aten::cudnn_group_norm_backward", group_backward),
            ("aten::cudnn_instance_norm_backward", instance_backward),
            ("aten::cudnn_rms_norm_backward", rms_backward),
            ("aten::_fused_rms_norm_backward", rms_backward),
            ("primus::fused_ln_modulate_backward", modulated_backward),
        ],
    ),
];
