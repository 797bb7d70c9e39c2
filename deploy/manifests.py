"""Checks of manifests and batch files against the schemas of what reads them.

Objects of Kubernetes are checked by the package kubernetes-validate, those of JobSet and Kubeflow
Trainer by the models of kubeflow-trainer-api. PYTORCHJOB has the fields of PyTorchJob, for which
there is no package.
"""
import re

import kubeflow_trainer_api.models as models
import kubernetes_validate
import pydantic
import yaml

KUBERNETES = "1.31"

# Of the custom resource definition kubeflow.org_pytorchjobs.yaml of training-operator 1.9: the type
# of each field; a set has the values; a name that ends in "!" is required.
PYTORCHJOB = {
    "apiVersion!": {"kubeflow.org/v1"},
    "kind!": {"PyTorchJob"},
    "metadata!": dict,
    "spec!": {
        "nprocPerNode": str,
        "elasticPolicy": dict,
        "runPolicy": {
            "activeDeadlineSeconds": int,
            "backoffLimit": int,
            "cleanPodPolicy": {"All", "Running", "None"},
            "managedBy": str,
            "schedulingPolicy": dict,
            "suspend": bool,
            "ttlSecondsAfterFinished": int,
        },
        "pytorchReplicaSpecs!": {
            role: {
                "replicas!": int,
                "restartPolicy!": {"Always", "OnFailure", "Never", "ExitCode"},
                "template!": dict,
            } for role in ("Master!", "Worker")
        },
    },
}
# Fields of enumerations, which the models hold as text: of jobset.x-k8s.io_jobsets.yaml.
JOBSET_ACTIONS = {"FailJobSet", "RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts", "RestartJob",
                  "RestartJobAndIgnoreMaxRestarts"}
JOBSET_STRATEGIES = {"Recreate", "BlockingRecreate", "InPlaceRestart"}
RULE_NAME = r"[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"

MODELS = {
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): models.JobsetV1alpha2JobSet,
    ("trainer.kubeflow.org/v1alpha1", "TrainJob"): models.TrainerV1alpha1TrainJob,
    ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"): models.TrainerV1alpha1TrainingRuntime,
}

# The endpoint of a pod: the sink that arguments configure, and its default port, which is that of
# the first rank of each pod.
SINK = 'run.sink=[{prometheus {address: "0.0.0.0" port_by_local_rank: true} ranks: ALL}]'
PORT = 9464

# Options of sbatch that the batch file may have, with the form of their values; None: no value.
SBATCH_OPTIONS = {
    "job-name": r"\S+",
    "nodes": r"\d+(-\d+)?",
    "ntasks": r"\d+",
    "ntasks-per-node": r"\d+",
    "cpus-per-task": r"\d+",
    "mem": r"\d+[KMGT]?",
    "partition": r"\S+",
    "time": r"(\d+-)?\d+(:\d\d(:\d\d)?)?",
    "signal": r"([RB]:)?(TERM|INT|HUP|USR1|USR2|XCPU|\d+)(@\d+)?",
    "requeue": None,
    "no-requeue": None,
    "open-mode": r"append|truncate",
    "output": r"\S+",
    "error": r"\S+",
}


class ManifestError(Exception):
  """A file says something that its reader refuses or ignores."""


def read_exit_codes(path):
  """Returns the codes of docs/exit_codes.md after which a job is not started again, sorted.

  Fails if a code of the table of codes has no advice, or advice is about another code.
  """
  codes, gives_up, again = set(), set(), set()
  with open(path, encoding="utf-8") as page:
    for line in page:
      row = re.match(r"\| ([\d, ]+) \| (.*) \|$", line)
      if not row:
        continue
      numbers = {int(number) for number in row.group(1).split(",")}
      if row.group(2).startswith("yes"):
        again |= numbers
      elif row.group(2).startswith(("no", "after the cause")):
        gives_up |= numbers
      else:
        codes |= numbers
  if codes != gives_up | again | {0} or again != {75, 76}:
    raise ManifestError("%s: codes %s; start again %s; give up %s" % (path, codes, again, gives_up))
  return sorted(gives_up)


def load(path):
  with open(path, encoding="utf-8") as text:
    return list(yaml.safe_load_all(text))


def field_paths(value, path=()):
  """Returns the paths of all fields below `value` whose names a schema decides."""
  free = ("labels", "matchLabels", "selector", "requests", "limits")
  paths = []
  if isinstance(value, dict):
    for name, field in value.items():
      if not path or path[-1] not in free:
        paths.append(path + (name,))
      paths += field_paths(field, path + (name,))
  elif isinstance(value, list):
    for index, field in enumerate(value):
      paths += field_paths(field, path + (index,))
  return paths


def check(document):
  """Raises ManifestError unless the reader of this object knows and accepts each of its fields."""
  kind = (document.get("apiVersion"), document.get("kind"))
  if None in kind:
    raise ManifestError("an object has no apiVersion or no kind; it has %s" % sorted(document))
  check_metadata(document)
  if kind in MODELS:
    check_model(document, MODELS[kind])
  elif kind == ("kubeflow.org/v1", "PyTorchJob"):
    check_fields(document, PYTORCHJOB, "PyTorchJob")
    for replicas in document["spec"]["pytorchReplicaSpecs"].values():
      check_pod(replicas["template"])
  elif kind[0] in ("v1", "apps/v1", "batch/v1"):
    validate(document)
  else:
    raise ManifestError("apiVersion and kind %s of %s are unknown" % (kind, sorted(document)))


def validate(document):
  """Checks an object by its schema, which knows no other fields."""
  try:
    kubernetes_validate.validate(document, KUBERNETES, strict=True)
  except (kubernetes_validate.ValidationError, kubernetes_validate.SchemaNotFoundError,
          kubernetes_validate.InvalidSchemaError) as error:
    path = ".".join(str(part) for part in getattr(error, "path", None) or ())
    raise ManifestError("%s: %s: %s" % (document["kind"], path, error)) from error


def check_metadata(document):
  metadata = document.get("metadata") or {}
  if not metadata.get("name") or not document.get("spec"):
    raise ManifestError("%s has no name or no spec" % document["kind"])
  validate({"apiVersion": "v1", "kind": "Service", "metadata": metadata})


def check_pod(template):
  """Checks the template of a pod as that of a Job."""
  validate({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "pod"},
                    "spec": {"template": template}})
  if not template.get("spec", {}).get("containers"):
    raise ManifestError("a pod has no containers")


def check_model(document, model):
  try:
    known = model.from_dict(document).to_dict()
  except (pydantic.ValidationError, ValueError, AttributeError) as error:
    raise ManifestError("%s: %s" % (document["kind"], error)) from error
  # A model drops fields that it does not know.
  check_equal(known, document, document["kind"])
  jobset = document["spec"]
  if document["kind"] == "TrainingRuntime":
    jobset = document["spec"]["template"]["spec"]
  if document["kind"] != "TrainJob":
    check_jobset(jobset)


def check_equal(known, written, where):
  if isinstance(written, dict) and isinstance(known, dict):
    for name, value in written.items():
      if name not in known:
        raise ManifestError("%s has no field %s" % (where, name))
      check_equal(known[name], value, "%s.%s" % (where, name))
  elif isinstance(written, list) and isinstance(known, list) and len(written) == len(known):
    for index, value in enumerate(written):
      check_equal(known[index], value, "%s[%d]" % (where, index))
  elif known != written:
    raise ManifestError("%s is %r, and is read as %r" % (where, written, known))


def check_jobset(spec):
  """Checks what the definition of JobSet says and its model does not."""
  policy = spec["failurePolicy"]
  if policy.get("restartStrategy", "Recreate") not in JOBSET_STRATEGIES:
    raise ManifestError("restartStrategy %s" % policy["restartStrategy"])
  for rule in policy["rules"]:
    if rule["action"] not in JOBSET_ACTIONS or not re.fullmatch(RULE_NAME, rule["name"]):
      raise ManifestError("rule %s, action %s" % (rule["name"], rule["action"]))
  for job in spec["replicatedJobs"]:
    template = job["template"]
    validate({"apiVersion": "batch/v1", "kind": "Job",
                      "metadata": dict(template.get("metadata", {}), name=job["name"]),
                      "spec": template["spec"]})


def check_fields(value, expected, where):
  """Checks a value against a description such as PYTORCHJOB."""
  if isinstance(expected, set):
    if value not in expected:
      raise ManifestError("%s is %r; expected is one of %s" % (where, value, sorted(expected)))
  elif isinstance(expected, type):
    if not isinstance(value, expected) or (expected is int and isinstance(value, bool)):
      raise ManifestError("%s is %r; expected is %s" % (where, value, expected.__name__))
  else:
    fields = {name.rstrip("!"): field for name, field in expected.items()}
    unknown = set(value) - set(fields)
    missing = {name[:-1] for name in expected if name.endswith("!")} - set(value)
    if unknown or missing:
      raise ManifestError("%s: unknown are %s, missing are %s" %
                          (where, sorted(unknown), sorted(missing)))
    for name, field in value.items():
      check_fields(field, fields[name], "%s.%s" % (where, name))


def check_probes(container, args):
  """Checks that `args` configure the endpoint that the probes of a container ask."""
  if "--set %s" % SINK not in " ".join(args):
    raise ManifestError("%s has no --set %s" % (args, SINK))
  if PORT not in [port.get("containerPort") for port in container.get("ports", [])]:
    raise ManifestError("container %s does not name port %d" % (container["name"], PORT))
  for probe in ("startupProbe", "livenessProbe"):
    asked = container.get(probe, {}).get("httpGet")
    if asked != {"path": "/healthz", "port": PORT}:
      raise ManifestError("%s of container %s asks %s" % (probe, container["name"], asked))


def check_sbatch(script):
  """Returns {option: value} of the #SBATCH lines.

  sbatch ignores such lines after the first command.
  """
  options, commands = {}, False
  for number, line in enumerate(script.splitlines(), 1):
    if not line.startswith("#SBATCH"):
      commands = commands or bool(line.strip() and not line.startswith("#"))
      continue
    match = re.fullmatch(r"#SBATCH --([a-z-]+)(?:=(\S+))?", line)
    if not match or match.group(1) not in SBATCH_OPTIONS or commands:
      raise ManifestError("line %d: %s" % (number, line))
    form = SBATCH_OPTIONS[match.group(1)]
    value = match.group(2)
    if (form is None) != (value is None) or (form and not re.fullmatch(form, value)):
      raise ManifestError("line %d: %s: the value must be %s" % (number, line, form or "omitted"))
    options[match.group(1)] = value
  return options
