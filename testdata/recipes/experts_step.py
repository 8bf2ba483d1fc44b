"""Forward and backward of a layer of experts: tokens sorted by expert, products in groups (`torch._grouped_mm`) in bf16."""

import torch
import torch.nn.functional as F

import recording

EXPERTS, WIDTH, INNER, TOKENS = 8, 512, 1408, 4096

options = recording.arguments(__doc__, gpu_only=True)


def weights(*shape):
    return torch.randn(shape, device="cuda", dtype=torch.bfloat16).requires_grad_()


up, down = weights(EXPERTS, WIDTH, INNER), weights(EXPERTS, INNER, WIDTH)
router = torch.nn.Linear(WIDTH, EXPERTS, device="cuda", dtype=torch.bfloat16)
tokens = torch.randn(TOKENS, WIDTH, device="cuda", dtype=torch.bfloat16)


def step():
    share, expert = router(tokens).softmax(-1).max(-1)
    order = expert.argsort()
    ends = torch.bincount(expert, minlength=EXPERTS).cumsum(0).to(torch.int32)
    hidden = F.silu(torch._grouped_mm(tokens[order], up, offs=ends))
    mixed = torch._grouped_mm(hidden, down, offs=ends) * share[order, None]
    mixed.float().square().mean().backward()
    up.grad = down.grad = None
    router.zero_grad()


recording.record("experts_step", step, options)
