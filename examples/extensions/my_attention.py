# A fork of flash-attention that takes the output buffer first: q, k and v are inputs 1, 2 and 3 instead of 0, 1 and 2,
# as (batch, length, heads, head dimension); input 6 says whether the mask is causal.

from tracelens import model

def my_attention(event):
    batch, query_length, query_heads, head_dim = event.dims[1]
    _, key_length, key_heads, value_head_dim = event.dims[3]
    return model("attention", dtype=event.types[1], batch=batch, query_length=query_length,
                 query_heads=query_heads, head_dim=head_dim, key_length=key_length, key_heads=key_heads,
                 value_head_dim=value_head_dim, causal=event.concrete[6] == "True")

perf_model_extension = {"my_attention::forward": my_attention}
op_category_extension = {"my_attention::forward": "SDPA_fwd", "my_attention::backward": "SDPA_bwd"}
