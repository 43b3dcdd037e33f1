"""Ports of 127.0.0.1 that a test may tell to the commands it starts.

They lie below those that the system hands out by itself, so that no connection of a test that runs
side by side takes one before its command listens on it; and a name that only one process can hold
keeps other tests that ask here away until this process ends.
"""
import random
import socket
from pathlib import Path

LOWEST = 10000
HELD = []


def _highest():
    try:
        first = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        first = 32768
    return first if first > LOWEST + 1000 else 32768


def _hold(port):
    """A socket that no other process can have at the same time; None if one has it."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0collbench-test-port-{port}")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
        return name
    except OSError:
        name.close()
        return None


def free_ports(count):
    """`count` ports in a row that are this process's until it ends."""
    for _ in range(1000):
        first = random.randrange(LOWEST, _highest() - count)
        held = []
        while len(held) < count:
            name = _hold(first + len(held))
            if name is None:
                break
            held.append(name)
        if len(held) == count:
            HELD.extend(held)
            return list(range(first, first + count))
        for name in held:
            name.close()
    raise RuntimeError(f"there are no {count} free ports on 127.0.0.1")
