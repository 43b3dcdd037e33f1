#!/usr/bin/env python3
"""How often `collbench logs` names what `collbench run --inject` did.

Each trial runs a ring all-reduce of processes on this machine: healthy, with one rank late at every all-reduce, with one
late at every fourth, or with a slow link. The times of the ranks are written in NCCL Inspector's and in Flight Recorder's
format and read again. The network is judged against the median of the healthy trials, which run first.

    bench/studies/injected_faults_in_logs.py --collbench build/cli/collbench --trials 100
"""

import argparse
import json
import pathlib
import random
import statistics
import subprocess
import tempfile

WORKERS = 4
FORMATS = ("inspector", "flight-recorder")


def fault_of(kind, draw):
    rank = draw.randrange(WORKERS)
    if kind == "late":
        return f"late:rank={rank}:every=1:time={draw.randint(20, 40)}ms", rank
    if kind == "sporadic":
        return f"late:rank={rank}:message={draw.randrange(4)}:every=4:time={draw.randint(60, 90)}ms", rank
    # The ring sends to the next rank: all of its messages there come later.
    return f"delay:rank={rank}:every=1:time={draw.randint(8, 16)}ms", None


def trial(arguments, folder, inject):
    records = folder / "records.json"
    command = [arguments.collbench, "run", "--algo", "ring", "-B", arguments.backend, "-W", str(WORKERS), "-b", arguments.bytes,
               "-e", arguments.bytes, "-n", str(arguments.iterations), "-w", "2", "--check", "0", "--rank-times",
               "--max-time", "60s", "--format", "json"]
    if inject:
        command += ["--inject", inject]
    records.write_text(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    subprocess.run([arguments.collbench, "logs", str(records), "--json", "--inspector", str(folder / "inspector"),
                    "--flight-recorder", str(folder / "flight-recorder")], check=True, capture_output=True)


def verdict(arguments, folder, expected):
    command = [arguments.collbench, "logs", str(folder), "--json"]
    if expected:
        command += ["--expect-busbw", f"{expected:.6f}"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collbench", required=True)
    parser.add_argument("--trials", type=int, default=100, help="of each fault")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--backend", default="shm")
    parser.add_argument("--bytes", default="4M")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    named = {(kind, name): 0 for kind in ("healthy", "late", "sporadic", "slow link") for name in FORMATS}
    rates = []
    for kind in ("healthy", "late", "sporadic", "slow link"):
        for number in range(arguments.trials):
            inject, rank = ("", None) if kind == "healthy" else fault_of(kind, draw)
            with tempfile.TemporaryDirectory() as name:
                folder = pathlib.Path(name)
                trial(arguments, folder, inject)
                for written in FORMATS:
                    expected = statistics.median(rates) / 2 if rates else None
                    found = verdict(arguments, folder / written, expected)
                    if kind == "healthy" and written == FORMATS[0]:
                        transfer_us = found["total_transfer_us"] / found["ops"]
                        size = found["bytes"] / found["ops"]
                        rates.append(2 * (WORKERS - 1) / WORKERS * size / transfer_us * 1e-3)
                    right = {"healthy": found["late"] is None and found["network"] != "slow",
                             "late": found["late"] == rank,
                             "sporadic": found["late"] == rank,
                             "slow link": found["network"] == "slow" and found["late"] is None}[kind]
                    named[kind, written] += right
                    if not right:
                        print(f"# {kind} {number} {inject} in {written}: late {found['late']}, network {found['network']}, "
                              f"{found.get('cannot_be_told', '')}", flush=True)
        for written in FORMATS:
            print(f"{kind:10} {written:16} right in {named[kind, written]} of {arguments.trials}", flush=True)


if __name__ == "__main__":
    main()
