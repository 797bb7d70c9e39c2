#!/usr/bin/env python3
"""Tests the host parts of the device suite: what is packed, and what run.py makes of programs."""
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "package"))
sys.dont_write_bytecode = True

import pack  # noqa: E402
import run  # noqa: E402
import trainer_steps  # noqa: E402


def write_program(path, text):
  os.makedirs(os.path.dirname(path), exist_ok=True)
  with open(path, "w", encoding="utf-8") as file:
    file.write(text)
  os.chmod(path, 0o755)


class SuiteTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
    self.addCleanup(folder.cleanup)
    self.folder = folder.name
    self.path = os.environ["PATH"]
    self.addCleanup(os.environ.__setitem__, "PATH", self.path)
    # A Python with a PyTorch, as far as the suite sees.
    package = os.path.join(self.folder, "site", "torch")
    write_program(os.path.join(package, "__init__.py"), "__version__ = '2.11.0+cu130'\n")
    os.makedirs(os.path.join(self.folder, "site", "nvidia", "cu13", "lib"))
    os.environ["PYTHONPATH"] = os.path.join(self.folder, "site")
    self.addCleanup(os.environ.pop, "PYTHONPATH")

  def program(self, name, text):
    write_program(os.path.join(self.folder, "suite", "bin", name), "#!/bin/sh\n" + text)

  def run_all(self, seconds=100):
    return run.run_all(os.path.join(self.folder, "suite"), seconds)

  def test_runs_tests_then_benchmarks(self):
    self.program("b_test", "echo '[  PASSED  ] 3 tests.'\n"
                 "echo '[  SKIPPED ] 2 tests, listed below:'\n")
    self.program("a_test", "exit 0\n")
    self.program("device_bench", """echo '{"name": "x", "value": 2.5, "unit": "GB/s"}'\n""")
    results = self.run_all()
    self.assertTrue(results["passed"])
    self.assertEqual(results["torch"], "2.11.0+cu130")
    self.assertEqual([step["name"] for step in results["steps"]],
                     ["a_test", "b_test", "benchmarks"])
    self.assertEqual(results["steps"][1]["cases"], {"passed": 3, "skipped": 2})
    self.assertEqual(results["benchmarks"], [{"name": "x", "value": 2.5, "unit": "GB/s"}])

  def test_programs_find_the_libraries_of_pytorch(self):
    self.program("a_test", "echo $LD_LIBRARY_PATH; exit 1\n")
    step = self.run_all()["steps"][0]
    self.assertEqual(step["output_tail"].strip().split(":")[:3],
                     [os.path.join(self.folder, "site", "torch", "lib"),
                      os.path.join(self.folder, "site", "nvidia", "cu13", "lib"),
                      os.path.join(self.folder, "suite", "lib")])

  def test_a_failure_has_its_output_and_stops_nothing(self):
    self.program("a_test", "echo why >&2; exit 3\n")
    self.program("b_test", "exit 0\n")
    results = self.run_all()
    self.assertFalse(results["passed"])
    self.assertEqual(results["steps"][0]["exit_code"], 3)
    self.assertIn("why", results["steps"][0]["output_tail"])
    self.assertTrue(results["steps"][1]["passed"])

  def test_what_takes_too_long_fails_and_so_does_what_comes_after(self):
    self.program("a_test", "echo begun; exec sleep 60\n")
    self.program("b_test", "exit 0\n")
    results = self.run_all(seconds=2)
    self.assertEqual([step["passed"] for step in results["steps"]], [False, False])
    self.assertIn("no end within", results["steps"][0]["why"])
    self.assertIn("begun", results["steps"][0]["output_tail"])
    self.assertEqual(results["steps"][1]["why"], "no time was left")

  # A millrace that writes a summary with this AUC on a device and 0.75 on the CPU.
  def trainer(self, auc):
    self.program("millrace", """
        summary=summary.json auc=0.75 folder=.
        while [ $# -gt 0 ]; do
          case $1 in
            --output_dir) folder=$2; mkdir -p $2;;
            --summary) summary=$2;;
            --device) auc=%s;;
          esac
          shift
        done
        echo '{"eval": {"auc": '$auc'}, "examples_per_second": 5, "time": {}}' \\
            > $folder/$summary
        [ -z "$MILLRACE_COUNT_WAITS" ] || echo ${MILLRACE_COUNT_WAITS##*_} > $MILLRACE_COUNT_WAITS
        """ % auc)
    return self.run_all()

  def test_trains_on_the_cpu_and_the_device_if_the_program_is_there(self):
    results = self.trainer("0.75000001")
    names = [step["name"] for step in results["steps"]]
    self.assertEqual(names[:2], ["quick start on the CPU", "quick start on the device"])
    comparisons = [comparison[0] for comparison in trainer_steps.COMPARISONS]
    self.assertEqual(names[-len(comparisons) - 1:],
                     comparisons + ["waits for the device in a step"])
    self.assertTrue(results["passed"], results)
    self.assertEqual([one["name"] for one in results["benchmarks"]],
                     ["training, " + name for name in trainer_steps.RATES])
    self.assertEqual(results["steps"][-1]["waits"], 1)

  def test_metrics_that_differ_fail(self):
    results = self.trainer("0.7501")
    failed = [step["name"] for step in results["steps"] if not step["passed"]]
    self.assertEqual(failed, ["tasks: CPU and device agree",
                              "tasks: a run that changes devices agrees",
                              "evaluation: CPU and device agree"])

  def test_too_many_waits_and_none_counted_fail(self):
    work = os.path.join(self.folder, "work")
    os.makedirs(work)
    self.assertFalse(trainer_steps.count_waits(work)["passed"])
    for of_300, passed in ((100, False), (300, True), (900, True), (1000, False)):
      for steps, count in ((100, 100), (300, of_300)):
        with open(os.path.join(work, "waits_%d" % steps), "w", encoding="utf-8") as file:
          file.write("%d\n" % count)
      self.assertEqual(trainer_steps.count_waits(work)["passed"], passed, of_300)

  # A field that is misspelt would be found on the machine with the GPU alone.
  def test_the_program_accepts_the_configurations(self):
    for name, arguments in trainer_steps.jobs(self.folder):
      if arguments[0] != "train":
        continue
      folder = HERE if arguments[1].endswith("tasks.textproto") else os.path.join(
          HERE, "..", "..", "examples")
      flags = arguments[2:]
      if "--device" in flags:
        at = flags.index("--device")
        del flags[at:at + 2]
      result = subprocess.run([os.path.join(HERE, "..", "millrace"), "config", "check",
                               os.path.join(folder, os.path.basename(arguments[1])), *flags],
                              capture_output=True, text=True)
      self.assertEqual(result.returncode, 0, name + ": " + result.stderr)

  def test_metrics_that_are_no_number_are_not_alike(self):
    self.assertIsNone(trainer_steps.largest_difference({"eval": {"auc": float("nan")}},
                                                       {"eval": {"auc": 0.5}}))

  def test_summaries_without_metrics_are_not_alike(self):
    for one, other in (({}, {}), ({"eval": {}}, {"eval": {}}), ({"eval": {"auc": 1}}, {}),
                       ({}, {"eval": {"auc": 1}})):
      self.assertIsNone(trainer_steps.largest_difference({"eval": one}, {"eval": other}))

  def test_compares_one_set_and_several(self):
    for one, other in (({"auc": 0.5, "loss": 1}, {"auc": 0.25, "loss": 1}),
                       ({"a": {"auc": 0.5}, "b": {"auc": 1}},
                        {"a": {"auc": 0.5}, "b": {"auc": 0.75}})):
      self.assertEqual(trainer_steps.largest_difference({"eval": one}, {"eval": other}), 0.25)

  def test_the_archive_runs_where_it_is_unpacked(self):
    self.program("a_test", "exit 0\n")
    archive = os.path.join(self.folder, "suite.tar.xz")
    pack.write_archive(archive, {"run.py": os.path.join(HERE, "run.py"),
                                 "trainer_steps.py": os.path.join(HERE, "trainer_steps.py"),
                                 "bin/a_test": os.path.join(self.folder, "suite", "bin", "a_test")})
    with tarfile.open(archive) as file:
      file.extractall(self.folder)
    output = os.path.join(self.folder, "results.json")
    result = subprocess.run([sys.executable, "-B", os.path.join(self.folder, pack.FOLDER, "run.py"),
                             "--output", output], capture_output=True, text=True)
    self.assertEqual((result.returncode, result.stdout), (0, "passed  a_test\n"), result.stderr)
    with open(output, encoding="utf-8") as file:
      self.assertTrue(json.load(file)["passed"])

  def test_carries_neither_glibc_nor_pytorch(self):
    carried = pack.carried([sys.executable])
    self.assertFalse([name for name in carried if name.startswith(("libc.", "ld-linux"))])
    for name in ("libtorch_cuda.so", "libc10.so", "libcudart.so.13", "libnccl.so.2",
                 "libstdc++.so.6"):
      self.assertTrue(pack.THERE.match(name), name)
    for name in ("libabsl_base.so.20220623", "libglog.so.1", "libarrow.so.2600"):
      self.assertFalse(pack.THERE.match(name), name)

  def test_refuses_what_is_too_large(self):
    large = pack.LARGEST_BYTES
    self.addCleanup(setattr, pack, "LARGEST_BYTES", large)
    pack.LARGEST_BYTES = 10
    output = os.path.join(self.folder, "suite.tar.xz")
    with self.assertRaisesRegex(SystemExit, "leave a program out"):
      pack.main(["--output", output, "--scripts", os.path.join(HERE, "run.py"), "--programs",
                 "/bin/true"])
    self.assertFalse(os.path.exists(output))


if __name__ == "__main__":
  unittest.main()
