#!/usr/bin/env python3
"""How much time `--algo auto` loses on this machine against the best of all algorithms of the same run.

    bench/auto_regret.py --collbench build/cli/collbench                      # the regret, all algorithms measured
    bench/auto_regret.py --collbench build/cli/collbench --table times.csv    # the times that auto rests on

Each back end and number of workers is one run, so that it can be repeated alone (--backends, --workers) and each command can be led
by another one (--wrap "nice -n -10"). Algorithms alternate within every size; a case counts with the median over the cycles of its
medians. Regret is the time of the algorithm that auto chose over the fastest time, both from the rows that name an algorithm: the
fastest of some twenty equal rows is a little lucky, which counts against auto. `auto as its own case` compares auto's own row.
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
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        return json.load(open(out.name))['records']


def medians(records):
    """{size: {algorithm: (us, low, high, samples)}} over the cycles, and what auto chose by size."""
    found = collections.defaultdict(lambda: collections.defaultdict(list))
    chosen = {}
    for record in records:
        case = record['case']
        if record['skipped']:
            continue
        found[case['size_bytes']][case['algorithm']].append(record['summary'])
        if case['algorithm'] == 'auto':
            chosen[case['size_bytes']] = record['algorithm_chosen']
    times = {size: {name: (statistics.median(s['median_ns'] for s in all_cycles) / 1e3, min(s['p25_ns'] for s in all_cycles) / 1e3,
                           max(s['p75_ns'] for s in all_cycles) / 1e3, sum(s['samples'] for s in all_cycles))
                    for name, all_cycles in rows.items()} for size, rows in found.items()}
    return times, chosen


def print_regret(options):
    of_rule, of_case = [], []
    print('backend workers      bytes  auto chose            regret  as its own case  fastest')
    for backend in options.backends.split(','):
        for workers in map(int, options.workers.split(',')):
            times, chosen = medians(run(options, backend, workers, 'all,auto', options.first, options.last, options.factor))
            for size in sorted(times):
                named = {name: time[0] for name, time in times[size].items() if name != 'auto'}
                best = min(named, key=named.get)
                regret = named[chosen[size]] / named[best] - 1
                case = times[size]['auto'][0] / named[best] - 1
                of_rule.append(regret)
                of_case.append(max(case, 0))
                print(f'{backend:7} {workers:7} {size:10}  {chosen[size]:20} {100 * regret:6.1f} %  {100 * case:13.1f} %  {best}', flush=True)
    for name, values in (('regret', of_rule), ('as its own case', of_case)):
        ordered = sorted(values)
        print(f'{name}: mean {100 * statistics.mean(values):.2f} %, 95th percentile {100 * ordered[int(0.95 * (len(ordered) - 1))]:.1f} %, '
              f'worst {100 * ordered[-1]:.1f} %, {len(values)} points')


def write_table(options):
    with open(options.table, 'a') as out:
        for backend in options.backends.split(','):
            for workers in map(int, options.workers.split(',')):
                times, _ = medians(run(options, backend, workers, CONTENDERS[backend], options.first, options.last, options.factor))
                for size in sorted(times):
                    for name, (us, low, high, samples) in sorted(times[size].items()):
                        out.write(f'{backend},{options.cores},{workers},{size},{name},{us:.4g},{low:.4g},{high:.4g},{samples}\n')
                out.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--collbench', default='collbench', help='the command')
    parser.add_argument('--backends', default='shm,grpc')
    parser.add_argument('--workers', default='2,3,4,6,8')
    parser.add_argument('--first', default='1K', help='smallest vector')
    parser.add_argument('--last', default='16M', help='largest vector')
    parser.add_argument('--factor', type=float, default=4, help='from one size to the next')
    parser.add_argument('--cycles', type=int, default=3, help='all of it so many times')
    parser.add_argument('--max-time', default='40ms', help='timed part of a case')
    parser.add_argument('--wrap', default='', help='leads every command')
    parser.add_argument('--table', help='append the times of the contenders to this file instead')
    parser.add_argument('--cores', type=int, default=2, help='written into the table')
    options = parser.parse_args()
    (write_table if options.table else print_regret)(options)
    return 0


if __name__ == '__main__':
    sys.exit(main())
