#!/usr/bin/env python3
"""Times training steps of PyTorch on one GPU: torch_step.py FILE.json

The models, batches and optimizers of bench/gpu/run: mnist-cnn with Adam, resnet56 with plain
SGD, batches of 64 from host memory, and the loss as a number after every step. PyTorch's own defaults
(TF32 in convolutions), eager and as one CUDA graph for a whole step, each plainly and with channels last; the
fastest of a model is the one to beat.
"""

import json
import statistics
import sys
import time

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, inputs, filters):
        super().__init__()
        self.stride = 1 if inputs == filters else 2
        self.more = filters - inputs
        self.first = nn.Conv2d(inputs, filters, 3, self.stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(filters)
        self.second = nn.Conv2d(filters, filters, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(filters)

    def forward(self, x):
        out = functional.relu(self.first_norm(self.first(x)), inplace=True)
        out = self.second_norm(self.second(out))
        if self.more:
            x = functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, 0, self.more))
        return functional.relu(out + x, inplace=True)


def resnet56():
    layers = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.ReLU(inplace=True)]
    inputs = 16
    for filters in (16, 32, 64):
        for _ in range(9):
            layers.append(Block(inputs, filters))
            inputs = filters
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))


def mnist_cnn():
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2),
                         nn.Conv2d(32, 64, 3), nn.ReLU(inplace=True), nn.Flatten(),
                         nn.Linear(64 * 11 * 11, 64), nn.ReLU(inplace=True), nn.Linear(64, 10))


def one_step(model, optimizer, x, y):
    loss = functional.cross_entropy(model(x), y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    return loss


def graphed(step, x, y, warm_up=3):
    """The step as one CUDA graph, replayed with other inputs."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(warm_up):
            step(x, y)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step(x, y)

    def replay(new_x, new_y):
        x.copy_(new_x, non_blocking=True)
        y.copy_(new_y, non_blocking=True)
        graph.replay()
        return loss

    return replay


def measure(name, steps, how, last, skipped=10):
    torch.manual_seed(1)
    shape = (1, 28, 28) if name == "mnist-cnn" else (3, 32, 32)
    layout = torch.channels_last if last else torch.contiguous_format
    model = (mnist_cnn() if name == "mnist-cnn" else resnet56()).cuda().to(memory_format=layout)
    optimizer = (torch.optim.Adam(model.parameters(), 1e-3, capturable=how == "graph")
                 if name == "mnist-cnn" else torch.optim.SGD(model.parameters(), 0.1))
    images = torch.rand((40, 64, *shape)).pin_memory()
    labels = torch.randint(10, (40, 64)).pin_memory()
    step = lambda x, y: one_step(model, optimizer, x, y)
    if how == "graph":
        step = graphed(step, images[0].cuda().to(memory_format=layout), labels[0].cuda())
    times = []
    for i in range(steps):
        begin = time.perf_counter()
        x = images[i % 40].cuda(non_blocking=True).to(memory_format=layout)
        y = labels[i % 40].cuda(non_blocking=True)
        step(x, y).item()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e6)
    return {"model": name, "how": how, "channels_last": last, "global_batch": 64,
            "steps": steps - skipped, "step_us": statistics.median(times[skipped:]),
            "torch": torch.__version__, "device": torch.cuda.get_device_name()}


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: torch_step.py FILE.json")
    rows = []
    for how in ("eager", "graph"):
        for name, steps in (("mnist-cnn", 200), ("resnet56", 60)):
            for last in (False, True):
                rows.append(measure(name, steps, how, last))
                print(json.dumps(rows[-1]), flush=True)
                with open(sys.argv[1], "w", encoding="utf-8") as file:
                    json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
