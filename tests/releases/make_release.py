#!/usr/bin/env python3
"""Writes the golden files of a release, which releases_test loads with every later program.

    tests/releases/make_release.py PROGRAM FOLDER

PROGRAM is the millrace of the release, FOLDER a new folder, tests/releases/VERSION. Each job of this
file gets a folder there: job.textproto, its data, the checkpoint of a run that was stopped within an
epoch or between windows, and expected.json, metrics of that checkpoint and of the finished run.
"""
import json
import os
import random
import shutil
import subprocess
import sys

FEATURES = """
  feature { name: "label" kind: LABEL }
  feature { name: "i{1..2}" kind: DENSE default_value: 0 transform { log1p {} } }
  feature { name: "c1" transform { hash {} } }
  feature { name: "c2" }
  feature { name: "user" kind: GROUP_ID }
"""

JOBS = {
    "epochs": """train {
  train_data { path: "data/train-*.csv" batch_size: 32 shuffle_rows: 100 }
  eval_data { data { path: "data/eval.csv" batch_size: 64 } }
""" + FEATURES + """
  table { name: "c1" dim: 4 }
  table { name: "c2" dim: 4 optimizer { learning_rate: 0.02 adagrad {} } }
  model { name: "deepfm" [millrace.deepfm] { hidden: [8] } }
  optimizer { learning_rate: 0.01 schedule { linear_warmup { length { count: 8 } } } adam {} }
  sparse_optimizer { learning_rate: 0.01 adam {} }
  clipping { max_norm: 5 }
  metric: ["auc", "logloss", "gauc"]
  hooks { name: "early_stopping" [millrace.early_stopping] { monitor: "eval/auc" patience: 9 } }
  max_epochs: 3
  seed: 5
}
run {
  output_dir: "out"
  report { when { every_steps: 5 } span: [EPOCH, TOTAL] }
  checkpoint { when { every_steps: 10 } }
  evaluation { when { every_epochs: 1 } }
}
""",
    "windows": """train {
  train_data { path: "data/train-*.csv" batch_size: 32 windows { list {} } }
  eval_data { data { path: "data/eval.csv" batch_size: 64 } }
""" + FEATURES + """
  table {
    name: "c{1..2}"
    dim: 4
    admission { count { min_count: 2 } }
    eviction { idle_steps: 6 }
  }
  model { name: "dlrm" [millrace.dlrm] { bottom: [8, 4] top: [8] } }
  optimizer { learning_rate: 0.05 sgd { momentum: 0.9 } }
  sparse_optimizer { learning_rate: 0.05 rowwise_adagrad {} }
  hooks { name: "evict_rows" }
  metric: ["auc", "logloss", "gauc"]
  seed: 6
}
run {
  output_dir: "out"
  report { when { every_steps: 3 } }
}
""",
}
STOPS = {"epochs": "train.max_steps=25", "windows": "train.max_windows=2"}


def write_data(folder):
    """Four files of training and one of evaluation, of a model with an effect for each id."""
    numbers = random.Random(7)
    effects = [numbers.gauss(0, 1) for _ in range(40)]
    os.makedirs(folder)
    for name, rows in [(f"train-{i}.csv", 100) for i in range(4)] + [("eval.csv", 120)]:
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write("label,i1,i2,c1,c2,user\n")
            for _ in range(rows):
                first = min(numbers.randrange(40), numbers.randrange(40))
                second = numbers.randrange(40)
                label = int(effects[first] + effects[second] + numbers.gauss(0, 1) > 0)
                cells = [label, numbers.randrange(100), numbers.randrange(9), f"item-{first}", second,
                         numbers.randrange(12)]
                file.write(",".join(map(str, cells)) + "\n")


def run(program, folder, *arguments):
    subprocess.run([program, *arguments], cwd=folder, check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


def metrics_of(program, folder):
    """Steps and metrics of the newest checkpoint."""
    run(program, folder, "evaluate", "job.textproto", "--checkpoint", "out", "--summary",
        "summary.json")
    path = os.path.join(folder, "summary.json")
    with open(path, encoding="utf-8") as file:
        summary = json.load(file)
    os.remove(path)
    return {"steps": summary["steps"], "eval": summary["eval"]}


def main():
    program, root = os.path.abspath(sys.argv[1]), sys.argv[2]
    for name, text in JOBS.items():
        folder = os.path.join(root, name)
        write_data(os.path.join(folder, "data"))
        with open(os.path.join(folder, "job.textproto"), "w", encoding="utf-8") as file:
            file.write(text)
        run(program, folder, "train", "job.textproto", "--set", STOPS[name])
        stopped = metrics_of(program, folder)
        kept = os.path.join(folder, "kept")
        shutil.copytree(os.path.join(folder, "out", "checkpoints"), kept)
        run(program, folder, "train", "job.textproto")
        finished = metrics_of(program, folder)
        shutil.rmtree(os.path.join(folder, "out"))
        newest = max(entry for entry in os.listdir(kept) if entry.startswith("step-"))
        os.rename(os.path.join(kept, newest), os.path.join(folder, "checkpoint"))
        shutil.rmtree(kept)
        with open(os.path.join(folder, "expected.json"), "w", encoding="utf-8") as file:
            json.dump({"checkpoint": newest, "stopped": stopped, "finished": finished}, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
