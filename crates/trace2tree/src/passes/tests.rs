//! The passes on traces of the smallest kind.

use proptest::prelude::*;
use testdata::trace::{shapes, texts};
use trace_ingest::{ArgumentValue, Category, EventArguments, EventId};

use super::*;
use crate::fixture::{Fixture, Planted};
use crate::{EditError, PseudoOperator, TreeOptions};

/// A trace with one thing after the other; kernels run one at a time, each for the time given in µs.
struct Timeline {
    fixture: Fixture,
    now: f64,
    correlation: i64,
    device_now: f64,
}

/// A host event that others are put into.
enum Host<'n> {
    Operator(&'n str),
    Frame(&'n str),
}
use Host::{Frame, Operator};

impl Timeline {
    fn new() -> Self {
        Timeline { fixture: Fixture::new(), now: 0.0, correlation: 0, device_now: 10_000.0 }
    }

    /// A host event around all that `inside` adds. It comes after them in the file.
    fn within(&mut self, host: Host<'_>, inside: impl FnOnce(&mut Self)) -> EventId {
        self.with_arguments(host, EventArguments::default(), inside)
    }

    fn with_arguments(
        &mut self,
        host: Host<'_>,
        arguments: EventArguments,
        inside: impl FnOnce(&mut Self),
    ) -> EventId {
        let start = self.now;
        self.now += 1.0;
        inside(self);
        self.now += 1.0;
        let (category, name) = match host {
            Operator(name) => (Category::CPU_OP, name),
            Frame(name) => (Category::PYTHON_FUNCTION, name),
        };
        self.fixture.event(category, name, (1, 1), (start, self.now - start - 0.25), arguments)
    }

    fn launch(&mut self, kernels: &[(&str, f64)]) {
        let name = if kernels.len() > 1 { "hipGraphLaunch" } else { "hipLaunchKernel" };
        self.correlation += 1;
        self.fixture.launch(name, (self.now, 0.5), self.correlation);
        self.now += 1.0;
        for &(kernel, duration) in kernels {
            self.fixture.kernel(kernel, (self.device_now, duration), self.correlation);
            self.device_now += duration + 1.0;
        }
    }

    fn kernels(&mut self, kernels: &[(&str, f64)]) {
        for kernel in kernels {
            self.launch(std::slice::from_ref(kernel));
        }
    }

    fn tree(self) -> TraceTree {
        self.fixture.tree()
    }

    fn tree_without_frames(self) -> TraceTree {
        TraceTree::build(self.fixture.finish(), &TreeOptions::default())
    }
}

/// The launchers with their busy time in µs.
fn launchers(tree: &TraceTree) -> Vec<(&str, f64)> {
    let trace = tree.trace();
    tree.kernel_launchers(|_| true)
        .iter()
        .map(|(launcher, device)| {
            let busy = crate::busy_time(trace.events(), device.iter().copied());
            (trace.name(launcher), trace.to_microseconds(busy))
        })
        .collect()
}

/// Runs the passes, makes sure that a second run finds nothing to do, and gives the launchers.
fn launchers_after(tree: &mut TraceTree) -> Vec<(&str, f64)> {
    let failures = insert_pseudo_operators(tree);
    assert!(failures.is_empty(), "{failures:?}");
    let (before, warnings) = (tree.trace().events().len(), tree.warnings().to_vec());
    assert!(insert_pseudo_operators(tree).is_empty());
    assert_eq!(tree.trace().events().len(), before, "a second run adds nothing");
    assert_eq!(tree.warnings(), warnings, "a second run says nothing new");
    launchers(tree)
}

fn warnings(tree: &TraceTree) -> Vec<String> {
    tree.warnings().iter().map(ToString::to_string).collect()
}

/// The further arguments of the one operator of this name, as `label=value`.
fn attributes(tree: &TraceTree, name: &str) -> Vec<String> {
    let [operator] = tree.find_by_name(name) else { panic!("one {name}") };
    let display = |value: &ArgumentValue| value.display(trace_ingest::Sequence::List).to_string();
    let attributes = tree.pseudo_attributes(*operator).iter();
    attributes.map(|(label, value)| format!("{label}={}", display(value))).collect()
}

fn dims(timeline: &mut Timeline, dims: &[&[i64]]) -> EventArguments {
    let shaped = timeline.fixture.recorded([Some(shapes(dims)), None, None, None]);
    EventArguments { sequence_number: Some(77), ..shaped }
}

/// `aten::topk` as the routing kernel's operator records it.
fn routing(timeline: &mut Timeline, name: &str, topk: &str) {
    let arguments = timeline.fixture.recorded([None, None, None, Some(texts(&["", topk]))]);
    timeline.with_arguments(Operator(name), arguments, |_| {});
}

const FUSED: &str = "pseudo_op::moe_aiter_fused_1stage";
const TRITON_UP: &str = "pseudo_op::moe_triton_unfused_up";
const TRITON_DOWN: &str = "pseudo_op::moe_triton_unfused_down";
const SCATTER: &str = "pseudo_op::moe_triton_unfused_finalize_matmul_scatter";
const GPTQ: [(&str, f64); 4] = [
    ("fused_moe_kernel_gptq_awq", 50.0),
    ("act", 20.0),
    ("fused_moe_kernel_gptq_awq_2", 40.0),
    ("sum", 20.0),
];
const MLA_FRAME: &str = "/opt/aiter/mla.py(42): mla_decode_fwd";
const MLA_STAGE: &str = "aiter::mla_decode_stage1_asm_fwd";
const V4_FRAME: &str = "ops/paged_decode.py(7): sparse_attn_v4_paged_decode";
const V4: &str = "aiter::v4_attention_with_output";

/// `vllm::moe_forward` around `vllm::rocm_aiter_fused_moe` with these kernels.
fn fused(timeline: &mut Timeline, kernels: &[(&str, f64)]) {
    let arguments = dims(timeline, &[&[8, 1024]]);
    timeline.within(Operator("vllm::moe_forward"), |timeline| {
        timeline.with_arguments(Operator("vllm::rocm_aiter_fused_moe"), arguments, |timeline| {
            timeline.kernels(kernels);
        });
    });
}

#[test]
fn the_passes_come_in_their_order() {
    let names: Vec<&str> = pseudo_operator_passes().iter().map(|pass| pass.name()).collect();
    assert_eq!(
        names,
        [
            "sglang_names",
            "MoE_Fused",
            "MoE_Unfused_Triton",
            "MoE_GPTQ_AWQ",
            "MoE_Flydsl",
            "MLA_Decode",
            "MLA_Prefill",
            "V4_Paged_Decode"
        ]
    );
}

#[test]
fn a_fused_expert_kernel_is_told_from_sorting_and_quantisation() {
    let mut timeline = Timeline::new();
    fused(
        &mut timeline,
        &[
            ("ck_tile::MoeSortingKernel", 20.0),
            ("void aiter::fmoe_bf16_blockscaleFp8", 100.0),
            ("aiter::dynamic_quant", 20.0),
        ],
    );
    let mut tree = timeline.tree_without_frames();
    assert_eq!(launchers_after(&mut tree), [("vllm::rocm_aiter_fused_moe", 40.0), (FUSED, 100.0)]);
    let ([pseudo], [donor]) = (tree.find_by_name(FUSED), tree.find_by_name("vllm::rocm_aiter_fused_moe"))
    else {
        panic!("one of each")
    };
    let events = tree.trace().events();
    assert_eq!(tree.parent(*pseudo), Some(*donor));
    assert_eq!(events.signature(*pseudo), events.signature(*donor));
    assert_eq!((events.sequence_number(*pseudo), events.external_id(*pseudo)), (Some(77), Some(2)));
}

#[test]
fn a_fused_operator_without_exactly_one_expert_kernel_is_left_as_it_is() {
    let one = "operator without exactly one fused kernel, left unchanged";
    for (kernels, problem) in [
        (&[][..], "operator without device work, left unchanged"),
        (&[("aiter::MoeSorting_fmoe", 1.0)], one),
        (&[("aiter::fmoe_Dynamic_Quant", 1.0)], one),
        (&[("fmoe", 1.0), ("aiter::gemm", 1.0)], one),
        (&[("aiter::fmoe_a", 1.0), ("aiter::fmoe_b", 1.0)], one),
    ] {
        let mut timeline = Timeline::new();
        fused(&mut timeline, kernels);
        let mut tree = timeline.tree();
        let after = launchers_after(&mut tree);
        assert!(after.iter().all(|(name, _)| *name == "vllm::rocm_aiter_fused_moe"), "{after:?}");
        let [warning] = &warnings(&tree)[..] else { panic!("{:?}", tree.warnings()) };
        assert!(warning.starts_with(&format!("MoE_Fused: {problem} (events: 1,")), "{warning}");
    }
}

#[test]
fn a_fused_operator_whose_work_other_operators_do_is_left_to_them() {
    for (kernels, expected) in [
        (&[("aiter::fmoe", 5.0)][..], vec![("aiter::fmoe_g1u1", 5.0), ("vllm::rocm_aiter_fused_moe", 7.0)]),
        (&[], vec![(FUSED, 7.0)]),
    ] {
        let mut timeline = Timeline::new();
        timeline.within(Operator("vllm::moe_forward"), |timeline| {
            timeline.within(Operator("vllm::rocm_aiter_fused_moe"), |timeline| {
                timeline.within(Operator("aiter::fmoe_g1u1"), |timeline| timeline.kernels(kernels));
                timeline.launch(&[("aiter::fmoe_2", 7.0)]);
            });
        });
        let mut tree = timeline.tree();
        let mut after = launchers_after(&mut tree);
        after.sort_by(|a, b| a.0.cmp(b.0));
        assert_eq!(after, expected, "an operator without device work changes nothing");
    }
}

#[test]
fn what_another_rule_inserts_inside_does_not_change_the_judgement() {
    let mut timeline = Timeline::new();
    timeline.within(Operator("vllm::moe_forward"), |timeline| {
        timeline.within(Operator("vllm::rocm_aiter_fused_moe"), |timeline| {
            timeline.within(Frame(MLA_FRAME), |timeline| {
                timeline.within(Operator(MLA_STAGE), |_| {});
                timeline.kernels(&[("aiter::fmoe_a", 1.0), ("aiter::fmoe_b", 2.0)]);
            });
        });
    });
    let mut tree = timeline.tree();
    assert_eq!(launchers_after(&mut tree), [("pseudo_mla_decode_fwd", 3.0)]);
    assert_eq!(warnings(&tree).len(), 1);
}

#[test]
fn the_projections_of_an_unfused_mixture_of_experts_come_by_time() {
    let mut timeline = Timeline::new();
    timeline.within(Operator("vllm::moe_forward"), |timeline| {
        routing(timeline, "aten::topk", "9");
        timeline.within(Operator("vllm::inner"), |timeline| routing(timeline, "FusedTopK", " 6 "));
        timeline.kernels(&[("_Matmul_OGS_swiglu", 136.0), ("act", 5.0), ("_matmul_ogs_mxfp4", 150.0)]);
        timeline.launch(&[("_finalize_matmul_scatter", 3.0)]);
    });
    let mut tree = timeline.tree();
    assert_eq!(
        launchers_after(&mut tree),
        [("vllm::moe_forward", 5.0), (TRITON_UP, 136.0), (TRITON_DOWN, 150.0), (SCATTER, 3.0)]
    );
    assert_eq!(
        attributes(&tree, TRITON_UP),
        ["MoE GEMM type='up'", "MoE GEMM index=0", "MoE GEMM gated=True", "MoE topk=6"]
    );
    assert_eq!(
        attributes(&tree, TRITON_DOWN),
        ["MoE GEMM type='down'", "MoE GEMM index=1", "MoE GEMM gated=False", "MoE topk=6"]
    );
    assert_eq!(attributes(&tree, SCATTER), ["MoE GEMM type='finalize_matmul_scatter'"]);
    assert_eq!(warnings(&tree), [""; 0]);
}

#[test]
fn expert_kernels_of_one_graph_launch_count_once_each() {
    let mut timeline = Timeline::new();
    timeline.within(Operator("vllm::moe_forward"), |timeline| {
        timeline.launch(&[("_matmul_ogs_glu", 136.0), ("act", 9.0), ("_matmul_ogs_mxfp4", 150.0)]);
    });
    let mut tree = timeline.tree();
    assert_eq!(
        launchers_after(&mut tree),
        [("vllm::moe_forward", 9.0), (TRITON_UP, 136.0), (TRITON_DOWN, 150.0)]
    );
    assert!(warnings(&tree)[0].starts_with("MoE_Unfused_Triton: no routing top-k found, assumed 4"));
    assert_eq!(attributes(&tree, TRITON_DOWN)[3], "MoE topk=4");
}

#[test]
fn routing_more_than_eleven_levels_down_is_not_looked_for() {
    fn nest(timeline: &mut Timeline, levels: usize) {
        match levels {
            0 => routing(timeline, "TopK", "6"),
            _ => {
                timeline.within(Operator("inner"), |timeline| nest(timeline, levels - 1));
            }
        }
    }
    for (levels, topk) in [(10, 6), (11, 4)] {
        let mut timeline = Timeline::new();
        timeline.within(Operator("vllm::moe_forward"), |timeline| {
            nest(timeline, levels);
            timeline.launch(&[("_matmul_ogs", 1.0)]);
        });
        let mut tree = timeline.tree();
        launchers_after(&mut tree);
        assert_eq!(attributes(&tree, TRITON_UP)[3], format!("MoE topk={topk}"));
    }
}

#[test]
fn several_scatter_kernels_stay_with_the_operator() {
    let mut timeline = Timeline::new();
    timeline.within(Operator("vllm::moe_forward"), |timeline| {
        routing(timeline, "TopK", "2");
        timeline.kernels(&[("_matmul_ogs", 10.0), ("matmul_scatter", 3.0), ("Matmul_Scatter", 4.0)]);
    });
    let mut tree = timeline.tree();
    assert_eq!(launchers_after(&mut tree), [("vllm::moe_forward", 7.0), (TRITON_UP, 10.0)]);
    assert!(warnings(&tree)[0].contains("several scatter kernels kept in the operator"));
}

#[test]
fn the_unfused_rule_does_not_run_where_the_fused_operator_is() {
    let mut timeline = Timeline::new();
    fused(&mut timeline, &[("aiter::fmoe", 5.0)]);
    timeline.within(Operator("vllm::moe_forward"), |timeline| timeline.launch(&[("_matmul_ogs", 10.0)]));
    let mut tree = timeline.tree();
    assert_eq!(launchers_after(&mut tree), [(FUSED, 5.0), ("vllm::moe_forward", 10.0)]);
}

#[test]
fn gptq_and_awq_experts_are_an_up_and_a_down_projection() {
    let mut timeline = Timeline::new();
    let arguments = dims(&mut timeline, &[&[32, 64], &[8, 4, 4], &[8, 4, 4], &[], &[32, 2]]);
    timeline.with_arguments(Operator("vllm::outplace_fused_experts"), arguments, |timeline| {
        timeline.kernels(&GPTQ);
    });
    // An operator that once kept all rules from running.
    timeline.within(Operator("_rocm_C::paged_attention"), |timeline| timeline.launch(&[("paged", 1.0)]));
    let mut tree = timeline.tree();
    let (up, down) = ("pseudo_op::moe_gptq_awq_up", "pseudo_op::moe_gptq_awq_down");
    assert_eq!(
        launchers_after(&mut tree),
        [("vllm::outplace_fused_experts", 40.0), (up, 50.0), (down, 40.0), ("_rocm_C::paged_attention", 1.0)]
    );
    assert_eq!(
        attributes(&tree, up),
        ["MoE GEMM type='up'", "MoE GEMM index=0", "MoE GEMM gated=True", "MoE topk=2"]
    );
    assert_eq!(attributes(&tree, down)[1..3], ["MoE GEMM index=1", "MoE GEMM gated=False"]);
    assert_eq!(warnings(&tree), [""; 0]);
}

#[test]
fn gptq_experts_need_two_kernels_and_assume_eight_experts_per_token() {
    for (count, problem, inserted) in [
        (1, "operator without exactly two GPTQ/AWQ kernels, left unchanged", 0),
        (2, "no top-k in the operator's shapes, assumed 8", 2),
        (3, "operator without exactly two GPTQ/AWQ kernels, left unchanged", 0),
    ] {
        let mut timeline = Timeline::new();
        timeline.within(Operator("vllm::outplace_fused_experts"), |timeline| {
            timeline.kernels(&[GPTQ[0], GPTQ[2], GPTQ[0]][..count]);
        });
        let mut tree = timeline.tree();
        let events = tree.trace().events().len();
        launchers_after(&mut tree);
        assert_eq!(tree.trace().events().len() - events, inserted);
        assert!(warnings(&tree)[0].contains(problem), "{:?}", warnings(&tree));
    }
}

#[test]
fn all_stages_of_latent_attention_count_as_one() {
    for (frame, stage, pseudo) in [
        (MLA_FRAME, MLA_STAGE, "pseudo_mla_decode_fwd"),
        ("m.py(3): mla_fp8_prefill_attn", "aiter::mla_prefill_ps_asm_fwd", "pseudo_mla_prefill_fwd"),
    ] {
        let mut timeline = Timeline::new();
        let arguments = dims(&mut timeline, &[&[64, 16, 576]]);
        timeline.within(Frame(frame), |timeline| {
            timeline.with_arguments(Operator(stage), arguments, |timeline| {
                timeline.launch(&[("stage1", 50.0)]);
            });
            timeline.within(Operator("other"), |timeline| timeline.launch(&[("reduce", 10.0)]));
        });
        let mut tree = timeline.tree();
        assert_eq!(launchers_after(&mut tree), [(pseudo, 60.0)]);
        let ([inserted], [donor]) = (tree.find_by_name(pseudo), tree.find_by_name(stage)) else {
            panic!("one of each")
        };
        let events = tree.trace().events();
        assert_eq!(events.signature(*inserted), events.signature(*donor));
        assert_eq!(tree.children(*inserted).len(), 2);
        assert_eq!(tree.operator_roots(), [*inserted]);
    }
}

#[test]
fn a_wrapper_of_the_same_name_is_taken_once() {
    let mut timeline = Timeline::new();
    timeline.within(Frame(MLA_FRAME), |timeline| {
        timeline.within(Frame("aiter/mla.py(60): mla_decode_fwd_inner"), |timeline| {
            timeline.within(Operator(MLA_STAGE), |timeline| timeline.launch(&[("stage1", 50.0)]));
        });
    });
    let mut tree = timeline.tree();
    assert_eq!(launchers_after(&mut tree), [("pseudo_mla_decode_fwd", 50.0)]);
    assert_eq!(tree.find_by_name("pseudo_mla_decode_fwd").len(), 1);
}

#[test]
fn latent_attention_without_its_stage_or_without_device_work_is_left_as_it_is() {
    let mut timeline = Timeline::new();
    timeline.within(Frame(MLA_FRAME), |timeline| {
        timeline.within(Operator("other"), |timeline| timeline.launch(&[("reduce", 10.0)]));
    });
    timeline.within(Frame(MLA_FRAME), |timeline| {
        timeline.within(Operator(MLA_STAGE), |_| {});
    });
    let mut tree = timeline.tree();
    assert_eq!(launchers_after(&mut tree), [("other", 10.0)]);
    let said = warnings(&tree);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("MLA_Decode: function without device work, left unchanged"));
    assert!(said[1].starts_with("MLA_Decode: function without its first stage, left unchanged"));
}

#[test]
fn flydsl_stages_are_named_by_their_frames() {
    let mut timeline = Timeline::new();
    let arguments = dims(&mut timeline, &[&[32, 7168]]);
    timeline.with_arguments(Operator("aiter::fused_moe_"), arguments, |timeline| {
        timeline.within(Frame("moe.py(1): flydsl_moe_stage1"), |timeline| {
            timeline.within(Operator("inner"), |timeline| timeline.launch(&[("gemm1", 40.0)]));
        });
        timeline
            .within(Frame("moe.py(9): flydsl_moe_stage2"), |timeline| timeline.launch(&[("gemm2", 30.0)]));
    });
    timeline.within(Frame("moe.py(9): flydsl_moe_stage2"), |timeline| timeline.launch(&[("gemm2", 5.0)]));
    let mut tree = timeline.tree();
    let (first, second) = ("pseudo_op::moe_flydsl_stage1", "pseudo_op::moe_flydsl_stage2");
    assert_eq!(launchers_after(&mut tree), [(first, 40.0), (second, 30.0), ("hipLaunchKernel", 5.0)]);
    assert_eq!(attributes(&tree, first), ["MoE flydsl stage='flydsl_moe_stage1'"]);
    assert_eq!(tree.trace().events().sequence_number(tree.find_by_name(second)[0]), Some(77));
    assert!(
        warnings(&tree)[0]
            .starts_with("MoE_Flydsl: stage outside aiter::fused_moe_, left unchanged (events: 1")
    );
}

#[test]
fn v4_decode_is_named_by_the_kernels_of_its_layer() {
    let mut timeline = Timeline::new();
    for kernel in ["_swa_write_kernel", "fused_compress_attn_D512", "hca_compress_forward_D512"] {
        timeline.within(Operator(V4), |timeline| {
            timeline.kernels(&[("qk_norm_rope_H32_D512_RD64_flydsl", 4.0), (kernel, 4.0)]);
            timeline.within(Frame(V4_FRAME), |timeline| timeline.kernels(&[("attn", 30.0), ("sum", 6.0)]));
        });
    }
    timeline.within(Frame(V4_FRAME), |timeline| timeline.launch(&[("attn", 3.0)]));
    timeline.within(Operator(V4), |timeline| {
        timeline.within(Frame(V4_FRAME), |_| {});
        timeline.within(Frame("ops/paged_decode.py(7): sparse_attn_v4_paged_decode_2"), |timeline| {
            timeline.launch(&[("attn", 2.0)]);
        });
    });
    let mut tree = timeline.tree();
    assert_eq!(
        launchers_after(&mut tree),
        [
            (V4, 8.0),
            ("pseudo_v4_paged_decode_swa", 36.0),
            (V4, 8.0),
            ("pseudo_v4_paged_decode_csa", 36.0),
            (V4, 8.0),
            ("pseudo_v4_paged_decode_hca", 36.0),
            ("hipLaunchKernel", 3.0),
            (V4, 2.0),
        ]
    );
    let said = attributes(&tree, "pseudo_v4_paged_decode_csa");
    assert_eq!(said[..2], ["v4_mode='csa'", "v4_call_index=1"]);
    assert_eq!(said[4..], ["v4_H_Q=32", "v4_d_h=512"]);
    let said = warnings(&tree);
    assert!(said[0].contains("function outside aiter::v4_attention_with_output, left unchanged (events: 1"));
    assert!(said[1].contains("function without device work, left unchanged (events: 1"), "{said:?}");
}

/// All families in one trace.
fn everything() -> Timeline {
    let mut timeline = Timeline::new();
    timeline.within(Operator("vllm::outplace_fused_experts"), |timeline| timeline.kernels(&GPTQ));
    timeline.within(Operator("aiter::fused_moe_"), |timeline| {
        timeline.within(Frame("m.py(1): flydsl_moe_stage1"), |timeline| timeline.launch(&[("g", 40.0)]));
    });
    timeline.within(Frame(MLA_FRAME), |timeline| {
        timeline.within(Operator(MLA_STAGE), |timeline| timeline.launch(&[("stage1", 50.0)]));
    });
    timeline.within(Operator(V4), |timeline| {
        timeline.within(Frame(V4_FRAME), |timeline| timeline.launch(&[("attn", 30.0)]));
    });
    timeline.within(Operator("sglang_profiler::gemm_3"), |timeline| timeline.launch(&[("gemm", 30.0)]));
    timeline
}

#[test]
fn rules_about_frames_fail_by_name_without_frames_and_the_others_run() {
    let mut tree = everything().tree_without_frames();
    let failures = insert_pseudo_operators(&mut tree);
    let said: Vec<String> = failures.iter().map(|(pass, error)| format!("{pass}: {error}")).collect();
    let without = |pass: &str, operator: &str| {
        format!("{pass}: the parts of {operator} need Python frames, but the tree was built without them")
    };
    assert_eq!(
        said,
        [
            without("MoE_Flydsl", "aiter::fused_moe_"),
            without("MLA_Decode", MLA_STAGE),
            without("V4_Paged_Decode", V4)
        ]
    );
    assert_eq!(tree.find_by_name("pseudo_op::moe_gptq_awq_up").len(), 1);
    assert_eq!(tree.find_by_name("sglang_profiler::gemm").len(), 1);
}

#[test]
fn a_trace_recorded_without_frames_says_so() {
    let mut timeline = Timeline::new();
    timeline.within(Operator(MLA_STAGE), |timeline| timeline.launch(&[("stage1", 50.0)]));
    let failures = insert_pseudo_operators(&mut timeline.tree());
    let [(pass, error)] = &failures[..] else { panic!("{failures:?}") };
    assert_eq!(pass, "MLA_Decode");
    assert!(error.to_string().ends_with("but the trace was recorded without them"), "{error}");
}

#[test]
fn a_trace_without_any_of_this_stays_as_it_is() {
    let mut timeline = Timeline::new();
    timeline.within(Operator("aten::mm"), |timeline| timeline.launch(&[("_matmul_ogs", 50.0)]));
    let mut tree = timeline.tree_without_frames();
    assert_eq!(launchers_after(&mut tree), [("aten::mm", 50.0)]);
    assert!(tree.warnings().is_empty());
}

/// A pass that inserts, then fails.
struct FailsHalfWay;

impl TreePass for FailsHalfWay {
    fn name(&self) -> &str {
        "fails"
    }

    fn run(&self, tree: &mut TraceTree) -> Result<(), PassError> {
        let (root, kernel) = (tree.roots()[0], tree.linked_device_events()[0]);
        let mut edit = tree.edit();
        edit.insert_above(root, PseudoOperator { name: "half", ..PseudoOperator::default() })?;
        edit.insert_above(kernel, PseudoOperator::default())?;
        Ok(())
    }
}

#[test]
fn a_failing_pass_leaves_a_whole_tree_to_the_next_ones() {
    let mut tree = everything().tree();
    let mut passes: Vec<&dyn TreePass> = vec![&FailsHalfWay];
    passes.extend(pseudo_operator_passes());
    let failures = run_passes(&mut tree, &passes);
    assert!(
        matches!(&failures[..], [(name, PassError::Edit(EditError::NotAHostEvent(_)))] if name == "fails")
    );
    assert_eq!(
        launchers(&tree).iter().map(|row| row.0).collect::<Vec<_>>(),
        [
            "vllm::outplace_fused_experts",
            "pseudo_op::moe_gptq_awq_up",
            "pseudo_op::moe_gptq_awq_down",
            "pseudo_op::moe_flydsl_stage1",
            "pseudo_mla_decode_fwd",
            "pseudo_v4_paged_decode_swa",
            "sglang_profiler::gemm"
        ]
    );
}

/// One of the hosts that rules look for, or another.
fn host(choice: usize) -> Host<'static> {
    match choice % 13 {
        0 => Operator("vllm::moe_forward"),
        1 => Operator("vllm::rocm_aiter_fused_moe"),
        2 => Operator("vllm::outplace_fused_experts"),
        3 => Operator("aiter::fused_moe_"),
        4 => Frame("m.py(1): flydsl_moe_stage1"),
        5 => Frame("m.py(2): flydsl_moe_stage2"),
        6 => Frame(MLA_FRAME),
        7 => Operator(MLA_STAGE),
        8 => Operator(V4),
        9 => Frame(V4_FRAME),
        10 => Operator("execute"),
        11 => Operator("sglang_profiler::gemm_3"),
        _ => Operator("other"),
    }
}

const KERNELS: [&str; 6] =
    ["aiter::fmoe", "_matmul_ogs_glu", "matmul_scatter", "fused_moe_kernel_gptq_awq", "hca_x", "other"];

/// What a random trace consists of: `(host, levels to close first, kernels of one launch)`.
type Steps = Vec<(usize, usize, Vec<usize>)>;

/// Adds the steps from `at` on as long as they go deeper; the next step.
fn grow(timeline: &mut Timeline, steps: &Steps, mut at: usize, depth: usize) -> usize {
    while let Some((choice, up, kernels)) = steps.get(at) {
        if depth > 0 && *up > 0 && at % 2 == depth % 2 {
            return at;
        }
        let mut next = at + 1;
        timeline.within(host(*choice), |timeline| {
            let kernels: Vec<(&str, f64)> = kernels
                .iter()
                .map(|&kernel| (KERNELS[kernel % KERNELS.len()], 1.0 + kernel as f64))
                .collect();
            if !kernels.is_empty() {
                timeline.launch(&kernels);
            }
            if depth < 6 {
                next = grow(timeline, steps, next, depth + 1);
            }
        });
        at = next;
    }
    at
}

/// Every linked device event with its time, by what its launchers say; fails when one has two.
fn launched(tree: &TraceTree) -> (Vec<EventId>, i64) {
    let rows = tree.kernel_launchers(|_| true);
    let mut all: Vec<EventId> = rows.iter().flat_map(|(_, device)| device.iter().copied()).collect();
    all.sort_unstable();
    let time =
        rows.iter().map(|(_, device)| crate::busy_time(tree.trace().events(), device.iter().copied())).sum();
    (all, time)
}

proptest! {
    #[test]
    fn every_device_event_keeps_one_launcher_and_no_time_is_lost(
        steps in prop::collection::vec((0usize..40, 0usize..3, prop::collection::vec(0usize..12, 0..4)), 1..30),
    ) {
        let mut timeline = Timeline::new();
        grow(&mut timeline, &steps, 0, 0);
        let mut tree = timeline.tree();
        let before = launched(&tree);
        let launches: Vec<_> = before.0.iter().map(|&event| tree.launch(event)).collect();
        let unlinked = tree.unlinked_device_events().to_vec();
        insert_pseudo_operators(&mut tree);
        let after = launched(&tree);
        prop_assert_eq!(&after, &before);
        prop_assert!(after.0.windows(2).all(|pair| pair[0] < pair[1]), "each once");
        prop_assert_eq!(before.0.iter().map(|&event| tree.launch(event)).collect::<Vec<_>>(), launches);
        prop_assert_eq!(tree.unlinked_device_events(), unlinked);
        let of_roots: usize = tree.roots().iter().map(|&root| tree.device_events(root).len()).sum();
        prop_assert_eq!(of_roots, before.0.len());
        for event in tree.host_events() {
            for &child in tree.children(*event) {
                prop_assert_eq!(tree.parent(child), Some(*event));
            }
        }
        let (events, warnings) = (tree.trace().events().len(), tree.warnings().to_vec());
        insert_pseudo_operators(&mut tree);
        prop_assert_eq!(tree.trace().events().len(), events);
        prop_assert_eq!(tree.warnings(), warnings);
    }
}
