"""One process of a peer: training steps of DLRM with PyTorch, from memory.

Started by dlrm.py, with a job as JSON in the first argument:
  side      "torch" (an EmbeddingBag for each table) or "tbe" (FBGEMM's table batched embeddings),
            with "_compiled" behind it for torch.compile of all but the tables
  compute   float32 or bfloat16 (autocast)
  batch, threads
  data      directory of dlrm.py
  losses    steps whose losses are returned, before all others
  windows   measurements; 0: none
The last line it prints is JSON: {"values": [examples/s], "foreign": [cores]} with one of each a
window and {"losses": [...]}, or {"missing": why} if there is no such peer on this machine.
"""

import contextlib
import json
import sys

from dlrm_data import BOTTOM, CARDINALITIES, DIM, LEARNING_RATE, TOP, read_batches
from measuring import measure_windows

ADAGRAD_EPSILON = 1e-10
VECTORS = len(CARDINALITIES) + 1


def first_rows(table, rows):
    """The weights of a table before training, the same in all peers."""
    import torch
    generator = torch.Generator().manual_seed(table)
    return torch.empty(rows, DIM).uniform_(-0.01, 0.01, generator=generator)


class TableBatched:
    """FBGEMM. It updates in the backward pass."""

    def __init__(self):
        import torch
        from fbgemm_gpu.split_embedding_configs import EmbOptimType
        from fbgemm_gpu.split_table_batched_embeddings_ops_common import (
            BoundsCheckMode, EmbeddingLocation, PoolingMode)
        from fbgemm_gpu.split_table_batched_embeddings_ops_training import (
            ComputeDevice, SplitTableBatchedEmbeddingBagsCodegen)
        self.module = SplitTableBatchedEmbeddingBagsCodegen(
            [(rows, DIM, EmbeddingLocation.HOST, ComputeDevice.CPU) for rows in CARDINALITIES],
            optimizer=EmbOptimType.EXACT_ROWWISE_ADAGRAD, learning_rate=LEARNING_RATE,
            eps=ADAGRAD_EPSILON, pooling_mode=PoolingMode.SUM, stochastic_rounding=False,
            bounds_check_mode=BoundsCheckMode.NONE)
        with torch.no_grad():
            for table, weights in enumerate(self.module.split_embedding_weights()):
                weights.copy_(first_rows(table, CARDINALITIES[table]))

    def prepare(self, ids):
        """What forward() takes, of ids [batch, tables]."""
        import torch
        return torch.from_numpy(ids.T.reshape(-1).copy()), torch.arange(ids.size + 1)

    def forward(self, batch):
        return self.module(*batch)

    def update(self):
        pass


class Bags:
    """PyTorch: an EmbeddingBag for each table with sparse gradients; row-wise Adagrad as in DLRM's
    RWSAdagrad, without its sparse tensors for state, which take longer."""

    def __init__(self):
        import torch
        self.bags = [torch.nn.EmbeddingBag.from_pretrained(
            first_rows(table, rows), freeze=False, mode="sum", sparse=True,
            include_last_offset=True) for table, rows in enumerate(CARDINALITIES)]
        self.sums = [torch.zeros(rows) for rows in CARDINALITIES]

    def prepare(self, ids):
        import torch
        self.offsets = torch.arange(len(ids) + 1)
        return [torch.from_numpy(column.copy()) for column in ids.T]

    def forward(self, batch):
        import torch
        return torch.cat([bag(ids, self.offsets) for bag, ids in zip(self.bags, batch)], 1)

    def update(self):
        import torch
        with torch.no_grad():
            for bag, sums in zip(self.bags, self.sums):
                gradient = bag.weight.grad.coalesce()
                rows, values = gradient.indices()[0], gradient.values()
                sums.index_add_(0, rows, values.square().mean(1))
                scale = sums.index_select(0, rows).sqrt_().add_(ADAGRAD_EPSILON)
                bag.weight.index_add_(0, rows, values / scale[:, None], alpha=-LEARNING_RATE)
                bag.weight.grad = None


def make_dense_part():
    import torch
    from torch.nn import functional

    def layers(widths, last):
        result = []
        for fan_in, fan_out in zip(widths, widths[1:]):
            result += [torch.nn.Linear(fan_in, fan_out), torch.nn.ReLU()]
        return torch.nn.Sequential(*result[:None if last else -1])

    class DensePart(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.bottom = layers(BOTTOM, last=True)
            i, j = torch.tril_indices(VECTORS, VECTORS, offset=-1)
            self.register_buffer("pairs", i * VECTORS + j)
            self.top = layers([DIM + len(self.pairs), *TOP], last=False)

        def forward(self, dense, pooled, labels):
            x = self.bottom(dense)
            z = torch.cat([x, pooled], 1).view(-1, VECTORS, DIM)
            dots = torch.bmm(z, z.transpose(1, 2)).flatten(1)
            logits = self.top(torch.cat([x, dots.index_select(1, self.pairs)], 1)).squeeze(1)
            return functional.binary_cross_entropy_with_logits(logits.float(), labels)

    torch.manual_seed(1)
    return DensePart()


class Dlrm:
    def __init__(self, job):
        import torch
        kind, _, compiled = job["side"].partition("_")
        self.tables = {"torch": Bags, "tbe": TableBatched}[kind]()
        part = make_dense_part()
        # One kernel for all parameters: the fastest of PyTorch's.
        self.optimizer = torch.optim.Adagrad(part.parameters(), lr=LEARNING_RATE,
                                             eps=ADAGRAD_EPSILON, fused=True)
        self.dense_part = torch.compile(part) if compiled else part
        self.autocast = contextlib.nullcontext
        if job["compute"] == "bfloat16":
            self.autocast = lambda: torch.autocast("cpu", torch.bfloat16)
        self.batches = [
            (torch.from_numpy(dense), self.tables.prepare(ids), torch.from_numpy(labels))
            for dense, ids, labels in read_batches(job["data"], job["batch"])]

    def step(self, number):
        """Returns the loss."""
        dense, ids, labels = self.batches[number]
        pooled = self.tables.forward(ids)
        with self.autocast():
            loss = self.dense_part(dense, pooled, labels)
        loss.backward()
        self.tables.update()
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return loss


def main():
    job = json.loads(sys.argv[1])
    try:
        import torch
        torch.set_num_threads(job["threads"])
        peer = Dlrm(job)
    except (ImportError, OSError) as error:
        print(json.dumps({"missing": f"{type(error).__name__}: {error}"}))
        return
    losses = [peer.step(i % len(peer.batches)).item() for i in range(job["losses"])]
    result = {"values": [], "foreign": []}
    if job["windows"]:
        result = measure_windows(peer.step, job["batch"], job["windows"])
    print(json.dumps({**result, "losses": losses}))


if __name__ == "__main__":
    main()
