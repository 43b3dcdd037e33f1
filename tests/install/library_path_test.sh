#!/bin/bash
# library_path_test.sh PROGRAM: it takes no library from the folder that it is called in.
set -euo pipefail

program=$1
lab=$(mktemp -d)
trap 'rm -rf "$lab"' EXIT

# An empty file of each name: whatever takes one for a library fails.
ldd "$program" | awk '$2 == "=>" { print $1 }' | while read -r name; do : >"$lab/$name"; done
[[ -n $(ls "$lab") ]] || { echo "FAILED: $program has no libraries"; exit 1; }
(cd "$lab" && "$program" --version)
