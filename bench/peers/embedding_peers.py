"""One process of a peer: the workload of `millrace bench embedding` with FBGEMM or PyTorch.

Started by embedding.py, with a job as JSON in the first argument:
  side             "tbe" (FBGEMM's table batched embeddings) or "torch" (nn.EmbeddingBag, one a table)
  optimizer        sgd, rowwise_adagrad, adagrad or adam
  tables, rows, dim, batch, ids_per_feature, threads
  data             directory that `millrace bench embedding --data` wrote
  windows          measurements, or
  steps            steps to check: weights go from data/before.f32 to data/SIDE.f32
The last line it prints is JSON: {"values": [ids/s], "foreign": [cores]} with one of each a window,
or {"missing": why} if there is no such peer on this machine.
"""

import json
import sys

from measuring import BATCHES, measure_windows

# As in `millrace bench embedding`.
LEARNING_RATE = 0.01
ADAGRAD_EPSILON = 1e-10


class TableBatched:
    """FBGEMM. It updates in the backward pass."""

    def __init__(self, job):
        import torch
        from fbgemm_gpu.split_embedding_configs import EmbOptimType
        from fbgemm_gpu.split_table_batched_embeddings_ops_common import (
            BoundsCheckMode, EmbeddingLocation, PoolingMode)
        from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
            ComputeDevice, SplitTableBatchedEmbeddingBagsCodegen)
        kinds = {"sgd": EmbOptimType.EXACT_SGD,
                 "rowwise_adagrad": EmbOptimType.EXACT_ROWWISE_ADAGRAD,
                 "adagrad": EmbOptimType.EXACT_ADAGRAD}
        spec = (job["rows"], job["dim"], EmbeddingLocation.HOST, ComputeDevice.CPU)
        self.module = SplitTableBatchedEmbeddingBagsCodegen(
            [spec] * job["tables"], optimizer=kinds[job["optimizer"]], learning_rate=LEARNING_RATE,
            eps=ADAGRAD_EPSILON, pooling_mode=PoolingMode.SUM, stochastic_rounding=False,
            bounds_check_mode=BoundsCheckMode.NONE)
        with torch.no_grad():
            for weights in self.module.split_embedding_weights():
                weights.fill_(0.01)

    def weights(self):
        return self.module.split_embedding_weights()

    def prepare(self, rows, gradient):
        import torch
        tables, batch, ids = rows.shape[1:]
        offsets = torch.arange(0, tables * batch * ids + 1, ids)
        self.gradient = gradient
        return [(torch.from_numpy(each.reshape(-1)), offsets) for each in rows]

    def step(self, batch):
        self.module(*batch).backward(self.gradient)


class Bags:
    """PyTorch: an EmbeddingBag for each table, sparse gradients."""

    def __init__(self, job):
        import torch
        weights = [torch.full((job["rows"], job["dim"]), 0.01) for _ in range(job["tables"])]
        self.bags = [torch.nn.EmbeddingBag.from_pretrained(
            each, freeze=False, mode="sum", sparse=True, include_last_offset=True)
            for each in weights]
        parameters = [bag.weight for bag in self.bags]
        make = {"sgd": lambda: torch.optim.SGD(parameters, lr=LEARNING_RATE),
                "adagrad": lambda: torch.optim.Adagrad(parameters, lr=LEARNING_RATE,
                                                       eps=ADAGRAD_EPSILON),
                "adam": lambda: torch.optim.SparseAdam(parameters, lr=LEARNING_RATE)}
        self.optimizer = make[job["optimizer"]]()

    def weights(self):
        return [bag.weight for bag in self.bags]

    def prepare(self, rows, gradient):
        import torch
        tables, batch, ids = rows.shape[1:]
        self.offsets = torch.arange(0, batch * ids + 1, ids)
        # No concatenation of outputs, and contiguous gradients: better than a model could have it.
        self.gradients = [each.contiguous() for each in gradient.chunk(tables, dim=1)]
        return [[torch.from_numpy(table.reshape(-1)) for table in each] for each in rows]

    def step(self, batch):
        import torch
        outputs = [bag(ids, self.offsets) for bag, ids in zip(self.bags, batch)]
        torch.autograd.backward(outputs, self.gradients)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


def check(job, peer, batches, shape):
    import numpy
    import torch
    before = numpy.fromfile(job["data"] + "/before.f32", numpy.float32).reshape(shape)
    with torch.no_grad():
        for table, weights in enumerate(peer.weights()):
            weights.copy_(torch.from_numpy(before[:, table].copy()))
    for i in range(job["steps"]):
        peer.step(batches[i % BATCHES])
    after = numpy.stack([each.detach().numpy() for each in peer.weights()], axis=1)
    after.tofile(job["data"] + "/" + job["side"] + ".f32")
    return {"values": [], "foreign": []}


def read_batches(job):
    """The data of `millrace bench`: row numbers [BATCHES, tables, batch, ids] and a gradient."""
    import numpy
    import torch
    tables, batch = job["tables"], job["batch"]
    rows = numpy.fromfile(job["data"] + "/rows.i64", numpy.int64)
    gradient = numpy.fromfile(job["data"] + "/gradient.f32", numpy.float32)
    return (rows.reshape(BATCHES, tables, batch, job["ids_per_feature"]),
            torch.from_numpy(gradient.reshape(batch, tables * job["dim"])))


def main():
    job = json.loads(sys.argv[1])
    try:
        import numpy
        import torch
        torch.set_num_threads(job["threads"])
        peer = {"tbe": TableBatched, "torch": Bags}[job["side"]](job)
    except (ImportError, OSError) as error:
        print(json.dumps({"missing": f"{type(error).__name__}: {error}"}))
        return
    batches = peer.prepare(*read_batches(job))
    if "steps" in job:
        result = check(job, peer, batches, (job["rows"], job["tables"], job["dim"]))
    else:
        per_step = job["tables"] * job["batch"] * job["ids_per_feature"]
        result = measure_windows(lambda i: peer.step(batches[i]), per_step, job["windows"])
    print(json.dumps(result))


if __name__ == "__main__":
    main()
