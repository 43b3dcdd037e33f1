"""The outcome of the cells as a Markdown table."""
import datetime
import os
import platform
import re
from pathlib import Path


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
