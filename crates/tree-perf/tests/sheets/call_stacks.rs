//! Call stacks in the operator sheet.

use tree_perf::AnalysisOptions;

use crate::fixture::{Analysed, Fixture};

fn stacks(fixture: Fixture) -> Vec<String> {
    let options = AnalysisOptions { include_call_stack: true, ..AnalysisOptions::default() };
    fixture.table_with("ops_all", options).select("entry_point | call_stack_full")
}

#[test]
fn one_kernel_has_a_flat_stack_from_the_outermost_frame() {
    let mut fixture = Fixture::new();
    fixture.python("model/net.py(10): forward", (0.0, 100.0));
    fixture.python("nn.Module: Linear_3", (5.0, 90.0));
    fixture.python("torch/nn/modules/module.py(1): _call_impl", (6.0, 80.0));
    fixture.call("aten::addmm", 10.0, &[("gemm", 7, 1000.0, 20.0)]);
    let expected = "model/net.py(10): forward | ['model/net.py(10): forward', 'nn.Module: Linear', \
                    'torch/nn/modules/module.py(1): _call_impl', 'aten::addmm', 'gemm']";
    assert_eq!(stacks(fixture), [expected]);
}

#[test]
fn several_kernels_share_their_frames_and_have_a_list_each() {
    let mut fixture = Fixture::new();
    fixture.python("src/train.py(1): step", (0.0, 100.0));
    fixture.call("aten::mm", 10.0, &[("a", 7, 1000.0, 20.0), ("b", 7, 1030.0, 20.0), ("a", 7, 1060.0, 20.0)]);
    assert_eq!(
        stacks(fixture),
        ["src/train.py(1): step | ['src/train.py(1): step', 'aten::mm', ['a'], ['b']]"]
    );
}

#[test]
fn only_frames_of_the_framework_are_no_entry_point() {
    let mut fixture = Fixture::new();
    fixture.python("torch/_ops.py(9): __call__", (0.0, 100.0));
    fixture.call("aten::mm", 10.0, &[("k", 7, 1000.0, 20.0)]);
    assert_eq!(stacks(fixture), ["Not found | ['torch/_ops.py(9): __call__', 'aten::mm', 'k']"]);
}

#[test]
fn kernels_are_in_the_order_of_their_list_the_shortest_first() {
    let mut fixture = Fixture::new();
    fixture.call("aten::mm", 10.0, &[("long", 7, 1000.0, 20.0), ("short", 7, 1030.0, 2.0)]);
    assert_eq!(stacks(fixture), ["Not found | ['aten::mm', ['short'], ['long']]"]);
}
