#!/usr/bin/env python3
"""Converts checkpoints that TorchRec saved, and compares them with the tensors in the memory of TorchRec.

    ./bazelw build //tools:millrace
    python3 -m venv env
    env/bin/pip install torch==2.13.0 numpy xxhash pyre-extensions tensordict torchmetrics iopath tqdm psutil
    env/bin/pip install --no-deps torchrec==1.8.0 fbgemm-gpu-cpu==1.8.0
    env/bin/python3 tests/campaigns/torchrec_checkpoints.py [--program FILE] [CASE...]

For each case, by default all, 1 and 2 ranks of TorchRec (gloo, on the CPU) train a step of a DistributedModelParallel
model with two tables and save its state_dict and the state of its fused optimizer through DCP:

    data_parallel, table_wise, row_wise, column_wise    the sharding of both tables of an EmbeddingBagCollection
    collisions                                          a ManagedCollisionEmbeddingBagCollection, sharded by rows

The checkpoint is converted without a map, the program verifies it, and each row, with the sum of row-wise Adagrad, and
each dense tensor that it reads must equal those in the memory of the ranks. Prints a line for each case and
number of ranks; exits with 1 if one of them fails.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CASES = ("data_parallel", "table_wise", "row_wise", "column_wise", "collisions")
RANKS = (1, 2)
ROWS = {"t_a": 100, "t_b": 37}
DIM = 8
LIMIT_SECONDS = 300
RAW_IDS = {"t_a": [10**15 + 7 * n for n in range(20)], "t_b": [2 * n + 1 for n in range(10)]}


def train(case, folder):
  """The work of each rank: steps of training, a save, and at rank 0 the values to expect."""
  # pylint: disable=import-outside-toplevel
  import torch
  import torch.distributed as dist
  import torchrec
  from torch.distributed import checkpoint as dcp
  from torchrec import distributed
  from torchrec.distributed import embeddingbag, mc_embedding_modules, mc_embeddingbag, sharding_plan, types
  from torchrec.modules import mc_modules
  from torchrec.modules.mc_embedding_modules import ManagedCollisionEmbeddingBagCollection
  from torchrec.optim import RowWiseAdagrad, apply_optimizer_in_backward

  class Net(torch.nn.Module):

    def __init__(self):
      super().__init__()
      self.ebc = torchrec.EmbeddingBagCollection(device=torch.device("meta"), tables=[
          torchrec.EmbeddingBagConfig(name=name, embedding_dim=DIM, num_embeddings=rows, feature_names=[name])
          for name, rows in ROWS.items()])
      if case == "collisions":
        modules = {name: mc_modules.MCHManagedCollisionModule(
            zch_size=rows, device=torch.device("meta"), eviction_interval=1,
            eviction_policy=mc_modules.DistanceLFU_EvictionPolicy()) for name, rows in ROWS.items()}
        collection = mc_modules.ManagedCollisionCollection(modules, self.ebc.embedding_bag_configs())
        self.ebc = ManagedCollisionEmbeddingBagCollection(self.ebc, collection)
      self.over = torch.nn.Linear(len(ROWS) * DIM, 1)

    def forward(self, features):
      pooled = self.ebc(features)
      pooled = pooled[0] if isinstance(pooled, tuple) else pooled
      return self.over(pooled.values())

  dist.init_process_group("gloo")
  torch.manual_seed(5)
  net = Net()
  apply_optimizer_in_backward(RowWiseAdagrad, net.ebc.parameters(), {"lr": 0.1})
  sharding = "row_wise" if case == "collisions" else case

  class Sharder(embeddingbag.EmbeddingBagCollectionSharder):
    """Offers the sharding of the case on the CPU, too."""

    def sharding_types(self, compute_device_type):
      return [sharding]

  sharder = Sharder()
  if case == "collisions":
    # The CPU build of FBGEMM lacks the kernel that resets evicted rows; none of their values is compared.
    mc_embedding_modules.BaseShardedManagedCollisionEmbeddingCollection._evict = lambda *_: None
    sharder = mc_embeddingbag.ManagedCollisionEmbeddingBagCollectionSharder(sharder)
  ways = {"data_parallel": lambda _: sharding_plan.data_parallel(),
          "table_wise": lambda index: sharding_plan.table_wise(rank=index % dist.get_world_size()),
          "row_wise": lambda _: sharding_plan.row_wise(),
          "column_wise": lambda _: sharding_plan.column_wise(ranks=[*range(dist.get_world_size())])}
  plan = sharding_plan.construct_module_sharding_plan(
      net.ebc, {name: ways[sharding](index) for index, name in enumerate(ROWS)}, sharder, dist.get_world_size(),
      dist.get_world_size(), "cpu")
  model = distributed.DistributedModelParallel(
      net, device=torch.device("cpu"), plan=types.ShardingPlan({"ebc": plan}), sharders=[sharder])
  ids = RAW_IDS if case == "collisions" else {name: list(range(0, rows, 3)) for name, rows in ROWS.items()}
  count = min(map(len, ids.values()))
  values = [ids[name][n] for name in ROWS for n in range(count)]
  features = torchrec.KeyedJaggedTensor(list(ROWS), torch.tensor(values),
                                        lengths=torch.ones(len(values), dtype=torch.int64))
  for _ in range(3):
    model(features).square().sum().backward()
  state = model.state_dict()
  optimizer = model.fused_optimizer.state_dict()
  dcp.save({"model": state, "optim": optimizer}, checkpoint_id=folder + "/dcp")
  pieces = []  # of this rank, which has the optimizer state of its own tables alone: name, shape, place, numbers
  for name, tensor in [*state.items(), *(item for slots in optimizer["state"].values() for item in slots.items())]:
    if hasattr(tensor, "local_shards"):
      pieces += [(name, tensor.size(), shard.metadata.shard_offsets, shard.tensor) for shard in tensor.local_shards()]
    else:
      pieces.append((name, tensor.size(), [0] * tensor.dim(), tensor))
  ranks = [None] * dist.get_world_size()
  dist.all_gather_object(ranks, pieces)
  whole = {}
  for name, shape, place, numbers in sum(ranks, []):
    target = whole.setdefault(name, torch.full(shape, -1, dtype=numbers.dtype))
    target[tuple(slice(begin, begin + size) for begin, size in zip(place, numbers.shape))] = numbers.detach()
  if dist.get_rank() == 0:
    with open(folder + "/expected.json", "w", encoding="utf-8") as file:
      json.dump({name: tensor.tolist() for name, tensor in whole.items()}, file)
  dist.destroy_process_group()


def run(*command, **options):
  """Returns the standard output of a command. Raises RuntimeError with its standard error."""
  done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False, **options)
  if done.returncode != 0:
    raise RuntimeError("%s ended with %d: %s" % (command[0], done.returncode, (done.stdout + done.stderr)[-3000:]))
  return done.stdout


def expected_rows(expected, table):
  """Returns {id: (weights, sum)} of a table. There is no sum without a fused optimizer, or with one for each column."""
  weights = next(value for name, value in expected.items() if name.endswith("embedding_bags.%s.weight" % table))
  collisions = "_managed_collision_modules.%s." % table
  raw = [value for name, value in expected.items() if name.endswith(collisions + "_mch_sorted_raw_ids")]
  sums = [[value] for value in expected.get(table + ".momentum1", [])]
  numbers = [*zip(weights, sums)] if len(sums) == len(weights) else [(row, None) for row in weights]
  if not raw:
    return dict(enumerate(numbers))
  rows = next(value for name, value in expected.items() if name.endswith(collisions + "_mch_remapped_ids_mapping"))
  return {id_: numbers[row] for id_, row in zip(raw[0], rows) if id_ != 2**63 - 1}


def check(program, case, ranks, folder):
  """Returns what was compared. Raises RuntimeError."""
  run(sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks),
      os.path.abspath(__file__), "--train", folder, case)
  out = run(sys.executable, "-m", "millrace.convert", folder + "/dcp", folder + "/out",
            env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "tools", "package")})
  run(program, "checkpoint", "verify", folder + "/out")
  with open(folder + "/expected.json", encoding="utf-8") as file:
    expected = json.load(file)
  compared, sums = 0, 0
  for table in ROWS:
    rows = expected_rows(expected, table)
    read = json.loads(run(program, "checkpoint", "read", folder + "/out", "--json", "--table", table,
                          "--ids=" + ",".join(map(str, rows))))
    found = {row["id"]: (row["weights"], row.get("slot/sum")) for row in read["rows"]}
    total = json.loads(run(program, "checkpoint", "show", folder + "/out", "--json"))["tables"][table]["rows"]
    if found != rows or total != len(rows):
      raise RuntimeError("table %s has other rows than TorchRec" % table)
    compared += len(rows)
    sums += sum(slot is not None for _, slot in rows.values())
  dense = [name for name in expected if name.startswith("over.")]
  for name in dense:
    values = json.loads(run(program, "checkpoint", "read", folder + "/out", "--json", "--tensor", name))["values"]
    if values != flat(expected[name]):
      raise RuntimeError("%s has other numbers than in TorchRec" % name)
  left_out = sum(line.startswith("left out: ") for line in out.splitlines())
  return "%d rows, %d sums and %d dense tensors equal, %d entries left out" % (compared, sums, len(dense), left_out)


def flat(value):
  return [number for part in value for number in flat(part)] if isinstance(value, list) else [value]


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--program", default=os.path.join(ROOT, "bazel-bin/tools/millrace"))
  parser.add_argument("--train", metavar="FOLDER", help=argparse.SUPPRESS)
  parser.add_argument("cases", metavar="CASE", nargs="*", help=", ".join(CASES))
  flags = parser.parse_args()
  if flags.train:
    train(flags.cases[0], flags.train)
    return 0
  failed = 0
  for case in flags.cases or CASES:
    for ranks in RANKS:
      with tempfile.TemporaryDirectory() as folder:
        try:
          print("%s, ranks=%d: %s" % (case, ranks, check(flags.program, case, ranks, folder)), flush=True)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
          failed += 1
          print("%s, ranks=%d: FAILED: %s" % (case, ranks, error), flush=True)
  return 1 if failed else 0


if __name__ == "__main__":
  sys.exit(main())
