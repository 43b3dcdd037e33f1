#!/usr/bin/env python3
"""cluster.py [OPTION..] -- COMMAND..: a cluster on one machine.

Every host is a network namespace of its own. Each has one link to a switch, a bridge in a further
namespace, and the link is shaped in both directions with tbf, the token bucket of tc. On every host
COMMAND is started once, or --workers-per-host times, with COLLBENCH_RANK, COLLBENCH_HOSTS and a
common COLLBENCH_JOB_TOKEN set, so that `collbench run` and `collbench train` find each other:

    cluster.py --hosts 4 --rate 1gbit -- collbench run --algo ring -b 4M -e 64M --json out.json

Words {rank}, {ranks}, {host} and {hosts} in COMMAND are replaced. The exit code is that of the lowest
rank that did not end with 0; 77, with the reason, if namespaces are not permitted here.

All of it lives in namespaces (network, mount and process ids) that end with this command, however it
ends: nothing of the machine's own network is touched, and nothing is left behind. Needs Linux,
iproute2 and util-linux, and either root or user namespaces open to everybody.

Rates are those of Ethernet, as a vendor would print them: a full frame of 1500 bytes takes 38 more on
the wire, so TCP with time stamps carries 1448 of 1538 bytes, 94.1 % (`payload_rate` below). tbf itself
does not count 24 of those, and is set lower by as much.
"""
import argparse
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import time

SKIPPED = 77
INSIDE = "INSIDE_TEST_CLUSTER"
NETWORK = "10.77.0.{}"
NETWORK_6 = "fd77::{:x}"
ETHERNET_HEADER = 14
ETHERNET_UNSEEN = 24  # preamble, check sequence and gap between frames, which tbf does not see
TCP_HEADERS = {4: 52, 6: 72}  # with time stamps
PORT = 7101


def bits_per_second(text):
    """The number that a rate such as 100mbit, 1gbit or 2.5Gbps stands for."""
    found = re.fullmatch(r"([0-9.]+)([kmg]?)bi?t?(?:ps)?", text.lower())
    if not found or float(found[1]) <= 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a rate such as 100mbit or 1gbit")
    return float(found[1]) * {"": 1, "k": 1e3, "m": 1e6, "g": 1e9}[found[2]]


def payload_rate(rate, mtu=1500, family=4):
    """Bytes per second that TCP can carry over an Ethernet link of `rate` bits per second."""
    return rate / 8 * (mtu - TCP_HEADERS[family]) / (mtu + ETHERNET_HEADER + ETHERNET_UNSEEN)


def sh(*words):
    subprocess.run(words, check=True)


def ip(*words, host=None):
    sh("ip", *(("-n", host) if host else ()), *words)


class KernelCannot(Exception):
    """The kernel has no such device or queue: a cluster cannot be made here."""


class Cluster:
    """Hosts h0, h1, .. and the switch; requires to be inside the namespaces of enter(). Raises
    KernelCannot."""

    def __init__(self, hosts, rate=None, delay=None, mtu=1500, burst=None, queue="50ms", host_rates=None):
        self.hosts, self.rate, self.mtu = hosts, rate, mtu
        self.host_rates = host_rates or {}  # of hosts whose link has another rate
        self.burst, self.queue = burst, queue
        self.delay = delay
        try:
            self._make()
        except subprocess.CalledProcessError as error:
            # What ip and tc end with where the kernel refuses; words they do not know are 1 or 255.
            if error.returncode != 2:
                raise
            raise KernelCannot(f"this kernel cannot do it: {' '.join(error.cmd)}") from error

    def _make(self):
        ip("netns", "add", "switch")
        ip("link", "add", "bridge", "type", "bridge", "stp_state", "0", host="switch")
        ip("link", "set", "bridge", "mtu", str(self.mtu), "up", host="switch")
        for place in range(self.hosts):
            self._add_host(place)

    def _add_host(self, place):
        name, port = f"h{place}", f"port{place}"
        ip("netns", "add", name)
        ip("link", "add", port, "mtu", str(self.mtu), "type", "veth", "peer", "name", "eth0", "mtu",
           str(self.mtu), "netns", name, host="switch")
        ip("link", "set", port, "master", "bridge", "up", host="switch")
        ip("link", "set", "lo", "up", host=name)
        ip("address", "add", self.address(place) + "/16", "dev", "eth0", host=name)
        ip("address", "add", self.address(place, 6) + "/64", "dev", "eth0", "nodad", host=name)
        ip("link", "set", "eth0", "up", host=name)
        rate = self.host_rates.get(place, self.rate)
        self._shape(name, "eth0", rate)
        self._shape("switch", port, rate)

    def _shape(self, namespace, device, rate):
        parent = ["root"]
        if self.delay:
            sh("tc", "-n", namespace, "qdisc", "add", "dev", device, "root", "handle", "1:", "netem",
               "delay", self.delay, "limit", "100000")
            parent = ["parent", "1:1"]
        if not rate:
            return
        seen = (self.mtu + ETHERNET_HEADER) / (self.mtu + ETHERNET_HEADER + ETHERNET_UNSEEN)
        # A bucket of 0.5 ms: timers may come so late without a loss of rate, and messages that fit
        # into it are not slowed down. Packets that TCP hands over in one go, up to 64 KiB, would be
        # cut by tbf if they were larger than the bucket.
        burst = self.burst or max(int(rate / 8 * 0.5e-3), 4 * self.mtu + 2000)
        largest = max(self.mtu, min(65536, burst - 3 * self.mtu))
        ip("link", "set", device, "gso_max_size", str(largest),
           host=namespace)
        sh("tc", "-n", namespace, "qdisc", "add", "dev", device, *parent, "handle", "10:", "tbf",
           "rate", f"{rate * seen:.0f}bit", "burst", str(burst), "latency", self.queue)

    @staticmethod
    def address(place, family=4):
        return (NETWORK if family == 4 else NETWORK_6).format(place + 1)

    def listening(self, workers_per_host=1, family=4):
        """HOST:PORT of every worker, by rank; those of a host follow each other."""
        form = "{}:{}" if family == 4 else "[{}]:{}"
        return [form.format(self.address(host, family), PORT + worker)
                for host in range(self.hosts) for worker in range(workers_per_host)]

    def start(self, place, command, **options):
        """Starts `command` on a host; as subprocess.Popen."""
        return subprocess.Popen(["nsenter", f"--net=/run/netns/h{place}", *command], **options)

    def sent_bytes(self):
        """What has left all hosts so far, headers included."""
        total = 0
        for place in range(self.hosts):
            shown = subprocess.run(["ip", "-n", f"h{place}", "-s", "-j", "link", "show", "eth0"],
                                   check=True, capture_output=True, text=True).stdout
            total += json.loads(shown)[0]["stats64"]["tx"]["bytes"]
        return total

    def cut(self, place):
        """Pulls the plug of a host: no end is told."""
        ip("link", "set", f"port{place}", "nomaster", host="switch")

    def down(self, place):
        """Takes a host's device down, which the host itself sees."""
        ip("link", "set", "eth0", "down", host=f"h{place}")


def enter():
    """Goes on inside namespaces of its own; what is started there ends with this process."""
    if os.environ.get(INSIDE):
        sh("mount", "-t", "tmpfs", "tmpfs", "/run")  # `ip netns` keeps its names there
        return
    for program in ("unshare", "nsenter", "ip", "tc", "mount"):
        if shutil.which(program) is None:
            skip(f"there is no program '{program}' (iproute2, util-linux)")
    words = ["unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() != 0:
        words[1:1] = ["--user", "--map-root-user"]
    probe = subprocess.run(words + ["true"], capture_output=True, text=True)
    if probe.returncode != 0:
        skip("namespaces are not permitted here: " + probe.stderr.strip())
    os.environ[INSIDE] = "1"
    os.execvp(words[0], words + [sys.executable] + sys.argv)


def skip(why):
    print("skipped:", why, file=sys.stderr)
    sys.exit(SKIPPED)


def exit_code(process):
    """As a shell has it."""
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def run(cluster, command, workers_per_host=1, family=4, limit=None, midway=None, apart=0,
        output=None, errors=None):
    """Starts `command` as every rank, `apart` seconds after each other, and waits for all; their exit
    codes, by rank. Those that still run after `limit` seconds are killed. `midway` is (whether it
    is time, what to do then), two functions. `output` is a file for standard output, `errors` are
    files for standard error, by rank."""
    addresses = cluster.listening(workers_per_host, family)
    workers = []
    token = os.environ.get("COLLBENCH_JOB_TOKEN", secrets.token_hex(16))
    for rank in range(len(addresses)):
        names = {"rank": rank, "ranks": len(addresses), "host": rank // workers_per_host,
                 "hosts": ",".join(addresses)}
        words = [re.sub(r"\{(rank|ranks|host|hosts)\}", lambda m: str(names[m[1]]), word)
                 for word in command]
        environment = {**os.environ, "COLLBENCH_RANK": str(rank),
                       "COLLBENCH_HOSTS": names["hosts"], "COLLBENCH_JOB_TOKEN": token}
        workers.append(cluster.start(rank // workers_per_host, words, env=environment,
                                     stdout=output, stderr=errors[rank] if errors else None))
        time.sleep(apart)
    begin = time.monotonic()
    while any(worker.poll() is None for worker in workers):
        passed = time.monotonic() - begin
        if midway and midway[0]():
            midway[1]()
            midway = None
        if limit and passed > limit:
            for worker in workers:
                worker.kill()
        time.sleep(0.02)
    return [exit_code(worker) for worker in workers]


def arguments():
    parser = argparse.ArgumentParser(
        description="Runs COMMAND on every host of a cluster on one machine.",
        epilog="The head of this file says more.")
    parser.add_argument("--hosts", type=int, default=2, metavar="N", help="[2]")
    parser.add_argument("--workers-per-host", type=int, default=1, metavar="N", help="[1]")
    parser.add_argument("--rate", type=bits_per_second, metavar="RATE",
                        help="of every link, each way: 100mbit, 1gbit; not limited by default")
    parser.add_argument("--host-rate", action="append", default=[], metavar="HOST:RATE",
                        help="of the link of one host, from 0: 3:50mbit; may be given again")
    parser.add_argument("--delay", metavar="TIME",
                        help="of every link, each way: 50us; needs netem in the kernel")
    parser.add_argument("--mtu", type=int, default=1500, metavar="BYTES", help="[1500]")
    parser.add_argument("--burst", type=int, metavar="BYTES",
                        help="what a link may send at once after a pause [0.5 ms of its rate]")
    parser.add_argument("--queue", default="50ms", metavar="TIME",
                        help="packets that would wait longer than this are dropped [50ms]")
    parser.add_argument("--ipv6", action="store_true", help="addresses are IPv6")
    parser.add_argument("--cut", metavar="HOST:SECONDS",
                        help="pull the plug of that host (from 0) after so long")
    parser.add_argument("--limit", type=float, metavar="SECONDS", help="kill what runs longer")
    parser.add_argument("command", nargs="+", metavar="COMMAND")
    options = parser.parse_args()
    options.host_rates = {}
    if options.hosts < 1 or options.hosts > 250 or options.workers_per_host < 1:
        parser.error("--hosts is 1 to 250, --workers-per-host at least 1")
    for text in options.host_rate:
        host, _, rate = text.partition(":")
        if not host.isdigit() or int(host) >= options.hosts:
            parser.error("--host-rate is HOST:RATE, such as 3:50mbit, of a host from 0 to "
                         f"{options.hosts - 1}, not '{text}'")
        try:
            options.host_rates[int(host)] = bits_per_second(rate)
        except argparse.ArgumentTypeError as error:
            parser.error(f"--host-rate: {error}")
    if options.cut and not re.fullmatch(r"[0-9]+:[0-9.]+", options.cut):
        parser.error("--cut is HOST:SECONDS, such as 2:1.5")
    if options.cut and int(options.cut.split(":")[0]) >= options.hosts:
        parser.error("--cut: there is no such host; they count from 0")
    return options


def main():
    options = arguments()
    enter()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(128 + number))
    try:
        cluster = Cluster(options.hosts, options.rate, options.delay, options.mtu, options.burst,
                          options.queue, options.host_rates)
    except KernelCannot as why:
        skip(why)
    midway = None
    if options.cut:
        host, seconds = options.cut.split(":")
        due = time.monotonic() + float(seconds)
        midway = (lambda: time.monotonic() > due, lambda: cluster.cut(int(host)))
    codes = run(cluster, options.command, options.workers_per_host, 6 if options.ipv6 else 4,
                options.limit, midway)
    sys.exit(next((code for code in codes if code != 0), 0))


if __name__ == "__main__":
    main()
