#!/bin/bash
# first_program_test.sh PROGRAM: the program that ./collbench runs while there is no more yet measures
# by itself, and becomes ./collbench, with the same words, for what it has not.
set -euo pipefail

program=$1
lab=$(mktemp -d)
trap 'rm -rf "$lab"' EXIT
failures=0

# expect WANTED WORD...: what it prints and its exit code, alone
expect() {
  local wanted=$1 found code=0
  shift
  found=$("$program" "$@" 2>"$lab/err" </dev/null) || code=$?
  found="$code:$found"
  # shellcheck disable=SC2053  # a pattern
  [[ $found == $wanted ]] && return
  failures=$((failures + 1))
  printf 'FAILED: %s\n  expected %s\n  found    %s\n  %s\n' "$*" "$wanted" "$found" "$(<"$lab/err")"
}

unset _COLLBENCH_LAUNCHER
expect '0:*"algorithm":"ring"*"wrong_elements":0*' --algo ring -W 2 -b 1K -e 1K -n 5 --json -
expect '0:*hierarchical*' run --algo all -W 4 -b 1K -e 1K --list
expect '0:*auto*' --algo auto -B grpc,shm -W 2 -b 1K -e 1K -n 5
expect '2:' --algo rign
expect '4:' simulate --algo ring

cat >"$lab/launcher" <<'END'
#!/bin/bash
printf '<%s>' "${_COLLBENCH_LAUNCHER-unset}" "$@"
exit 7
END
chmod +x "$lab/launcher"
export _COLLBENCH_LAUNCHER=$lab/launcher
expect '7:<><simulate><--algo><two words><><-x>' simulate --algo 'two words' '' -x
expect '7:<><--algo><synth:topo=star:2,1Gbps,1us><-b><1K>' --algo synth:topo=star:2,1Gbps,1us -b 1K
expect '0:*ring*' --algo ring -W 2 -b 1K -e 1K -n 5
for word in simulate sweep train select merge ab compare history report launch calibrate regret \
  validate diagnose algos synth tune topo logs profile doctor completion; do
  expect "7:<><$word>" "$word"
done

((failures == 0))
