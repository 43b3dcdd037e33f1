"""Plays the cells of a matrix in turn and writes the outcome as a Markdown table."""
import argparse
import datetime
import os
import platform
import re
import signal
import sys
from pathlib import Path

SKIPPED = 77


def matrix_parser(description):
    """The options that every matrix has."""
    parser = argparse.ArgumentParser(description=description,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--collbench", required=True, help="the command to be tried")
    parser.add_argument("--cells", default="", help="only cells whose name matches")
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--timeout", type=float, default=3, help="-T of the runs, in seconds")
    parser.add_argument("--slack", type=float, default=6, help="seconds beyond it, if busy")
    parser.add_argument("--table", default="", help="file for the table")
    parser.add_argument("--repeat", type=int, default=1, help="play each cell so many times")
    parser.add_argument("--list", action="store_true", help="show the names of the cells")
    return parser


def play_matrix(options, cells, moments, refusal, play):
    """The exit code. `refusal(cell)` says why a cell cannot be played here, if it cannot;
    `play(cell)` gives what has `problems` and `took` seconds."""
    chosen = [cell for cell in cells if re.search(options.cells, cell.name)]
    if options.list:
        print("\n".join(cell.name for cell in chosen))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends cells in order, too
    rows = []
    for cell in chosen:
        reason = refusal(cell)
        if reason:
            print(f"left out  {cell.name}: {reason}")
            continue
        outcome, took = "right", 0.0
        for _ in range(options.repeat):
            played = play(cell)
            took = max(took, played.took)
            if played.problems:
                outcome = "WRONG"
                for problem in played.problems:
                    print(f"    {problem}")
        print(f"{outcome:9} {cell.name} ({took:.1f} s)", flush=True)
        rows.append((cell, outcome, took))
    if options.table:
        Path(options.table).write_text(matrix_table(rows, moments, options.timeout))
    wrong = sum(1 for _, outcome, _ in rows if outcome != "right")
    print(f"{len(rows) - wrong} of {len(rows)} cells right")
    return 1 if wrong else 0 if rows else SKIPPED


def matrix_table(rows, moments, timeout):
    """`rows` are (cell, outcome, seconds); `timeout` is what the runs had."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    right = sum(1 for _, outcome, _ in rows if outcome == "right")
    lines = [f"{right} of {len(rows)} cells right. {datetime.date.today()}, "
             f"{cpu.group(1) if cpu else platform.machine()}, {os.cpu_count()} cores, Linux "
             f"{platform.release()}; `tests/faults/fault_matrix.py --timeout {timeout:g}`.",
             "", "Seconds from the fault to the end of the last survivor.", "",
             "| fault | transport | " + " | ".join(moments) + " |",
             "|---|---|" + "---|" * len(moments)]
    found = {cell.name: (outcome, took) for cell, outcome, took in rows}
    for fault, transport in dict.fromkeys((c.fault, c.transport) for c, _, _ in rows):
        entries = []
        for moment in moments:
            outcome, took = found.get(f"{fault}.{moment}.{transport}", ("", 0))
            entries.append(f"{took:.1f}" if outcome == "right" else outcome)
        lines.append(f"| {fault} | {transport} | " + " | ".join(entries) + " |")
    return "\n".join(lines) + "\n"
