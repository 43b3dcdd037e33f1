#!/usr/bin/env python3
"""docs_test.py SOURCE_DIR COLLBENCH: runs the commands that README.md and docs/ show.

Only those whose output is the same on every machine, of files that the sources hold or that an
earlier command of the page wrote; `<!-- net.csv: FILE -->` in a page says what stands for net.csv.
Each line that a page shows must be in the output, in that order, but for the seconds that the
command took. A page may leave lines out; a command of which it shows none must end with 0.
"""
import glob
import os
import re
import shlex
import subprocess
import sys
import tempfile

ROOT, COLLBENCH = map(os.path.abspath, sys.argv[1:])
SAME_EVERYWHERE = ("algos", "calibrate", "diagnose", "logs", "select", "simulate", "synth", "train")
MEASURES = ("-B", "--epochs", "--steps")  # words of commands that measure this machine


def shown(page):
    """(command, lines) of every command that a page shows."""
    for block in re.findall(r"^```\n(.*?)^```", page, re.M | re.S):
        for part in re.split(r"^\$ ", block.replace("\\\n", ""), flags=re.M)[1:]:
            command, *lines = part.rstrip("\n").split("\n")
            yield command.split("  #")[0].strip(), [line for line in lines if line not in ("", "...")]


def is_same_everywhere(words):
    ours = words[0] in ("collbench", "./collbench") and words[1] in SAME_EVERYWHERE and not set(words) & set(MEASURES)
    return (ours or words[0] == "cat") and not re.search(r"[|<>$]", "".join(words))


def files_are_there(words, folder):
    written = {after for before, after in zip(words, words[1:]) if before in ("-o", "--output")}
    named = {word for word in words if re.fullmatch(r"[\w./-]+\.(csv|txt|xml|toml|conf)|rules|.*/", word)}
    return all(os.path.exists(os.path.join(folder, name)) for name in named - written)


def without_seconds(line):
    return re.sub(r"\b[\d.]+ m?s, (?=simulated|predicted)", "", line).rstrip()


def missing(expected, printed):
    """The lines of the page that the output does not have where they should be."""
    left = [without_seconds(line) for line in printed]
    gone = []
    for line in map(without_seconds, expected):
        if line in left:
            del left[:left.index(line) + 1]
        else:
            gone.append(line)
    return gone


def play(page, folder):
    """(command, its output, lines that it should have had) of every command that can be compared."""
    for name, source in re.findall(r"^<!-- (\S+): (\S+) -->$", page, re.M):
        os.symlink(os.path.join(ROOT, source), os.path.join(folder, name))
    for shared in ("results", "tests"):
        os.symlink(os.path.join(ROOT, shared), os.path.join(folder, shared))
    for command, expected in shown(page):
        words = shlex.split(command)
        if not is_same_everywhere(words) or not files_are_there(words, folder):
            continue
        words[0] = COLLBENCH if "collbench" in words[0] else words[0]
        done = subprocess.run(words, cwd=folder, text=True, capture_output=True,
                              env={"HOME": folder, "LANG": "C.UTF-8", "PATH": os.environ["PATH"]})
        printed = (done.stdout + done.stderr).splitlines()
        failed = not expected and done.returncode != 0  # otherwise the page shows what it said
        yield command, printed, ["(exit code 0)"] if failed else missing(expected, printed)


def main():
    wrong = played = 0
    for path in sorted([os.path.join(ROOT, "README.md"), *glob.glob(os.path.join(ROOT, "docs", "*.md"))]):
        with open(path, encoding="utf-8") as file, tempfile.TemporaryDirectory() as folder:
            for command, printed, gone in play(file.read(), folder):
                played += 1
                if gone:
                    wrong += 1
                    print("%s: $ %s" % (os.path.relpath(path, ROOT), command), *printed, "FAILED: does not print", *gone, sep="\n")
    print("%d commands played, %d differ from their page" % (played, wrong))
    sys.exit(wrong > 0 or played == 0)


main()
