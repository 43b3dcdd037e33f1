#!/usr/bin/env python3
"""Winners of a sweep: python3 crossovers.py FILE.json [NAME..] prints, for every network, the fastest algorithm of each range of sizes, leaving out the algorithms named."""
import json
import sys

UNITS = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]


def size_text(size):
    for unit, name in UNITS:
        if size >= unit:
            return f"{size / unit:g} {name}"
    return f"{size} B"


def name_of(case):
    mapping = case["simulated"]["mapping"]
    return case["algorithm"] + ("" if mapping == "row-major" else f" ({mapping})")


def main(path, without):
    times = {}
    for record in json.load(open(path))["records"]:
        case = record["case"]
        if case["algorithm"] in without:
            continue
        network = (case["workers"], case["simulated"]["topology"])
        times.setdefault(network, {}).setdefault(case["size_bytes"], {})[name_of(case)] = record["exact"]["time_s"]
    print("| network | ranks | fastest, from size (lead over the next there) | at the largest size |\n|---|---:|---|---|")
    for (workers, topology), sizes in sorted(times.items()):
        parts, last = [], None
        for size, rivals in sorted(sizes.items()):
            ranked = sorted(rivals, key=rivals.get)
            if ranked[0] != last:
                lead = rivals[ranked[1]] / rivals[ranked[0]]
                parts.append(f"{size_text(size)}: {ranked[0]} ({lead:.2f}x)")
            last = ranked[0]
        best = min(rivals.values())
        print(f"| `{topology}` | {workers} | {'; '.join(parts)} | {best * 1e3:.3f} ms |")


main(sys.argv[1], sys.argv[2:])
