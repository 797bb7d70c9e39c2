# Sourced by bazelw where something is missing: installs Debian packages and the wheels.

# Installs what the build lacks.
set_up() {
  local venv=$1 packages
  lock_cache 3000  # wheels, as downloaded and unpacked, and objects
  packages=$(missing_packages debian_packages.txt)
  [[ -z $packages ]] || install_packages "$packages"
  [[ -d $venv ]] || install_wheels "$venv" requirements.txt "LibTorch and Arrow" 1200
  unlock_cache
}

# Installs what tests need beyond the build.
set_up_tests() {
  local venv=$1
  lock_cache 500
  [[ -d $venv ]] || install_wheels "$venv" test_requirements.txt "what tests need" 510 test_debian_packages.txt
  unlock_cache
}

# set_up_packages LIST: installs what is missing of a list of packages in third_party.
set_up_packages() {
  local packages
  lock_cache 100
  packages=$(missing_packages "$1")
  [[ -z $packages ]] || install_packages "$packages"
  unlock_cache
}

# set_up_family FAMILY: installs the lists of a family in third_party/test_families.
set_up_family() {
  local lists=test_families/$1 venv
  [[ -e $root/third_party/$lists.txt || -e $root/third_party/$lists.requirements.txt ]] ||
    die "third_party/test_families has no $1.txt: name one of $(ls "$root/third_party/test_families" | sed 's/\..*//' | sort -u | tr '\n' ' ')"
  [[ ! -e $root/third_party/$lists.txt ]] || set_up_packages "$lists.txt"
  if [[ -e $root/third_party/$lists.requirements.txt ]]; then
    venv=$(family_environment "$1")
    lock_cache 500
    [[ -d $venv ]] || install_wheels "$venv" "$lists.requirements.txt" "what $1 needs" 500
    unlock_cache
  fi
}

# Unpacks the wheels that --config=cuda compiles and links against.
set_up_cuda() {
  local folder=$1
  lock_cache 1800  # wheels, as downloaded, and what is unpacked of them
  [[ -d $folder ]] || install_cuda_wheels "$folder" 1660
  unlock_cache
}

# Checks that the cache has MB of space left and can be used, and waits for other set-ups to end.
lock_cache() {
  check_cache "$1"
  exec 9> "$cache/setup.lock"
  flock -n 9 || { say "waiting for another set-up of $cache"; flock 9; }
}

unlock_cache() { exec 9>&-; }

check_cache() {
  local needed_mb=$1 other="set MILLRACE_CACHE to a folder of another file system" probe free
  mkdir -p "$cache" 2> /dev/null || die "cannot make $cache; set MILLRACE_CACHE to a folder that can be written"
  probe=$cache/probe-$$
  printf '#!/bin/sh\n' 2> /dev/null > "$probe" || die "cannot write $cache; $other"
  chmod +x "$probe"
  if ! "$probe" 2> /dev/null; then
    rm -f "$probe"
    die "programs cannot be run from $cache (mounted noexec?); $other"
  fi
  rm -f "$probe"
  free=$(df -Pk "$cache" | awk 'NR == 2 { print $4 }')
  ((free >= needed_mb * 1000)) ||
    die "$cache has $((free / 1000)) MB of space left, and $needed_mb MB are needed; make room, or $other"
}

# with_progress LOG STATUS COMMAND...: runs the command with its output behind LOG's. Meanwhile shows
# what STATUS prints: each second on a terminal, every 30 s elsewhere.
with_progress() {
  local log=$1 status=$2 pid code=0 began=$SECONDS shown=$SECONDS text
  shift 2
  "$@" >> "$log" 2>&1 9>&- &
  pid=$!
  trap 'kill $pid 2> /dev/null; exit 130' INT TERM
  while kill -0 "$pid" 2> /dev/null; do
    if [[ -t 2 ]] || ((SECONDS - shown >= 30)); then
      shown=$SECONDS
      text="bazelw:   $($status), $(((SECONDS - began) / 60)):$(printf %02d $(((SECONDS - began) % 60))) so far"
      if [[ -t 2 ]]; then printf '\r%s\033[K' "$text" >&2; else printf '%s\n' "$text" >&2; fi
    fi
    sleep 0.5
  done
  [[ ! -t 2 ]] || printf '\r\033[K' >&2
  wait "$pid" || code=$?
  trap - INT TERM
  return "$code"
}

# What the last line of the log that names a known cause means for the user, or nothing.
cause_in() {
  local log=$1
  if grep -qE 'No space left on device' "$log"; then
    echo "no space is left: make room, or set MILLRACE_CACHE to a folder of another file system"
  elif grep -qE 'Could not resolve|Temporary failure|Name or service not known|Network is unreachable|Failed to fetch|Could not connect|NewConnectionError|Connection (refused|timed out)|Max retries' "$log"; then
    echo "the network or its package index cannot be reached: check the connection and the proxy"
  elif grep -qE 'No matching distribution found for' "$log"; then
    echo "the package index has no $(grep -oE 'No matching distribution found for [^ ]+' "$log" | tail -n 1 | sed 's/.* for //'): check the pin in third_party/*requirements.txt and pip's index"
  elif grep -qE 'THESE PACKAGES DO NOT MATCH THE HASHES' "$log"; then
    echo "a wheel differs from its hash in third_party/cuda_requirements.txt: check pip's index and proxy"
  elif grep -qE 'Unable to locate package' "$log"; then
    echo "apt knows no package $(grep -oE 'Unable to locate package [^ ]+' "$log" | head -n 1 | sed 's/.* //'): this needs the packages of Debian 12"
  elif grep -qE 'Could not get lock' "$log"; then
    echo "another apt or dpkg has held its lock for 5 minutes: wait for it, or end it"
  elif grep -qE 'No module named .?(ensurepip|venv)' "$log"; then
    echo "python3-venv is missing"
  fi
}

# fail WHAT LOG: one line with the cause, where it is known.
fail() {
  local what=$1 log=$2 cause
  cause=$(cause_in "$log")
  die "$what failed: ${cause:-see the end of its output} ($log)"
}

run_apt() {
  local sudo=$1 packages=$2
  local apt="$sudo env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 -o Acquire::Retries=2"
  local attempt
  # The timeout is not for the lock on the lists of packages.
  for ((attempt = 0; attempt < ${BAZELW_RETRIES:-60}; ++attempt)); do
    if $apt update; then break; fi
    tail -n 20 "$cache/apt.log" | grep -q 'Could not get lock' || return 1
    sleep "${BAZELW_RETRY_SECONDS:-5}"
  done
  $sudo dpkg --configure -a || return 1  # an installation that was interrupted
  # shellcheck disable=SC2086
  $apt install -y --no-install-recommends $packages
}

apt_status() {
  local log=$cache/apt.log all done
  if all=$(grep -oE '[0-9]+ newly installed' "$log" | tail -n 1); then
    done=$(grep -c '^Setting up ' "$log" || true)
    echo "packages: $done of ${all%% *} set up$(grep -oE 'Need to get [^ ]+ [kMG]?B' "$log" | tail -n 1 | sed 's/Need to get/, to download:/')"
  elif grep -q 'Could not get lock' "$log"; then
    echo "waiting for another apt-get"
  else
    echo "lists of packages"
  fi
}

install_packages() {
  local packages=$1 sudo=""
  if [[ $EUID -ne 0 ]]; then
    command -v sudo > /dev/null && sudo -n true 2> /dev/null && sudo="sudo -n"
    [[ -n $sudo ]] ||
      die "packages are missing, and only root can install them: sudo apt-get install --no-install-recommends $packages"
  fi
  command -v apt-get > /dev/null || die "no apt-get here; install what these Debian packages hold: $packages"
  say "installing Debian packages: $packages"
  : > "$cache/apt.log"
  with_progress "$cache/apt.log" apt_status run_apt "$sudo" "$packages" || fail "apt-get" "$cache/apt.log"
}

# Called by install_wheels, whose variables it reads.
wheels_status() {
  local now
  now=$(du -sm "$building" 2> /dev/null | awk '{ print $1 }')
  echo "$(grep -oE 'Downloading [^ ]+\.whl \([^)]*\)' "$log" | tail -n 1 | sed -E 's|Downloading ([^/]*/)*([a-zA-Z0-9_.]+)-[^ ]* |\2 |'): ${now:-0} MB of about $megabytes MB downloaded and unpacked"
}

# unpack_packages FOLDER LIST: the Debian packages of the list, unpacked into FOLDER. Needs root for
# nothing but fresh lists of packages, and these only where apt-get knows no package.
unpack_packages() {
  local folder=$1 names package sudo=""
  names=$(grep -v '^#' "$2")
  [[ -n $names ]] || return 0
  command -v apt-get > /dev/null || { echo "no apt-get here"; return 1; }
  [[ $EUID -eq 0 ]] || sudo="sudo -n"
  mkdir -p "$folder/packages" && (
    cd "$folder/packages" || exit 1
    # shellcheck disable=SC2086
    apt-get -q download $names || { $sudo apt-get -q update && apt-get -q download $names; }
  ) || return 1
  for package in "$folder"/packages/*.deb; do
    dpkg-deb -x "$package" "$folder" || return 1
  done
  rm -rf "$folder/packages"
}

# make_environment FOLDER LIST [PACKAGES]: an environment with the wheels of the list, and in its
# folder debian the packages of another one.
make_environment() {
  local building=$1 list=$2 packages=${3:-}
  mkdir -p "$building/tmp" &&
    env -u PYTHONHOME -u PYTHONPATH /usr/bin/python3 -m venv "$building" &&
    env -u PYTHONHOME -u PYTHONPATH TMPDIR="$building/tmp" "$building/bin/pip" install --no-deps \
      --disable-pip-version-check -r "$list" &&
    # The first lines of scripts name the environment, which is about to be renamed.
    find "$building/bin" -type f -exec sed -i '1,2s|\.building-[0-9]*/|/|' {} + &&
    rm -rf "$building/tmp" &&
    { [[ -z $packages ]] || unpack_packages "$building/debian" "$packages"; }
}

# install_wheels ENVIRONMENT LIST WHAT MEGABYTES [PACKAGES]: the wheels of a list in third_party, and the
# Debian packages of another one. The environment is built aside and renamed into place, so that a broken
# set-up never looks ready.
install_wheels() {
  local venv=$1 list=$2 what=$3 megabytes=$4 building=$1.building-$$ log=$cache/pip.log
  local packages=${5:+$root/third_party/$5}
  env -u PYTHONHOME -u PYTHONPATH /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2> /dev/null ||
    die "/usr/bin/python3 is older than Python 3.10, which the wheels need: this needs Debian 12 or newer"
  say "installing $what into $venv"
  rm -rf "$venv" "$cache"/*venv*.building-*  # of set-ups that were interrupted
  : > "$log"
  if ! with_progress "$log" wheels_status make_environment "$building" "$root/third_party/$list" "$packages"; then
    rm -rf "$building"
    fail "installing $what" "$log"
  fi
  mv "$building" "$venv"
}

# What --config=cuda needs of its wheels: headers, but for those of an older protobuf, which would shadow
# the real ones, and the libraries that it names to the linker.
CUDA_FILES=('torch/include/*' '!torch/include/google/*' 'torch/lib/libtorch.so' 'torch/lib/libtorch_cpu.so'
  'torch/lib/libtorch_cuda.so' 'torch/lib/libc10.so' 'torch/lib/libc10_cuda.so' 'nvidia/nccl/include/*')

# unpack_cuda_wheels FOLDER: downloads the wheels of third_party/cuda_requirements.txt and unpacks them.
# Nothing is installed: the wheels are of another Python.
unpack_cuda_wheels() {
  local building=$1 python="env -u PYTHONHOME -u PYTHONPATH /usr/bin/python3"
  mkdir -p "$building/tmp" "$building/wheels" &&
    $python -m venv "$building/venv" &&
    env -u PYTHONHOME -u PYTHONPATH TMPDIR="$building/tmp" "$building/venv/bin/pip" download --no-deps \
      --no-cache-dir --disable-pip-version-check --require-hashes --only-binary :all: --python-version 3.12 \
      --platform manylinux_2_28_x86_64 --platform manylinux_2_18_x86_64 \
      -d "$building/wheels" -r "$root/third_party/cuda_requirements.txt" &&
    $python "$root/bazel/unpack_wheels.py" "$building" "$building"/wheels/*.whl -- "${CUDA_FILES[@]}" &&
    rm -rf "$building/tmp" "$building/wheels" "$building/venv"
}

# install_cuda_wheels FOLDER MEGABYTES: built aside and renamed into place, as environments are.
install_cuda_wheels() {
  local folder=$1 megabytes=$2 building=$1.building-$$ log=$cache/pip.log
  say "unpacking LibTorch for CUDA and NCCL into $folder"
  rm -rf "$folder" "$cache"/cuda-*.building-*
  : > "$log"
  if ! with_progress "$log" wheels_status unpack_cuda_wheels "$building"; then
    rm -rf "$building"
    fail "unpacking the wheels for CUDA" "$log"
  fi
  mv "$building" "$folder"
}
