#!/usr/bin/env python3
"""Stops or kills a rank at a moment of a start-up, and checks how the others end and whom they blame.

    start_faults.py COLLBENCH --shim LIBRARY [--tries 20] [--seed 1] [--ways grpc,hosts] [--table F]

A moment is a number of calls (sockets, shared memory, pipes) that the rank has made, counted by
the preloaded start_strike.cc: drawn by the seed out of as many as a run without a fault makes, so
it is the same wherever it is played; one that does not come is halved. Ways: `processes`, `grpc`,
`tcp` and `mpi`, workers that the command starts; `hosts`, one command per rank that knows all
addresses; `meet`, one command per rank that knows rank 0's; `worker` and `ps`, that task of a
training with a parameter server which the command starts: it goes on without a worker that it has
once had. A try is right if every
survivor ends in time, with code 5 and the struck rank named, or with 0 if it came too late or
the training went on, and if no process, segment or temporary file stays. Prints what was wrong and
one line per way and fault; exits 1 if anything was, 77 if the library cannot be preloaded.
"""
import argparse
import os
import random
import signal
import statistics
import struct
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
from cell_permits import preload_refusal  # noqa: E402
from cell_run import CellRun, named_rank  # noqa: E402
from free_ports import free_ports  # noqa: E402

RANKS = 4
SKIPPED = 77
WORK = ["--algo", "ring", "-b", "1K", "-e", "1K", "-n", "3", "--max-time", "0.05", "--pin", "none",
        "--progress", "off"]
TRAIN = ["train", "--isolate", "--strategy", "parameter-server", "--workers", "2", "--widths", "16",
         "--steps", "20"]
OWN = {"processes": ["-B", "shm", "--isolate"], "grpc": ["-B", "grpc"],
       "tcp": ["-B", "grpc", "--transport", "tcp"], "mpi": ["-B", "mpi"]}
TASKS = {"worker": '"task":{"index":1,"type":"worker"}', "ps": '"task":{"index":0,"type":"ps"}'}
SIGNALS = {"stop": signal.SIGSTOP, "kill": signal.SIGKILL}


def start(run, way, timeout, extra):
    """The commands by rank; only 0 where one starts them all."""
    if way in TASKS:
        return {0: run.start([*TRAIN, "-T", f"{timeout}s"], extra=extra)}
    words = [*WORK, "-T", f"{timeout}s"]
    if way in OWN:
        return {0: run.start([*words, *OWN[way], "--workers", str(RANKS)], extra=extra)}
    secret = {"COLLBENCH_JOB_TOKEN": run.mark, **extra}
    if way == "meet":
        join = ["--meet", f"127.0.0.1:{free_ports(1)[0]}", "--workers", str(RANKS)]
    else:
        join = ["--hosts", ",".join(f"127.0.0.1:{port}" for port in free_ports(RANKS))]
    return {rank: run.start([*words, *join, "--rank", str(rank)], extra=secret)
            for rank in range(RANKS)}


def blames(lines, way, victim):
    """Whether a process says that the struck one is lost, late or missing."""
    if way not in TASKS:
        return named_rank(lines) == victim
    return ("worker 1" if way == "worker" else "ps 0") in "\n".join(lines)


class Try:
    """One start-up. `call` is the victim's call that is struck, 0 for none."""

    def __init__(self, options, way, victim, call, fault):
        self.options, self.way, self.victim, self.call = options, way, victim, call
        self.run = CellRun(str(Path(options.collbench).resolve()))
        self.count = self.run.folder / "calls"
        self.count.write_bytes(bytes(16))
        self.extra = {"LD_PRELOAD": str(Path(options.shim).resolve()),
                      "START_STRIKE_COUNT": str(self.count),
                      "START_STRIKE": f"{victim} {call} {int(SIGNALS[fault])}"}
        if way in TASKS:
            self.extra["START_STRIKE_TASK"] = TASKS[way]
        self.took = 0.0
        self.calls = 0  # that the victim has made
        self.wrong = []

    def play(self):
        try:
            commands = start(self.run, self.way, self.options.timeout, self.extra)
            # Whom nobody blames waits as long for those who give up first, and a machine is busy.
            deadline = time.monotonic() + 3 * self.options.timeout + 30
            begin = time.monotonic()
            for rank, process in commands.items():
                if rank == self.victim and len(commands) > 1 and self.call:
                    continue
                self.judge(rank, process, deadline)
                self.took = time.monotonic() - begin
            self.calls, strikes = struct.unpack("qq", self.count.read_bytes())
            self.struck = strikes == 1
            if self.struck != (0 < self.call <= self.calls):
                self.wrong.append(f"{strikes} strikes in {self.calls} calls")
            if len(commands) > 1 and self.call:
                commands[self.victim].child.kill()  # a stopped one cannot end by itself
                commands[self.victim].wait_until(time.monotonic() + 5)
            self.wrong += [f"left behind: {thing}" for thing in self.run.left_behind()]
        finally:
            self.run.end()
        return self

    def judge(self, rank, process, deadline):
        if not process.wait_until(deadline):
            self.wrong.append(f"rank {rank} did not end; it says {process.err[-3:]}")
            return
        code = process.code()
        right = code == 0 or (code == 5 and self.call > 0
                              and blames(process.err, self.way, self.victim))
        if not right:
            self.wrong.append(f"rank {rank} ended with {code} and says {process.err[-3:]}")


def victims(way, draw):
    """A rank that may be struck: rank 0 only where it is a worker like others."""
    if way in TASKS:
        return 1
    return draw.randrange(0 if way in OWN or way == "meet" else 1, RANKS)


def play_way(options, way, fault):
    """Wrong tries, and the row of the table."""
    draw = random.Random(f"{options.seed} {way} {fault}")
    longest = {}
    wrong_tries = struck = 0
    times = []
    for i in range(options.tries):
        victim = victims(way, draw)
        place = draw.random()
        if victim not in longest:
            whole = Try(options, way, victim, 0, fault).play()
            longest[victim] = whole.calls
            if whole.wrong or not longest[victim]:
                print(f"{way} without a fault: {longest[victim]} calls, {whole.wrong}")
                return 1, (way, fault, 0, 0, 0, 1)
        call = 1 + int(place * longest[victim])
        one = Try(options, way, victim, call, fault).play()
        while not (one.struck or one.wrong or call == 1):  # it made fewer calls than the first
            call //= 2
            one = Try(options, way, victim, call, fault).play()
        if not (one.struck or one.wrong):
            one.wrong.append("nobody was struck")
        struck += one.struck
        wrong_tries += bool(one.wrong)
        if one.struck:
            times.append(one.took)
        for line in one.wrong:
            print(f"{way} {fault} {i}: rank {victim} at call {call} of {longest[victim]}: {line}",
                  flush=True)
    print(f"{way} {fault}: n {options.tries}, struck in time {struck}, longest "
          f"{max(times, default=0):.1f} s, wrong {wrong_tries}", flush=True)
    return wrong_tries, (way, fault, options.tries, struck,
                         statistics.median(times) if times else 0, wrong_tries)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("collbench")
    parser.add_argument("--shim", required=True, help="library made from start_strike.cc")
    parser.add_argument("--tries", type=int, default=20, help="of each way and fault")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=int, default=3)
    parser.add_argument("--ways", default=",".join([*OWN, "hosts", "meet", *TASKS]))
    parser.add_argument("--faults", default="stop,kill")
    parser.add_argument("--table", default="", help="file for the table")
    options = parser.parse_args()
    reason = preload_refusal(options.collbench, options.shim)
    if reason:
        print(f"left out: {reason}")
        return SKIPPED
    bad = 0
    rows = []
    for way in options.ways.split(","):
        for fault in options.faults.split(","):
            wrong, row = play_way(options, way, fault)
            bad += wrong
            rows.append(row)
    if options.table:
        lines = ["| way | fault | tries | struck in time | median seconds | wrong |",
                 "|---|---|---:|---:|---:|---:|"]
        lines += ["| %s | %s | %d | %d | %.1f | %d |" % row for row in rows]
        Path(options.table).write_text("\n".join(lines) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
