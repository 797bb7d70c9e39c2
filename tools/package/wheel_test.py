#!/usr/bin/python3 -B
"""Installs the wheel in an empty environment, and trains from Python there beside a program of the build."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(FOLDER, "..", ".."))
LIMIT_SECONDS = 120  # for the example, without the installation


def run(*command, **options):
  return subprocess.run(command, capture_output=True, text=True, check=False, **options)


class WheelTest(unittest.TestCase):

  def setUp(self):
    wheels = glob.glob(os.path.join(FOLDER, "wheel", "*.whl"))
    if not wheels:
      self.skipTest("build: LibTorch is not from a wheel")
    test_python = os.environ.get("MILLRACE_TEST_PYTHON")
    if test_python is None:
      self.skipTest("not provided: MILLRACE_TEST_PYTHON: ./bazelw test_setup provides it")
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = os.path.realpath(folder.name)
    subprocess.run(["/usr/bin/python3", "-m", "venv", "env"], cwd=self.folder, check=True)
    self.packages = glob.glob(self.folder + "/env/lib/python3*/site-packages")[0]
    # Links to the wheels of the build, and the packages that torch needs and pip would install.
    library = os.path.realpath(glob.glob("_solib_*/*/libtorch_cpu.so")[0])
    for package in glob.glob(library.partition("/torch/lib/")[0] + "/*"):
      if os.path.basename(package).startswith(("torch", "pyarrow")):
        os.symlink(package, os.path.join(self.packages, os.path.basename(package)))
    with open(self.packages + "/needed.pth", "w", encoding="utf-8") as file:
      file.write(glob.glob(os.path.dirname(test_python) + "/../lib/python3*/site-packages")[0])
    installed = run("env/bin/pip", "install", "--no-deps", "--no-index", *wheels, cwd=self.folder)
    self.assertEqual(installed.returncode, 0, installed.stderr)
    if not glob.glob(self.packages + "/millrace/_train.*.so"):
      self.skipTest("package: libpython3.11-dev: the build had no headers of CPython")

  def test_the_example_has_the_auc_of_the_program(self):
    data = os.path.join(os.path.abspath(os.environ.get("MILLRACE_DATA", "")), "ml-100k", "ml-100k.inter")
    if not os.path.exists(data):
      self.skipTest("not provided: MILLRACE_DATA: no real data")
    shutil.copy(os.path.join(ROOT, "examples", "python", "movielens.py"), self.folder)
    python = run("env/bin/python3", "movielens.py", data, cwd=self.folder, env={}, timeout=LIMIT_SECONDS)
    self.assertEqual(python.returncode, 0, python.stderr)
    os.mkdir(self.folder + "/cpp")
    cpp = run(os.path.join(ROOT, "examples", "movielens", "movielens"), "train", "--train_data", data, "--eval_data",
              data, "--threads", "1", cwd=self.folder + "/cpp")
    self.assertEqual(cpp.returncode, 0, cpp.stderr)
    with open(self.folder + "/cpp/out/movielens/summary.json", encoding="utf-8") as file:
      expected = json.load(file)["eval"]["auc"]
    found = float(re.search(r"^AUC: (\S+)$", python.stdout, re.MULTILINE).group(1))
    self.assertAlmostEqual(found, expected, delta=0.005)

  def test_the_wheel_has_the_converter(self):
    done = run("env/bin/python3", "-m", "millrace.convert", "missing", "out", cwd=self.folder, env={})
    self.assertEqual((done.returncode, done.stderr.partition(";")[0]), (66, "millrace: missing does not exist"))


def write_skipped(result):
  """Writes the skipped cases in the form that .ci/run counts."""
  cases = ["<testcase name='%s' classname='wheel_test'><skipped message='%s'/></testcase>" %
           (test.id().rpartition(".")[2], reason) for test, reason in result.skipped]
  with open(os.environ["XML_OUTPUT_FILE"], "w", encoding="utf-8") as file:
    file.write("<testsuites><testsuite name='wheel_test'>%s</testsuite></testsuites>" % "".join(cases))


if __name__ == "__main__":
  program = unittest.main(verbosity=2, exit=False)
  if program.result.skipped and "XML_OUTPUT_FILE" in os.environ:
    write_skipped(program.result)
  sys.exit(not program.result.wasSuccessful())
