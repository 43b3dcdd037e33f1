"""What a machine must permit for a fault to be played on it, found out by trying it."""
import os
import subprocess
import tempfile

from cell_network import CellNetwork


def mount_disk(folder):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(folder)], check=True,
                   capture_output=True, text=True)


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


def clock_refusal(options):
    if not options.clock_shim:
        return "no --clock-shim"
    shown = subprocess.run([options.collbench, "--version"], capture_output=True, text=True,
                           env={**os.environ, "LD_PRELOAD": options.clock_shim}, check=False)
    # Sanitizers want to be loaded first.
    said = shown.stderr.strip()
    return f"no other clock: {said}" if said or shown.returncode != 0 else ""


def refusal(fault, options):
    """Why this machine does not permit the cells of a fault; empty if it does."""
    if fault in ("cut", "halfopen"):
        return CellNetwork.refusal()
    if fault == "disk":
        return disk_refusal()
    return clock_refusal(options) if fault == "clock" else ""
