"""DLRM of the Criteo-Kaggle shape: its sizes, made-up data for it, and our configuration."""

import os

import numpy

from measuring import BATCHES, say

# Of the categorical features of Criteo-Kaggle: 33.8 million rows.
CARDINALITIES = [1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194,
                 27, 14992, 5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572]
DENSE = 13
DIM = 16
BOTTOM = [DENSE, 512, 256, 64, DIM]
TOP = [512, 256, 1]
LEARNING_RATE = 0.01
ZIPF = 1.05
SEED = 1

PARQUET = "dlrm.parquet"
CONFIG = "dlrm.textproto"


def draw_ids(generator, rows, count):
    """Rows by Zipf's law, with the frequent ones anywhere in the table."""
    cumulative = numpy.cumsum(numpy.arange(1, rows + 1) ** -ZIPF)
    ranks = numpy.searchsorted(cumulative, generator.random(count) * cumulative[-1])
    return generator.permutation(rows)[numpy.minimum(ranks, rows - 1)]


def config_text(directory):
    """The job of `millrace bench dense`: the same data, sizes and optimizers as of the peers."""
    widths = ", ".join(map(str, BOTTOM[1:-1]))
    return f"""# Written by bench/peers/dlrm.py.
train {{
  train_data {{ path: "{os.path.abspath(directory)}/{PARQUET}" }}
  feature {{ name: "label" kind: LABEL }}
  feature {{ name: "i{{1..{DENSE}}}" kind: DENSE }}
  feature {{ name: "c{{1..{len(CARDINALITIES)}}}" }}
  table {{ name: "c{{1..{len(CARDINALITIES)}}}" dim: {DIM} }}
  model {{
    name: "dlrm"
    [millrace.dlrm] {{ bottom: [{widths}] top: [{", ".join(map(str, TOP[:-1]))}] }}
  }}
  optimizer {{ learning_rate: {LEARNING_RATE} adagrad {{}} }}
  sparse_optimizer {{ learning_rate: {LEARNING_RATE} rowwise_adagrad {{}} }}
}}
run {{ output_dir: "{os.path.abspath(directory)}/out" }}
"""


def write_data(directory, batch):
    """BATCHES batches of that size, once as Parquet for ours and once as arrays for peers."""
    import pyarrow
    import pyarrow.parquet

    os.makedirs(directory, exist_ok=True)
    rows = BATCHES * batch
    say(f"making {rows} examples in {directory}")
    generator = numpy.random.default_rng(SEED)
    dense = generator.exponential(1.0, (rows, DENSE)).astype(numpy.float32)
    labels = (generator.random(rows) < 0.25).astype(numpy.float32)
    ids = numpy.stack([draw_ids(generator, rows_of_table, rows) for rows_of_table in CARDINALITIES],
                      axis=1).astype(numpy.int64)
    columns = {"label": labels}
    columns.update({f"i{i + 1}": dense[:, i] for i in range(DENSE)})
    columns.update({f"c{i + 1}": ids[:, i] for i in range(ids.shape[1])})
    pyarrow.parquet.write_table(pyarrow.table(columns), os.path.join(directory, PARQUET))
    for name, array in (("dense", dense), ("labels", labels), ("ids", ids)):
        numpy.save(os.path.join(directory, name + ".npy"), array)
    with open(os.path.join(directory, CONFIG), "w") as file:
        file.write(config_text(directory))


def provide(directory, batch):
    """Makes the data, unless there is enough for BATCHES batches of that size."""
    try:
        read_batches(directory, batch)
    except (OSError, ValueError):
        write_data(directory, batch)


def read_batches(directory, batch):
    """The first BATCHES batches of that size: dense [batch, 13], ids [batch, 26], labels [batch]."""
    arrays = [numpy.load(os.path.join(directory, name + ".npy"))
              for name in ("dense", "ids", "labels")]
    if len(arrays[0]) < BATCHES * batch:
        raise ValueError(f"{directory} has {len(arrays[0])} examples, too few for batches of {batch}")
    return [[array[i * batch:(i + 1) * batch].copy() for array in arrays] for i in range(BATCHES)]
