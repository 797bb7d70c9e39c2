#!/usr/bin/env bash
# Runs the tests of topics, mock cluster and reader, with the librdkafka that packages carry.
#   carried_librdkafka_test.sh LIBRARY PROGRAM...
set -euo pipefail
export LD_LIBRARY_PATH=$PWD/${1%/*} GTEST_FILTER='*Kafka*'
for program in "${@:2}"; do
  ldd "$program" | grep "librdkafka.so.1 => $LD_LIBRARY_PATH/" || { echo "$program takes another one"; exit 1; }
  "$program"
done
