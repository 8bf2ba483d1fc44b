"""Training steps of a GPT with known faults: what a step takes without a profiler, and a trace of some steps.

    python3 faulty_steps.py --out DIR [--only FAULT …] [--tiny]

`clean` is the program without a fault; every other program differs from it in one thing. `faulty_steps.json` holds the
median time of a step of each program, in milliseconds on the host with the device idle at both ends, so that what a
fault costs is known: the difference to `clean`. The programs run one after the other in this process.
"""

import dataclasses
import json
import math
import statistics
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import recording

TIMED_STEPS = 20
RECORDED_STEPS = 3


@dataclasses.dataclass
class Size:
    width: int = 1024
    heads: int = 16
    layers: int = 8
    tokens: int = 1024
    batch: int = 16
    vocabulary: int = 32768


TINY = Size(width=64, heads=2, layers=2, tokens=32, batch=2, vocabulary=128)


class Block(nn.Module):
    def __init__(self, size, fault):
        super().__init__()
        self.heads, self.fault = size.heads, fault
        self.attention_norm = nn.LayerNorm(size.width)
        self.qkv = nn.Linear(size.width, 3 * size.width)
        self.projection = nn.Linear(size.width, size.width)
        self.mlp_norm = nn.LayerNorm(size.width)
        self.up = nn.Linear(size.width, 4 * size.width)
        self.down = nn.Linear(4 * size.width, size.width)

    def attend(self, query, key, value):
        if self.fault != "unfused attention":
            return F.scaled_dot_product_attention(query, key, value, is_causal=True)
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        return scores.masked_fill(future, float("-inf")).softmax(-1) @ value

    def activate(self, x):
        if self.fault != "unfused chain":
            return F.gelu(x, approximate="tanh")
        return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x * x * x)))

    def forward(self, x):
        batch, tokens, width = x.shape
        qkv = self.qkv(self.attention_norm(x)).view(batch, tokens, 3, self.heads, -1)
        if self.fault == "transposes":
            # Stored head by head and back: work that the kernels of attention do not need.
            qkv = qkv.permute(0, 3, 2, 1, 4).contiguous().permute(0, 3, 2, 1, 4).contiguous()
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        mixed = self.attend(query, key, value).transpose(1, 2).reshape(batch, tokens, width)
        if self.fault == "casts":
            mixed = mixed.float().to(x.dtype)
        x = x + self.projection(mixed)
        if self.fault == "device copies":
            x = x.clone() + 0 * x.clone()
        if self.fault == "32-bit products":
            hidden = self.activate(F.linear(self.mlp_norm(x).float(), self.up.weight.float(), self.up.bias.float()))
            return x + F.linear(hidden, self.down.weight.float(), self.down.bias.float()).to(x.dtype)
        hidden = self.activate(self.up(self.mlp_norm(x)))
        if self.fault == "slow host":
            spin(400e-6)
        if self.fault == "synchronize()":
            recording.synchronise(x.device.type)
        return x + self.down(hidden)


class Gpt(nn.Module):
    def __init__(self, size, fault):
        super().__init__()
        # One word more than a multiple of 8: rows of the last product that no kernel reads in whole vectors.
        vocabulary = size.vocabulary + 1 if fault == "odd sizes" else size.vocabulary
        self.fault = fault
        self.embedding = nn.Embedding(vocabulary, size.width)
        self.blocks = nn.ModuleList(Block(size, fault) for _ in range(size.layers))
        self.norm = nn.LayerNorm(size.width)
        self.head = nn.Linear(size.width, vocabulary, bias=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.fault == "recomputation" else block(x)
        return self.head(self.norm(x))


def spin(seconds):
    """Work of the host that is not PyTorch's."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def program(fault, size, device):
    """`iterate(number)`: one training step with `fault` in it."""
    model = Gpt(size, fault).to(device, torch.bfloat16)
    fast = {"foreach": False} if fault == "optimizer loop" else {"fused": True}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, **fast)
    tokens = torch.randint(size.vocabulary, (size.batch, size.tokens + 1), device=device)
    pageable = torch.randn(64 << 20) if fault == "pageable upload" else None

    def load():
        if fault == "late loader":
            time.sleep(0.02)
        if fault == "pageable upload":
            pageable.to(device)

    def iterate(_):
        load()
        logits = model(tokens[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        if fault == ".item()":
            # The usual check of the gradients, a wait for each parameter.
            for parameter in model.parameters():
                parameter.grad.norm().item()
        if fault == "pageable readback":
            logits[:2].detach().cpu()
        optimizer.step()
        optimizer.zero_grad()

    return iterate


FAULTS = [
    "clean",
    "slow host",
    ".item()",
    "synchronize()",
    "pageable readback",
    "late loader",
    "optimizer loop",
    "pageable upload",
    "device copies",
    "unfused chain",
    "unfused attention",
    "transposes",
    "casts",
    "32-bit products",
    "odd sizes",
    "recomputation",
]


def milliseconds_of_a_step(iterate, device):
    """Median over steps, each between two waits for the device."""
    times = []
    for number in range(TIMED_STEPS):
        recording.synchronise(device)
        start = time.perf_counter()
        iterate(number)
        recording.synchronise(device)
        times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def milliseconds_in_a_row(iterate, device):
    """Mean of steps that follow each other without a wait between them."""
    recording.synchronise(device)
    start = time.perf_counter()
    for number in range(TIMED_STEPS):
        iterate(number)
    recording.synchronise(device)
    return (time.perf_counter() - start) * 1e3 / TIMED_STEPS


def main():
    parser = recording.parser(__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=FAULTS, help="these programs alone")
    parser.add_argument("--tiny", action="store_true", help="a model small enough for a CPU")
    options = parser.parse_args()
    size = TINY if options.tiny else Size()
    times = {}
    for fault in options.only or FAULTS:
        recording.prepare()
        iterate = program(fault, size, options.device)
        for number in range(recording.WARM_UP_STEPS):
            iterate(number)
        times[fault] = {
            "alone_ms": milliseconds_of_a_step(iterate, options.device),
            "in_a_row_ms": milliseconds_in_a_row(iterate, options.device),
        }
        name = "step_" + "".join(c if c.isalnum() else "_" for c in fault).strip("_")
        recording.record_loop(name, iterate, RECORDED_STEPS, options)
        print(fault, times[fault], flush=True)
        del iterate
        if options.device == "cuda":
            torch.cuda.empty_cache()
    report = {"environment": recording.environment(options.device), "steps": TIMED_STEPS, "programs": times}
    (options.out / "faulty_steps.json").write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
