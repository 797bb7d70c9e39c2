#!/usr/bin/env python3
"""Writes testdata/*.csv, weights after steps of other implementations, for dense_references_test.

    optim/dense/make_references.py        # needs Python with PyTorch

Each file has the configuration in its first line and then STEP,WEIGHT,... with the 14 weights of
the three parameters after that many steps. Numbers are float64 in shortest exact notation.

Files rmsprop* hold what torch.optim.RMSprop computes. LAMB and AdamW as TensorFlow has it are
written out below from their sources; PyTorch has neither.
"""
import math
import os

import torch

STEPS = 20
RATE = 0.02
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "testdata")


def parameters():
    """The second begins with zeros; the third never has a gradient other than 0."""
    values = [torch.linspace(-1, 1, 6, dtype=torch.float64), torch.zeros(4, dtype=torch.float64),
              torch.linspace(2, 3, 4, dtype=torch.float64)]
    return [value.requires_grad_() for value in values]


def gradient(parameter, step, count):
    """The test has the same formula. The gradients of the second are near epsilon."""
    scale = [1.0, 1e-6, 0.0][parameter]
    return torch.tensor([scale * math.sin(1.7 * step + 0.9 * i + 2.3 * parameter)
                         for i in range(count)], dtype=torch.float64)


def write(name, config, make_step):
    """make_step(parameters) returns a function that updates them from their gradients."""
    weights = parameters()
    step = make_step(weights)
    with open(os.path.join(FOLDER, name + ".csv"), "w", encoding="utf-8") as file:
        file.write(f"# learning_rate: {RATE} {config}\n")
        for number in range(STEPS):
            for i, weight in enumerate(weights):
                weight.grad = gradient(i, number, weight.numel())
            with torch.no_grad():
                step()
            cells = [repr(value) for weight in weights for value in weight.tolist()]
            file.write(",".join([str(number + 1)] + cells) + "\n")


def write_rmsprop():
    def case(name, config, **options):
        write(name, config, lambda weights: torch.optim.RMSprop(weights, lr=RATE, **options).step)

    case("rmsprop", "rmsprop {}")
    case("rmsprop_momentum", "rmsprop { alpha: 0.9 momentum: 0.8 epsilon: 1e-6 }", alpha=0.9,
         momentum=0.8, eps=1e-6)
    case("rmsprop_centered", "rmsprop { centered: true weight_decay: 0.1 }", centered=True,
         weight_decay=0.1)
    case("rmsprop_all", "rmsprop { alpha: 0.8 momentum: 0.5 centered: true weight_decay: 0.01 }",
         alpha=0.8, momentum=0.5, centered=True, weight_decay=0.01)


class Moments:
    """The averages that LAMB and Adam have in common, of one parameter."""

    def __init__(self, weight, beta1, beta2):
        self.weight, self.beta1, self.beta2, self.step = weight, beta1, beta2, 0
        self.mean = torch.zeros_like(weight)
        self.square = torch.zeros_like(weight)

    def add(self):
        self.step += 1
        self.mean = self.beta1 * self.mean + (1 - self.beta1) * self.weight.grad
        self.square = self.beta2 * self.square + (1 - self.beta2) * self.weight.grad**2


def lamb(weights, *, beta1=0.9, beta2=0.999, epsilon=1e-6, decay=0.0, bound=math.inf):
    """You et al., arXiv:1904.00962, algorithm 2, with phi(z) = min(z, bound); where a norm is 0 the
    ratio is 1 (github.com/keras-team/keras, keras/src/optimizers/lamb.py)."""
    moments = [Moments(weight, beta1, beta2) for weight in weights]

    def step():
        for moment in moments:
            moment.add()
            mean = moment.mean / (1 - beta1**moment.step)
            square = moment.square / (1 - beta2**moment.step)
            update = mean / (square.sqrt() + epsilon) + decay * moment.weight
            norm = math.sqrt((update**2).sum().item())
            phi = min(math.sqrt((moment.weight**2).sum().item()), bound)
            moment.weight -= RATE * (phi / norm if phi > 0 and norm > 0 else 1.0) * update

    return step


def adamw_tf(weights, *, beta1=0.9, beta2=0.999, epsilon=1e-8, decay=0.0):
    """github.com/keras-team/keras, keras/src/optimizers/adam.py (update_step) and
    base_optimizer.py (_apply_weight_decay)."""
    moments = [Moments(weight, beta1, beta2) for weight in weights]

    def step():
        for moment in moments:
            moment.add()
            moment.weight -= RATE * decay * moment.weight
            alpha = RATE * math.sqrt(1 - beta2**moment.step) / (1 - beta1**moment.step)
            moment.weight -= alpha * moment.mean / (moment.square.sqrt() + epsilon)

    return step


def write_formulas():
    write("lamb", "lamb {}", lamb)
    write("lamb_decay", "lamb { beta1: 0.8 beta2: 0.95 epsilon: 1e-4 weight_decay: 0.1 }",
          lambda weights: lamb(weights, beta1=0.8, beta2=0.95, epsilon=1e-4, decay=0.1))
    write("lamb_bound", "lamb { max_weight_norm: 1.5 weight_decay: 0.01 }",
          lambda weights: lamb(weights, bound=1.5, decay=0.01))
    write("adamw_tf", "adamw_tf {}", adamw_tf)
    write("adamw_tf_decay",
          "adamw_tf { beta1: 0.8 beta2: 0.95 epsilon: 1e-6 weight_decay: 0.1 }",
          lambda weights: adamw_tf(weights, beta1=0.8, beta2=0.95, epsilon=1e-6, decay=0.1))


if __name__ == "__main__":
    os.makedirs(FOLDER, exist_ok=True)
    write_rmsprop()
    write_formulas()
