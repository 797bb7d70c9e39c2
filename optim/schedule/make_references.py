#!/usr/bin/env python3
"""Writes testdata/*.csv, learning rates of other implementations, for schedule_references_test.

    optim/schedule/make_references.py        # needs Python with PyTorch

Each file has the configuration in its first line and then STEP,RATE. Rates are float64 in shortest
exact notation. All of 10,001 steps are computed; a file has every 25th, the last, and all within 2
steps of a corner.

Files torch_* hold what the schedulers of torch.optim.lr_scheduler set step by step (their recursive
forms). Files fairseq2_* hold the formulas of fairseq2, written out below from its documentation
(github.com/facebookresearch/fairseq2, src/fairseq2/optim/lr_schedulers/, commit 027bdeb), with
cycles and stages that are whole numbers of steps.
"""
import math
import os

import torch
from torch.optim import lr_scheduler

STEPS = 10000
RATE = 0.1
EVERY = 25
FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "testdata")


def write(name, schedule, rate_at, corners, last=STEPS):
    """Writes NAME.csv for the rates rate_at(0), rate_at(1), …, rate_at(last)."""
    near = {corner + offset for corner in corners for offset in range(-2, 3)}
    with open(os.path.join(FOLDER, name + ".csv"), "w", encoding="utf-8") as file:
        file.write(f"# {schedule}\n")
        for step in range(last + 1):
            rate = rate_at(step)  # called for every step, since schedulers are recursive
            if step % EVERY == 0 or step in near or step == last:
                file.write(f"{step},{rate!r}\n")


def torch_rates(make):
    """A function of the step that advances the scheduler make(optimizer) by one step a call."""
    optimizer = torch.optim.SGD([torch.zeros(1, dtype=torch.float64)], lr=RATE)
    scheduler = make(optimizer)

    def rate_at(step):
        if step > 0:
            optimizer.step()
            scheduler.step()
        return float(optimizer.param_groups[0]["lr"])

    return rate_at


def write_torch():
    def case(name, schedule, make, corners=(), last=STEPS):
        write("torch_" + name, schedule, torch_rates(make), corners, last)

    case("linear", "linear_warmup { start_factor: 0.25 length { count: 3333 } }",
         lambda o: lr_scheduler.LinearLR(o, 0.25, 1.0, 3333), [0, 3333])
    case("step", "step { length { count: 700 } gamma: 0.8 }",
         lambda o: lr_scheduler.StepLR(o, 700, 0.8), range(0, STEPS, 700))
    case("multi_step",
         "multi_step { milestone { count: 100 } milestone { count: 2500 } "
         "milestone { count: 2500 } milestone { share: 0.77 } gamma: 0.3 }",
         lambda o: lr_scheduler.MultiStepLR(o, [100, 2500, 2500, 7700], 0.3), [100, 2500, 7700])
    case("exponential", "exponential { gamma: 0.999 }",
         lambda o: lr_scheduler.ExponentialLR(o, 0.999), [0])
    case("cosine", "cosine { length { share: 1 } final_factor: 0.05 }",
         lambda o: lr_scheduler.CosineAnnealingLR(o, STEPS, 0.05 * RATE), [0, STEPS])
    case("warm_restarts",
         "cosine { length { count: 300 } cycles: 0 cycle_multiplier: 2 final_factor: 0.01 }",
         lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 300, 2, 0.01 * RATE),
         [300 * (2**i - 1) for i in range(6)])
    case("equal_restarts", "cosine { length { count: 1250 } cycles: 0 }",
         lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 1250), range(0, STEPS + 1, 1250))
    case("polynomial", "polynomial { length { share: 0.9 } power: 2.5 }",
         lambda o: lr_scheduler.PolynomialLR(o, 9000, 2.5), [0, 9000])

    def sequential(optimizer):
        parts = [
            lr_scheduler.LinearLR(optimizer, 0.1, 1.0, 500),
            lr_scheduler.ConstantLR(optimizer, 0.5, STEPS),
            lr_scheduler.CosineAnnealingLR(optimizer, 4000, 0.002),
            lr_scheduler.ExponentialLR(optimizer, 0.9995),
        ]
        return lr_scheduler.SequentialLR(optimizer, parts, [500, 1700, 5700])

    case("sequential",
         "chained { "
         "part { length { count: 500 } "
         "schedule { linear_warmup { start_factor: 0.1 length { count: 500 } } } } "
         "part { length { share: 0.12 } schedule { constant { factor: 0.5 } } } "
         "part { length { count: 4000 } "
         "schedule { cosine { length { count: 4000 } final_factor: 0.02 } } } "
         "part { schedule { exponential { gamma: 0.9995 } } } }",
         sequential, [0, 500, 1700, 5700])


def metric(step):
    """A loss that falls with noise until step 4000. The test has the same formula."""
    return 1 + (step * 7919 % 101) / 100 + 10 / (1 + min(step, 4000) // 50)


def write_plateau():
    def case(name, fields, *, sign=1, **options):
        optimizer = torch.optim.SGD([torch.zeros(1, dtype=torch.float64)], lr=RATE)
        scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        changes = []

        def rate_at(step):
            before = optimizer.param_groups[0]["lr"]
            if step > 0:
                scheduler.step(sign * metric(step))
            if optimizer.param_groups[0]["lr"] != before:
                changes.append(step)
            return optimizer.param_groups[0]["lr"]

        # The first pass finds the corners.
        for step in range(STEPS + 1):
            rate_at(step)
        corners = list(changes)
        optimizer.param_groups[0]["lr"] = RATE
        scheduler._reset()
        schedule = f'reduce_on_plateau {{ monitor: "eval/logloss" {fields} }}'
        write("torch_" + name, schedule, rate_at, corners)

    case("plateau_min", "factor: 0.9 patience: 70 threshold: 0.01 cooldown: 40", mode="min",
         factor=0.9, patience=70, threshold=0.01, cooldown=40)
    case("plateau_max", "mode: MAX factor: 0.5 patience: 60 threshold: 0.02 threshold_mode: ABS "
         "min_rate: 0.003", sign=-1, mode="max", factor=0.5, patience=60, threshold=0.02,
         threshold_mode="abs", min_lr=0.003)


def warmup(step, length, start):
    return start + (RATE - start) * step / length


def fairseq2_cosine(step, *, cycle, multiplier, decay, warm, start, final):
    """CosineAnnealingLR: eta_final^i + 1/2 (eta_base^i - eta_final^i) (1 + cos(pi t_i / T_i))."""
    if step < warm:
        return warmup(step, warm, start)
    position, number, length = step - warm, 0, cycle
    while position >= length:
        position -= length
        length *= multiplier
        number += 1
    low, high = final * decay**number, RATE * decay**number
    return low + 0.5 * (high - low) * (1 + math.cos(math.pi * position / length))


def fairseq2_polynomial(step, *, steps, warm, power, start, final):
    """PolynomialDecayLR: eta_final + (eta_base - eta_final) ((T - t) / (T - T_warmup))^p."""
    if step >= steps:
        return final
    if step < warm:
        return warmup(step, warm, start)
    return final + (RATE - final) * ((steps - step) / (steps - warm)) ** power


def fairseq2_noam(step, *, warm):
    """NoamLR: eta_base min(1 / sqrt(t), t / T_warmup / sqrt(T_warmup)); eta_base at 0 without."""
    if step < warm:
        return RATE * step * warm**-1.5
    return RATE if step == 0 else RATE * step**-0.5


def fairseq2_myle(step, *, warm, start):
    """MyleLR: eta_base min(sqrt(T_warmup / t), t / T_warmup)."""
    return warmup(step, warm, start) if step < warm else RATE * math.sqrt(warm / step)


def fairseq2_tri_stage(step, *, stages, start_scale, final_scale):
    """TriStageLR: linear to eta_base, constant, exponential to final_scale eta_base."""
    warm, hold, decay = stages
    if step < warm:
        return warmup(step, warm, start_scale * RATE)
    if step < warm + hold:
        return RATE
    if step < warm + hold + decay:
        return RATE * math.exp(math.log(final_scale) * (step - warm - hold) / decay)
    return RATE * final_scale


def write_fairseq2():
    def case(name, schedule, formula, corners, **options):
        write("fairseq2_" + name, schedule, lambda step: formula(step, **options), corners)

    # The cycles 1024, 1536, 2304, 3456 are whole.
    case("cosine",
         "cosine { warmup { length { count: 500 } start_factor: 0.2 } length { count: 1524 } "
         "cycles: 0 cycle_multiplier: 1.5 cycle_decay: 0.6 final_factor: 0.1 }",
         fairseq2_cosine, [0, 500, 1524, 3060, 5364, 8820], cycle=1024, multiplier=1.5, decay=0.6,
         warm=500, start=0.02, final=0.01)
    case("polynomial",
         "polynomial { warmup { length { share: 0.07 } start_factor: 0.3 } length { count: 9000 } "
         "power: 1.7 final_factor: 0.04 }",
         fairseq2_polynomial, [0, 700, 9000], steps=9000, warm=700, power=1.7, start=0.03,
         final=0.004)
    case("noam", "inverse_square_root { warmup_length { count: 800 } }", fairseq2_noam, [0, 800],
         warm=800)
    case("noam_without_warmup", "inverse_square_root {}", fairseq2_noam, [0], warm=0)
    case("myle", "myle { warmup { length { count: 1200 } start_factor: 0.05 } }", fairseq2_myle,
         [0, 1200], warm=1200, start=0.005)
    case("tri_stage",
         "tri_stage { length { count: 9000 } warmup_ratio: 0.1 hold_ratio: 0.4 start_factor: 0.02 "
         "final_factor: 0.03 }",
         fairseq2_tri_stage, [0, 900, 4500, 9000], stages=(900, 3600, 4500), start_scale=0.02,
         final_scale=0.03)


if __name__ == "__main__":
    os.makedirs(FOLDER, exist_ok=True)
    write_torch()
    write_plateau()
    write_fairseq2()
