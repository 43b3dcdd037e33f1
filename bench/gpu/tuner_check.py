#!/usr/bin/env python3
"""Whether NCCL did what its tuner plugin was told: tuner_check.py RULES LOG RANKS NODES

RULES is the file of the plugin, LOG what NCCL printed with NCCL_DEBUG=INFO and
NCCL_DEBUG_SUBSYS=TUNING. Exit code: 0 every all-reduce for which there is a rule followed it, 1 some
did not, 4 none was logged.
"""

import collections
import re
import sys

CALL = re.compile(r"AllReduce: (\d+) Bytes -> Algo (\w+) proto (\w+) channel\{Lo\.\.Hi\}=\{(\d+)\.\.(\d+)\}")


def rules_of(path):
    """The rules for all-reduce: bytes from and to, algorithm, protocol, channels, nodes, ranks."""
    rules = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            fields = line.strip().split(",")
            if fields[0] != "allreduce":
                continue
            low, high = int(fields[1]), int(fields[2])
            channels, nodes, ranks = (int(field) for field in fields[4 + 1:8])
            rules.append((low, high, fields[3].upper(), fields[4].upper(), channels, nodes, ranks))
    return rules


def main(rules_path, log, ranks, nodes):
    rules = rules_of(rules_path)
    outcomes = collections.Counter()
    wrong = {}
    with open(log, encoding="utf-8", errors="replace") as lines:
        for found in filter(None, map(CALL.search, lines)):
            size, low, high = int(found[1]), int(found[4]), int(found[5])
            rule = next((r for r in rules if r[0] <= size <= r[1] and r[5] in (-1, nodes)
                         and r[6] in (-1, ranks)), None)
            if rule is None:
                outcomes["without a rule"] += 1
                continue
            did = (found[2].upper(), found[3].upper())
            fits = did == rule[2:4] and rule[4] in (-1, high - low + 1)
            outcomes["as told" if fits else "otherwise"] += 1
            if not fits:
                wrong[size] = f"{size} B: told {rule[2:5]}, did {did} on {high - low + 1} channels"
    print(", ".join(f"{count} calls {what}" for what, count in sorted(outcomes.items())) or
          f"{log} has no all-reduce")
    print("\n".join(wrong.values()))
    if not outcomes["as told"] + outcomes["otherwise"]:
        return 4
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
