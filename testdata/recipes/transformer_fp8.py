"""Forward pass with fp8 (e4m3) matrix products through torch._scaled_mm and bf16 attention."""

import torch
import torch.nn.functional as F

import recording

TOKENS, WIDTH, HEADS, LAYERS = 128, 256, 4, 2
E4M3_MAX = torch.finfo(torch.float8_e4m3fn).max

options = recording.arguments(__doc__)


def quantise(x):
    """Per-tensor scaling: the fp8 values and the factor that undoes the scaling."""
    scale = x.abs().amax().float().clamp(min=1e-12) / E4M3_MAX
    return (x.float() / scale).to(torch.float8_e4m3fn), scale


def weight(rows, columns):
    # Stored as rows x columns and handed over transposed: the second operand must be column-major.
    return quantise(torch.randn(rows, columns, device=options.device, dtype=torch.bfloat16))


def fp8_linear(x, quantised_weight):
    values, scale = quantised_weight
    x_values, x_scale = quantise(x)
    return torch._scaled_mm(x_values, values.t(), scale_a=x_scale, scale_b=scale, out_dtype=torch.bfloat16)


layers = [
    {"qkv": weight(3 * WIDTH, WIDTH), "out": weight(WIDTH, WIDTH), "up": weight(4 * WIDTH, WIDTH), "down": weight(WIDTH, 4 * WIDTH)}
    for _ in range(LAYERS)
]
tokens = torch.randn(TOKENS, WIDTH, device=options.device, dtype=torch.bfloat16)


@torch.no_grad()
def step():
    x = tokens
    for layer in layers:
        qkv = fp8_linear(F.layer_norm(x, (WIDTH,)), layer["qkv"]).view(TOKENS, 3, HEADS, WIDTH // HEADS)
        query, key, value = qkv.permute(1, 2, 0, 3).unsqueeze(1)
        mixed = F.scaled_dot_product_attention(query, key, value)
        x = x + fp8_linear(mixed.squeeze(0).transpose(0, 1).reshape(TOKENS, WIDTH), layer["out"])
        x = x + fp8_linear(F.gelu(fp8_linear(F.layer_norm(x, (WIDTH,)), layer["up"])), layer["down"])
    return x


recording.record("transformer_fp8", step, options)
