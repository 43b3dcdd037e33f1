#!/usr/bin/env python3
"""Simulated step times against published ones: fits costs on ResNet-50, predicts other models.

Each platform (hardware with its software) has three costs, all of them options of `collbench train`:
crowding, jitter and interference, and PyTorch one more, the time per tensor, which its one-worker
rows with and without DDP give. They are fitted to the rows of ResNet-50 with more than one worker,
by least squares of the relative error over a grid that is refined once. ResNet-50 communicates
little, so that its rows leave the interference open, which decides what models with many parameters
lose: it has a prior, the share of a GPU's multiprocessors that NCCL's kernels hold (16 to 24 blocks
of a V100's 80). A model's step on one worker is taken from its own one-worker row; everything else
is predicted.

  step_times.py --collbench BINARY --data FOLDER --out FOLDER

FOLDER of the data holds pytorch_ddp_resnet50.csv, tf_benchmarks_2017.csv and nvidia_dle_resnet50.csv;
further files of the first kind are predicted with the costs of ResNet-50. Needs Python 3.9 only.
"""
import argparse
import csv
import glob
import json
import os
import statistics
import subprocess
from concurrent.futures import ThreadPoolExecutor

WORKLOADS = {"resnet50": "resnet50", "ResNet-50": "resnet50", "ResNet-152": "resnet152",
             "Alexnet": "alexnet", "VGG16": "vgg16", "resnet101": "resnet101",
             "resnext50_32x4d": "resnext50-32x4d", "resnext101_32x8d": "resnext101-32x8d"}

INTERFERENCE = (0.25, 0.25)  # mean and standard deviation of the prior
ERROR = 0.01  # of a published step time

# Between GPUs: what each platform has, from data sheets. TensorFlow's parameter servers on the host
# and its copies between GPUs move as many bytes per GPU as `direct` does over PCIe, which two GPUs
# share on the K80 boards; several p2.8xlarge hosts have 10 Gb/s each.
PCIE = "star:{n},12GBps,10us"
K80 = "star:{n},6GBps,10us"
NVLINK1 = "star:{n},72GBps,2us,efficiency=0.8"


def tensorflow_network(row):
    if row["config"].startswith("k80_aws_distributed") and int(row["gpus"]) > 8:
        return "star:{n},10Gbps,25us", "direct", "tensor"
    if row["config"].startswith("k80"):
        return K80, "direct", "tensor"
    if row["variable_update"] == "replicated-nccl":
        return NVLINK1, "ring", "tensor"
    return PCIE, "direct", "tensor"


def read(folder):
    """Rows of all files in one form."""
    rows = []
    for name in sorted(glob.glob(os.path.join(folder, "pytorch_ddp_*.csv"))):
        for r in csv.DictReader(open(name, encoding="utf-8")):
            n = int(r["gpus"])
            rows.append({"platform": "pytorch-v100", "model": r["model"], "gpus": n,
                         "batch": int(r["batch_per_gpu"]), "ms": float(r["sec_per_iter"]) * 1e3,
                         "device": "v100", "algo": "nccl", "alone": r["mode"] == "no_ddp",
                         "topo": "dgx-1-v100" if n <= 8 else f"cluster:{n // 8}xdgx-1-v100",
                         "buckets": "ddp-initial" if r["bucket_cap_mb"] == "25"
                         else r["bucket_cap_mb"] + "M", "config": r["bucket_cap_mb"] + " MiB"})
    for r in csv.DictReader(open(os.path.join(folder, "tf_benchmarks_2017.csv"), encoding="utf-8")):
        if r["model"] not in WORKLOADS or "_real_" in r["config"]:
            continue  # no table of layers; real images wait for disks
        topo, algo, buckets = tensorflow_network(r)
        n, batch = int(r["gpus"]), int(r["batch_per_gpu"])
        hardware = "p100" if r["config"].startswith("p100") else "k80"
        platform = "tf-" + r["config"].split("_synth")[0].replace("_", "-")
        rows.append({"platform": platform, "model": r["model"], "gpus": n, "batch": batch,
                     "ms": batch * n / float(r["images_per_sec"]) * 1e3, "device": hardware,
                     "algo": algo, "alone": n == 1, "topo": topo.format(n=n), "buckets": buckets,
                     "config": r["config"] + " " + r["variable_update"]})
    batches = {"fp32": 96, "tf32": 192, "amp": 192}  # of the runs' scripts; the file has none
    topologies = {"DGX-1": ("dgx-1-v100", "v100"), "DGX-2": ("dgx-2", "v100"),
                  "DGX A100": ("dgx-a100", "a100")}
    for r in csv.DictReader(open(os.path.join(folder, "nvidia_dle_resnet50.csv"), encoding="utf-8")):
        topo, device = topologies[r["hardware"].split(" (")[0]]
        n, batch = int(r["gpus"]), batches[r["precision"]]
        rows.append({"platform": "mxnet-" + topo, "model": "resnet50", "gpus": n, "batch": batch,
                     "ms": batch * n / float(r["throughput"]) * 1e3, "device": device,
                     "algo": "nccl", "alone": n == 1, "topo": topo, "buckets": "ddp",
                     "config": r["precision"], "half": r["precision"] == "amp"})
    return rows


class Simulator:
    def __init__(self, binary, draws):
        self.binary, self.draws, self.known = binary, draws, {}

    def step(self, row, alone_ms, costs):
        arguments = ["train", "--workload", WORKLOADS[row["model"]], "--topo", row["topo"],
                     "--workers", str(row["gpus"]), "--worker-batch", str(row["batch"]),
                     "--device", row["device"], "--algo", row["algo"], "--buckets", row["buckets"],
                     "--step-time", f"{alone_ms:.6g}ms", "--draws", str(self.draws), "--json", "-"]
        if row.get("half"):
            arguments += ["--datatype", "f16"]
        for option, value in costs.items():
            arguments += ["--" + option, value if isinstance(value, str) else f"{value:.6g}"]
        key = tuple(arguments)
        if key not in self.known:
            done = subprocess.run([self.binary, *arguments], capture_output=True, text=True)
            if done.returncode != 0:
                raise SystemExit(f"{' '.join(arguments)}\n{done.stderr}")
            self.known[key] = json.loads(done.stdout)["step_ms"]
        return self.known[key]


def alone_of(rows, row):
    """The one-worker step of the row's model in its configuration."""
    same = [r for r in rows if r["alone"] and r["platform"] == row["platform"] and
            r["model"] == row["model"] and r["batch"] == row["batch"]]
    same.sort(key=lambda r: r["config"] != row["config"])
    return same[0]["ms"] if same else None


def fit(simulator, rows, train, fixed):
    grid = {"crowding": [0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06],
            "compute-jitter": [0, 0.005, 0.01, 0.015, 0.02, 0.03],
            "interference": [0, 0.25, 0.5, 1, 1.5]}
    costs = {"crowding": 0.02, "compute-jitter": 0.01, "interference": 0.25}

    def loss(candidate):
        merged = {**fixed, **candidate}
        mean, deviation = INTERFERENCE
        return ((merged["interference"] - mean) / deviation) ** 2 + sum(
            ((simulator.step(r, alone_of(rows, r), merged) / r["ms"] - 1) / ERROR) ** 2
            for r in train)

    with ThreadPoolExecutor(2) as pool:
        for round_number in range(4):
            before = dict(costs)
            for name, values in grid.items():
                if round_number == 2:  # refine
                    width = values[1] - values[0]
                    values = [max(0, costs[name] + width * f) for f in (-0.5, -0.25, 0, 0.25, 0.5)]
                candidates = [{**costs, name: v} for v in values]
                losses = list(pool.map(loss, candidates))
                costs = candidates[losses.index(min(losses))]
            if costs == before and round_number > 2:
                break
    return {**fixed, **costs}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--collbench", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--draws", type=int, default=51)
    parser.add_argument("--platform", default="", help="only those whose name holds this")
    options = parser.parse_args()
    rows = read(options.data)
    simulator = Simulator(options.collbench, options.draws)
    fitted, table = {}, []
    for platform in dict.fromkeys(r["platform"] for r in rows):
        if options.platform not in platform:
            continue
        mine = [r for r in rows if r["platform"] == platform]
        train = [r for r in mine if WORKLOADS[r["model"]] == "resnet50" and r["gpus"] > 1 and
                 r["config"] not in ("1 MiB", "amp")]
        fixed = {}
        if platform == "pytorch-v100":
            alone = alone_of(rows, train[0])
            hooked = [r["ms"] for r in mine if r["gpus"] == 1 and not r["alone"] and
                      r["model"] == "resnet50" and r["config"] == "25 MiB"][0]
            fixed["per-tensor"] = f"{(hooked - alone) / 161 * 1e3:.4g}us"
        costs = fitted[platform] = fit(simulator, rows, train, fixed)
        for r in mine:
            if r["alone"] or alone_of(rows, r) is None:
                continue
            predicted = simulator.step(r, alone_of(rows, r), costs)
            table.append({"platform": platform, "config": r["config"], "model": r["model"],
                          "batch": r["batch"], "workers": r["gpus"],
                          "used": "fit" if r in train else "predicted",
                          "published_ms": f"{r['ms']:.1f}", "simulated_ms": f"{predicted:.1f}",
                          "error_percent": f"{(predicted / r['ms'] - 1) * 100:+.2f}"})
        print(platform, costs, flush=True)
    os.makedirs(options.out, exist_ok=True)
    with open(os.path.join(options.out, "costs.json"), "w", encoding="utf-8") as file:
        json.dump(fitted, file, indent=1)
        file.write("\n")
    with open(os.path.join(options.out, "step-times.csv"), "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, table[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    groups = {}
    for entry in table:
        other = WORKLOADS[entry["model"]] != "resnet50"
        what = entry["used"] if entry["used"] == "fit" else \
            ("predicted, other models" if other else "predicted, ResNet-50")
        groups.setdefault(what, []).append(abs(float(entry["error_percent"])))
        groups.setdefault(what + ": " + entry["platform"], []).append(
            abs(float(entry["error_percent"])))
    lines = []
    for name in sorted(groups):
        errors = groups[name]
        lines.append(f"{name:<52} n={len(errors):<3} mean |error| {statistics.mean(errors):5.2f} % "
                     f"median {statistics.median(errors):5.2f} % largest {max(errors):5.2f} %")
    with open(os.path.join(options.out, "summary.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
