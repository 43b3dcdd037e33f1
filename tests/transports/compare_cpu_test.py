"""Tests of bench/peers/compare_cpu.py against a scripted collbench that measures nothing."""

import json
import subprocess
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "bench" / "peers" / "compare_cpu.py"

# Medians by algorithm and call, in microseconds. mpi:linear is not there and mpi:ring hangs.
FAKE = """
    #!{python}
    import json, pathlib, sys, time
    def flag(name): return sys.argv[sys.argv.index(name) + 1]
    algorithm = flag("--algo")
    assert flag("--collective") in ("all-reduce", "all-gather")
    if algorithm == "mpi:linear":
        sys.exit("mpi:linear is not here")
    if algorithm == "mpi:ring":
        time.sleep(60)
    calls = pathlib.Path(__file__).with_name(algorithm.replace(":", "_"))
    count = len(calls.read_text()) if calls.exists() else 0
    calls.write_text("x" * (count + 1))
    medians = {{"auto": [10, 20, 30], "gloo": [40, 40, 240], "gloo:bcube": [900, 900, 900],
                "mpi": [50, 50, 50]}}[algorithm]
    record = {{"skipped": None, "wrong_elements": 7 if flag("-b") == "64" else 0, "warnings": [],
               "summary": {{"median_ns": medians[min(count, 2)] * 1000}}}}
    pathlib.Path(flag("--json")).write_text(json.dumps({{"records": [record]}}))
"""


def compare(peers, *flags):
    """The JSON document and the table that the script makes of the scripted medians."""
    with tempfile.TemporaryDirectory() as folder:
        fake = Path(folder) / "collbench"
        fake.write_text(textwrap.dedent(FAKE.format(python=sys.executable)).lstrip())
        fake.chmod(0o755)
        subprocess.run([sys.executable, str(SCRIPT), "--collbench", str(fake), "--no-harness",
                        "--workers", "2", "--sizes", "1K", "--peers", peers, "--output", folder,
                        *flags], check=True, capture_output=True, timeout=50)
        return (json.loads((Path(folder) / "peers.json").read_text()),
                (Path(folder) / "peers.md").read_text())


class CompareCpu(unittest.TestCase):
    def test_takes_the_peer_of_least_median_and_the_median_of_the_rounds_ratios(self):
        document, table = compare("gloo,mpi", "--rounds", "3", "--keep", "100")
        point = document["points"][0]
        self.assertEqual((point["ours"], point["best_peer"]), ("auto", "gloo"))
        self.assertEqual(point["medians_ns"], {"auto": 20e3, "gloo": 40e3, "mpi": 50e3})
        self.assertEqual((point["ratio"], point["ratio_least"], point["ratio_most"]), (4, 2, 8))
        self.assertIn("| 1 KiB | 20 us | auto | 50 us | - | 40 us | gloo | 4.00x | 2.00 to 8.00 |",
                      table)

    def test_asks_for_the_collective_and_then_for_what_libraries_choose(self):
        document, table = compare("", "--rounds", "1", "--collective", "all-gather")
        self.assertEqual(set(document["points"][0]["medians_ns"]), {"auto", "gloo", "mpi"})
        self.assertIn("all-gather, float32 sum, in place", table)

    def test_leaves_out_a_peer_that_was_hopeless_in_the_first_round(self):
        point = compare("gloo,gloo:bcube", "--rounds", "3")[0]["points"][0]
        self.assertEqual(len(point["rounds_ns"]["gloo:bcube"]), 1)
        self.assertEqual(len(point["rounds_ns"]["gloo"]), 3)

    def test_names_a_peer_that_cannot_run_and_goes_on(self):
        document, table = compare("mpi,mpi:linear", "--rounds", "1")
        self.assertEqual(document["failures"][0]["rival"], "mpi:linear")
        self.assertIn("Not measured everywhere: mpi:linear: mpi:linear is not here", table)
        self.assertEqual(document["points"][0]["best_peer"], "mpi")

    def test_ends_a_peer_that_hangs(self):
        document, _ = compare("mpi,mpi:ring", "--rounds", "1", "--timeout", "1")
        self.assertEqual(document["failures"][0]["why"], "no end within 1.0 s")

    def test_counts_a_wrong_result_as_not_measured(self):
        document, _ = compare("mpi", "--rounds", "1", "--sizes", "64")
        self.assertNotIn("ratio", document["points"][0])
        self.assertEqual(document["failures"][0]["why"], "7 wrong elements")


if __name__ == "__main__":
    unittest.main()
