#!/bin/bash
# format.sh SOURCE_DIR CLANG_FORMAT: every C++ file is as clang-format would write it.
# Exits 77 (skipped) when there is no clang-format of the version the style was written for.
set -euo pipefail

root=$1
formatter=$2
if [[ ! -x $formatter ]]; then
  echo "skipped: clang-format is not installed"
  exit 77
fi
if ! "$formatter" --version | grep -q 'version 14\.'; then
  echo "skipped: the style is checked with clang-format 14, this is $("$formatter" --version)"
  exit 77
fi
cd "$root"
mapfile -d '' -t sources < <(
  find . \( -name .git -o -name 'build*' \) -prune -o -type f \
    \( -name '*.h' -o -name '*.cc' -o -name '*.cu' -o -name '*.cuh' \) -print0)
((${#sources[@]} >= 20)) || { echo "FAILED: the sources were not found"; exit 1; }
"$formatter" --dry-run -Werror "${sources[@]}"
