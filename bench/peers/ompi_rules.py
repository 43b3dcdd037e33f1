#!/usr/bin/env python3
"""Runs Open MPI with a file of dynamic rules and shows which all-reduce it plays for each size, with the time.

    collbench select --backend shm -W 4 --policy ompi --export ompi -o rules
    bench/peers/ompi_rules.py rules --ranks 4 --sizes 1024,65536,4194304

Without a file Open MPI follows its own fixed rules. Needs mpicxx and mpirun.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('rules', nargs='?', help='file of dynamic rules')
    parser.add_argument('--ranks', type=int, default=4)
    parser.add_argument('--sizes', default='64,1024,16384,65536,262144,1048576,4194304', help='bytes per rank')
    options = parser.parse_args()
    source = pathlib.Path(__file__).with_suffix('.cc')
    with tempfile.TemporaryDirectory() as folder:
        program, library = folder + '/program', folder + '/watch.so'
        subprocess.run(['mpicxx', '-std=c++20', '-O2', '-DPROGRAM', str(source), '-o', program], check=True)
        subprocess.run(['mpicxx', '-std=c++20', '-O2', '-shared', '-fPIC', str(source), '-o', library, '-ldl'], check=True)
        command = ['mpirun', '--allow-run-as-root', '--oversubscribe', '-n', str(options.ranks), '-x', 'LD_PRELOAD=' + library,
                   '--mca', 'coll', 'tuned,basic,libnbc,self,inter']
        if options.rules:
            command += ['--mca', 'coll_tuned_use_dynamic_rules', '1', '--mca', 'coll_tuned_dynamic_rules_filename', options.rules]
        return subprocess.run(command + [program] + options.sizes.split(',')).returncode


if __name__ == '__main__':
    sys.exit(main())
