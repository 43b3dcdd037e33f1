"""Faults of disks, and what a machine must permit for a fault to be played on it, by trying."""
import os
import subprocess
import tempfile

from cell_network import CellNetwork


def mount_disk(folder):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(folder)], check=True,
                   capture_output=True, text=True)


def fill_disk(folder):
    try:
        with open(folder / "filler", "ab", buffering=0) as filler:
            while True:
                filler.write(bytes(1024))
    except OSError:
        pass


def disk_refusal():
    with tempfile.TemporaryDirectory() as folder:
        try:
            mount_disk(folder)
        except FileNotFoundError:
            return "there is no mount command"
        except subprocess.CalledProcessError as error:
            return f"no small file system: {' '.join(error.stderr.split())}"
        subprocess.run(["umount", "-l", folder], check=True)
    return ""


def preload_refusal(collbench, library):
    """Why a library cannot be preloaded into the command; empty if it can."""
    shown = subprocess.run([collbench, "--version"], capture_output=True, text=True,
                           env={**os.environ, "LD_PRELOAD": library}, check=False)
    # Sanitizers want to be loaded first.
    said = shown.stderr.strip()
    return f"nothing can be preloaded: {said}" if said or shown.returncode != 0 else ""


def refusal(fault, options):
    """Why this machine does not permit the cells of a fault; empty if it does."""
    if fault in ("cut", "halfopen"):
        return CellNetwork.refusal()
    if fault == "disk":
        return disk_refusal()
    if fault == "clock":
        return preload_refusal(options.collbench, options.clock_shim) if options.clock_shim else (
            "no --clock-shim")
    return ""
