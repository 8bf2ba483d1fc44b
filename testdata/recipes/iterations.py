"""Loops of several marked iterations: training of many kinds, evaluation, diffusion, generation; one pass alone.

Each loop is a function that builds its program and returns `iterate(number)`, which a person would call one step (of
generation: one request; of diffusion: one image). `ProfilerStep#N` is around each, so the file says what is to be
found without the marks.
"""

import dataclasses
import io
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset

import recording
import tiny_transformer

STACKS = {"with_stack": True, "with_modules": True}


def train_transformer(device, accumulation=1):
    """Training of the two-layer transformer with AdamW; `accumulation` backward passes for each optimizer step."""
    model = tiny_transformer.Transformer().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def iterate(_):
        for _ in range(accumulation):
            tokens, targets = tiny_transformer.batch(device)
            (tiny_transformer.loss(model(tokens), targets) / accumulation).backward()
        optimizer.step()
        optimizer.zero_grad()

    return iterate


def train_transformer_accumulating(device):
    return train_transformer(device, accumulation=4)


def conv_net(device):
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 10),
    ).to(device)


def image_batch(device, images=8):
    return torch.randn(images, 3, 32, 32, device=device), torch.randint(10, (images,), device=device)


def train_with_evaluation(device):
    """A conv net that is evaluated on two batches after every second step and saved in between."""
    model = conv_net(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def evaluate():
        model.eval()
        with torch.no_grad():
            right = 0
            for _ in range(2):
                images, labels = image_batch(device)
                right += (model(images).argmax(dim=1) == labels).sum().item()
        model.train()

    def iterate(number):
        images, labels = image_batch(device)
        F.cross_entropy(model(images), labels).backward()
        optimizer.step()
        optimizer.zero_grad()
        if number % 2 == 0:
            evaluate()
        if number == 4:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            torch.save(state, io.BytesIO())

    return iterate


def slow_first_step(device):
    """The first step waits for its data and makes the parameters; the later ones only train."""
    model = nn.Sequential(nn.LazyLinear(128), nn.ReLU(), nn.LazyLinear(128), nn.ReLU(), nn.LazyLinear(10)).to(device)
    state = {}

    def iterate(number):
        if number == 0:
            state["data"] = torch.stack([torch.randn(256, 64).sort().values for _ in range(8)]).to(device)
            time.sleep(0.05)
            model(state["data"][0, :32])
            state["optimizer"] = torch.optim.AdamW(model.parameters())
        rows = torch.randint(256, (32,), device=device)
        model(state["data"][0, rows]).square().mean().backward()
        state["optimizer"].step()
        state["optimizer"].zero_grad()

    return iterate


class Clicks(Dataset):
    """Rows of a click log: dense features, ids in each table, whether it was clicked."""

    ROWS, DENSE, TABLES, IDS, PER_TABLE = 4096, 8, 4, 1000, 3

    def __len__(self):
        return self.ROWS

    def __getitem__(self, row):
        numbers = torch.Generator().manual_seed(row)
        return (
            torch.randn(self.DENSE, generator=numbers),
            torch.randint(self.IDS, (self.TABLES, self.PER_TABLE), generator=numbers),
            torch.randint(2, (), generator=numbers).float(),
        )


class Recommender(nn.Module):
    """A bag of embeddings for each table and a perceptron for the dense features; their products are scored."""

    WIDTH = 16

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(Clicks.IDS, self.WIDTH, mode="sum") for _ in range(Clicks.TABLES))
        self.bottom = nn.Sequential(nn.Linear(Clicks.DENSE, 32), nn.ReLU(), nn.Linear(32, self.WIDTH))
        vectors = Clicks.TABLES + 1
        self.top = nn.Sequential(nn.Linear(self.WIDTH + vectors * vectors, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, dense, ids):
        dense = self.bottom(dense)
        bags = [table(ids[:, number]) for number, table in enumerate(self.tables)]
        vectors = torch.stack([dense, *bags], dim=1)
        products = torch.bmm(vectors, vectors.transpose(1, 2)).flatten(1)
        return self.top(torch.cat([dense, products], dim=1)).squeeze(1)


def train_recommender(device):
    """DLRM-like training through a DataLoader of this process."""
    model = Recommender().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = iter(DataLoader(Clicks(), batch_size=8))

    def iterate(_):
        dense, ids, clicked = (part.to(device) for part in next(batches))
        F.binary_cross_entropy_with_logits(model(dense, ids), clicked).backward()
        optimizer.step()
        optimizer.zero_grad()

    return iterate


class Denoiser(nn.Module):
    """Predicts an image's noise at a time: two scales with a skip between them."""

    def __init__(self, channels=16):
        super().__init__()
        self.time = nn.Linear(1, channels)
        self.encode = nn.Conv2d(3, channels, 3, padding=1)
        self.down = nn.Conv2d(channels, channels, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(channels, channels, 2, stride=2)
        self.decode = nn.Conv2d(2 * channels, 3, 3, padding=1)

    def forward(self, image, time):
        at = self.time(time)[:, :, None, None]
        fine = F.silu(self.encode(image) + at)
        coarse = self.up(F.silu(self.down(fine)))
        return self.decode(torch.cat([fine, coarse], dim=1))


def diffusion(device, denoising_steps=8):
    """One image an iteration: a prompt's vector, noise, denoising steps, a decoder at the end."""
    prompt = nn.Sequential(nn.Embedding(512, 32), nn.Linear(32, 3)).to(device)
    denoiser, decoder = Denoiser().to(device), nn.Conv2d(3, 3, 3, padding=1).to(device)

    @torch.no_grad()
    def iterate(_):
        colour = prompt(torch.randint(512, (1, 8), device=device)).mean(dim=1)
        image = torch.randn(1, 3, 32, 32, device=device) + colour[:, :, None, None]
        for step in reversed(range(denoising_steps)):
            time = torch.full((1, 1), step / denoising_steps, device=device)
            image = image - denoiser(image, time) / denoising_steps
        decoder(image).clamp(0, 1).cpu()

    return iterate


class Decoder(nn.Module):
    """The transformer's blocks over a cache of keys and values."""

    def __init__(self):
        super().__init__()
        self.transformer = tiny_transformer.Transformer()

    def attend(self, block, x, cache):
        batch, tokens, width = x.shape
        heads = (batch, tokens, 3, tiny_transformer.HEADS, width // tiny_transformer.HEADS)
        query, key, value = block.qkv(block.attention_norm(x)).view(heads).permute(2, 0, 3, 1, 4)
        cache.append((key, value) if not cache else tuple(map(torch.cat, zip(cache.pop(), (key, value)), (2, 2))))
        mixed = F.scaled_dot_product_attention(query, *cache[0], is_causal=tokens > 1)
        x = x + block.projection(mixed.transpose(1, 2).reshape(batch, tokens, width))
        return x + block.mlp(block.mlp_norm(x))

    def forward(self, tokens, caches):
        x = self.transformer.embedding(tokens)
        for block, cache in zip(self.transformer.blocks, caches):
            x = self.attend(block, x, cache)
        return self.transformer.head(self.transformer.norm(x[:, -1]))


def generate(device, new_tokens=6):
    """One request an iteration: a pass over a prompt of its own length, then one pass for each further token."""
    decoder = Decoder().to(device).eval()

    @torch.no_grad()
    def iterate(number):
        caches = [[] for _ in range(tiny_transformer.LAYERS)]
        tokens = torch.randint(tiny_transformer.VOCABULARY, (1, 16 + 8 * (number % 3)), device=device)
        for _ in range(1 + new_tokens):
            tokens = decoder(tokens, caches).argmax(dim=-1, keepdim=True)
        tokens.item()

    return iterate


def evaluate_images(device):
    """An image model's answers, one batch an iteration."""
    model = conv_net(device).eval()

    @torch.no_grad()
    def iterate(_):
        images, labels = image_batch(device)
        (model(images).argmax(dim=1) == labels).float().mean().item()

    return iterate


def train_adversaries(device):
    """Two networks with an optimizer each: one updates on real and made samples, then the other; both are one step."""
    maker = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 32)).to(device)
    judge = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1)).to(device)
    of_maker, of_judge = torch.optim.Adam(maker.parameters()), torch.optim.Adam(judge.parameters())

    def iterate(_):
        real, noise = torch.randn(16, 32, device=device), torch.randn(16, 16, device=device)
        made = maker(noise)
        of_judge.zero_grad()
        (F.softplus(-judge(real)).mean() + F.softplus(judge(made.detach())).mean()).backward()
        of_judge.step()
        of_maker.zero_grad()
        F.softplus(-judge(made)).mean().backward()
        of_maker.step()

    return iterate


def train_recurrent(device):
    """A recurrent cell over sequences of different lengths: time steps repeat more often than training steps."""
    embedding, cell, head = nn.Embedding(64, 32), nn.GRUCell(32, 32), nn.Linear(32, 64)
    modules = nn.ModuleList([embedding, cell, head]).to(device)
    optimizer = torch.optim.SGD(modules.parameters(), lr=0.1)

    def iterate(number):
        tokens = torch.randint(64, (8, 6 + 3 * (number % 4)), device=device)
        state = torch.zeros(8, 32, device=device)
        loss = 0
        for time in range(tokens.shape[1] - 1):
            state = cell(embedding(tokens[:, time]), state)
            loss = loss + F.cross_entropy(head(state), tokens[:, time + 1])
        loss.backward()
        nn.utils.clip_grad_norm_(modules.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    return iterate


def train_with_closure(device):
    """L-BFGS: the optimizer's step calls the model several times."""
    model = nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 1)).to(device)
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)

    def iterate(_):
        inputs = torch.randn(64, 16, device=device)
        targets = inputs.sin().sum(dim=1, keepdim=True)

        def closure():
            optimizer.zero_grad()
            loss = F.mse_loss(model(inputs), targets)
            loss.backward()
            return loss

        optimizer.step(closure)

    return iterate


def learn_from_play(device):
    """Policy gradients: a game of several moves without gradients, then two updates on what happened in it."""
    policy = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
    optimizer = torch.optim.Adam(policy.parameters())

    def iterate(_):
        state = torch.randn(16, 8, device=device)
        states, moves = [], []
        with torch.no_grad():
            for _ in range(5):
                move = torch.distributions.Categorical(logits=policy(state)).sample()
                states.append(state)
                moves.append(move)
                state = state.roll(1, dims=1) + 0.1 * move[:, None]
        for _ in range(2):
            chances = torch.distributions.Categorical(logits=policy(torch.cat(states)))
            (-chances.log_prob(torch.cat(moves)).mean()).backward()
            optimizer.step()
            optimizer.zero_grad()

    return iterate


@dataclasses.dataclass(frozen=True)
class Loop:
    make: Callable
    iterations: int
    warm_up: int = 1
    profiler_options: dict = dataclasses.field(default_factory=dict)
    # Small enough to be kept with the project.
    kept: bool = False


LOOPS = {
    "iterations_training": Loop(train_transformer, 6),
    "iterations_training_stacks": Loop(train_transformer, 4, profiler_options=STACKS),
    "iterations_accumulation": Loop(train_transformer_accumulating, 4),
    "iterations_accumulation_stacks": Loop(train_transformer_accumulating, 3, profiler_options=STACKS),
    "iterations_evaluation": Loop(train_with_evaluation, 6, kept=True),
    "iterations_evaluation_stacks": Loop(train_with_evaluation, 8, profiler_options=STACKS),
    "iterations_slow_first": Loop(slow_first_step, 5, warm_up=0, kept=True),
    "iterations_recommender": Loop(train_recommender, 6),
    "iterations_recommender_stacks": Loop(train_recommender, 4, profiler_options=STACKS),
    "iterations_diffusion": Loop(diffusion, 3, kept=True),
    "iterations_diffusion_stacks": Loop(diffusion, 3, profiler_options=STACKS),
    "iterations_generation": Loop(generate, 4),
    "iterations_generation_stacks": Loop(generate, 3, profiler_options=STACKS),
    "iterations_adversaries": Loop(train_adversaries, 6),
    "iterations_recurrent": Loop(train_recurrent, 6),
    "iterations_recurrent_stacks": Loop(train_recurrent, 6, profiler_options=STACKS),
    "iterations_closure": Loop(train_with_closure, 5),
    "iterations_play": Loop(learn_from_play, 5),
    "iterations_play_stacks": Loop(learn_from_play, 5, profiler_options=STACKS),
    "iterations_images": Loop(evaluate_images, 10, kept=True),
    "iterations_images_stacks": Loop(evaluate_images, 10, profiler_options=STACKS),
}

# One pass with nothing that repeats: an MLP's forward, under no mark.
SINGLE_PASS = "iterations_single_pass"


def main():
    parser = recording.parser(__doc__)
    parser.add_argument("--all", action="store_true", help="also the loops whose traces are too large to be kept")
    options = parser.parse_args()
    for name, loop in LOOPS.items():
        if loop.kept or options.all:
            recording.prepare()
            iterate = loop.make(options.device)
            recording.record_loop(
                name, iterate, loop.iterations, options, warm_up=loop.warm_up, **loop.profiler_options
            )
    if options.all:
        recording.prepare()
        images, _ = image_batch(options.device)
        model = conv_net(options.device).eval()
        recording.record(SINGLE_PASS, lambda: model(images), options)


if __name__ == "__main__":
    main()
