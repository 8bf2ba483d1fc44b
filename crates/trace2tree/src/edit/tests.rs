use super::*;
use crate::fixture::{Fixture, Planted, names};
use testdata::trace::shapes;

struct Sample {
    tree: TraceTree,
    op: EventId,
    first: EventId,
    kernels: [EventId; 2],
}

/// An operator with arguments that launches two kernels, the second through an operator inside it.
fn sample() -> Sample {
    let mut fixture = Fixture::new();
    let shaped = fixture.recorded([Some(shapes(&[&[4]])), None, None, None]);
    let arguments = EventArguments { sequence_number: Some(6), ..shaped };
    let op = fixture.event(Category::CPU_OP, "moe", (1, 1), (0.0, 100.0), arguments);
    let first = fixture.launch("hipLaunchKernel", (10.0, 5.0), 1);
    fixture.op("inner", (20.0, 20.0));
    fixture.launch("hipLaunchKernel", (21.0, 5.0), 2);
    let kernels = [fixture.kernel("up", (200.0, 5.0), 1), fixture.kernel("down", (210.0, 5.0), 2)];
    Sample { tree: fixture.tree(), op, first, kernels }
}

fn named(name: &str) -> PseudoOperator<'_> {
    PseudoOperator { name, ..PseudoOperator::default() }
}

fn stack(tree: &TraceTree, event: EventId) -> Vec<&str> {
    names(tree, &tree.ancestors(event).collect::<Vec<_>>())
}

#[test]
fn an_isolated_kernel_belongs_to_its_pseudo_operator_upwards_and_downwards() {
    let Sample { mut tree, op, kernels, .. } = sample();
    let attributes = vec![("MoE GEMM type".to_owned(), ArgumentValue::Text("up".into()))];
    let pseudo = tree
        .edit()
        .isolate(kernels[0], PseudoOperator { attributes: attributes.clone(), ..named("pseudo_up") })
        .unwrap();
    assert_eq!(stack(&tree, kernels[0]), ["hipLaunchKernel", "pseudo_up", "moe"]);
    assert_eq!(tree.device_events(pseudo), [kernels[0]]);
    assert_eq!(tree.device_events(op), kernels);
    assert_eq!(tree.kernel_launcher(kernels[0]), Some(pseudo));
    assert_eq!(names(&tree, tree.children(op)), ["pseudo_up", "inner"]);
    assert_eq!(tree.find_by_name("pseudo_up"), [pseudo]);
    assert_eq!((tree.is_pseudo_operator(pseudo), tree.is_pseudo_operator(op)), (true, false));
    assert_eq!(tree.pseudo_attributes(pseudo), attributes);
    let events = tree.trace().events();
    assert_eq!((events.external_id(pseudo), events.sequence_number(pseudo)), (Some(1), Some(6)));
    assert_eq!(events.signature(pseudo), events.signature(op));
}

#[test]
fn wrapped_children_move_below_the_pseudo_operator() {
    let Sample { mut tree, op, kernels, .. } = sample();
    let pseudo = tree.edit().wrap_children(op, named("pseudo")).unwrap();
    assert_eq!(tree.children(op), [pseudo]);
    assert_eq!(names(&tree, tree.children(pseudo)), ["hipLaunchKernel", "inner"]);
    assert_eq!(tree.device_events(pseudo), kernels);
    assert_eq!(tree.operator_roots(), [op]);
    assert_eq!(tree.trace().events().duration(pseudo), 100_000);
}

#[test]
fn an_operator_can_be_inserted_above_a_root() {
    let Sample { mut tree, op, kernels, .. } = sample();
    let pseudo = tree.edit().insert_above(op, PseudoOperator { donor: Some(op), ..named("top") }).unwrap();
    assert_eq!((tree.roots(), tree.operator_roots()), (&[pseudo][..], &[pseudo][..]));
    assert_eq!((tree.parent(op), tree.device_events(pseudo)), (Some(pseudo), &kernels[..]));
}

#[test]
fn insertions_of_one_edit_build_on_each_other() {
    let Sample { mut tree, op, first, kernels } = sample();
    let mut edit = tree.edit();
    let up = edit.isolate(kernels[0], named("up op")).unwrap();
    let inner = edit.insert_above(first, named("inside up")).unwrap();
    let wrap = edit.wrap_children(op, named("wrap")).unwrap();
    let again = edit.wrap_children(wrap, named("wrap again")).unwrap();
    edit.finish();
    assert_eq!(
        stack(&tree, kernels[0]),
        ["hipLaunchKernel", "inside up", "up op", "wrap again", "wrap", "moe"]
    );
    assert_eq!((tree.children(wrap), tree.children(up)), (&[again][..], &[inner][..]));
    assert_eq!(names(&tree, tree.children(again)), ["up op", "inner"]);
    assert_eq!(tree.device_events(again), kernels);
    assert_eq!(tree.host_subtree(op).len(), 8);
}

#[test]
fn kernels_of_one_launch_can_be_isolated_one_by_one() {
    let mut fixture = Fixture::new();
    let op = fixture.op("moe", (0.0, 100.0));
    let launch = fixture.launch("hipGraphLaunch", (10.0, 5.0), 1);
    let kernels = ["up", "down", "sum"].map(|name| fixture.kernel(name, (200.0, 5.0), 1));
    let mut tree = fixture.tree();
    let mut edit = tree.edit();
    let up = edit.isolate(kernels[0], named("pseudo_up")).unwrap();
    let down = edit.isolate(kernels[1], named("pseudo_down")).unwrap();
    edit.finish();
    assert_eq!(tree.device_events(up), [kernels[0]]);
    assert_eq!(tree.device_events(down), [kernels[1]]);
    assert_eq!(tree.device_events(launch), [kernels[2]]);
    assert_eq!(tree.device_events(op).len(), 3);
    assert_eq!(kernels.map(|kernel| tree.kernel_launcher(kernel).unwrap()), [up, down, op]);
    assert_eq!(kernels.map(|kernel| tree.launch(kernel).unwrap()), [launch; 3]);
    assert_eq!(stack(&tree, kernels[0]), ["pseudo_up", "moe"]);

    let inner = tree.edit().isolate(kernels[0], named("again")).unwrap();
    assert_eq!(stack(&tree, kernels[0]), ["again", "pseudo_up", "moe"]);
    assert_eq!(tree.kernel_launcher(kernels[0]), Some(inner));
}

#[test]
fn an_operator_charged_with_its_subtree_launches_what_operators_inside_it_launched() {
    let Sample { mut tree, op, kernels, .. } = sample();
    let mut edit = tree.edit();
    let wrap = edit.wrap_children(op, named("wrap")).unwrap();
    edit.finish();
    let launchers = |tree: &TraceTree| {
        kernels.map(|kernel| tree.trace().name(tree.kernel_launcher(kernel).unwrap()).to_owned())
    };
    assert_eq!(launchers(&tree), ["wrap", "inner"]);
    tree.edit().charge_with_subtree(wrap).unwrap();
    assert_eq!(launchers(&tree), ["wrap", "wrap"]);
    tree.edit().isolate(kernels[1], named("part")).unwrap();
    assert_eq!(launchers(&tree), ["wrap", "part"]);
    let refused = tree.edit().charge_with_subtree(op).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "event 0 (moe) was recorded; only inserted operators can own their subtree's launches"
    );
    assert_eq!(launchers(&tree), ["wrap", "part"]);
}

#[test]
fn lists_of_an_operators_own_take_the_place_of_the_donors() {
    let Sample { mut tree, op, kernels, .. } = sample();
    let types = ArgumentValue::List(vec![ArgumentValue::Text("fp8".into())]);
    let lists = [None, Some(types.clone()), None, None];
    let pseudo = tree.edit().isolate(kernels[0], PseudoOperator { lists, ..named("pseudo") }).unwrap();
    let lists = |event| {
        let signatures = tree.trace().signatures();
        let signature = signatures.get(tree.trace().events().signature(event).unwrap());
        [signature.dims, signature.types, signature.strides].map(|id| id.map(|id| signatures.argument(id)))
    };
    assert_eq!(lists(pseudo), [lists(op)[0], Some(&types), None]);
    assert!(lists(op)[0].is_some());
}

#[test]
fn a_renamed_event_is_found_by_its_new_name() {
    let Sample { mut tree, op, .. } = sample();
    assert_eq!(tree.find_by_name("moe"), [op]);
    tree.edit().rename(op, "experts");
    assert_eq!((tree.find_by_name("moe"), tree.find_by_name("experts")), (&[][..], &[op][..]));
}

#[test]
fn what_cannot_be_moved_is_refused_and_changes_nothing() {
    let Sample { mut tree, first, kernels, .. } = sample();
    let before = tree.node_count();
    let mut edit = tree.edit();
    assert!(matches!(edit.insert_above(kernels[0], named("p")), Err(EditError::NotAHostEvent(_))));
    assert!(matches!(edit.wrap_children(kernels[0], named("p")), Err(EditError::NotAHostEvent(_))));
    assert!(matches!(edit.isolate(first, named("p")), Err(EditError::NotLaunched(_))));
    let refused = edit.wrap_children(first, named("p")).unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!("event {} (hipLaunchKernel) has no host children to wrap", first.0)
    );
    edit.finish();
    assert_eq!(tree.node_count(), before);
}
