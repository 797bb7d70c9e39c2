#!/usr/bin/env python3
"""A producer, a trainer on its windows, a server that follows, and a client that asks about new ids.

    ./bazelw build //tools:millrace
    tests/campaigns/serving.py --millrace bazel-bin/tools/millrace --seconds 60 --kills 20

Each second the producer writes a file of examples with an id that is new; the trainer makes a window of it
and saves a delta; `millrace serve` follows. First, without kills, the client measures the time from the
file's rename to the first answer that knows the id. Then trainer and server are killed with SIGKILL at
random and started again: the server must answer within 2 s of its start, and its version must not go back
but by its own restart. With tritonclient (`./bazelw test_setup serving`, then run this with
$MILLRACE_TEST_PYTHON_SERVING) that client asks for the same rows. Prints a line of JSON; exits with 1 if
something does not hold.
"""

import argparse
import http.client
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

JOB = """
train {
  train_data { batch_size: 100 format: CSV windows { directory { path: "incoming" } } }
  feature { name: "label" kind: LABEL }
  feature { name: "x" kind: DENSE }
  feature { name: "item" }
  table { name: "item" dim: 8 default_value { constant {} } }
  model { name: "deepfm" [millrace.deepfm] { hidden: [16] } }
}
run {
  threads: 1
  checkpoint { when { every_windows: 1 } max_deltas: 50 keep_last: 60 }
  distributed { poll_interval_seconds: 0.1 }
}
"""
NEVER = 10**12  # an id that no example has


class Producer(threading.Thread):
  """Writes a file each second; its id is the number of the file."""

  def __init__(self, directory):
    super().__init__(daemon=True)
    self.directory, self.times, self.stopping = directory, {}, False

  def run(self):
    number = 0
    while not self.stopping:
      number += 1
      name = os.path.join(self.directory, f"part-{number:06}.csv")
      with open(name + ".tmp", "w", encoding="utf-8") as file:
        file.write("label,x,item\n")
        for row in range(200):
          file.write(f"{row % 2},{row % 5},{number if row % 4 == 0 else -(row % 50)}\n")
      os.rename(name + ".tmp", name)
      self.times[number] = time.monotonic()
      time.sleep(1)


class Server:
  """`millrace serve` on a port of its own."""

  def __init__(self, program, directory):
    with socket.socket() as free:
      free.bind(("127.0.0.1", 0))
      self.port = free.getsockname()[1]
    self.program, self.directory, self.process = program, directory, None

  def start(self):
    """Starts the server. Returns the seconds until its first answer."""
    begin = time.monotonic()
    with open(os.path.join(self.directory, "serve.log"), "a", encoding="utf-8") as log:
      self.process = subprocess.Popen(
          [self.program, "serve", "out", "--port", str(self.port), "--follow_seconds", "0.1"],
          cwd=self.directory, stdout=log, stderr=log)
    while self.ask([1]) is None:
      if self.process.poll() is not None or time.monotonic() - begin > 30:
        raise RuntimeError("the server does not start")
      time.sleep(0.01)
    return time.monotonic() - begin

  def kill(self):
    self.process.kill()
    self.process.wait()

  def ask(self, items):
    """Returns the predictions for items and the version, or None without an answer."""
    body = json.dumps({"inputs": [
        {"name": "x", "shape": [len(items)], "datatype": "FP32", "data": [1] * len(items)},
        {"name": "item", "shape": [len(items)], "datatype": "INT64", "data": items}]})
    try:
      connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
      connection.request("POST", "/v2/models/model/infer", body)
      response = connection.getresponse()
      answer = json.loads(response.read())
    except OSError:
      return None
    if response.status != 200:
      raise RuntimeError(answer)
    return answer["outputs"][0]["data"], int(answer["model_version"])


def measure(server, producer, seconds):
  """Returns the seconds from an event to the first answer that knows it, for each id."""
  ages, known, begin = [], set(), time.monotonic()
  first = max(producer.times) + 1
  while time.monotonic() - begin < seconds:
    pending = [number for number in list(producer.times) if number >= first and number not in known]
    if pending:
      values, _ = server.ask([NEVER] + pending)
      now = time.monotonic()
      for number, value in zip(pending, values[1:]):
        if value != values[0]:
          known.add(number)
          ages.append(now - producer.times[number])
    time.sleep(0.01)
  return ages


def ask_by_triton(port):
  """Asks with tritonclient, in JSON and binary. Returns what differs, or "not installed"."""
  try:
    import numpy as np  # pylint: disable=import-outside-toplevel
    import tritonclient.http as triton  # pylint: disable=import-outside-toplevel
  except ImportError:
    return "not installed"
  client = triton.InferenceServerClient(f"127.0.0.1:{port}")
  assert client.is_server_live() and client.is_server_ready() and client.is_model_ready("model")
  answers = []
  for binary in (True, False):
    inputs = []
    for name, kind, values in (("x", "FP32", np.ones(64, np.float32)),
                               ("item", "INT64", np.arange(64, dtype=np.int64))):
      inputs.append(triton.InferInput(name, values.shape, kind))
      inputs[-1].set_data_from_numpy(values, binary_data=binary)
    outputs = [triton.InferRequestedOutput("predictions", binary_data=binary)]
    answers.append(client.infer("model", inputs, outputs=outputs).as_numpy("predictions"))
  return "equal" if answers[0].shape == (64, 1) and (answers[0] == answers[1]).all() else "different"


def main():
  parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
  parser.add_argument("--millrace", required=True)
  parser.add_argument("--seconds", type=float, default=60)
  parser.add_argument("--kills", type=int, default=20)
  parser.add_argument("--seed", type=int, default=1)
  options = parser.parse_args()
  program = os.path.abspath(options.millrace)
  random.seed(options.seed)
  problems, starts = [], []
  with tempfile.TemporaryDirectory() as directory:
    os.mkdir(os.path.join(directory, "incoming"))
    with open(os.path.join(directory, "job.textproto"), "w", encoding="utf-8") as file:
      file.write(JOB)
    producer = Producer(os.path.join(directory, "incoming"))
    producer.start()

    def train():
      with open(os.path.join(directory, "train.log"), "a", encoding="utf-8") as log:
        return subprocess.Popen([program, "train", "job.textproto"], cwd=directory, stdout=log, stderr=log)

    trainer = train()
    while not os.path.exists(os.path.join(directory, "out/checkpoints/lock")) or not any(
        name.startswith("step-") and "." not in name
        for name in os.listdir(os.path.join(directory, "out/checkpoints"))):
      time.sleep(0.05)
    server = Server(program, directory)
    starts.append(server.start())
    ages = measure(server, producer, options.seconds)
    triton = ask_by_triton(server.port)
    if triton == "different":
      problems.append("tritonclient: JSON and binary differ")
    last = 0
    for _ in range(options.kills):
      end = time.monotonic() + random.uniform(0.2, 2)
      while time.monotonic() < end:
        _, version = server.ask([1, NEVER])
        if version < last:
          problems.append(f"version {version} after {last}")
        last = version
      if random.random() < 0.5:
        trainer.kill()
        trainer.wait()
        trainer = train()
      else:
        server.kill()
        starts.append(server.start())
        last = 0
    trainer.kill()
    trainer.wait()
    server.kill()
    producer.stopping = True
  if max(starts) > 2:
    problems.append(f"an answer came {max(starts):.1f} s after a start")
  if not ages or statistics.median(ages) > 5:
    problems.append("the median age of an answer is over 5 s")
  ages.sort()
  print(json.dumps({
      "ids": len(ages), "seconds from event to answer": {
          "median": round(statistics.median(ages), 3), "p99": round(ages[int(len(ages) * 0.99)], 3),
          "worst": round(ages[-1], 3)} if ages else None,
      "kills": options.kills, "worst start": round(max(starts), 3), "tritonclient": triton,
      "problems": problems}))
  sys.exit(1 if problems else 0)


if __name__ == "__main__":
  main()
