#!/bin/bash
# launchers_test.sh SOURCE_DIR: what ./collbench and ./run-tests do on machines of all kinds.
#
# The scripts run in a copy of the tree, on a machine made of stubs: `dpkg-query` prints the file
# "installed", `apt-get install` adds to it, `cmake --build` makes a binary that shows its arguments,
# and every call is noted in "calls". So nothing is installed and nothing is compiled.
set -euo pipefail

source_dir=$1
lab=$(mktemp -d)
trap 'rm -rf "$lab"' EXIT
tree="$lab/a tree"
failures=0

make_stub() {
  printf '#!/bin/bash\necho "%s $*" >>"%s/calls"\n%s\n' "$1" "$lab" "$2" >"$lab/bin/$1"
  chmod +x "$lab/bin/$1"
}

# A fresh Debian 12 with only a few packages, and a fresh clone.
new_machine() {
  rm -rf "${lab:?}/bin" "$tree"
  mkdir -p "$tree" "$lab/bin"
  cp -r "$source_dir"/{collbench,run-tests,cmake,CMakeLists.txt,CMakePresets.json,core} "$tree"
  printf 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian GNU/Linux 12"\n' >"$lab/os-release"
  printf 'bash|installed|\nlibfmt-dev|installed|\ncmake|config-files|\n' >"$lab/installed"
  : >"$lab/calls"
  # shellcheck disable=SC2016
  {
    make_stub dpkg-query "cat '$lab/installed'"
    make_stub sudo '"$@"'
    make_stub apt-get '
[[ "$*" == *" install "* || $1 == install ]] || exit 0
for name in "$@"; do [[ $name == -* ]] || echo "$name|installed|"; done >>"'"$lab"'/installed"'
    make_stub ninja ''
    make_stub cmake '
[[ $1 == --build ]] || exit 0
echo "[1/2] compiling"
mkdir -p "$2/cli"
program=$2/cli/${*: -1}
printf "#!/bin/bash\nprintf \"ran <%%s>\" \"\$@\"\nexit \${EXIT_WITH:-0}\n" >"$program"
chmod +x "$program"'
    # A suite of four tests, a script that is skipped, and four others, of which one is a suite, too.
    make_stub ctest '
failures=${CTEST_FAILURES:-0}
weak=4
[[ "$*" == *" --rerun-failed"* ]] && { weak=$failures; failures=${CTEST_FAILURES_AGAIN:-0}; }
while [[ $1 != --output-junit ]]; do shift; done
exec 3>"$2"
case_of() { printf "\t<testcase name=\"%s\" status=\"%s\">\n%s\n\t</testcase>\n" "$@" >&3; }
if ((weak == 4)); then
  case_of whole run "[  PASSED  ] 3 tests.
[  SKIPPED ] 1 test, listed below:"
  case_of script notrun ""
fi
for ((test = 0; test < weak; ++test)); do
  status=run said=PASSED
  ((test >= failures)) || status=fail said=FAILED
  ((test == 1)) && said="[  $said  ] 1 test, listed below:" || said=""
  case_of "weak.$test" "$status" "$said"
done
((failures == 0))'
  }
}

# call COMMAND...: runs it on that machine; sets out (stdout), err (stderr), code
call() {
  code=0
  PATH="$lab/bin:$PATH" COLLBENCH_OS_RELEASE="$lab/os-release" "$@" \
    >"$lab/out" 2>"$lab/err" </dev/null || code=$?
  out=$(<"$lab/out")
  err=$(<"$lab/err")
}

begin() {
  test_name=$1
  new_machine
}

# expect WHAT CONDITION...: a condition is a command
expect() {
  local what=$1
  shift
  "$@" && return
  failures=$((failures + 1))
  printf 'FAILED %s: %s\n  code %s\n  out: %s\n  err: %s\n' "$test_name" "$what" "$code" "$out" "$err"
}
has() { [[ $1 == *"$2"* ]]; }
has_not() { [[ $1 != *"$2"* ]]; }
calls_of() { grep -c "^$1 " "$lab/calls" || true; }

begin "first run installs, builds and runs"
call "$tree/collbench" --algo ring "two words"
expect "exit code" test "$code" = 0
expect "arguments arrive whole" test "$out" = "ran <--algo>ran <ring>ran <two words>"
expect "missing packages are named with the reason" has "$err" "libgrpc++-dev        the gRPC transport"
expect "a half-removed package counts as missing" has "$err" "cmake  "
expect "packages that are there are not named" has_not "$err" "libfmt-dev"
expect "packages of the tests are not installed" has_not "$(<"$lab/calls")" "libgtest-dev"
expect "peers are not installed" has_not "$(<"$lab/calls")" "libgloo-dev"
expect "what run needs is built" has "$(<"$lab/calls")" "--target collbench_first"
expect "the log is kept" grep -q compiling "$tree/build/release/build.log"

: >"$lab/calls"
call "$tree/collbench" --again
expect "a warm run asks neither dpkg nor cmake" test ! -s "$lab/calls"
expect "a warm run says nothing of its own" test "$out$err" = "ran <--again>"

EXIT_WITH=3 call "$tree/collbench" --again
expect "the exit code of the command passes" test "$code" = 3

touch "$tree/core/units.h"
call "$tree/collbench" --again
expect "a changed source is built" test "$(calls_of 'cmake --build')" = 1
expect "a rebuild installs nothing" test "$(calls_of apt-get)" = 0

begin "the whole command"
call "$tree/collbench" --algo ring
: >"$lab/calls"
call "$tree/collbench" simulate "two words"
expect "is built when another is asked for" has "$(<"$lab/calls")" "--target collbench"
expect "and nothing less" has_not "$(<"$lab/calls")" "--target collbench_first"
expect "runs" test "$code:$out" = "0:ran <simulate>ran <two words>"
: >"$lab/calls"
call "$tree/collbench" --algo ring
expect "serves run, too" test "$(calls_of cmake):$out" = "0:ran <--algo>ran <ring>"
for words in --help -qh --version -V "help run" doctor; do
  new_machine
  # shellcheck disable=SC2086
  call "$tree/collbench" $words
  expect "$words: is built at once" has_not "$(<"$lab/calls")" "collbench_first"
done
new_machine
COLLBENCH_WORKERS=4 call "$tree/collbench" --algo ring
expect "knows the settings of all commands" has_not "$(<"$lab/calls")" "collbench_first"
new_machine
_COLLBENCH_LAUNCHER="" call "$tree/collbench" --algo synth
expect "is built for the program of run" has_not "$(<"$lab/calls")" "collbench_first"
new_machine
mkdir -p "$tree/build/release"
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$tree" >"$tree/build/release/CMakeCache.txt"
call "$tree/collbench" --algo ring
expect "is what a build without batches has" has_not "$(<"$lab/calls")" "collbench_first"

begin "GPUs"
export COLLBENCH_GPU_DEVICE="$lab/nvidiactl"
rm -f "$lab/nvidiactl"
call "$tree/collbench" x
expect "without one, nothing compiles for it" has "$(<"$lab/calls")" "-DCOLLBENCH_WITH_CUDA=OFF"
touch "$tree/core/units.h"
: >"$lab/calls"
call "$tree/collbench" x
expect "nor later" has "$(<"$lab/calls")" "-DCOLLBENCH_WITH_CUDA=OFF"
: >"$lab/calls"
touch "$lab/nvidiactl"
call "$tree/collbench" x
expect "once there is one, it does" has "$(<"$lab/calls")" "-DCOLLBENCH_WITH_CUDA=ON"
rm "$lab/nvidiactl"
touch "$tree/core/units.h"
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$tree" >"$tree/build/release/CMakeCache.txt"
: >"$lab/calls"
call "$tree/collbench" x
expect "and then builds without one" has "$(<"$lab/calls")" "cmake --build"
expect "and keeps what it can" has_not "$(<"$lab/calls")" "-DCOLLBENCH_WITH_CUDA=OFF"
begin "a build that was configured by hand"
mkdir -p "$tree/build/release"
echo "CMAKE_HOME_DIRECTORY:INTERNAL=$tree" >"$tree/build/release/CMakeCache.txt"
call "$tree/collbench" x
expect "is built" has "$(<"$lab/calls")" "cmake --build"
expect "keeps its choice" has_not "$(<"$lab/calls")" "COLLBENCH_WITH_CUDA"
unset COLLBENCH_GPU_DEVICE

begin "from any directory, through symbolic links"
ln -s "$tree/collbench" "$lab/link"
ln -s link "$lab/second"
cd /
call "$lab/second" x
expect "runs" test "$code:$out" = "0:ran <x>"

begin "--no-install"
call "$tree/collbench" --no-install
expect "exit code" test "$code" = 0
expect "prints the packages" has "$err" "nlohmann-json3-dev"
expect "prints the command" has "$err" "apt-get install -y --no-install-recommends g++ cmake"
expect "does nothing" test "$(calls_of apt-get):$(calls_of cmake)" = "0:0"
call "$tree/run-tests" --no-install
expect "run-tests prints the packages of the tests too" has "$err" "libgtest-dev"
expect "run-tests does nothing" test "$(calls_of apt-get):$(calls_of cmake)" = "0:0"
sed -nE 's/^(build|tests) *\| *([^ ]+).*/\2|installed|/p' "$tree/cmake/packages.txt" >>"$lab/installed"
call "$tree/run-tests" --no-install
expect "says when nothing is missing" has "$err" "nothing to install"

begin "--with-peers"
call "$tree/collbench" --with-peers x
expect "installs them" has "$(<"$lab/calls")" "libgloo-dev libopenmpi-dev openmpi-bin"
expect "is not passed on" test "$out" = "ran <x>"

begin "another distribution"
printf 'ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04 LTS"\n' >"$lab/os-release"
for which in collbench run-tests; do
  call "$tree/$which"
  expect "exit code" test "$code" = 4
  expect "names the system" has "$err" "this is Ubuntu 24.04 LTS"
  expect "names the packages" has "$err" "libgrpc++-dev"
  expect "installs nothing" test "$(calls_of apt-get)" = 0
done
printf 'ID=debian\nVERSION_ID="11"\nPRETTY_NAME="Debian 11"\n' >"$lab/os-release"
call "$tree/collbench"
expect "an older Debian is refused too" test "$code" = 4
rm "$lab/os-release"
call "$tree/collbench"
expect "no os-release at all" has "$err" "this is an unknown system"

begin "no network"
make_stub apt-get 'echo "E: Unable to fetch some archives" >&2; exit 100'
call "$tree/collbench"
expect "exit code" test "$code" = 4
expect "says so" has "$err" "could not be installed (no network"
expect "shows apt's words" has "$err" "Unable to fetch"
expect "builds nothing" test "$(calls_of cmake)" = 0

begin "a failing build"
# shellcheck disable=SC2016
make_stub cmake '[[ $1 != --build ]] || { echo "ring.cc:3: error: no such thing"; exit 2; }'
call "$tree/collbench"
expect "exit code" test "$code" = 5
expect "shows the error" has "$err" "ring.cc:3: error: no such thing"
expect "names the log" has "$err" "$tree/build/release/build.log"
call "$tree/collbench"
expect "is tried again" test "$code" = 5

begin "runs at the same time"
make_stub cmake "$(tail -n +3 "$lab/bin/cmake" | sed '1a sleep 0.5')"
for i in 1 2 3; do
  PATH="$lab/bin:$PATH" COLLBENCH_OS_RELEASE="$lab/os-release" "$tree/collbench" "$i" \
    >"$lab/out$i" 2>/dev/null </dev/null &
done
wait
call true
expect "one builds" test "$(calls_of 'cmake --build'):$(calls_of apt-get)" = "1:2"
expect "all run" test "$(cat "$lab"/out[123])" = "ran <1>ran <2>ran <3>"

# in_bootstrap COMMAND...: with the functions that both scripts share
in_bootstrap() {
  # shellcheck disable=SC2034
  root=$tree script=test
  # shellcheck source=cmake/bootstrap.bash
  . "$tree/cmake/bootstrap.bash"
  "$@"
}
left_of() { time_left "$@" && echo "<$left>"; }
steps() { for n in {1..20}; do echo "[$n/40] compiling $n"; done; }
progress_of_steps() {
  # shellcheck disable=SC2317  # show_progress calls it
  time_left() { left="$1 of $2"; }
  steps | show_progress 2>&1
}

begin "time left"
expect "minutes" test "$(in_bootstrap left_of 10 461 20)" = "<about 15 min left>"
expect "seconds" test "$(in_bootstrap left_of 400 461 300)" = "<about 45 s left>"
expect "nothing at the end" test "$(in_bootstrap left_of 461 461 300)" = "<>"
expect "nothing while it says too little" test "$(in_bootstrap left_of 1 461 4)" = "<>"
expect "shown with the steps" test "$(in_bootstrap progress_of_steps)" = "[20/40] 20 of 40: compiling 20"

begin "run-tests"
call "$tree/run-tests"
expect "exit code" test "$code" = 0
expect "last line counts" test "${out##*$'\n'}" = "7 passed, 0 failed, 2 skipped"
expect "checks that every header stands alone" \
  has "$(<"$lab/calls")" "all_verify_interface_header_sets"
CTEST_FAILURES=3 call "$tree/run-tests" --label unit
expect "exit code of failed tests" test "$code" = 1
expect "failed tests are counted" test "${out##*$'\n'}" = "4 passed, 3 failed, 2 skipped"
expect "none is tried again" has_not "$(<"$lab/calls")" "--rerun-failed"
expect "the label arrives" has "$(<"$lab/calls")" "--label-regex unit"
CTEST_FAILURES=3 CTEST_FAILURES_AGAIN=1 call "$tree/run-tests" --retry
expect "one that fails twice fails" test "$code" = 1
expect "the last line counts second runs" test "${out##*$'\n'}" = "6 passed, 1 failed, 2 skipped"
expect "those that failed at first are named" has "$out" "failed at first: weak.0 weak.1 weak.2"
CTEST_FAILURES=3 call "$tree/run-tests" --retry
expect "what passes when repeated passes" test "$code ${out##*$'\n'}" = "0 7 passed, 0 failed, 2 skipped"
call "$tree/run-tests" --sanitize asan
expect "the sanitizer's preset is built" has "$(<"$lab/calls")" "cmake --preset asan"
call "$tree/run-tests" --sanitize msan
expect "unknown sanitizer" test "$code" = 2
expect "what would be right" has "$err" "--sanitize takes asan or tsan, not 'msan'"
call "$tree/run-tests" --fast
expect "unknown option" has "$code $err" "2 run-tests: error: unknown option '--fast'"

((failures == 0)) || exit 1
echo "all as expected"
