#!/usr/bin/env python3
"""How often `collbench ab --read` is wrong about programs of others: a latency test like OSU's (needs Open MPI and mpic++) and
one of Google Benchmark (libbenchmark-dev).

    bench/studies/ab_commands.py --collbench build/cli/collbench --jobs 20 --budget 15s --keep FOLDER

Live jobs, by turns: base against itself (a false alarm is any case called slower or faster), and against a head that a preloaded
library makes a fifth slower (found: any case called slower). The rounds of the first kind of job are kept; drawn again at
random by `collbench_verdict_experiment redraw JOBS SECONDS FOLDER/PROGRAM/0 S`, S being the seconds that a process takes, they make
hundreds of jobs.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import tempfile

PEERS = pathlib.Path(__file__).resolve().parent.parent / "peers"
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1",
                   OMPI_MCA_rmaps_base_oversubscribe="1")


def build(folder):
    def run(*words):
        subprocess.run([str(word) for word in words], check=True)
    run("mpic++", "-O2", PEERS / "allreduce_table.cc", "-o", folder / "osu")
    run("g++", "-O2", PEERS / "sort_benchmark.cc", "-lbenchmark", "-lpthread", "-o", folder / "gbench")
    run("g++", "-O2", "-std=c++17", "-fPIC", "-shared", PEERS / "slower.cc", "-o", folder / "slower.so")
    # A launcher need not be slower: only what it starts.
    slower = f"-x LD_PRELOAD={folder}/slower.so -x SLOWER_BY=0.2"
    sizes = "300 1024 16384 131072"
    return {
        "osu": (f"mpirun -n 2 {folder}/osu {sizes}", f"mpirun -n 2 {slower} {folder}/osu {sizes}"),
        "gbench": (f"{folder}/gbench --benchmark_min_time=0.02",
                   f"LD_PRELOAD={folder}/slower.so SLOWER_BY=0.2 {folder}/gbench --benchmark_min_time=0.02"),
    }


def job(arguments, name, base, head, seed, keep):
    command = [arguments.collbench, "ab", "--base", base, "--head", head, "--read", name, "--budget", arguments.budget, "--seed",
               str(seed), "--progress", "off", "--color", "never"] + (["--keep", keep] if keep else [])
    ended = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    if ended.returncode not in (0, 1):
        raise SystemExit(f"exit code {ended.returncode}: {ended.stderr}")
    summary = ended.stdout.splitlines()[-1]
    return {word: f" {word}" in summary.split(";")[0] for word in ("slower", "faster")}, summary


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collbench", required=True)
    parser.add_argument("--jobs", type=int, default=20, help="of each kind and program")
    parser.add_argument("--budget", default="15s")
    parser.add_argument("--keep", help="folder for the rounds of base against itself, one for each program")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        for name, (base, slow) in build(pathlib.Path(scratch)).items():
            alarms = found = 0
            for number in range(arguments.jobs):
                keep = str(pathlib.Path(arguments.keep) / name / str(number)) if arguments.keep else None
                if keep:
                    shutil.rmtree(keep, ignore_errors=True)
                outcome, summary = job(arguments, name, base, base, number, keep)
                alarms += outcome["slower"] or outcome["faster"]
                print(f"{name} A/A {number}: {summary}", flush=True)
                outcome, summary = job(arguments, name, base, slow, number, None)
                found += outcome["slower"]
                print(f"{name} +20 % {number}: {summary}", flush=True)
            print(f"{name}: {alarms} of {arguments.jobs} jobs A/A with a false alarm, +20 % found in {found} of {arguments.jobs}",
                  flush=True)


if __name__ == "__main__":
    main()
