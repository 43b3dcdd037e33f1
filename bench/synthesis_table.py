#!/usr/bin/env python3
"""Prints how near to their bounds synthesised schedules are, or how they compare with the registry.

    synthesis_table.py COLLBENCH FOLDER [--collective NAME] [--most-ranks N] [--latency TIME] [--only NAME,...]
    synthesis_table.py COLLBENCH --shipped [--size 1G]

With a folder, each row is a list of links in it: the bound, the share of it that the trees reach which are
played, and the simulated time for two sizes over the bound; then how many are within 1 % and 3 %. Where the
one route between two ranks keeps every schedule from the bound, "routes" is the time over what these routes
allow instead. With a latency, "+way" is the time over the bound and the latencies of the longest way together,
which a vector of one element takes. With --shipped,
each row is a network that the program knows by name, whole or as a small cluster or slice: the time of
`synth`, of the fastest other algorithm of the registry, and their ratio. Where switches add (NVLS, SHARP) no
schedule of messages can compete; their time is printed beside.
"""
import argparse
import fractions
import json
import pathlib
import subprocess

SIZES = {"64M": 64 << 20, "1G": 1 << 30}
SHIPPED = ["abci-v100", "alps-gh200", "aws-p4d", "aws-p5", "aws-p5en", "aws-p6-b200", "dgx-1-v100", "dgx-2", "dgx-a100",
           "dgx-h100", "google-a3-high", "google-a3-mega", "hgx-b200", "hgx-h200", "mi300x", "gb200-nvl72",
           "ethernet-100g:8", "ethernet-25g:8", "ethernet-10g:8", "roce-200g:8", "tensorflow-tutorial",
           "example-torus:4x4", "example-torus:2x4x4", "tpu-v2:4x4", "tpu-v3:4x4", "tpu-v4:2x2x4", "tpu-v5e:4x4",
           "tpu-v5e:4x8", "tpu-v5p:2x2x4", "tpu-v6e:4x4", "tpu-v7:2x2x1", "cluster:2xdgx-a100", "cluster:2xdgx-h100",
           "cluster:4xdgx-h100", "cluster:2xmi300x", "cluster:4xabci-v100", "cluster:2xaws-p4d", "superpod-h100:2",
           "star:8,100Gbps,5us", "full:8,64GBps,1us", "torus:4x4,50GBps,1us", "mesh:4x4,50GBps,1us",
           "fat-tree:4x4:1x2:1x2,100Gbps,1us", "dragonfly:2x2x2x1:1x1x1,200Gbps,1us"]


def output_of(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[0] if done.stderr.strip() else f"exit code {done.returncode}")
    return done.stdout


def simulated(program, network, collective, size, algorithms="synth", engine="fluid"):
    """Seconds by algorithm, of those that fit."""
    text = output_of(program, "simulate", "--topo", network, "--algo", algorithms, "--collective", collective,
                     "-b", size, "-e", size, "--engine", engine, "--format", "json")
    return {record["case"]["algorithm"]: record["exact"]["time_s"] for record in json.loads(text)["records"]
            if record.get("exact")}


def against_bounds(arguments):
    within = {size: [] for size in SIZES}
    beside = "+way" if arguments.latency else "routes"
    print(f"{'network':26} {'ranks':>5} {'s/GB':>12} {'share':>7} {'way':>3}"
          + "".join(f" {size:>7} {beside:>7}" for size in SIZES))
    for network in sorted(arguments.folder.glob("*.csv")):
        if "from,to," not in network.read_text()[:400] or (arguments.only and network.stem not in arguments.only):
            continue
        bound = json.loads(output_of(arguments.program, "synth", "--topo", network, "--collective",
                                     arguments.collective, "--bound", "--json"))
        if bound["ranks"] > arguments.most_ranks:
            continue
        plan = json.loads(output_of(arguments.program, "synth", "--topo", network, "--collective",
                                    arguments.collective, "--json"))
        seconds = float(fractions.Fraction(bound["seconds_per_GB"])) / 1e9
        by_routes = max(seconds, plan.get("least_seconds_per_GB_by_routes", 0) / 1e9)
        named = f"{network},latency={arguments.latency}" if arguments.latency else network
        time_of = lambda size: simulated(arguments.program, named, arguments.collective, size, engine="auto")["synth"]
        way = time_of("4") if arguments.latency else 0
        row = f"{network.stem:26} {bound['ranks']:5} {bound['seconds_per_GB']:>12} "
        row += f"{plan['played_share_of_bound']:7.4f} {plan['longest_way']:3}"
        for size, count in SIZES.items():
            time = time_of(size)
            within[size].append(time / (seconds * count))
            row += f" {within[size][-1]:7.4f} {time / (by_routes * count + way):7.4f}"
        print(row, flush=True)
    for size, times in within.items():
        print(f"{size}: within 1 % on {sum(t <= 1.01 for t in times)}, 3 % on {sum(t <= 1.03 for t in times)} of "
              f"{len(times)}, worst {max(times):.4f}")


def against_registry(arguments):
    for network in SHIPPED:
        try:
            ours = simulated(arguments.program, network, "all-reduce", arguments.size, engine="auto")["synth"]
            others = simulated(arguments.program, network, "all-reduce", arguments.size, "all", "auto")
        except RuntimeError as error:
            print(f"{network:40} {error}", flush=True)
            continue
        best = min(others, key=others.get)
        print(f"{network:40} synth {ours * 1e3:10.4f} ms  {best:18} {others[best] * 1e3:10.4f} ms  "
              f"{others[best] / ours:6.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path, nargs="?")
    parser.add_argument("--collective", default="all-reduce")
    parser.add_argument("--most-ranks", type=int, default=128)
    parser.add_argument("--latency", help="of every link")
    parser.add_argument("--only", type=lambda text: text.split(","), help="networks of the folder")
    parser.add_argument("--shipped", action="store_true")
    parser.add_argument("--size", default="1G", help="with --shipped")
    arguments = parser.parse_args()
    if arguments.shipped == bool(arguments.folder):
        parser.error("a folder of lists of links, or --shipped")
    (against_registry if arguments.shipped else against_bounds)(arguments)


if __name__ == "__main__":
    main()
