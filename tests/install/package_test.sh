#!/bin/bash
# package_test.sh BUILD_DIR: makes the relocatable archive and runs what is in it elsewhere, without
# the libraries of this machine but glibc.
set -euo pipefail

build_dir=$1
lab=$(mktemp -d)
trap 'rm -rf "$lab"' EXIT

fail() {
  echo "FAILED: $*"
  exit 1
}

(cd "$lab" && cpack --config "$build_dir/CPackConfig.cmake" -B "$lab/out" >"$lab/log") ||
  { cat "$lab/log"; fail "cpack"; }
archive=$(echo "$lab"/out/collbench-*.tar.gz)
[[ -f $archive ]] || fail "no archive of that name: $archive"
size=$(stat -c %s "$archive")
((size <= 60 * 1024 * 1024)) || fail "the archive has $size bytes, more than 60 MiB"

mkdir "$lab/elsewhere"
tar -xzf "$archive" -C "$lab/elsewhere"
program=$(echo "$lab"/elsewhere/*/bin/collbench)
folder=$(dirname "$(dirname "$program")")
for file in share/doc/collbench/LICENSE share/doc/collbench/README.md; do
  [[ -f $folder/$file ]] || fail "$file is missing"
done
if find "$folder" -name 'libnccl*' -o -name 'libcuda*' | grep .; then
  fail "the libraries above belong to the machine"
fi

# Every library comes from the archive, or is glibc.
foreign=$(env -i ldd "$program" | awk -v own="$folder" '
  $2 == "=>" && index($3, own) != 1 && $1 !~ /^lib(c|m|dl|rt|pthread|resolv)\.so/ { print $1, $3 }')
[[ -z $foreign ]] || fail "not from the archive: $foreign"

said=$(cd "$lab" && env -i "$program" --algo ring --workers 4 -e 64K -n 10)
[[ $said == *"all results correct"* ]] || fail "the run said: $said"
said=$(cd "$lab" && env -i "$program" run --algo ring --workers 2 --backend grpc -e 4K -n 10)
[[ $said == *"all results correct"* ]] || fail "the run over gRPC said: $said"
# What reads files of its own, or loads libraries by name.
said=$(cd "$lab" && env -i "$program" simulate --algo ring -W 8 -t dgx-h100 -b 1M -e 1M)
[[ $said == *"workers=8"* ]] || fail "the simulation said: $said"
said=$(cd "$lab" && env -i "$program" train --model dense2 -W 2 --samples 256 --epochs 1)
[[ $said == *"optimizer"* ]] || fail "training said: $said"
foreign=$(cd "$lab" && env -i LD_DEBUG=files LD_DEBUG_OUTPUT="$lab/loaded" \
  "$program" train --model dense2 -W 2 --samples 256 --epochs 1 >/dev/null &&
  cat "$lab"/loaded.* | awk -v own="$folder" '
    /calling init: .*lib(dnnl|OpenCL|gomp)/ && index($4, own) != 1 { print $4 }')
[[ -z $foreign ]] || fail "loaded, but not from the archive: $foreign"
said=$(cd "$lab" && env -i "$program" doctor)
[[ $said == *"shm"*"usable"* ]] || fail "doctor said: $said"
echo "$(basename "$archive"): $size bytes"
