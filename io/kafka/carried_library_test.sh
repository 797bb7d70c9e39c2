#!/usr/bin/env bash
# Runs the tests of topics, mock cluster and reader, with the librdkafka that the tarball carries.
#   carried_library_test.sh PROGRAM LIBRARY
set -euo pipefail
[[ -e $2 ]] || { echo "there is no $2"; exit 1; }
LD_LIBRARY_PATH=$PWD/${2%/*} exec "$1"
