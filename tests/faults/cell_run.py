"""One run of collbench that suffers a fault: its processes, what they say, and what they leave.

Everything that a cell starts bears its mark in the environment, and so do the processes that those
start. A listening port has a process, so whoever leaves none leaves no port.
"""
import csv
import json
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
import uuid
from pathlib import Path

MARK = "FAULT_CELL_MARK"


class Process:
    """A started command whose output is collected as it comes."""

    def __init__(self, command, environment, folder, prefix=()):
        self.command = command
        self.child = subprocess.Popen([*prefix, *command], cwd=folder, env=environment,
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True)
        self.out, self.err = [], []
        self.readers = [threading.Thread(target=self._read, args=pair, daemon=True)
                        for pair in ((self.child.stdout, self.out), (self.child.stderr, self.err))]
        for reader in self.readers:
            reader.start()

    @staticmethod
    def _read(stream, lines):
        for line in stream:
            lines.append(line.rstrip("\n"))

    @property
    def pid(self):
        return self.child.pid

    def rows(self):
        return sum(1 for line in list(self.out) if line.strip() and not line.startswith("#"))

    def wait_until(self, deadline):
        try:
            self.child.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        for reader in self.readers:
            reader.join(2)
        return True

    def code(self):
        status = self.child.returncode
        return status if status is None or status >= 0 else 128 - status


class CellRun:
    """The processes of a cell under one mark, in a folder of their own."""

    def __init__(self, collbench):
        self.collbench = collbench
        self.folder = Path(tempfile.mkdtemp(prefix="collbench_fault_"))
        self.mark = uuid.uuid4().hex
        self.shared_before = set(os.listdir("/dev/shm"))
        self.processes = []

    def environment(self, extra=None):
        kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "ASAN_OPTIONS",
                                                    "TSAN_OPTIONS")
                if name in os.environ}
        (self.folder / "tmp").mkdir(exist_ok=True)
        return {**kept, "HOME": str(self.folder), "TMPDIR": str(self.folder / "tmp"),
                MARK: self.mark, **(extra or {})}

    def start(self, arguments, prefix=(), extra=None):
        process = Process([self.collbench, *arguments], self.environment(extra), self.folder,
                          prefix)
        self.processes.append(process)
        return process

    def marked(self):
        """Numbers of all living processes that were started for this cell."""
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                environment = Path(f"/proc/{entry}/environ").read_bytes()
            except OSError:
                continue
            if f"{MARK}={self.mark}".encode() in environment and self.state(entry) != "Z":
                found.append(int(entry))
        return found

    def worker(self, rank, patience=60.0):
        """The process of a worker that a run has started itself; None if the run ends before."""
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline and self.processes[0].child.poll() is None:
            found = self.workers(rank)
            if found:
                return found[0]
            time.sleep(0.002)
        return None

    def workers(self, rank):
        """The processes that are this worker now: where one ends and another begins, two."""
        found = []
        for pid in self.marked():
            try:
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                told = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            except OSError:
                continue
            if words[1:2] == [b"worker"] and (words[3:4] == [str(rank).encode()] or
                                              f"OMPI_COMM_WORLD_RANK={rank}".encode() in told):
                found.append(pid)
            elif words[1:2] == [b"train"] and any(is_task(variable, rank) for variable in told):
                found.append(pid)
        return found

    def left_behind(self, patience=10.0):
        """What should not be there any more, in words. Orphans end with their parent, not before
        it, and what others make in /dev/shm may be new and not yet in use. (The stand-ins of GPU
        libraries leave names there when their tests are killed.)"""
        deadline = time.monotonic() + patience
        while True:
            left = self._left_now()
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.05)

    def _left_now(self):
        try:
            files = [*(self.folder / "tmp").rglob("*")]
        except FileNotFoundError:  # somebody is tidying up
            return ["temporary files that come and go"]
        left = [f"process {pid}" for pid in self.marked()]
        left += [f"/dev/shm/{name}" for name in set(os.listdir("/dev/shm")) - self.shared_before
                 if "collbench" in name and "stand-in" not in name and not self._mapped(name)]
        left += [f"temporary file {path}" for path in files]
        return left + [f"file {path}" for path in self.folder.rglob("*.unfinished*")]

    @staticmethod
    def _mapped(name):
        """Whether a living process uses the segment; it is then another run's."""
        for entry in filter(str.isdigit, os.listdir("/proc")):
            try:
                if f"/dev/shm/{name}" in Path(f"/proc/{entry}/maps").read_text():
                    return True
            except OSError:
                continue
        return not Path(f"/dev/shm/{name}").exists()

    @staticmethod
    def state(pid):
        """The kernel's letter for a process: T if it is stopped, Z if it has ended."""
        try:
            return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
        except (OSError, IndexError):
            return "Z"

    def records(self, name="records.json"):
        """Those in a file of either form; a last line cut short does not count."""
        path = self.folder / name
        if not path.exists():
            return []
        text = path.read_text()
        try:
            return json.loads(text)["records"]
        except (ValueError, KeyError, TypeError):
            pass
        return [json.loads(line) for line in text.split("\n")[:-1]][1:]

    def end(self):
        for pid in self.marked():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for process in self.processes:
            process.wait_until(time.monotonic() + 5)
        subprocess.run(["rm", "-rf", str(self.folder)], check=False)


def is_task(variable, rank):
    """Whether an entry of a process's environment makes it this worker of a training."""
    if variable.startswith(b"TF_CONFIG="):
        task = json.loads(variable.split(b"=", 1)[1])["task"]
        return task == {"type": "worker", "index": rank}
    return variable == f"RANK={rank}".encode()


def named_rank(lines):
    """The rank that the first error line of a process blames; None if it blames none."""
    for line in lines:
        if "error:" not in line:
            continue
        text = line.split("error:", 1)[1]
        waited = re.search(r"waited .* for (rank \d+)", text)
        found = re.search(r"ranks? (\d+)", waited.group(1) if waited else text)
        return int(found.group(1)) if found else None
    return None
