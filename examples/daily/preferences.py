#!/usr/bin/env python3
"""Writes steps of time of a stream of clicks whose users change their minds, and measures how a model ages on it.

    examples/daily/preferences.py generate                     # 20 steps of 50,000 rows to out/preferences/data
    examples/daily/preferences.py age --millrace millrace      # trains and evaluates; out/preferences/age.{json,svg}

The stream has the shape of the one that MLPerf's DLRMv3 trains on: users whose preferences drift from step to step,
items that open over time and are read most when they are new, and with each row the items that its user clicked last.
The chance of a click is known, and so is the best normalized entropy that a model could have: best.json has it, and the
best AUC, for each step. Rows are a function of --seed, step and number.

`age` trains on the steps as windows, keeps a checkpoint of each, and evaluates on each of the last steps the models that
were trained up to the step before, and up to 1 and 5 steps earlier: of the age 0, 1 and 5 windows. It prints the mean AUC
and NE of each age, beside the best possible. --broker HOST:PORT writes the rows to a topic of one partition, too, and
trains on it (needs confluent-kafka): the last checkpoint has the digest of that of the files.
"""
import argparse
import json
import math
import os
import random
import subprocess
import sys

SIZE = 8  # of a preference
COLUMNS = "click,user,item,genre,recent,id"

JOB = """
train {
  train_data { batch_size: 500 %(csv)s %(windows)s }
  %(eval_data)s
  feature { name: "click" kind: LABEL }
  feature { name: "id" kind: EXAMPLE_ID }
  feature { name: "user" table: "user" }
  feature { name: "item" table: "item" }
  feature { name: "genre" table: "genre" }
  feature { name: "recent" table: "item" pooling: MEAN }
  table { name: "user" dim: 16 }
  table { name: "item" dim: 16 }
  table { name: "genre" dim: 16 }
  model { name: "deepfm" [millrace.deepfm] { hidden: [64, 32] } }
  optimizer { learning_rate: 0.001 adam {} }
  sparse_optimizer { learning_rate: 0.05 rowwise_adagrad {} }
  metric: "auc" metric: "ne"
}
run {
  threads: 1
  report { when { every_windows: 1 } }
  checkpoint { when { every_windows: 1 } keep_last: 100 }
}
"""


CSV = 'format: CSV csv { list_delimiter: " " column: ["click", "user", "item", "genre", "recent", "id"] }'


def unit(numbers):
  norm = math.sqrt(sum(x * x for x in numbers))
  return [x / norm for x in numbers]


class Stream:
  """The users and items of a stream, moved from step to step."""

  def __init__(self, options):
    self.options = options
    self.chance = random.Random(options.seed)
    self.users = [unit([self.chance.gauss(0, 1) for _ in range(SIZE)]) for _ in range(options.users)]
    self.recent = [[] for _ in range(options.users)]
    self.genres = [unit([self.chance.gauss(0, 1) for _ in range(SIZE)]) for _ in range(64)]
    self.items = {}

  def item(self, number):
    """Returns the genre, the vector and the appeal of an item."""
    if number not in self.items:
      chance = random.Random(self.options.seed * 1000003 + number)
      genre = chance.randrange(len(self.genres))
      vector = unit([g + chance.gauss(0, 0.25) for g in self.genres[genre]])
      self.items[number] = genre, vector, chance.gauss(0, 0.5)
    return self.items[number]

  def step(self, step):
    """Yields (line, chance of the click, click) of the rows of a step."""
    chance, options = self.chance, self.options
    per_step = options.items // options.steps
    for row in range(options.rows):
      user = min(int(chance.paretovariate(0.7)) - 1, 10 * options.users) % options.users
      # The age of an item in steps is exponential: most are new.
      opened = max(0, step - int(chance.expovariate(0.7)))
      number = opened * per_step + min(int(chance.paretovariate(0.6)) - 1, 10 * per_step) % per_step
      genre, vector, appeal = self.item(number)
      score = 4 * sum(a * b for a, b in zip(self.users[user], vector)) + appeal - 1.5
      best = 1 / (1 + math.exp(-score))
      click = int(chance.random() < best)
      recent = self.recent[user]
      yield "%d,%d,%d,%d,%s,%d" % (click, user, number, genre, " ".join(map(str, recent)),
                                   step * options.rows + row), best, click
      if click:
        recent.append(number)
        del recent[:-10]
    keep, move = math.sqrt(1 - options.drift), math.sqrt(options.drift)
    for user, vector in enumerate(self.users):
      self.users[user] = unit([keep * x + move * n for x, n in
                               zip(vector, unit([chance.gauss(0, 1) for _ in range(SIZE)]))])


def best_of(rows):
  """Returns NE and AUC of the chances themselves."""
  rate = sum(click for _, click in rows) / len(rows)
  base = -rate * math.log(rate) - (1 - rate) * math.log(1 - rate)
  loss = -sum(math.log(best if click else 1 - best) for best, click in rows) / len(rows)
  ranks = positives = 0
  for rank, (_, click) in enumerate(sorted(rows)):
    ranks += rank * click
    positives += click
  negatives = len(rows) - positives
  return {"ne": loss / base, "auc": (ranks - positives * (positives - 1) / 2) / (positives * negatives)}


def data_file(options, step):
  return os.path.join(options.directory, "data", "step-%02d.csv" % step)


def generate(options):
  os.makedirs(os.path.join(options.directory, "data"), exist_ok=True)
  stream, best = Stream(options), []
  for step in range(options.steps):
    rows = list(stream.step(step))
    with open(data_file(options, step) + ".tmp", "w", encoding="utf-8") as file:
      file.writelines(line + "\n" for line, _, _ in rows)
    os.replace(data_file(options, step) + ".tmp", data_file(options, step))
    best.append(best_of([(chance, click) for _, chance, click in rows]))
  with open(os.path.join(options.directory, "best.json"), "w", encoding="utf-8") as file:
    json.dump(best, file, indent=1)


def produce(options):
  """Writes the rows of the files to a topic, and returns its name."""
  from confluent_kafka import Producer  # pylint: disable=import-outside-toplevel
  from confluent_kafka.admin import AdminClient, NewTopic  # pylint: disable=import-outside-toplevel
  topic = "preferences-%d" % os.getpid()
  admin = AdminClient({"bootstrap.servers": options.broker})
  for future in admin.create_topics([NewTopic(topic, 1, 1)], request_timeout=30).values():
    future.result(60)
  producer = Producer({"bootstrap.servers": options.broker, "enable.idempotence": True, "linger.ms": 20})
  for step in range(options.steps):
    with open(data_file(options, step), encoding="utf-8") as lines:
      for line in lines:
        while True:
          try:
            producer.produce(topic, line, partition=0)
            break
          except BufferError:
            producer.poll(0.1)
  if producer.flush(300) > 0:
    raise RuntimeError("records were not written")
  return topic


def run(options, *arguments):
  try:
    done = subprocess.run([options.millrace, *arguments], capture_output=True, text=True, check=False)
  except OSError as error:
    sys.exit("%s: %s" % (options.millrace, error.strerror))
  if done.returncode != 0:
    sys.exit("millrace %s: %s" % (arguments[0], done.stderr[-2000:]))
  return done.stdout


def train(options, windows, name):
  """Trains on the windows, and returns the output directory and the digest of the last checkpoint."""
  job = os.path.join(options.directory, name + ".textproto")
  output = os.path.join(options.directory, name)
  with open(job, "w", encoding="utf-8") as file:
    file.write(JOB % {"csv": CSV, "windows": windows, "eval_data": ""})
  run(options, "train", job, "--output_dir", output)
  return output, json.loads(run(options, "checkpoint", "show", output, "--json"))["content_digest"]


def evaluate(options, checkpoint, step):
  """Returns the metrics of a checkpoint on a step."""
  job = os.path.join(options.directory, "evaluate.textproto")
  summary = os.path.join(options.directory, "evaluation.json")
  later = 'eval_data { name: "later" data { batch_size: 5000 %s path: "%s" } }' % (CSV, data_file(options, step))
  with open(job, "w", encoding="utf-8") as file:
    file.write(JOB % {"csv": CSV, "windows": 'path: "%s"' % data_file(options, step), "eval_data": later})
  run(options, "evaluate", job, "--checkpoint", checkpoint, "--summary", summary, "--overwrite")
  with open(summary, encoding="utf-8") as file:
    metrics = json.load(file)["eval"]
  return {name: metrics["later/" + name] for name in ("auc", "ne")}


def picture(ages, best):
  """Returns an SVG of AUC and NE over the age."""
  parts = ['<svg xmlns="http://www.w3.org/2000/svg" width="700" height="240" font-family="sans-serif" font-size="12">']
  for left, metric in ((60, "auc"), (400, "ne")):
    values = [one[metric] for one in ages.values()] + [best[metric]]
    low, high = min(values), max(values)

    def at(age, value, left=left, low=low, high=high):
      return left + 200 * age / max(ages), 200 - 160 * (value - low) / ((high - low) or 1)

    line = " ".join("%.1f,%.1f" % at(age, one[metric]) for age, one in ages.items())
    parts.append('<polyline points="%s" fill="none" stroke="#1f5fa8" stroke-width="2"/>' % line)
    for age, one in ages.items():
      x, y = at(age, one[metric])
      parts.append('<circle cx="%.1f" cy="%.1f" r="3" fill="#1f5fa8"/><text x="%.1f" y="%.1f">%.4f</text>'
                   '<text x="%.1f" y="218" text-anchor="middle">%d</text>' % (x, y, x + 4, y - 6, one[metric], x, age))
    y = at(0, best[metric])[1]
    parts.append('<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#888" stroke-dasharray="4"/>'
                 '<text x="%d" y="%.1f">best possible %.4f</text>' % (left, left + 200, y, y, left + 60, y - 6, best[metric]))
    parts.append('<text x="%d" y="20">%s of later data, by the age of the model in windows</text>' % (left - 30, metric.upper()))
  return "\n".join(parts + ["</svg>\n"])


def age(options):
  files = 'windows { list {} } path: "%s"' % os.path.join(options.directory, "data", "step-*.csv")
  output, digest = train(options, files, "files")
  result = {"digest": digest}
  if options.broker:
    topic = ('windows { kafka { brokers: "%s" topic: "%s" records: %d } idle_seconds: 10 }' %
             (options.broker, produce(options), options.rows))
    result["digest_of_the_topic"] = train(options, topic, "topic")[1]
  with open(os.path.join(options.directory, "best.json"), encoding="utf-8") as file:
    best = json.load(file)
  with open(os.path.join(output, "windows.jsonl"), encoding="utf-8") as lines:
    steps = [json.loads(line)["step"] for line in lines]  # of training, after each window
  ages = {}
  # All ages are measured on the same steps of the stream: the last ones.
  measured = range(max(options.ages) + 2, options.steps)
  for windows in options.ages:
    values = [evaluate(options, os.path.join(output, "checkpoints", "step-%08d" % steps[step - 1 - windows]), step)
              for step in measured]
    ages[windows] = {name: sum(value[name] for value in values) / len(values) for name in ("auc", "ne")}
  mean = {name: sum(best[step][name] for step in measured) / len(measured) for name in ("auc", "ne")}
  print("| age in windows | AUC | NE |\n|---|---|---|")
  for windows, one in ages.items():
    print("| %d | %.4f | %.4f |" % (windows, one["auc"], one["ne"]))
  print("| best possible | %.4f | %.4f |" % (mean["auc"], mean["ne"]))
  result.update({"ages": ages, "best": mean})
  for name in ("digest", "digest_of_the_topic"):
    if name in result:
      print("%s: %s" % (name, result[name]))
  with open(os.path.join(options.directory, "age.json"), "w", encoding="utf-8") as file:
    json.dump(result, file, indent=1)
  with open(os.path.join(options.directory, "age.svg"), "w", encoding="utf-8") as file:
    file.write(picture(ages, mean))
  if result.get("digest_of_the_topic", digest) != digest:
    sys.exit("the topic gave another model than the files")


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("command", choices=("generate", "age"))
  parser.add_argument("--directory", default="out/preferences")
  parser.add_argument("--users", type=int, default=20000, help="[20000]")
  parser.add_argument("--items", type=int, default=1000000, help="[1000000]")
  parser.add_argument("--steps", type=int, default=20, help="of time [20]")
  parser.add_argument("--rows", type=int, default=50000, help="of each step [50000]")
  parser.add_argument("--drift", type=float, default=0.05, help="of a preference in a step, from 0 to 1 [0.05]")
  parser.add_argument("--seed", type=int, default=1, help="[1]")
  parser.add_argument("--ages", type=int, nargs="+", default=[0, 1, 5], help="of models, in windows [0 1 5]")
  parser.add_argument("--millrace", default="millrace", help="the program [millrace]")
  parser.add_argument("--broker", metavar="HOST:PORT", default="", help="trains on a topic, too")
  options = parser.parse_args()
  for name in ("users", "items", "steps", "rows"):
    if getattr(options, name) < 1:
      parser.error("--%s must be at least 1" % name)
  if not 0 <= options.drift <= 1:
    parser.error("--drift must be from 0 to 1")
  if options.items < options.steps:
    parser.error("--items must be at least --steps")
  if options.command == "age" and (min(options.ages) < 0 or options.steps < max(options.ages) + 3):
    parser.error("--steps must be at least 3 more than the greatest age")
  if options.command == "age" and not os.path.exists(data_file(options, options.steps - 1)):
    parser.error("%s is missing: generate the data first" % data_file(options, options.steps - 1))
  (generate if options.command == "generate" else age)(options)


if __name__ == "__main__":
  main()
