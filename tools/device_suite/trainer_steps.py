"""What the device suite does with the trainer: jobs on the CPU and on the device, compared."""
import json
import math
import os

FAST = ["--set", "run.checkpoint.enabled=false", "--set", "run.evaluation.enabled=false",
        "--set", "run.report.tensorboard=false"]
# Wide layers and large batches: what a device is for.
WIDE = ["--set", "train.train_data.batch_size=16384", "--set", "train.model.[millrace.deepfm]."
        "hidden=[2048, 1024, 512]", "--set", "train.max_epochs=5"] + FAST
DLRM = ["--set", 'train.model={name: "dlrm" [millrace.dlrm] {bottom: [64] top: [128, 64]}}',
        "--set", "train.clipping.max_norm=10", "--set", "train.moving_average.decay=0.99",
        "--max_steps", "200"]
ON_DEVICE = ["--device", "cuda"]
# Steps of two runs that count how often they wait for the device.
COUNTED_STEPS = [100, 300]
# The gradient of pooled tables, the loss, whether dense gradients are finite, and the predictions,
# which metrics read every 64 steps, each once.
MOST_WAITS = 4


def variables(arguments, folder, work):
  """Returns the environment variables that a job with these arguments needs."""
  for steps in COUNTED_STEPS:
    if "counted_%d" % steps in arguments:
      return {"LD_PRELOAD": os.path.join(folder, "bin", "count_waits.so"),
              "MILLRACE_COUNT_WAITS": os.path.join(work, "waits_%d" % steps)}
  return {}


def jobs(files):
  """Returns [(name, arguments)]: commands of millrace that run in one folder, in this order.

  `files` is the folder of the configurations.
  """
  def train(folder, *arguments, config="quickstart"):
    return ["train", os.path.join(files, config + ".textproto"), "--output_dir", folder, *arguments]

  def train_tasks(folder, *arguments):
    return train(folder, *arguments, config="tasks")

  return [
      ("quick start on the CPU", train("cpu")),
      ("quick start on the device", train("device", *ON_DEVICE)),
      ("evaluation on the CPU",
       ["evaluate", "--checkpoint", "device", "--summary", "evaluation_cpu.json"]),
      ("evaluation on the device",
       ["evaluate", "--checkpoint", "device", "--summary", "evaluation_device.json", *ON_DEVICE]),
      ("tasks on the CPU", train_tasks("tasks_cpu")),
      ("tasks on the device", train_tasks("tasks_device", *ON_DEVICE)),
      ("begun on the device", train_tasks("both", "--max_steps", "10", *ON_DEVICE)),
      ("resumed on the CPU", train_tasks("both", "--max_steps", "20")),
      ("resumed on the device", train_tasks("both", "--max_steps", "30", *ON_DEVICE)),
      ("predictions on the device",
       ["predict", "--checkpoint", "tasks_cpu", "--output", "predictions.csv", *ON_DEVICE]),
      ("DLRM on the CPU", train("dlrm_cpu", *DLRM)),
      ("DLRM on the device", train("dlrm_device", *DLRM, *ON_DEVICE)),
      ("DLRM in float16 on the device",
       train("dlrm_float16", *DLRM, "--set", "train.precision.compute=FLOAT16", *ON_DEVICE)),
      ("DLRM in bfloat16 on the device",
       train("dlrm_bfloat16", *DLRM, "--set", "train.precision.compute=BFLOAT16", *ON_DEVICE)),
      *(("waits of %d steps" % steps,
         train("counted_%d" % steps, "--max_steps", str(steps), "--set",
               "run.report.when.every_steps=1000", *FAST, *ON_DEVICE))
        for steps in COUNTED_STEPS),
      ("wide layers on the CPU", train("wide_cpu", *WIDE)),
      ("wide layers on the device", train("wide_device", *WIDE, *ON_DEVICE)),
  ]


# Two summaries, and the largest difference allowed of any metric of evaluation. Adam moves a
# parameter whose gradient is rounding alone as far as others, so that metrics of two CPUs with
# other vector instructions differ by 5e-4; jobs with SGD show other differences.
COMPARISONS = [
    ("tasks: CPU and device agree", "tasks_cpu/summary.json", "tasks_device/summary.json", 1e-5),
    ("tasks: a run that changes devices agrees", "tasks_cpu/summary.json", "both/summary.json",
     1e-5),
    ("evaluation: CPU and device agree", "evaluation_cpu.json", "evaluation_device.json", 1e-5),
    ("quick start: CPU and device agree", "cpu/summary.json", "device/summary.json", 5e-3),
    ("DLRM: CPU and device agree", "dlrm_cpu/summary.json", "dlrm_device/summary.json", 5e-3),
    ("DLRM: float16 agrees", "dlrm_cpu/summary.json", "dlrm_float16/summary.json", 2e-2),
    ("DLRM: bfloat16 agrees", "dlrm_cpu/summary.json", "dlrm_bfloat16/summary.json", 2e-2),
]
RATES = ["cpu", "device", "dlrm_cpu", "dlrm_device", "dlrm_float16", "dlrm_bfloat16", "wide_cpu",
         "wide_device"]


def read_summary(work, name):
  with open(os.path.join(work, name), encoding="utf-8") as file:
    return json.load(file)


def flat(metrics, prefix=""):
  """Returns {path: number} of dictionaries in dictionaries."""
  found = {}
  for name, value in metrics.items():
    if isinstance(value, dict):
      found.update(flat(value, prefix + name + "/"))
    else:
      found[prefix + name] = value
  return found


def largest_difference(one, other):
  """Returns the largest difference of a metric; None if the metrics are not the same, or none."""
  # By set, or of one set its metrics.
  ours, theirs = flat(one["eval"]), flat(other["eval"])
  if not ours or sorted(ours) != sorted(theirs):
    return None
  differences = [abs(value - theirs[name]) for name, value in ours.items()]
  return max(differences) if all(map(math.isfinite, differences)) else None


def compare(work):
  """Returns a step for each comparison."""
  steps = []
  for name, one, other, most in COMPARISONS:
    step = {"name": name, "passed": False, "most": most}
    try:
      step["difference"] = largest_difference(read_summary(work, one), read_summary(work, other))
      step["passed"] = step["difference"] is not None and step["difference"] <= most
    except (OSError, ValueError, KeyError, TypeError) as error:
      step["why"] = "%s: %s" % (type(error).__name__, error)
    steps.append(step)
  return steps


def count_waits(work):
  """Returns a step: how often a training step without a report waits for the device."""
  step = {"name": "waits for the device in a step", "passed": False, "most": MOST_WAITS}
  counts = []
  try:
    for steps in COUNTED_STEPS:
      with open(os.path.join(work, "waits_%d" % steps), encoding="utf-8") as file:
        counts.append(int(file.read()))
  except (OSError, ValueError) as error:
    step["why"] = str(error)
    return step
  step["waits"] = (counts[1] - counts[0]) / (COUNTED_STEPS[1] - COUNTED_STEPS[0])
  step["passed"] = 0 < step["waits"] <= MOST_WAITS
  return step


def rates(work):
  """Returns benchmarks: examples per second of jobs that ran, and where their time went."""
  found = []
  for name in RATES:
    try:
      summary = read_summary(work, os.path.join(name, "summary.json"))
      found.append({"name": "training, " + name, "value": summary["examples_per_second"],
                    "unit": "examples/s", "seconds": summary["time"]})
    except (OSError, ValueError, KeyError):
      continue
  return found
