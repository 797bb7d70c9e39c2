#!/usr/bin/env python3
"""Writes testdata/references.txt, values of metrics by scikit-learn, for metric_references_test.

    metrics/make_references.py        # needs Python with scikit-learn

The file has the versions in its first lines. Each case has lines with its name, predictions, labels,
weights and groups ("-": none), then a line "value NUMBER CONFIGURATION" for each metric. Predictions
and weights are float32 in shortest notation, values float64.

Where a metric is undefined by its header, the value is nan; scikit-learn returns 0 or warns there.
ne, calibration, gauc and the sum of calibration_error are formulas over what scikit-learn computes.
"""
import itertools
import os
import platform
import warnings

import numpy
import sklearn
from sklearn import calibration
from sklearn import metrics

OUTPUT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "testdata", "references.txt")
CLAMP = 1e-7  # kLogLossEpsilon
NAN = float("nan")


class Case:
    """Examples. `skip` names metrics that are not compared; without `rankings` those of rankings are
    not, which try all orders of ties. With `only`, a metric is compared if its name begins so."""

    def __init__(self, name, predictions, labels, weights=None, groups=None, skip=(), rankings=True,
                 only=""):
        self.name, self.skip, self.rankings, self.only = name, skip, rankings, only
        self.scores = numpy.array(predictions, dtype=numpy.float32)
        self.labels = numpy.array(labels, dtype=numpy.float32)
        self.weights = None if weights is None else numpy.array(weights, dtype=numpy.float32)
        self.groups = None if groups is None else numpy.array(groups, dtype=numpy.int64)

    def lines(self):
        def line(name, values):
            return name + " " + ("-" if values is None else " ".join(str(v) for v in values))

        return [f"case {self.name}", line("predictions", self.scores), line("labels", self.labels),
                line("weights", self.weights), line("groups", self.groups)]


class Examples:
    """The examples of a case that count, in float64. Weight 0 is left to scikit-learn, but for
    labels that are not a number, which it refuses."""

    def __init__(self, case):
        count = len(case.scores)
        weights = numpy.ones(count) if case.weights is None else case.weights.astype(float)
        kept = ~(numpy.isnan(case.labels) & (weights == 0))
        self.scores = case.scores[kept]  # float32, in which thresholds are compared
        self.p = self.scores.astype(float)
        self.y = case.labels[kept].astype(float)
        self.w = weights[kept]
        self.groups = None if case.groups is None else case.groups[kept]
        self.positives = self.w[self.y == 1].sum()
        self.negatives = self.w[self.y == 0].sum()
        self.probabilities = bool((self.p >= 0).all() and (self.p <= 1).all())


def auc(y, p, w):
    if not w[y == 1].sum() or not w[y == 0].sum():
        return NAN
    return metrics.roc_auc_score(y, p, sample_weight=w)


def log_loss(e):
    return metrics.log_loss(e.y, numpy.clip(e.p, CLAMP, 1 - CLAMP), sample_weight=e.w,
                            labels=[0, 1])


def normalized_entropy(e):
    if not e.positives or not e.negatives:
        return NAN
    mean = numpy.full(len(e.y), e.positives / e.w.sum())
    return log_loss(e) / metrics.log_loss(e.y, mean, sample_weight=e.w, labels=[0, 1])


def decisions(e, name, threshold):
    decided = (e.scores >= threshold).astype(float)
    if name == "accuracy":
        return metrics.accuracy_score(e.y, decided, sample_weight=e.w)
    score = {"precision": metrics.precision_score, "recall": metrics.recall_score,
             "f1": metrics.f1_score}[name]
    return score(e.y, decided, sample_weight=e.w, zero_division=NAN)


def calibration_error(e, buckets):
    """calibration_curve knows no weights: examples are repeated, a weight of 1/4 is once."""
    repeats = (e.w * 4).astype(int)
    assert (repeats == e.w * 4).all()
    y, p = numpy.repeat(e.y, repeats), numpy.repeat(e.p, repeats)
    shares, means = calibration.calibration_curve(y, p, pos_label=1, n_bins=buckets)
    bounds = numpy.linspace(0, 1, buckets + 1)
    counts = numpy.bincount(numpy.searchsorted(bounds[1:-1], p))
    return (counts[counts > 0] / len(p) * abs(shares - means)).sum()


def grouped_auc(e, by_positives):
    values, weights = [], []
    for group in numpy.unique(e.groups):
        own = e.groups == group
        value = auc(e.y[own], e.p[own], e.w[own])
        if not numpy.isnan(value):
            values.append(value)
            weights.append(e.w[own & (e.y == 1)].sum() if by_positives else e.w[own].sum())
    return numpy.average(values, weights=weights) if values else NAN


def of_probabilities():
    """Configuration and function of each metric that needs probabilities."""
    yield 'name: "logloss"', log_loss
    yield 'name: "ne"', normalized_entropy
    yield 'name: "calibration"', lambda e: ((e.w * e.p).sum() / e.positives if e.positives else NAN)
    for name in ("accuracy", "precision", "recall", "f1"):
        yield f'name: "{name}"', lambda e, name=name: decisions(e, name, 0.5)
        for t in (0.0, 0.3, 0.7, 1.0):
            yield (f'name: "{name}" [millrace.{name}] {{ threshold: {t} }}',
                   lambda e, name=name, t=t: decisions(e, name, t))
    yield 'name: "calibration_error"', lambda e: calibration_error(e, 20)
    yield ('name: "calibration_error" [millrace.calibration_error] { buckets: 7 }',
           lambda e: calibration_error(e, 7))
    # The exact value: the test knows the bound of the error.
    yield 'name: "auc_buckets"', lambda e: auc(e.y, e.p, e.w)
    yield ('name: "auc_buckets" [millrace.auc_buckets] { buckets: 10 }',
           lambda e: auc(e.y, e.p, e.w))


def of_any_scores():
    """Configuration and function of the others without groups."""
    yield 'name: "auc"', lambda e: auc(e.y, e.p, e.w)
    yield 'name: "pr_auc"', lambda e: (
        metrics.average_precision_score(e.y, e.p, sample_weight=e.w) if e.positives else NAN)
    yield 'name: "mean"', lambda e: numpy.average(e.p, weights=e.w)
    yield 'name: "mse"', lambda e: metrics.mean_squared_error(e.y, e.p, sample_weight=e.w)
    yield 'name: "rmse"', lambda e: metrics.root_mean_squared_error(e.y, e.p, sample_weight=e.w)
    yield 'name: "mae"', lambda e: metrics.mean_absolute_error(e.y, e.p, sample_weight=e.w)


def of_groups():
    yield 'name: "gauc"', lambda e: grouped_auc(e, by_positives=False)
    yield ('name: "gauc" [millrace.gauc] { weight: POSITIVES }',
           lambda e: grouped_auc(e, by_positives=True))


def orders(scores):
    """All orders of the examples, from the highest score, that differ in ties alone: (places,) arrays."""
    blocks = [numpy.flatnonzero(scores == score) for score in sorted(set(scores), reverse=True)]
    for permuted in itertools.product(*(itertools.permutations(block) for block in blocks)):
        yield numpy.concatenate([numpy.array(block) for block in permuted])


def recall_at(y, k):
    return (y[:k] > 0.5).sum() / (y > 0.5).sum()


def hit_rate_at(y, k):
    return float((y[:k] > 0.5).any())


def reciprocal_rank(y, k):
    ranks = numpy.flatnonzero(y > 0.5) + 1
    return 1 / ranks[0] if ranks[0] <= k else 0.0


def average_precision_at(y, k):
    relevant = y > 0.5
    precisions = numpy.cumsum(relevant) / numpy.arange(1, len(y) + 1)
    return (relevant * precisions)[:k].sum() / min(k, relevant.sum())


def ranked(e, score, k):
    """The mean over groups with relevant examples of the mean of score(labels, k) over all orders."""
    means = []
    for group in numpy.unique(e.groups[e.w > 0]):
        own = (e.groups == group) & (e.w > 0)
        y, p = e.y[own], e.p[own]
        if (y > 0.5).any():
            means.append(numpy.mean([score(y[order], k) for order in orders(p)]))
    return numpy.mean(means) if means else NAN


def ndcg(e, k, exponential=False):
    """By scikit-learn, which gives ties their mean gain."""
    means = []
    for group in numpy.unique(e.groups[e.w > 0]):
        own = (e.groups == group) & (e.w > 0)
        y, p = e.y[own], e.p[own]
        if not (y > 0.5).any():
            continue
        gains = 2 ** y - 1 if exponential else y
        # scikit-learn refuses a group of one.
        means.append(metrics.ndcg_score([gains], [p], k=k) if len(y) > 1 else 1.0)
    return numpy.mean(means) if means else NAN


def of_rankings():
    for k in (1, 3, 10):
        yield f'name: "ndcg@{k}"', lambda e, k=k: ndcg(e, k)
        for name, score in (("recall", recall_at), ("hit_rate", hit_rate_at),
                            ("map", average_precision_at), ("mrr", reciprocal_rank)):
            yield f'name: "{name}@{k}"', lambda e, k=k, score=score: ranked(e, score, k)
    yield ('name: "ndcg@5" [millrace.ndcg_at] { gain: EXPONENTIAL }',
           lambda e: ndcg(e, 5, exponential=True))
    yield 'name: "mrr"', lambda e: ranked(e, reciprocal_rank, len(e.y))


def values(case):
    """The line of each metric."""
    examples = Examples(case)
    defined = examples.w.sum() > 0 and not numpy.isnan(examples.y).any()
    chosen = list(of_any_scores())
    if examples.probabilities:
        chosen += of_probabilities()
    if examples.groups is not None:
        chosen += of_groups()
        if case.rankings:
            chosen += of_rankings()
    for config, function in chosen:
        if any(f'"{name}"' in config for name in case.skip):
            continue
        if not config.startswith(f'name: "{case.only}'):
            continue
        value = float(function(examples)) if defined else NAN
        yield f"value {value!r} {config}"


def random_case(name, count, scores=None, weighted=False, grouped=False, **options):
    random = numpy.random.default_rng(len(name) + count)
    p = random.random(count, dtype=numpy.float32) if scores is None else scores(random, count)
    y = (random.random(count) < 0.6 * numpy.clip(p, 0, 1) + 0.1).astype(float)
    w = random.integers(0, 9, count) / 4 if weighted else None
    g = random.integers(-3, 12, count) if grouped else None
    return Case(name, p, y, w, g, **options)


def cases():
    yield random_case("ordinary", 300, grouped=True)
    yield random_case("weighted", 300, weighted=True, grouped=True)
    yield random_case("ties", 200, lambda r, n: r.integers(0, 9, n) / 8, weighted=True, grouped=True,
                      rankings=False)
    yield random_case("ties_in_groups", 60, lambda r, n: r.integers(0, 4, n) / 4, weighted=True,
                      grouped=True)
    yield random_case("edges_of_buckets", 200, lambda r, n: r.integers(0, 21, n) / 20)
    yield random_case("near_zero", 200, lambda r, n: r.random(n) ** 8 * 0.01, grouped=True)
    yield random_case("scores", 200, lambda r, n: 5 * r.standard_normal(n), weighted=True,
                      grouped=True)
    yield Case("all_tied", [0.5] * 6, [1, 0, 0, 1, 0, 0])
    yield Case("thresholds", [0.3, 0.7, 0.29999998, 0.69999993, 0.5, 0, 1], [1, 1, 1, 0, 0, 0, 1])
    yield Case("extremes", [0, 1, 1e-40, 0.99999994, 0, 1], [0, 1, 1, 0, 1, 0])
    yield Case("positives_alone", [0.9, 0.2, 0.6], [1, 1, 1], None, [1, 1, 2])
    yield Case("negatives_alone", [0.9, 0.2, 0.6], [0, 0, 0], None, [1, 1, 2])
    yield Case("none_predicted_positive", [0.1, 0.2, 0.05], [1, 0, 0])
    yield Case("one_positive", [0.75], [1], None, [4])
    yield Case("one_negative", [0.75], [0], None, [4])
    yield Case("positives_of_weight_zero", [0.9, 0.2, 0.6, 0.7], [1, 1, 0, 0], [0, 0, 1, 2.5],
               [1, 1, 1, 1])
    yield Case("all_of_weight_zero", [0.9, 0.2], [1, 0], [0, 0], [1, 1])
    yield Case("groups_of_one", [0.9, 0.2, 0.6, 0.5, 0.3], [1, 0, 1, 0, 1], [1, 2, 1, 0.25, 3],
               [5, 6, 2**62, 2**62, -2**62])
    grades = numpy.random.default_rng(5)
    yield Case("graded_labels", grades.random(60, dtype=numpy.float32),
               grades.choice([0, 0.3, 0.7, 1, 2.5, 4], 60), None, grades.integers(0, 9, 60),
               only="ndcg@")
    # A mean of predictions takes no label.
    yield Case("nan_label", [0.9, 0.2, 0.6, 0.3], [1, NAN, 0, 1], None, [1, 1, 1, 1],
               skip=("mean",))
    yield Case("nan_label_of_weight_zero", [0.9, 0.2, 0.6, 0.3], [1, NAN, 0, 1], [1, 0, 2, 1],
               [1, 1, 1, 1])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    os.makedirs(os.path.dirname(OUTPUT), exist_ok=True)
    with open(OUTPUT, "w", encoding="utf-8") as file:
        file.write(f"# scikit-learn {sklearn.__version__}, NumPy {numpy.__version__}, "
                   f"Python {platform.python_version()}. Written by:\n"
                   "#   metrics/make_references.py\n")
        for each in cases():
            file.write("\n".join(each.lines() + list(values(each))) + "\n")
