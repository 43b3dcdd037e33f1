#!/usr/bin/env python3
"""Times training steps of `collbench train` beside PyTorch's DDP on this host, in fresh processes in turn.

Each round runs every rival once: collbench with its workers as threads of one process and, for the cost
of synchronisation, as many processes with one worker each, that exchange nothing; PyTorch (torch_ddp.py)
with and without exchange, with images channels last too, which is faster. All have one thread for each
worker. Writes a Markdown table: the median and quartiles of the rounds' medians of rank 0's steps, and
the median of what exchange adds in each round.

  compare_training.py --collbench build/cli/collbench --python /usr/bin/python3 --rounds 5
"""

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
WARM_UP = 5  # steps that are left out
MODELS = {"mnist-cnn": ["--optimizer", "adam"], "resnet56": ["--momentum", "0.9"]}


def run_all(commands, timeout):
    """The standard outputs of commands that run side by side."""
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
                 for command in commands]
    try:
        outputs = [process.communicate(timeout=timeout)[0] for process in processes]
    finally:
        for process in processes:
            if process.poll() is None:
                process.kill()
                process.wait()
    for command, process in zip(commands, processes):
        if process.returncode != 0:
            sys.exit(f"{shlex.join(command)}: exit status {process.returncode}")
    return outputs


def collbench(options, model, sync):
    steps = str(options.steps + WARM_UP)
    workers, batch = (options.workers, options.batch) if sync else (
        1, options.batch // options.workers)
    command = [options.collbench, "train", "--model", model, "--workers", str(workers), "--batch",
               str(batch), "--epochs", "1", "--steps", steps, "--samples", str(4 * options.batch),
               "--progress", "off", "--json", "-", *MODELS[model]]
    if sync:
        outputs = run_all([options.prefix + command], options.timeout)
    else:
        cores = sorted(os.sched_getaffinity(0))
        outputs = run_all([[*options.prefix, "taskset", "-c", str(cores[i % len(cores)]), *command]
                           for i in range(options.workers)], options.timeout)
    times = json.loads(outputs[0])["ranks"][0]["steps"]["step_ms"]
    return statistics.median(times[WARM_UP:])


def torch(options, model, sync, flags):
    command = [*options.prefix, options.python, str(HERE / "torch_ddp.py"), "--model", model,
               "--workers", str(options.workers), "--batch", str(options.batch), "--steps",
               str(options.steps), "--warm-up", str(WARM_UP), *flags]
    output = run_all([command if sync else [*command, "--no-sync"]], options.timeout)[0]
    return json.loads(output)["step_ms"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collbench", required=True, metavar="FILE")
    parser.add_argument("--python", default=sys.executable, help="one that has torch")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--batch", type=int, default=64, help="global")
    parser.add_argument("--steps", type=int, default=60, help="in each run, after the first few")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--timeout", type=float, default=300, help="seconds for each run")
    parser.add_argument("--prefix", type=shlex.split, default=[], help="before every command")
    parser.add_argument("--samples", metavar="FILE",
                        help="appends every run as a line of JSON; the table is of all its lines")
    options = parser.parse_args()
    rivals = {"collbench": lambda model, sync: collbench(options, model, sync),
              "PyTorch": lambda model, sync: torch(options, model, sync, []),
              "PyTorch, channels last":
                  lambda model, sync: torch(options, model, sync, ["--channels-last"])}
    print("| model | rival | rounds | step ms (quartiles) | collbench / rival | "
          "alone ms | added by exchange, ms |")
    print("|---|---|---:|---:|---:|---:|---:|")
    for model in options.models.split(","):
        samples = {(name, sync): [] for name in rivals for sync in (True, False)}
        if options.samples and os.path.exists(options.samples):
            for line in Path(options.samples).read_text(encoding="utf-8").splitlines():
                run = json.loads(line)
                if run["model"] == model:
                    samples[run["rival"], run["sync"]].append(run["step_ms"])
        for _ in range(options.rounds):
            for (name, sync), taken in samples.items():
                taken.append(rivals[name](model, sync))
                if options.samples:
                    with open(options.samples, "a", encoding="utf-8") as file:
                        file.write(json.dumps({"model": model, "rival": name, "sync": sync,
                                               "step_ms": taken[-1]}) + "\n")
        ours = statistics.median(samples["collbench", True])
        for name in rivals:
            times = samples[name, True]
            step = statistics.median(times)
            low, _, high = statistics.quantiles(times, n=4) if len(times) > 1 else times * 3
            alone = statistics.median(samples[name, False])
            added = statistics.median(a - b for a, b in zip(times, samples[name, False]))
            print(f"| {model} | {name} | {len(times)} | {step:.2f} ({low:.2f} to {high:.2f}) | "
                  f"{ours / step:.2f} | {alone:.2f} | {added:+.2f} |", flush=True)


if __name__ == "__main__":
    main()
