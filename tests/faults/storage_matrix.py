#!/usr/bin/env python3
"""Plays faults of disks and of the tasks of a training, and checks how every process ends.

    storage_matrix.py --collbench build/cli/collbench --slow-disk LIBRARY [--cells '^full'] [--seed 1]

Disks: `full`, `readonly` and `slow` (every write and flush waits), from the start, or after a
first checkpoint (of records: a first row) at a time drawn by the seed. What writes: `threads`,
`processes` and `grpc` (the records of a run), `mirrored`, `workers` and `servers` (checkpoints of a
training in one process, of one with a process for each worker, of one with parameter servers).
Tasks: `kill` and `stop` of the `worker`, `ps` or `chief` of a training with parameter servers.
A cell is right if every survivor ends in time with a documented code that fits and names what
is lost, if what was written so far is whole (records can be read, and a training goes on from its
checkpoint), and if no process, segment or unfinished file stays. Exits as fault_matrix.py does.
"""
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
from cell_permits import disk_refusal, fill_disk, mount_disk, preload_refusal  # noqa: E402
from cell_run import CellRun  # noqa: E402
from matrix_table import matrix_parser, play_matrix  # noqa: E402

MOMENTS = ["start", "later"]
RUNS = {"threads": ["-B", "shm"], "processes": ["-B", "shm", "--isolate"], "grpc": ["-B", "grpc"]}
TRAININGS = {
    "mirrored": ["--workers", "2"],
    "workers": ["--isolate", "--strategy", "multi-worker-mirrored", "--workers", "2"],
    "servers": ["--isolate", "--strategy", "parameter-server", "--workers", "2"]}
RECORDS = ["--algo", "ring", "-b", "64K", "-e", "64K", "-n", "10", "-w", "1", "--workers", "2",
           "--progress", "off", "--pin", "none", "--json", "disk/records.json"]
TRAIN = ["train", "--widths", "16", "--epochs", "1", "--batch", "48"]
TASKS = {"worker": "worker 1", "ps": "ps 0", "chief": None}  # whom the others name


class Cell:
    def __init__(self, fault, moment, transport):
        self.fault, self.moment, self.transport = fault, moment, transport
        self.name = f"{fault}.{moment}.{transport}"


def cells():
    disks = [Cell(fault, moment, writer) for fault in ("full", "readonly", "slow")
             for moment in MOMENTS for writer in [*RUNS, *TRAININGS]
             # What has a file open for writing cannot be made unwritable, nor a disk slow later.
             if moment == "start" or fault == "full" or (fault == "readonly"
                                                         and writer in TRAININGS)]
    return disks + [Cell(fault, "later", task) for fault in ("kill", "stop") for task in TASKS]


class Play:
    def __init__(self, options, cell):
        self.options, self.cell = options, cell
        self.run = CellRun(options.collbench)
        self.draw = random.Random(f"{options.seed} {cell.name}")
        self.problems = []
        self.took = 0.0
        self.disk = self.run.folder / "disk"
        self.waits = self.run.folder / "waits"  # a byte for each time that a slow disk was waited for
        self.filling = None
        self.is_over = threading.Event()

    def play(self):
        try:
            self.disk.mkdir()
            if self.cell.fault in ("full", "readonly"):
                mount_disk(self.disk)
            if self.cell.moment == "start":
                self.strike_disk()
            process = self.start()
            if self.cell.moment == "later":
                self.await_first(process)
                time.sleep(self.draw.uniform(0, 0.3))
            struck = time.monotonic()
            if self.cell.moment == "later" and self.cell.transport in TASKS:
                self.strike_task(process)
            elif self.cell.moment == "later":
                self.strike_disk()
            self.judge(process, struck)
            self.heal()
            self.judge_what_is_kept()
            # Who is killed leaves what it was writing, by a name that nobody reads.
            killed = self.cell.name == "kill.later.chief"
            self.problems += [f"left behind: {thing}" for thing in self.run.left_behind()
                              if not (killed and "unfinished" in thing)]
        finally:
            self.stop_filling()
            for pid in self.run.marked():
                os.kill(pid, signal.SIGKILL)
            subprocess.run(["umount", "-l", str(self.disk)], check=False, capture_output=True)
            self.run.end()
        return self

    # Starting and striking.

    def trains(self):
        return self.cell.transport not in RUNS

    def training(self, steps, *more):
        way = TRAININGS.get(self.cell.transport, TRAININGS["servers"])
        return [*TRAIN, *way, "--steps", str(steps), "--checkpoint", "disk/ck", "--save-every",
                "5", "-T", f"{self.options.timeout}s", *more]

    def start(self):
        extra = {}
        if self.cell.fault == "slow":
            extra = {"LD_PRELOAD": self.options.slow_disk, "SLOW_DISK": str(self.disk),
                     "SLOW_DISK_WAITS": str(self.waits)}
            self.waits.touch()
        if self.trains():
            endless = self.cell.moment == "later"
            return self.run.start(self.training(1_000_000 if endless else 20), extra=extra)
        endless = ["-N", "1000000"] if self.cell.moment == "later" else ["-N", "20"]
        return self.run.start([*RECORDS, *RUNS[self.cell.transport], *endless, "-T",
                               f"{self.options.timeout}s"], extra=extra)

    def checkpoints(self):
        return sorted(self.disk.glob("ck/step-*"))

    def await_first(self, process):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.child.poll() is None:
            if self.checkpoints() or process.rows() > 0:
                return
            time.sleep(0.002)

    def keep_disk_full(self):
        """What is freed by removing an old checkpoint, too."""
        while not self.is_over.wait(0.002):
            fill_disk(self.disk)

    def strike_disk(self):
        if self.cell.fault == "full":
            fill_disk(self.disk)
            self.filling = threading.Thread(target=self.keep_disk_full)
            self.filling.start()
        elif self.cell.fault == "readonly":
            for _ in range(500):  # not while a checkpoint is being written
                done = subprocess.run(["mount", "-o", "remount,ro", str(self.disk)], check=False,
                                      capture_output=True)
                if done.returncode == 0:
                    return
                time.sleep(0.005)
            self.problems.append("the disk could not be made read-only")

    def strike_task(self, process):
        number = signal.SIGKILL if self.cell.fault == "kill" else signal.SIGSTOP
        if self.cell.transport == "chief":  # who starts all
            process.child.send_signal(number)
            return
        kind, index = TASKS[self.cell.transport].split()
        for pid in self.run.marked():
            for told in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                if told.startswith(b"TF_CONFIG=") and json.loads(told[10:])["task"] == {
                        "type": kind, "index": int(index)}:
                    os.kill(pid, number)
                    return
        self.problems.append(f"there is no {kind} {index}")

    def stop_filling(self):
        self.is_over.set()
        if self.filling:
            self.filling.join()

    def heal(self):
        self.stop_filling()
        if self.cell.fault == "full":
            (self.disk / "filler").unlink()
        if self.cell.fault == "readonly":
            subprocess.run(["mount", "-o", "remount,rw", str(self.disk)], check=False)

    # The end.

    def expected(self):
        """Right exit codes, and what the messages must name."""
        fault, transport = self.cell.fault, self.cell.transport
        if fault == "slow":
            return {0}, None
        if transport not in TASKS:
            return ({5} if fault == "full" else {4, 5}), "disk/"
        # A training goes on without a worker, until it is told to end.
        return ({143} if transport == "worker" else {5}), TASKS[transport]

    def judge(self, process, struck):
        limit = self.options.timeout + self.options.slack
        if self.cell.transport == "chief":
            self.judge_without_chief(process, struck + limit)
        elif self.cell.transport == "worker":
            while "worker 1" not in "\n".join(process.err) and time.monotonic() < struck + limit:
                time.sleep(0.05)
            process.child.send_signal(signal.SIGTERM)
        if not process.wait_until(struck + limit + 30):
            self.problems.append(f"still runs after {limit + 30:g} s: {process.err[-2:]}")
            return
        self.took = time.monotonic() - struck
        if self.cell.fault == "slow" and self.waits.stat().st_size < 4:  # as many checkpoints
            self.problems.append(f"the disk was slow {self.waits.stat().st_size} times")
        codes, named = self.expected()
        if self.cell.transport != "chief" and process.code() not in codes:
            self.problems.append(f"ended with {process.code()}: {process.err[-2:]}")
        if named and named not in "\n".join([*process.err, *process.out]):
            self.problems.append(f"does not name '{named}': {process.err[-2:]}")

    def judge_without_chief(self, process, deadline):
        """All others end; a stopped chief cannot."""
        while set(self.run.marked()) - {process.pid}:
            if time.monotonic() > deadline:
                self.problems.append("tasks go on without their chief")
                break
            time.sleep(0.02)
        process.child.kill()

    def judge_what_is_kept(self):
        if not self.trains():
            try:
                kept = self.run.records("disk/records.json")
            except ValueError as error:
                self.problems.append(f"the records cannot be read: {error}")
                return
            if self.cell.moment == "later" and not kept:
                self.problems.append("no record is kept")
            return
        if self.cell.transport in TASKS:
            return
        if not self.checkpoints():
            if self.cell.moment == "later" or self.cell.fault == "slow":
                self.problems.append("no checkpoint is kept")
            return
        steps = 1_000_000 if self.cell.moment == "later" else 20
        before = self.checkpoints()
        resumed = self.run.start(self.training(steps, "--resume"))
        deadline = time.monotonic() + 60
        while self.checkpoints() == before and not resumed.wait_until(time.monotonic() + 0.05):
            if time.monotonic() > deadline:
                break
        resumed.child.send_signal(signal.SIGTERM)
        if not resumed.wait_until(time.monotonic() + 60) or resumed.code() not in (0, 143):
            self.problems.append(f"cannot go on from {before[-1].name}: {resumed.err[-2:]}")


def refusal(options, cell):
    if cell.fault in ("full", "readonly"):
        return disk_refusal()
    if cell.fault == "slow":
        return preload_refusal(options.collbench, options.slow_disk) if options.slow_disk else (
            "no --slow-disk")
    return ""


def main():
    parser = matrix_parser(__doc__)
    parser.add_argument("--slow-disk", default="", help="library made from slow_disk.cc")
    options = parser.parse_args()
    options.collbench = str(Path(options.collbench).resolve())
    options.slow_disk = options.slow_disk and str(Path(options.slow_disk).resolve())
    return play_matrix(options, cells(), MOMENTS, lambda cell: refusal(options, cell),
                       lambda cell: Play(options, cell).play())


if __name__ == "__main__":
    sys.exit(main())
