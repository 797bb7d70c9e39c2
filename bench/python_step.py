#!/usr/bin/env python3
"""Measures a training step of DLRM with a torch.nn.Module beside the model "dlrm" in C++.

  bench/python_step.py [--repeats 5] [--steps 300] [--batch 2048] [--threads 1]

Runs in an environment with the wheel of Millrace. Processes of both sides take turns on the same generated data. The
time of a step is the median over reports of 25 steps, without the first four reports and the wait for data. Prints a
JSON line for each side, and one for the difference: the median over pairs of processes. The exit code is 1 if the
difference is above its limit of 60 us + 2 % of the step in C++.
"""
import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile

import millrace
import torch
from torch import nn

DIM, BOTTOM, TOP = 16, [512, 256, 64], [512, 256]
LIMIT_US, LIMIT_SHARE = 60, 0.02
REPORT_STEPS, WARM_UP_REPORTS = 25, 4
JOB = """
train {
  generated_data { directory: "%(data)s" rows: %(rows)d eval_rows: %(batch)d }
  train_data { batch_size: %(batch)d }
  feature { name: "label" kind: LABEL }
  feature { name: "i{1..13}" kind: DENSE default_value: 0 transform { log1p {} } }
  feature { name: "c{1..26}" }
  table { name: "c{1..26}" dim: %(dim)d }
  model { name: "dlrm" [millrace.dlrm] { bottom: %(bottom)s top: %(top)s } }
  optimizer { learning_rate: 0.01 sgd {} }
  sparse_optimizer { learning_rate: 0.01 sgd {} }
  max_epochs: %(epochs)d
  max_steps: %(steps)d
}
run {
  output_dir: "%(out)s" threads: %(threads)d checkpoint { enabled: false } report { when { every_steps: %(report)d } }
}
"""


def mlp(widths):
  layers = [(nn.Linear(inputs, outputs), nn.ReLU(inplace=True)) for inputs, outputs in itertools.pairwise(widths)]
  return list(itertools.chain(*layers))


class Dlrm(nn.Module):
  """The layers of "dlrm"."""

  def __init__(self):
    super().__init__()
    rows, columns = torch.tril_indices(27, 27, -1)
    self.register_buffer("pairs", rows * 27 + columns)
    self.bottom = nn.Sequential(*mlp([13, *BOTTOM, DIM]))
    self.top = nn.Sequential(*mlp([DIM + 351, *TOP]), nn.Linear(TOP[-1], 1))

  def forward(self, dense, pooled):
    dense = self.bottom(dense)
    z = torch.cat([dense, pooled], 1).unflatten(1, (27, DIM))
    dots = torch.bmm(z, z.transpose(1, 2)).flatten(1)
    return self.top(torch.cat([dense, dots.index_select(1, self.pairs)], 1))


def measure(side, folder, options):
  """Trains in this process, and prints the time of a step in microseconds."""
  rows = 20 * options.batch
  out = tempfile.mkdtemp(dir=folder)
  values = {"data": os.path.join(folder, "data"), "out": out, "rows": rows, "batch": options.batch, "dim": DIM,
            "bottom": BOTTOM, "top": TOP, "steps": options.steps, "epochs": options.steps // 20 + 1,
            "threads": options.threads, "report": REPORT_STEPS}
  millrace.train(millrace.Job.from_text(JOB % values), model=Dlrm if side == "python" else None)
  with open(os.path.join(out, "metrics", "train.jsonl"), encoding="utf-8") as file:
    reports = [json.loads(line) for line in file][WARM_UP_REPORTS:]
  print(statistics.median(1e6 * options.batch / report["examples_per_second"] * (1 - report["data_wait_share"])
                          for report in reports))


def compare(options):
  times = {"cpp": [], "python": []}
  with tempfile.TemporaryDirectory() as folder:
    for repeat, side in itertools.product(range(options.repeats), times):
      done = subprocess.run([sys.executable, __file__, *sys.argv[1:], "--side", side, "--folder", folder],
                            env={"GOMP_SPINCOUNT": "1000", **os.environ}, capture_output=True, text=True, check=False)
      if done.returncode != 0:
        sys.exit("repeat %d of %s failed:\n%s" % (repeat, side, done.stderr[-2000:]))
      times[side].append(float(done.stdout.split()[-1]))
  for side, values in times.items():
    print_figure("python_step/" + side, values)
  differences = [python - cpp for cpp, python in zip(times["cpp"], times["python"])]
  limit = LIMIT_US + LIMIT_SHARE * statistics.median(times["cpp"])
  print_figure("python_step/difference", differences, limit=limit)
  return statistics.median(differences) <= limit


def print_figure(name, values, **others):
  print(json.dumps({"name": name, "unit": "us", "median": statistics.median(values), "best": min(values),
                    "repeats": len(values), "values": values, **others}), flush=True)


def main():
  parser = argparse.ArgumentParser(description="Measures a training step with a module in Python and in C++.")
  parser.add_argument("--repeats", type=int, default=5, help="processes of each side [5]")
  parser.add_argument("--steps", type=int, default=300, help="steps of a process [300]")
  parser.add_argument("--batch", type=int, default=2048, help="[2048]")
  parser.add_argument("--threads", type=int, default=1, help="[1]")
  parser.add_argument("--side", choices=("cpp", "python"), help=argparse.SUPPRESS)
  parser.add_argument("--folder", help=argparse.SUPPRESS)
  options = parser.parse_args()
  if options.steps <= REPORT_STEPS * WARM_UP_REPORTS:
    parser.error("--steps: must be above %d" % (REPORT_STEPS * WARM_UP_REPORTS))
  if options.side:
    measure(options.side, options.folder, options)
  elif not compare(options):
    sys.exit(1)


if __name__ == "__main__":
  main()
