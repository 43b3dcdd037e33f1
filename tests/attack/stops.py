#!/usr/bin/env python3
"""How long a run goes on after SIGTERM or Ctrl-C, and whether it keeps its samples.

usage: stops.py COLLBENCH [--tries N] [--seed N] [--most SECONDS]
Each try starts an endless case on a back end in turn and signals it after a random time. Prints
the times, and exits 1 if a try took longer than --most (1), ended with another code than 130 or
143, or has no samples (on a busy machine: because it had not begun to time).
"""

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

BACK_ENDS = {"threads": [], "processes": ["--isolate"], "grpc": ["--backend", "grpc"],
             "tcp": ["--backend", "grpc", "--transport", "tcp"], "mpi": ["--backend", "mpi"]}


def one_try(binary, words, number, delay, folder):
    path = os.path.join(folder, "kept.json")
    if os.path.exists(path):
        os.remove(path)
    run = subprocess.Popen([binary, "--algo", "ring", "--workers", "2", "-b", "64K", "-e", "64K",
                            "-n", "100000000", "--json", path, *words],
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(delay)
    begin = time.monotonic()
    run.send_signal(number)
    code = run.wait(timeout=60)
    took = time.monotonic() - begin
    with open(path, encoding="utf-8") as file:
        records = json.load(file)["records"]
    samples = len(records[0]["latency_ns"]) if records else 0
    return took, code == 128 + number, samples


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--tries", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=float, default=1)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    bad = 0
    times = {name: [] for name in BACK_ENDS}
    kept = dict.fromkeys(BACK_ENDS, 0)
    with tempfile.TemporaryDirectory() as folder:
        for i in range(arguments.tries):
            name = list(BACK_ENDS)[i % len(BACK_ENDS)]
            number = draw.choice([signal.SIGTERM, signal.SIGINT])
            took, right, samples = one_try(os.path.abspath(arguments.binary), BACK_ENDS[name],
                                           number, draw.uniform(1.5, 3.0), folder)
            times[name].append(took)
            kept[name] += samples > 0
            if took > arguments.most or not right or samples == 0:
                bad += 1
                print(f"try {i}: {name}, {took:.2f} s, {samples} samples, code right: {right}")
    for name, all_times in times.items():
        if all_times:
            print(f"{name}: n {len(all_times)}, median {statistics.median(all_times):.2f} s, "
                  f"longest {max(all_times):.2f} s, samples kept in {kept[name]}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
