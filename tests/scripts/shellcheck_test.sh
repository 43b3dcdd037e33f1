#!/bin/bash
# Arguments SOURCE_DIR SHELLCHECK: no script of the tree worries shellcheck.
set -euo pipefail

root=$1
checker=$2
if [[ ! -x $checker ]]; then
  echo "skipped: shellcheck is not installed"
  exit 77
fi
cd "$root"
mapfile -t scripts < <(grep -rlE --exclude-dir=.git --exclude-dir='build*' \
  -e '^#!/bin/(ba)?sh' -e '^# shellcheck shell=' .)
((${#scripts[@]} >= 5)) || { echo "FAILED: the scripts were not found"; exit 1; }
"$checker" -x "${scripts[@]}"
