//! Halo exchange: what a sliding window needs of its neighbours' shards.

use super::{Call, Modelled, other};
use crate::attributes::{after, tuple};

/// Window, stride, padding, dilation and how the output is sharded, for the label.
pub(super) fn model(call: &Call<'_>) -> Modelled {
    let part = |marker, count| tuple(call.attributes, marker, count).unwrap_or_else(|| "x".to_owned());
    let layout = after(call.attributes, "memory_layout=")
        .and_then(|rest| rest.split(';').next())
        .and_then(|layout| layout.split("::").nth(1))
        .unwrap_or("x");
    let sizes = format!(
        "w={} s={} p={} d={} | {layout}",
        part("window_hw=", 2),
        part("stride_hw=", 2),
        part("padding=", 4),
        part("dilation_hw=", 2),
    );
    Modelled { sizes, ..other::model(call) }
}
