# What ./collbench and ./run-tests share: installing what is missing, building with a log.
# To be sourced after setting `root` (the repository) and `script` (the name to speak under).
# shellcheck shell=bash
: "${root:?}" "${script:?}"

say() { printf '%s: %s\n' "$script" "$*" >&2; }

# fail CODE MESSAGE...: codes as in docs/exit-codes.md
fail() {
  local code=$1
  shift
  say "error: $*"
  exit "$code"
}

# packages GROUP...: "NAME|WHY" of each package of these groups
packages() {
  local group name why wanted=" $* "
  while IFS='|' read -r group name why; do
    group=${group//[[:space:]]/}
    [[ -n $group && $group != '#'* && $wanted == *" $group "* ]] || continue
    printf '%s|%s\n' "${name//[[:space:]]/}" "${why# }"
  done <"$root/cmake/packages.txt"
}

# missing_packages GROUP...: those of them that dpkg does not know as installed
missing_packages() {
  local installed name why
  # shellcheck disable=SC2016  # the fields are dpkg-query's, not ours
  installed=$(dpkg-query -W -f '${Package}|${db:Status-Status}|\n' 2>/dev/null || true)
  while IFS='|' read -r name why; do
    [[ $'\n'$installed == *$'\n'"$name|installed|"* ]] || printf '%s|%s\n' "$name" "$why"
  done < <(packages "$@")
}

# require_debian GROUP...: ends the script on another system, naming what it would have to have
require_debian() {
  local file=${COLLBENCH_OS_RELEASE:-/etc/os-release} id='' version='' name='an unknown system'
  if [[ -r $file ]]; then
    # shellcheck source=/dev/null
    id=$(. "$file" && echo "${ID:-}")
    # shellcheck source=/dev/null
    version=$(. "$file" && echo "${VERSION_ID:-}")
    # shellcheck source=/dev/null
    name=$(. "$file" && echo "${PRETTY_NAME:-$name}")
  fi
  [[ $id == debian && $version == 12 ]] && return
  say "error: this script installs and builds on Debian 12 (bookworm) only; this is $name."
  say "On another system, install what these Debian packages hold:"
  say "  $(packages "$@" | cut -d '|' -f 1 | paste -sd ' ')"
  say "and build by hand: cmake --preset release && cmake --build --preset release --target collbench"
  exit 4
}

# install_missing NO_INSTALL GROUP...: installs what is missing of these groups; with NO_INSTALL
# set to "yes", only prints it and ends the script.
install_missing() {
  local no_install=$1 missing names=() sudo=() name why
  shift
  require_debian "$@"
  missing=$(missing_packages "$@")
  if [[ -z $missing ]]; then
    [[ $no_install == yes ]] || return 0
    say "nothing to install: every package is there"
    exit 0
  fi
  say "these Debian packages are missing:"
  while IFS='|' read -r name why; do
    printf '  %-20s %s\n' "$name" "$why" >&2
    names+=("$name")
  done <<<"$missing"
  [[ $EUID == 0 ]] || sudo=(sudo)
  local install=("${sudo[@]}" apt-get install -y --no-install-recommends "${names[@]}")
  if [[ $no_install == yes ]]; then
    say "they would be installed by: ${sudo[*]:+${sudo[*]} }apt-get update && ${install[*]}"
    exit 0
  fi
  if [[ $EUID != 0 ]] && ! command -v sudo >/dev/null; then
    fail 4 "installing needs root and there is no sudo here; run as root:" \
      "apt-get update && apt-get install -y --no-install-recommends ${names[*]}"
  fi
  say "installing them: ${install[*]}"
  local started=$SECONDS
  run_apt "${sudo[@]}" || {
    tail -n 12 "$root/build/install.log" >&2
    fail 4 "the packages could not be installed (no network, or no package mirror?)." \
      "Full log: $root/build/install.log"
  }
  say "installed in $((SECONDS - started)) s"
}

# Uses `names` of install_missing. Waits for another apt to finish.
run_apt() {
  local apt=("$@" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600)
  {
    "${apt[@]}" update &&
      "${apt[@]}" install -y --no-install-recommends "${names[@]}"
  } >"$root/build/install.log" 2>&1 9>&-
}

# lock_build: one script at a time installs and builds in this tree
lock_build() {
  if ! mkdir -p "$root/build" 2>/dev/null || [[ ! -w $root/build ]]; then
    fail 5 "cannot write to $root/build; the build needs a tree it may write to"
  fi
  exec 9>"$root/build/.lock"
  flock -n 9 && return
  say "another build of this tree is running; waiting for it"
  flock 9
}

# jobs: as many as there are cores, with 1.2 GB of memory each: gRPC's headers are that heavy
jobs() {
  local cores kilobytes limit by_memory
  cores=$(nproc)
  kilobytes=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  limit=$(cat /sys/fs/cgroup/memory.max 2>/dev/null || echo max)
  if [[ $limit != max ]] && ((limit / 1024 < kilobytes)); then kilobytes=$((limit / 1024)); fi
  by_memory=$((kilobytes / 1200000))
  ((by_memory >= 1)) || by_memory=1
  echo $((cores < by_memory ? cores : by_memory))
}

# time_left DONE TOTAL SECONDS: sets `left` to what the rest takes if each step takes as long as
# those that are done, or to "" while that says too little.
time_left() {
  local rest=$(($3 * ($2 - $1) / $1))
  left=''
  (($3 >= 5)) || return 0
  if ((rest >= 90)); then
    left="about $(((rest + 30) / 60)) min left"
  elif ((rest > 0)); then
    left="about $rest s left"
  fi
}

# One line that is overwritten on a terminal; elsewhere every 20th line, so that a CI job shows life.
# Lines of a build begin with [DONE/TOTAL]: the time left goes after that.
show_progress() {
  local line n=0 width started=$SECONDS left=''
  width=$(tput cols 2>/dev/null || echo 80)
  while IFS= read -r line; do
    n=$((n + 1))
    if [[ $line =~ ^\[([1-9][0-9]*)/([0-9]+)\]\ (.*) ]]; then
      time_left "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}" $((SECONDS - started))
      line="[${BASH_REMATCH[1]}/${BASH_REMATCH[2]}] ${left:+$left: }${BASH_REMATCH[3]}"
    fi
    if [[ -t 2 ]]; then
      printf '\r\033[K%.*s' "$((width - 1))" "$line" >&2
    elif ((n % 20 == 0)); then
      printf '%s\n' "$line" >&2
    fi
  done
  [[ ! -t 2 ]] || printf '\r\033[K' >&2
}

# logged LOG COMMAND...: runs it with progress; its output goes to the end of the log
logged() {
  local log=$1
  shift
  printf '\n+ %s\n' "$*" >>"$log"
  "$@" 2>&1 9>&- | tee -a "$log" | show_progress
}

# build PRESET CONFIGURE_OPTION... -- TARGET...: configures and builds in build/PRESET
build() {
  local preset=$1 dir=$root/build/$1 options=() targets started=$SECONDS
  shift
  while [[ $1 != -- ]]; do
    options+=("$1")
    shift
  done
  shift
  targets=("$@")
  mkdir -p "$dir"
  local log=$dir/build.log
  : >"$log"
  # A tree that was moved or copied keeps the old place in its cache.
  if [[ -f $dir/CMakeCache.txt ]] &&
    ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$dir/CMakeCache.txt"; then
    rm -rf "$dir/CMakeCache.txt" "$dir/CMakeFiles"
  fi
  if [[ ! -f $dir/CMakeCache.txt ]] && command -v ninja >/dev/null; then options+=(-G Ninja); fi
  if ! (cd "$root" && logged "$log" cmake --preset "$preset" "${options[@]}"); then
    tail -n 20 "$log" >&2
    fail 5 "configuring failed. Full log: $log"
  fi
  local parallel
  parallel=$(jobs)
  say "building in $dir with $parallel jobs"
  # With huge pages where the system gives them: clang++ takes a tenth less of the processor.
  if ! GLIBC_TUNABLES=${GLIBC_TUNABLES:+$GLIBC_TUNABLES:}glibc.malloc.hugetlb=1 logged "$log" \
    cmake --build "$dir" --parallel "$parallel" --target "${targets[@]}"; then
    grep -E -A 5 'error:|FAILED|undefined reference' "$log" | head -n 40 >&2 || tail -n 40 "$log" >&2
    fail 5 "the build failed. Full log: $log"
  fi
  say "built in $((SECONDS - started)) s"
}
