#!/usr/bin/env python3
"""Steps of sharded training beside mirrored ones, and what a process that trains takes in memory.

    bench/peers/sharded_steps.py --collbench build/cli/collbench --rounds 5

Each round trains once in every way, in fresh processes whose order turns; a ratio is the median over the rounds of (a way's median step /
that of mirrored training in the same round). Memory is what the vectors of rank 0 took in the first step, what they should take, and
the process's largest resident set per worker. Parameters must end with the bits of mirrored training.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

MODELS = {'mnist-cnn': ['--model', 'mnist-cnn', '--batch', '64', '--buckets', 'ddp'],
          'mlp-4x2048': ['--model', 'mlp', '--widths', '2048,2048,2048,2048', '--batch', '256', '--buckets', 'tensor']}
WAYS = ('none', 'optimizer', 'full')


def train(options, model, way):
    """(median step of rank 0 in ms, the document, largest resident set in bytes)."""
    with tempfile.NamedTemporaryFile(suffix='.json') as out:
        command = [options.collbench, 'train', *MODELS[model], '--workers', str(options.workers), '--steps', str(options.steps),
                   '--epochs', '1', '--samples', '4096', '--optimizer', 'adam', '--algo', 'direct', '--sharding', way,
                   '--json', out.name, '--progress', 'off']
        child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        if status != 0:
            sys.exit(f'{" ".join(command)} ended with status {status}')
        document = json.load(open(out.name))
    return document['ranks'][0]['median']['step_ms'], document, usage.ru_maxrss * 1024


def megabytes(size):
    return f'{size / 2**20:8.1f}'


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--collbench', required=True)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--workers', type=int, default=2)
    parser.add_argument('--steps', type=int, default=15)
    parser.add_argument('--models', default=','.join(MODELS))
    options = parser.parse_args()
    print(f'{"model":12}{"sharding":>10}{"step ms":>10}{"ratio":>8}{"vectors MiB":>13}{"expected":>10}{"process/worker":>16}')
    for model in options.models.split(','):
        steps = {way: [] for way in WAYS}
        last = {}
        for number in range(options.rounds):
            for i in range(len(WAYS)):
                way = WAYS[(number + i) % len(WAYS)]
                step, document, resident = train(options, model, way)
                steps[way].append(step)
                last[way] = (document, resident)
        if len({document['parameters_digest'] for document, _ in last.values()}) != 1:
            sys.exit(f'{model}: the parameters differ')
        for way in WAYS:
            ratio = statistics.median(own / base for own, base in zip(steps[way], steps['none']))
            document, resident = last[way]
            memory = {kind: sum(document['memory'][kind].values()) for kind in ('measured', 'expected')}
            print(f'{model:12}{way:>10}{statistics.median(steps[way]):10.2f}{ratio:8.2f}{megabytes(memory["measured"]):>13}'
                  f'{megabytes(memory["expected"]):>10}{megabytes(resident / options.workers):>16}')


if __name__ == '__main__':
    main()
