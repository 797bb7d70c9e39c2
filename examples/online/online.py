#!/usr/bin/env python3
"""Clicks each second, a trainer on them, two servers that follow it, and a client that asks for new items.

    ./bazelw build //tools:millrace
    examples/online/online.py --millrace bazel-bin/tools/millrace --seconds 60 --picture online.svg

Each second the producer writes a file of clicks with an item that no file had before. The trainer makes a
window of it and publishes a version (online.textproto); both servers take it. The client asks both for the
new items until their answers differ from that for an item that does not exist: then they know the item.
Prints a line of JSON with the seconds from the file to the first such answer and their parts, and draws
them. Exits with 1 if a part ends early or if an item is not known after 5 s.
"""

import argparse
import calendar
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

FOLDER = os.path.dirname(os.path.abspath(__file__))
NEW = 1_000_000  # the item of file n is NEW + n
NEVER = 10**12  # an item of no file
PARTS = ("file to window", "window to published", "published to answer")
COLORS = ("#4878a8", "#d08c3c", "#5a9a68")


def write_clicks(path, rows, new_item, seed):
  """Writes rows in which a user likes the items of its own parity; a fifth is of `new_item`."""
  chance = random.Random(seed)
  with open(path + ".tmp", "w", encoding="utf-8") as file:
    file.write("click,hour,user,item\n")
    for row in range(rows):
      user = chance.randrange(500)
      item = new_item if new_item is not None and row % 5 == 0 else int(chance.paretovariate(1.1)) % 2000
      click = chance.random() < (0.8 if (user + item) % 2 == 0 else 0.2)
      file.write(f"{int(click)},{row * 24 // rows},{user},{item}\n")
  os.rename(path + ".tmp", path)


class Producer(threading.Thread):
  """Writes a file each second. `times`: the time of each file by its number."""

  def __init__(self, directory):
    super().__init__(daemon=True)
    self.directory, self.times, self.stopping = directory, {}, False

  def run(self):
    number = 0
    while not self.stopping:
      number += 1
      name = os.path.join(self.directory, f"clicks-{number:06}.csv")
      write_clicks(name, 1000, NEW + number, number)
      self.times[number] = time.time()
      time.sleep(1)


class Trainer:
  """`millrace train` on the files of the producer."""

  def __init__(self, program, directory):
    self.program, self.directory, self.process = program, directory, None

  def start(self):
    with open(os.path.join(self.directory, "train.log"), "a", encoding="utf-8") as log:
      self.process = subprocess.Popen([self.program, "train", os.path.join(FOLDER, "online.textproto")],
                                      cwd=self.directory, stdout=log, stderr=log)

  def kill(self):
    self.process.kill()
    self.process.wait()


class Server:
  """`millrace serve` of what the trainer publishes, on a port of its own."""

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
          [self.program, "serve", "out/published", "--port", str(self.port), "--follow_seconds", "0.1"],
          cwd=self.directory, stdout=log, stderr=log)
    while self.ask([1]) is None:
      if self.process.poll() is not None or time.monotonic() - begin > 30:
        raise RuntimeError("the server does not start; serve.log: " + self.log())
      time.sleep(0.01)
    return time.monotonic() - begin

  def log(self):
    with open(os.path.join(self.directory, "serve.log"), encoding="utf-8") as log:
      return log.read()[-2000:]

  def kill(self):
    self.process.kill()
    self.process.wait()

  def get(self, target):
    connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
    connection.request("GET", target)
    return connection.getresponse().read().decode()

  def ask(self, items):
    """Returns the predictions for items and the version, or None without an answer."""
    rows = len(items)
    body = json.dumps({"inputs": [
        {"name": "hour", "shape": [rows], "datatype": "FP32", "data": [12] * rows},
        {"name": "user", "shape": [rows], "datatype": "INT64", "data": [1] * rows},
        {"name": "item", "shape": [rows], "datatype": "INT64", "data": items}]})
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


def seconds_of(text):
  """Returns the time of "2026-01-31T12:00:00.123Z" since 1970."""
  whole, _, rest = text.partition(".")
  return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float("0." + rest.rstrip("Z"))


class Measurement:
  """Asks servers for new items. `answers`: the time of the first answer that knows a file's item."""

  def __init__(self, servers, producer):
    self.producer, self.answers = producer, [{} for _ in servers]
    self.first, self.stopping = max(producer.times) + 1, False
    self.published, self.threads = {}, []
    for server, answers in zip(servers, self.answers):
      self.threads.append(threading.Thread(target=self._ask, args=(server, answers), daemon=True))

  def run(self, directory, seconds):
    for thread in self.threads:
      thread.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
      self._look(directory)  # the list forgets versions
      time.sleep(0.2)
    self.stopping = True
    for thread in self.threads:
      thread.join()
    self._look(directory)

  def _ask(self, server, answers):
    while not self.stopping:
      pending = [file for file in list(self.producer.times) if file >= self.first and file not in answers]
      if pending:
        values, _ = server.ask([NEVER] + [NEW + file for file in pending])
        now = time.time()
        answers.update({file: now for file, value in zip(pending, values[1:]) if value != values[0]})
      time.sleep(0.005)

  def _look(self, directory):
    with open(os.path.join(directory, "out/published/versions.json"), encoding="utf-8") as file:
      for version in json.load(file)["versions"]:
        if version["state"] == "PUBLISHED":
          self.published[int(version["window"])] = seconds_of(version["time"])

  def results(self, directory):
    """Returns for each file and server the seconds of PARTS."""
    opened = {}  # time and index of the window of a file
    with open(os.path.join(directory, "out/events.jsonl"), encoding="utf-8") as events:
      for event in map(json.loads, events):
        if event["kind"] == "opened" and event["what"] == "window":
          number = event["detail"].rsplit("clicks-", 1)[-1][:6]
          opened[int(number)] = (seconds_of(event["time"]), event["window"])
    results = []
    for answers in self.answers:
      for file, answered in sorted(answers.items()):
        if file not in opened:
          continue
        window_time, index = opened[file]
        published = min((when for window, when in self.published.items() if window > index), default=answered)
        published = min(published, answered)
        results.append((window_time - self.producer.times[file], published - window_time,
                        answered - published))
    return results

  def late(self, limit):
    """Returns the files whose item a server did not know within `limit` seconds."""
    end = time.time() - limit
    due = [file for file, when in self.producer.times.items() if file >= self.first and when < end]
    return [file for file in due
            if any(answers.get(file, 1e18) - self.producer.times[file] > limit for answers in self.answers)]


def quantiles(values):
  ordered = sorted(values)
  return {"median": round(statistics.median(ordered), 3), "p99": round(ordered[int(len(ordered) * 0.99)], 3),
          "worst": round(ordered[-1], 3)}


def draw(results, path):
  """Draws a bar of the parts for each answer."""
  top = max(sum(parts) for parts in results)
  width, height = 720, 240
  lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width + 80}" height="{height + 70}" '
           'font-family="sans-serif" font-size="12">', '<rect width="100%" height="100%" fill="white"/>']
  step = width / len(results)
  for index, parts in enumerate(results):
    bottom = height + 20
    for part, color in zip(parts, COLORS):
      size = max(part, 0) / top * height
      bottom -= size
      lines.append(f'<rect x="{60 + index * step:.1f}" y="{bottom:.1f}" width="{step * 0.8:.1f}" '
                   f'height="{size:.1f}" fill="{color}"/>')
  for tick in range(5):
    y = height + 20 - tick / 4 * height
    lines.append(f'<text x="52" y="{y + 4:.1f}" text-anchor="end">{top * tick / 4:.2f}</text>')
  lines.append('<text x="10" y="14">seconds, for each new item and server</text>')
  for index, (name, color) in enumerate(zip(PARTS, COLORS)):
    lines.append(f'<rect x="{60 + index * 220}" y="{height + 38}" width="12" height="12" fill="{color}"/>')
    lines.append(f'<text x="{78 + index * 220}" y="{height + 48}">{name}</text>')
  with open(path, "w", encoding="utf-8") as file:
    file.write("\n".join(lines + ["</svg>", ""]))


def set_up(program, directory, servers):
  """Starts producer, trainer and servers in `directory`. Returns them."""
  os.mkdir(os.path.join(directory, "incoming"))
  write_clicks(os.path.join(directory, "eval.csv"), 2000, None, 0)
  producer = Producer(os.path.join(directory, "incoming"))
  producer.start()
  trainer = Trainer(program, directory)
  trainer.start()
  while not os.path.exists(os.path.join(directory, "out/published/versions.json")):
    if trainer.process.poll() is not None:
      with open(os.path.join(directory, "train.log"), encoding="utf-8") as log:
        raise RuntimeError("the trainer ended: " + log.read()[-2000:])
    time.sleep(0.05)
  return producer, trainer, [Server(program, directory) for _ in range(servers)]


def main():
  parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
  parser.add_argument("--millrace", required=True, help="the program")
  parser.add_argument("--seconds", type=float, default=60)
  parser.add_argument("--servers", type=int, default=2)
  parser.add_argument("--picture", help="SVG file")
  options = parser.parse_args()
  with tempfile.TemporaryDirectory() as directory:
    producer, trainer, servers = set_up(os.path.abspath(options.millrace), directory, options.servers)
    try:
      for server in servers:
        server.start()
      measurement = Measurement(servers, producer)
      measurement.run(directory, options.seconds)
      late = measurement.late(5)
      results = measurement.results(directory)
      freshness = [line.split()[1] for server in servers for line in server.get("/metrics").split("\n")
                   if line.startswith("millrace_serving_freshness_seconds ")]
    finally:
      producer.stopping = True
      trainer.kill()
      for server in servers:
        if server.process is not None:
          server.kill()
  if not results:
    sys.exit("no answer knew a new item")
  if options.picture:
    draw(results, options.picture)
  parts = {name: quantiles([result[index] for result in results]) for index, name in enumerate(PARTS)}
  print(json.dumps({"answers": len(results), "seconds": quantiles([sum(result) for result in results]),
                    "parts": parts, "freshness of the last version": freshness, "late": late}))
  sys.exit(1 if late else 0)


if __name__ == "__main__":
  main()
