"""One rank of a peer: the workload of `millrace bench distributed` with TorchRec over Gloo.

Started by ranks.py, with a job as JSON in the first argument:
  side             "table_wise" (whole tables on one rank each), "row_wise" (equal ranges of the rows
                   of each table), "planner" (what TorchRec's planner chooses), or one of them with
                   "_fp16": embeddings and gradients travel in 16 bits
  optimizer        sgd or rowwise_adagrad
  rank, ranks, port
  tables, rows, dim, batch, ids_per_feature; the batch is that of all ranks
  data             directory that `millrace bench distributed --data` wrote
  windows          measurements, or
  steps            steps to check: weights go from data/before.f32 to data/SIDE.f32
The last line that rank 0 prints is JSON: {"values": [ids/s], "foreign": [cores], "bytes": [a step of
rank 0]} with one of each a window, or {"missing": why} if there is no such peer on this machine.
"""

import json
import math
import os
import sys
import time

from embedding_peers import read_batches
from measuring import BATCHES, MOST_WARM_UP_SECONDS, WARM_UP_STEPS, WINDOW_SECONDS, busy_ticks

# As in `millrace bench distributed`.
LEARNING_RATE = 0.01
ADAGRAD_EPSILON = 1e-10


class Tables:
    """TorchRec's collection of one rank. It updates in the backward pass."""

    def __init__(self, job):
        import torch
        from fbgemm_gpu.split_embedding_configs import EmbOptimType
        from torchrec.distributed.comm_ops import set_gradient_division
        from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
        from torchrec.distributed.model_parallel import DistributedModelParallel
        from torchrec.distributed.types import ShardingEnv
        from torchrec.modules.embedding_configs import EmbeddingBagConfig
        from torchrec.modules.embedding_modules import EmbeddingBagCollection

        # Gradients are those of the sum over ranks; by default TorchRec divides them by the ranks.
        set_gradient_division(False)
        self.job = job
        self.names = [f"t{i}" for i in range(job["tables"])]
        kinds = {"sgd": EmbOptimType.EXACT_SGD,
                 "rowwise_adagrad": EmbOptimType.EXACT_ROWWISE_ADAGRAD}
        collection = EmbeddingBagCollection(
            tables=[EmbeddingBagConfig(name=name, embedding_dim=job["dim"],
                                       num_embeddings=job["rows"], feature_names=["f" + name])
                    for name in self.names],
            device=torch.device("meta"))
        sharder = EmbeddingBagCollectionSharder(
            fused_params={"optimizer": kinds[job["optimizer"]], "learning_rate": LEARNING_RATE,
                          "eps": ADAGRAD_EPSILON, "stochastic_rounding": False},
            qcomm_codecs_registry=self.codecs())
        module = torch.nn.Sequential(collection)
        self.model = DistributedModelParallel(
            module, env=ShardingEnv.from_process_group(torch.distributed.group.WORLD),
            device=torch.device("cpu"), plan=self.plan(module, collection, sharder),
            sharders=[sharder], init_data_parallel=False)
        for tensor, *_ in self.shards():
            tensor.fill_(0.01)

    def codecs(self):
        if not self.job["side"].endswith("_fp16"):
            return None
        from torchrec.distributed.fbgemm_qcomm_codec import (
            CommType, QCommsConfig, get_qcomm_codecs_registry)
        return get_qcomm_codecs_registry(
            QCommsConfig(forward_precision=CommType.FP16, backward_precision=CommType.FP16))

    def plan(self, module, collection, sharder):
        import torch
        from torchrec.distributed.embedding_types import EmbeddingComputeKernel
        from torchrec.distributed.sharding_plan import (
            construct_module_sharding_plan, row_wise, table_wise)
        from torchrec.distributed.types import ShardingPlan
        side, ranks = self.job["side"].split("_fp16")[0], self.job["ranks"]
        if side == "planner":
            from torchrec.distributed.planner import EmbeddingShardingPlanner, Topology
            planner = EmbeddingShardingPlanner(
                topology=Topology(world_size=ranks, compute_device="cpu"),
                batch_size=self.job["batch"] // ranks)
            return planner.collective_plan(module, [sharder], torch.distributed.group.WORLD)
        kernel = EmbeddingComputeKernel.FUSED.value
        kinds = {name: table_wise(rank=i % ranks, compute_kernel=kernel)
                 if side == "table_wise" else row_wise(compute_kernel=kernel)
                 for i, name in enumerate(self.names)}
        module_plan = construct_module_sharding_plan(
            collection, per_param_sharding=kinds, sharder=sharder, local_size=ranks,
            world_size=ranks, device_type="cpu")
        return ShardingPlan(plan={"0": module_plan})

    def shards(self):
        """(weights, table, first row, first column) of each part that this rank holds."""
        import torch
        from torch.distributed._shard.sharded_tensor import ShardedTensor
        with torch.no_grad():
            for key, value in self.model.state_dict().items():
                table = self.names.index(key.split(".")[-2])
                if not isinstance(value, ShardedTensor):
                    raise TypeError(f"{key} is a {type(value).__name__}, no ShardedTensor")
                for shard in value.local_shards():
                    yield (shard.tensor.detach(), table, *shard.metadata.shard_offsets)

    def prepare(self, rows, gradient):
        """The batches of this rank, from those of all ranks."""
        import torch
        from torchrec.sparse.jagged_tensor import KeyedJaggedTensor
        tables, batch, ids = rows.shape[1:]
        part = batch // self.job["ranks"]
        own = slice(self.job["rank"] * part, (self.job["rank"] + 1) * part)
        lengths = torch.full((tables * part,), ids, dtype=torch.int32)
        keys = ["f" + name for name in self.names]
        batches = [KeyedJaggedTensor(
            keys=keys, values=torch.from_numpy(each[:, own].reshape(-1).copy()), lengths=lengths)
            for each in rows]
        # Outputs come in the order of the plan.
        order = [keys.index(key) for key in self.model(batches[0]).wait().keys()]
        gradient = gradient[own].reshape(part, tables, -1)[:, order]
        self.gradient = gradient.reshape(part, -1).contiguous()
        return batches

    def step(self, batch):
        self.model(batch).wait().values().backward(self.gradient)


def check(job, peer, batches):
    import numpy
    import torch
    shape = (job["rows"], job["tables"], job["dim"])
    before = numpy.fromfile(job["data"] + "/before.f32", numpy.float32).reshape(shape)
    path = job["data"] + "/" + job["side"] + ".f32"

    def place(tensor, table, row, column):
        return (slice(row, row + tensor.shape[0]), table, slice(column, column + tensor.shape[1]))

    for tensor, *where in peer.shards():
        tensor.copy_(torch.from_numpy(before[place(tensor, *where)].copy()))
    if job["rank"] == 0:
        numpy.zeros(shape, numpy.float32).tofile(path)
    torch.distributed.barrier()
    for i in range(job["steps"]):
        peer.step(batches[i % BATCHES])
    after = numpy.memmap(path, numpy.float32, "r+", shape=shape)
    for tensor, *where in peer.shards():
        after[place(tensor, *where)] = tensor.numpy()
    after.flush()
    torch.distributed.barrier()
    return {"values": [], "foreign": []}


def loopback_bytes():
    """Bytes sent over the loopback interface so far, by all programs."""
    with open("/proc/net/dev") as devices:
        for line in devices:
            name, _, numbers = line.partition(":")
            if name.strip() == "lo":
                return int(numbers.split()[8])
    return 0


def sum_over_ranks(value):
    import torch
    total = torch.tensor([value], dtype=torch.float64)
    torch.distributed.all_reduce(total)
    return total.item()


def measure(job, peer, batches):
    """Windows as of measuring.py, with as many steps on each rank."""
    def run(steps):
        start = time.perf_counter()
        for i in range(steps):
            peer.step(batches[i % BATCHES])
        return time.perf_counter() - start

    def mean(seconds):
        return sum_over_ranks(seconds) / job["ranks"]

    spent, steps = 0.0, 0
    while steps < WARM_UP_STEPS and spent < MOST_WARM_UP_SECONDS:
        spent += mean(run(BATCHES))
        steps += BATCHES
    count = BATCHES * math.ceil(WINDOW_SECONDS / mean(run(BATCHES)))
    per_step = job["tables"] * job["batch"] * job["ids_per_feature"]
    result = {"values": [], "foreign": [], "bytes": []}
    for _ in range(job["windows"]):
        sum_over_ranks(0)
        busy, own, sent = busy_ticks(), time.process_time(), loopback_bytes()
        seconds = mean(run(count))
        sent = loopback_bytes() - sent
        own = sum_over_ranks(time.process_time() - own)
        busy = (busy_ticks() - busy) / os.sysconf("SC_CLK_TCK")
        result["values"].append(count * per_step / seconds)
        result["foreign"].append(max(0.0, (busy - own) / seconds))
        result["bytes"].append(sent / count / job["ranks"])
    return result


def main():
    job = json.loads(sys.argv[1])
    try:
        import numpy
        import torch
        torch.set_num_threads(1)
        os.environ.update(RANK=str(job["rank"]), WORLD_SIZE=str(job["ranks"]),
                          LOCAL_RANK=str(job["rank"]), LOCAL_WORLD_SIZE=str(job["ranks"]),
                          MASTER_ADDR="127.0.0.1", MASTER_PORT=str(job["port"]),
                          GLOO_SOCKET_IFNAME="lo")
        torch.distributed.init_process_group("gloo")
        peer = Tables(job)
    except (ImportError, OSError) as error:
        print(json.dumps({"missing": f"{type(error).__name__}: {error}"}))
        return
    batches = peer.prepare(*read_batches(job))
    result = check(job, peer, batches) if "steps" in job else measure(job, peer, batches)
    if job["rank"] == 0:
        print(json.dumps(result), flush=True)
    torch.distributed.barrier()
    # TorchRec leaves threads that abort some of the ordinary exits.
    os._exit(0)


if __name__ == "__main__":
    main()
