#!/usr/bin/env python3
"""Tests `python3 -m millrace.convert` with files that torch writes, and the program on its checkpoints.

The first part runs the tests with the Python environment of the build, which has torch and safetensors, and with the
packages that they need from MILLRACE_TEST_PYTHON (./bazelw test_setup).
"""
import contextlib
import csv
import glob
import io
import json
import os
import pickle
import subprocess
import sys
import tempfile
import unittest
import warnings
from unittest import mock

FOLDER = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.environ.setdefault("MILLRACE_TEST_PROGRAM", os.path.abspath("tools/millrace"))

if __name__ == "__main__" and "MILLRACE_CONVERT_TEST" not in os.environ:
  test_python = os.environ.get("MILLRACE_TEST_PYTHON")
  if test_python is None:
    skipped = "not provided: MILLRACE_TEST_PYTHON: ./bazelw test_setup provides it"
    print("SKIPPED: " + skipped)
    if "XML_OUTPUT_FILE" in os.environ:  # .ci/run counts this
      with open(os.environ["XML_OUTPUT_FILE"], "w", encoding="utf-8") as file:
        file.write('<testsuites><testsuite name="convert_test"><testcase name="all" classname="convert_test">'
                   '<skipped message="%s"/></testcase></testsuite></testsuites>' % skipped)
    sys.exit(0)
  library = os.path.realpath(glob.glob(os.path.join("_solib_*", "*", "libtorch_cpu.so"))[0])
  packages = glob.glob(os.path.join(os.path.dirname(test_python), "..", "lib", "python3*", "site-packages"))
  variables = {**os.environ, "MILLRACE_CONVERT_TEST": "1", "PYTHONPATH": ":".join([FOLDER] + packages),
               "PYTHONDONTWRITEBYTECODE": "1", "GLOG_minloglevel": "2"}
  python = os.path.join(library.partition("/lib/python3")[0], "bin", "python3")
  os.execve(python, [python, os.path.abspath(__file__)] + sys.argv[1:], variables)

# pylint: disable=wrong-import-position
import numpy as np
import torch
import torch.distributed.checkpoint as dcp
from safetensors.torch import load_file, save_file
from torch import nn

from millrace import _checkpoint_writer, convert, pt2

JOB = """
train {
  seed: 7 max_steps: 1
  %s
  train_data { path: "data.csv" batch_size: 50 }
  eval_data { data { path: "data.csv" batch_size: 50 } }
  feature { name: "label" kind: LABEL }
  feature { name: "i{1..2}" kind: DENSE }
  feature { name: "c1" table: "t_a" }
  feature { name: "c2" table: "t_b" }
  table { name: "t_a" dim: 4 }
  table { name: "t_b" dim: 4 }
  model { name: "dlrm" [millrace.dlrm] { bottom: [8] top: [8] } }
}
run { output_dir: "out" threads: 1 evaluation { when { at_start: true } } checkpoint { when { at_start: true } } }
"""
ROWS = {"t_a": 50, "t_b": 30}


class Embeddings(nn.Module):

  def __init__(self):
    super().__init__()
    self.embedding_bags = nn.ModuleDict({name: nn.EmbeddingBag(rows, 4, mode="sum") for name, rows in ROWS.items()})


class Dlrm(nn.Module):
  """The model of JOB, with the names of TorchRec's tables."""

  def __init__(self):
    super().__init__()
    self.ebc = Embeddings()
    row, column = torch.tril_indices(3, 3, -1)
    self.register_buffer("pairs", row * 3 + column)
    self.bottom = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 4), nn.ReLU())
    self.top = nn.Sequential(nn.Linear(4 + 3, 8), nn.ReLU(), nn.Linear(8, 1))

  def forward(self, dense, ids):
    rows = [bag(column.unsqueeze(1)) for bag, column in zip(self.ebc.embedding_bags.values(), ids.T)]
    z = torch.stack([self.bottom(dense), *rows], 1)
    dots = torch.bmm(z, z.transpose(1, 2)).flatten(1)[:, self.pairs]
    return self.top(torch.cat([z[:, 0], dots], 1)).squeeze(1)


def save_dcp(state, path):
  with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of a save without ranks
    dcp.save(state, checkpoint_id=path, no_dist=True)


def run(*command):
  return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": ""})


class Case(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.addCleanup(os.chdir, os.getcwd())
    os.chdir(folder.name)

  def convert(self, *arguments, code=0):
    """Returns the standard output and error of a conversion."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
      try:
        found = convert.main(arguments)
      except SystemExit as end:
        found = end.code
    self.assertEqual(found, code, out.getvalue() + err.getvalue())
    return out.getvalue(), err.getvalue()

  def read(self, checkpoint, *arguments):
    """Returns what `millrace checkpoint read` prints, as JSON."""
    done = run(PROGRAM, "checkpoint", "read", checkpoint, "--json", *arguments)
    self.assertEqual(done.returncode, 0, done.stderr)
    return json.loads(done.stdout)

  def rows(self, checkpoint, table, ids, column="weights"):
    """Returns {id: numbers} of the rows that a checkpoint has of these ids."""
    read = self.read(checkpoint, "--table", table, "--ids=" + ",".join(map(str, ids)))
    return {row["id"]: row[column] for row in read["rows"]}

  def expect_verified(self, checkpoint):
    done = run(PROGRAM, "checkpoint", "verify", checkpoint)
    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class ModelTest(Case):
  """A model of TorchRec's names in each kind of file."""

  def setUp(self):
    super().setUp()
    torch.manual_seed(3)
    self.model = Dlrm()
    self.dense = torch.rand(100, 2)
    self.ids = torch.stack([torch.randint(0, rows, (100,)) for rows in ROWS.values()], 1)
    with open("data.csv", "w", encoding="utf-8") as file:
      file.write("label,i1,i2,c1,c2\n")
      for dense, ids in zip(self.dense.tolist(), self.ids.tolist()):
        file.write("1,%r,%r,%d,%d\n" % (*dense, *ids))

  def show(self, checkpoint):
    return json.loads(run(PROGRAM, "checkpoint", "show", checkpoint, "--json").stdout)

  def expect_values(self, checkpoint):
    """Checks the predictions of the checkpoint, and the first loss and checkpoint of jobs that begin from it."""
    with torch.no_grad():
      expected = torch.sigmoid(self.model(self.dense, self.ids))
    for begin in ('initialize_from: "%s"', 'model_bank { source { path: "%s" parts: [WEIGHTS, SLOTS] } }'):
      with open("job.textproto", "w", encoding="utf-8") as file:
        file.write(JOB % ("sparse_optimizer { rowwise_adagrad {} } " + begin % checkpoint))
      done = run(PROGRAM, "train", "job.textproto", "--output_dir", begin[:5])
      self.assertEqual(done.returncode, 0, done.stderr)
      with open(begin[:5] + "/metrics/eval.jsonl", encoding="utf-8") as file:
        first = json.loads(file.readline())
      self.assertAlmostEqual(first["metrics"]["logloss"], float(-expected.log().mean()), places=5)
      self.assertEqual(first["unknown_shares"], {"t_a": 0, "t_b": 0})
    # The trainer computes the same digests of dense tensors, rows and slots before its first step.
    self.assertEqual(self.show(checkpoint)["content_digests"],
                     self.show("model/checkpoints/step-00000000")["content_digests"])
    done = run(PROGRAM, "predict", "job.textproto", "--checkpoint", checkpoint, "--output", "predictions.csv")
    self.assertEqual(done.returncode, 0, done.stderr)
    with open("predictions.csv", encoding="utf-8") as file:
      found = [float(row["label_prediction"]) for row in csv.DictReader(file)]
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5)

  def test_each_kind_of_file_gives_the_same_checkpoint(self):
    state = self.model.state_dict()
    optimizer = {"ebc.embedding_bags.%s.weight" % name: {name + ".momentum1": torch.rand(rows)}
                 for name, rows in ROWS.items()}
    save_dcp({"model": state, "optim": {"state": optimizer}, "step": 3}, "model.dcp")
    torch.save({"model": state, "optim": {"state": optimizer, "exp_avg": torch.zeros(3)}}, "model.pt")
    slots = {"optim.%s.%s" % (name, slot): value for name, of in optimizer.items() for slot, value in of.items()}
    save_file({**state, **slots}, "model.safetensors")
    for name, left_out in (("model.dcp", "step (no tensor)"), ("model.safetensors", ""),
                           ("model.pt", "optim.exp_avg, F32 [3]")):
      out, _ = self.convert(name, name + ".checkpoint")
      self.assertIn("table t_a: 50 rows of 4 F32 from ", out)
      self.assertIn("left out: " + left_out if left_out else "wrote", out)
      self.expect_verified(name + ".checkpoint")
      done = run(PROGRAM, "checkpoint", "diff", "model.dcp.checkpoint", name + ".checkpoint")
      self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
    self.expect_values("model.dcp.checkpoint")


class TablesTest(Case):
  """Ids, types and maps, read back by the program."""

  def test_ids_types_and_names_follow_the_map(self):
    weights = torch.arange(12.0).view(4, 3)
    save_file({
        "net.items.weight": weights.to(torch.bfloat16), "net.items.ids": torch.tensor([-5, 2**62, 0, 7]),
        "net.users.weight": weights.double() / 3, "net.ads.weight": weights.half(),
        "net.ads.z": torch.arange(8.0).view(4, 2), "net.ads.raw": torch.tensor([40, 41, 2**63 - 1]),
        "net.ads.remapped": torch.tensor([3, 1, 0]),
        "net.over.0.bias": torch.ones(1), "net.over.0.weight": weights[:1].double(), "net.steps": torch.tensor(5)},
              "s.safetensors")
    with open("map.txt", "w", encoding="utf-8") as file:
      file.write("# A comment.\ntable items = net.items.weight ids net.items.ids\ndense mlp.* = net.over.* as F32\n"
                 "table users = net.users.weight as F32   # rounded\nskip *steps\n"
                 "table ads = net.ads.weight ids net.ads.raw rows net.ads.remapped slot.z net.ads.z\n")
    out, _ = self.convert("s.safetensors", "out", "--map", "map.txt")
    self.expect_verified("out")
    self.assertIn("left out: net.steps, I64 []\n", out)
    self.assertIn("left out: 2 rows of net.ads.weight without an id\n", out)
    self.assertEqual(self.rows("out", "items", [-5, 2**62, 7, 8]),
                     {-5: [0, 1, 2], 2**62: [3, 4, 5], 7: [9, 10, 11]})
    self.assertEqual(self.rows("out", "ads", [40, 41, 0, 2**63 - 1]), {40: [9, 10, 11], 41: [3, 4, 5]})
    self.assertEqual(self.rows("out", "ads", [40, 41], "slot/z"), {40: [6, 7], 41: [2, 3]})
    self.assertEqual(self.read("out", "--tensor", "table/users/weights")["dtype"], "F32")
    np.testing.assert_array_equal(self.rows("out", "users", [3])[3], (weights[3].double() / 3).float().tolist())
    self.assertEqual(self.read("out", "--tensor", "mlp.0.weight")["dtype"], "F32")

  def test_many_rows_fill_several_files_and_chunks(self):
    weights = torch.arange(300000.0).view(-1, 4)
    save_file({"embeddings.t.weight": weights}, "s.safetensors")
    with mock.patch.object(_checkpoint_writer, "_TABLE_FILE_BYTES", 700000), \
         mock.patch.object(_checkpoint_writer, "_BLOCK_BYTES", 100000):
      self.convert("s.safetensors", "out")
    self.assertEqual(len(glob.glob("out/table-t-*-of-00003.safetensors")), 3)
    self.expect_verified("out")
    done = run(PROGRAM, "checkpoint", "export", "out", "--table", "t", "--output", "t.safetensors")
    self.assertEqual(done.returncode, 0, done.stderr)
    exported = load_file("t.safetensors")
    torch.testing.assert_close(exported["table/t/weights"], weights[exported["table/t/ids"]], rtol=0, atol=0)

  def test_the_listed_map_gives_the_default_checkpoint(self):
    prefix = "net._managed_collision_collection._managed_collision_modules.t."
    torch.save({"net.embeddings.t.weight": torch.rand(3, 2), "module.top.bias": torch.zeros(1),
                prefix + "_mch_sorted_raw_ids": torch.tensor([10, 11]), prefix + "_mch_counts": torch.zeros(2),
                prefix + "_mch_remapped_ids_mapping": torch.tensor([1, 0]), "optim.momentum1": torch.zeros(3)}, "s.pt")
    listed, _ = self.convert("s.pt", "--list")
    self.assertIn("table t = net.embeddings.t.weight ids %s_mch_sorted_raw_ids rows %s_mch_remapped_ids_mapping" %
                  (prefix, prefix), listed)
    self.assertIn("dense top.bias = module.top.bias  # F32 [1]\n", listed)
    with open("map.txt", "w", encoding="utf-8") as file:
      file.write(listed)
    self.assertEqual(self.convert("s.pt", "a")[0].replace('"a"', "").replace(" a;", ""),
                     self.convert("s.pt", "b", "--map", "map.txt")[0].replace('"b"', "").replace(" b;", ""))
    done = run(PROGRAM, "checkpoint", "diff", "a", "b")
    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

  def test_ranks_of_dcp(self):
    """Two processes save the halves of a tensor."""
    script = """
import sys, torch, torch.distributed as dist, torch.distributed.checkpoint as dcp
from torch.distributed.tensor import DTensor, Shard, init_device_mesh
dist.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=int(sys.argv[2]), world_size=2)
mine = torch.arange(40.0).view(10, 4).chunk(2)[dist.get_rank()]
table = DTensor.from_local(mine, init_device_mesh("cpu", (2,)), [Shard(0)])
dcp.save({"embeddings.t.weight": table}, checkpoint_id="s")
"""
    ranks = [subprocess.Popen([sys.executable, "-c", script, os.path.abspath("store"), str(rank)]) for rank in (0, 1)]
    self.assertEqual([rank.wait() for rank in ranks], [0, 0])
    self.assertEqual(len(glob.glob("s/*.distcp")), 2)
    self.convert("s", "out")
    self.assertEqual(self.rows("out", "t", range(11)), {n: [4 * n, 4 * n + 1, 4 * n + 2, 4 * n + 3] for n in range(10)})


class ErrorsTest(Case):
  """Each failure is one line, with its code, and leaves nothing behind."""

  def expect_error(self, code, pattern, *arguments):
    before = set(os.listdir())
    _, err = self.convert(*arguments, code=code)
    lines = err.splitlines()
    self.assertRegex(lines[0], "^millrace: .*(%s)" % pattern)
    self.assertTrue(all(line.startswith("  ") for line in lines[1:]), err)
    self.assertEqual(set(os.listdir()), before)

  def test_maps(self):
    save_file({"a.weight": torch.rand(3, 2), "b.weight": torch.rand(3, 2), "d": torch.rand(2, 5000),
               "e": torch.rand(3, 2).double(), "dup": torch.tensor([1, 1, 2]), "k": torch.tensor([4, 5, 6]),
               "n": torch.tensor([0, 1, 9])},
              "s.safetensors")
    rest = "\nskip *"
    for text, pattern in (
        ("tabel a = a.weight", "map.txt:1: a line is `table NAME = TENSOR`, .*: `tabel a = a.weight`"),
        ("table a = a.weight as F64" + rest, "`as` takes F32, F16 or BF16"),
        ("table a = a.weight rows n" + rest, "`rows` needs `ids`"),
        ("dense a = a.weight ids k" + rest, "behind TENSOR only `as …` may follow"),
        ("dense *.* = *.*" + rest, r"`\*` may be once"),
        ("dense a = *.weight", r"`\*` may be once"),
        ("dense a* = a.w*\nskip *", "map.txt:2 matches the tensor a.weight, which map.txt:1 matches too"),
        ("dense a = a.wieght", "no tensor of the source has the name a.wieght; did you mean a.weight?"),
        ("skip zzz", "no tensor of the source has the name zzz; --list prints the names"),
        ("table a = a.weight ids dub", "the source has no tensor dub; did you mean dup?"),
        ("table a = a.weight", "no line of map.txt matches 6 of 7 tensors; add lines such as these:"),
        ("table a = a.weight\ntable a = b.weight", "a.weight and b.weight would both become the table a"),
        ("table a.b = a.weight", "the name of a table has up to 128 letters"),
        ("table a = d", r"d has the shape \[2, 5000\], and a table has \[rows, 1 to 4096\]"),
        ("table a = e", "e is F64, and rows are F32, F16 or BF16; add `as F32`"),
        ("dense n = n as F32", "only floating-point numbers can be rounded"),
        ("table a = a.weight ids b.weight", "b.weight is F32 "),
        ("dense table/a = d", "may not be empty or begin with"),
        ("table a = a.weight slot.a/b d", "slot a/b: a name has up to 128 letters"),
        ("table a = a.weight slot.sum d", r"slot sum: d is F32 \[2, 5000\], and a slot of a.weight is F32 \[3\]"),
        ("dense a = a.weight slot.sum d", "behind TENSOR only"),
    ):
      with open("map.txt", "w", encoding="utf-8") as file:
        file.write(text + "\n")
      self.expect_error(64, pattern, "s.safetensors", "out", "--map", "map.txt")
    for text, pattern in (("table a = a.weight ids dup", "dup has the id 1 2 times, and an id has one row"),
                          ("table a = a.weight ids k rows n", "n names rows 0 to 9, and a.weight has 3 rows")):
      with open("map.txt", "w", encoding="utf-8") as file:
        file.write(text + "".join("\nskip " + name for name in ("b.weight", "d", "e", "dup", "k", "n")
                                                   if name not in text.split()))
      self.expect_error(65, pattern, "s.safetensors", "out", "--map", "map.txt")

  def test_sources(self):
    good = {"embeddings.t.weight": torch.rand(300, 4)}
    save_file(good, "s.safetensors")
    save_dcp(good, "truncated.dcp")
    os.truncate(glob.glob("truncated.dcp/*.distcp")[0], 2000)
    save_dcp(good, "lost.dcp")
    os.remove(glob.glob("lost.dcp/*.distcp")[0])
    save_dcp(good, "unfinished.dcp")
    os.remove("unfinished.dcp/.metadata")
    save_dcp(good, "flipped.dcp")
    with open(glob.glob("flipped.dcp/*.distcp")[0], "r+b") as file:
      file.write(b"????")
    for name, content in (("code.dcp", pickle.dumps(print)), ("cut.dcp", pickle.dumps([1, 2])[:-3])):
      os.mkdir(name)
      self.write(name + "/.metadata", content)
    os.mkdir("empty")
    self.write("none.safetensors", b"")
    self.write("job.textproto", b"train {}\n")
    with open("s.safetensors", "rb") as file:
      self.write("cut.safetensors", file.read()[:-1])
    self.write("twice.safetensors", self.header('{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},'
                                                '"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}'))
    self.write("shape.safetensors", self.header('{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,0]}}'))
    os.mkdir("shards")
    save_file(good, "shards/model-1.safetensors")
    self.write("shards/model.safetensors.index.json", b'{"weight_map":{"a":"model-1.safetensors",'
               b'"b":"model-2.safetensors"}}')
    torch.save(nn.Linear(1, 1), "code.pt")
    torch.save(good, "cut.pt")
    os.truncate("cut.pt", 2000)
    torch.save({"a.b": torch.zeros(1), "a": {"b": torch.zeros(1)}}, "twice.pt")
    save_file({"embeddings.t.weight": torch.tensor([[1.0], [float("nan")]])}, "nan.safetensors")
    save_file({"embeddings.t.weight": torch.rand(1, 1), "top": torch.tensor([float("inf")])}, "inf.safetensors")
    for source, code, pattern in (
        ("missing", 66, "missing does not exist; name"),
        ("empty", 66, "empty has no .metadata: it is no DCP checkpoint"),
        ("unfinished.dcp", 66, "the save was not finished"),
        ("lost.dcp", 66, "lost.dcp has no file __0_0.distcp with a part of embeddings.t.weight; copy"),
        ("truncated.dcp", 65, "__0_0.distcp is damaged: it has 2000 bytes, and a part of embeddings.t.weight ends at"),
        ("flipped.dcp", 65, "__0_0.distcp is damaged: the part of embeddings.t.weight"),
        ("code.dcp", 65, r"code of a file is not run \(it needs builtins.print\)"),
        ("cut.dcp", 65, "cut.dcp/.metadata is damaged"),
        ("none.safetensors", 65, "none.safetensors is damaged: its header"),
        ("cut.safetensors", 65, "tensor embeddings.t.weight ends at byte"),
        ("twice.safetensors", 65, "its header has the name a twice"),
        ("shape.safetensors", 65, "tensor a has 0 bytes, which do not fit"),
        ("shards", 66, "shards lacks model-2.safetensors, which model.safetensors.index.json names"),
        ("code.pt", 65, r"code of a file is not run \(it needs torch.nn.modules.linear.Linear\)"),
        ("cut.pt", 65, "cut.pt is damaged"),
        ("job.textproto", 65, "job.textproto is no file of torch.save"),
        ("twice.pt", 65, "two tensors named a.b"),
        ("nan.safetensors", 65, "embeddings.t.weight has a number that is not finite at row 1; mend"),
        ("inf.safetensors", 65, "top has a number that is not finite at number 0; mend"),
    ):
      with self.subTest(source):
        self.expect_error(code, pattern, source, "out")
    _, err = self.convert("nan.safetensors", "out", "--allow_non_finite")
    self.assertEqual(err, "millrace: warning: embeddings.t.weight has numbers that are not finite\n")
    self.expect_verified("out")

  def test_doubts_need_a_map(self):
    save_file({"user.weight": torch.rand(3, 2)}, "s.safetensors")
    self.expect_error(64, "s.safetensors needs a --map, since its names leave doubts", "s.safetensors", "out")
    save_file({"embeddings.t.weight": torch.zeros(3, 2, dtype=torch.int8)}, "s.safetensors")
    self.expect_error(64, "needs a --map", "s.safetensors", "out")
    self.expect_error(64, "name an OUTPUT, or give --list without one", "s.safetensors")
    self.expect_error(64, "required: SOURCE")
    self.expect_error(66, "map.txt does not exist", "s.safetensors", "out", "--map", "map.txt")

  def test_outputs(self):
    save_file({"embeddings.t.weight": torch.rand(3, 2)}, "s.safetensors")
    self.expect_error(73, "no/such is no directory", "s.safetensors", "no/such/out")
    os.mkdir("mine")
    self.expect_error(73, "mine exists; name another output, or replace it with --overwrite", "s.safetensors", "mine")
    self.expect_error(73, "--overwrite replaces nothing else", "s.safetensors", "mine", "--overwrite")
    self.convert("s.safetensors", "out")
    self.convert("s.safetensors", "out", "--overwrite")
    with mock.patch.object(_checkpoint_writer.os, "fsync", side_effect=OSError(28, "No space left on device")):
      self.expect_error(73, "No space left on device", "s.safetensors", "out", "--overwrite")
    self.expect_verified("out")

  def test_missing_packages(self):
    for name, pattern in (("xxhash", "millrace.convert needs xxhash, which is not installed: pip install xxhash"),
                          ("torch", "DCP checkpoints and .pt files need torch")):
      script = "import sys; sys.modules[%r] = None; from millrace import convert; sys.exit(convert.main(['s.pt', 'o']))"
      self.write("s.pt", b"")
      done = subprocess.run([sys.executable, "-c", script % name], capture_output=True, text=True, check=False)
      self.assertEqual(done.returncode, 71, done.stderr)
      self.assertRegex(done.stderr, r"^millrace: %s.*\n$" % pattern)

  def test_types(self):
    modules = ("convert", "_convert_map", "_convert_sources", "_checkpoint_writer")
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.path.abspath("mypy"),
                           *(word for name in modules for word in ("-m", "millrace." + name))], cwd=FOLDER,
                          env={**os.environ, "MYPYPATH": FOLDER}, capture_output=True, text=True, check=False)
    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

  def write(self, path, content):
    with open(path, "wb") as file:
      file.write(content)

  @staticmethod
  def header(text):
    return len(text).to_bytes(8, "little") + text.encode()


class Pt2Test(unittest.TestCase):
  """`python3 -m millrace.pt2` on what the program exports."""

  JOB = """
train {
  max_steps: 3
  train_data { path: "data.csv" batch_size: 10 csv { list_delimiter: "|" } }
  feature { name: "label" kind: LABEL }
  feature { name: "x" kind: DENSE }
  feature { name: "a" pooling: %s max_ids: 3 }
  feature { name: "b" }
  default_table { dim: 4 }
  model { name: "deepfm" [millrace.deepfm] { hidden: [8] } }
}
run { output_dir: "out" threads: 1 }
"""

  def run_command(self, *arguments):
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
      code = pt2.main(arguments)
    return code, errors.getvalue()

  def test_converts_and_refuses(self):
    for pooling in ("MEAN", "SUM"):
      with self.subTest(pooling), tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        with open("data.csv", "w", encoding="utf-8") as file:
          file.write("label,x,a,b\n" + "".join("%d,%d,%d|%d,%d\n" % (i % 2, i, i % 7, i % 3, i % 5) for i in range(40)))
        with open("job.textproto", "w", encoding="utf-8") as file:
          file.write(self.JOB % pooling)
        subprocess.run([PROGRAM, "train", "job.textproto"], check=True, capture_output=True)
        subprocess.run([PROGRAM, "export", "--checkpoint", "out", "--output", "model.pt"], check=True,
                       capture_output=True)
        self.assertEqual(self.run_command("model.pt", "model.pt2"), (0, ""))
        about = {"millrace.json": ""}
        program = torch.export.load("model.pt2", extra_files=about).module()
        inputs = json.loads(about["millrace.json"])["inputs"]
        script = torch.jit.load("model.pt")
        for batch in (1, 5, 200):
          given = pt2.sample(torch, inputs, batch, seed=9)
          torch.testing.assert_close(program(*given), script(*given), rtol=1e-5, atol=1e-6)
        # What is wrong is said in a line, and nothing is left.
        for arguments, code, words in ((("nowhere.pt", "o.pt2"), 66, "nowhere.pt cannot be read"),
                                       (("data.csv", "o.pt2"), 64, "data.csv cannot be read"),
                                       (("model.pt", "model.pt"), 64, "the script itself"),
                                       (("model.pt", "nowhere/o.pt2"), 73, "no such directory"),
                                       (("model.pt", folder), 73, "is no file")):
          got, text = self.run_command(*arguments)
          self.assertEqual(got, code, text)
          self.assertIn(words, text)
        torch.jit.script(nn.Linear(2, 1)).save("other.pt")
        self.assertIn("not of `millrace export`", self.run_command("other.pt", "o.pt2")[1])
        with mock.patch.object(torch, "allclose", return_value=False):
          self.assertIn("differs from the script", self.run_command("model.pt", "o.pt2")[1])
        self.assertEqual([name for name in os.listdir(".") if "o.pt2" in name or "tmp" in name], [])


if __name__ == "__main__":
  unittest.main(verbosity=2)
