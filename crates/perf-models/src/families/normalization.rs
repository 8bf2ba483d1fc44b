//! Batch, layer, group, instance and RMS normalization.

mod layout;
pub(crate) mod model;

use super::{OpGroup, op};
use crate::{Category, Family};
use layout::{
    BATCH, GROUP, INSTANCE, LAYER, NATIVE_GROUP, RMS, batch_backward, forward, group_backward, group_forward,
    instance_backward, layer_backward, modulated, modulated_backward, rms_backward, vendor_batch_backward,
};

pub(super) const GROUPS: &[OpGroup] = &[
    OpGroup::modelled(
        Family::Normalization,
        Category::NormForward,
        &[
            op("aten::batch_norm", |call| forward(call, &BATCH)),
            op("aten::layer_norm", |call| forward(call, &LAYER)),
            op("aten::group_norm", |call| forward(call, &GROUP)),
            op("aten::instance_norm", |call| forward(call, &INSTANCE)),
            op("aten::native_batch_norm", |call| forward(call, &BATCH)),
            op("aten::native_layer_norm", |call| forward(call, &LAYER)),
            op("aten::native_group_norm", |call| forward(call, &NATIVE_GROUP)),
            op("aten::native_instance_norm", |call| forward(call, &INSTANCE)),
            op("aten::miopen_batch_norm", |call| forward(call, &BATCH)),
            op("aten::miopen_layer_norm", |call| forward(call, &LAYER)),
            op("aten::miopen_group_norm", |call| forward(call, &GROUP)),
            op("aten::miopen_instance_norm", |call| forward(call, &INSTANCE)),
            op("aten::cudnn_batch_norm", |call| forward(call, &BATCH)),
            op("aten::cudnn_layer_norm", |call| forward(call, &LAYER)),
            op("aten::cudnn_group_norm", |call| forward(call, &GROUP)),
            op("aten::cudnn_instance_norm", |call| forward(call, &INSTANCE)),
            op("aten::_fused_rms_norm", |call| forward(call, &RMS)),
            op("aiter::_groupnorm_run", group_forward),
            op("primus::fused_ln_modulate", modulated),
        ],
    ),
    OpGroup::modelled(
        Family::Normalization,
        Category::NormBackward,
        &[
            op("aten::batch_norm_backward", batch_backward),
            op("aten::layer_norm_backward", layer_backward),
            op("aten::group_norm_backward", group_backward),
            op("aten::instance_norm_backward", instance_backward),
            op("aten::rms_norm_backward", rms_backward),
            op("aten::native_batch_norm_backward", batch_backward),
            op("aten::native_layer_norm_backward", layer_backward),
            op("aten::native_group_norm_backward", group_backward),
            op("aten::native_instance_norm_backward", instance_backward),
            op("aten::native_rms_norm_backward", rms_backward),
            op("aten::miopen_batch_norm_backward", vendor_batch_backward),
            op("aten::miopen_layer_norm_backward", layer_backward),
            op("aten::miopen_group_norm_backward", group_backward),
            op("aten::miopen_instance_norm_backward", instance_backward),
            op("aten::miopen_rms_norm_backward", rms_backward),
            op("aten::cudnn_batch_norm_backward", vendor_batch_backward),
            op("aten::cudnn_layer_norm_backward", layer_backward),
            op("aten::cudnn_group_norm_backward", group_backward),
            op("aten::cudnn_instance_norm_backward", instance_backward),
            op("aten::cudnn_rms_norm_backward", rms_backward),
            op("aten::_fused_rms_norm_backward", rms_backward),
            op("primus::fused_ln_modulate_backward", modulated_backward),
        ],
    ),
];
