#!/usr/bin/env python3
"""cluster_test.py SOURCE_DIR COLLBENCH CHECK: workers on several hosts, each a network namespace.

CHECK is one of
  start         4 hosts that start one after the other, IPv4 and IPv6: right results, 4 nodes in the
                records, nothing left on the machine
  hierarchical  4 hosts of 2 workers: a schedule whose inner level is the host sends fewer bytes over
                the links than one whose inner level is not
  shaped        a ring over links of 100 Mbit/s is no faster than they are, and not half as fast
  uneven        one host of three at half the rate slows a ring to what its link carries; a rate for a
                host that is not there is refused
  cut           the plug of one host is pulled in the middle: all others end in time, with exit code 5
                and its rank named, and rank 0 keeps the records of what was finished
  down          the same, but the host itself takes its device down
  train         training over a link that fails ends in the same way
  tls           2 hosts with mutual TLS: right results; refused with another authority's
                certificate, without one, with an expired one and with another address in it, as
                both hosts say
  killed        nothing is left when the script that made the cluster is killed

Exit code 77: skipped, with the reason.
"""
import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time

ROOT, COLLBENCH, CHECK = sys.argv[1:]
TOOL = os.path.join(ROOT, "bench", "cluster", "cluster.py")
sys.path.insert(0, os.path.dirname(TOOL))
import cluster  # noqa: E402  (found by the line above)
sys.path.insert(0, os.path.join(ROOT, "tests"))
from certificates import make_authority, make_certificate, openssl_is_there  # noqa: E402

QUICK = ["run", "--algo", "ring", "-b", "64K", "-e", "64K", "-n", "5", "-T", "60"]
SILENCE = 10  # seconds after which a silent rank is taken for lost: live ones may wait for a core
IN_TIME = 2 * SILENCE + 40


def need(condition, what):
    if not condition:
        sys.exit("FAILED: " + what)


def run_all(net, arguments, **options):
    """Exit codes and what went to standard error, by rank, and the seconds it took."""
    begin = time.monotonic()
    texts = [tempfile.TemporaryFile("w+") for _ in range(net.hosts)]
    codes = cluster.run(net, [COLLBENCH, *arguments], limit=120, errors=texts, **options)
    said = [read_back(text) for text in texts]
    return codes, said, time.monotonic() - begin


def start():
    with tempfile.TemporaryDirectory() as folder:
        net = cluster.Cluster(4)
        for family in (4, 6):
            file = os.path.join(folder, f"ipv{family}.json")
            codes, said, _ = run_all(net, QUICK + ["--json", file], family=family, apart=0.3)
            need(codes == [0] * 4, f"IPv{family}: exit codes {codes}; {said}")
            with open(file) as text:
                records = json.load(text)
            need(records["environment"]["nodes"] == "4", "the records say 4 nodes")
            need(records["environment"]["hosts"].count(",") == 3, "and name the hosts")


def hierarchical():
    net = cluster.Cluster(4)
    sent = {}
    for dims in ("2x4", "4x2"):
        before = net.sent_bytes()
        codes = cluster.run(net, [COLLBENCH, "train", "--strategy", "multi-worker-mirrored", "--algo",
                                  "hierarchical:dims=" + dims, "--widths", "512", "--steps", "10",
                                  "--epochs", "1", "-T", "60", "--progress", "off"],
                            workers_per_host=2, limit=150)
        need(codes == [0] * 8, f"{dims}: exit codes {codes}")
        sent[dims] = net.sent_bytes() - before
    need(sent["2x4"] < 0.85 * sent["4x2"],
         f"hosts inside: {sent['2x4']} bytes over the links, across them: {sent['4x2']}")


def shaped():
    rate = 100e6
    net = cluster.Cluster(3, rate)
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "records.json")
        codes, said, _ = run_all(net, ["run", "--algo", "ring", "-b", "3M", "-e", "3M", "-n", "5",
                                       "-w", "1", "--max-time", "5s", "--json", file])
        need(codes == [0] * 3, f"exit codes {codes}; {said}")
        with open(file) as text:
            times = sorted(json.load(text)["records"][0]["latency_ns"])
    floor = 2 * 2 / 3 * 3 * 2**20 / cluster.payload_rate(rate) * 1e9
    # Other work on this machine makes some iterations late, but not all.
    need(floor * 0.95 < times[len(times) // 2] and times[0] < floor * 2,
         f"{times} ns where the links allow {floor:.0f}")


def uneven():
    refused = subprocess.run([sys.executable, TOOL, "--hosts", "3", "--host-rate", "3:50mbit", "--", "true"],
                             capture_output=True, text=True)
    need(refused.returncode == 2 and "from 0 to 2, not '3:50mbit'" in refused.stderr, refused.stderr)
    rate = 100e6
    net = cluster.Cluster(3, rate, host_rates={1: rate / 2})
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "records.json")
        codes, said, _ = run_all(net, ["run", "--algo", "ring", "-b", "2M", "-e", "2M", "-n", "3",
                                       "-w", "1", "--max-time", "5s", "--json", file])
        need(codes == [0] * 3, f"exit codes {codes}; {said}")
        with open(file) as text:
            times = sorted(json.load(text)["records"][0]["latency_ns"])
    floor = 2 * 2 / 3 * 2 * 2**20 / cluster.payload_rate(rate / 2) * 1e9
    need(floor * 0.95 < times[len(times) // 2], f"{times} ns where the slow link allows {floor:.0f}")


def fail_in_the_middle(what, after, arguments, broken=2):
    """The link fails once the hosts have sent `after` bytes."""
    net = cluster.Cluster(4, 1e9)
    action = net.cut if what == "cut" else net.down
    moment = []

    def act():
        action(broken)
        moment.append(time.monotonic())

    codes, said, _ = run_all(net, arguments, midway=(lambda: net.sent_bytes() > after, act))
    need(moment, f"the command was over before the link failed; {codes} {said}")
    taken = time.monotonic() - moment[0]
    need(taken < IN_TIME, f"it took {taken:.1f} s")
    need(codes == [5] * 4, f"exit codes {codes}; {said}")
    for rank in range(4):
        if rank != broken:
            need(f"rank {broken}" in said[rank], f"rank {rank} names rank {broken}: {said[rank]}")


def cut(what="cut"):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "records.json")
        fail_in_the_middle(what, 200e6, ["run", "--algo", "ring", "-b", "1K", "-e", "256M", "-f", "64",
                                         "-n", "20", "-T", str(SILENCE), "--json", file])
        with open(file) as text:
            need(json.load(text)["records"], "rank 0 keeps the records so far")


def down():
    cut("down")


def train():
    fail_in_the_middle("cut", 20e6, ["train", "--strategy", "multi-worker-mirrored", "--model", "mlp",
                               "--epochs", "100000", "-T", str(SILENCE), "--progress", "off"])


def tls():
    if not openssl_is_there():
        cluster.skip("there is no openssl command")
    with tempfile.TemporaryDirectory() as folder:
        net = cluster.Cluster(2)
        both = ",".join("IP:" + net.address(place) for place in (0, 1))
        for authority in ("ca", "other"):
            make_authority(folder, authority)
        for name, authority, names, days in (
                ("good", "ca", both, 2), ("stranger", "other", both, 2),
                ("expired", "ca", both, -1), ("elsewhere", "ca", "IP:10.99.0.1", 2)):
            make_certificate(folder, name, authority, names, days)

        def run_with(name, *more, patience):
            """Host 0 is in order, host 1 has the certificate `name`, and more options."""
            common = [COLLBENCH, *QUICK[:-1], patience, "--tls-ca", os.path.join(folder, "ca.pem")]
            zero, one = (shlex.join([*common, "--tls-cert", os.path.join(folder, own + ".pem"),
                                     "--tls-key", os.path.join(folder, own + ".key"), *rest])
                         for own, rest in (("good", ()), (name, more)))
            shell = f"if [ {{host}} = 0 ]; then exec {zero}; else exec {one}; fi"
            texts = [tempfile.TemporaryFile("w+") for _ in range(3)]
            codes = cluster.run(net, ["sh", "-c", shell], limit=120, errors=texts[:2],
                                output=texts[2])
            return codes, [read_back(text) for text in texts]

        codes, said = run_with("good", patience="60")
        need(codes == [0, 0] and "all results correct" in said[2], f"{codes} {said}")
        print("mutual TLS:", said[2].strip().splitlines()[-1])
        for what, *of_host_1 in (("another authority", "stranger"),
                                 ("no certificate shown", "good", "--tls-callers", "any"),
                                 ("expired", "expired"), ("another address", "elsewhere")):
            codes, said = run_with(*of_host_1, patience="5")
            need(codes == [5, 5], f"{what}: {codes} {said}")
            for rank in (0, 1):
                need("for rank" in said[rank], f"{what}: {said}")
            print(f"{what}: {said[0].strip().splitlines()[-1]}")


def read_back(text):
    text.seek(0)
    return text.read()


def killed():
    # Other tests make and drop namespaces meanwhile, whose numbers are used again: only processes
    # of this cluster are looked at.
    def stat(name):
        """Parent and start time of a process; nothing if it has ended."""
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            return None
        return fields[1], fields[19]

    def members():
        """(process, start time): namespace, of what the tool has started."""
        stats = {name: stat(name) for name in os.listdir("/proc") if name.isdigit()}
        found = {}
        for name in stats:
            above = name
            while stats.get(above) and above != str(tool.pid):
                above = stats[above][0]
            if above != str(tool.pid) or not stats[name]:
                continue
            try:
                found[name, stats[name][1]] = os.readlink(f"/proc/{name}/ns/net")
            except OSError:
                pass
        return found

    tool = subprocess.Popen([sys.executable, TOOL, "--hosts", "3", "--", "sleep", "100"])
    own = os.readlink("/proc/self/ns/net")
    for _ in range(600):
        made = {one: space for one, space in members().items() if space != own}
        if len(set(made.values())) >= 4 or tool.poll() is not None:
            break
        time.sleep(0.1)
    if tool.poll() == cluster.SKIPPED:
        cluster.skip("namespaces are not permitted here")
    need(len(set(made.values())) >= 4, f"3 hosts and a switch are there: {made}")
    tool.send_signal(signal.SIGKILL)
    tool.wait()
    left = made
    for _ in range(600):
        left = [one for one in made if (stat(one[0]) or ("", ""))[1] == one[1]]
        if not left:
            return
        time.sleep(0.1)
    sys.exit(f"FAILED: left behind: {left}")


CHECKS = {"start": start, "hierarchical": hierarchical, "shaped": shaped, "uneven": uneven, "cut": cut, "down": down,
          "train": train, "tls": tls, "killed": killed}
if CHECK != "killed":
    cluster.enter()
try:
    CHECKS[CHECK]()
except cluster.KernelCannot as why:  # another program that fails is a failure
    cluster.skip(why)
