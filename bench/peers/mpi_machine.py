#!/usr/bin/env python3
"""Our schedules over MPI's messages beside the library's own all-reduce by the same algorithm, on this machine.

    bench/peers/mpi_machine.py --collbench build/cli/collbench --rounds 5

Each round is one `collbench run` per number of workers, with processes of its own; algorithms alternate within every size. A figure is
the median over the rounds of (the library's median time / ours): above 1 we are faster; in brackets the least and the most of the rounds. `auto` stands beside the library's own choice.
"""
import argparse
import collections
import json
import math
import statistics
import subprocess
import sys
import tempfile

PAIRS = {'ring@mpi': 'mpi:ring', 'recursive-doubling@mpi': 'mpi:recursive-doubling',
         'halving-doubling@mpi': 'mpi:rabenseifner', 'auto@mpi': 'mpi'}


def times_of(options, workers, pairs):
    """{size: {algorithm: median in ns}} of one round."""
    names = [name for pair in pairs.items() for name in pair]
    with tempfile.NamedTemporaryFile(suffix='.json') as out:
        command = [options.collbench, 'run', '-A', ','.join(names), '-W', str(workers), '-b', options.first, '-e', options.last,
                   '-f', str(options.factor), '--max-time', options.max_time, '-J', out.name, '-q', '--progress', 'off']
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        records = json.load(open(out.name))['records']
    times = collections.defaultdict(dict)
    for record in records:
        if record['wrong_elements']:
            sys.exit(f'wrong sums: {record["case"]}')
        algorithm = record['case']['algorithm']
        if algorithm.startswith('mpi:') and not record['played'].endswith(', ' + algorithm[len('mpi:'):]):
            sys.exit(f'{algorithm} was asked for, and played was {record["played"]}')
        times[record['case']['size_bytes']][algorithm] = record['summary']['median_ns']
    return times


def size_in_words(size):
    for shift, unit in ((20, 'MiB'), (10, 'KiB')):
        if size >= 1 << shift:
            return f'{size / (1 << shift):g} {unit}'
    return f'{size} B'


def geometric_mean(values):
    return math.exp(statistics.mean(map(math.log, values)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--collbench', required=True)
    parser.add_argument('--workers', default='2,4,8')
    parser.add_argument('--first', default='1K', help='smallest size')
    parser.add_argument('--last', default='64M', help='largest size')
    parser.add_argument('--factor', type=int, default=4)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--max-time', default='0.3s', help='of one measurement')
    parser.add_argument('--only', help='of ' + ', '.join(PAIRS) + ', separated by commas')
    options = parser.parse_args()
    pairs = {ours: theirs for ours, theirs in PAIRS.items() if not options.only or ours in options.only.split(',')}
    all_ratios = collections.defaultdict(list)
    for workers in map(int, options.workers.split(',')):
        ratios = collections.defaultdict(lambda: collections.defaultdict(list))
        for _ in range(options.rounds):
            for size, times in times_of(options, workers, pairs).items():
                for ours, theirs in pairs.items():
                    ratios[size][ours].append(times[theirs] / times[ours.split('@')[0]])
        print(f'\n{workers} workers, {options.rounds} rounds | ' + ' | '.join(f'{ours} / {theirs}' for ours, theirs in pairs.items()))
        for size, of_pairs in sorted(ratios.items()):
            medians = {ours: statistics.median(values) for ours, values in of_pairs.items()}
            print(f'{size_in_words(size):>8} | ' + ' | '.join(
                f'{medians[ours]:.2f} ({min(of_pairs[ours]):.2f} {max(of_pairs[ours]):.2f})' for ours in pairs), flush=True)
            for ours, value in medians.items():
                all_ratios[ours].append(value)
    print('\nover all points')
    for ours, values in all_ratios.items():
        behind = sum(value < 0.9 for value in values)
        print(f'{ours}: geometric mean {geometric_mean(values):.2f}, least {min(values):.2f}, below 0.9 at {behind} of {len(values)} points')


if __name__ == '__main__':
    main()
