#!/usr/bin/env python3
"""Plays faults x moments x transports with the real command, and checks how every rank ends.

    fault_matrix.py --collbench build/cli/collbench                 # everything
    fault_matrix.py --collbench ... --cells '^kill' --timeout 3     # some of it
    fault_matrix.py --collbench ... --table matrix.md               # the table as Markdown

Three ranks; rank 1 suffers (the disk is rank 0's, which alone writes). Transports: `threads` and
`processes` over shared memory, `grpc`, `tcp` and `mpi` with workers that the command starts,
`remote` with one command per rank; `train` is remote too, `trainone` a training whose command
starts its workers. A cell is right if every survivor ends in time, with code 5 and the right rank
named (or 0 where nothing was lost), if the records written so far can be read, and if no process
(and with it no listening port), segment or temporary file stays. Exits 1 if a cell is wrong; cells
that this machine does not permit are left out with the reason, and if that is all it exits 77.
"""
import datetime
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]
from cell_network import CellNetwork  # noqa: E402
from cell_permits import fill_disk, mount_disk, refusal  # noqa: E402
from cell_run import CellRun, named_rank  # noqa: E402
from free_ports import free_ports  # noqa: E402
from matrix_table import matrix_parser, play_matrix  # noqa: E402

RANKS = 3
MOMENTS = ["start", "piece", "between", "end"]
SMALL = ["--algo", "ring", "-b", "64K", "-e", "64K"]
LARGE = ["--algo", "ring", "-b", "4M", "-e", "4M"]
TRAIN = ["train", "--strategy", "multi-worker-mirrored", "--widths", "16", "--epochs", "1",
         "--batch", "48", "--checkpoint", "ck", "--save-every", "10"]
QUICK = ["-n", "10", "-w", "1", "--max-time", "0.2", "--progress", "off", "--pin", "none"]
ENDLESS = ["-N", "1000000"]
CLOCK_AHEAD = 7200  # seconds, from the start of a cell in which the clock jumps
# Each all-reduce of the ring begins with a send to the same rank, as the first of four: a rank that
# sleeps before it spends its time between iterations.
BETWEEN = "delay:rank=1:message=0:every=4:time=30ms"


class Cell:
    def __init__(self, fault, moment, transport):
        self.fault, self.moment, self.transport = fault, moment, transport
        self.name = f"{fault}.{moment}.{transport}"


def cells():
    every = ["threads", "processes", "grpc", "remote"]
    apart = ["processes", "grpc", "remote"]
    lost = [*apart, "tcp", "mpi", "train", "trainone"]
    transports = {"kill": lost, "stop": lost, "cut": ["remote", "train"],
                  "halfopen": ["remote", "train"], "slow": every, "disk": every, "clock": every,
                  "files": apart}
    return [Cell(fault, moment, transport) for fault, used in transports.items()
            for moment in MOMENTS for transport in used
            if moment != "between" or not transport.startswith("train")]


class Play:
    """One cell being played."""

    def __init__(self, options, cell):
        self.options, self.cell = options, cell
        self.run = CellRun(options.collbench)
        self.draw = random.Random(f"{options.seed} {cell.name}")
        self.network = None
        self.victim = None        # number of its process, once known
        self.ranks = {}           # Process by rank; only 0 where one command runs all
        self.after = []           # undoes what the machine was changed by
        self.problems = []
        self.trains = cell.transport.startswith("train")
        self.remote = cell.transport in ("remote", "train")

    # Starting.

    def arguments(self):
        cell = self.cell
        if self.trains:
            steps = "20" if cell.moment == "end" else "1000000"
            return [*TRAIN, "--steps", steps, "-T", f"{self.options.timeout}s"]
        faults = []
        if cell.moment == "between" and cell.fault != "slow":
            faults.append(BETWEEN)
        if self.strikes_itself():
            faults = [f"{cell.fault}:rank=1:message=30"]
        if cell.fault == "slow":
            faults = [f"delay:rank=1:message=4:every=8:time={self.options.pause}s"
                      if cell.moment == "piece" else "delay:rank=1:every=1:time=10ms"]
            if cell.moment in ("start", "end"):
                faults = []
                if cell.transport == "threads":  # of which none can be stopped alone
                    faults = [f"delay:rank=1:message=0:time={self.options.pause}s"]
        arguments = list(LARGE if cell.moment == "piece" else SMALL) + QUICK
        ends_by_itself = cell.moment == "end" or cell.fault == "slow"
        arguments += [] if ends_by_itself else ENDLESS
        if cell.fault == "slow":
            arguments += ["-n", "3", "-w", "0"]
        if faults:
            arguments += ["--inject", ",".join(faults)]
        return arguments + ["-T", f"{self.options.timeout}s"]

    def records_path(self):
        return "disk/records.json" if self.cell.fault == "disk" else "records.json"

    def start_all(self):
        arguments = self.arguments()
        reports = ["--json", self.records_path()] if not self.trains else []
        extra = self.shim() if self.cell.fault == "clock" else {}
        kinds = {"threads": ["-B", "shm"], "processes": ["-B", "shm", "--isolate"],
                 "grpc": ["-B", "grpc"], "tcp": ["-B", "grpc", "--transport", "tcp"],
                 "mpi": ["-B", "mpi"], "trainone": ["--isolate"]}
        if not self.remote:
            prefix = self.few_files() if self.few_files_now() else []
            words = kinds[self.cell.transport] + ["--workers", str(RANKS)]
            self.ranks[0] = self.run.start(arguments + words + reports, prefix, extra)
            return
        if self.cell.fault in ("cut", "halfopen"):
            self.network = CellNetwork(RANKS, self.run.mark[:4])
            hosts = [f"{address}:7101" for address in self.network.addresses]
        else:
            hosts = [f"127.0.0.1:{port}" for port in free_ports(RANKS)]
        for rank in (0, 2, 1):
            late = self.cell.moment == "start" and rank == 1
            if late and self.cell.fault in ("cut", "halfopen"):
                self.network.cut(1)
            prefix = self.network.prefix(rank) if self.network else []
            if rank == 1 and self.few_files_now():
                prefix = self.few_files()
            words = ["--hosts", ",".join(hosts), "--rank", str(rank)]
            secret = {"COLLBENCH_JOB_TOKEN": self.run.mark}
            self.ranks[rank] = self.run.start(arguments + words + (reports if rank == 0 else []),
                                              prefix, secret | (extra if rank == 1 else {}))
        self.victim = self.ranks[1].pid

    def few_files_now(self):
        return self.cell.fault == "files" and self.cell.moment == "start"

    @staticmethod
    def few_files():
        return ["prlimit", "--nofile=9:9"]

    def shim(self):
        self.run.folder.joinpath("jump").write_text(f"{CLOCK_AHEAD}\n")
        return {"LD_PRELOAD": self.options.clock_shim,
                "CLOCK_JUMP_FILE": str(self.run.folder / "jump")}

    # The moment.

    def await_moment(self):
        """Returns once it has come; the victim's process is then known, where there is one."""
        if self.cell.moment == "start":
            return
        if self.cell.moment != "between":
            self.find_victim()  # while it is there
        if self.strikes_itself():
            while self.victim is not None and self.run.state(self.victim) not in "TZ":
                time.sleep(0.001)
            return
        deadline = time.monotonic() + 30 + 3 * self.options.timeout
        while not self.begun():
            if time.monotonic() > deadline or self.ranks[0].child.poll() is not None:
                break
            time.sleep(0.001)
        if self.cell.moment != "end":
            time.sleep(self.draw.uniform(0, 0.25))  # anywhere in what goes on for ever

    def strikes_itself(self):
        """Whether the fault was injected, to come in the middle of a message."""
        return (self.cell.fault in ("kill", "stop") and self.cell.moment == "piece"
                and not self.trains)

    def begun(self):
        if self.trains and self.cell.moment != "end":
            return any(self.run.folder.glob("ck/step-*"))
        return self.ranks[0].rows() > 0

    def find_victim(self):
        if self.victim is None and not self.remote and self.cell.transport != "threads":
            self.victim = self.run.worker(1)

    def signal_victim(self, number):
        self.find_victim()
        try:
            if self.victim is not None:
                os.kill(self.victim, number)
        except ProcessLookupError:
            pass

    def wait_for(self, process, deadline):
        """Whether the process ends in time. A run has new workers for every case, and does not miss
        one that was leaving when it was struck: then the next one is struck."""
        striking = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}.get(self.cell.fault)
        if striking is None or self.remote or self.cell.moment == "end":
            return process.wait_until(deadline)
        while not process.wait_until(min(deadline, time.monotonic() + 0.5)):
            if time.monotonic() >= deadline:
                return False
            for pid in set(self.run.workers(1)) - {self.victim}:
                self.victim = pid
                self.signal_victim(striking)
        return True

    def strike(self):
        fault, moment = self.cell.fault, self.cell.moment
        if fault in ("kill", "stop") and not self.strikes_itself():
            self.signal_victim(signal.SIGKILL if fault == "kill" else signal.SIGSTOP)
        elif fault == "cut" and moment != "start":
            self.network.cut(1)
        elif fault == "halfopen":
            if moment != "start":
                self.network.cut(1)
            self.signal_victim(signal.SIGKILL)
            self.ranks[1].wait_until(time.monotonic() + 5)
            self.network.join(1)  # its machine is back, and knows of no connection
        elif fault == "slow" and moment in ("start", "end"):
            if self.cell.transport == "threads":  # one of which sleeps
                return
            self.signal_victim(signal.SIGSTOP)
            time.sleep(self.options.pause)
            self.stopped = self.victim is not None and self.run.state(self.victim) == "T"
            self.signal_victim(signal.SIGCONT)
        elif fault == "disk" and moment != "start":
            fill_disk(self.run.folder / "disk")
        elif fault == "clock":
            for seconds in (CLOCK_AHEAD + 3600, CLOCK_AHEAD - 3600):
                self.jump_clock(seconds)
            for process in self.ranks.values():
                if moment != "end":
                    process.child.send_signal(signal.SIGTERM)  # nothing else would end the run
                    break
        elif fault == "files" and moment != "start":
            self.find_victim()
            if self.victim is not None:
                subprocess.run(["prlimit", f"--pid={self.victim}", "--nofile=3:3"], check=False,
                               stderr=subprocess.DEVNULL)
            time.sleep(0.5)
            self.ranks[0].child.send_signal(signal.SIGTERM)

    def jump_clock(self, seconds):
        """And wait for the end of the case that is measured meanwhile."""
        shown = self.ranks[0].rows()
        self.run.folder.joinpath("jump").write_text(f"{seconds}\n")
        deadline = time.monotonic() + (0.3 if self.cell.moment == "end" else self.options.timeout)
        while time.monotonic() < deadline and (
                self.cell.moment == "end" or self.ranks[0].rows() == shown):
            time.sleep(0.01)
        if self.cell.moment != "end" and self.ranks[0].rows() == shown:
            self.problems.append(f"no row is shown once the clock has jumped to {seconds} s")

    def make_disk(self):
        folder = self.run.folder / "disk"
        folder.mkdir()
        mount_disk(folder)
        self.after.append(["umount", "-l", str(folder)])
        if self.cell.moment == "start":
            fill_disk(folder)

    # The end.

    def allowed(self):
        """Exit codes of the survivors that are right here, and the rank they must name with 5."""
        fault, moment = self.cell.fault, self.cell.moment
        if fault == "slow":
            return {0}, None
        if fault == "clock":
            return ({0} if moment == "end" else {0, 143, 5}), None
        if fault == "files":
            return ({5} if moment == "start" else {0, 143, 5}), None
        if fault == "disk":
            return ({5} if moment in ("start", "piece", "between") else {0, 5}), 0
        return ({0, 5} if moment == "end" else {5}), 1

    def judge(self, struck):
        codes, culprit = self.allowed()
        fault = self.cell.fault
        victims = {1} if self.remote and fault in (
            "kill", "stop", "halfopen", "cut", "files") else set()
        limit = self.options.timeout + self.options.slack
        slow_end = 30 if fault in ("slow", "disk") else 0  # these go on for a while
        for rank, process in self.ranks.items():
            if rank in victims and fault in ("kill", "stop", "halfopen"):
                continue
            if not self.wait_for(process, struck + limit + slow_end):
                self.problems.append(f"rank {rank} still runs after {limit:g} s")
                continue
            code = process.code()
            if rank in victims:
                continue
            # Who is told to end, at last, says so; the others say that rank 0 has ended.
            right = codes - {5} if fault == "clock" and rank == 0 else codes
            if code not in right:
                said = " | ".join(process.err[-2:])
                self.problems.append(f"rank {rank} ended with {code}: {said}")
            if code == 5 and culprit is not None and fault != "clock":
                named = named_rank(process.err)
                own = fault == "disk" and rank == 0  # it says what it could not write
                if named != culprit and not own:
                    self.problems.append(f"rank {rank} names rank {named}: {process.err[-1:]}")
        self.took = time.monotonic() - struck
        if fault == "stop" and self.remote:
            self.signal_victim(signal.SIGKILL)  # a stopped process cannot end by itself

    def judge_slowness(self, lasted):
        """Somebody was slow indeed: stopped, or asleep as long in a run of `lasted` seconds."""
        sleeps = self.cell.moment == "piece" or self.cell.transport == "threads"
        if self.cell.fault != "slow" or self.cell.moment not in ("start", "piece"):
            return
        if not (lasted >= self.options.pause if sleeps else self.stopped):
            self.problems.append(f"rank 1 was not slow; all took {lasted:.2f} s")

    def judge_records(self):
        if self.trains:
            return
        try:
            kept = self.run.records(self.records_path())
        except ValueError as error:
            self.problems.append(f"the records cannot be read: {error}")
            return
        shown = self.ranks[0].rows()
        least = shown
        if self.cell.fault == "disk":  # the last row's has no room; the first has the header's page
            least = max(min(shown, 1), shown - 1)
        elif self.cell.transport == "mpi":  # mpirun kills rank 0 too, maybe between row and record
            least = shown - 1
        if len(kept) < least:
            self.problems.append(f"{len(kept)} records kept of {shown} shown")
        if self.cell.fault == "clock":
            self.judge_times(kept)

    def judge_times(self, records):
        """The wall clock jumped indeed, and no time was measured by it."""
        longest = max((time_ns for record in records for time_ns in record["latency_ns"]), default=0)
        if longest > (self.options.timeout + self.options.slack) * 1e9:
            self.problems.append(f"an iteration took {longest / 1e9:g} s")
        if self.remote or not records:  # there rank 0 has another clock
            return
        started = datetime.datetime.fromisoformat(records[0]["started"].replace("Z", "+00:00"))
        now = datetime.datetime.now(datetime.timezone.utc)
        if (started - now).total_seconds() < CLOCK_AHEAD - 1800:
            self.problems.append(f"the clock was not ahead: {started}")

    def play(self):
        self.took = 0.0
        self.stopped = False  # whether the victim was, for a while
        began = time.monotonic()
        try:
            if self.cell.fault == "disk":
                self.make_disk()
            self.start_all()
            self.await_moment()
            struck = time.monotonic()
            self.strike()
            self.judge(struck)
            self.judge_slowness(time.monotonic() - began)
            self.judge_records()
            self.undo()
            self.problems += [f"left behind: {thing}" for thing in self.run.left_behind()]
            if self.options.verbose:
                self.tell()
        finally:
            self.undo()
            if self.network:
                self.network.remove()
            self.run.end()

    def undo(self):
        while self.after:
            subprocess.run(self.after.pop(), check=False, capture_output=True)

    def tell(self):
        for rank, process in sorted(self.ranks.items()):
            print(f"    rank {rank}: {process.code()} {' | '.join(process.err[-2:])}")


def main():
    parser = matrix_parser(__doc__)
    parser.add_argument("--clock-shim", default="", help="library made from clock_jump.cc")
    parser.add_argument("--pause", type=float, help="of a slow rank [half of --timeout]")
    parser.add_argument("--verbose", action="store_true", help="show what each rank said")
    options = parser.parse_args()
    options.collbench = str(Path(options.collbench).resolve())
    options.pause = options.pause or options.timeout / 2
    options.clock_shim = options.clock_shim and str(Path(options.clock_shim).resolve())

    def play(cell):
        played = Play(options, cell)
        played.play()
        return played

    return play_matrix(options, cells(), MOMENTS, lambda cell: refusal(cell.fault, options), play)


if __name__ == "__main__":
    sys.exit(main())
