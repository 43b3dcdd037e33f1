#!/usr/bin/env python3
"""Compares simulated all-reduces of collbench with the same ones in SimGrid's SMPI (`smpirun`).

Same network (a star: 50 GB/s and 1 us between any two hosts), same algorithms by name, same exact
network settings: alpha and beta and nothing else, no simulated computing. Shown are the simulated
times, how far they differ, and the CPU time and memory of each simulation as a whole, its start
included (user and system seconds of all its processes; the least of the repetitions).

  smpi_compare.py --collbench build/cli/collbench
  smpi_compare.py --ranks 8,64 --bytes 1K,1M --output table.md

Needs smpicxx and smpirun (Debian: libsimgrid-dev). Exit status 1 if any times differ by more than
0.1 %.
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ALPHA, BANDWIDTH = 1e-6, 50e9
# SMPI's name: our name, closed form for n ranks and m bytes.
ALGORITHMS = {
    "lr": ("ring", lambda n, m: 2 * (n - 1) * (ALPHA + m / n / BANDWIDTH)),
    "rab_rdb": ("halving-doubling:order=near",
                lambda n, m: 2 * math.log2(n) * ALPHA + 2 * (n - 1) / n * m / BANDWIDTH),
    "rdb": ("recursive-doubling", lambda n, m: math.log2(n) * (ALPHA + m / BANDWIDTH)),
}
# CM02 is alpha-beta without SMPI's table of TCP factors. The others switch off cross traffic, TCP's
# window, the merging of events within a nanosecond, and the time of computing and of MPI_Wtime.
SETTINGS = ["network/model:CM02", "network/crosstraffic:0", "network/TCP-gamma:1e30",
            "surf/precision:1e-15", "smpi/simulate-computation:0", "smpi/wtime:0",
            "smpi/auto-shared-malloc-thresh:65536", "contexts/stack-size:256",
            "contexts/guard-size:0"]
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="star" prefix="h" suffix="" radical="0-{last}" speed="1Gf" bw="50GBps" lat="500ns"
           sharing_policy="SPLITDUPLEX"/>
</platform>
"""
TOLERANCE = 1e-3


def run(command, prefix, cwd=None):
    """Runs a command: its standard output, CPU seconds and peak memory in MB."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(prefix + command, stdout=out, stderr=err, text=True, cwd=cwd)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{err.read()[-2000:]}")
        return out.read(), usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def best(times, measure):
    """Simulated seconds, least CPU seconds, peak MB of several runs; all must agree on the first."""
    runs = [measure() for _ in range(times)]
    return runs[0][0], min(r[1] for r in runs), max(r[2] for r in runs)


def smpi(directory, name, ranks, size, prefix):
    (directory / "platform.xml").write_text(PLATFORM.format(last=ranks - 1))
    (directory / "hosts").write_text("".join(f"h{i}\n" for i in range(ranks)))
    command = ["smpirun", "-np", str(ranks), "-platform", "platform.xml", "-hostfile", "hosts",
               "-no-privatize", *[f"--cfg={s}" for s in SETTINGS], f"--cfg=smpi/allreduce:{name}",
               "--log=root.thresh:error", "./smpi_allreduce", str(size)]
    text, cpu, memory = run(command, prefix, directory)
    return float(text.split()[-1]), cpu, memory


def ours(binary, algorithm, engine, ranks, size, prefix):
    command = [binary, "simulate", "--algo", algorithm, "--workers", str(ranks), "--topo",
               f"star:{ranks},50GBps,1us", "--engine", engine, "--equal-chunks", "-b", str(size),
               "-e", str(size), "--quiet", "--format", "json"]
    text, cpu, memory = run(command, prefix)
    return exact_seconds(json.loads(text)), cpu, memory


def exact_seconds(report):
    """The exact time of the only record, however the report wraps its records."""
    records = report if isinstance(report, list) else report.get("records", [report])
    return records[0]["exact"]["time_s"]


def parse_size(text):
    shift = {"K": 10, "M": 20, "G": 30}.get(text[-1])
    return int(text) if shift is None else int(text[:-1]) << shift


def compare(options):
    rows, worst = [], 0.0
    engines = options.engines.split(",")
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        run(["smpicxx", "-O2", str(HERE / "smpi_allreduce.cc"), "-o",
             str(directory / "smpi_allreduce")], [])
        for size in map(parse_size, options.bytes.split(",")):
            for ranks in map(int, options.ranks.split(",")):
                for theirs in options.algorithms.split(","):
                    algorithm, closed = ALGORITHMS[theirs]
                    if theirs == "lr" and size // 4 < ranks:
                        continue  # SMPI silently plays another algorithm then
                    peer = best(options.repeat,
                                lambda: smpi(directory, theirs, ranks, size, options.prefix))
                    row = [theirs, algorithm, ranks, size, closed(ranks, size), peer]
                    for engine in engines:
                        mine = best(options.repeat, lambda e=engine: ours(
                            options.collbench, algorithm, e, ranks, size, options.prefix))
                        worst = max(worst, abs(peer[0] / mine[0] - 1))
                        row.append(mine)
                    rows.append(row)
                    print(f"{theirs} {ranks} {size}", file=sys.stderr)
    return table(rows, engines), worst


def table(rows, engines):
    head = ["SMPI", "collbench", "ranks", "bytes", "closed form", "SMPI", *engines, "SMPI against "
            + engines[0], "SMPI: CPU, memory", *[f"{e}: CPU, memory, ahead" for e in engines]]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for theirs, algorithm, ranks, size, closed, peer, *mine in rows:
        cells = [theirs, algorithm, ranks, size, *(f"{1e6 * t:.4f} us" for t in
                                                   (closed, peer[0], *(m[0] for m in mine)))]
        cells.append(f"{100 * (peer[0] / mine[0][0] - 1):+.4f} %")
        cells.append(f"{peer[1]:.2f} s, {peer[2]:.0f} MB")
        cells += [f"{m[1]:.3f} s, {m[2]:.0f} MB, {peer[1] / m[1]:.0f}x" for m in mine]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collbench", default="collbench", help="the command to compare")
    parser.add_argument("--ranks", default="8,64,256,1024")
    parser.add_argument("--bytes", default="1M", help="powers of two keep SMPI's chunks equal")
    parser.add_argument("--algorithms", default=",".join(ALGORITHMS), help="SMPI's names")
    parser.add_argument("--engines", default="fluid,quotient")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--prefix", default=[], type=str.split, help="before every command")
    parser.add_argument("--output", help="also write the table to this file")
    options = parser.parse_args()
    text, worst = compare(options)
    text += (f"\n{platform.machine()}, {os.cpu_count()} cores, Linux {platform.release()}; "
             f"`{' '.join(['smpi_compare.py', *sys.argv[1:]])}`; CPU times are the least of "
             f"{options.repeat} runs. Largest difference: {100 * worst:.4f} %.\n")
    print(text)
    if options.output:
        Path(options.output).write_text(text)
    return 1 if worst > TOLERANCE else 0


if __name__ == "__main__":
    sys.exit(main())
