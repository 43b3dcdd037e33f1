#!/usr/bin/env python3
"""Measures torch.distributed's all_reduce over its Gloo back end on this host, as collbench measures.

One process per rank, pinned to core rank mod cores, one thread each. An iteration: every rank rewrites
its float32 vector and reads it, all meet at a barrier in shared memory, and the latency is from the
last rank's arrival to the last rank's completion on the common monotonic clock. Results are checked.
Prints one JSON line per size: workers, bytes, iterations, median and lower quartile in microseconds.

  torch_gloo.py --workers 2 --sizes 4,16384,16777216     needs Debian's python3-torch
"""

import argparse
import json
import mmap
import multiprocessing
import os
import statistics
import struct
import time

import torch
import torch.distributed as dist


class Meeting:
    """A barrier that yields: one counter per rank in memory that the processes share."""

    def __init__(self, memory, rank, ranks):
        self.memory, self.rank, self.ranks, self.times = memory, rank, ranks, 0

    def wait(self):
        self.times += 1
        struct.pack_into("q", self.memory, 64 * self.rank, self.times)
        for peer in range(self.ranks):
            while struct.unpack_from("q", self.memory, 64 * peer)[0] < self.times:
                os.sched_yield()


def measure(rank, options, size, meeting):
    """The stamps (arrival, completion) of every iteration of this rank, in nanoseconds."""
    vector = torch.empty(size // 4, dtype=torch.float32)
    expected = options.workers * (options.workers + 1) / 2
    stamps = []
    deadline = None
    while True:
        vector.fill_(rank + 1)
        meeting.wait()
        arrival = time.monotonic_ns()
        dist.all_reduce(vector)
        stamps.append((arrival, time.monotonic_ns()))
        meeting.wait()
        if float(vector[0]) != expected or float(vector.sum()) != expected * vector.numel():
            if size <= 1 << 20:  # beyond, float32 rounds the sum of the check itself
                raise SystemExit(f"rank {rank}: wrong result at {size} bytes")
        # Rank 0 decides for all when it is enough: its word is in the line behind the ranks'.
        if rank == 0:
            deadline = deadline or time.monotonic() + options.seconds
            over = len(stamps) >= 12 and time.monotonic() > deadline or len(stamps) >= 2000
            struct.pack_into("q", meeting.memory, 64 * options.workers, int(over))
        meeting.wait()
        if struct.unpack_from("q", meeting.memory, 64 * options.workers)[0]:
            return stamps[2:]


def run_rank(rank, options, memory, results):
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank % os.cpu_count()]})
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{options.port}", rank=rank,
                            world_size=options.workers)
    meeting = Meeting(memory, rank, options.workers)
    for size in options.sizes:
        results.put((size, rank, measure(rank, options, size, meeting)))
        dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--sizes", default="4,16384,1048576,16777216,67108864")
    parser.add_argument("--seconds", type=float, default=1.0, help="per size")
    parser.add_argument("--port", type=int, default=29571)
    options = parser.parse_args()
    options.sizes = [int(size) for size in options.sizes.split(",")]
    memory = mmap.mmap(-1, 64 * (options.workers + 1))
    context = multiprocessing.get_context("fork")
    results = context.Queue()
    ranks = [context.Process(target=run_rank, args=(rank, options, memory, results))
             for rank in range(options.workers)]
    for process in ranks:
        process.start()
    for size in options.sizes:
        stamps = {}
        while len(stamps) < options.workers:
            of_size, rank, mine = results.get(timeout=300)
            assert of_size == size
            stamps[rank] = mine
        latencies = [max(s[1] for s in each) - max(s[0] for s in each)
                     for each in zip(*stamps.values())]
        print(json.dumps({"peer": f"torch {torch.__version__} gloo", "workers": options.workers,
                          "bytes": size, "iterations": len(latencies),
                          "median_us": statistics.median(latencies) / 1000,
                          "p25_us": statistics.quantiles(latencies, n=4)[0] / 1000}), flush=True)
    for process in ranks:
        process.join()


if __name__ == "__main__":
    main()
