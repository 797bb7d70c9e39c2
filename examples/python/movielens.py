#!/usr/bin/env python3
"""Trains the job of examples/movielens with a torch.nn.Module in place of the C++ model "deepfm".

  python3 movielens.py DIR/ml-100k.inter
"""
import sys

import millrace
import torch
from torch import nn

# The columns of a table: those of the embedding, and the first-order weight that "deepfm" adds by itself.
DIM = 16
JOB = """
train {
  train_data {
    format: CSV csv { delimiter: "\\t" header: TYPED } split { by: HASH_OF_EXAMPLE to: 0.9 }
    batch_size: 256 shuffle_rows: 100000
  }
  eval_data {
    data {
      format: CSV csv { delimiter: "\\t" header: TYPED } split { by: HASH_OF_EXAMPLE from: 0.9 }
      batch_size: 4096
    }
  }
  feature { name: "liked" column: "rating" kind: LABEL transform { threshold { at_least: 4 } } }
  feature { name: "user" column: "user_id" transform { hash {} } }
  feature { name: "item" column: "item_id" transform { hash {} } }
  feature {
    name: "fortnight" column: "timestamp"
    transform {
      bucketize {
        boundary: [
          875664000, 876873600, 878083200, 879292800, 880502400, 881712000, 882921600, 884131200,
          885340800, 886550400, 887760000, 888969600, 890179200, 891388800, 892598400
        ]
      }
    }
  }
  default_table { dim: 17 }
  optimizer { learning_rate: 0.001 adamw { weight_decay: 0.01 } }
  sparse_optimizer { learning_rate: 0.002 adam {} }
  max_epochs: 8
}
run { output_dir: "out/movielens" threads: 1 }
"""


class DeepFm(nn.Module):

  def __init__(self) -> None:
    super().__init__()
    self.mlp = nn.Sequential(nn.Linear(3 * DIM, 128), nn.ReLU(), nn.Dropout(0.2),
                             nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 1))

  def forward(self, pooled: torch.Tensor) -> torch.Tensor:
    rows = pooled.view(-1, 3, DIM + 1)
    flat, sums = rows[:, :, :DIM].flatten(1), rows.sum(1)
    pairs = 0.5 * (sums[:, :DIM].square().sum(1) - flat.square().sum(1))
    return sums[:, DIM] + pairs + torch.squeeze(self.mlp(flat), 1)


data = ["train.train_data.path=" + sys.argv[1], "train.eval_data[0].data.path=" + sys.argv[1]]
result = millrace.train(millrace.Job.from_text(JOB, set=data), model=DeepFm)
print("AUC: %.4f" % result.eval["auc"])
sys.exit(result.exit_code)
