# A block of several operators as one row: the operators inside each call of my_block::forward become parts of one
# operator above them, which has the shapes of the call and is charged with all their kernels.

from tracelens import element_size, work

def tree_postprocess_extension(tree):
    for call in tree.events_by_name("my_block::forward"):
        whole = tree.wrap_children(call, "my_block::whole")
        tree.charge_with_subtree(whole)
        tree.set_arg(whole, "kernels", len(tree.gpu_events(call)))

def whole(event):
    tokens, hidden = event.dims[0]
    return work(flops=8 * tokens * hidden, bytes=2 * tokens * hidden * element_size(event.types[0]),
                category="my_block", spec="vector_bf16", params={"kernels": event.args["kernels"]})

perf_model_extension = {"my_block::whole": whole}
