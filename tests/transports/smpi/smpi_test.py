#!/usr/bin/env python3
"""The MPI machine under SMPI: its simulated times are those of closed forms, and of our own simulator on the same network.

    smpi_test.py SMPIRUN PROGRAM COLLBENCH
"""
import json
import math
import os
import subprocess
import sys
import tempfile
import unittest

ALPHA, BANDWIDTH, RANKS = 1e-6, 10e9, 8
PLATFORM = f'''<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="star" prefix="h" suffix="" radical="0-{RANKS - 1}" speed="1Gf" bw="10GBps" lat="500ns" sharing_policy="SPLITDUPLEX"/>
</platform>
'''
# Latency and bandwidth and nothing else: no table of TCP factors, no cross traffic, no window, no time of computing. A test for a
# message that is not there costs next to nothing, but not nothing: time must go on.
SETTINGS = ['network/model:CM02', 'network/crosstraffic:0', 'network/TCP-gamma:1e30', 'surf/precision:1e-15',
            'smpi/simulate-computation:0', 'smpi/wtime:0', 'smpi/test:1e-12']
FORMS = {
    'ring': lambda m: 2 * (RANKS - 1) * (ALPHA + m / RANKS / BANDWIDTH),
    'recursive-doubling': lambda m: math.log2(RANKS) * (ALPHA + m / BANDWIDTH),
    'halving-doubling': lambda m: 2 * math.log2(RANKS) * ALPHA + 2 * (RANKS - 1) / RANKS * m / BANDWIDTH,
}
SIZES = [800, 80_000, 800_000]  # the largest is several pieces in some rounds


class Smpi(unittest.TestCase):
    def simulated(self, algorithm, size, ranks=RANKS, timeout=(), settings=SETTINGS):
        with tempfile.TemporaryDirectory() as folder:
            platform, hosts = os.path.join(folder, 'platform.xml'), os.path.join(folder, 'hosts')
            open(platform, 'w').write(PLATFORM)
            open(hosts, 'w').write(''.join(f'h{i}\n' for i in range(RANKS)))
            done = subprocess.run([SMPIRUN, '-np', str(ranks), '-platform', platform, '-hostfile', hosts, '--log=root.thresh:error',
                                   *[f'--cfg={s}' for s in settings], PROGRAM, algorithm, str(size), *timeout], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr[-2000:])
        return float(done.stdout.split()[-1])

    def ours(self, algorithm, size):
        with tempfile.NamedTemporaryFile(suffix='.json') as out:
            subprocess.run([COLLBENCH, 'simulate', '--topo', f'star:{RANKS},10GBps,1us', '-A', algorithm, '-b', str(size), '-e', str(size),
                            '-J', out.name, '-q'], check=True, stdout=subprocess.DEVNULL)
            return json.load(open(out.name))['records'][0]['summary']['median_ns'] * 1e-9

    def test_times_are_those_of_the_closed_forms_and_of_our_simulator(self):
        for algorithm, form in FORMS.items():
            for size in SIZES:
                with self.subTest(algorithm=algorithm, size=size):
                    time = self.simulated(algorithm, size)
                    # Pieces share the link, and those beyond the first two wait for a latency of their own.
                    slack = (0.05 if size > 131072 else 0.005) * form(size) + 2e-9
                    self.assertAlmostEqual(time, form(size), delta=slack)
                    self.assertAlmostEqual(time, self.ours(algorithm, size), delta=slack + 1e-9)

    def test_a_long_message_is_not_late_as_long_as_it_moves(self):
        # One rank only sends for 8 ms. Eight pieces are under way at a time, so that the first takes 1.7 ms.
        settings = [*SETTINGS[:-1], 'smpi/test:1e-8']
        time = self.simulated('reduce-broadcast', 80_000_000, ranks=2, timeout=['0.0025'], settings=settings)
        self.assertGreater(time, 0.015)


if __name__ == '__main__':
    SMPIRUN, PROGRAM, COLLBENCH = sys.argv[1:4]
    unittest.main(argv=sys.argv[:1])
