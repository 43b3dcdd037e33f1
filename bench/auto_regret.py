#!/usr/bin/env python3
"""How much time `--algo auto` loses on this machine against the best of all algorithms of the same run.

    bench/auto_regret.py --collbench build/cli/collbench                      # the regret, all algorithms measured
    bench/auto_regret.py --collbench build/cli/collbench --table times.csv    # the times that auto rests on

Each back end and number of workers is one run, so that it can be repeated alone (--backends, --workers) and each command can be led by
another one (--wrap "nice -n -10"). Algorithms alternate within every size. What else drifts (on virtual machines all times may double
for some seconds) hits the rows of one cycle alike, so that algorithms are compared within cycles: one is faster by the median over the
cycles of the ratio of its median to the other's. Regret is that ratio of the algorithm auto chose to the fastest, both from the rows
that name an algorithm. The fastest of some twenty rows is a lucky one, which counts against auto. `by halves` has no such luck in it:
the fastest algorithm of the odd cycles is compared in the even ones, and the other way round. `as its own case` compares auto's own
row.
"""
import argparse
import collections
import json
import shlex
import statistics
import subprocess
import sys
import tempfile

CONTENDERS = {
    'shm': 'direct,reduce-broadcast,one-shot,recursive-doubling,halving-doubling,ring',
    'grpc': 'direct,reduce-broadcast,one-shot,recursive-doubling,halving-doubling,hierarchical,hierarchical-copy,parameter-server,ring',
}


def run(options, backend, workers, algorithms, first, last, factor):
    """The records of one run."""
    with tempfile.NamedTemporaryFile(suffix='.json') as out:
        command = shlex.split(options.wrap) + [
            options.collbench, 'run', '-B', backend, '-W', str(workers), '-A', algorithms, '-b', first, '-e', last, '-f', str(factor),
            '--max-time', options.max_time, '-N', str(options.cycles), '-J', out.name, '-q', '--progress', 'off']
        if options.iters:
            command += ['--iters', str(options.iters)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return json.load(open(out.name))['records']


def by_case(records):
    """{size: {algorithm: [summary per cycle]}}, and what auto chose by size."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    chosen = {}
    for record in records:
        case = record['case']
        if record['skipped']:
            continue
        found[case['size_bytes']][case['algorithm']].append(record['summary'])
        if case['algorithm'] == 'auto':
            chosen[case['size_bytes']] = record['algorithm_chosen']
    return found, chosen


def median_us(summaries):
    return statistics.median(s['median_ns'] for s in summaries) / 1e3


def behind(one, other):
    """How much longer `one` took than `other` in the same cycles; below 0 if it was faster."""
    return statistics.median(a['median_ns'] / b['median_ns'] for a, b in zip(one, other)) - 1


def fastest(rows, chosen, start=0, step=1):
    """The algorithm that `chosen` is farthest behind, in every `step`-th cycle from `start` on; `chosen` itself if none is faster."""
    return max(rows, key=lambda name: behind(rows[chosen][start::step], rows[name][start::step]))


def regret_by_halves(rows, chosen):
    """Mean loss of `chosen` in each half of the cycles against the algorithm that was fastest in the other half; may be below 0."""
    return statistics.mean(behind(rows[chosen][judging::2], rows[fastest(rows, chosen, choosing, 2)][judging::2])
                           for choosing, judging in ((0, 1), (1, 0)))


def spread(name, values):
    ordered = sorted(values)
    print(f'{name}: mean {100 * statistics.mean(values):.2f} %, 95th percentile {100 * ordered[int(0.95 * (len(ordered) - 1))]:.1f} %, '
          f'worst {100 * ordered[-1]:.1f} %, {len(values)} points')


def print_regret(options):
    plain, halves, own = [], [], []
    print('backend workers      bytes  auto chose            regret  by halves  as its own case  fastest')
    for backend in options.backends.split(','):
        for workers in map(int, options.workers.split(',')):
            found, chosen = by_case(run(options, backend, workers, 'all,auto', options.first, options.last, options.factor))
            for size in sorted(found):
                named = {name: rows for name, rows in found[size].items() if name != 'auto'}
                best = fastest(named, chosen[size])
                plain.append(behind(named[chosen[size]], named[best]))
                halves.append(regret_by_halves(named, chosen[size]))
                own.append(max(behind(found[size]['auto'], named[best]), 0))
                print(f'{backend:7} {workers:7} {size:10}  {chosen[size]:20} {100 * plain[-1]:6.1f} % {100 * halves[-1]:8.1f} % '
                      f'{100 * own[-1]:13.1f} %  {best}', flush=True)
    spread('regret', plain)
    spread('by halves', halves)
    spread('as its own case', own)


def write_table(options):
    with open(options.table, 'a') as out:
        for backend in options.backends.split(','):
            for workers in map(int, options.workers.split(',')):
                found, _ = by_case(run(options, backend, workers, CONTENDERS[backend], options.first, options.last, options.factor))
                for size in sorted(found):
                    for name, rows in sorted(found[size].items()):
                        low, high = min(s['p25_ns'] for s in rows) / 1e3, max(s['p75_ns'] for s in rows) / 1e3
                        out.write(f'{backend},{options.cores},{workers},{size},{name},{median_us(rows):.4g},{low:.4g},{high:.4g},'
                                  f'{sum(s["samples"] for s in rows)}\n')
                out.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--collbench', default='collbench', help='the command')
    parser.add_argument('--backends', default='shm,grpc')
    parser.add_argument('--workers', default='2,3,4,6,8')
    parser.add_argument('--first', default='1K', help='smallest vector')
    parser.add_argument('--last', default='16M', help='largest vector')
    parser.add_argument('--factor', type=float, default=4, help='from one size to the next')
    parser.add_argument('--cycles', type=int, default=4, help='all of it so many times, at least 2')
    parser.add_argument('--max-time', default='40ms', help='timed part of a case')
    parser.add_argument('--iters', type=int, help='iterations of a case: few, so that the rows of a cycle are near each other')
    parser.add_argument('--wrap', default='', help='leads every command')
    parser.add_argument('--table', help='append the times of the contenders to this file instead')
    parser.add_argument('--cores', type=int, default=2, help='written into the table')
    options = parser.parse_args()
    if options.cycles < 2:
        parser.error('--cycles: two at least, one for each half')
    (write_table if options.table else print_regret)(options)
    return 0


if __name__ == '__main__':
    sys.exit(main())
