#!/usr/bin/env bash
# Runs bazelw in a copy of what it needs, with programs of its own in place of apt-get, dpkg and
# bazel: set-ups that succeed, and one line for each way in which they fail.
set -uo pipefail
# Of the bazelw that runs this.
unset MILLRACE_S3_SERVER MILLRACE_CLANG_FORMAT MILLRACE_TORCHRUN MILLRACE_TENSORBOARD MILLRACE_TEST_PYTHON MILLRACE_PROMETHEUS MILLRACE_MLFLOW MILLRACE_DATA MILLRACE_CACHE MILLRACE_DISK_CACHE MILLRACE_DISK_CACHE_GB MILLRACE_OUTPUT_ROOT MILLRACE_WORKSPACE LIBTORCH

source=$PWD
work=$(mktemp -d /tmp/bazelw.XXXXXX)  # another user must get there, too
trap 'rm -rf "$work"' EXIT
failures=0 skipped=0

# A fresh repository, cache and folder of programs, all in $here. With a second argument the environment
# is to be made, too.
fresh() {
  here=$work/$1
  mkdir -p "$here/repo/third_party" "$here/bin"
  [[ -n ${2:-} ]] || mkdir -p "$here/cache/venv"
  chmod 755 "$work" "$here"
  cp "$source/bazelw" "$here/repo/"
  mkdir -p "$here/repo/bazel"
  cp "$source"/bazel/{setup.sh,disk_cache.sh,show_progress,unpack_wheels.py} "$here/repo/bazel/"
  : > "$here/repo/third_party/requirements.txt"
  : > "$here/repo/third_party/test_requirements.txt"
  : > "$here/repo/third_party/test_debian_packages.txt"
  : > "$here/repo/third_party/test_system_packages.txt"
  : > "$here/repo/third_party/cuda_requirements.txt"
  echo "some-package $here/installed" > "$here/repo/third_party/debian_packages.txt"
  program apt-get "[[ \"\$*\" != *install* ]] || touch $here/installed"
  program dpkg "exit 0"
  program bazel "echo bazel \"\$@\""
}

program() {
  printf '#!/bin/bash\n%s\n' "$2" > "$here/bin/$1"
  chmod 755 "$here/bin/$1"
}

# call [COMMAND...]: bazelw, through COMMAND; the exit code and what it wrote.
call() {
  output=$(cd "$here/repo" && MILLRACE_CACHE=${cache:-$here/cache} PATH=$here/bin:$PATH PIP_NO_INDEX=1 \
    BAZELW_RETRIES=2 BAZELW_RETRY_SECONDS=0 "$@" ./bazelw "${arguments[@]}" 2>&1)
  code=$?
}

expect() {  # expect CODE PATTERN: the code, and a last line that matches
  local last
  last=$(tail -n 1 <<< "$output")
  if [[ $code != "$1" || ! $last =~ $2 ]]; then
    printf 'FAILED %s: exit code %s (not %s), last line not like "%s":\n%s\n' "${here##*/}" "$code" "$1" "$2" "$output"
    failures=$((failures + 1))
  fi
}

check() {  # check WHAT COMMAND...: the command succeeds
  local what=$1
  shift
  "$@" || { printf 'FAILED %s: %s\n%s\n' "${here##*/}" "$what" "$output"; failures=$((failures + 1)); }
}

arguments=(build //x)

fresh installs_what_is_missing venv
call env
expect 0 '^bazel build .*//x$'
check "an environment" test -d "$here/cache/venv"
call env
expect 0 '^bazel build .*//x$'
check "quiet once all is there" test "$(wc -l <<< "$output")" -le 2

fresh keeps_no_pipe_open
touch "$here/installed"
# Bazel's server inherits each descriptor of Bazel but the first three, and outlives it.
program bazel 'for fd in /proc/$$/fd/*; do
  [[ ${fd##*/} -le 2 || ! $fd -ef /proc/$$/fd/2 ]] || echo "descriptor ${fd##*/} is standard error, too"
done'
for command in build run; do
  arguments=($command //x)
  call env
  check "bazelw $command" test "$code:$output" = 0:"$(grep building <<< "$output")"
done
arguments=(build //x)

fresh another_workspace
touch "$here/installed"
program bazel 'echo "$PWD" bazel "$@"'
mkdir -p "$here/own/folder"
call env MILLRACE_WORKSPACE="$here/own"
expect 1 "^bazelw: MILLRACE_WORKSPACE is .*/own, which has no file WORKSPACE: set it to"
touch "$here/own/WORKSPACE"
call env MILLRACE_WORKSPACE="$here/own"
expect 0 "^$here/own bazel build --repo_env=MILLRACE_VENV=$here/cache/venv .*//x$"
output=$(cd "$here/own/folder" && MILLRACE_WORKSPACE=$here/own MILLRACE_CACHE=$here/cache \
  PATH=$here/bin:$PATH "$here/repo/bazelw" build //y 2>&1)
code=$?
expect 0 "^$here/own/folder bazel build .*//y$"

fresh no_network
program apt-get "echo \"Temporary failure resolving 'deb.debian.org'\"; exit 100"
call env
expect 1 '^bazelw: apt-get failed: the network or its package index cannot be reached'

fresh unknown_package
program apt-get '[[ "$*" != *install* ]] || { echo "E: Unable to locate package some-package"; exit 100; }'
call env
expect 1 'apt knows no package some-package'

fresh lock_that_is_held
program apt-get "if [[ \$* == *update* && ! -e $here/second ]]; then touch $here/second
  echo 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 12 (apt-get)'; exit 100; fi
  touch $here/installed"
call env
expect 0 '^bazel build'

fresh lock_that_is_never_released
program apt-get "echo 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 12'; exit 100"
call env
expect 1 'another apt or dpkg has held its lock'

fresh wrong_pin
touch "$here/installed"
echo 'no-such-thing==9.9' > "$here/repo/third_party/requirements.txt"
call env
expect 1 'the package index has no no-such-thing==9.9: check the pin'
check "no environment" test -z "$(ls -d "$here"/cache/venv-* 2> /dev/null)"

# What tests need. The wheel is the whole index, and has a server that prints its arguments.
wheel_with_a_server() {
  mkdir -p "$here/wheels"
  /usr/bin/python3 - "$here/wheels/some_server-1.0-py3-none-any.whl" << 'END'
import sys, zipfile
files = {
    "some_server.py": "import sys\ndef main(): print('serving', *sys.argv[1:])\n",
    "some_server-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: some-server\nVersion: 1.0\n",
    "some_server-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "some_server-1.0.dist-info/entry_points.txt": "[console_scripts]\nmoto_server = some_server:main\n"
                                                  "clang-format = some_server:main\n",
}
record = "some_server-1.0.dist-info/RECORD"
files[record] = "".join(name + ",,\n" for name in [*files, record])
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    for name, content in files.items():
        wheel.writestr(name, content)
END
  echo 'some-server==1.0' > "$here/repo/third_party/test_requirements.txt"
}

fresh what_tests_need
touch "$here/installed"
wheel_with_a_server
program bazel 'echo "server: ${MILLRACE_S3_SERVER:-none}, format: ${MILLRACE_CLANG_FORMAT:-none}, torchrun: ${MILLRACE_TORCHRUN:-none}"'
arguments=(test //x)
call env
expect 0 '^server: none, format: none, torchrun: none$'
arguments=(test_setup)
call env PIP_FIND_LINKS="$here/wheels"
expect 0 'installing what tests need into'
server=$(echo "$here"/cache/test-venv-*/bin/moto_server)
check "a server that runs" test "$("$server" -p 1)" = "serving -p 1"
call env
check "quiet once it is there" test "$code:$output" = 0:
arguments=(test //x)
call env
expect 0 "^server: $server, format: ${server%/*}/clang-format, torchrun: ${server%/*}/torchrun\$"
call env MILLRACE_S3_SERVER=/mine MILLRACE_CLANG_FORMAT=/other MILLRACE_TORCHRUN=/third
expect 0 '^server: /mine, format: /other, torchrun: /third$'
mkdir -p "$here/cache/venv/bin"
printf '#!/bin/sh\necho "$PYTHONPATH $*"\n' > "$here/cache/venv/bin/torchrun"
chmod 755 "$here/cache/venv/bin/torchrun"
check "a torchrun that runs" test "$("${server%/*}/torchrun" -h)" = "$(echo "${server%/bin/*}"/lib/python3*/site-packages) -h"
arguments=(test_setup)
echo 'some-server==2.0' > "$here/repo/third_party/test_requirements.txt"
call env PIP_FIND_LINKS="$here/wheels"
expect 1 'installing what tests need failed: the package index has no some-server==2.0: check the pin'
check "no environment of it" test "$(ls -d "$here"/cache/test-venv-*)" = "${server%/bin/*}"
arguments=(test //x)
call env
expect 0 '^server: none, format: none, torchrun: none$'

# Debian packages are unpacked beside the wheels.
fresh what_tests_need_from_debian
touch "$here/installed"
wheel_with_a_server
echo some-program > "$here/repo/third_party/test_debian_packages.txt"
program apt-get '[[ $2 == download ]] && touch "$3_1_all.deb"'
program dpkg-deb 'mkdir -p "$3/usr/bin" && touch "$3/usr/bin/unpacked"'
arguments=(test_setup)
call env PIP_FIND_LINKS="$here/wheels"
expect 0 'installing what tests need into'
check "the program" test -e "$here"/cache/test-venv-*/debian/usr/bin/unpacked
check "no package" test ! -e "$here"/cache/test-venv-*/debian/packages
program apt-get 'echo "E: Unable to locate package $3"; exit 100'
echo other-program > "$here/repo/third_party/test_debian_packages.txt"
call env PIP_FIND_LINKS="$here/wheels"
expect 1 'installing what tests need failed'

# Packages with dependencies are installed, for all tests or for a family.
fresh what_tests_need_installed
touch "$here/installed"
wheel_with_a_server
mkdir "$here/repo/third_party/test_families"
echo 'some-server==1.0' > "$here/repo/third_party/test_families/some.requirements.txt"
program apt-get "[[ \"\$*\" != *install* ]] || touch $here/\${@: -1}"
arguments=(test_setup)
echo "some-daemon $here/some-daemon" > "$here/repo/third_party/test_system_packages.txt"
echo "some-cluster $here/some-cluster" > "$here/repo/third_party/test_families/some.txt"
call env PIP_FIND_LINKS="$here/wheels"
expect 0 'installing Debian packages: some-daemon'
check "the daemon alone" test -e "$here/some-daemon" -a ! -e "$here/some-cluster"
call env
check "quiet once they are there" test "$code:$output" = 0:
arguments=(test_setup some)
call env PIP_FIND_LINKS="$here/wheels"
expect 0 'installing what some needs into'
check "the cluster and its wheels" test -e "$here/some-cluster" -a -x "$(echo "$here"/cache/test-venv-some-*/bin/moto_server)"
arguments=(test_setup none)
call env
expect 1 'third_party/test_families has no none.txt: name one of some'

# Wheels for --config=cuda, of another Python and system than those here. `$1` is their only library.
wheel_with_libraries() {
  rm -rf "$here/wheels" && mkdir -p "$here/wheels"
  /usr/bin/python3 - "$here/wheels/torch-1.0-cp312-cp312-manylinux_2_28_x86_64.whl" "$1" << 'END'
import sys, zipfile
names = ["include/ATen/ATen.h", "include/google/old.h", "lib/libtorch_python.so", "lib/libtorch.so",
         "lib/libtorch_cuda.so", "lib/libc10.so", "lib/libc10_cuda.so", "lib/" + sys.argv[2]]
files = {"torch/" + name: "" for name in names}
files["nvidia/nccl/include/nccl.h"] = ""
files["torch-1.0.dist-info/METADATA"] = "Metadata-Version: 2.1\nName: torch\nVersion: 1.0\n"
files["torch-1.0.dist-info/WHEEL"] = "Wheel-Version: 1.0\nTag: cp312-cp312-manylinux_2_28_x86_64\n"
with zipfile.ZipFile(sys.argv[1], "w") as wheel:
    for name, content in files.items():
        wheel.writestr(name, content)
END
  echo "torch==1.0 --hash=sha256:$(sha256sum "$here"/wheels/*.whl | cut -d ' ' -f 1)" > "$here/repo/third_party/cuda_requirements.txt"
}

fresh what_cuda_needs
arguments=(build //x)
touch "$here/installed"
wheel_with_libraries libtorch_cpu.so
call env
expect 0 '^bazel build .*//x$'
check "no wheels for CUDA" test -z "$(grep CUDA_WHEELS <<< "$output")"
arguments=(cuda_setup)
call env PIP_FIND_LINKS="$here/wheels"
expect 0 'unpacking LibTorch for CUDA and NCCL into'
check "exit code" test "$code" = 0
unpacked=$(echo "$here"/cache/cuda-*)
check "the header of NCCL" test -e "$unpacked/nvidia/nccl/include/nccl.h"
check "the headers of LibTorch without protobuf's" test "$(ls "$unpacked/torch/include")" = ATen
check "the libraries to link" test "$(ls "$unpacked/torch/lib" | tr '\n' ' ')" = \
  "libc10.so libc10_cuda.so libtorch.so libtorch_cpu.so libtorch_cuda.so "
check "nothing else" test "$(ls "$unpacked" | tr '\n' ' ')" = "nvidia torch "
call env
check "quiet once it is there" test "$code:$output" = 0:
arguments=(build //x)
call env
expect 0 "^bazel build .*--repo_env=MILLRACE_CUDA_WHEELS=$unpacked .*//x\$"
arguments=(cuda_setup)
sed -i 's/sha256:../sha256:00/' "$here/repo/third_party/cuda_requirements.txt"
call env PIP_FIND_LINKS="$here/wheels"
expect 1 'unpacking the wheels for CUDA failed: a wheel differs from its hash in third_party/cuda_requirements.txt'
wheel_with_libraries libtorch_other.so
call env PIP_FIND_LINKS="$here/wheels"
expect 1 'unpacking the wheels for CUDA failed: see the end of its output'
check "the file that is missing" grep -q 'no file of the wheels matches torch/lib/libtorch_cpu.so' "$here/cache/pip.log"
check "what was there, and nothing half made" test "$(echo "$here"/cache/cuda-*)" = "$unpacked"
arguments=(build //x)

# CI goes on without them, and counts the target whose case was skipped as failed.
fresh ci
touch "$here/installed"
echo 'some-server==2.0' > "$here/repo/third_party/test_requirements.txt"
mkdir -p "$here/repo/.ci" "$here/repo/tests/ci"
cp "$source/.ci/run" "$here/repo/.ci/"
cp "$source/tests/ci/skipped_cases.py" "$here/repo/tests/ci/"
cat > "$here/test.xml" << 'END'
<testsuites><testsuite><testcase classname="A" name="b">
<skipped message="not provided: MILLRACE_S3_SERVER: none"/></testcase></testsuite></testsuites>
END
cat > "$here/events" << END
{"id": {"testResult": {"label": "//a:a"}}, "testResult": {"testActionOutput": [{"name": "test.xml", "uri": "file://$here/test.xml"}]}}
{"id": {"testSummary": {"label": "//a:a"}}, "testSummary": {"overallStatus": "PASSED"}}
END
program bazel "for argument; do
  [[ \$argument != --build_event_json_file=* ]] || cp $here/events \"\${argument#*=}\"
done
echo 'Executed 1 out of 1 test: 1 test passes.'"
in_ci() {
  output=$(cd "$here/repo" && MILLRACE_CACHE=$here/cache PATH=$here/bin:$PATH PIP_NO_INDEX=1 CI=$1 .ci/run 2>&1)
  code=$?
}
in_ci false
expect 0 '^1 passed, 0 failed$'
check "a line that says why" grep -q '^bazelw: installing what tests need failed: ' <<< "$output"
check "the number of skipped cases" grep -q '^1 cases skipped$' <<< "$output"
in_ci true
expect 1 '^0 passed, 1 failed$'
check "why it is not allowed" grep -q 'not allowed: ./bazelw test_setup installs it' <<< "$output"
arguments=(build //x)

fresh interrupted_before_and_another_python_first venv
touch "$here/installed"
mkdir -p "$here/cache/venv.building-1/bin"
program python3 "exit 7"
call env PYTHONHOME=/nowhere PYTHONPATH=/nowhere
expect 0 '^bazel build'
check "nothing of the interrupted set-up" test ! -e "$here/cache/venv.building-1"

fresh file_in_place_of_the_cache venv
echo > "$here/cache"
call env
expect 1 'set MILLRACE_CACHE to a folder that can be written'

if ((EUID == 0)); then
  fresh no_root
  chmod 777 "$here/cache"
  program sudo "exit 1"
  call setpriv --reuid=65534 --regid=65534 --clear-groups
  expect 1 'only root can install them: sudo apt-get install --no-install-recommends some-package'
fi

# mounted OPTIONS: bazelw with a cache that is a file system of its own.
mounted() {
  mkdir -p "$here/cache"
  call unshare -m sh -c 'mount -t tmpfs -o "$0" none "$MILLRACE_CACHE" && exec "$@"' "$1"
}
if ((EUID == 0)) && unshare -m mount -t tmpfs none /mnt 2> /dev/null; then
  fresh no_space
  mounted size=8m
  expect 1 'has [0-9]+ MB of space left, and 3000 MB are needed; make room, or set MILLRACE_CACHE'
  fresh noexec
  mounted size=8m,noexec
  expect 1 'programs cannot be run from .*mounted noexec.*set MILLRACE_CACHE'
  fresh read_only
  mounted size=8m,ro
  expect 1 'cannot write .*set MILLRACE_CACHE'
else
  skipped=3
fi

# The disk cache: the oldest files go, unless another build runs.
fresh disk_cache
touch "$here/installed"
mkdir -p "$here/cache/venv" "$here/cache/disk"
for age in 1 2 3 4 5; do
  truncate -s 300M "$here/cache/disk/$age"
  touch -d "$age days ago" "$here/cache/disk/$age"
done
export MILLRACE_DISK_CACHE_GB=1
program bazel-of-another-build 'read -r line'
mkdir -p "$here/cache/builds"
"$here/bin/bazel-of-another-build" < <(sleep 60) &
another=$!
touch "$here/cache/builds/$another"
call env
expect 0 '^bazel build'
check "all files while another build runs" test "$(ls "$here/cache/disk" | wc -l)" = 5
kill "$another"
wait "$another" 2> /dev/null
call env
check "the newest files, up to 0.8 GB" test "$(ls "$here/cache/disk" | tr '\n' ' ')" = "1 2 "
unset MILLRACE_DISK_CACHE_GB

# Progress: a line for what takes long, none in the first 30 s.
fresh progress
text=$(printf '[1 / 2] Compiling a.cc; 1s local\nINFO: done\n' | "$source/bazel/show_progress" 2>&1)
output=$text
check "nothing of the first 30 s" test "$text" = "INFO: done"
text=$(printf '[1,534 / 2,545] Compiling a.cc; 1s local\n' | SHOW_PROGRESS_SECONDS=0 "$source/bazel/show_progress" 2>&1)
output=$text
check "a line" test "$text" = "bazelw: 1,534 of 2,545 actions done in 0:00; Compiling a.cc"
text=$(printf '[%s] Compiling a.cc; 1s local\n' '1,000 / 2,000' '1,500 / 2,500' |
  SHOW_PROGRESS_SECONDS=0 SHOW_PROGRESS_SINCE=100 SHOW_PROGRESS_FIRST=50 "$source/bazel/show_progress" 2>&1)
output=$text
check "no time left for few actions" test "$(printf '[%s] Compiling a.cc; 1s local\n' '1 / 9' '5 / 9' |
  SHOW_PROGRESS_SECONDS=0 SHOW_PROGRESS_SINCE=100 "$source/bazel/show_progress" 2>&1 | grep -c left)" = 0
check "the time left" grep -Eq '^bazelw: 1,500 of 2,500 actions done in 1:4., about 1:4. left; Compiling a.cc$' <<< "$text"

echo "$skipped cases skipped: file systems cannot be mounted here"
((failures == 0)) && echo "all pass"
exit $((failures > 0))
