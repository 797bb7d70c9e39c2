#!/usr/bin/env python3
"""Trains DeepFM and DLRM on Criteo and MovieLens in float32 and bfloat16 and compares their AUC.

    ./bazelw build //tools:millrace //examples/movielens
    tests/campaigns/precision_auc.py [DATA] [--seeds 3] [--threads 2] [--jobs criteo-deepfm,...]

DATA is the folder of real data (default: MILLRACE_DATA), with criteo_orc/ and ml-100k/. Jobs are those of
examples/; DLRM on MovieLens is the MovieLens example with another model, since DLRM needs dense features with two
of them, and with 2 epochs in place of 8, after which DLRM is overfitted (AUC 0.75 in place of 0.77) and scatters by
0.01 from seed to seed. Each run differs by seed and precision alone and is evaluated once, at its end. Prints the mean AUC
of all seeds in each precision and the difference. Exits with 1 if a run fails or a difference is above 0.002.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMPUTES = ("FLOAT32", "BFLOAT16")
MOST_DIFFERENCE = 0.002

DEEPFM = '''  model {
    name: "deepfm"
    [millrace.deepfm] { hidden: [128, 64] dropout: 0.2 }
  }
'''
DLRM = '''  feature { name: "after_1997" column: "timestamp" kind: DENSE transform { threshold { at_least: 883612800 } } }
  feature { name: "after_february" column: "timestamp" kind: DENSE transform { threshold { at_least: 888710400 } } }
  model {
    name: "dlrm"
    [millrace.dlrm] { bottom: [64, 32] top: [128, 64] }
  }
'''


class Job:
    def __init__(self, program, config, train_data, eval_data):
        self.program = os.path.join(ROOT, "bazel-bin", program)
        self.config = config
        self.train_data = train_data
        self.eval_data = eval_data

    def auc(self, seed, compute, threads, folder):
        """Of the evaluation at the end of a run."""
        summary = os.path.join(folder, "summary.json")
        done = subprocess.run(
            [self.program, "train", self.config, "--train_data", self.train_data, "--eval_data", self.eval_data,
             "--seed", str(seed), "--threads", str(threads), "--summary", summary, "--output_dir",
             os.path.join(folder, "out"), "--set", "train.precision.compute=" + compute], cwd=folder, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise RuntimeError("exit %d:\n%s" % (done.returncode, done.stdout[-2000:]))
        with open(summary) as file:
            return json.load(file)["eval"]["auc"]


def criteo(model, data):
    orc = os.path.join(data, "criteo_orc")
    return Job("tools/millrace", os.path.join(ROOT, "examples/criteo", model + ".textproto"),
               os.path.join(orc, "part-[0-4].orc"), os.path.join(orc, "part-5.orc"))


def movielens(config, data):
    ratings = os.path.join(data, "ml-100k/ml-100k.inter")
    return Job("examples/movielens/movielens", config, ratings, ratings)


def movielens_dlrm(folder):
    """The path of the MovieLens example with DLRM."""
    with open(os.path.join(ROOT, "examples/movielens/movielens.textproto")) as file:
        text = file.read()
    if text.count(DEEPFM) != 1:
        sys.exit("examples/movielens/movielens.textproto has another model than this program replaces")
    if text.count("max_epochs: 8") != 1:
        sys.exit("examples/movielens/movielens.textproto has another number of epochs than this program replaces")
    path = os.path.join(folder, "movielens_dlrm.textproto")
    with open(path, "w") as file:
        file.write(text.replace(DEEPFM, DLRM).replace("max_epochs: 8", "max_epochs: 2"))
    return path


def all_jobs(data, folder):
    example = os.path.join(ROOT, "examples/movielens/movielens.textproto")
    return {"criteo-deepfm": criteo("deepfm", data), "criteo-dlrm": criteo("dlrm", data),
            "movielens-deepfm": movielens(example, data), "movielens-dlrm": movielens(movielens_dlrm(folder), data)}


def compare(name, job, options):
    """Prints a line of the table. Returns whether the precisions agree."""
    values = {compute: [] for compute in COMPUTES}
    for seed in range(1, options.seeds + 1):
        for compute in COMPUTES:
            with tempfile.TemporaryDirectory() as folder:
                values[compute].append(job.auc(seed, compute, options.threads, folder))
            print("%s, seed %d, %s: %.5f" % (name, seed, compute, values[compute][-1]), file=sys.stderr, flush=True)
    means = [statistics.mean(values[compute]) for compute in COMPUTES]
    difference = means[1] - means[0]
    agrees = abs(difference) <= MOST_DIFFERENCE
    print("| %s | %.4f | %.4f | %+.4f | %s | %s |" % (
        name, means[0], means[1], difference, "yes" if agrees else "NO",
        ", ".join("%+.4f" % (b - a) for a, b in zip(values[COMPUTES[0]], values[COMPUTES[1]]))), flush=True)
    return agrees


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", default=os.environ.get("MILLRACE_DATA"), help="[MILLRACE_DATA]")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each precision [3]")
    parser.add_argument("--threads", type=int, default=2, help="of a run [2]")
    parser.add_argument("--jobs", default="", help="names of jobs, with commas between them [all]")
    options = parser.parse_args()
    if not options.data or not os.path.isdir(options.data):
        parser.error("give the folder of real data, or set MILLRACE_DATA")
    options.data = os.path.abspath(options.data)
    return parser, options


def main():
    parser, options = parse_options()
    with tempfile.TemporaryDirectory() as folder:
        jobs = all_jobs(options.data, folder)
        names = options.jobs.split(",") if options.jobs else list(jobs)
        for name in names:
            if name not in jobs:
                parser.error("--jobs: %s is none of %s" % (name, ", ".join(jobs)))
        print("| job | FLOAT32 | BFLOAT16 | difference of means | within %.3f | difference of each seed |"
              % MOST_DIFFERENCE)
        print("|---|---|---|---|---|---|", flush=True)
        agree = [compare(name, jobs[name], options) for name in names]
    return 0 if all(agree) else 1


if __name__ == "__main__":
    sys.exit(main())
