"""What the device suite does with the trainer: jobs on the CPU and on the device, compared."""
import json
import os
import re

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


def variables(name, folder, work):
  """Returns the environment variables that the job of this name needs."""
  steps = re.match(r"waits of (\d+) steps$", name)
  if not steps:
    return {}
  return {"LD_PRELOAD": os.path.join(folder, "bin", "count_waits.so"),
          "MILLRACE_COUNT_WAITS": os.path.join(work, "waits_%s" % steps[1])}


def jobs(config):
  """Returns [(name, arguments)]: commands of millrace that run in one folder, in this order."""
  def train(folder, *arguments):
    return ["train", config, "--output_dir", folder, *arguments]

  return [
      ("quick start on the CPU", train("cpu")),
      ("quick start on the device", train("device", *ON_DEVICE)),
      ("evaluation on the CPU",
       ["evaluate", "--checkpoint", "device", "--summary", "evaluation_cpu.json"]),
      ("evaluation on the device",
       ["evaluate", "--checkpoint", "device", "--summary", "evaluation_device.json", *ON_DEVICE]),
      ("begun on the device", train("both", "--max_steps", "100", *ON_DEVICE)),
      ("resumed on the CPU", train("both", "--max_steps", "200")),
      ("resumed on the device", train("both", "--max_steps", "300", *ON_DEVICE)),
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


# Of two summaries: the largest difference of any metric of evaluation.
COMPARISONS = [
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
  return max(abs(value - theirs[name]) for name, value in ours.items())


def compare(work):
  """Returns a step for each comparison."""
  steps = []
  for name, one, other, most in COMPARISONS:
    step = {"name": name, "passed": False, "most": most}
    try:
      step["difference"] = largest_difference(read_summary(work, one), read_summary(work, other))
      step["passed"] = step["difference"] is not None and step["difference"] <= most
    except (OSError, ValueError, KeyError) as error:
      step["why"] = str(error)
    steps.append(step)
  return steps


def waits(work):
  """Returns a benchmark, or none: how often a step without a report waits for the device."""
  counts = []
  for steps in COUNTED_STEPS:
    try:
      with open(os.path.join(work, "waits_%d" % steps), encoding="utf-8") as file:
        counts.append(int(file.read()))
    except (OSError, ValueError):
      return []
  value = (counts[1] - counts[0]) / (COUNTED_STEPS[1] - COUNTED_STEPS[0])
  return [{"name": "waits for the device", "value": value, "unit": "a step"}]


def rates(work):
  """Returns benchmarks: examples per second of jobs, and where their time went."""
  found = []
  for name in RATES:
    try:
      summary = read_summary(work, os.path.join(name, "summary.json"))
    except (OSError, ValueError):
      continue
    found.append({"name": "training, " + name, "value": summary["examples_per_second"],
                  "unit": "examples/s", "seconds": summary["time"]})
  return found
