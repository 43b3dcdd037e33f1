#!/usr/bin/env python3
"""How well a fit to 2 and 4 workers of this host predicts 3, 6 and 8 of them.

    bench/host_fidelity.py --collbench build/cli/collbench --backends shm,grpc --out results/here

For each back end: `calibrate --local` measures 2 and 4 workers and writes a machine; the same algorithms run with 3, 6 and 8, at the sizes
that were fitted and at others (--sizes); `validate --machine` compares. Times are medians over --passes runs, each with new workers, since
what disturbs a host for a second disturbs one pass. `simulate --topo` must give what `validate` gives. The measured medians are written
as CSV beside the machine, so that a table can be judged again without measuring (--judge-only).
"""
import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ALGORITHMS = 'ring,recursive-doubling,halving-doubling,double-tree,direct,reduce-broadcast'
WORKERS = '3,6,8'


def collbench(options, *arguments):
    done = subprocess.run([options.collbench, *arguments], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f'{" ".join(arguments[:2])} ended with {done.returncode}')
    return done.stdout


def measure(options, backend, table):
    """Medians over the passes of what the fit does not know, as CSV."""
    times = collections.defaultdict(list)
    environment = {}
    for _ in range(options.passes):
        for first, last in options.sizes:
            with tempfile.NamedTemporaryFile(suffix='.json') as out:
                collbench(options, 'run', '-A', ALGORITHMS, '-W', WORKERS, '-B', backend, '-b', first, '-e', last, '-f', '8', '--max-time',
                          options.max_time, '-q', '--progress', 'off', '-J', out.name)
                found = json.load(open(out.name))
            environment = found['environment']
            for record in found['records']:
                case = record['case']
                key = case['algorithm'], case['workers'], case['size_bytes']
                times[key].append(record['summary']['median_ns'] / 1e3)
    with open(table, 'w') as out:
        out.write(f'# source: bench/host_fidelity.py, {environment["cpu"]}, {environment["cores"]} cores, load {environment["load"]}\n')
        out.write('library,algorithm,ranks,nodes,cores,bytes,median_us,in_place\n')
        for (algorithm, workers, size), runs in sorted(times.items()):
            out.write(f'{backend},{algorithm},{workers},1,{environment["cores"]},{size},{statistics.median(runs):.3f},1\n')


def agree(options, machine, points):
    """Whether simulate gives what validate says, to the digits that it prints."""
    wrong = 0
    for point in points:
        name, scale, size, _, predicted = [part.strip() for part in point.split('|')[:5]]
        algorithm, workers = name.split()[1], scale.split()[0]
        size = size.replace(' ', '').replace('iB', '')
        simulated = json.loads(collbench(options, 'simulate', '--topo', str(machine), '-A', algorithm, '-W', workers, '-b', size, '-e', size,
                                         '-q', '--progress', 'off', '-J', '-'))
        time = simulated['records'][0]['exact']['time_s']
        value, unit = predicted.split()[1:3]
        said = float(value) * {'ns': 1e-9, 'us': 1e-6, 'ms': 1e-3, 's': 1}[unit]
        wrong += abs(time / said - 1) > 2e-3
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--collbench', required=True)
    parser.add_argument('--backends', default='shm,grpc')
    parser.add_argument('--passes', type=int, default=3)
    parser.add_argument('--max-time', default='0.05s')
    parser.add_argument('--sizes', default='1K:4M,2K:1M', help='FIRST:LAST, each 8 times the one before')
    parser.add_argument('--out', default='.')
    parser.add_argument('--measure-only', action='store_true', help='write tables, judge later')
    parser.add_argument('--fit-only', action='store_true', help='write machines, measure the rest later')
    parser.add_argument('--judge-only', action='store_true', help='machines and tables are there')
    options = parser.parse_args()
    options.sizes = [part.split(':') for part in options.sizes.split(',')]
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    for backend in options.backends.split(','):
        machine, table = out / f'{backend}.toml', out / f'{backend}-held-out.csv'
        if not options.judge_only and not options.measure_only:
            collbench(options, 'calibrate', '--local', '--backend', backend, '-o', str(machine))
        if options.fit_only:
            continue
        if not options.judge_only:
            measure(options, backend, table)
        if options.measure_only:
            continue
        print(collbench(options, 'validate', str(table), '--machine', str(machine)))
        points = [line for line in collbench(options, 'validate', str(table), '--machine', str(machine), '--points').splitlines()
                  if '| predicted' in line]
        every = points[::7]
        print(f'{backend}: simulate differs from validate at {agree(options, machine, every)} of {len(every)} points\n')


if __name__ == '__main__':
    main()
