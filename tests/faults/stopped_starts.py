#!/usr/bin/env python3
"""Stops a rank by SIGSTOP at a random moment of a start-up, and checks which rank the others blame.

    stopped_starts.py COLLBENCH [--tries 40] [--seed 1] [--ways grpc,hosts,meet,servers]

Ways: `grpc` and `processes`, workers that the command starts; `hosts`, one command per rank that
knows all addresses; `meet`, one command per rank that knows rank 0's; `servers`, a training with a
parameter server that the command starts, which goes on without a worker that it has once had. A
try is right if every survivor ends within the timeout and some seconds, with code 5 and the stopped
rank named, or with 0 if the stop came too late or the training went on.
Prints what was wrong and one line per way; exits 1 if anything was.
"""
import argparse
import os
import random
import re
import signal
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
from cell_run import CellRun, named_rank  # noqa: E402
from free_ports import free_ports  # noqa: E402

RANKS = 4
WORK = ["--algo", "ring", "-b", "1K", "-e", "1K", "-n", "20", "--max-time", "0.2", "--pin", "none",
        "--progress", "off"]
TRAIN = ["train", "--isolate", "--strategy", "parameter-server", "--workers", "2", "--widths", "16",
         "--steps", "300"]
OWN = {"grpc": ["-B", "grpc"], "processes": ["-B", "shm", "--isolate"]}


def start(run, way, timeout):
    """The commands by rank; only 0 where one starts them all."""
    if way == "servers":
        return {0: run.start([*TRAIN, "-T", f"{timeout}s"])}
    words = [*WORK, "-T", f"{timeout}s"]
    if way in OWN:
        return {0: run.start([*words, *OWN[way], "--workers", str(RANKS)])}
    secret = {"COLLBENCH_JOB_TOKEN": run.mark}
    if way == "meet":
        join = ["--meet", f"127.0.0.1:{free_ports(1)[0]}", "--workers", str(RANKS)]
    else:
        join = ["--hosts", ",".join(f"127.0.0.1:{port}" for port in free_ports(RANKS))]
    return {rank: run.start([*words, *join, "--rank", str(rank)], extra=secret)
            for rank in range(RANKS)}


def blamed(lines, way):
    """The rank that a process says is lost, late or missing; None if it names none."""
    if way != "servers":
        return named_rank(lines)
    found = re.search(r"(?:no|collbench:) worker (\d+)", "\n".join(lines))
    return int(found.group(1)) if found else None


def one_try(collbench, way, victim, delay, timeout):
    """What was wrong, in words; and whether the stop came in time."""
    run = CellRun(collbench)
    try:
        commands = start(run, way, timeout)
        time.sleep(delay)
        pid = commands[victim].pid if len(commands) > 1 else next(iter(run.workers(victim)), None)
        if pid is None:
            return [], False
        try:
            os.kill(pid, signal.SIGSTOP)
        except ProcessLookupError:
            return [], False
        deadline = time.monotonic() + 3 * timeout + 20
        wrong = []
        for rank, process in commands.items():
            if rank == victim and len(commands) > 1:
                continue
            if not process.wait_until(deadline):
                wrong.append(f"rank {rank} did not end; it says {process.err[-3:]}")
            elif process.code() != 0 and blamed(process.err, way) != victim:
                wrong.append(f"rank {rank} ended with {process.code()} and says {process.err[-3:]}")
        return wrong, any(process.code() != 0 or blamed(process.err, way) is not None
                          for process in commands.values())
    finally:
        run.end()


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("collbench")
    parser.add_argument("--tries", type=int, default=40, help="of each way")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=int, default=3)
    parser.add_argument("--ways", default="grpc,processes,hosts,meet,servers")
    parser.add_argument("--longest", type=float, default=0.6, help="seconds until the stop")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    bad = 0
    for way in arguments.ways.split(","):
        wrong_tries = in_time = 0
        for i in range(arguments.tries):
            victim = draw.randrange(0 if way in OWN or way == "meet" else 1,
                                    2 if way == "servers" else RANKS)
            delay = draw.uniform(0, arguments.longest)
            wrong, struck = one_try(os.path.abspath(arguments.collbench), way, victim, delay,
                                    arguments.timeout)
            in_time += struck
            wrong_tries += bool(wrong)
            for line in wrong:
                print(f"{way} {i}: rank {victim} stopped after {delay:.3f} s: {line}", flush=True)
        print(f"{way}: n {arguments.tries}, stopped in time {in_time}, wrong {wrong_tries}",
              flush=True)
        bad += wrong_tries
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
