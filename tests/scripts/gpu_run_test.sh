#!/bin/bash
# gpu_run_test.sh SOURCE_DIR: what bench/gpu/run makes of a machine with GPUs, all of it stubs: the
# programs that --pack gathers, nvidia-smi, compute-sanitizer, cmake and nvcc. Every call is noted.
set -euo pipefail

script=$1/bench/gpu/run
lab=$(mktemp -d)
trap 'rm -rf "$lab"' EXIT
failures=0
mkdir "$lab/bin" "$lab/pack" "$lab/pack/lib"
PATH=$lab/bin:/usr/bin:/bin

# stub FOLDER NAME CODE: a program that notes its call
stub() {
  printf '#!/bin/bash\necho "%s $*" >>"%s/calls"\n%s\n' "$2" "$lab" "$3" >"$lab/$1/$2"
  chmod +x "$lab/$1/$2"
}
expect() {
  if ! grep -qxE -- "$2" "$1"; then
    echo "FAILED: no line '$2' in $(basename "$1"):"
    sed 's/^/    /' "$1"
    failures=1
  fi
}
expect_code() {
  [[ $1 == "$2" ]] || { echo "FAILED: exit code $1, not $2: $3"; cat "$lab/said"; failures=1; }
}
run() {
  : >"$lab/calls"
  code=0
  "$script" "$@" >"$lab/said" 2>&1 || code=$?
}

# shellcheck disable=SC2016
{
  stub pack collbench 'case "$*" in
  *--dry-run*) echo "no GPU that I know"; exit ${WITHOUT_GPU:-0} ;;
  *"--backend nccl"*) echo "collbench: error: NCCL was not found"; exit 4 ;;
esac'
  stub bin nvidia-smi 'case "$*" in
  *compute_cap*) printf "9.0\n8.0\n9.0\n" ;;
  -L) printf "GPU 0: A\nGPU 1: B\nGPU 2: C\n" ;;
esac'
  stub bin cmake '[[ "$*" != *"--target help"* ]] || echo "... collbench ... collbench_gpu_benchmark"
[[ "$*" != *" -j "* ]] || exit 3'
}
stub pack collbench_cuda_world_test ''
stub pack collbench_gpu_benchmark 'exit 1'
for program in all_reduce_perf nvcc; do stub bin $program ''; done
stub bin python3 'exit 1'
stub bin compute-sanitizer ''

run --from "$lab/pack" --out "$lab/out"
expect_code "$code" 1 "a stage failed"
summary=$lab/out/summary.txt
expect "$summary" 'marks: failed with exit code 1'
expect "$summary" 'test-world: passed in [0-9]+ s'
expect "$summary" 'run-processes: passed in [0-9]+ s'
expect "$summary" 'run-nccl: skipped, it cannot run here: collbench: error: NCCL was not found'
expect "$summary" 'training: skipped, this build has no cuDNN engine'
expect "$lab/calls" 'collbench run --backend nccl --workers 3 .*'
expect "$lab/calls" 'collbench run --backend cuda --isolate --workers 3 .*'
expect "$lab/calls" 'collbench run --backend cuda --workers 8 --algo auto --collective all-gather .*'
expect "$summary" 'cuda-reduce-scatter: passed in [0-9]+ s'
expect "$summary" 'tuner-obeyed: skipped, NCCL has logged nothing'
expect "$summary" 'nccl-broadcast: skipped, it cannot run here: .*'
expect "$lab/calls" 'all_reduce_perf .*-g 3 .*'
expect "$lab/calls" 'compute-sanitizer --tool memcheck --error-exitcode 9 --report-api-errors no .*'
expect "$lab/calls" 'compute-sanitizer --tool racecheck --error-exitcode 9 [^-].*'

# What the sanitizer is to run are names of tests.
filter=$(sed -n "s/^  local some='\(.*\)'/\1/p" "$script")
[[ -n $filter ]] || { echo "FAILED: no filter for the sanitizer"; failures=1; }
for pattern in ${filter//:/ }; do
  name=${pattern%\*}
  grep -q "TEST(${name%.*}, ${name#*.}" "$1/tests/transports/cuda_world_test.cc" ||
    { echo "FAILED: no test is called $pattern"; failures=1; }
done

stub pack collbench_gpu_benchmark ''
run --from "$lab/pack" --out "$lab/out"
expect_code "$code" 0 "nothing failed, and what is missing is no failure"
cp "$script" "$lab/pack/run"
script=$lab/pack/run run --out "$lab/out"
expect_code "$code" 0 "the packed copy runs what lies beside it"

stub pack collbench_cuda_world_test 'exec sleep 60'
run --from "$lab/pack" --out "$lab/out" --seconds 6
expect "$summary" 'test-world: (cut off after [0-9]+ s|not run, 6 s are over)'
expect "$summary" 'run-cuda: not run, 6 s are over'

WITHOUT_GPU=4 run --from "$lab/pack" --out "$lab/out"
expect_code "$code" 4 "there is no GPU"
expect "$lab/said" 'no GPU that I know'

run --build "$lab/build" --out "$lab/out"
expect_code "$code" 2 "the build fails"
expect "$lab/calls" 'cmake -S .*-DCMAKE_CUDA_ARCHITECTURES=80-real;90-real .*'
expect "$lab/calls" 'cmake --build .*--target collbench collbench_gpu_benchmark'
run --build "$lab/build" --arch 75 --pack "$lab/other"
expect "$lab/calls" 'cmake -S .*-DCMAKE_CUDA_ARCHITECTURES=75-real .*'
mkdir "$lab/by-hand" && touch "$lab/by-hand/CMakeCache.txt"
run --build "$lab/by-hand" --out "$lab/out"
if grep -q '^cmake -S' "$lab/calls"; then
  echo "FAILED: a folder configured by hand was configured anew"
  failures=1
fi

# What was built is gathered, unless it is too large to be carried.
stub bin cmake '[[ "$*" != *"--target help"* ]] || echo "... collbench"'
printf '#!/bin/bash\n' >"$lab/by-hand/collbench"
chmod +x "$lab/by-hand/collbench"
run --build "$lab/by-hand" --pack "$lab/gathered"
expect_code "$code" 0 "gathered"
[[ -x $lab/gathered/collbench && -f $lab/gathered/torch_step.py && -x $lab/gathered/run ]] ||
  { echo "FAILED: something was not gathered"; failures=1; }
truncate -s 70M "$lab/by-hand/collbench"
run --build "$lab/by-hand" --pack "$lab/gathered"
expect_code "$code" 1 "70 MiB are too much"
expect "$lab/said" 'bench/gpu/run: packed 7[0-9] MiB, of which 64 can be carried; .*'

for wrong in "--from $lab/nowhere" "--arch x" "--seconds soon" "--out" "--what" "--from a --pack b"; do
  # shellcheck disable=SC2086
  run $wrong
  expect_code "$code" 2 "$wrong"
done
exit "$failures"
