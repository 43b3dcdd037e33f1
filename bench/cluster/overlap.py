#!/usr/bin/env python3
"""overlap.py COLLBENCH [OPTION..]: how much communication a training step hides on a slow network.

On hosts that are network namespaces (cluster.py), one model is trained with overlap and without, in
turns, and compared with an ideal schedule and with a simulated step:

  hideable  what an ideal schedule could hide: C - X. C is the time that all buckets take without
            overlap, on the rank that waits least. X is what no schedule hides, even with gradients
            in infinitely small buckets that cost nothing to start:
                X = max over tensors t of (ready(t) + C * share of t and all later ones) - backward,
            at least 0; ready(t) is when t's gradient is ready, from a profile of the model's layers
            on one replica, scaled to the backward pass without overlap.
  idle      what of the hideable leaves the processor idle: the hideable less the processor time of the
            thread that communicates, which is measured with overlap and which no schedule can hide
            from a thread that computes on the same core
  hidden    the median step without overlap minus the one with it: what overlap gains in the end,
            also if the backward pass takes longer beside communication
  simulated the step of `train --workload PROFILE --topo MACHINE`, with the same profile, and with
            --crowding and --interference, of which each run also says what it measured itself:
            crowding      computation without overlap over that of the profile, less 1
            interference  how much longer the backward pass takes beside communication, over the
                          rest of the time in which both went on

Words after -- go to `train` as they are. Exit code 77: namespaces are not permitted here.
"""
import argparse
import csv
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

import cluster


def arguments():
    parser = argparse.ArgumentParser(description="The head of this file says what is measured.")
    parser.add_argument("collbench")
    parser.add_argument("--hosts", type=int, default=2, metavar="N", help="[2]")
    parser.add_argument("--rate", type=cluster.bits_per_second, default=1e9, metavar="RATE",
                        help="[1gbit]")
    parser.add_argument("--model", default="mnist-cnn", metavar="NAME", help="[mnist-cnn]")
    parser.add_argument("--batch", type=int, default=1024, metavar="N", help="global [1024]")
    parser.add_argument("--steps", type=int, default=20, metavar="N", help="of one training [20]")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="trainings of each kind [3]")
    parser.add_argument("--burst", type=int, metavar="BYTES",
                        help="of the links' buckets; small ones keep the cores of the hosts busy with "
                        "the network's timers [what the rate sends in 0.5 ms, at least 8000]")
    parser.add_argument("--machine", metavar="FILE", help="of calibrate, to simulate on")
    parser.add_argument("--crowding", type=float, default=0, metavar="X", help="of that [0]")
    parser.add_argument("--interference", type=float, default=0, metavar="X", help="of that [0]")
    parser.add_argument("--json", metavar="FILE", help="all of it")
    parser.add_argument("--trace", metavar="FILE", help="last steps with overlap, for ui.perfetto.dev")
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:split])
    options.more = words[split + 1:]
    return options


def train(options, net, folder, overlap):
    file = os.path.join(folder, "training.json")
    words = [options.collbench, "train", "--strategy", "multi-worker-mirrored", "--model",
             options.model, "--batch", str(options.batch), "--samples", str(2 * options.batch),
             "--epochs", "1", "--steps", str(options.steps), "--progress", "off", "--json", file,
             *options.more]
    if not overlap:
        words.append("--no-overlap")
    elif options.trace:
        words += ["--trace", options.trace]
    if options.hosts <= len(os.sched_getaffinity(0)) and shutil.which("taskset"):
        words[:0] = ["taskset", "-c", "{rank}"]  # a core each, as hosts have
    with open(os.devnull, "w") as quiet:
        codes = cluster.run(net, words, output=quiet, errors=[quiet] * options.hosts)
    if any(codes):
        sys.exit(f"training ended with {codes}: {' '.join(words)}")
    with open(file) as text:
        return json.load(text)


def profile_of(options, folder):
    """A table of the layers, milliseconds of both passes, and (ready, bytes) of each layer's gradients in the order of readiness;
    ready is a share of the backward pass."""
    file = os.path.join(folder, "profile.csv")
    subprocess.run([options.collbench, "train", "--model", options.model, "--batch",
                    str(options.batch // options.hosts), "--samples", str(options.batch),
                    "--workers", "1", "--steps", str(options.steps), "--profile", file], check=True)
    with open(file) as text:
        rows = list(csv.DictReader(line for line in text if not line.startswith("#")))
    ready, gradients = 0.0, []
    for row in reversed(rows):
        ready += float(row["weight_us"])
        elements = sum(int(count) for count in row["tensors"].split("+") if count)
        if elements:
            gradients.append((ready, 4 * elements))
        ready += float(row["input_us"])
    passes = (ready + sum(float(row["forward_us"]) for row in rows)) / 1e3
    return file, passes, [(when / ready, size) for when, size in gradients]


def simulated(options, profile):
    words = [options.collbench, "train", "--workload", profile, "--topo", options.machine, "--workers",
             str(options.hosts), "--algo", "ring", "--worker-batch",
             str(options.batch // options.hosts), "--crowding", str(options.crowding),
             "--interference", str(options.interference), "--json", "-"]
    times = {}
    for key, more in (("overlap", []), ("no overlap", ["--no-overlap"])):
        done = subprocess.run(words + more, check=True, capture_output=True, text=True)
        times[key] = json.loads(done.stdout)["step_ms"]
    return times


def medians(runs, key):
    """By rank: the median over the steps of all runs, without each one's first."""
    ranks = len(runs[0]["ranks"])
    return [statistics.median(time for run in runs for time in run["ranks"][rank]["steps"][key][1:])
            for rank in range(ranks)]


def spread(runs):
    return " ".join(f"{max(medians([run], 'step_ms')):.1f}" for run in runs)


def main():
    options = arguments()
    cluster.enter()
    net = cluster.Cluster(options.hosts, options.rate, burst=options.burst)
    with tempfile.TemporaryDirectory() as folder:
        profile, passes, gradients = profile_of(options, folder)
        runs = {True: [], False: []}
        for _ in range(options.rounds):
            for overlap in (True, False):
                runs[overlap].append(train(options, net, folder, overlap))
        estimate = simulated(options, profile) if options.machine else {}
    backward = max(medians(runs[False], "backward_ms"))
    all_buckets = min(medians(runs[False], "communication_ms"))
    total, later, never = sum(size for _, size in gradients), 0, 0.0
    for when, size in reversed(gradients):
        later += size
        never = max(never, when * backward + all_buckets * later / total - backward)
    step = {overlap: max(medians(runs[overlap], "step_ms")) for overlap in runs}
    exposed = {overlap: min(medians(runs[overlap], "exposed_communication_ms")) for overlap in runs}
    beside = max(medians(runs[True], "communication_ms")) - exposed[True]
    longer = max(0.0, max(medians(runs[True], "backward_ms")) - backward)
    figures = {
        "burst_bytes": options.burst, "model": options.model, "hosts": options.hosts, "rate_bits_per_second": options.rate,
        "global_batch": options.batch, "gradient_bytes": total, "rounds": options.rounds,
        "steps": options.steps, "backward_ms": backward, "communication_ms": all_buckets,
        "hideable_ms": all_buckets - never, "hidden_ms": step[False] - step[True],
        "step_ms": step[True], "step_no_overlap_ms": step[False], "exposed_ms": exposed[True],
        "exposed_no_overlap_ms": exposed[False], "simulated_step_ms": estimate.get("overlap"),
        "simulated_step_no_overlap_ms": estimate.get("no overlap"),
        "overlap": {key: [max(medians([run], key)) for run in runs[True]] for key in
                    ("step_ms", "backward_ms", "exposed_communication_ms")},
        "no_overlap": {key: [max(medians([run], key)) for run in runs[False]] for key in
                       ("step_ms", "backward_ms", "exposed_communication_ms")}}
    figures["hidden_share"] = figures["hidden_ms"] / figures["hideable_ms"]
    busy = max(medians(runs[True], "communication_busy_ms"))
    figures["busy_ms"] = busy
    figures["hidden_share_of_idle"] = figures["hidden_ms"] / (figures["hideable_ms"] - busy)
    figures["unexposed_share"] = (exposed[False] - exposed[True]) / figures["hideable_ms"]
    figures["crowding"] = (backward + max(medians(runs[False], "forward_ms"))) / passes - 1
    figures["interference"] = longer / (beside - longer) if beside > longer else 0.0
    print(f"# {options.model}, {total} bytes of gradients, {options.hosts} hosts at "
          f"{options.rate / 1e6:g} Mbit/s, global batch {options.batch}; medians of "
          f"{options.rounds} x {options.steps - 1} steps, ms")
    print(f"backward {backward:.1f}, communication {all_buckets:.1f}, of which hideable "
          f"{figures['hideable_ms']:.1f}")
    print(f"step without overlap {step[False]:.1f} (runs: {spread(runs[False])}), "
          f"exposed {exposed[False]:.1f}")
    print(f"step with overlap    {step[True]:.1f} (runs: {spread(runs[True])}), "
          f"exposed {exposed[True]:.1f}")
    print(f"no longer exposed: {100 * figures['unexposed_share']:.0f} % of the hideable")
    print(f"hidden {figures['hidden_ms']:.1f}: {100 * figures['hidden_share']:.0f} % of the hideable, "
          f"{100 * figures['hidden_share_of_idle']:.0f} % of what leaves the processor idle (busy "
          f"{busy:.1f})")
    print(f"backward pass beside communication {backward + longer:.1f}: interference "
          f"{figures['interference']:.2f}, crowding {figures['crowding']:.2f}")
    if estimate:
        print(f"simulated step {estimate['overlap']:.1f} "
              f"({100 * (estimate['overlap'] / step[True] - 1):+.1f} %), without overlap "
              f"{estimate['no overlap']:.1f} ({100 * (estimate['no overlap'] / step[False] - 1):+.1f} %)")
    if options.json:
        with open(options.json, "w") as text:
            json.dump(figures, text, indent=1)
            text.write("\n")


if __name__ == "__main__":
    main()
