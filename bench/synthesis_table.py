#!/usr/bin/env python3
"""Prints how near to their bounds synthesised schedules are, for every list of links in a folder.

Each row is a network: the bound, the trees' share of it, and the time that the engine `fluid` simulates for
two sizes over the bound. Usage: synthesis_table.py COLLBENCH FOLDER [--collective NAME] [--most-ranks N]
"""
import argparse
import fractions
import json
import pathlib
import subprocess

SIZES = {"64M": 64 << 20, "1G": 1 << 30}


def output_of(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def simulated_seconds(program, network, collective, size):
    text = output_of(program, "simulate", "--topo", network, "--algo", "synth", "--collective", collective,
                     "-b", size, "--engine", "fluid", "--format", "json")
    return json.loads(text)["records"][0]["exact"]["time_us"] / 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--collective", default="all-reduce")
    parser.add_argument("--most-ranks", type=int, default=128)
    arguments = parser.parse_args()
    print(f"{'network':26} {'ranks':>5} {'s/GB':>12} {'share':>7}" + "".join(f" {s:>7}" for s in SIZES))
    for network in sorted(arguments.folder.glob("*.csv")):
        if "from,to," not in network.read_text()[:400]:
            continue
        bound = json.loads(output_of(arguments.program, "synth", "--topo", network, "--collective",
                                     arguments.collective, "--bound", "--json"))
        if bound["ranks"] > arguments.most_ranks:
            continue
        plan = json.loads(output_of(arguments.program, "synth", "--topo", network, "--collective",
                                    arguments.collective, "--json"))
        seconds = float(fractions.Fraction(bound["seconds_per_GB"])) / 1e9
        times = [simulated_seconds(arguments.program, network, arguments.collective, size) / (seconds * count)
                 for size, count in SIZES.items()]
        print(f"{network.stem:26} {bound['ranks']:5} {bound['seconds_per_GB']:>12} {plan['share_of_bound']:7.4f}"
              + "".join(f" {time:7.4f}" for time in times), flush=True)


if __name__ == "__main__":
    main()
