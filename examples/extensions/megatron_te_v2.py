# Megatron with Transformer Engine 2, which launches the matrix multiplications of its layers directly from `_Linear`
# and `_LayerNormLinear`: every layer gets three operators of its own for them, one forward and two backward.

from tracelens import element_size, fail, model, prod

# Operator: inputs of weight and activations, and the one that says whether it computes in FP8.
LAYERS = {"_Linear": (0, 1, 4), "_LayerNormLinear": (3, 0, 7)}

def at(values, position):
    return values[position] if position < len(values) else None

# ---- The tree ----

# Backwards of layers that ran again under a checkpoint come in reverse order and carry no number of the forward.
def link_checkpoints(tree, complain):
    by_start = lambda event: (event.start_us, event.id)
    for checkpoint in tree.events_by_name("CheckpointFunctionBackward"):
        below = tree.descendants(checkpoint)
        for name in LAYERS:
            # Python frames may stand between the checkpoint and a layer, other operators may not.
            forward = [e for e in below if e.name == name and tree.operator(e).id == checkpoint.id]
            backward = [e for e in below if e.name == name + "Backward"]
            if len(forward) != len(backward):
                complain("%s: %d forward but %d backward under a checkpoint" % (name, len(forward), len(backward)))
                continue
            for f, b in zip(sorted(forward, key=by_start), reversed(sorted(backward, key=by_start))):
                if not tree.backward_events(f) and not tree.forward_event(b):
                    tree.link_backward(f, b)

def backward_of(tree, op):
    return tree.backward_events(op) or tree.backward_events_of_subtree(op)

def is_gemm_kernel(event):
    name = event.name
    if event.category != "kernel":
        return False
    if name.startswith("nvjet") or name.startswith("RR_GEMM_"):
        return True
    c = name.find("C")
    a = name.find("_A", c + 1) if c >= 0 else -1
    return a >= 0 and name.find("_B", a + 2) >= 0

def gemm_kernels(tree, events):
    kernels = [kernel for event in events for kernel in tree.gpu_events(event) if is_gemm_kernel(kernel)]
    return sorted(kernels, key=lambda kernel: tree.launch(kernel).start_us)

# The three multiplications of a layer as (kernel, name, shapes of the two factors, element type).
def multiplications(tree, op, complain):
    forward = gemm_kernels(tree, [op])
    backward = gemm_kernels(tree, backward_of(tree, op))
    if len(forward) != 1 or len(backward) != 2:
        complain("%s: %d forward and %d backward matrix multiplications instead of 1 and 2" %
                 (op.name, len(forward), len(backward)))
        return []
    weight_at, input_at, fp8_at = LAYERS[op.name]
    weight, x = at(op.dims, weight_at), at(op.dims, input_at)
    dtype = at(op.types, input_at)
    if not x or not weight or len(weight) != 2 or x[-1] != weight[1] or dtype != at(op.types, weight_at):
        complain("%s: input %s and weight %s do not fit" % (op.name, x, weight))
        return []
    if at(op.concrete, fp8_at) == "True":
        dtype = "fp8"
    x = (prod(x[:-1]), x[-1])
    dy = (x[0], weight[0])
    return [
        (forward[0], op.name + "_yfwd_mm", [x, weight[::-1]], dtype),
        (backward[0], op.name + "Backward_xgrad_mm", [dy, weight], dtype),
        (backward[1], op.name + "Backward_wgrad_mm", [dy[::-1], x], dtype),
    ]

def add_multiplications(tree, complain):
    found = []
    for name in LAYERS:
        done = {event.sequence_number: True for event in tree.events_by_name(name + "Backward_xgrad_mm")}
        for op in tree.events_by_name(name):
            if op.sequence_number is not None and op.sequence_number in done:
                continue
            of_layer = multiplications(tree, op, complain)
            found += [(op, multiplication) for multiplication in of_layer]
            if of_layer:
                done[op.sequence_number] = True
    for op, (kernel, name, dims, dtype) in found:
        tree.isolate(kernel, name, sequence_number=op.sequence_number, dims=dims, types=[dtype, dtype],
                     strides=[], concrete=[])

# The backward of a normalization does not record the shapes.
def hand_on_norm_shapes(tree):
    for op in tree.events_by_name("_LayerNormLinear"):
        if len(op.dims) < 2:
            continue
        for backward in backward_of(tree, op):
            for event in [backward] + tree.children(backward):
                if event.name == "_LayerNormLinearBackward":
                    tree.set_arg(event, "_ln_input_shape", op.dims[0])
                    tree.set_arg(event, "_ln_weight_shape", op.dims[1])

def tree_postprocess_extension(tree):
    complaints = {}

    def complain(text):
        complaints[text] = complaints.get(text, 0) + 1

    link_checkpoints(tree, complain)

    # With this operator the multiplications stand for themselves.
    if not tree.events_by_name("tex_ts::te_gemm_ts"):
        add_multiplications(tree, complain)
    hand_on_norm_shapes(tree)
    for text, count in complaints.items():
        print("%s (%d times)" % (text, count))

# ---- The models ----

def equal_type(first, second):
    if first != second:
        fail("the factors are of the types %s and %s" % (first, second))
    if element_size(first) not in (1, 2):
        fail("elements of %s have neither 1 nor 2 bytes" % first)
    return first

def layer_gemm(event):
    a, b = event.dims
    return model("gemm", m=a[0], n=b[1], k=a[1], dtype=equal_type(event.types[0], event.types[1]),
                 dtype_out="c10::BFloat16", backward=False)

def fused_attention(event):
    query_length, batch, query_heads, head_dim = event.dims[9]
    key_length, _, key_heads, _ = event.dims[10]
    return model("attention", dtype=event.types[9], key_dtype=event.types[10], batch=batch,
                 query_length=query_length, query_heads=query_heads, head_dim=head_dim, key_length=key_length,
                 key_heads=key_heads, value_head_dim=event.dims[11][3], causal=True)

def grouped_gemm(event):
    m, k = event.dims[0]
    groups, rows, columns = event.dims[1]
    transposed = event.concrete[3]
    if transposed not in ("True", "False"):
        fail("input 3 must say whether the weights are transposed, found %r" % transposed)
    n, inner = (rows, columns) if transposed == "True" else (columns, rows)
    if inner != k:
        fail("the weights have %d rows, the input %d columns" % (inner, k))
    dtype = equal_type(event.types[0], event.types[1])

    # The backward makes two products of the size of the forward one, for the input and for the weights.
    bytes = (m * k + groups * k * n) * element_size(dtype) + m * n * element_size("c10::BFloat16")
    return model("grouped_gemm", m=m, n=n, k=k, groups=groups, dtype=dtype, dtype_out="c10::BFloat16",
                 backward_flops=2 * (2 * m * k * n), backward_bytes=2 * bytes)

def norm(event):
    shape, weight, bias = event.dims[0], at(event.dims, 1), at(event.dims, 2)
    return model("normalization", shape=shape, dtype=event.types[0],
                 channels=weight[0] if weight else shape[-1], affine=bool(weight), bias=bool(bias))

def norm_backward(event):
    if "_ln_input_shape" in event.args:
        shape, channels = event.args["_ln_input_shape"], event.args["_ln_weight_shape"][0]
    elif event.name == "_LayerNormLinearBackward":
        fail("the forward operator, which has the shapes, was not found")
    else:
        shape, channels = event.dims[0], event.dims[0][-1]
    return model("normalization_backward", shape=shape, dtype=event.types[0], channels=channels, bias=False,
                 output_mask=[True, True, False])

perf_model_extension = {
    "_Linear_yfwd_mm": layer_gemm,
    "_LinearBackward_xgrad_mm": layer_gemm,
    "_LinearBackward_wgrad_mm": layer_gemm,
    "_LayerNormLinear_yfwd_mm": layer_gemm,
    "_LayerNormLinearBackward_xgrad_mm": layer_gemm,
    "_LayerNormLinearBackward_wgrad_mm": layer_gemm,
    "FusedAttnFunc": fused_attention,
    "GroupedGemm": grouped_gemm,
    "LayerNormFn": norm,
    "_LayerNormLinear": norm,
    "LayerNormFnBackward": norm_backward,
    "_LayerNormLinearBackward": norm_backward,
}

op_category_extension = {
    "FusedAttnFuncBackward": "SDPA_bwd",
    "GroupedGemmBackward": "GroupedGEMM_bwd",
}
