"""An extension of tracelens reports: models, categories and a pass over the call tree.

Use it with `tracelens report TRACE --extension_file NAME.py`; `tracelens extension --check NAME.py` loads it alone.
Extension files of TraceLens run as they are: `from TraceLens.PerfModel import GEMM, SDPA` works here, too.
"""
from tracelens import element_size, fail, model, prod, work


# A model is a function of the call. `event.dims`, `types`, `strides` and `concrete` have what the profiler recorded of
# each input, `event.args` further arguments, `event.kernels` the names of the kernels that the call launched.

def attention(event):
    """A fork of flash attention that takes the output first: its q, k and v are inputs 1, 2 and 3."""
    batch, query_length, query_heads, head_dim = event.dims[1]
    _, key_length, key_heads, value_head_dim = event.dims[3]
    return model("attention", dtype=event.types[1], batch=batch, query_length=query_length, query_heads=query_heads,
                 head_dim=head_dim, key_length=key_length, key_heads=key_heads, value_head_dim=value_head_dim,
                 causal=event.concrete[6] == "True")


def swiglu(event):
    """Figures of one's own; a category that is new gets a roofline sheet of its name."""
    if len(event.dims[0]) < 2:
        fail("swiglu of a vector is not modeled")
    elements = prod(event.dims[0])
    return work("swiglu", flops=4 * elements, bytes=3 * elements * element_size(event.types[0]), spec="vector_bf16",
                params={"shape": event.dims[0]})


perf_model_extension = {"my_attention::forward": attention, "my::swiglu": swiglu}

# Operators that are only put in a category.
op_category_extension = {"my_attention::backward": "SDPA_bwd"}

# Roofline sheets (without _fwd and _bwd) and the modeled operators that stand in them.
dict_cat2names_extension = {"activations": ["my::swiglu"]}


def tree_postprocess_extension(tree):
    """Runs once, before anything is computed. This one makes a block of operators one row of the report."""
    for call in tree.events_by_name("my_block::forward"):
        whole = tree.wrap_children(call, "my_block::whole")
        tree.charge_with_subtree(whole)
