"""Runs the device suite on a machine with a GPU, PyTorch, and neither Bazel nor a network.

  python3 run.py --output results.json [--seconds 450]

Runs every program of bin/ against the LibTorch of the PyTorch that this Python has: tests, the
benchmarks, and the trainer (trainer_steps.py) if it was packed. Writes one JSON. Exits with 1 if a
step failed; steps for which no time is left count as failed, and cases that skip do not.
"""
import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import trainer_steps

HERE = os.path.dirname(os.path.abspath(__file__))
MOST_SECONDS = 450  # in all; a run has 8 minutes
STEP_SECONDS = 240
CASES = re.compile(r"^\[  (PASSED|SKIPPED|FAILED)\s*\] (\d+) tests?", re.MULTILINE)


def libtorch_folders():
  """Returns the folders of libraries of this Python's PyTorch: its own, and NVIDIA's beside it."""
  # Imported by a process of its own, which does not keep the device.
  script = "import torch; print(torch.__path__[0]); print(torch.__version__)"
  result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
  if result.returncode != 0:
    sys.exit("run.py: %s has no PyTorch: %s" % (sys.executable, result.stderr.strip()[-300:]))
  folder, version = result.stdout.split()
  nvidia = sorted(glob.glob(os.path.join(os.path.dirname(folder), "nvidia", "*", "lib")))
  return [os.path.join(folder, "lib")] + nvidia, version


def device_name():
  try:
    result = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
                            capture_output=True, text=True, timeout=30)
    return result.stdout.strip().split("\n")
  except (OSError, subprocess.TimeoutExpired):
    return []


def run_step(name, command, environment, seconds, work):
  """Returns the result of one program, which runs in the folder `work`, as a dictionary."""
  began = time.monotonic()
  try:
    result = subprocess.run(command, capture_output=True, text=True, errors="replace",
                            env=environment, timeout=seconds, cwd=work)
    code, out, err = result.returncode, result.stdout, result.stderr
  except subprocess.TimeoutExpired as late:
    code = None
    out, err = ((text or b"").decode(errors="replace") for text in (late.stdout, late.stderr))
  step = {"name": name, "seconds": round(time.monotonic() - began, 2), "exit_code": code,
          "passed": code == 0}
  if code is None:
    step["why"] = "no end within %d s" % seconds
  counts = {kind.lower(): int(count) for kind, count in CASES.findall(out)}
  if counts:
    step["cases"] = counts
  if code != 0:
    step["output_tail"] = (out + err)[-3000:]
  return step, out


def benchmarks_in(out):
  return [json.loads(line) for line in out.split("\n") if line.startswith("{")]


def commands(folder):
  """Returns [(name, command)] in the order in which they run: what is short first."""
  programs = sorted(os.listdir(os.path.join(folder, "bin")))
  tests = [name for name in programs if name.endswith("_test")]
  steps = [(name, [os.path.join(folder, "bin", name)]) for name in tests]
  if "millrace" in programs:
    steps += [(name, [os.path.join(folder, "bin", "millrace"), *arguments])
              for name, arguments in trainer_steps.jobs(os.path.join(folder, "files"))]
  if "device_bench" in programs:
    steps.append(("benchmarks", [os.path.join(folder, "bin", "device_bench")]))
  return steps


def run_all(folder, seconds):
  """Returns the whole result."""
  deadline = time.monotonic() + seconds
  folders, version = libtorch_folders()
  environment = dict(os.environ, LD_LIBRARY_PATH=":".join(
      folders + [os.path.join(folder, "lib")] +
      [part for part in [os.environ.get("LD_LIBRARY_PATH", "")] if part]))
  results = {"torch": version, "devices": device_name(), "steps": [], "benchmarks": []}
  with tempfile.TemporaryDirectory() as work:
    environment["TEST_TMPDIR"] = work
    for name, command in commands(folder):
      left = deadline - time.monotonic()
      if left < 1:
        results["steps"].append({"name": name, "passed": False, "why": "no time was left"})
        continue
      own = dict(environment, **trainer_steps.variables(command, folder, work))
      step, out = run_step(name, command, own, min(left, STEP_SECONDS), work)
      results["steps"].append(step)
      if name == "benchmarks":
        results["benchmarks"] = benchmarks_in(out)
    if os.path.exists(os.path.join(folder, "bin", "millrace")):
      results["steps"] += [*trainer_steps.compare(work), trainer_steps.count_waits(work)]
      results["benchmarks"] += trainer_steps.rates(work)
  results["passed"] = all(step["passed"] for step in results["steps"])
  return results


def main(argv):
  parser = argparse.ArgumentParser(allow_abbrev=False)
  parser.add_argument("--output", required=True)
  parser.add_argument("--seconds", type=int, default=MOST_SECONDS)
  flags = parser.parse_args(argv)
  results = run_all(HERE, flags.seconds)
  with open(flags.output, "w", encoding="utf-8") as file:
    json.dump(results, file, indent=2)
    file.write("\n")
  for step in results["steps"]:
    print("%-8s%s" % ("passed" if step["passed"] else "FAILED", step["name"]))
  return 0 if results["passed"] else 1


if __name__ == "__main__":
  sys.exit(main(sys.argv[1:]))
