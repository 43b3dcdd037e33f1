#!/usr/bin/env python3
"""Random all-reduces with exact checks, for as long as asked: nothing may fail, stay or grow.

    soak.py --collbench build/cli/collbench --duration 300

Each step draws a transport, algorithms, ranks, sizes, a type, an operator, the state of buffers,
checksums and late messages, and plays the case many times over, with new workers each time. Results
are compared with the exact ones before and after timing (exit code 3 otherwise). Of the process
that stays over all repetitions, open files and resident memory are watched: the last third must not
hold more than the first did. Draws come from --seed, so a step can be repeated: --only STEP.
"""
import argparse
import collections
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
from cell_run import CellRun  # noqa: E402
from free_ports import free_ports  # noqa: E402

TYPES = ["f16", "bf16", "f32", "f64", "i32", "i64", "u8"]
OPERATORS = ["sum", "prod", "min", "max", "avg"]
TRANSPORTS = ["threads", "processes", "private", "grpc", "recvbuf", "remote"]
WORDS = {"threads": ["-B", "shm"], "processes": ["-B", "shm", "--isolate"],
         "private": ["-B", "shm", "--private-buffers"], "grpc": ["-B", "grpc"],
         "recvbuf": ["-B", "grpc", "--transport", "tf-recvbuf"], "remote": []}
MORE_FILES = 4           # that may be open at the end, by chance
MORE_BYTES = 24 << 20    # of resident memory


def algorithm_names(collbench):
    listed = subprocess.run([collbench, "run", "-B", "shm", "--algo", "all", "-W", "4", "-b", "4",
                             "-e", "4", "--list"], capture_output=True, text=True, check=True)
    return [line.split()[0] for line in listed.stdout.splitlines()]


class Step:
    def __init__(self, number, options, names):
        draw = random.Random(f"{options.seed} {number}")
        self.number = number
        self.transport = draw.choice(TRANSPORTS)
        self.workers = draw.choice([1, 2, 3, 4, 5, 7, 8] if self.transport != "remote" else [2, 3])
        self.algorithms = draw.sample(names, min(3, len(names)))
        most = {"threads": 24, "processes": 23, "private": 22}.get(self.transport, 21)
        largest = 2 ** draw.uniform(2, most)
        sizes = [str(max(8, int(largest / factor) // 8 * 8)) for factor in (50, 1)]
        self.arguments = ["--algo", ",".join(self.algorithms), "-b", sizes[0], "-e", sizes[1],
                          "-f", "50", "-d", draw.choice(TYPES), "-o", draw.choice(OPERATORS),
                          "--buffers", draw.choice(["hot", "produced"]),
                          draw.choice(["--in-place", "--out-of-place"]), "-n", "5", "-w", "1",
                          "--max-time", "0.05", "--progress", "off", "--pin", "none", "-T", "60s",
                          "-N", "1000000", "--format", "csv", "--seed", str(draw.randrange(1000))]
        if draw.random() < 0.4:
            self.arguments.append("--checksum")
        if draw.random() < 0.2:
            self.arguments += ["--inject", f"delay:chance=2%:time=2ms:seed={number}"]

    def text(self):
        return f"{self.number}: {self.transport}, {self.workers} ranks, {' '.join(self.arguments)}"


def possible(collbench, name, workers):
    shown = subprocess.run([collbench, "run", "-B", "shm", "--algo", name, "-W", str(workers),
                            "--list"], capture_output=True, text=True, check=False)
    return shown.returncode == 0


def held(pid):
    """Open files and resident bytes of a process."""
    try:
        files = len(os.listdir(f"/proc/{pid}/fd"))
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return None
    return files, pages * os.sysconf("SC_PAGE_SIZE")


def start(run, step, collbench):
    arguments = list(step.arguments)
    names = [name for name in step.algorithms if possible(collbench, name, step.workers)]
    arguments[1] = ",".join(names or ["ring"])
    if step.transport != "remote":
        words = WORDS[step.transport] + ["-W", str(step.workers)]
        return [run.start(arguments + words)]
    hosts = ",".join(f"127.0.0.1:{port}" for port in free_ports(step.workers))
    return [run.start([*arguments, "--hosts", hosts, "--rank", str(rank)])
            for rank in range(step.workers)]


def watch(processes, seconds):
    """Pairs of open files and resident memory of the first process, over time."""
    seen = []
    until = time.monotonic() + seconds
    while time.monotonic() < until and all(p.child.poll() is None for p in processes):
        now = held(processes[0].pid)
        if now and processes[0].rows() > 2:
            seen.append(now)
        time.sleep(0.05)
    return seen


def growth(seen):
    """What is wrong with the files and bytes held, in words."""
    third = len(seen) // 3
    if third < 10:
        return []
    wrong = []
    for index, (what, most) in enumerate([("open files", MORE_FILES), ("bytes", MORE_BYTES)]):
        before = max(pair[index] for pair in seen[:third])
        after = statistics.median(pair[index] for pair in seen[-third:])
        if after > before + most:
            wrong.append(f"{what} grew from at most {before} to {after}")
    return wrong


def play(step, options, counts):
    run = CellRun(options.collbench)
    problems = []
    try:
        processes = start(run, step, options.collbench)
        seen = watch(processes, options.step)
        early = [p for p in processes if p.child.poll() is not None]
        for process in early:
            process.wait_until(time.monotonic() + 2)
            problems.append(f"ended with {process.code()}: {process.err[-1:]}")
        processes[0].child.send_signal(15)
        for process in processes:
            if not process.wait_until(time.monotonic() + 20):
                problems.append("still runs 20 s after SIGTERM")
            elif not early and process.code() not in (143, 5):
                problems.append(f"ended with {process.code()}: {process.err[-1:]}")
        rows = max(0, processes[0].rows() - 1)
        counts["cases"] += rows
        counts[f"cases over {step.transport}"] += rows
        counts["most files"] = max([counts["most files"], *(pair[0] for pair in seen)])
        problems += growth(seen)
        problems += [f"left behind: {thing}" for thing in run.left_behind()]
    finally:
        run.end()
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collbench", required=True, help="the command to be tried")
    parser.add_argument("--duration", type=float, default=60, help="seconds to go on")
    parser.add_argument("--step", type=float, default=5, help="seconds of each step")
    parser.add_argument("--seed", type=int, default=1, help="of all draws")
    parser.add_argument("--only", type=int, help="play one step")
    options = parser.parse_args()
    options.collbench = str(Path(options.collbench).resolve())
    names = algorithm_names(options.collbench)
    counts = collections.Counter()
    wrong = 0
    until = time.monotonic() + options.duration
    numbers = [options.only] if options.only is not None else range(10 ** 9)
    for number in numbers:
        if time.monotonic() >= until:
            break
        step = Step(number, options, names)
        problems = play(step, options, counts)
        counts["steps"] += 1
        if problems:
            wrong += 1
            print(f"WRONG {step.text()}", *problems, sep="\n    ", flush=True)
    print(", ".join(f"{name} {count}" for name, count in sorted(counts.items())))
    print(f"{wrong} of {counts['steps']} steps wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
