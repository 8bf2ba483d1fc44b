"""Training step of a small residual conv net; on a GPU the next batch is copied on a side stream."""

import torch
import torch.nn.functional as F
from torch import nn

import recording

BATCH, IMAGE, CLASSES = 32, 64, 10

options = recording.arguments(__doc__)
on_gpu = options.device == "cuda"


class ResidualBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = F.relu(self.first_norm(self.first(x)))
        return F.relu(x + self.second_norm(self.second(y)))


model = nn.Sequential(
    nn.Conv2d(3, 32, 7, stride=2, padding=3, bias=False),
    nn.BatchNorm2d(32),
    nn.ReLU(),
    nn.MaxPool2d(3, stride=2, padding=1),
    ResidualBlock(32),
    ResidualBlock(32),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(32, CLASSES),
).to(options.device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
images = torch.randn(BATCH, 3, IMAGE, IMAGE, device=options.device)
labels = torch.randint(CLASSES, (BATCH,), device=options.device)
if on_gpu:
    # Large enough (50 MB) that the copy is still running when the kernels of the step start.
    next_images = torch.randn(1024, 3, IMAGE, IMAGE).pin_memory()
    copy_stream = torch.cuda.Stream()


def step():
    if on_gpu:
        copy_stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(copy_stream):
            prefetched = next_images.to(options.device, non_blocking=True)
    loss = F.cross_entropy(model(images), labels)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if on_gpu:
        torch.cuda.current_stream().wait_stream(copy_stream)
        prefetched.mul_(2.0)


recording.record("conv_net_step", step, options)
