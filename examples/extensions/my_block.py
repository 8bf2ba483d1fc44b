# A block of several operators as one row: the operators inside each call of my_block::forward become parts of one
# operator above them, which has the shapes of the call and is charged with all their kernels.

from tracelens import element_size, work

def tree_postprocess_extension(tree):
    # Questions first, edits after them: edits without a question in between are carried out together.
    calls = [(call, len(tree.gpu_events(call))) for call in tree.events_by_name("my_block::forward")]
    for call, kernels in calls:
        whole = tree.wrap_children(call, "my_block::whole")
        tree.charge_with_subtree(whole)
        tree.set_arg(whole, "kernels", kernels)

def whole(event):
    tokens, hidden = event.dims[0]
    return work(flops=8 * tokens * hidden, bytes=2 * tokens * hidden * element_size(event.types[0]),
                category="my_block", spec="vector_bf16", params={"kernels": event.args["kernels"]})

perf_model_extension = {"my_block::whole": whole}
