#!/bin/sh
# Starts Millrace @VERSION@. Checks the C library first, since the dynamic loader prints a line for
# each library that needs a newer one.
fail() {
  echo "millrace: $1" >&2
  exit 71
}

floor=@GLIBC@
needs="Millrace @VERSION@ needs $floor or newer"
if libc=$(getconf GNU_LIBC_VERSION 2> /dev/null) && [ -n "$libc" ]; then
  has=${libc#glibc }
  major=${has%%.*} minor=${has#*.}
  minor=${minor%%[!0-9]*}
  if [ "$major" -lt "${floor%%.*}" ] ||
    { [ "$major" -eq "${floor%%.*}" ] && [ "$minor" -lt "${floor#*.}" ]; }; then
    remedy="use Debian 12, Ubuntu 24.04 or a newer system, or a container of one"
    fail "this machine has glibc $has, and $needs: $remedy"
  fi
elif [ ! -e /lib64/ld-linux-x86-64.so.2 ]; then
  fail "this machine has no glibc for x86-64, and $needs: use a container of Debian 12 or newer"
fi
here=$(dirname -- "$(readlink -f -- "$0")")
# A job that reads a topic opens it where the system has none.
export MILLRACE_CARRIED_LIBRDKAFKA="$here/../lib/kafka/librdkafka.so.1"
exec "$here/../libexec/millrace" "$@"
