//! Hardware of an agent, from the JSON object that describes it.

use serde_json::Value;

use crate::rocprof::profile::{Agent, AgentKind};

/// What the object tells. A text that is none tells nothing.
pub(super) fn described(json: &[u8]) -> Agent {
    let Ok(object) = serde_json::from_slice::<Value>(json) else { return Agent::default() };
    let number = |name: &str| object.get(name).and_then(Value::as_i64);
    let small = |name: &str| number(name).and_then(|value| u32::try_from(value).ok());
    let text = |name: &str| object.get(name).and_then(Value::as_str).map(str::to_string);
    let banks = object.get("mem_banks").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let of_bank = |bank: &Value, name: &str| bank.get(name).and_then(Value::as_u64);
    let bytes: u64 =
        banks.iter().filter_map(|bank| of_bank(bank, "size_in_bytes")).fold(0, u64::saturating_add);
    // Bits of the bus over 8, times megahertz, times two transfers a clock; banks share the bus.
    let bandwidth: f64 = banks
        .iter()
        .filter_map(|bank| {
            Some(of_bank(bank, "width")? as f64 / 8.0 * of_bank(bank, "mem_clk_max")? as f64 * 2.0e6)
        })
        .fold(0.0, f64::max);
    Agent {
        kind: match number("type") {
            Some(1) => AgentKind::Cpu,
            Some(2) => AgentKind::Gpu,
            _ => AgentKind::Unknown,
        },
        label: String::new(),
        handle: object.get("id").and_then(|id| id.get("handle")).and_then(Value::as_u64),
        name: text("name"),
        product_name: text("product_name"),
        node_id: number("node_id"),
        logical_node_id: number("logical_node_id"),
        ordinal: number("logical_node_type_id"),
        compute_units: small("cu_count"),
        simds_per_compute_unit: small("simd_per_cu"),
        max_waves_per_simd: small("max_waves_per_simd"),
        wave_size: small("wave_front_size"),
        lds_kib: small("lds_size_in_kb"),
        dies: small("num_xcc"),
        max_clock_mhz: small("max_engine_clk_fcompute"),
        memory_bytes: (bytes > 0).then_some(bytes),
        memory_bandwidth: (bandwidth > 0.0).then_some(bandwidth),
    }
}
