#!/usr/bin/env bash
# Tries a package of Millrace in a fresh root of Debian, as a user without rights; docs/packages.md.
#
#   debian_root.sh SUITE PACKAGE FOLDER [DATA LABEL]
#
#   SUITE     bookworm, trixie or another suite that debootstrap knows
#   PACKAGE   millrace-*.whl or millrace-*.tar.gz
#   FOLDER    keeps the root and what was downloaded for later runs; removing it removes all
#   DATA      a file of data, and LABEL its label for `millrace config init`
#
# The root has Debian's smallest variant, which is without Python, and for the wheel python3-venv.
# In it the user installs the package, and then either trains half of the quick start and resumes
# it, or with DATA drafts a job from the file, trains it and evaluates it. Prints each command with
# its seconds. Fails if a command fails, if training does not resume, if the evaluation has no AUC
# above 0.5, or if all take LIMIT seconds [120] or more; the wheels are downloaded before. Needs
# root, debootstrap, a mirror of Debian and, for the wheel, a package index for pip.
set -euo pipefail

die() { printf 'debian_root: %s\n' "$*" >&2; exit 1; }

[[ $# == 3 || $# == 5 ]] || die "usage: debian_root.sh SUITE PACKAGE FOLDER [DATA LABEL]"
data=${4:-} label=${5:-}
[[ -z $data || -f $data ]] || die "$data: there is no such file"
suite=$1 package=$(readlink -e "$2") || die "$2: there is no such file"
[[ $EUID == 0 ]] || die "needs root, for debootstrap and chroot"
command -v debootstrap > /dev/null || die "needs debootstrap: apt-get install debootstrap"
mkdir -p "$3"
folder=$(readlink -e "$3")
limit=${LIMIT:-120}
includes=()
case $package in
  *.whl) root=$folder/$suite-venv includes=(--include=python3-venv) ;;
  *.tar.gz) root=$folder/$suite ;;
  *) die "$package: neither a wheel nor a tarball" ;;
esac
user=1000
home=/home/user
total=0

# The root, once for each suite and kind of package; an interrupted one never looks ready.
if [[ ! -d $root ]]; then
  rm -rf "$root.new"
  debootstrap --variant=minbase "${includes[@]}" "$suite" "$root.new" > "$root.log" 2>&1 ||
    die "debootstrap failed: see $root.log"
  mv "$root.new" "$root"
fi
rm -rf "${root:?}$home"
mkdir -p "$root$home"
cp "$package" "$root$home"
[[ -z $data ]] || cp "$data" "$root$home"
chown -R "$user:$user" "$root$home"

# in_root COMMAND: runs a line of sh in the root as the user, with an empty environment and /proc.
in_root() {
  unshare --mount --pid --fork sh -c '
    mount -t proc proc "$1/proc" && exec chroot --userspec="$2:$2" "$1" \
      /usr/bin/env -i PATH=/usr/bin:/bin HOME="$3" sh -c "cd \"\$HOME\" && $4"' \
    - "$root" "$user" "$home" "$1"
}

# timed COMMAND: runs it in the root and adds its time to the total.
timed() {
  local began=$EPOCHREALTIME seconds
  in_root "$1" > "$folder/output" 2>&1 ||
    { cat "$folder/output" >&2; die "failed in $suite: $1"; }
  seconds=$(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $began }")
  total=$(awk "BEGIN { print $total + $seconds }")
  printf '%6s s  %s\n' "$seconds" "$1"
}

printf '%s, %s, %s\n' "$suite" "$(in_root "getconf GNU_LIBC_VERSION")" "${package##*/}"
case $package in
  *.whl)
    python=$(in_root "python3 -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'")
    wheels=$folder/wheels-$python
    python3 -m pip download --disable-pip-version-check -q --only-binary=:all: \
      --python-version "$python" --dest "$wheels" "$package" > "$folder/pip.log" 2>&1 ||
      die "pip download failed: see $folder/pip.log"
    mkdir "$root$home/wheels"
    cp -l "$wheels"/*.whl "$root$home/wheels"
    cp "$package" "$root$home/wheels"
    timed "python3 -m venv env"
    timed "env/bin/pip install --no-compile --no-index --find-links wheels ${package##*/}"
    program=env/bin/millrace
    examples=env/share/millrace/examples
    ;;
  *.tar.gz)
    timed "tar xzf ${package##*/}"
    name=${package##*/}
    program=${name%.tar.gz}/bin/millrace
    examples=${name%.tar.gz}/examples
    ;;
esac
if [[ -z $data ]]; then
  timed "$program train $examples/quickstart.textproto --max_steps 200"
  timed "$program train $examples/quickstart.textproto"
  grep -q "resum" "$folder/output" || { cat "$folder/output" >&2; die "training began anew"; }
else
  timed "$program config init ${data##*/} --label '$label' --output job.textproto"
  timed "$program train job.textproto"
  timed "$program evaluate --checkpoint out/job"
  grep -Eq "auc 0\.[5-9]" "$folder/output" || { cat "$folder/output" >&2; die "AUC is too low"; }
  grep -E "auc" "$folder/output"
fi
printf '%6s s  in all\n' "$total"
[[ $(awk "BEGIN { print ($total < $limit) }") == 1 ]] || die "took $total s of $limit s"
