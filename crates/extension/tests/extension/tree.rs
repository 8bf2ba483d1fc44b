//! Rules of Python files on trees.

use std::path::Path;

use perf_models::Value;
use trace_ingest::{ReadOptions, read_path};
use trace2tree::{EventLabel, TraceTree, TreeOptions};
use tree_perf::AnalysisExtension;

use super::fixture::{Fixture, shapes, unified_rows, words};
use super::{load, rows};

const MY_BLOCK: &str = include_str!("../../../../examples/extensions/my_block.py");

fn two_kernels() -> TraceTree {
    let mut fixture = Fixture::default();
    fixture.op("moe", 1, (0, 100), Some(6), [shapes(&[&[4]]), None, None, None]);
    fixture.kernel("up", 1, 10, 10);
    fixture.kernel("down", 1, 20, 10);
    fixture.tree()
}

#[test]
fn a_tree_is_walked_and_gets_operators() {
    let Some(_) = testdata::python3() else { return };
    let extension = load(include_str!("files/insert_operators.py"));
    let mut tree = two_kernels();
    let done = extension.change_tree(&mut tree).unwrap();
    let printed: Vec<_> = done.notices.iter().map(ToString::to_string).collect();
    assert_eq!(
        printed,
        [
            "my.py: ['cudaLaunchKernel', 'pseudo_up', 'all parts', 'moe', 'top'] None ((4,),) 6",
            "my.py: ['all parts'] [('pseudo_up', 'up', 2)]",
            "my.py: ['top'] pseudo_down 8",
        ]
    );
    let [inserted] = tree.find_by_name("pseudo_up") else { panic!("one operator") };
    assert_eq!(done.attributes[inserted], [("topk".to_owned(), Value::Int(2))]);
    assert_eq!(tree.device_events(*inserted).len(), 1);
    assert!(tree.is_pseudo_operator(*inserted));
    let mut again = two_kernels();
    assert_eq!(extension.change_tree(&mut again).unwrap(), done);
    assert_eq!(again.trace().events().len(), tree.trace().events().len());
}

/// A recording counts more than the events of the tree: the number of an event is not its place among these.
#[test]
fn messages_name_events_by_their_numbers_in_the_recording() {
    let Some(_) = testdata::python3() else { return };
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/generated/cuda_training_step.json.gz");
    let mut tree =
        TraceTree::build(read_path(&path, &ReadOptions::default()).unwrap(), &TreeOptions::default());
    let first = tree.find_by_name("aten::linear")[0];
    let named = EventLabel::new(tree.trace(), first);
    assert_ne!(named.uid, first.0);
    let extension = load(
        "
def tree_postprocess_extension(tree):
    tree.charge_with_subtree(tree.events_by_name('aten::linear')[0])
",
    );
    let error = extension.change_tree(&mut tree).unwrap_err().to_string();
    assert!(error.contains(&format!(": {named} was recorded")), "{error}");
}

#[test]
fn insertions_that_cannot_be_made_are_refused_where_they_are_asked_for() {
    let Some(_) = testdata::python3() else { return };
    for (body, expected) in rows(include_str!("files/insertions_refused.txt")) {
        let extension = load(&format!("def tree_postprocess_extension(tree):\n    {body}"));
        let mut tree = two_kernels();
        let error = extension.change_tree(&mut tree).unwrap_err().to_string();
        assert_eq!(error, format!("my.py:2: {expected} (in tree_postprocess_extension)"), "{body}");
        assert_eq!(tree.trace().events().len(), 5);
    }
    assert_eq!(load("x = 1").change_tree(&mut two_kernels()).unwrap(), Default::default());
}

#[test]
fn events_are_renamed_linked_and_charged() {
    let Some(_) = testdata::python3() else { return };
    let mut fixture = Fixture::default();
    fixture.op("layer", 1, (0, 100), None, [const { None }; 4]);
    fixture.op("inner", 1, (5, 50), None, [const { None }; 4]);
    fixture.kernel("k", 1, 10, 10);
    for (number, start) in [(1, 200), (2, 300)] {
        fixture.op(&format!("backward_{number}"), 1, (start, 50), None, [const { None }; 4]);
    }
    let extension = load(include_str!("files/link_and_charge.py"));
    let mut tree = fixture.tree();
    let done = extension.change_tree(&mut tree).unwrap();
    let printed: Vec<_> = done.notices.iter().map(ToString::to_string).collect();
    assert_eq!(
        printed,
        [
            "my.py: ['backward_1', 'backward_2'] my layer",
            "my.py: ['backward_1', 'backward_2', 'wrapped']",
            "my.py: [(((2, 3), ()), ('float', ''), ())] ['inner', 'cudaLaunchKernel', 'k']",
        ]
    );
    let kernel = tree.find_by_name("k")[0];
    assert_eq!(tree.trace().name(tree.kernel_launcher(kernel).unwrap()), "all of it");
}

#[test]
fn a_field_that_is_not_there_is_answered_with_those_that_are() {
    let Some(_) = testdata::python3() else { return };
    let extension = load("def tree_postprocess_extension(tree):\n    tree.kernels_of('moe')");
    let error = extension.change_tree(&mut two_kernels()).unwrap_err().to_string();
    for part in [
        "my.py:2: AttributeError: the tree has no kernels_of; it has ancestors, backward_events, ",
        "events_by_name",
    ] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn events_that_are_changed_in_place_are_changed_in_the_tree() {
    let Some(_) = testdata::python3() else { return };
    let extension = load(include_str!("files/change_in_place.py"));
    let mut tree = two_kernels();
    let done = extension.change_tree(&mut tree).unwrap();
    let [moe] = tree.find_by_name("my moe") else { panic!("one operator") };
    assert_eq!(done.attributes[moe], [("topk".to_owned(), Value::Int(4))]);
    let [both] = tree.find_by_name("both") else { panic!("one operator") };
    assert_eq!(tree.children(*moe), [*both]);
    assert_eq!((tree.children(*both).len(), tree.device_events(*both).len()), (2, 2));
    assert_eq!(tree.pseudo_attributes(*both)[0].0, "note");
    let lost = load(
        "def tree_postprocess_extension(tree):\n    \
         [tree.get_UID2event(uid)['children'].pop() for uid in tree.name2event_uids['moe']]",
    );
    let error = lost.change_tree(&mut two_kernels()).unwrap_err().to_string();
    assert!(
        error.contains("event 3 (cudaLaunchKernel) was taken from event 0 (moe), and no new event has it"),
        "{error}"
    );
}

#[test]
fn a_block_of_operators_becomes_one_row() {
    let Some(_) = testdata::python3() else { return };
    let mut fixture = Fixture::default();
    let lists = [shapes(&[&[64, 4096]]), words(&["c10::BFloat16"]), None, None];
    fixture.op("my_block::forward", 1, (0, 100), None, lists);
    for (name, start) in [("aten::mul", 5), ("aten::silu", 50)] {
        fixture.op(name, 1, (start, 40), None, [const { None }; 4]);
        fixture.kernel(name, 1, start + 5, 10);
    }
    let rows = unified_rows(fixture, load(MY_BLOCK)).into_iter();
    assert_eq!(
        rows.map(|(name, category, _, figures)| (name, category, figures.unwrap().0)).collect::<Vec<_>>(),
        [("my_block::whole".to_owned(), "my_block".to_owned(), 8.0 * 64.0 * 4096.0)]
    );
}
