#!/bin/sh
# Starts Millrace @VERSION@. Checks the C library first, since the message of the dynamic loader is a
# line for each symbol that it misses.
fail() {
  echo "millrace: $1" >&2
  exit 71
}

floor=@GLIBC@
if libc=$(getconf GNU_LIBC_VERSION 2> /dev/null) && [ -n "$libc" ]; then
  has=${libc#glibc }
  major=${has%%.*} minor=${has#*.}
  minor=${minor%%[!0-9]*}
  [ "$major" -gt "${floor%%.*}" ] || { [ "$major" -eq "${floor%%.*}" ] && [ "$minor" -ge "${floor#*.}" ]; } ||
    fail "this machine has glibc $has, and Millrace @VERSION@ needs $floor or newer: use Debian 12, Ubuntu 24.04 or a newer system, or a container of one"
elif [ ! -e /lib64/ld-linux-x86-64.so.2 ]; then
  fail "this machine has no glibc for x86-64, and Millrace @VERSION@ needs $floor or newer: use a container of Debian 12 or newer"
fi
here=$(dirname -- "$(readlink -f -- "$0")")
exec "$here/../libexec/millrace" "$@"
