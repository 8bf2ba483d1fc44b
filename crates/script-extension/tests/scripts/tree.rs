//! Rules of scripts on trees.

use perf_models::Value;
use script_extension::{Extension, ExtensionError, Limits};
use trace2tree::TraceTree;

use super::fixture::{Fixture, shapes, unified_rows, words};
use super::load;

const MY_BLOCK: &str = include_str!("../../../../examples/extensions/my_block.star");

fn two_kernels() -> TraceTree {
    let mut fixture = Fixture::default();
    fixture.op("moe", 1, (0, 100), Some(6), [shapes(&[&[4]]), None, None, None]);
    fixture.kernel("up", 1, 10, 10);
    fixture.kernel("down", 1, 20, 10);
    fixture.tree()
}

#[test]
fn a_tree_is_walked_and_gets_operators() {
    let extension = load(
        "
def tree_postprocess_extension(tree):
    for op in tree.events_by_name('moe'):
        kernels = tree.gpu_events(op)
        inserted = [tree.isolate(kernel, 'pseudo_' + kernel.name, args = {'part': kernel.name}) for kernel in kernels]
        tree.wrap_children(op, 'all parts', sequence_number = 9)
        top = tree.insert_above(op, 'top', donor = op)
        tree.set_arg(inserted[0], 'topk', 2)
        print([e.name for e in tree.ancestors(kernels[0])], tree.parent(top), op.dims, op.sequence_number)
        print([e.name for e in tree.children(op)], [(e.name, e.args) for e in tree.events_by_name('pseudo_up')])
        print([r.name for r in tree.roots()], tree.operator(kernels[1]).name, len(tree.descendants(top)))
",
    );
    let mut tree = two_kernels();
    let done = extension.postprocess(&mut tree).unwrap();
    let printed: Vec<_> = done.notices.iter().map(ToString::to_string).collect();
    assert_eq!(
        printed,
        [
            "my.star: [\"cudaLaunchKernel\", \"pseudo_up\", \"all parts\", \"moe\", \"top\"] None ((4,),) 6",
            "my.star: [\"all parts\"] [(\"pseudo_up\", {\"part\": \"up\", \"topk\": 2})]",
            "my.star: [\"top\"] pseudo_down 8",
        ]
    );
    let [inserted] = tree.find_by_name("pseudo_up") else { panic!("one operator") };
    assert_eq!(done.attributes[inserted], [("topk".to_owned(), Value::Int(2))]);
    assert_eq!(tree.device_events(*inserted).len(), 1);
    assert!(tree.is_pseudo_operator(*inserted));
    let mut again = two_kernels();
    assert_eq!(extension.postprocess(&mut again).unwrap(), done);
    assert_eq!(again.trace().events().len(), tree.trace().events().len());
}

#[test]
fn insertions_that_cannot_be_made_are_refused_where_they_are_asked_for() {
    for (body, expected) in [
        (
            "tree.isolate(tree.roots()[0], 'p')",
            "event 0 (moe) is not a device event with a launch in the tree",
        ),
        (
            "tree.insert_above(tree.gpu_events(tree.roots()[0])[0], 'p')",
            "event 2 (up) is not a host event of the tree",
        ),
        (
            "tree.wrap_children(tree.children(tree.roots()[0])[0], 'p')",
            "event 1 (cudaLaunchKernel) has no host children to wrap",
        ),
        ("tree.children(struct(id = 77))", "the tree has no event 77"),
        ("tree.children('moe')", "expected an event of the tree, found a string"),
        ("tree.set_arg(tree.roots()[0], 'x', tree.roots)", "an argument cannot be a function"),
        (
            "tree.insert_above(tree.roots()[0], 'p', donnor = None)",
            "there is no argument \"donnor\"; there are donor, sequence_number, args, dims, types, strides, concrete",
        ),
        (
            "tree.insert_above(tree.roots()[0], 'p', sequence_number = 'x')",
            "sequence_number must be a whole number, found a string",
        ),
        (
            "tree.insert_above(tree.roots()[0], 'p', args = {1: 2})",
            "args must have texts as keys, found a int",
        ),
        ("tree.insert_above(tree.roots()[0], 'p', dims = 4)", "dims must be a list, found a int"),
        ("tree.insert_above(tree.roots()[0], 'p', donor = struct(id = 9))", "the tree has no event 9"),
        ("tree.rename(struct(id = 9), 'p')", "the tree has no event 9"),
        (
            "tree.charge_with_subtree(tree.roots()[0])",
            "event 0 (moe) was recorded; only inserted operators are charged with all below them",
        ),
        ("tree.link_backward(tree.roots()[0], tree.roots()[0])", "event 0 (moe) cannot be its own backward"),
        (
            "tree.link_backward(tree.roots()[0], tree.gpu_events(tree.roots()[0])[0])",
            "event 2 (up) is not a host event of the tree",
        ),
        ("fail('no such luck')", "no such luck"),
    ] {
        let extension = load(&format!("def tree_postprocess_extension(tree):\n    {body}"));
        let mut tree = two_kernels();
        let error = extension.postprocess(&mut tree).unwrap_err().to_string();
        assert_eq!(error, format!("my.star:2: {expected} (in tree_postprocess_extension)"));
        assert_eq!(tree.trace().events().len(), 5);
    }
    let endless = load("def tree_postprocess_extension(tree):\n    tree_postprocess_extension(tree)");
    assert!(matches!(endless.postprocess(&mut two_kernels()), Err(ExtensionError::Limit { .. })));
    assert_eq!(load("x = 1").postprocess(&mut two_kernels()).unwrap(), Default::default());
}

#[test]
fn events_are_renamed_linked_and_charged() {
    let mut fixture = Fixture::default();
    fixture.op("layer", 1, (0, 100), None, [const { None }; 4]);
    fixture.op("inner", 1, (5, 50), None, [const { None }; 4]);
    fixture.kernel("k", 1, 10, 10);
    for (number, start) in [(1, 200), (2, 300)] {
        fixture.op(&format!("backward_{number}"), 1, (start, 50), None, [const { None }; 4]);
    }
    let extension = load(
        "
def tree_postprocess_extension(tree):
    layer, first, second = tree.roots()
    whole = tree.wrap_children(layer, 'whole', dims = [(2, 3), ()], types = ['float', ''])
    tree.charge_with_subtree(whole)
    tree.rename(layer, 'my layer')
    tree.rename(whole, 'all of it')
    tree.link_backward(layer, second)
    tree.link_backward(layer, first)
    tree.link_backward(layer, first)
    outer = tree.insert_above(layer, 'outer')
    wrapped = tree.insert_above(second, 'wrapped')
    tree.link_backward(outer, wrapped)
    print([e.name for e in tree.backward_events(layer)], tree.forward_event(first).name)
    print([e.name for e in tree.backward_events_of_subtree(outer)])
    print([(e.dims, e.types, e.strides) for e in tree.events_by_name('all of it')], tree.names()[:3])
",
    );
    let mut tree = fixture.tree();
    let done = extension.postprocess(&mut tree).unwrap();
    let printed: Vec<_> = done.notices.iter().map(ToString::to_string).collect();
    assert_eq!(
        printed,
        [
            "my.star: [\"backward_1\", \"backward_2\"] my layer",
            "my.star: [\"backward_1\", \"backward_2\", \"wrapped\"]",
            "my.star: [(((2, 3), ()), (\"float\", \"\"), ())] [\"inner\", \"cudaLaunchKernel\", \"k\"]",
        ]
    );
    let kernel = tree.find_by_name("k")[0];
    assert_eq!(tree.trace().name(tree.kernel_launcher(kernel).unwrap()), "all of it");
}

#[test]
fn a_field_that_is_not_there_is_answered_with_those_that_are() {
    let extension = load("def tree_postprocess_extension(tree):\n    tree.kernels_of('moe')");
    let error = extension.postprocess(&mut two_kernels()).unwrap_err().to_string();
    for part in [
        "no attribute `kernels_of`; an event has id, name, category",
        "; the tree has ancestors, ",
        "events_by_name",
    ] {
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn a_query_that_gives_more_events_than_memory_holds_is_refused() {
    let mut fixture = Fixture::default();
    fixture.op("root", 1, (0, 100_000), None, [const { None }; 4]);
    for start in 1..5_000 {
        fixture.op("inner", 1, (10 * start, 5), None, [const { None }; 4]);
    }
    let text = "def tree_postprocess_extension(tree):\n    tree.descendants(tree.roots()[0])";
    let limits = Limits { memory_bytes: 1 << 20, ..Limits::default() };
    let extension = Extension::load_with("my.star", text, limits).unwrap();
    let error = extension.postprocess(&mut fixture.tree()).unwrap_err().to_string();
    assert!(error.starts_with("my.star:2: the script holds more than 1 MiB"), "{error}");
}

#[test]
fn a_block_of_operators_becomes_one_row() {
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
