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
"$checker" -x collbench run-tests .ci/run cmake/*.bash tests/*/*.sh
