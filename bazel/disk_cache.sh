# Sourced by bazelw: keeps Bazel's disk cache below its limit.

# Notes this process as one that builds. If no other one does, and none looked in the last hour, deletes
# the files that were not used for longest until the cache is at most 4/5 of its limit.
enter_disk_cache() {
  mkdir -p "$cache/builds" 2> /dev/null || return 0
  exec 8> "$cache/builds/lock"
  flock 8  # a build that begins while files are deleted waits
  prune_disk_cache
  : > "$cache/builds/$$"
  exec 8>&-
}

# True if another process that entered still builds; forgets those that ended.
another_build_runs() {
  local file pid name=
  for file in "$cache"/builds/[0-9]*; do
    pid=${file##*/}
    [[ $pid != $$ && -e $file ]] || continue
    { read -r name < "/proc/$pid/comm"; } 2> /dev/null || name=
    [[ $name != bazel* ]] || return 0
    rm -f "$file"
  done
  return 1
}

prune_disk_cache() {
  local limit=$((${MILLRACE_DISK_CACHE_GB:-5} * 1000000000)) checked=$cache/builds/checked
  [[ -d $cache/disk ]] || return 0
  [[ ! -e $checked || -n $(find "$checked" -mmin +60) || -n ${MILLRACE_DISK_CACHE_GB:-} ]] || return 0
  ! another_build_runs || return 0
  : > "$checked"
  # A file's time is that of its last use or, where the file system does not note it, of its making.
  find "$cache/disk" -type f -printf '%A@ %T@ %s %p\n' |
    awk '{ time = $1 > $2 ? $1 : $2; size = $3; sub(/^[^ ]+ [^ ]+ [^ ]+ /, ""); print time, size, $0 }' |
    sort -rn |
    awk -v limit="$limit" '
      { size[NR] = $2; total += $2; sub(/^[^ ]+ [^ ]+ /, ""); path[NR] = $0 }
      END {
        for (i = 1; total > limit && i <= NR; ++i) {
          kept += size[i]
          if (kept > limit * 0.8) printf "%s%c", path[i], 0
        }
      }' |
    xargs -0 -r rm -f
}
