#!/usr/bin/env python3
"""Compares collbench's collectives on this host with Open MPI, MPICH and Gloo, point by point.

Every figure is a latency from the last rank's arrival to the last rank's completion, float32 sum,
by default in place and with buffers rewritten between iterations. Gloo and the MPI library that
collbench is built with are measured by `collbench run` itself, in the same way as collbench's own
algorithms. MPICH, which Debian does not install beside Open MPI, is measured by mpi_latency.cc,
which follows the same method; so is Open MPI once more, to show how far the two harnesses agree.

Order: in every round the points (workers x size) come in random order, and at each point all rivals
run one after the other, in random order, each in fresh processes. So drifts of the machine hit
rivals alike. Peers that were hopeless at a point in the first round are left out there afterwards.
Reported are medians over the rounds, and the best peer's time over collbench's as the median of the
rounds' ratios.

  compare_cpu.py --rounds 5 --workers 2,4,8 --output results
  compare_cpu.py --collective reduce-scatter --rounds 3
  compare_cpu.py --mpich-root DIR    DIR holds MPICH's unpacked packages (usr/bin, usr/lib, ...)
"""

import argparse
import dataclasses
import glob
import json
import os
import random
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
GLOO = ["gloo", "gloo:bcube", "gloo:ring-chunked", "gloo:halving-doubling"]
MPI = ["mpi", "mpi:linear", "mpi:nonoverlapping", "mpi:recursive-doubling", "mpi:ring",
       "mpi:segmented-ring", "mpi:rabenseifner"]
SIZES = "4,1K,16K,64K,256K,1M,4M,16M,64M,256M"


class Failed(Exception):
    """A rival could not run; the text says why."""


@dataclasses.dataclass
class Sample:
    """What one run of one rival at one point gave."""
    median_ns: float
    disturbed: bool  # collbench flagged foreign load


class Collbench:
    """A rival measured by `collbench run`."""

    def __init__(self, binary, algorithm, flags, options):
        self.name = algorithm if not flags else f"{algorithm} {shlex.join(flags)}"
        self.ours = not algorithm.startswith(("gloo", "mpi"))
        self.binary, self.algorithm, self.flags, self.options = binary, algorithm, flags, options

    def measure(self, workers, size):
        with tempfile.NamedTemporaryFile(suffix=".json") as file:
            command = [self.binary, "run", "--algo", self.algorithm, "--workers", str(workers),
                       "-b", str(size), "-e", str(size), "--max-time", f"{self.options.seconds}s",
                       "--buffers", self.options.buffers, "--quiet", "--progress", "off",
                       "--out-of-place" if self.options.out_of_place else "--in-place",
                       "--collective", self.options.collective,
                       "--json", file.name, *self.flags]
            run(self.options.prefix + command, os.environ, self.options.timeout)
            record = json.loads(Path(file.name).read_text())["records"][0]
        if record["skipped"]:
            raise Failed(record["skipped"])
        if record["wrong_elements"]:
            raise Failed(f"{record['wrong_elements']} wrong elements")
        return Sample(record["summary"]["median_ns"], bool(record["warnings"]))


class Harness:
    """A rival measured by mpi_latency.cc, built with one MPI library."""
    ours = False

    def __init__(self, name, launcher, binary, environment, options):
        self.name, self.launcher, self.binary = name, launcher, binary
        self.environment = {**os.environ, **environment}
        self.options = options

    def measure(self, workers, size):
        flags = ["--seconds", str(self.options.seconds)]
        flags += ["--out-of-place"] if self.options.out_of_place else []
        flags += ["--hot"] if self.options.buffers == "hot" else []
        command = [*self.launcher(workers), self.binary, *flags, str(size)]
        output = run(self.options.prefix + command, self.environment, self.options.timeout)
        return Sample(json.loads(output.splitlines()[-1])["median_ns"], False)


def run(command, environment, timeout):
    """Standard output of a command, which never outlives this call."""
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        end(process)
        raise Failed(f"no end within {timeout} s") from None
    except BaseException:  # this script was told to end
        end(process)
        raise
    if process.returncode != 0:
        lines = errors.strip().splitlines() or [f"exit status {process.returncode}"]
        raise Failed(lines[0])
    return output


def end(process):
    """Asks first, by SIGTERM: a launcher that is killed leaves ranks and files behind."""
    process.terminate()
    try:
        process.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def parse_size(text):
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper(), 1)
    return int(text[:-1] if factor > 1 else text) * factor


def show_size(size):
    for shift, unit in ((30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << shift:
            return f"{size / (1 << shift):g} {unit}"
    return f"{size} B"


def show_time(nanoseconds):
    for limit, unit in ((1e3, "ns"), (1e6, "us"), (1e9, "ms")):
        if nanoseconds < limit:
            return f"{nanoseconds * 1e3 / limit:.3g} {unit}"
    return f"{nanoseconds / 1e9:.3g} s"


def open_mpi_harness(options, folder):
    compiler, launcher = shutil.which("mpicxx.openmpi"), shutil.which("mpirun.openmpi")
    if not compiler or not launcher:
        return None
    binary = str(folder / "mpi_latency_openmpi")
    run([compiler, "-O3", "-std=c++20", "-DOMPI_SKIP_MPICXX", str(HERE / "mpi_latency.cc"), "-o",
         binary], os.environ, 120)
    cores = len(os.sched_getaffinity(0))

    def command(workers):
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        return [launcher, "-n", str(workers), "--oversubscribe", "--bind-to", "none", *root,
                "--mca", "mpi_yield_when_idle", "1" if workers > cores else "0"]

    return Harness("mpi (mpi_latency)", command, binary, {}, options)


def mpich_harness(options, folder):
    """MPICH as installed, or from its packages unpacked under --mpich-root."""
    root = options.mpich_root or "/"
    headers = glob.glob(f"{root}/usr/include/*/mpich/mpi.h")
    libraries = glob.glob(f"{root}/usr/lib/*/libmpich.so*")
    launcher = shutil.which("mpiexec.hydra", path=f"{root}/usr/bin")
    if not headers or not libraries or not launcher:
        if options.mpich_root:
            raise Failed(f"no MPICH in {root}: it needs mpich/mpi.h, libmpich.so, mpiexec.hydra")
        return None
    library = os.path.dirname(libraries[0])
    binary = str(folder / "mpi_latency_mpich")
    run(["c++", "-O3", "-std=c++20", "-DMPICH_SKIP_MPICXX", f"-I{os.path.dirname(headers[0])}",
         str(HERE / "mpi_latency.cc"), "-o", binary, f"-L{library}", "-lmpich",
         f"-Wl,-rpath-link,{library}"], os.environ, 120)
    environment = {"LD_LIBRARY_PATH": library} if options.mpich_root else {}
    return Harness("mpich (mpi_latency)", lambda workers: [launcher, "-n", str(workers)], binary,
                   environment, options)


def make_rivals(options, folder):
    rivals = [Collbench(options.collbench, name, shlex.split(options.ours_flags), options)
              for name in options.ours.split(",")]
    rivals += [Collbench(options.collbench, name, [], options)
               for name in options.peers.split(",") if name]
    if not options.no_harness:
        for make in (open_mpi_harness, mpich_harness):
            harness = make(options, folder)
            if harness:
                rivals.append(harness)
    return rivals


def hopeless(name, rivals, samples, factor):
    """Whether the rounds so far leave a peer no chance to be the best one at a point."""
    best = min((statistics.median(s.median_ns for s in samples[r.name])
                for r in rivals if not r.ours and samples[r.name]), default=0)
    taken = samples[name]
    return bool(taken) and statistics.median(s.median_ns for s in taken) > factor * best


def measure_all(rivals, options):
    """{(workers, size): {rival: [Sample per round]}} and {rival: why it could not run}."""
    points = [(w, s) for w in options.workers for s in options.sizes]
    samples = {point: {rival.name: [] for rival in rivals} for point in points}
    failures = {}
    order = random.Random(options.seed)
    start = time.monotonic()
    for number in range(options.rounds):
        for count, point in enumerate(order.sample(points, len(points)), 1):
            for rival in order.sample(rivals, len(rivals)):
                drop = not rival.ours and hopeless(rival.name, rivals, samples[point], options.keep)
                if drop or (rival.name, point) in failures:
                    continue
                try:
                    samples[point][rival.name].append(rival.measure(*point))
                except Failed as failure:
                    failures[rival.name, point] = str(failure)
            print(f"\rround {number + 1}/{options.rounds}, point {count}/{len(points)}, "
                  f"{time.monotonic() - start:.0f} s ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return samples, failures


def summarize(samples, rivals):
    """One dictionary per point, with the best of ours, the best peer and their ratio."""
    rows = []
    for (workers, size), taken in samples.items():
        medians = {name: statistics.median(s.median_ns for s in values)
                   for name, values in taken.items() if values}
        ours = min((r.name for r in rivals if r.ours and r.name in medians), key=medians.get,
                   default=None)
        peer = min((r.name for r in rivals if not r.ours and r.name in medians), key=medians.get,
                   default=None)
        row = {"workers": workers, "size_bytes": size, "ours": ours, "best_peer": peer,
               "medians_ns": medians,
               "rounds_ns": {name: [s.median_ns for s in v] for name, v in taken.items() if v}}
        if ours and peer:
            ratios = [p.median_ns / o.median_ns for o, p in zip(taken[ours], taken[peer])]
            row |= {"ratio": statistics.median(ratios), "ratio_least": min(ratios),
                    "ratio_most": max(ratios),
                    "disturbed": any(s.disturbed for s in taken[ours] + taken[peer])}
        rows.append(row)
    return sorted(rows, key=lambda row: (row["workers"], row["size_bytes"]))


def best_of(row, family):
    """The best time of "mpi", "mpich" or "gloo" with whatever option stands behind the name."""
    times = [time_ns for name, time_ns in row["medians_ns"].items()
             if name.replace(":", " ").split(" ")[0] == family]
    return show_time(min(times)) if times else "-"


def table_row(row):
    ours = show_time(row["medians_ns"][row["ours"]]) if row["ours"] else "-"
    ratio = span = "-"
    if "ratio" in row:
        ratio = f"{row['ratio']:.2f}x{'*' if row['disturbed'] else ''}"
        span = f"{row['ratio_least']:.2f} to {row['ratio_most']:.2f}"
    cells = [show_size(row["size_bytes"]), ours, row["ours"] or "-", best_of(row, "mpi"),
             best_of(row, "mpich"), best_of(row, "gloo"), row["best_peer"] or "-", ratio, span]
    return f"| {' | '.join(cells)} |"


def agreement(rows):
    """How far collbench and mpi_latency.cc agree where both measured Open MPI's default."""
    ratios = sorted(row["medians_ns"]["mpi"] / row["medians_ns"]["mpi (mpi_latency)"]
                    for row in rows if {"mpi", "mpi (mpi_latency)"} <= row["medians_ns"].keys())
    if not ratios:
        return []
    return ["The two harnesses on Open MPI's default: collbench's figure over mpi_latency's is "
            f"{statistics.median(ratios):.2f} in the median, {ratios[0]:.2f} to {ratios[-1]:.2f} "
            f"over {len(ratios)} points.", ""]


def markdown(rows, failures, rivals, options):
    place = "out of place" if options.out_of_place else "in place"
    lines = [f"{options.collective}, float32 sum, {place}, buffers {options.buffers}; median of {options.rounds} rounds; "
             f"{len(os.sched_getaffinity(0))} cores; load {os.getloadavg()[0]:.2f} at the end.", ""]
    for workers in options.workers:
        lines += [f"### {workers} workers", "",
                  "| size | collbench | played | Open MPI best | MPICH | Gloo best | best peer "
                  "| ahead | over rounds |", "|---:|---:|---|---:|---:|---:|---|---:|---|"]
        lines += [table_row(row) for row in rows if row["workers"] == workers] + [""]
    if any(row.get("disturbed") for row in rows):
        lines += ["`*` foreign load was noticed while collbench or that peer was measured.", ""]
    lines += agreement(rows)
    for rival in rivals:
        why = {text for (name, _), text in failures.items() if name == rival.name}
        lines += [f"Not measured everywhere: {rival.name}: {text}" for text in sorted(why)]
    return "\n".join(lines) + "\n"


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collbench", default=str(HERE.parent.parent / "collbench"))
    parser.add_argument("--ours", default="auto", help="collbench's algorithms, comma-separated")
    parser.add_argument("--ours-flags", default="", help="as in '--isolate --private-buffers'")
    parser.add_argument("--peers", help="all algorithms of Gloo and Open MPI; of other collectives "
                        "than all-reduces what they choose")
    parser.add_argument("--collective", default="all-reduce",
                        help="as of collbench run; mpi_latency.cc knows all-reduces only")
    parser.add_argument("--no-harness", action="store_true", help="leave mpi_latency.cc out")
    parser.add_argument("--mpich-root", help="folder of MPICH's unpacked packages")
    parser.add_argument("--workers", default="2,4,8")
    parser.add_argument("--sizes", default=SIZES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.2, help="timed per point and rival")
    parser.add_argument("--buffers", choices=["produced", "hot"], default="produced")
    parser.add_argument("--out-of-place", action="store_true")
    parser.add_argument("--keep", type=float, default=2.0,
                        help="leave out a peer this many times slower than the best one")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one run")
    parser.add_argument("--prefix", default="",
                        help="put before every command, as in 'chrt -r 1' on a busy machine, where "
                        "peers that block otherwise wait for other programs' time slices")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", default=".", help="folder for peers.md and peers.json")
    options = parser.parse_args()
    options.prefix = shlex.split(options.prefix)
    all_reduces = options.collective == "all-reduce"
    options.no_harness = options.no_harness or not all_reduces
    options.peers = options.peers or ",".join(GLOO + MPI if all_reduces else ["gloo", "mpi"])
    options.workers = [int(w) for w in options.workers.split(",")]
    options.sizes = [parse_size(s) for s in options.sizes.split(",")]
    return options


def main():
    options = parse_options()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    Path(options.output).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            rivals = make_rivals(options, Path(folder))
        except Failed as failure:
            sys.exit(f"compare_cpu: {failure}")
        samples, failures = measure_all(rivals, options)
    rows = summarize(samples, rivals)
    text = markdown(rows, failures, rivals, options)
    document = {"command": sys.argv, "cores": len(os.sched_getaffinity(0)), "points": rows,
                "failures": [{"rival": name, "workers": point[0], "size_bytes": point[1],
                              "why": why} for (name, point), why in failures.items()]}
    (Path(options.output) / "peers.json").write_text(json.dumps(document, indent=1) + "\n")
    (Path(options.output) / "peers.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
