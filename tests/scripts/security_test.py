#!/usr/bin/env python3
"""security_test.py COLLBENCH CHECK: two workers as processes, and who is kept out.

CHECK is one of
  tls       a mutual-TLS run measures and is refused with another authority, without a certificate,
            with an expired one and with another name
  token     a missing or wrong token ends the run with code 5, on an address beyond loopback with 2
  secrets   neither the token nor the key is in anything that a run writes, or on a command line

Exit code 77: skipped, with the reason.
"""
import os
import re
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from certificates import make_authority, make_certificate, openssl_is_there  # noqa: E402
from free_ports import free_ports  # noqa: E402

COLLBENCH, CHECK = sys.argv[1:]
SCRATCH = tempfile.TemporaryDirectory()
TOKEN = "d0c5a1f0c0ffee15900d70d4y0ubet77"
MARK = "SECURITY_TEST=%d" % os.getpid()  # variable of what is started here, and of what that starts
os.environ["SECURITY_TEST"] = str(os.getpid())


def skip(why):
    print("skipped:", why)
    sys.exit(77)


def need(condition, what):
    if not condition:
        sys.exit("FAILED: %s" % (what,))


def start(rank, hosts, options, token):
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH", "SECURITY_TEST")
            if name in os.environ}
    if token is not None:
        kept["COLLBENCH_JOB_TOKEN"] = token
    words = [COLLBENCH, "--hosts", ",".join(hosts), "--rank", str(rank), "--algo", "ring",
             "-b", "1K", "-e", "1K", "-n", "3", *options]
    return subprocess.Popen(words, cwd=SCRATCH.name, env={**kept, "HOME": SCRATCH.name}, text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


def run_two(options, tokens=(TOKEN, TOKEN), timeout="20"):
    """Exit codes and all that both ranks say."""
    hosts = ["127.0.0.1:%d" % port for port in free_ports(2)]
    processes = [start(rank, hosts, [*options[rank], "-T", timeout], tokens[rank])
                 for rank in (0, 1)]
    said = []
    for process in processes:
        try:
            said.append("".join(process.communicate(timeout=90)))
        except subprocess.TimeoutExpired:
            for other in processes:
                other.kill()
            sys.exit("FAILED: no end: %s" % process.args)
    return [process.returncode for process in processes], said


def tls_options(name, *more):
    return ["--tls-ca", "ca.pem", "--tls-cert", name + ".pem", "--tls-key", name + ".key", *more]


def make_certificates():
    if not openssl_is_there():
        skip("there is no openssl command")
    make_authority(SCRATCH.name, "ca")
    make_authority(SCRATCH.name, "other")
    make_certificate(SCRATCH.name, "good")


def check_tls():
    make_certificates()
    make_certificate(SCRATCH.name, "stranger", authority="other")
    make_certificate(SCRATCH.name, "expired", days=-1)
    make_certificate(SCRATCH.name, "elsewhere", names="DNS:elsewhere")
    codes, said = run_two([tls_options("good"), tls_options("good")])
    need(codes == [0, 0] and "all results correct" in said[0], (codes, said))
    for what, options in (("another authority", tls_options("stranger")),
                          ("no certificate", tls_options("good", "--tls-callers", "any")),
                          ("expired", tls_options("expired")),
                          ("another name", tls_options("elsewhere")), ("no TLS", [])):
        codes, said = run_two([tls_options("good"), options], timeout="3")
        need(codes == [5, 5], (what, codes, said))
        need("for rank" in said[0] and "for rank" in said[1], (what, said))
        print("%s: %s" % (what, said[0].strip().splitlines()[-1]))


def check_token():
    for wrong in (None, "another token of this length"):
        codes, said = run_two([[], []], tokens=(TOKEN, wrong))
        need(codes == [5, 5], (wrong, codes, said))
        for words in said:
            need("its job differs" in words, (wrong, said))
    for token, reason in ((None, "without a token"), ("short", "shorter than 16")):
        process = start(0, ["192.0.2.1:7101", "192.0.2.2:7101"], [], token)
        said = "".join(process.communicate(timeout=60))
        need(process.returncode == 2, (process.returncode, said))
        need(reason in said and "--token-file" in said and "COLLBENCH_JOB_TOKEN" in said, said)


class CommandLines:
    """While it is entered: the command lines of what is started here, as anybody on the machine
    sees them, and the values of the variables with tokens that it has."""

    def __enter__(self):
        self.lines, self.tokens, self.over = set(), set(), threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def look(self):
        while not self.over.wait(0.005):
            for name in filter(str.isdigit, os.listdir("/proc")):
                try:
                    with open("/proc/%s/cmdline" % name, "rb") as file:
                        line = file.read().replace(b"\0", b" ").decode(errors="replace")
                    with open("/proc/%s/environ" % name, "rb") as file:
                        variables = file.read().decode(errors="replace").split("\0")
                except OSError:  # it has ended, or is another user's
                    continue
                if MARK not in variables:
                    continue
                self.lines.add(line)
                self.tokens |= {value for key, _, value in (one.partition("=") for one in variables)
                                if re.fullmatch("COLLBENCH_[A-Z]*_TOKEN", key) and value}

    def run(self, command, words, **options):
        """Runs it, again where it ended between two looks: until a command line had these words."""
        for _ in range(20):
            done = subprocess.run(command, capture_output=True, text=True, **options)
            need(done.returncode == 0, done)
            if any(words in line for line in self.lines):
                break

    def check(self, what, words, secrets):
        """Of the processes whose command lines have these words."""
        need(any(words in line for line in self.lines), "no process of %s was seen" % what)
        for secret in self.tokens | set(secrets):
            need(not any(secret in line for line in self.lines),
                 "a secret on a command line of %s: %s" % (what, self.lines))


def check_started():
    """Workers that a run starts itself, and those behind ssh."""
    run = ["--algo", "ring", "-b", "1K", "-e", "1K", "-n", "300"]
    with CommandLines() as seen:
        seen.run([COLLBENCH, "-W", "2", "--isolate", *run], "worker")
    seen.check("isolated workers", "worker", [])
    need(seen.tokens, "no worker has a token")
    ssh = os.path.join(SCRATCH.name, "ssh")
    with open(ssh, "w") as file:
        file.write('#!/bin/sh\nexec sh -c "$2"\n')
    os.chmod(ssh, 0o755)
    port = free_ports(2)[0]
    with CommandLines() as seen:
        seen.run([COLLBENCH, "launch", "--ssh", ssh, "--port", str(port), "--hosts",
                  "127.0.0.1,127.0.0.2", "--", "run", *run], "--rank",
                 env={**os.environ, "COLLBENCH_JOB_TOKEN": TOKEN})
    seen.check("launch", "--rank", [TOKEN])


def check_secrets():
    make_certificates()
    check_started()
    with open(os.path.join(SCRATCH.name, "token"), "w") as file:
        file.write(TOKEN + "\n")
    outputs = ["json", "csv", "markdown"]
    options = [*tls_options("good"), "-v"]
    for output in outputs:
        options += ["--" + output, "out." + output]
    for source in (["--token-file", "token"], []):
        both = [[*options, *source], [*tls_options("good"), "-v", *source]]
        with CommandLines() as seen:
            codes, said = run_two(both, tokens=(None, None) if source else (TOKEN, TOKEN))
        need(codes == [0, 0], (codes, said))
        with open(os.path.join(SCRATCH.name, "good.key")) as file:
            secrets = [TOKEN, file.read().splitlines()[1]]
        seen.check("a run", "--tls-key", secrets)
        texts = {"what rank %d says" % rank: text for rank, text in enumerate(said)}
        for output in outputs:
            with open(os.path.join(SCRATCH.name, "out." + output), errors="replace") as file:
                texts["--" + output] = file.read()
        for what, text in texts.items():
            need(text.strip() != "" or what == "what rank 1 says", "nothing in " + what)
            for secret in secrets:
                need(secret not in text, "a secret in %s: %s" % (what, text))
    dumped = subprocess.run([COLLBENCH, "--dump-config"], capture_output=True, text=True,
                            env={**os.environ, "COLLBENCH_JOB_TOKEN": TOKEN})
    need(dumped.returncode == 0 and TOKEN not in dumped.stdout + dumped.stderr, dumped)


{"tls": check_tls, "token": check_token, "secrets": check_secrets}[CHECK]()
