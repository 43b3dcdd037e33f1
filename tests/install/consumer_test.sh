#!/bin/bash
# consumer_test.sh SOURCE_DIR BUILD_DIR CXX CXXFLAGS: installs the build, moves it elsewhere, and
# builds another project against it, for all components, for the smallest and for some between.
set -euo pipefail

source_dir=$1
build_dir=$2
lab=$(mktemp -d)
trap 'rm -rf "$lab"' EXIT
export CXX=$3 CXXFLAGS=$4

fail() {
  echo "FAILED: $*"
  exit 1
}

cmake --install "$build_dir" --prefix "$lab/first" >/dev/null
mv "$lab/first" "$lab/prefix"

if grep -rlF -e "$source_dir" -e "$build_dir" -e "$lab" "$lab/prefix" --include='*.cmake'; then
  fail "the files above name the place where the package was built"
fi

expected="ring over 8 ranks in 14 rounds: proven"
# One project, so that compilers and packages are looked for once; the smallest components first.
configure() {
  cmake -S "$source_dir/tests/install/consumer" -B "$lab/build" -DCMAKE_PREFIX_PATH="$lab/prefix" \
    "$@" >"$lab/log" 2>&1
}
configure || { cat "$lab/log"; fail "configure"; }
cmake --build "$lab/build" >"$lab/log" || { cat "$lab/log"; fail "build"; }
for name in one bench any; do
  said=$("$lab/build/$name/$name")
  [[ $said == *"$expected" ]] || fail "$name: expected '$expected', got '$said'"
done

# The program of docs/library.md, which says what it prints.
page=$source_dir/docs/library.md
# shellcheck disable=SC2016  # the quotes are Markdown's
sed -n '/^```cpp$/,/^```$/{/^```/d;p}' "$page" | diff - <(tail -n +2 "$source_dir/tests/install/consumer/simulate.cc") ||
  fail "docs/library.md shows another program than tests/install/consumer/simulate.cc"
said=$("$lab/build/simulate/simulate")
[[ $said == "proven; predicted "*" us, simulated "*" us"* ]] || fail "simulate printed '$said'"
grep -qF "${said%%$'\n'*}" "$page" || fail "docs/library.md shows other output than '$said'"

if configure -DTELEPORT=ON; then
  fail "a component that does not exist was found"
fi
grep -q teleport "$lab/log" || fail "the missing component is not named"

"$lab/prefix/bin/collbench" --version >/dev/null || fail "the installed command does not run"

# What the moved command loads at run time comes from where it was moved to, not from the build.
if ls "$lab"/prefix/lib*/collbench/libcollbench_simgrid_kernel.so "$lab"/prefix/lib*/*/collbench/libcollbench_simgrid_kernel.so >/dev/null 2>&1; then
  said=$(LD_DEBUG=files "$lab/prefix/bin/collbench" simulate -E simgrid -A ring -W 4 \
    -t star,10Gbps,1us -b 1K -e 1K -q 2>&1) || fail "the installed engine simgrid does not run"
  grep -q "$lab/prefix/.*libcollbench_simgrid_kernel.so" <<<"$said" ||
    fail "the engine simgrid was not loaded from the installed tree"
fi
echo "installed, moved, found, built and run"
