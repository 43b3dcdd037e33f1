#!/usr/bin/env python3
"""What the rules of `collbench tune` lose against an exhaustive search of the same library, on this machine.

    bench/studies/tune_live.py --collbench build/cli/collbench --budget 20s --workers 2,4,8

The exhaustive search measures every candidate at every point four times, twice before the command runs and twice after it. It is noisy
itself, so each half of it (one measurement from before, one from after) chooses and the other half judges: what the rules lose against
those choices, what the library's own choice loses, and what the choice of the judging half itself would, which is what noise alone makes.
`--candidates` are what `tune` can choose; those of Open MPI 4.1 here. For MPICH with more ranks than cores `--max-time 0.5s`, as long as
`tune` measures there.
"""
import argparse
import collections
import itertools
import json
import math
import os
import re
import statistics
import subprocess
import tempfile

CANDIDATES = ("mpi,mpi:linear,mpi:nonoverlapping,mpi:recursive-doubling,mpi:ring,mpi:segmented-ring,mpi:rabenseifner,"
              + ",".join(f"mpi:segmented-ring:segment={size}" for size in ("16K", "64K", "512K", "1M")))


def search(options, workers):
    """{(workers, bytes, algorithm): ns} of every candidate, measured once."""
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        subprocess.run([options.collbench, "run", "-A", options.candidates, "-W", str(workers), "-b", "4", "-e", options.last, "-f", "4",
                        "--max-time", options.max_time, "-J", out.name, "-q", "--progress", "off"],
                       check=True, stdout=subprocess.DEVNULL)
        records = json.load(open(out.name))["records"]
    # As `tune` counts: ranks of MPICH wait busily, and where they share cores the median jumps by turns of the scheduler.
    takes_turns = options.library == "mpich" and workers > len(os.sched_getaffinity(0))
    of = statistics.mean if takes_turns else statistics.median
    return {(workers, record["case"]["size_bytes"], record["case"]["algorithm"]): of(record["latency_ns"]) for record in records}


def in_bytes(number, unit):
    return int(float(number) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[unit])


def tune(options):
    """The choice at every point, the number of measurements, and how many rules were obeyed, of how many."""
    printed = subprocess.run([options.collbench, "tune", "--library", options.library, "-W", options.workers, "-e", options.last,
                              "--budget", options.budget], capture_output=True, text=True)
    print(printed.stdout, printed.stderr, flush=True)
    searched, *proof = printed.stdout.split("# loaded")
    choices = {}
    for workers, number, unit, best in re.findall(r"^ *(\d+) +([\d.]+) ([KM]?i?B)  (mpi\S*|as the)", searched, re.M):
        choices[int(workers), in_bytes(number, unit)] = "mpi" if best == "as the" else best
    counts = re.findall(r"(\d+) measurements", printed.stdout)
    rows = re.findall(r"^ *(\d+) +([\d.]+) ([KM]?i?B)  (yes|NO) .*\[(\S+), ", "".join(proof), re.M)
    proven = {(int(workers), in_bytes(number, unit)) for workers, number, unit, _, low in rows if float(low) > 0}
    kept = {point: choice if point in proven else "mpi" for point, choice in choices.items()}
    return kept, sum(map(int, counts)), sum(row[3] == "yes" for row in rows), len(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collbench", required=True)
    parser.add_argument("--library", default="openmpi")
    parser.add_argument("--candidates", default=CANDIDATES)
    parser.add_argument("--workers", default="2,4,8")
    parser.add_argument("--last", default="16M", help="largest size")
    parser.add_argument("--max-time", default="0.02s", help="of one measurement of the exhaustive search")
    parser.add_argument("--budget", default="20s", help="of tune")
    options = parser.parse_args()
    ranks = [int(workers) for workers in options.workers.split(",")]
    passes = []
    kept, measured, obeyed, rules = {}, 0, 0, 0
    for number in range(4):
        if number == 2:
            kept, measured, obeyed, rules = tune(options)
        passes.append({cell: time for workers in ranks for cell, time in search(options, workers).items()})
    losses = collections.defaultdict(list)
    chosen = collections.defaultdict(list)
    for one, other in itertools.permutations(((0, 2), (1, 3))):
        chooses, judges = ({cell: math.sqrt(passes[half[0]][cell] * passes[half[1]][cell]) for cell in passes[0]} for half in (one, other))
        for workers, size in sorted({cell[:2] for cell in passes[0]}):
            names = [name for at, of_size, name in judges if (at, of_size) == (workers, size)]
            time_of = {name: judges[workers, size, name] for name in names}
            name = min(names, key=lambda name: chooses[workers, size, name])
            best = time_of[name]
            chosen[workers, size].append(f"{name} {100 * (time_of[kept[workers, size]] / best - 1):+.0f} %")
            for what, time in (("rules", time_of[kept[workers, size]]), ("own choice", time_of["mpi"]), ("noise", min(time_of.values()))):
                losses[what, workers].append(time / best - 1)
    searched = sum(map(len, passes))
    print(f"{measured} measurements are {100 * measured / searched:.1f} % of the exhaustive search's {searched}; "
          f"{obeyed} of {rules} rules obeyed, {sum(choice != 'mpi' for choice in kept.values())} kept")
    for (workers, size), halves in chosen.items():
        print(f"{workers} workers, {size} B: {kept[workers, size]} against {', '.join(halves)}")
    for what in ("rules", "own choice", "noise"):
        mean = statistics.mean(value for workers in ranks for value in losses[what, workers])
        each = ", ".join(f"{workers} workers {100 * statistics.mean(losses[what, workers]):+.1f} %" for workers in ranks)
        print(f"mean loss of {what}: {100 * mean:+.1f} % ({each})")


if __name__ == "__main__":
    main()
