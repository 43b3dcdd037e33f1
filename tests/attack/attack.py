#!/usr/bin/env python3
"""Gives every option of every command values that cannot be right, and every reader files that are
damaged, and checks what each run must keep to:

  - it ends by itself within the time limit, with a documented exit code, never by a signal;
  - it does not accept the value (exit 0), unless it says that the option had no effect, or
    ACCEPTED says why that is right;
  - its message is ours: no text of an exception or a library's own diagnosis, and no control
    character of the input reaches the output.

Options come from `--help`, so a new option is attacked without a change here. The same seed gives
the same attack. Of a share only the commands and files that it has are tried whole and written.

usage: attack.py COLLBENCH [--seed N] [--share X] [--files N] [--only TEXT] [--what W] [--jobs N]
  --seed N    draws the share, and how files are damaged [1]
  --share X   a part of all inputs, drawn by the seed [1]
  --files N   ways in which each file is damaged for each of its readers [20]
  --only TEXT only inputs whose command line contains TEXT
  --what W    options, files, or all of them [all]
Exits 1 if any run broke a rule; the last line counts runs and breaches.
"""

import argparse
import collections
import concurrent.futures
import functools
import os
import random
import re
import subprocess
import sys
import tempfile

from good_files import prepare, write_damaged

# A command line with its bad `value` of `option` (None: of anything); the place in BASES of the line
# that it spoils; what damages the file that it reads.
Input = collections.namedtuple("Input", "line option value base write", defaults=[None, None])
WITHOUT_VALUES = {"algos list", "completion", "topo list"}  # commands none of whose options has one
CODES = {0, 1, 2, 3, 4, 5, 77}
TIME_LIMIT_S = 30

# Short runs, so that what is attacked is the option and not the machine. Each must succeed by
# itself. A command may have several.
BASES = [
    ("run", ["--algo", "ring", "--workers", "2", "-b", "1K", "-e", "1K", "-n", "2",
            "--max-time", "5ms", "--timeout", "2s"]),
    ("simulate", ["--topo", "star:4,1Gbps,1us", "--algo", "ring", "-b", "1K", "-e", "1K"]),
    ("sweep", ["--topo", "star:4,1Gbps,1us", "--algo", "ring", "-b", "1K", "-e", "1K",
              "--output", "{tmp}/sweep.jsonl"]),
    ("train", ["--steps", "1", "--workers", "1"]),
    ("train", ["--steps", "1", "--workers", "2", "--sharding", "full", "--buckets", "tensor"]),
    ("train", ["--workload", "resnet50", "--topo", "cluster:2xdgx-h100"]),
    ("select", ["--topo", "star:4,1Gbps,1us", "-b", "1K", "-W", "4"]),
    ("merge", ["{tmp}/good.json", "--output", "{tmp}/merged.json"]),
    ("ab", ["--base", "{binary}", "--head", "{binary}", "--rounds", "1", "--no-self-check", "--",
           "--algo", "ring", "-b", "1K", "-e", "1K", "-n", "2", "--max-time", "5ms"]),
    ("ab", ["--base", "cat {tmp}/osu.txt", "--head", "cat {tmp}/osu.txt", "--read", "osu",
            "--rounds", "1", "--no-self-check"]),
    ("compare", ["{tmp}/good.json", "{tmp}/good.json"]),
    ("history list", ["--db", "{tmp}/history.sqlite"]),
    ("history add", ["{tmp}/good.json", "{tmp}/good.json", "--db", "{tmp}/new.sqlite"]),
    ("history show", ["ring/shm/workers:2/1024/f32/sum", "--db", "{tmp}/history.sqlite"]),
    ("history changes", ["--db", "{tmp}/history.sqlite"]),
    ("history prune", ["--db", "{tmp}/history.sqlite", "--keep", "100"]),
    ("report", ["{tmp}/good.json"]),
    ("calibrate", ["{tmp}/table.csv"]),
    ("regret", ["{tmp}/table.csv"]),
    ("tune", ["--offline", "{tmp}/table.csv"]),
    ("validate", ["{tmp}/table.csv", "--machine", "star:8,1Gbps,1us"]),
    ("diagnose", ["{tmp}/nccl.txt", "--topo", "star:2,100Gbps,2us"]),
    ("logs", ["{tmp}/inspector.log"]),
    ("profile", ["--", "mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2",
                 "{binary}", "--algo", "mpi", "-b", "1K", "-e", "1K", "-n", "2"]),
    ("synth", ["--topo", "{tmp}/net.csv", "--objective", "64K"]),
    ("synth", ["--topo", "{tmp}/net.csv", "--bound", "--json"]),
    ("launch", ["--hosts", "127.0.0.1:2", "--ssh", "sh {tmp}/ssh.sh", "--", "run", "--algo", "ring",
                "-b", "1K", "-e", "1K", "-n", "2"]),
    ("doctor", []),
    ("algos order", ["ring", "-W", "4"]),
    ("algos list", []),
    ("algos show", ["ring"]),
    ("algos verify", ["ring"]),
    ("topo list", []),
    ("topo show", ["star:4,1Gbps,1us"]),
    ("topo validate", ["{tmp}/machine.toml"]),
    ("topo convert", ["{tmp}/machine.toml", "--to", "toml"]),
    ("topo from-machine", []),
    ("topo draw", ["star:4,1Gbps,1us", "--dot", "-"]),
    ("completion", ["bash"]),
]
NUMBERS = ["", " ", "x", "1x", "1.5.2", "-", "--", "nan", "inf", "1e999", "99999999999999999999",
           "0x", "1,,2", "\u0661", "1 2", "\x1b[31m1", "-99999999999999999999"]
MEASURES = NUMBERS + ["1KiBB", "5parsec", "-1K", "1e400G", "s", "K"]
NAMES = ["", "no-such-name", "\x1b]0;x\x07", "a" * 100000, "ring:" * 2000, "../../etc/passwd",
         "%s%n%n", "ring:segments=-1", "ring,,ring", "\xff\xfe", "=1+1", "'; exit 0; '"]
PATHS = ["", "/proc/nonexistent/a/b", "/", "/dev/zero", "{tmp}/garbage", "{tmp}/deep.json",
         "{tmp}/deep.toml", "{tmp}/deep.xml", "{tmp}/empty", "a" * 5000, "\x1b[31m"]
OUTPUTS = ["", "/proc/nonexistent/a/b", "/", "/dev/full", "{tmp}", "a" * 5000]
FOLDERS = ["", "/proc/nonexistent/a/b", "/dev/null", "{tmp}/garbage", "a" * 5000]
LISTS = NAMES + ["1:2:3:4", ":", "1:", ":1", "=", "a=b=c", "1;2", "rank=9", "kill:rank=9",
                 "drop:every=0"]

FOREIGN = re.compile(
    r"json\.exception|filesystem error|error: status: |terminate called|std::|basic_string|"
    r"bad_alloc|stoi|stod|"
    r"_M_|what\(\)|Assertion .* failed|(?:Address|Leak|UndefinedBehavior|Thread)Sanitizer|"
    r"runtime error:|CLI::|toml::|YAML|unhandled|"
    r"bad lexical|invalid_argument|out_of_range|syntax error, unexpected", re.I)

# (option, value or None for every value, why exit 0 is right).
ACCEPTED = [
    ("--lr", None, "any finite number; what it makes of the loss is shown"),
    ("--stepfactor", "99999999999999999999", "one size"),
    ("--config", "{tmp}/empty", "a file without settings"),
    ("--nccl-library", None, "opened by the nccl back end alone"),
    ("--launcher", None, "looked at by tasks of several processes alone"),
    ("--db", "{tmp}/empty", "an empty file becomes a history"),
    ("--history", "{tmp}/empty", "which --db has made of it"),
]


@functools.cache
def words_of(binary, command):
    """Options with a value, and their placeholders, as `--help` shows them."""
    text = subprocess.run([binary, *command.split(), "--help"], capture_output=True, text=True,
                          timeout=TIME_LIMIT_S).stdout
    found = re.findall(r"^ {2,6}(?:-\w, )?(--[a-z0-9-]+) ([A-Z][^ ]*)", text, re.M)
    if not found and command not in WITHOUT_VALUES:
        sys.exit(f"no option with a value in what '{command} --help' shows: {text[:300]!r}")
    return sorted(set(found))


# Options whose FILE is written; each must notice a full disk.
WRITTEN = {"--json", "--csv", "--gbench", "--html", "--junit", "--markdown", "--openmetrics",
           "--nccl", "--trace", "--links", "--ranks", "--dot", "--svg", "--output",
           "--plot", "--curve", "--events", "--profile", "--observe", "--msccl", "--mscclpp",
           "--export-tuner", "--export-rules", "--inspector", "--flight-recorder"}
# Options that take any text.
FREE = {"--title", "--label", "--note", "--revision"}


def values_for(command, option, placeholder):
    head = re.split(r"[\[|,;:=]", placeholder)[0]
    if head == "FOLDER" and option in WRITTEN:  # which may be there
        return [value for value in OUTPUTS if value not in ("/", "{tmp}")]
    if (command, option) == ("logs", "--output"):
        return OUTPUTS
    if option in FREE:
        return ["", "\x1b]0;x\x07"]
    if option in WRITTEN and head in ("FILE", "PATH", "FOLDER", "DIR"):
        return OUTPUTS
    if "[" in placeholder or "," in placeholder or ":" in placeholder or "/" in placeholder:
        return LISTS if head not in ("N", "X", "SIZE") else sorted(set(LISTS + NUMBERS))
    if head in ("N", "R", "X", "PERCENT"):
        return NUMBERS
    if head in ("SIZE", "TIME", "SEC"):
        return MEASURES
    if head in ("FOLDER", "DIR"):  # made where it is not there: not "/", where root may write
        return FOLDERS
    if head in ("FILE", "PATH", "BIN"):
        return PATHS
    return NAMES


def base_words(number, binary, tmp):
    return [word.format(tmp=tmp, binary=binary) for word in BASES[number][1]]


def can_run(number, binary, tmp):
    """Whether a base can run here; one that fails by itself would prove nothing."""
    command, filled = BASES[number][0], base_words(number, binary, tmp)
    done = subprocess.run([binary, *command.split(), *filled], capture_output=True, cwd=tmp,
                          stdin=subprocess.DEVNULL, timeout=TIME_LIMIT_S, check=False)
    if done.returncode == 4:  # there is no MPI, say
        print(f"left out, since it cannot run here: {command}")
        return False
    if done.returncode != 0:
        sys.exit(f"'{command} {' '.join(filled)}' is to succeed and ended with "
                 f"{done.returncode}: {done.stderr.decode('utf-8', 'replace')}")
    if b"had no effect" in done.stderr:
        sys.exit(f"'{command}': {done.stderr.decode('utf-8', 'replace')}")
    return True


def inputs_of_options(binary, tmp):
    for number, (command, _) in enumerate(BASES):
        filled = base_words(number, binary, tmp)
        for option, placeholder in words_of(binary, command):
            for value in values_for(command, option, placeholder):
                given = value.replace("{tmp}", tmp)
                # What follows "--" is another command's.
                at = filled.index("--") if "--" in filled else len(filled)
                # An empty value reaches the command as a word of its own alone.
                words = [option, ""] if value == "" else [f"{option}={given}"]
                yield Input(command.split() + filled[:at] + words + filled[at:], option, value,
                            number)
        for stray in ["--no-such-option", "-Q", "stray\x1b[1m", ""]:
            yield Input(command.split() + filled + [stray], stray, None, number)


READERS = {  # file kind: commands that read it
    "good.json": [["report"], ["compare", "{good}"], ["merge"], ["validate"], ["regret"]],
    "table.csv": [["report"], ["calibrate"], ["regret"], ["tune", "--offline"],
                  ["validate", "--machine", "star:8,1Gbps,1us"]],
    "nccl.txt": [["report"], ["regret"], ["diagnose", "--topo", "star:2,100Gbps,2us"]],
    "net.csv": [["synth", "--bound", "--topo"], ["topo", "show"]],
    "inspector.log": [["logs"]],
    "osu.txt": [["report"]],
    "machine.toml": [["topo", "validate"], ["topo", "show"], ["simulate", "--algo", "ring", "-b",
                                                              "1K", "-e", "1K", "--topo"]],
    "platform.xml": [["topo", "validate"], ["topo", "show"]],
    "program.xml": [["simulate", "--topo", "star:4,1Gbps,1us", "-b", "1K", "-e", "1K", "--algo",
                     "file:"]],
    "history.sqlite": [["history", "list", "--db"], ["history", "changes", "--db"]],
}
TABLE_READERS = [["report"], ["diagnose", "--topo", "star:8,100Gbps,2us"]]
TOPOLOGY_READERS = [["topo", "show"], ["synth", "--bound", "--topo"]]
AB_READER = ["ab", "--rounds", "1", "--no-self-check", "--head", "cat {tmp}/osu.txt", "--read"]
CORPORA = {  # folder of tests/fuzz/corpus, or a file in it: commands that read such files
    "job_log": [["logs"], ["report"]],
    "foreign_table": TABLE_READERS + [["validate", "--machine", "star:8,1Gbps,1us"]],
    "named_times/gbench.json": [AB_READER + ["gbench", "--base", "cat:"]],
    "named_times/hyperfine.json": [AB_READER + ["hyperfine", "--base", "cat:"]],
    "named_times/units.csv": [AB_READER + ["csv:name,time,unit", "--base", "cat:"]],
    "comparison": [["report"]],
    "records": [["report"], ["merge"]],
    "replay_files": [["report"]],
    "config": [["run", "--list", "--config"]],
    "workload": [["train", "--topo", "star:4,1Gbps,1us", "--workload"]],
    "machine": TOPOLOGY_READERS,
    "edge_list": TOPOLOGY_READERS,
    "nvidia_smi": TOPOLOGY_READERS,
    "nccl_xml": TOPOLOGY_READERS,
    "hwloc_xml": TOPOLOGY_READERS,
    "astra_yaml": TOPOLOGY_READERS,
    "simgrid_xml": TOPOLOGY_READERS,
}


def files_and_readers(tmp):
    for name, readers in READERS.items():
        yield os.path.join(tmp, name), readers
    corpus = os.path.join(os.path.dirname(__file__), "../fuzz/corpus")
    for name, readers in CORPORA.items():
        path = os.path.join(corpus, name)
        if os.path.isdir(path):
            for entry in sorted(os.listdir(path)):
                yield os.path.join(path, entry), readers
        else:
            yield path, readers


def inputs_of_files(tmp, per_reader, seed_of_all):
    for path, readers in files_and_readers(tmp):
        name = os.path.basename(path)
        for number, reader in enumerate(readers):
            for seed in range(per_reader):
                bad = os.path.join(tmp, f"bad-{number}-{seed}-{name}")
                line = [word.format(good=os.path.join(tmp, "good.json"), tmp=tmp)
                        for word in reader]
                if line[-1] == "file:":
                    line[-1] += bad
                elif line[-1] == "cat:":
                    line[-1] = "cat " + bad
                else:
                    line.append(bad)
                write = functools.partial(write_damaged, bad, path,
                                          (seed_of_all * 1009 + seed) * 31 + number)
                yield Input(line, name, None, write=write)


def breach(given, binary, tmp):
    """What rule a run broke, or ''; and the output's first lines."""
    line, option, value = given.line, given.option, given.value
    if given.write:
        given.write()
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COLLBENCH_")}
    environment["HOME"] = tmp
    try:
        done = subprocess.run([binary, *line], capture_output=True, cwd=tmp, env=environment,
                              stdin=subprocess.DEVNULL, timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"did not end within {TIME_LIMIT_S} s", ""
    except ValueError as error:  # a NUL in an argument is impossible on every system
        return "", str(error)
    text = (done.stdout + done.stderr).decode("utf-8", "replace")
    shown = text[:300]
    if done.returncode < 0:
        return f"ended by signal {-done.returncode}", shown
    if done.returncode not in CODES:
        return f"exit code {done.returncode}", shown
    named = FOREIGN.search(text.replace(" ".join(line), ""))
    if named:
        at = max(0, named.start() - 120)
        return f"foreign text '{named.group()}'", text[at:at + 300]
    if any(ord(c) < 32 and c not in "\n\t\r" for c in text):
        return "control characters in the output", repr(shown)
    unread = re.search(rf"warning: .*{re.escape(option)}\b.* had no effect here", text) is not None
    if value is not None and done.returncode == 0 and not unread and not is_accepted(option, value):
        return f"accepted {option}", shown
    return "", shown


def is_accepted(option, value):
    return any(option == name and (only is None or only == value) for name, only, _ in ACCEPTED)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("binary")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1)
    parser.add_argument("--files", type=int, default=20, help="ways to damage a file")
    parser.add_argument("--only", default="")
    parser.add_argument("--what", choices=["options", "files", "all"], default="all")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    binary = os.path.abspath(arguments.binary)
    draw = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory(prefix="collbench-attack-") as tmp:
        prepare(binary, tmp, TIME_LIMIT_S)
        inputs = []
        if arguments.what != "files":
            inputs += inputs_of_options(binary, tmp)
        if arguments.what != "options":
            inputs += inputs_of_files(tmp, arguments.files, arguments.seed)
        inputs = [one for one in inputs if arguments.only in " ".join(one.line)]
        if arguments.share < 1:
            inputs = draw.sample(inputs, int(len(inputs) * arguments.share))
        if not inputs:
            sys.exit("no input is left to be tried")
        broken = collections.Counter()
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            drawn = sorted({one.base for one in inputs if one.base is not None})
            there = {None} | {base for base, can in zip(drawn, pool.map(
                lambda base: can_run(base, binary, tmp), drawn)) if can}
            inputs = [one for one in inputs if one.base in there]
            runs = pool.map(lambda one: (one, breach(one, binary, tmp)), inputs)
            for one, (rule, shown) in runs:
                if rule:
                    broken[rule] += 1
                    print(f"{rule}: {' '.join(repr(w)[:100] for w in one.line)}\n"
                          f"    {shown[:300]!r}")
    for rule, count in broken.most_common():
        print(f"{count} x {rule}")
    print(f"{len(inputs)} inputs, {sum(broken.values())} breaches")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
