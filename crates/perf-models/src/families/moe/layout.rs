//! Where the arguments of each operator over experts stand.

use super::model::{ExpertLayer, ExpertStage};
use super::weights::{Width, activation, weight};
use crate::recorded::{Read, Recorded};
use crate::{OpCall, PerfModel, Undefined, Value, precision};

/// The weights on the way up and down: (experts, gate and up, packed hidden), (experts, hidden, packed
/// intermediate).
struct Weights {
    experts: u64,
    hidden: u64,
    intermediate: u64,
    gated: bool,
    /// Weights to an element.
    packed: u64,
}

fn weights(call: &OpCall<'_>, up: usize, down: usize) -> Result<Weights, Undefined> {
    let [experts, gate_and_up, packed_hidden] = call.dimensions_of(up)?;
    let [_, hidden, packed_intermediate] = call.dimensions_of(down)?;
    let packed = packing(hidden, packed_hidden, up)?;
    let intermediate = packed_intermediate.saturating_mul(packed);
    Ok(Weights { experts, hidden, intermediate, gated: is_gated(gate_and_up, intermediate), packed })
}

fn packing(numbers: u64, elements: u64, input: usize) -> Result<u64, Undefined> {
    numbers
        .checked_div(elements)
        .ok_or_else(|| Undefined::arguments(format!("the weight Input Dims[{input}] has no elements")))
}

/// Whether gate and up matrices lie one after the other.
fn is_gated(gate_and_up: u64, intermediate: u64) -> bool {
    Some(gate_and_up) == intermediate.checked_mul(2)
}

/// `(tokens, up, down, topk weights, ...)`.
pub(super) fn fused_or_flydsl(call: &OpCall<'_>, stage: ExpertStage) -> Read {
    let Weights { experts, hidden, intermediate, gated, packed } = weights(call, 1, 2)?;
    let (input_type, weight_type) = (type_of(call, 0), type_of(call, 1));
    let input = activation(&input_type, 2.0);
    let math = if stage == ExpertStage::Fused { &input_type } else { &weight_type };
    let layer = ExpertLayer {
        stage,
        tokens: call.dimension(0, 0)?,
        hidden,
        intermediate,
        experts,
        topk: call.dimension(3, 1)?,
        gated,
        precision: precision(math),
        ..EMPTY
    };
    let widths = Widths { input, weight: weight(&weight_type, packed), output: input };
    let types = [("input_dtype", input_type), ("weight_dtype", weight_type)];
    recorded(layer, true, types, widths, Vec::new())
}

/// `(output, tokens, up, down, sorted ids, sorted weights, sorted experts, valid ids, topk, ...)`.
pub(super) fn fused_given_output(call: &OpCall<'_>) -> Read {
    let Weights { experts, hidden, intermediate, gated, packed } = weights(call, 2, 3)?;
    let topk = call.concrete_integer(8)?;
    let topk = u64::try_from(topk)
        .map_err(|_| Undefined::arguments(format!("the top-k in Concrete Inputs[8] is negative: {topk}")))?;
    let tokens = call.dimension(0, 0)?;
    let layer = ExpertLayer { tokens, hidden, intermediate, experts, topk, gated, ..EMPTY };
    with_output(call, layer, [1, 2, 0], packed, 1.0)
}

/// `(tokens, up, output, ...)`: (tokens, hidden), (experts, gate and up, packed hidden), (tokens, topk,
/// intermediate).
pub(super) fn cktile_stage1(call: &OpCall<'_>) -> Read {
    let [tokens, hidden] = call.dimensions_of(0)?;
    let [experts, gate_and_up, packed_hidden] = call.dimensions_of(1)?;
    let [_, topk, intermediate] = call.dimensions_of(2)?;
    let gated = is_gated(gate_and_up, intermediate);
    let layer =
        ExpertLayer { stage: ExpertStage::Up, tokens, hidden, intermediate, experts, topk, gated, ..EMPTY };
    with_output(call, layer, [0, 1, 2], packing(hidden, packed_hidden, 1)?, 2.0)
}

/// `(activations, down, output, ...)`: (tokens, topk, intermediate), (experts, hidden, packed intermediate).
pub(super) fn cktile_stage2(call: &OpCall<'_>) -> Read {
    let [tokens, topk, intermediate] = call.dimensions_of(0)?;
    let [experts, hidden, packed_intermediate] = call.dimensions_of(1)?;
    let layer =
        ExpertLayer { stage: ExpertStage::Down, tokens, hidden, intermediate, experts, topk, ..EMPTY };
    with_output(call, layer, [0, 1, 2], packing(intermediate, packed_intermediate, 1)?, 2.0)
}

/// A layer whose activations, weights and outputs are the given inputs; `width` is that of activations of no known
/// type.
fn with_output(call: &OpCall<'_>, layer: ExpertLayer, inputs: [usize; 3], packed: u64, width: f64) -> Read {
    let [input_type, weight_type, output_type] = inputs.map(|input| type_of(call, input));
    let layer = ExpertLayer { precision: precision(&input_type), ..layer };
    let widths = Widths {
        input: activation(&input_type, width),
        weight: weight(&weight_type, packed),
        output: activation(&output_type, 2.0),
    };
    let types = [("input_dtype", input_type), ("weight_dtype", weight_type), ("output_dtype", output_type)];
    recorded(layer, shows_gate(layer.stage), types, widths, Vec::new())
}

/// `(tokens, up, down, sorted ids, sorted experts, valid ids, output, ...)`.
pub(super) fn ck_stage1(call: &OpCall<'_>) -> Read {
    let Weights { experts, hidden, intermediate, gated, packed } = weights(call, 1, 2)?;
    let layer = ExpertLayer {
        stage: ExpertStage::Up,
        tokens: call.dimension(0, 0)?,
        hidden,
        intermediate,
        experts,
        topk: call.dimension(6, 1)?,
        gated,
        ..EMPTY
    };
    ck(call, layer, 1, packed)
}

/// `(activations, up, down, ...)`: (tokens, topk, packed intermediate).
pub(super) fn ck_stage2(call: &OpCall<'_>) -> Read {
    let [tokens, topk, packed_intermediate] = call.dimensions_of(0)?;
    let [experts, hidden, _] = call.dimensions_of(2)?;
    let packed = match call.dimensions(1)?.last() {
        Some(&packed_hidden) => packing(hidden, packed_hidden, 1)?,
        None => 1,
    };
    let intermediate = packed_intermediate.saturating_mul(packed);
    let layer =
        ExpertLayer { stage: ExpertStage::Down, tokens, hidden, intermediate, experts, topk, ..EMPTY };
    ck(call, layer, 2, packed)
}

/// The output is counted as wide as the input.
fn ck(call: &OpCall<'_>, layer: ExpertLayer, weights: usize, packed: u64) -> Read {
    let (input_type, weight_type) = (type_of(call, 0), type_of(call, weights));
    let layer = ExpertLayer { precision: precision(&input_type), ..layer };
    let input = activation(&input_type, 2.0);
    let widths = Widths { input, weight: weight(&weight_type, packed), output: input };
    let types = [("input_dtype", input_type), ("weight_dtype", weight_type)];
    recorded(layer, shows_gate(layer.stage), types, widths, Vec::new())
}

/// Top-k of most models that Triton's kernels are used for.
const TRITON_TOPK: u64 = 4;
/// Top-k of most models that are quantised by GPTQ or AWQ.
const GPTQ_TOPK: u64 = 8;

/// `(tokens, router scores, ...)` around a Triton kernel: its weights are not among the arguments.
pub(super) fn triton(call: &OpCall<'_>, stage: ExpertStage) -> Read {
    let (tokens, hidden) = (call.dimension(0, 0)?, call.dimension(0, 1)?);
    let mut notes = vec!["assumed intermediate size = hidden size".to_owned()];
    let kernel = call.kernels.first().map(|name| name.to_ascii_lowercase()).unwrap_or_default();
    let topk = recorded_topk(call).unwrap_or_else(|| assumed_topk(TRITON_TOPK, &mut notes));
    let gated = recorded_gate(call).unwrap_or_else(|| {
        // `_glu` is a part of `_swiglu` too.
        let gated = kernel.contains("_swiglu") || kernel.contains("_glu");
        notes.push(format!("assumed {} from the kernel name", if gated { "a gate" } else { "no gate" }));
        gated
    });
    let weight_type = if kernel.contains("fp4") {
        Some("FP4")
    } else if kernel.contains("fp8") || kernel.contains("e4m3") {
        Some("FP8")
    } else {
        None
    };
    let input_type = type_of(call, 0);
    let input = activation(&input_type, 2.0);
    if weight_type.is_none() {
        notes.push("assumed weights of the same type as the activations".to_owned());
    }
    let layer = ExpertLayer {
        stage,
        tokens,
        hidden,
        intermediate: hidden,
        experts: call.dimension(1, 1)?,
        topk,
        gated,
        precision: precision(weight_type.unwrap_or(&input_type)),
        ..EMPTY
    };
    let widths = Widths { input, weight: weight_type.map_or(input, |name| weight(name, 1)), output: input };
    let types = [("input_dtype", input_type), ("weight_dtype", weight_type.unwrap_or_default().to_owned())];
    recorded(layer, true, types, widths, notes)
}

/// `(tokens, up, down, ..., topk weights, ...)` with four-bit weights: (experts, gate and up, packed hidden).
pub(super) fn gptq_up(call: &OpCall<'_>) -> Read {
    let mut notes = Vec::new();
    let gated = recorded_gate(call).unwrap_or_else(|| {
        notes.push("assumed a gate".to_owned());
        true
    });
    let gate_and_up = call.dimension(1, 1)?;
    let intermediate = if gated { gate_and_up / 2 } else { gate_and_up };
    let layer =
        ExpertLayer { stage: ExpertStage::Up, intermediate, experts: call.dimension(1, 0)?, gated, ..EMPTY };
    gptq(call, layer, notes)
}

/// As [`gptq_up`]: (experts, hidden, packed intermediate).
pub(super) fn gptq_down(call: &OpCall<'_>) -> Read {
    let layer = ExpertLayer {
        stage: ExpertStage::Down,
        intermediate: call.dimension(2, 2)?.saturating_mul(2),
        experts: call.dimension(2, 0)?,
        ..EMPTY
    };
    gptq(call, layer, Vec::new())
}

fn gptq(call: &OpCall<'_>, layer: ExpertLayer, mut notes: Vec<String>) -> Read {
    let topk = recorded_topk(call)
        .or_else(|| call.dimension(4, 1).ok())
        .unwrap_or_else(|| assumed_topk(GPTQ_TOPK, &mut notes));
    notes.push("assumed 4-bit weights".to_owned());
    let input_type = call.type_of(0).unwrap_or("BFloat16").to_owned();
    let layer = ExpertLayer {
        tokens: call.dimension(0, 0)?,
        hidden: call.dimension(0, 1)?,
        topk,
        precision: precision(&input_type),
        ..layer
    };
    let input = activation(&input_type, 2.0);
    let widths = Widths { input, weight: Width::known(0.5), output: input };
    recorded(layer, shows_gate(layer.stage), [("input_dtype", input_type)], widths, notes)
}

fn recorded_topk(call: &OpCall<'_>) -> Option<u64> {
    call.attribute("MoE topk")?.count()
}

fn assumed_topk(topk: u64, notes: &mut Vec<String>) -> u64 {
    notes.push(format!("assumed top-k {topk}"));
    topk
}

fn recorded_gate(call: &OpCall<'_>) -> Option<bool> {
    match call.attribute("MoE GEMM gated")? {
        Value::Bool(gated) => Some(*gated),
        Value::Text(text) => text.trim().to_ascii_lowercase().parse().ok(),
        _ => None,
    }
}

fn type_of(call: &OpCall<'_>, input: usize) -> String {
    call.type_of(input).unwrap_or_default().to_owned()
}

const EMPTY: ExpertLayer = ExpertLayer {
    stage: ExpertStage::Fused,
    tokens: 0,
    hidden: 0,
    intermediate: 0,
    experts: 0,
    topk: 0,
    gated: false,
    input_bytes: 0.0,
    weight_bytes: 0.0,
    output_bytes: 0.0,
    precision: None,
};

/// Widths of a layer's numbers.
#[derive(Clone, Copy)]
struct Widths {
    input: Width,
    weight: Width,
    output: Width,
}

/// Whether the gate is a parameter of a layer's rows: weights of the way down alone do not show it.
fn shows_gate(stage: ExpertStage) -> bool {
    stage != ExpertStage::Down
}

/// A layer's experts: assumptions of the layout come before those on widths.
fn recorded<const N: usize>(
    layer: ExpertLayer,
    shows_gate: bool,
    types: [(&'static str, String); N],
    widths: Widths,
    mut notes: Vec<String>,
) -> Read {
    let Widths { input, weight, output } = widths;
    notes.extend(input.note("activations").or_else(|| output.note("outputs")));
    notes.extend(weight.note("weights"));
    let layer = ExpertLayer {
        input_bytes: input.bytes,
        weight_bytes: weight.bytes,
        output_bytes: output.bytes,
        ..layer
    };
    let mut parameters = layer.parameters();
    if !shows_gate {
        parameters.retain(|(name, _)| *name != "gated");
    }
    let shown = |name: String| if name.is_empty() { Value::None } else { name.into() };
    parameters.extend(types.map(|(parameter, name)| (parameter, shown(name))));
    Ok(Recorded::new(layer).with_parameters(parameters).with_notes(notes))
}
