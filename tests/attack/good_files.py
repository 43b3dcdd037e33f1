"""Files of every kind that the readers take, and the ways in which one is damaged."""
import os
import random
import re
import subprocess


def damaged(seed, good):
    """Ways in which a file is damaged: cut, flipped, repeated, with wrong numbers."""
    draw = random.Random(seed)
    data = bytearray(good)
    kind = seed % 6
    if kind == 0:
        return bytes(data[:draw.randrange(len(data) + 1)])
    if kind == 1:
        for _ in range(draw.choice([1, 1, 4, 40])):
            data[draw.randrange(len(data))] = draw.randrange(256)
        return bytes(data)
    if kind == 2:
        numbers = list(re.finditer(rb"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", data))
        if not numbers:
            return bytes(data)
        at = draw.choice(numbers)
        wrong = draw.choice([b"-1", b"0", b"1e999", b"nan", b"99999999999999999999", b"null",
                             b'""', b"{}", b"[]", b"-0", b"1e-400"])
        return bytes(data[:at.start()] + wrong + data[at.end():])
    if kind == 3:
        a, b = sorted(draw.randrange(len(data) + 1) for _ in range(2))
        return bytes(data[:a] + data[b:])
    if kind == 4:
        a, b = sorted(draw.randrange(len(data) + 1) for _ in range(2))
        return bytes(data[:b] + data[a:b] * draw.choice([1, 3]) + data[b:])
    a = draw.randrange(len(data) + 1)
    return bytes(data[:a] + draw.choice([b"\x00", b"\x1b[2J", b"\xff\xff", b"\n\n", b"{", b"]",
                                         b"<", b"\"", b"#"]) * draw.choice([1, 1000]) + data[a:])


def write_damaged(bad, good, seed):
    with open(good, "rb") as file:
        data = damaged(seed, file.read())
    with open(bad, "wb") as file:
        file.write(data)


def prepare(binary, tmp, time_limit_s):
    """Makes the files in the folder `tmp`, with the command where it can."""
    def make(name, *command):
        with open(os.path.join(tmp, name), "wb") as out:
            subprocess.run([binary, *command], stdout=out, check=True, cwd=tmp,
                           timeout=time_limit_s)

    def write(name, text):
        with open(os.path.join(tmp, name), "w", encoding="utf-8") as out:
            out.write(text)

    make("out.txt", "run", "--algo", "ring,direct", "--workers", "2", "-b", "1K", "-e", "256K",
         "-f", "4", "-n", "2", "--json", os.path.join(tmp, "good.json"))
    make("nccl.txt", "report", "good.json", "--format", "nccl")
    make("table.csv", "report", "good.json", "--format", "csv")
    make("machine.toml", "topo", "convert", "--to", "toml",
         os.path.join(os.path.dirname(__file__), "../../topologies/dgx-h100.toml"))
    make("platform.xml", "topo", "convert", "machine.toml", "--to", "simgrid")
    make("program.xml", "algos", "show", "ring", "-W", "4", "--format", "msccl")
    subprocess.run([binary, "history", "add", "good.json", "good.json", "--db", "history.sqlite"],
                   cwd=tmp, check=True, stdout=subprocess.DEVNULL, timeout=time_limit_s)
    write("osu.txt", "# OSU MPI Allreduce Latency Test v7.3\n# Size       Avg Latency(us)\n"
          "4                       1.51\n1024                    3.20\n")
    write("net.csv", "from,to,bandwidth_GBps,kind\n" + "".join(
        "g%d,g%d,%d,link\n" % (a, b, 10 + a + b) for a in range(3) for b in range(3) if a != b))
    write("inspector.log", "".join(
        '{"header":{"id":"0x1","rank":0,"n_ranks":2,"nnodes":1},"metadata":'
        '{"inspector_output_format_version":"v4.0","hostname":"a","pid":1,"dump_timestamp_us":1},'
        '"coll_perf":{"coll":"AllReduce","coll_sn":%d,"coll_msg_size_bytes":1048576,'
        '"coll_exec_time_us":%d,"coll_timing_source":"kernel_gpu"}}\n' % (i, 100 + i)
        for i in range(8)))
    write("deep.json", "[" * 50000 + "]" * 50000)
    write("deep.toml", "a" + ".a" * 50000 + " = 1\nb = " + "[" * 50000 + "]" * 50000 + "\n")
    write("deep.xml", "<a>" * 50000 + "</a>" * 50000)
    write("empty", "")
    write("ssh.sh", 'shift\nexec sh -c "$*"\n')
    with open(os.path.join(tmp, "garbage"), "wb") as out:
        out.write(random.Random(1).randbytes(4096))
