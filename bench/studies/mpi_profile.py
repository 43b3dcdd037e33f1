#!/usr/bin/env python3
"""What `collbench profile` costs, and how often it names what holds an MPI job up. Needs Open MPI and mpic++.

    bench/studies/mpi_profile.py overhead --collbench build/cli/collbench --rounds 15
    bench/studies/mpi_profile.py faults --collbench build/cli/collbench --trials 100

overhead: with and without the library preloaded, in turn: nanoseconds of a call that does nothing, and the time of a job.
faults: jobs over TCP of which one rank is late by 5 to 20 ms a step, or sends at a tenth of what it could, or none, by turns.
The network is judged against the median of healthy jobs, which run first.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PEERS = HERE.parent / "peers"
RANKS = 4
STEPS, BYTES, COMPUTE_US = 20, 1 << 20, 3000
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
TCP = ["--mca", "btl", "tcp,self", "--mca", "mpi_yield_when_idle", "1"]


def build(folder):
    job, slow = folder / "profiled_job", folder / "slow_link.so"
    subprocess.run(["mpic++", "-O2", str(PEERS / "profiled_job.cc"), "-o", str(job)], check=True)
    subprocess.run(["g++", "-O2", "-fPIC", "-shared", str(PEERS / "slow_link.cc"), "-o", str(slow)], check=True)
    return job, slow


def output_of(folder, command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder, env=dict(ENVIRONMENT, **more)).stdout


def mpirun(ranks):
    return ["mpirun", "--oversubscribe", "-n", str(ranks)]


def overhead(arguments, folder):
    job, _ = build(folder)
    library = pathlib.Path(arguments.collbench).resolve().parent / "libcollbench-mpi-profile.so"
    cases = {"a call, ns": ["calls", "400000"], "a job, s": ["200", "65536", "1000"]}
    for name, words in cases.items():
        times = {"without": [], "with": []}
        for number in range(arguments.rounds):
            for side in ("without", "with") if number % 2 == 0 else ("with", "without"):
                records = folder / f"records-{number}-{side}-{words[0]}"
                records.mkdir()
                recorded = ["-x", f"LD_PRELOAD={library}", "-x", f"MPI_PROFILE_FOLDER={records}"]
                text = output_of(folder, mpirun(arguments.ranks) + (recorded if side == "with" else []) + [str(job)] + words)
                times[side].append(float(text.split()[-1]))
                if side == "with" and len(list(records.glob("*.mpi-profile"))) != arguments.ranks:
                    raise SystemExit("the library recorded nothing")
                for file in records.iterdir():
                    file.unlink()
        medians = {side: statistics.median(values) for side, values in times.items()}
        differences = [b - a for a, b in zip(times["without"], times["with"])]
        print(f"{name}: without {medians['without']:.4g}, with {medians['with']:.4g}, difference of a round: median "
              f"{statistics.median(differences):.4g}, {min(differences):.4g} to {max(differences):.4g}; ratio of the medians "
              f"{medians['with'] / medians['without']:.4f}; n = {arguments.rounds}, {arguments.ranks} ranks", flush=True)


def judged(arguments, program, late, slow, expected):
    """The verdict on one job; `late` is (rank, us), `slow` (rank, ns per byte)."""
    job, library = program
    words = [str(job), str(STEPS), str(BYTES), str(COMPUTE_US)] + ([str(late[0]), str(late[1])] if late else [])
    more = ["-x", f"SLOW_LINK_RANK={slow[0]}", "-x", f"SLOW_LINK_NS_PER_BYTE={slow[1]}"] if slow else []
    command = [str(pathlib.Path(arguments.collbench).resolve()), "profile", "--json"] + (["--expect-busbw", f"{expected:.4f}"] if expected else [])
    text = output_of(job.parent, command + ["--"] + mpirun(RANKS) + TCP + more + words, LD_PRELOAD=str(library) if slow else "")
    return json.loads(text)


def rate_of(verdict):
    """Bus bandwidth of the job's gradients, GB/s."""
    return 2 * (RANKS - 1) / RANKS * BYTES / verdict["transfer_us_by_bytes"][str(BYTES)] * 1e-3


def right(kind, rank, verdict):
    late, network = verdict["late"], verdict["network"]
    if kind == "late":
        return late == rank and network != "slow"
    if kind == "slow":
        return late is None and network == "slow"
    return late is None and network != "slow"


def faults(arguments, folder):
    program = build(folder)
    draw = random.Random(arguments.seed)
    rates = [rate_of(judged(arguments, program, None, None, None)) for _ in range(arguments.healthy)]
    median = statistics.median(rates)
    expected = arguments.margin * median
    print(f"healthy: {median:.4g} GB/s on the bus, {min(rates):.4g} to {max(rates):.4g}, n = {len(rates)}", flush=True)
    kinds = arguments.kinds.split(",")
    counts = {kind: [0, 0] for kind in kinds}
    for number in range(arguments.trials):
        kind = kinds[number % len(kinds)]
        rank = draw.randrange(RANKS)
        late = (rank, draw.randint(5000, 20000)) if kind == "late" else None
        slow = (rank, 10 / median) if kind == "slow" else None
        verdict = judged(arguments, program, late, slow, expected)
        counts[kind][1] += 1
        if right(kind, rank, verdict):
            counts[kind][0] += 1
        else:
            print(f"trial {number}: {kind} {rank}: late {verdict['late']}, network {verdict['network']} "
                  f"({rate_of(verdict):.3g} GB/s), {verdict.get('cannot_be_told')}", flush=True)
        if number % 10 == 9 or number + 1 == arguments.trials:
            good = sum(count for count, _ in counts.values())
            print(", ".join(f"{kind}: {count} of {of}" for kind, (count, of) in counts.items()) +
                  f"; together {good} of {number + 1}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("overhead", "faults"))
    parser.add_argument("--collbench", required=True)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--ranks", type=int, default=2, help="of overhead")
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--kinds", default="late,slow,none", help="of faults, taken by turns")
    parser.add_argument("--healthy", type=int, default=7)
    parser.add_argument("--margin", type=float, default=1, help="of the healthy rate's median, what is stated as expected")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        (overhead if arguments.what == "overhead" else faults)(arguments, pathlib.Path(folder))


if __name__ == "__main__":
    main()
