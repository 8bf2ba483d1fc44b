//! A training step of JAX on an H200, whose kernels XLA launches as CUDA graphs.

use std::path::Path;

use trace_ingest::ReadOptions;
use trace_ingest::xplane::read_profile;
use xla_perf::{JaxAnalysis, JaxOptions};

#[test]
fn kernels_of_a_command_buffer_belong_to_their_instructions() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recorded/h200/jax_step.xplane.pb");
    let profile = read_profile(&path, &ReadOptions::default()).unwrap();
    let named = |event| {
        let call = profile.xla(event)?;
        Some(profile.trace.text(call.hlo_op?).to_owned())
    };
    let in_buffers =
        profile.trace.events().ids().filter(|&event| named(event).is_some_and(|op| op == "command_buffer_7"));
    assert_eq!(in_buffers.count(), 44);
    let analysis = JaxAnalysis::new(profile, JaxOptions::default());
    for operator in analysis.operators() {
        assert!(operator.record.is_some(), "{} has no instruction", operator.name);
        assert!(!operator.name.starts_with("command_buffer"));
    }
    let dots = analysis.operators().iter().filter(|operator| operator.name.starts_with("gemm_fusion_dot"));
    assert!(dots.clone().count() > 5 && dots.clone().all(|dot| dot.category.as_str() == "GEMM"));
}
