#!/usr/bin/env python3
"""The shipped studies of training in simulation; results/studies/README.md says what they found.

  training.py --collbench BINARY --out FOLDER [--only algorithms|servers|defaults]

algorithms  ring, tree, hierarchical and the best of all on ResNet-50 and BERT-large, 8 to 1,024 A100
servers     a parameter server against mirrored on Ethernet: loss over simulated time
defaults    what TensorFlow's defaults (one pack, RING) cost against DDP's buckets and `auto`

Every figure is exact for its model, so a second run gives the same files.
"""
import argparse
import csv
import json
import os
import subprocess
import tempfile


def run(binary, arguments):
    done = subprocess.run([binary, "train", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(arguments)}\n{done.stderr}")
    return done.stdout


def step(binary, *arguments):
    return json.loads(run(binary, [*arguments, "--json", "-"]))


def write(path, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(path, len(rows), "rows", flush=True)


def row_of(document, **extra):
    return {**extra, "workers": document["workers"], "step_ms": f"{document['step_ms']:.3f}",
            "communication_ms": f"{document['communication_ms']:.3f}",
            "exposed_ms": f"{document['exposed_communication_ms']:.3f}",
            "samples_per_second": f"{document['samples_per_second']:.1f}",
            "efficiency": f"{document['scaling_efficiency']:.4f}",
            "buckets": len(document["buckets"])}


# Published steps of one A100 (NVIDIA's ResNet-50 with MXNet and AMP: 3,410 images/s) and the
# roofline for BERT, for which no table is at hand.
MODELS = {"resnet50": ["--worker-batch", "192", "--step-time", "56.3ms"],
          "bert-large-s128": ["--worker-batch", "32"]}
COMMON = ["--device", "a100", "--datatype", "f16", "--compute-jitter", "0.01", "--draws", "25"]


def algorithms(binary, folder):
    rows = []
    for model, options in MODELS.items():
        for nodes in (1, 2, 4, 8, 16, 32, 64, 128):
            topo = "dgx-a100" if nodes == 1 else f"cluster:{nodes}xdgx-a100"
            for algorithm in ("ring", "tree", "double-tree", "hierarchical", "auto"):
                document = step(binary, "--workload", model, "--topo", topo, "--algo", algorithm,
                                *options, *COMMON)
                rows.append(row_of(document, model=model, algorithm=algorithm))
    write(os.path.join(folder, "algorithms.csv"), rows)


def servers(binary, folder):
    rows = []
    for topo, name in (("ethernet-10g", "10 Gb/s"), ("ethernet-100g", "100 Gb/s")):
        for workers in (4, 8, 16):
            for slow in ("", "0:0.25"):
                for strategy, extra in (("mirrored", []), ("parameter-server", ["--servers", "1"]),
                                        ("parameter-server", ["--servers", "4"])):
                    # Asynchronous SGD needs a rate that falls with the staleness; all are given
                    # the same three rates, and the best one of each counts.
                    for rate in ("0.1", "0.03", "0.01"):
                        with tempfile.NamedTemporaryFile(suffix=".csv") as curve:
                            run(binary, ["--model", "mlp", "--widths", "256", "--optimizer", "sgd",
                                         "--lr", rate, "--topo", f"{topo}:{workers + 4}",
                                         "--workers", str(workers), "--batch",
                                         str(16 * (workers if strategy == "mirrored" else 1)),
                                         "--samples", "4096", "--epochs", "2",
                                         "--compute-time", "2ms", "--compute-jitter", "0.05",
                                         "--strategy", strategy, "--points", "64", "--curve",
                                         curve.name, *extra,
                                         *(["--slow-workers", slow] if slow else [])])
                            points = list(csv.DictReader(open(curve.name, encoding="utf-8")))
                        reached = [p for p in points if float(p["held_out_loss"]) <= 0.3]
                        rows.append({
                            "network": name, "workers": workers,
                            "slow_worker": "4 times slower" if slow else "none",
                            "strategy": strategy, "servers": extra[1] if extra else "",
                            "learning_rate": rate,
                            "end_s": f"{float(points[-1]['time_s']):.4f}",
                            "updates": points[-1]["updates"],
                            "staleness": points[-1]["staleness"],
                            "final_held_out_loss": points[-1]["held_out_loss"],
                            "seconds_to_loss_0.3":
                                f"{float(reached[0]['time_s']):.4f}" if reached else "never"})
    write(os.path.join(folder, "parameter-server.csv"), rows)


def defaults(binary, folder):
    rows = []
    cases = {"resnet50 on V100, 25 Gb/s": ["--workload", "resnet50", "--device", "v100",
                                           "--worker-batch", "64", "--topo", "ethernet-25g:{n}"],
             "bert-large on V100, 100 Gb/s": ["--workload", "bert-large-s128", "--device", "v100",
                                              "--worker-batch", "8", "--topo", "ethernet-100g:{n}"],
             "vgg16 on V100, 25 Gb/s": ["--workload", "vgg16", "--device", "v100",
                                        "--worker-batch", "64", "--topo", "ethernet-25g:{n}"],
             "resnet50 on A100 in DGX": ["--workload", "resnet50", "--device", "a100",
                                         "--worker-batch", "64", "--topo", "cluster:{m}xdgx-a100"]}
    plans = {"TensorFlow's defaults": ["--buckets", "tf", "--algo", "ring"],
             "packs of 25 MiB": ["--buckets", "tf:25M", "--algo", "ring"],
             "DDP's buckets": ["--buckets", "ddp", "--algo", "ring"],
             "planned": ["--buckets", "auto", "--algo", "ring"],
             "planned, best algorithm": ["--buckets", "auto", "--algo", "auto"]}
    for case, options in cases.items():
        for workers in (16, 64):
            words = [o.format(n=workers, m=workers // 8) for o in options]
            for plan, how in plans.items():
                document = step(binary, *words, *how, "--workers", str(workers))
                rows.append(row_of(document, case=case, plan=plan))
    write(os.path.join(folder, "tensorflow-defaults.csv"), rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--collbench", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--only", choices=("algorithms", "servers", "defaults"))
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    for study in (defaults, algorithms, servers):
        if options.only in (None, study.__name__):
            study(options.collbench, options.out)


if __name__ == "__main__":
    main()
