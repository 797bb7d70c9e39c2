#!/usr/bin/env python3
"""Tests millrace.train() with modules and hooks in Python.

The first part runs the tests with the Python environment of the build, which has torch and pyarrow, and with the
packages that torch needs from MILLRACE_TEST_PYTHON (./bazelw test_setup).
"""
import ast
import glob
import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.environ.setdefault("MILLRACE_TEST_PROGRAM", os.path.abspath("tools/millrace"))
ROOT = os.path.dirname(HERE)
sys.path[0] = HERE  # Python follows the link to this file, beside which the extension is missing

if __name__ == "__main__" and "MILLRACE_TRAINING_TEST" not in os.environ:
  test_python = os.environ.get("MILLRACE_TEST_PYTHON")
  if test_python is None:
    skipped = "not provided: MILLRACE_TEST_PYTHON: ./bazelw test_setup provides it"
    print("SKIPPED: " + skipped)
    if "XML_OUTPUT_FILE" in os.environ:  # .ci/run counts this
      with open(os.environ["XML_OUTPUT_FILE"], "w") as file:
        file.write('<testsuites><testsuite name="training_test"><testcase name="all" classname="training_test">'
                   '<skipped message="%s"/></testcase></testsuite></testsuites>' % skipped)
    sys.exit(0)
  library = os.path.realpath(glob.glob(os.path.join("_solib_*", "*", "libtorch_cpu.so"))[0])
  environment = library.partition("/lib/python3")[0]
  packages = glob.glob(os.path.join(os.path.dirname(test_python), "..", "lib", "python3*", "site-packages"))
  variables = {**os.environ, "MILLRACE_TRAINING_TEST": "1", "PYTHONPATH": ":".join([HERE] + packages),
               "PYTHONDONTWRITEBYTECODE": "1", "GLOG_minloglevel": "2"}
  python = os.path.join(environment, "bin", "python3")
  os.execve(python, [python, os.path.abspath(__file__)] + sys.argv[1:], variables)

import millrace  # noqa: E402
import torch  # noqa: E402
from millrace import _train  # noqa: E402
from torch import nn  # noqa: E402

JOB = """
train {
  seed: 7
  %(train)s
  generated_data { directory: "data" rows: 2000 eval_rows: 200 }
  train_data { batch_size: 50 }
  eval_data { data { batch_size: 100 } }
  feature { name: "label" kind: LABEL }
  feature { name: "i{1..13}" kind: DENSE default_value: 0 transform { log1p {} } }
  feature { name: "c{1..26}" }
  table { name: "c{1..26}" dim: 4 }
  model { name: "dlrm" [millrace.dlrm] { bottom: [8] top: [8] } }
}
run { output_dir: "%(out)s" threads: 1 %(run)s }
"""
SGD = "optimizer { learning_rate: 0.05 sgd {} } sparse_optimizer { learning_rate: 0.05 sgd {} }"
ADAM = ("optimizer { learning_rate: 0.01 adam {} } sparse_optimizer { learning_rate: 0.01 adam {} } "
        "moving_average { decay: 0.9 }")


def job_text(out="out", train=SGD + " max_steps: 5", run=""):
  return JOB % {"out": out, "train": train, "run": run}


def mlp(*widths):
  layers = []
  for inputs, outputs in zip(widths, widths[1:]):
    layers += [nn.Linear(inputs, outputs), nn.ReLU(inplace=True)]
  return layers


class Dlrm(nn.Module):
  """The model "dlrm" of the job, with the same names and, from the same seed, the same initial values."""

  def __init__(self, dropout=0.0):
    super().__init__()
    rows, columns = torch.tril_indices(27, 27, -1)
    self.register_buffer("pairs", rows * 27 + columns)
    self.bottom = nn.Sequential(*mlp(13, 8, 4))
    self.top = nn.Sequential(*mlp(4 + 351, 8), nn.Linear(8, 1))
    self.dropout = nn.Dropout(dropout)

  def forward(self, dense, pooled):
    dense = self.bottom(dense)
    z = torch.cat([dense, pooled], 1).unflatten(1, (27, 4))
    dots = torch.bmm(z, z.transpose(1, 2)).flatten(1)
    return self.top(self.dropout(torch.cat([dense, dots.index_select(1, self.pairs)], 1)))


class Simple(nn.Module):
  """A module whose forward is given by a function, for one property of each test."""

  def __init__(self, compute):
    super().__init__()
    self.layer = nn.Linear(13 + 4, 1)
    self.compute = compute

  def forward(self, dense, sparse, labels):
    return self.compute(self, dense, sparse, labels)

  def logits(self, dense, sparse):
    return self.layer(torch.cat([dense, sparse["c1"]], 1))


class Mean(millrace.Hook):
  """A hook with state: the mean of the losses so far, as a tensor."""
  name = "mean_loss"

  def __init__(self, kill_at=0):
    self.total = torch.zeros(())
    self.kill_at = kill_at
    self.calls = 0  # in this process

  def after_step(self, context, step):
    if context.phase == "train":
      self.total += step.loss
      self.calls += 1
    if context.step == self.kill_at:
      os.kill(os.getpid(), signal.SIGKILL)

  def state_dict(self):
    return {"total": self.total}

  def load_state_dict(self, state):
    self.total = state["total"]


class Squares(millrace.Metric):
  """The mean of the squared errors."""
  name = "squares"
  higher_is_better = False

  def __init__(self):
    self.reset()

  def reset(self):
    self.sum, self.weight = 0.0, 0.0

  def update(self, predictions, labels, weights, groups):
    squares = (predictions - labels) ** 2
    self.sum += float((squares if weights is None else squares * weights).sum())
    self.weight += len(labels) if weights is None else float(weights.sum())

  def compute(self):
    return self.sum / self.weight if self.weight else float("nan")

  def merge(self, other):
    self.sum += other.sum
    self.weight += other.weight

  def state_dict(self):
    return {"sum": self.sum, "weight": self.weight}

  def load_state_dict(self, state):
    self.sum, self.weight = state["sum"], state["weight"]


def rank_with_metric():
  """Runs in another process: one of two ranks of the job of test_metrics, with the argument OUT."""
  train = SGD + " max_steps: 5 metric: \"auc\" metric: \"squares\" "
  job = millrace.Job.from_text(job_text(sys.argv[2], train, "checkpoint {}"))
  result = millrace.train(job, model=Dlrm, metrics=[Squares])
  sys.exit(result.exit_code)


def resumed_job():
  """Runs in another process: the job of ResumeTest, with the arguments OUT, STEPS and KILL_AT."""
  out, steps, kill_at = sys.argv[2:5]
  run = "checkpoint { when { every_steps: 5 } } resume: \"auto\""
  mean = Mean(int(kill_at))
  millrace.train(millrace.Job.from_text(job_text(out, "%s max_steps: %s" % (ADAM, steps), run)),
                 model=lambda: Dlrm(0.2), hooks=[mean])
  print("steps:", mean.calls)


def rank_of_job():
  """Runs in another process: one of two ranks, with the argument MODEL."""
  model = Dlrm if sys.argv[2] == "python" else None
  run = "checkpoint {}"
  result = millrace.train(millrace.Job.from_text(job_text(sys.argv[2], SGD + " max_steps: 10", run)), model=model)
  sys.exit(result.exit_code)


def mapped_libraries():
  """Runs in another process: prints the libraries of the process, having imported packages in the order given."""
  for name in sys.argv[2].split(","):
    __import__(name, fromlist=["train"]).__dict__.get("train")
    if name == "millrace":
      millrace.train  # loads the extension
  with open("/proc/self/maps", encoding="utf-8") as maps:
    paths = {line.split()[5] for line in maps if len(line.split()) > 5 and ".so" in line.split()[5]}
  print(json.dumps(sorted(paths)))


class TrainingTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    cls.folder = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))
    os.chdir(cls.folder.name)

  @classmethod
  def tearDownClass(cls):
    os.chdir("/")
    cls.folder.cleanup()

  def setUp(self):
    self.out = self.id().rpartition(".")[2]

  def job(self, **options):
    return millrace.Job.from_text(job_text(self.out, **options))

  def run_script(self, function, *arguments, program=(), **options):
    return subprocess.run([*program, sys.executable, __file__, function, *arguments], capture_output=True, text=True,
                          timeout=250, check=False, **options)

  def checkpoint(self, out):
    with open(os.path.join(out, "summary.json"), encoding="utf-8") as file:
      return json.load(file)["checkpoint"]

  def diff(self, a, b):
    done = subprocess.run([PROGRAM, "checkpoint", "diff", "--json", a, b], capture_output=True, text=True, check=False)
    self.assertIn(done.returncode, (0, 1), done.stderr)
    return json.loads(done.stdout)

  def test_equals_the_model_in_cpp(self):
    losses = {}
    for steps in (1, 100):
      for name, model in (("cpp", None), ("python", Dlrm)):
        text = job_text("%s_%s_%d" % (self.out, name, steps), SGD + " max_epochs: 5 max_steps: %d" % steps,
                        "report { when { every_steps: 1 } }")
        losses[name, steps] = millrace.train(millrace.Job.from_text(text), model=model).train["loss"]
    self.assertAlmostEqual(losses["python", 1], losses["cpp", 1], delta=1e-6)
    self.assertAlmostEqual(losses["python", 100], losses["cpp", 100], delta=1e-4)
    self.assertLess(losses["cpp", 100], losses["cpp", 1])

  def test_lock_is_held_for_the_module_alone(self):
    before = _train.gil_acquisitions()
    result = millrace.train(self.job(), model=Dlrm, hooks=[millrace.Hook()])
    after = _train.gil_acquisitions()
    self.assertEqual(result.steps, 5)
    self.assertIn("auc", result.eval)
    batches = 5 + 2  # of training, and of the evaluation at the end
    self.assertLessEqual(after["model"] - before["model"], batches + 6)  # its start, train() and eval()
    self.assertEqual(after["hook"] - before["hook"], 1)  # when it is added
    self.assertEqual(after["metric"], before["metric"])

  def test_resumes_after_a_kill_with_equal_bytes(self):
    killed = self.run_script("resumed_job", "killed", "30", "13")
    self.assertEqual(killed.returncode, -signal.SIGKILL, killed.stderr)
    for out, steps in (("killed", 20), ("whole", 30)):  # from step 10 on
      done = self.run_script("resumed_job", out, "30", "0")
      self.assertEqual(done.returncode, 0, done.stderr)
      self.assertEqual(done.stdout.split()[-2:], ["steps:", str(steps)])
    self.assertTrue(self.diff(self.checkpoint("killed"), self.checkpoint("whole"))["equal"])

  def test_two_ranks_equal_those_of_the_model_in_cpp(self):
    for model in ("python", "cpp"):
      done = self.run_script("rank_of_job", model, program=[PROGRAM, "launch", "-n", "2", "--"])
      self.assertEqual(done.returncode, 0, done.stderr)
    difference = self.diff(self.checkpoint("python"), self.checkpoint("cpp"))
    self.assertEqual(difference["dense"], [], difference)

  def test_shares_one_library_of_each_kind(self):
    for order in ("torch,pyarrow,millrace", "millrace,torch,pyarrow"):
      done = self.run_script("mapped_libraries", order)
      self.assertEqual(done.returncode, 0, done.stderr)
      paths = json.loads(done.stdout)
      for name in ("libtorch_cpu", "libtorch_python", "libarrow", "libstdc++", "libgcc_s", "libgomp", "libprotobuf",
                   "libglog"):
        found = [path for path in paths if os.path.basename(path).split(".so")[0].split("-")[0] == name]
        self.assertEqual(len(found), 1, "%s in the order %s: %s" % (name, order, found))

  def test_another_python_or_torch_is_an_error_of_one_line(self):
    for change, message in (
        ("sys.version_info = (3, 12, 1, 'final', 0)", "millrace.train needs CPython 3.11, and this is cpython 3.12: "),
        ("sys.modules['torch'] = None", "millrace.train needs torch, which is not installed: pip install torch=="),
        ("import torch; torch.__version__ = '2.0.0+cpu'", "millrace.train needs torch 2.*, and this is 2.0.0: "),
    ):
      done = subprocess.run([sys.executable, "-c", "import sys; %s; import millrace; millrace.train" % change],
                            capture_output=True, text=True, check=False)
      self.assertEqual(done.returncode, 1)
      self.assertRegex(done.stderr.splitlines()[-1], "^ImportError: " + message)

  def test_hooks_of_plugins(self):
    plugins = os.path.abspath("plugins")
    os.mkdir(plugins)
    for name in ("calibration_guard", "ids_per_example"):
      shutil.copy(os.path.join(ROOT, "examples", "plugins", name + ".so"), plugins)
      os.chmod(os.path.join(plugins, name + ".so"), 0o644)
    hook = "hooks { plugin { path: \"%s/%s.so\" hook: \"%s\" config: \"%s\" } }"
    guard = hook % (plugins, "calibration_guard", "calibration_guard", "every_steps: 2 max_error: 1e-9 patience: 3")
    ids = hook % (plugins, "ids_per_example", "ids_per_example", "")
    result = millrace.train(self.job(train=SGD + guard, run="plugins { directory: \"%s\" } %s" % (plugins, ids)),
                            model=Dlrm)
    self.assertEqual(result.steps, 6)
    self.assertIn("off the labels", result.stop_reason)
    self.assertEqual(result.summary["hooks"]["ids_per_example"]["errors"], 0)

  def test_types(self):
    files = [os.path.join(HERE, "millrace", name) for name in ("__init__.pyi", "_train.pyi", "_training.py")]
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", "mypy", *files,
                           os.path.join(ROOT, "examples", "python", "movielens.py")],
                          env={**os.environ, "MYPYPATH": HERE}, capture_output=True, text=True, check=False)
    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

  def test_blocks_of_the_page(self):
    """Runs the blocks of docs/python.md in their order; train.py has the classes, and the last block in Python."""
    with open(os.path.join(ROOT, "docs", "python.md"), encoding="utf-8") as file:
      blocks = re.findall(r"^```(.*)\n((?:.*\n)*?)```$", file.read(), re.MULTILINE)
    self.assertEqual({language for language, _ in blocks}, {"python", ""})
    with open(os.path.join(ROOT, "examples", "quickstart.textproto"), encoding="utf-8") as file:
      job = file.read().replace("rows: 200000", "rows: 20000")
    os.makedirs("examples")
    for name, text in (("examples/quickstart.textproto", job), ("job.textproto", job.replace("out/", "out/job-"))):
      with open(name, "w", encoding="utf-8") as file:
        file.write(text)
    scripts = [text for language, text in blocks if language == "python"]
    classes = [ast.unparse(node) for text in scripts[:-1] for node in ast.parse(text).body
               if isinstance(node, (ast.ClassDef, ast.Import, ast.ImportFrom))]
    with open("train.py", "w", encoding="utf-8") as file:
      file.write("\n".join([*classes, scripts[-1]]))
    folders = [os.path.dirname(program) for program in (PROGRAM, sys.executable)]
    environment = {**os.environ, "PATH": ":".join([*folders, os.environ["PATH"]])}
    names = {}
    for language, text in blocks:
      with self.subTest(text):
        if language == "python":
          try:
            exec(text, names)  # pylint: disable=exec-used
          except SystemExit as end:
            self.assertEqual(end.code, 0)
        else:
          done = subprocess.run(["/bin/sh", "-ec", text], env=environment, capture_output=True, text=True, check=False)
          self.assertEqual(done.returncode, 0, done.stderr)

  def test_ctrl_c_stops_with_a_checkpoint(self):

    class Interrupt(millrace.Hook):

      def after_step(self, context, step):
        if context.step == 3:
          os.kill(os.getpid(), signal.SIGINT)

    result = millrace.train(self.job(train=SGD, run="checkpoint { when { every_steps: 1000 } }"), model=Dlrm,
                            hooks=[Interrupt()])
    self.assertEqual((result.outcome, result.stop_reason, result.exit_code), ("stopped", "signal SIGINT", 75))
    self.assertTrue(os.path.exists(result.checkpoint))
    with self.assertRaises(KeyboardInterrupt):  # Python's own handler is back
      signal.raise_signal(signal.SIGINT)

  def test_own_loss_values_and_reports_of_hooks(self):

    def compute(module, dense, sparse, labels):
      logits = module.logits(dense, sparse)
      loss = nn.functional.binary_cross_entropy_with_logits(logits, labels, reduction="sum")
      return millrace.Output(loss=loss, predictions=logits.sigmoid(), values={"mean_logit": logits.mean()})

    class Listener(millrace.Hook):

      def after_step(self, context, step):
        context.report("twice", 2 * context.step, "last")

      def after_report(self, context, report):
        reports.append(report)

    reports = []
    run = "report { when { every_steps: 5 } }"
    own = millrace.train(self.job(run=run), model=lambda: Simple(compute), hooks=[Listener()], overwrite=True)
    self.assertEqual(reports[0].values["twice"], 10)
    self.assertIn("mean_logit", reports[0].values)
    self.out += "_logits"
    logits = millrace.train(self.job(run=run), model=lambda: Simple(lambda m, d, s, _: m.logits(d, s)))
    self.assertAlmostEqual(own.train["loss"], logits.train["loss"], delta=1e-6)

  def test_check(self):
    self.assertEqual(self.job().check(Dlrm), [])
    with self.assertRaisesRegex(millrace.Error, "^job: ") as caught:
      self.job(train="max_steps: -1").check()
    self.assertEqual((caught.exception.code, caught.exception.exit_code), ("INVALID_ARGUMENT", 64))
    copy = pickle.loads(pickle.dumps(caught.exception))
    self.assertEqual((str(copy), copy.exit_code), (str(caught.exception), 64))
    for wrong, error, message in ((lambda: millrace.Job.from_text("", set="train.seed=1"), TypeError, "list of texts"),
                                  (lambda: millrace.Job.from_file("train {\n}").check(), ValueError, "from_text")):
      with self.assertRaisesRegex(error, message):
        wrong()

  def test_a_fork_after_training_is_refused(self):
    millrace.train(self.job(), model=Dlrm)
    child = os.fork()
    if child == 0:
      try:
        millrace.train(self.job(), model=Dlrm)
      except RuntimeError as error:
        os._exit(3 if "was used before this process was forked" in str(error) else 4)
      os._exit(5)
    self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 3)

  def trained(self, **options):
    """Trains for 5 steps with checkpoints, and returns the result and the module."""
    modules = []

    def make():
      modules.append(Dlrm())
      return modules[0]

    result = millrace.train(self.job(**{"run": "checkpoint {}", **options}), model=make)
    return result, modules[0]

  def test_reads_checkpoints(self):
    result, module = self.trained()
    checkpoint = millrace.Checkpoint(self.out)
    self.assertEqual((checkpoint.path, checkpoint.step), (result.checkpoint, 5))
    copy = Dlrm()
    copy.load_state_dict(checkpoint.parameters())
    for name, value in module.state_dict().items():
      self.assertTrue(torch.equal(copy.state_dict()[name], value), name)
    table = checkpoint.table("c3")
    ids, weights = table.items()
    self.assertEqual((len(table), table.dim), (len(ids), 4))
    self.assertEqual(weights.shape, (len(ids), 4))
    pairs = torch.stack([ids[:6], ids[:6].flip(0)], 1)
    self.assertTrue(torch.equal(table[pairs][:, 0], weights[:6]))
    self.assertTrue(torch.equal(table[int(ids[2])], weights[2]))
    absent = -5
    self.assertNotIn(absent, ids)
    with self.assertRaisesRegex(KeyError, "table c3 has no row of id -5"):
      table[[int(ids[0]), absent]]
    rows, found = table.find([absent, int(ids[0]), int(ids[0])])
    self.assertEqual(found.tolist(), [False, True, True])
    self.assertTrue(torch.equal(rows, torch.stack([torch.zeros(4), weights[0], weights[0]])))
    self.assertIn("frequency", table.columns())
    counts, _ = table.find(ids, "frequency")
    self.assertEqual(counts.shape, (len(ids),))
    self.assertTrue(checkpoint.diff(result.checkpoint)["equal"])
    self.assertIn(int(ids[0]), table)
    self.assertNotIn(absent, table)
    with self.assertRaisesRegex(millrace.Error, "no feature of table c3 makes ids of text"):
      table.ids_of(["a"])
    for wrong, error, message in ((lambda: table[[1.5]], TypeError, "ids are integers"),
                                  (lambda: table["a"], TypeError, "ids are integers, or a list.*ids_of"),
                                  (lambda: list(table), TypeError, "not iterable"),
                                  (lambda: checkpoint.table("c99"), KeyError, "no table 'c99'; it has c1, c2"),
                                  (lambda: table.find([1], "weight"), millrace.Error, "weights"),
                                  (lambda: millrace.Checkpoint("nowhere"), millrace.Error, "nowhere")):
      with self.assertRaisesRegex(error, message):
        wrong()

  def test_predictor(self):
    millrace.train(self.job(run="checkpoint { max_deltas: 3 }"))
    predictor = millrace.Predictor(self.out, workers=2)
    self.assertEqual((predictor.step, predictor.labels), (5, ["label"]))
    rows = range(40)
    columns = {name: [(row * 7 + i) % 11 for row in rows] for i, name in enumerate(predictor.columns)}
    columns["i1"] = [row / 4 for row in rows]
    with open("rows.csv", "w", encoding="utf-8") as file:
      file.write(",".join(columns) + "\n" + "".join("%s\n" % ",".join(map(str, row)) for row in zip(*columns.values())))

    def expect_equal():
      millrace.predict(self.out, "rows_predicted.csv", data="rows.csv", overwrite=True)
      with open("rows_predicted.csv", encoding="utf-8") as file:
        expected = [float(line.split(",")[1]) for line in file.readlines()[1:]]
      got = predictor.predict(columns)
      self.assertEqual(got.shape, (40, 1))
      self.assertTrue(torch.equal(got[:, 0], torch.tensor(expected)))
      return got

    before = expect_equal()
    self.assertFalse(predictor.follow())
    millrace.train(self.job(train=SGD + " max_steps: 9", run="checkpoint { max_deltas: 3 }"))
    self.assertTrue(predictor.follow())
    self.assertEqual(predictor.step, 9)
    self.assertFalse(torch.equal(expect_equal(), before))
    as_lists = {**columns, "c1": (torch.tensor(columns["c1"]), [1] * 40), "c2": torch.tensor(columns["c2"])}
    self.assertTrue(torch.equal(predictor.predict(as_lists), predictor.predict(columns)))
    for wrong, message in (({**columns, "c27": [1] * 40}, "no feature has a column \"c27\""),
                           ({**columns, "c1": [1]}, "rows"),
                           ({**columns, "c1": ([1, 2], [1] * 40)}, "the lengths exceed its 2 values"),
                           ({**columns, "i1": [float("inf")] * 40}, "row 0, column i1")):
      with self.assertRaisesRegex(millrace.Error, message):
        predictor.predict(wrong)
    with self.assertRaisesRegex(millrace.Error, "nowhere"):
      millrace.Predictor("nowhere")

  def test_hooks_read_the_checkpoint_of_the_event(self):

    class Reader(millrace.Hook):

      def after_checkpoint(self, context, checkpoint):
        unopened.append(checkpoint._opened is None and checkpoint.step == context.step)
        seen.append((checkpoint.step, len(checkpoint.table("c1"))))

    seen, unopened = [], []
    millrace.train(self.job(run="checkpoint {}"), model=Dlrm, hooks=[Reader()])
    self.assertTrue(all(unopened))  # retention may have removed it, which is no error of the hook
    self.assertEqual({step for step, _ in seen}, {5})
    self.assertGreater(seen[0][1], 0)

  def test_evaluates_and_predicts(self):
    result, _ = self.trained()
    metrics = millrace.evaluate(self.out, Dlrm)
    self.assertAlmostEqual(metrics["auc"], result.eval["auc"], delta=1e-9)
    examples = millrace.predict(millrace.Checkpoint(self.out), "predictions.csv", Dlrm, overwrite=True)
    self.assertEqual(examples, 200)
    with open("predictions.csv", encoding="utf-8") as file:
      self.assertEqual(len(file.readlines()), 201)
    module = Dlrm().eval()
    self.assertEqual(millrace.evaluate(self.out, module), metrics)
    self.assertFalse(module.training or module.top.training)
    with self.assertRaisesRegex(ValueError, "give \"average\" or \"trained\""):
      millrace.evaluate(self.out, Dlrm, weights="avg")
    before = torch.get_num_threads()
    with self.assertRaisesRegex(millrace.Error, "model \"python\" is a torch.nn.Module") as caught:
      millrace.evaluate(self.out)
    self.assertEqual(caught.exception.exit_code, 64)
    with self.assertRaisesRegex(millrace.Error, "bottom.0.weight"):
      millrace.evaluate(self.out, Narrow)
    self.assertEqual(torch.get_num_threads(), before)
    self.assertEqual(millrace.evaluate(self.out, Dlrm), metrics)

  def test_datasets_give_the_batches_of_training(self):

    class Ids(millrace.Hook):

      def after_data(self, context, batch, micro_batch):
        if context.phase == "train":
          trained.append(batch.example_ids.tolist())

    trained = []
    job = self.job(train=SGD + " max_epochs: 2")
    millrace.train(job, model=Dlrm, hooks=[Ids()])
    dataset = millrace.Dataset(job)
    read = [batch.example_ids.tolist() for _ in range(2) for batch in dataset]
    self.assertEqual(read, trained)
    # From any position, in another object.
    dataset = millrace.Dataset(job)
    for batch in dataset:
      if batch.example_ids.tolist() == trained[17]:
        break
    state = torch.utils.data.DataLoader(dataset, batch_size=None).dataset.state_dict()
    rest = millrace.Dataset(job)
    rest.load_state_dict(state)
    self.assertEqual([batch.example_ids.tolist() for _ in range(2) for batch in rest], trained[18:])
    # Two ranks, each with half of the examples; the second one in two objects.
    whole = [[batch.example_ids.tolist() for batch in millrace.Dataset(job, rank=rank, world_size=2)]
             for rank in (0, 1)]
    self.assertEqual(sorted(sum(whole[0] + whole[1], [])), sorted(sum(trained[:40], [])))
    first, second = [millrace.Dataset(job, rank=1, world_size=2) for _ in range(2)]
    for _, batch in zip(range(7), first):
      read = batch.example_ids.tolist()
    self.assertEqual(read, whole[1][6])
    second.load_state_dict(first.state_dict())
    self.assertEqual([batch.example_ids.tolist() for batch in second], whole[1][7:])
    # An evaluation set is always the same.
    sets = [[batch.example_ids.tolist() for batch in dataset]
            for dataset in [millrace.Dataset(job, "eval")] * 2]
    self.assertEqual(sum(map(len, sets[0])), 200)
    self.assertEqual(sets[0], sets[1])

  def test_a_stream_goes_on_behind_its_last_window(self):
    os.makedirs(self.out + "/stream")
    for hour in range(3):
      with open("%s/stream/2026-01-0%d.csv" % (self.out, hour + 1), "w", encoding="utf-8") as file:
        file.write("label,i\n" + "".join("%d,%d\n" % (i % 2, 10 * hour + i) for i in range(6)))
    job = millrace.Job.from_text("""
      train {
        train_data { path: "%s/stream/*.csv" windows {} batch_size: 4 }
        feature { name: "label" kind: LABEL }
        feature { name: "i" kind: DENSE }
      }""" % self.out)
    dataset = millrace.Dataset(job)
    read, states, windows = [], [], []
    for batch in dataset:
      read += batch.dense.flatten().tolist()
      states.append((len(read), dataset.state_dict()))
      windows.append(dataset.window.index)
    self.assertEqual(read, [10 * hour + i for hour in range(3) for i in range(6)])
    self.assertEqual(windows, [0, 0, 1, 1, 2, 2])
    for count, state in [*states, (len(read), dataset.state_dict())]:
      rest = millrace.Dataset(job)
      rest.load_state_dict(state)
      self.assertEqual([value for batch in rest for value in batch.dense.flatten().tolist()], read[count:])

  def test_hooks_that_raise_in_windows(self):
    for event in ("before_window", "after_window"):
      with self.subTest(event):
        self.out = "raises_" + event

        def fail(*_):
          raise ZeroDivisionError("on purpose")

        os.makedirs(self.out + "/stream")
        with open(self.out + "/stream/1.csv", "w", encoding="utf-8") as file:
          file.write("label,i\n" + "0,1\n1,2\n" * 4)
        job = millrace.Job.from_text("""
          train {
            train_data { path: "%s/stream/*.csv" windows {} batch_size: 4 }
            feature { name: "label" kind: LABEL }
            feature { name: "i" kind: DENSE }
          }
          run { output_dir: "%s/out" threads: 1 }""" % (self.out, self.out))
        with self.assertRaisesRegex(millrace.Error, "Failing.*ZeroDivisionError: on purpose, in "):
          millrace.train(job, model=OneLayer, hooks=[type("Failing", (millrace.Hook,), {event: fail})()])

  def test_datasets_that_cannot_be_read(self):
    job = self.job()
    millrace.train(job, model=Dlrm)  # makes the data
    with self.assertRaisesRegex(millrace.Error, "the job has no data \"test\" without windows; it has train, eval"):
      next(iter(millrace.Dataset(job, "test")))
    with self.assertRaisesRegex(RuntimeError, "DataLoader: num_workers=0 or multiprocessing_context"):
      next(iter(torch.utils.data.DataLoader(millrace.Dataset(job), batch_size=None, num_workers=1,
                                            multiprocessing_context="fork")))
    dataset = millrace.Dataset(job)
    dataset.load_state_dict({"epoch": 0, "cursor": b"\xff", "share": [0, 1]})
    with self.assertRaisesRegex(millrace.Error, "the state of the dataset is damaged"):
      next(iter(dataset))
    with self.assertRaisesRegex(ValueError, "the state is of rank 1 of 2, and this dataset of rank 0 of 1"):
      dataset.load_state_dict(millrace.Dataset(job, rank=1, world_size=2).state_dict())
    dataset.set_epoch(0)
    earlier = iter(dataset)
    next(earlier)
    next(iter(dataset))
    with self.assertRaisesRegex(RuntimeError, "another iteration over this millrace.Dataset began"):
      next(earlier)

  def test_metrics(self):
    metric = "metric: \"auc\" metric: \"squares\" "
    job = self.job(train=SGD + " max_steps: 5 " + metric, run="report { when { every_steps: 5 } }")
    self.assertEqual(job.check(Dlrm, [Squares]), [])
    result = millrace.train(job, model=Dlrm, metrics=[Squares])
    for name in ("train", "eval"):
      self.assertGreater(getattr(result, name)["squares"], 0)
    self.out += "_ranks"
    done = self.run_script("rank_with_metric", self.out, program=[PROGRAM, "launch", "-n", "2", "--"])
    self.assertEqual(done.returncode, 0, done.stderr)
    with open(os.path.join(self.out, "summary.json"), encoding="utf-8") as file:
      of_two = json.load(file)["eval"]["squares"]
    self.assertAlmostEqual(millrace.evaluate(self.out, Dlrm, metrics=[Squares])["squares"], of_two, delta=1e-7)

  def test_wrong_metrics(self):
    metric = " max_steps: 5 metric: \"squares\""
    for name, members, message in (
        ("raises", {"update": lambda *_: 1 // 0}, "metric squares, update.*ZeroDivisionError"),
        ("changes", {"update": lambda self, predictions, *_: predictions.zero_()},
         "metric squares, update.*it changed `predictions` in place"),
        ("text", {"compute": lambda self: "much"}, "metric squares, compute.*could not convert"),
    ):
      with self.subTest(name):
        self.out = "metric_" + name
        with self.assertRaisesRegex(millrace.Error, message):
          millrace.train(self.job(train=SGD + metric), model=Dlrm, metrics=[type("Wrong", (Squares,), members)])
    with self.assertRaisesRegex(millrace.Error, "squares.*its class is in Python"):
      millrace.train(self.job(train=SGD + metric), model=Dlrm)
    with self.assertRaisesRegex(millrace.Error, "there is a metric \"auc\" already"):
      millrace.train(self.job(), model=Dlrm, metrics=[type("Auc", (Squares,), {"name": "auc"})])
    with self.assertRaisesRegex(millrace.Error, "had another higher_is_better earlier"):
      millrace.train(self.job(), model=Dlrm, metrics=[type("Up", (Squares,), {"higher_is_better": True})])
    for wrong in (Squares(), type("Number", (Squares,), {"name": 7}),
                  type("Text", (Squares,), {"higher_is_better": "yes"})):
      with self.assertRaisesRegex(TypeError, "is no class of a metric"):
        millrace.train(self.job(), model=Dlrm, metrics=[wrong])

  def test_tensors_that_a_metric_keeps_are_copied(self):
    kept = []

    class Keeps(Squares):

      def update(self, predictions, labels, weights, groups):
        kept.append((predictions[1:3], predictions[1:3].tolist()))
        super().update(predictions, labels, weights, groups)
        if len(kept) == 4:
          raise ValueError("enough")

    with self.assertRaisesRegex(millrace.Error, "metric squares, update.*ValueError: enough"):
      millrace.train(self.job(train=SGD + " max_steps: 5 metric: \"squares\""), model=Dlrm, metrics=[Keeps])
    for tensor, values in kept:
      self.assertEqual(tensor.tolist(), values)

  # Name, forward, the expected message.
  WRONG_FORWARDS = (
      ("shape", lambda m, d, s, y: m.logits(d, s).repeat(1, 3), r"logits of shape \[50, 3\]; return \[50\] or \[50, 1\]"),
      ("dtype", lambda m, d, s, y: m.logits(d, s).long(), "logits of type Long"),
      ("type", lambda m, d, s, y: (m.logits(d, s),), "forward.. returned tuple; return a tensor"),
      ("raises", lambda m, d, s, y: [][0], r"IndexError: list index out of range, in .*training_test\S*:\d+"),
      ("no_gradient", lambda m, d, s, y: m.logits(d, s).detach(), "its result has no gradient"),
      ("batch_in_place", lambda m, d, s, y: m.logits(d.add_(1), s), "changed `dense` in place"),
      ("rows_in_place", lambda m, d, s, y: m.logits(d, {"c1": s["c1"].add_(1)}), "inplace"),
      ("new_parameter", lambda m, d, s, y: (setattr(m, "other", nn.Parameter(torch.ones(1))), m.logits(d, s))[1],
       "got a parameter"),
      ("replaced", lambda m, d, s, y: (setattr(m.layer, "bias", nn.Parameter(torch.ones(1))), m.logits(d, s))[1],
       "\"layer.bias\" of the module is another object"),
  )

  def test_wrong_forwards(self):
    for name, compute, message in self.WRONG_FORWARDS:
      with self.subTest(name):
        self.out = "wrong_" + name
        with self.assertRaisesRegex(millrace.Error, message) as caught:
          millrace.train(self.job(), model=lambda: Simple(compute))
        self.assertEqual(caught.exception.exit_code, 81)
        self.assertEqual(isinstance(caught.exception.__cause__, IndexError), name == "raises")

  def test_a_graph_that_is_kept(self):
    kept = []

    def compute(module, dense, sparse, labels):
      kept.append(module.logits(dense, sparse))
      return kept[0][: len(dense)] + kept[-1]

    with self.assertRaisesRegex(millrace.Error, "backward through the graph a second time"):
      millrace.train(self.job(), model=lambda: Simple(compute))

  # Name, function that makes the module, the expected message; "" for none.
  MODULES = (
      ("double", lambda: Dlrm().double(), "\"bottom.0.weight\" of the module is Double"),
      ("argument", lambda: nn.Linear(13, 1), "forward.. of the module has the parameter 'input'"),
      ("no_argument", lambda: Anything(), "forward.. of the module names no argument"),
      ("lazy", lambda: nn.Sequential(nn.LazyLinear(1)), "has no shape yet"),
      ("no_module", lambda: 3, "returned 3; return a torch.nn.Module"),
      ("tables_taken", lambda: Named(), "has a submodule \"embeddings\""),
      ("shared", lambda: Shared(), ""),
      ("no_parameters", lambda: NoParameters(), ""),
  )

  def test_modules(self):
    for name, model, message in self.MODULES:
      with self.subTest(name):
        self.out = "module_" + name
        if not message:
          self.assertEqual(millrace.train(self.job(), model=model).steps, 5)
          continue
        with self.assertRaisesRegex(millrace.Error, message):
          millrace.train(self.job(), model=model)

  def test_hooks_that_raise(self):
    for event in ("start", "before_epoch", "before_step", "after_data", "after_backward", "after_step", "out_of_data",
                  "after_epoch", "after_report", "after_evaluate", "after_checkpoint", "end", "state_dict"):
      with self.subTest(event):
        self.out = "raises_" + event

        def fail(*_):
          raise ZeroDivisionError("on purpose")

        hook = type("Failing", (millrace.Hook,), {event: fail})()
        with self.assertRaisesRegex(millrace.Error, "Failing.*ZeroDivisionError: on purpose, in ") as caught:
          millrace.train(self.job(train=SGD + " max_epochs: 1", run="checkpoint { when { every_steps: 20 } }"),
                         model=Dlrm, hooks=[hook])
        self.assertIsInstance(caught.exception.__cause__, ZeroDivisionError)
    with self.assertRaisesRegex(millrace.Error, "hook Odd has the method after_stepp.., which is no event"):
      millrace.train(self.job(), model=Dlrm, hooks=[type("Odd", (millrace.Hook,), {"after_stepp": fail})()])
    self.out = "unreadable"
    hook = type("Odd", (millrace.Hook,), {"state_dict": lambda self: {"seen": range(3)}})()
    with self.assertRaisesRegex(millrace.Error, "TypeError: state_dict.. of Odd has a value that a resume cannot read"):
      millrace.train(self.job(run="checkpoint { when { every_steps: 2 } }"), model=Dlrm, hooks=[hook])
    self.out = "afterwards"
    self.assertEqual(millrace.train(self.job(), model=Dlrm).steps, 5)


class Named(nn.Module):

  def __init__(self):
    super().__init__()
    self.embeddings = nn.Linear(13, 1)

  def forward(self, dense):
    return self.embeddings(dense)


class Shared(nn.Module):
  """One parameter under two names."""

  def __init__(self):
    super().__init__()
    self.first = nn.Linear(13, 13)
    self.second = nn.Linear(13, 13)
    self.second.weight = self.first.weight

  def forward(self, dense):
    return self.second(self.first(dense)).sum(1)


class OneLayer(nn.Module):

  def __init__(self):
    super().__init__()
    self.layer = nn.Linear(1, 1)

  def forward(self, dense):
    return self.layer(dense)


class Anything(nn.Module):

  def forward(self, **inputs):
    return inputs["dense"].sum(1)


class Narrow(Dlrm):
  """A module whose first layer has another size than in the checkpoint."""

  def __init__(self):
    super().__init__()
    self.bottom = nn.Sequential(*mlp(13, 6, 4))


class NoParameters(nn.Module):

  def forward(self, pooled):
    return pooled.sum(1)


if __name__ == "__main__":
  if len(sys.argv) > 1 and sys.argv[1] in ("resumed_job", "rank_of_job", "rank_with_metric", "mapped_libraries"):
    globals()[sys.argv[1]]()
  else:
    unittest.main(verbosity=2)
