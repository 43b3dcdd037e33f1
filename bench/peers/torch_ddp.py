#!/usr/bin/env python3
"""Times training steps of PyTorch's DistributedDataParallel over Gloo, on this host's CPU.

One process per rank, pinned to core rank mod cores, one thread each. The models, optimizers and batches
are those of `collbench train`: mnist-cnn with Adam, resnet56 with SGD and momentum 0.9 (He et al.,
option A). A step is: take the batch from memory, forward, backward with the gradients' sum, update, and
the loss as a number. Prints one JSON line: the median and quartiles in ms over all steps but the first
few, rank 0. With --no-sync the same processes train side by side without exchanging anything.

  torch_ddp.py --model mnist-cnn --workers 2 --batch 64     needs Debian's python3-torch, and for its
                                                            best case libopenblas0-pthread
"""

import argparse
import json
import multiprocessing
import os
import statistics
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """Two 3x3 convolutions and a shortcut without parameters."""

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


MODELS = {"mnist-cnn": (mnist_cnn, (1, 28, 28), lambda p: torch.optim.Adam(p, 0.001)),
          "resnet56": (resnet56, (3, 32, 32), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9))}


def train(rank, options, results):
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank % os.cpu_count()]})
    torch.set_num_threads(1)
    torch.manual_seed(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{options.port}", rank=rank,
                            world_size=options.workers)
    make, shape, make_optimizer = MODELS[options.model]
    samples = options.batch // options.workers
    model = make()
    images = torch.rand(4 * samples, *shape)
    if options.channels_last:
        model = model.to(memory_format=torch.channels_last)
        images = images.to(memory_format=torch.channels_last)
    parameters = sum(p.numel() for p in model.parameters())
    if not options.no_sync:
        model = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=options.tuned,
                                                    static_graph=options.tuned)
    optimizer = make_optimizer(model.parameters())
    labels = torch.randint(0, 10, (4 * samples,))
    times, cpu = [], []
    for step in range(options.steps + options.warm_up):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        first = step % 4 * samples
        optimizer.zero_grad(set_to_none=not options.tuned)
        loss = functional.cross_entropy(model(images[first:first + samples]),
                                        labels[first:first + samples])
        loss.backward()
        optimizer.step()
        loss.item()
        times.append(1e3 * (time.perf_counter() - begin))
        cpu.append(1e3 * (time.process_time() - begin_cpu))
    if rank == 0:
        quartiles = statistics.quantiles(times[options.warm_up:], n=4)
        results.put({"peer": f"torch {torch.__version__} gloo", "model": options.model,
                     "parameters": parameters, "workers": options.workers, "batch": options.batch,
                     "sync": not options.no_sync, "steps": options.steps, "step_ms": quartiles[1],
                     "p25_ms": quartiles[0], "p75_ms": quartiles[2],
                     "cpu_ms": statistics.median(cpu[options.warm_up:])})
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, default="mnist-cnn")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64, help="global")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--warm-up", type=int, default=5)
    parser.add_argument("--no-sync", action="store_true", help="train side by side, sum nothing")
    parser.add_argument("--tuned", action="store_true",
                        help="gradient_as_bucket_view, static_graph, gradients kept")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--port", type=int, default=29572)
    options = parser.parse_args()
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    ranks = [context.Process(target=train, args=(rank, options, results))
             for rank in range(options.workers)]
    for process in ranks:
        process.start()
    print(json.dumps(results.get(timeout=600)), flush=True)
    for process in ranks:
        process.join()


if __name__ == "__main__":
    main()
