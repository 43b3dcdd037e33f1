#!/usr/bin/env python3
"""How much memory a stranger's flood of HTTP/2 resets takes from a waiting worker, and that the run
still begins and ends well.

    flood.py COLLBENCH [--connections 20] [--resets 50000] [--limit-mib 64] [--task run|ps]
    flood.py COLLBENCH --latency [--seconds 8] [--times 2] [--task run|ps]

Without a token the stranger opens connections and sends HEADERS + RST_STREAM again and again, which
costs it 22 bytes each and a server that keeps a record of every stream some kilobytes. A connection
that is closed is opened again. Prints the worker's memory before and at worst; exit code 1 if it
grew by more than the limit, or if the run then failed.

With --latency the job runs and the flood goes on for so long, three times in turn with as long a
rest: prints the median latency of an all-reduce (the time of a step of training) without and with
it, and exits 1 if that is more than --times as long. The stranger takes time of the machine
as well: a third column has the latency while it floods a port behind which nobody looks."""
import argparse
import json
import os
import resource
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(
        ">I", stream) + payload


def literal(name, value):
    """A header that HPACK's table keeps, so that later ones are a byte each."""
    return b"\x40" + bytes([len(name)]) + name + bytes([len(value)]) + value


# POST, http, then four that become entries 65 to 62 of the table.
FIRST = b"\x83\x86" + literal(b":path", b"/collbench/x") + literal(b":authority", b"a") + literal(
    b"te", b"trailers") + literal(b"content-type", b"application/grpc")
LATER = b"\x83\x86\xc1\xc0\xbf\xbe"


def sink():
    """A port that accepts and reads, and does nothing: what a flood costs the machine itself."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=100)

    def drain(stranger):
        with stranger:
            try:
                while stranger.recv(65536):
                    pass
            except OSError:
                pass

    def accept():
        while True:
            threading.Thread(target=drain, args=(listener.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def flood(port, resets, counts, stop):
    """Sends `resets` pairs, over as many connections as it takes."""
    sent = 0
    while sent < resets and not stop.is_set():
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as stranger:
                stranger.sendall(PREFACE + frame(4, 0, 0))
                stream, block = 1, FIRST
                while sent < resets and not stop.is_set():
                    part = b""
                    for _ in range(500):
                        part += frame(1, 4, stream, block) + frame(3, 0, stream,
                                                                   struct.pack(">I", 8))
                        stream, block = stream + 2, LATER
                    stranger.sendall(part)
                    sent += 500
                    counts["resets"] += 500
        except OSError:
            counts["closed"] += 1
            time.sleep(0.001)


def resident_kib(pid):
    with open("/proc/%d/status" % pid) as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def free_ports(count):
    held = [socket.socket() for _ in range(count)]
    for each in held:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports


def commands(collbench, task, ports, work=None):
    """The waiting one first, then those that make its run whole; each with its environment."""
    addresses = ["127.0.0.1:%d" % port for port in ports]
    if task == "run":
        words = [collbench, "--hosts", ",".join(addresses[:2]), "--algo", "ring", "-b", "1K", "-e",
                 "1K", "--timeout", "120", *(work or ["-n", "20"])]
        return [(words + ["--rank", str(rank)], {}) for rank in (0, 1)]
    cluster = {"ps": addresses[:1], "worker": addresses[1:2], "chief": addresses[2:3]}
    words = [collbench, "train", "--strategy", "parameter-server", "--timeout", "120",
             *(work or ["--steps", "4"])]
    return [(words, {"TF_CONFIG": json.dumps({"cluster": cluster,
                                              "task": {"type": kind, "index": 0}})})
            for kind in ("ps", "worker", "chief")]


def start(task, folder):
    return subprocess.Popen(task[0], env={**os.environ, **task[1]}, cwd=folder,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def await_listener(port):
    for _ in range(100):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.1)


def strangers_at(port, options, resets, counts, stop):
    threads = [threading.Thread(target=flood, args=(port, resets // options.connections, counts,
                                                    stop), daemon=True)
               for _ in range(options.connections)]
    for each in threads:
        each.start()
    return threads


def figure(options, folder, target, counts):
    """Microseconds of an all-reduce (median) or a step while `target`, a port or None for the
    job's own, 0 for none, is flooded."""
    ports = free_ports(3)
    work = ["-n", "100000000", "--json", "kept.json"] if options.task == "run" else [
        "--steps", str(options.steps), "--epochs", "1"]
    tasks = commands(os.path.abspath(options.collbench), options.task, ports, work)
    stop = threading.Event()
    begin = time.monotonic()
    jobs = [start(task, folder) for task in tasks]
    await_listener(ports[0])
    if target != 0:
        strangers_at(target or ports[0], options, 10**12, counts, stop)
    if options.task == "run":
        time.sleep(options.seconds)
        jobs[0].terminate()
    outputs = [job.communicate(timeout=300)[0] for job in jobs]
    stop.set()
    if options.task == "run":
        with open(os.path.join(folder, "kept.json"), encoding="utf-8") as file:
            return statistics.median(json.load(file)["records"][0]["latency_ns"]) / 1000
    if jobs[-1].returncode != 0:
        sys.exit(outputs[-1][-2000:])
    return (time.monotonic() - begin) / options.steps * 1e6


def latency(options):
    figures = {"alone": [], "flooded": [], "beside a flood": []}
    counts = {"resets": 0, "closed": 0}
    elsewhere = sink()
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(options.rounds):
            for name, target in zip(figures, (0, None, elsewhere)):
                figures[name].append(figure(options, folder, target, counts))
    alone, flooded, beside = (statistics.median(values) for values in figures.values())
    for name, values in figures.items():
        print("%s, %s: median %.1f us (%s)" % (options.task, name, statistics.median(values),
                                               ", ".join("%.1f" % value for value in values)))
    print("%s: flooded %.2f times alone, %.2f times beside a flood; %d resets, %d connections closed"
          % (options.task, flooded / alone, flooded / beside, counts["resets"], counts["closed"]))
    return 1 if flooded > options.times * alone else 0


def memory(options):
    ports = free_ports(3)
    tasks = commands(os.path.abspath(options.collbench), options.task, ports)
    with tempfile.TemporaryDirectory() as folder:
        waiting = start(tasks[0], folder)
        await_listener(ports[0])
        time.sleep(1)
        before = worst = resident_kib(waiting.pid)
        counts, stop = {"resets": 0, "closed": 0}, threading.Event()
        begin = time.monotonic()
        strangers = strangers_at(ports[0], options, options.resets, counts, stop)
        end = begin + options.patience
        while (any(each.is_alive() for each in strangers) and waiting.poll() is None
               and time.monotonic() < end):
            worst = max(worst, resident_kib(waiting.pid))
            time.sleep(0.005)
        took = time.monotonic() - begin
        endless = any(each.is_alive() for each in strangers)
        stop.set()
        for _ in range(50):  # what was sent may still have to be read
            time.sleep(0.02)
            after = resident_kib(waiting.pid) if waiting.poll() is None else 0
            worst = max(worst, after)
        codes = []
        for each in [waiting] + [start(task, folder) for task in tasks[1:]]:
            try:
                left = max(1, begin + 2 * options.patience - time.monotonic())
                output = each.communicate(timeout=left)[0]
            except subprocess.TimeoutExpired:
                each.kill()
                output = each.communicate()[0] + "\n(did not end, and was ended by force)"
            codes.append(each.returncode)
            if each.returncode != 0:
                print(output[-2000:])
    grown = (worst - before) / 1024
    print("%s: %d resets sent, %d connections closed, %.1f s; memory %.1f MiB before, %.1f at worst "
          "(+%.1f), %.1f after; exit codes %s" % (options.task, counts["resets"], counts["closed"],
                                                  took, before / 1024, worst / 1024, grown,
                                                  after / 1024, codes))
    if grown > options.limit_mib:
        print("the flood took more than %g MiB" % options.limit_mib)
    if endless:
        print("the flood was not taken in %g s" % options.patience)
    return 1 if grown > options.limit_mib or any(codes) or endless else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("collbench")
    parser.add_argument("--connections", type=int, default=20)
    parser.add_argument("--resets", type=int, default=50_000, help="of all connections together")
    parser.add_argument("--limit-mib", type=float, default=64)
    parser.add_argument("--patience", type=float, default=100,
                        help="seconds that the flood may take, and as many for the run after it")
    parser.add_argument("--task", choices=["run", "ps"], default="run")
    parser.add_argument("--latency", action="store_true")
    parser.add_argument("--seconds", type=float, default=8, help="of each run, with --latency")
    parser.add_argument("--steps", type=int, default=2000, help="of each training, with --latency")
    parser.add_argument("--rounds", type=int, default=3, help="with --latency")
    parser.add_argument("--times", type=float, default=2, help="allowed, with --latency")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    return latency(options) if options.latency else memory(options)


sys.exit(main())
