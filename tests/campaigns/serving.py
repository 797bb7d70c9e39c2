#!/usr/bin/env python3
"""Kills a trainer that publishes and servers that follow it, again and again.

    ./bazelw build //tools:millrace
    tests/campaigns/serving.py --millrace bazel-bin/tools/millrace --seconds 60 --kills 200

examples/online/online.py has the parts. First, without kills, the client measures the seconds from an event to
the answer that knows it. Then trainer and servers are killed with SIGKILL at random and started again: a server must
answer within 2 s of its start, and its version must not go back but by its own restart; versions.json names versions
that can be read. With tritonclient (`./bazelw test_setup serving`, then run this with
$MILLRACE_TEST_PYTHON_SERVING) that client asks for the same rows. Prints a line of JSON; exits with 1 if something
does not hold.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples/online"))
import online  # pylint: disable=wrong-import-position


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
    for name, kind, values in (("hour", "FP32", np.ones(64, np.float32)),
                               ("user", "INT64", np.ones(64, dtype=np.int64)),
                               ("item", "INT64", np.arange(64, dtype=np.int64))):
      inputs.append(triton.InferInput(name, values.shape, kind))
      inputs[-1].set_data_from_numpy(values, binary_data=binary)
    outputs = [triton.InferRequestedOutput("predictions", binary_data=binary)]
    answers.append(client.infer("model", inputs, outputs=outputs).as_numpy("predictions"))
  return "equal" if answers[0].shape == (64, 1) and (answers[0] == answers[1]).all() else "different"


def check_versions(program, directory):
  """Returns what is wrong with the list of versions and the files that it names."""
  listed = subprocess.run([program, "publish", "list", "out/published", "--json"], cwd=directory,
                          capture_output=True, text=True, check=False)
  if listed.returncode != 0:
    return [listed.stderr.strip()]
  problems = []
  versions = json.loads(listed.stdout)
  if versions["served_step"] is None:
    problems.append("no version is served")
  for version in versions["versions"][-3:]:
    path = f"out/published/step-{version['step']:08}"
    if version["state"] == "published" and subprocess.run(
        [program, "checkpoint", "verify", path], cwd=directory, capture_output=True, check=False).returncode != 0:
      problems.append(f"{path} is damaged")
  return problems


def main():
  parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
  parser.add_argument("--millrace", required=True)
  parser.add_argument("--seconds", type=float, default=60)
  parser.add_argument("--kills", type=int, default=20)
  parser.add_argument("--seed", type=int, default=1)
  options = parser.parse_args()
  program = os.path.abspath(options.millrace)
  random.seed(options.seed)
  problems, starts, kills = [], [], {"trainer": 0, "server": 0}
  with tempfile.TemporaryDirectory() as directory:
    producer, trainer, servers = online.set_up(program, directory, 2)
    starts += [server.start() for server in servers]
    measurement = online.Measurement(servers, producer)
    measurement.run(directory, options.seconds)
    late = measurement.late(5)
    ages = [sum(parts) for parts in measurement.results(directory)]
    triton = ask_by_triton(servers[0].port)
    if triton == "different":
      problems.append("tritonclient: JSON and binary differ")
    last = [0, 0]
    for kill in range(options.kills):
      end = time.monotonic() + random.uniform(0.1, 1.5)
      while time.monotonic() < end:
        for index, server in enumerate(servers):
          answer = server.ask([1, online.NEVER])
          if answer is None:
            problems.append("a server that lives does not answer")
            continue
          version = answer[1]
          if version < last[index]:
            problems.append(f"version {version} after {last[index]}")
          last[index] = version
      if trainer.process.poll() is not None:
        problems.append(f"the trainer ended with {trainer.process.returncode}")
      if random.random() < 0.5:
        kills["trainer"] += 1
        trainer.kill()
        problems += check_versions(program, directory)
        trainer.start()
      else:
        kills["server"] += 1
        index = random.randrange(2)
        servers[index].kill()
        starts.append(servers[index].start())
        last[index] = 0
      if kill % 20 == 19:
        print(f"{kill + 1} kills, version {max(last)}, {len(problems)} problems", file=sys.stderr)
    before, end = max(last), time.monotonic() + 30
    while servers[0].ask([1])[1] <= before and time.monotonic() < end:
      time.sleep(0.1)
    if servers[0].ask([1])[1] <= before:
      problems.append("no version came after the last kill")
    producer.stopping = True
    trainer.kill()
    for server in servers:
      server.kill()
  if max(starts) > 2:
    problems.append(f"an answer came {max(starts):.1f} s after a start")
  if not ages or late:
    problems.append(f"not known after 5 s: {late}")
  print(json.dumps({
      "answers": len(ages), "seconds from event to answer": online.quantiles(ages) if ages else None,
      "kills": kills, "worst start": round(max(starts), 3), "last version": max(last), "tritonclient": triton,
      "problems": problems}))
  sys.exit(1 if problems else 0)


if __name__ == "__main__":
  main()
