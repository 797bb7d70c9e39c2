#!/usr/bin/env python3
"""How much time all sinks take: a job without sinks and with all of them, in turns.

  sink_cost.py PROGRAM CONFIG [--pairs 8] [--epochs 8] [--server URI] [--output DIR]

Trains CONFIG with `millrace` at PROGRAM, with reports every 100 steps: without a sink, and with
TensorBoard, CSV, Prometheus and MLflow. The order changes from pair to pair. Without --server a
server of this script takes what MLflow would get, and answers at once: the time of a real one on
the same cores is its own. Prints the wall and CPU seconds of each run as JSON lines, and then of
the pairs the median ratio.
"""
import argparse
import http.server
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import threading
import time

ALWAYS = ["--set", "run.checkpoint.enabled=false", "--set", "run.evaluation.enabled=false",
          "--set", "run.report.when.every_steps=100"]
ANSWERS = {
    "experiments/get-by-name": {"experiment": {"experiment_id": "0", "lifecycle_stage": "active"}},
    "runs/create": {"run": {"info": {"run_id": "r", "lifecycle_stage": "active"}}},
    "runs/get": {"run": {"info": {"run_id": "r", "lifecycle_stage": "active"}}},
}


class Answers(http.server.BaseHTTPRequestHandler):
  """Answers as MLflow does, and forgets."""
  protocol_version = "HTTP/1.1"
  bodies = []

  def answer(self):
    body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
    path = self.path.split("?")[0].split("/mlflow/")[-1]
    if path == "runs/log-batch":
      self.bodies.append(len(body))
    text = json.dumps(ANSWERS.get(path, {})).encode()
    self.send_response(200)
    self.send_header("Content-Type", "application/json")
    self.send_header("Content-Length", str(len(text)))
    self.end_headers()
    self.wfile.write(text)

  do_GET = do_POST = answer

  def log_message(self, *arguments):
    pass


def run(program, config, folder, flags):
  """Trains once; returns its seconds."""
  shutil.rmtree(folder, ignore_errors=True)
  before = resource.getrusage(resource.RUSAGE_CHILDREN)
  began = time.monotonic()
  result = subprocess.run([program, "train", config, "--output_dir", folder, *ALWAYS, *flags],
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
  wall = time.monotonic() - began
  if result.returncode != 0:
    sys.exit("sink_cost.py: %s: exit code %d: %s" %
             (program, result.returncode, result.stderr.strip()[-500:]))
  after = resource.getrusage(resource.RUSAGE_CHILDREN)
  with open(os.path.join(folder, "summary.json"), encoding="utf-8") as file:
    summary = json.load(file)
  return {"train": summary["time"]["total"], "wall": wall,
          "cpu": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
          "hook": summary["hooks"].get("sinks", {}).get("seconds", 0), "steps": summary["steps"]}


def main(argv):
  parser = argparse.ArgumentParser(allow_abbrev=False)
  parser.add_argument("program")
  parser.add_argument("config")
  parser.add_argument("--pairs", type=int, default=8)
  parser.add_argument("--epochs", type=int, default=8)
  parser.add_argument("--server", help="URI of an MLflow server")
  parser.add_argument("--output", default="sink_cost", help="folder to write to")
  flags = parser.parse_args(argv)
  uri = flags.server
  if uri is None:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    uri = "http://127.0.0.1:%d" % server.server_address[1]
  epochs = ["--set", "train.max_epochs=%d" % flags.epochs]
  kinds = {
      "none": epochs + ["--set", "run.report.tensorboard=false"],
      "all": epochs + ["--set", "run.sink=[{csv {}}, {prometheus {port: 0}}, "
                       "{mlflow {tracking_uri: \"%s\"}}]" % uri],
  }
  pairs = []
  for number in range(flags.pairs):
    pair = {}
    for kind in sorted(kinds, reverse=number % 2 == 0):
      pair[kind] = run(flags.program, flags.config, os.path.join(flags.output, kind), kinds[kind])
      print(json.dumps({"sinks": kind, **pair[kind]}), flush=True)
    pairs.append(pair)
  if flags.server is None and not Answers.bodies:
    sys.exit("sink_cost.py: no run sent a metric to MLflow")
  for what in ("train", "wall", "cpu"):
    ratios = [pair["all"][what] / pair["none"][what] for pair in pairs]
    best = [min(pair[kind][what] for pair in pairs) for kind in ("all", "none")]
    print("%s: all / none: median of pairs %.4f, of the least %.4f" %
          (what, statistics.median(ratios), best[0] / best[1]))
  print("hook: %.2f %% of training" %
        (100 * statistics.median(pair["all"]["hook"] / pair["all"]["train"] for pair in pairs)))


if __name__ == "__main__":
  main(sys.argv[1:])
