#!/usr/bin/env python3
"""Checks the files of deploy/ with the schemas of what reads them, and runs their shell scripts.

  deploy_test.py    MILLRACE_TEST_PYTHON runs it: it needs packages of ./bazelw test_setup
"""
import copy
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import manifests

FOLDER = os.path.dirname(os.path.abspath(__file__))
EXIT_CODES = os.path.join(FOLDER, "..", "docs", "exit_codes.md")
GIVES_UP = manifests.read_exit_codes(EXIT_CODES)
STARTS_AGAIN = {75, 76}


def load(name):
  return manifests.load(os.path.join(FOLDER, name))


def at(document, *path):
  for part in path:
    document = document[part]
  return document


class ManifestTest(unittest.TestCase):

  def assert_refused(self, document, pattern):
    with self.assertRaisesRegex(manifests.ManifestError, pattern):
      manifests.check(document)

  def test_all_manifests(self):
    kinds = set()
    for name in sorted(os.listdir(FOLDER)):
      if name.endswith(".yaml"):
        for document in load(name):
          manifests.check(document)
          kinds.add(document["kind"])
    self.assertEqual(kinds, {"Service", "Job", "JobSet", "TrainingRuntime", "TrainJob",
                             "PyTorchJob", "Deployment"})

  def test_wrong_fields_are_refused(self):
    """Each field of each manifest, misspelt, is an error."""
    for name in ("kubernetes_job.yaml", "jobset.yaml", "trainjob.yaml", "pytorchjob.yaml",
                 "serving.yaml"):
      for document in load(name):
        for path in manifests.field_paths(document):
          wrong = copy.deepcopy(document)
          parent = at(wrong, *path[:-1])
          parent[path[-1] + "x"] = parent.pop(path[-1])
          with self.assertRaises(manifests.ManifestError, msg="%s: %s" % (name, path)):
            manifests.check(wrong)

  def test_wrong_values_are_refused(self):
    service, job = load("kubernetes_job.yaml")
    job["spec"]["completions"] = "four"
    self.assert_refused(job, "completions")
    service["apiVersion"] = "v2"
    self.assert_refused(service, "Service")
    jobset, = load("jobset.yaml")
    jobset["spec"]["failurePolicy"]["rules"][0]["action"] = "GiveUp"
    self.assert_refused(jobset, "GiveUp")
    jobset, = load("jobset.yaml")
    pod = at(jobset, "spec", "replicatedJobs", 0, "template", "spec", "template", "spec")
    pod["containers"][0]["env"][0]["value"] = 4
    self.assert_refused(jobset, "value")
    pytorchjob, = load("pytorchjob.yaml")
    pytorchjob["spec"]["pytorchReplicaSpecs"]["Master"]["restartPolicy"] = "Sometimes"
    self.assert_refused(pytorchjob, "restartPolicy")
    _, trainjob = load("trainjob.yaml")
    trainjob["spec"]["trainer"]["numNodes"] = "4"
    self.assert_refused(trainjob, "numNodes")


class AgreementTest(unittest.TestCase):
  """What parts of a manifest, and manifests and Millrace, say alike."""

  def test_policies_give_up_after_the_codes_of_the_page(self):
    self.assertEqual(set(GIVES_UP), {64, 65, 66, 70, 71, 73, 74, 79, 80, 81})
    job = load("kubernetes_job.yaml")[1]["spec"]
    jobset = at(load("jobset.yaml")[0], "spec", "replicatedJobs", 0, "template", "spec")
    runtime = at(load("trainjob.yaml")[0], "spec", "template", "spec", "replicatedJobs", 0,
                 "template", "spec")
    for spec in (job, jobset, runtime):
      rule = spec["podFailurePolicy"]["rules"][0]
      self.assertEqual(rule["action"], "FailJob")
      self.assertEqual(rule["onExitCodes"]["operator"], "In")
      self.assertEqual(rule["onExitCodes"]["values"], GIVES_UP)
      names = [container["name"] for container in spec["template"]["spec"]["containers"]]
      self.assertEqual(names, [rule["onExitCodes"]["containerName"]])
      self.assertEqual(spec["template"]["spec"]["restartPolicy"], "Never")

  def test_codes_that_comments_name_are_codes_of_the_page(self):
    known = set(GIVES_UP) | STARTS_AGAIN
    for name in os.listdir(FOLDER):
      if name.endswith((".yaml", ".sbatch")) and name != "serving.yaml":  # serves, and has no runs
        with open(os.path.join(FOLDER, name), encoding="utf-8") as text:
          codes = {int(code) for code in re.findall(r"(?<![\w.])([678]\d)(?![\w:.])", text.read())}
        self.assertLessEqual(codes, known, name)
        self.assertLessEqual(STARTS_AGAIN, codes, "%s says what is started again" % name)

  def test_ranks_find_one_another(self):
    service, job = load("kubernetes_job.yaml")
    jobset, = load("jobset.yaml")
    jobs = jobset["spec"]["replicatedJobs"][0]
    name = jobset["metadata"]["name"]
    masters = {"%s-0.%s" % (job["metadata"]["name"], service["metadata"]["name"]): job["spec"],
               "%s-%s-0-0.%s" % (name, jobs["name"], name): jobs["template"]["spec"]}
    for master, spec in masters.items():
      pod = spec["template"]["spec"]
      values = {entry["name"]: entry.get("value") for entry in pod["containers"][0]["env"]}
      self.assertEqual(values["MASTER_ADDR"], master)
      self.assertEqual(int(values["WORLD_SIZE"]), spec["completions"])
      self.assertEqual(spec["completions"], spec["parallelism"])
    self.assertEqual(job["spec"]["template"]["spec"]["subdomain"], service["metadata"]["name"])
    self.assertEqual(service["spec"]["selector"],
                     {"batch.kubernetes.io/job-name": job["metadata"]["name"]})

  def test_probes_ask_the_endpoint_that_the_arguments_configure(self):
    job = at(load("kubernetes_job.yaml")[1], "spec", "template")
    jobset = at(load("jobset.yaml")[0], "spec", "replicatedJobs", 0, "template", "spec", "template")
    runtime, trainjob = load("trainjob.yaml")
    runtime = at(runtime, "spec", "template", "spec", "replicatedJobs", 0, "template", "spec",
                 "template")
    pods = [job, jobset, at(load("pytorchjob.yaml")[0], "spec", "pytorchReplicaSpecs", "Master",
                            "template")]
    for pod in pods:
      container = pod["spec"]["containers"][0]
      manifests.check_probes(container, container["args"])
    container = runtime["spec"]["containers"][0]
    manifests.check_probes(container, trainjob["spec"]["trainer"]["args"])

    for change in (lambda c: c.pop("startupProbe"), lambda c: c.pop("livenessProbe"),
                   lambda c: c["ports"].pop(), lambda c: c["args"].pop(),
                   lambda c: c["livenessProbe"]["httpGet"].update(path="/metrics"),
                   lambda c: c["startupProbe"]["httpGet"].update(port=9465)):
      container = copy.deepcopy(job["spec"]["containers"][0])
      change(container)
      with self.assertRaises(manifests.ManifestError):
        manifests.check_probes(container, container["args"])

  def test_servers_are_asked_where_they_listen(self):
    service, deployment = load("serving.yaml")
    template = deployment["spec"]["template"]
    labels = template["metadata"]["labels"]
    self.assertEqual(service["spec"]["selector"], labels)
    self.assertEqual(deployment["spec"]["selector"]["matchLabels"], labels)
    container = template["spec"]["containers"][0]
    flags = dict(argument[2:].split("=") for argument in container["args"][2:])
    port = int(flags["port"])
    self.assertEqual((container["args"][0], flags["address"]), ("serve", "0.0.0.0"))
    self.assertEqual(service["spec"]["ports"][0]["targetPort"], port)
    self.assertEqual(container["ports"][0]["containerPort"], port)
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
      self.assertEqual(container[probe]["httpGet"]["port"], port)
      self.assertIn(container[probe]["httpGet"]["path"], ("/v2/health/live", "/v2/health/ready"))
    stops = int(container["lifecycle"]["preStop"]["exec"]["command"][1]) + int(flags["drain_seconds"])
    self.assertLess(stops, template["spec"]["terminationGracePeriodSeconds"])

  def test_the_trainjob_runs_on_its_runtime(self):
    runtime, trainjob = load("trainjob.yaml")
    reference = trainjob["spec"]["runtimeRef"]
    self.assertEqual(reference["name"], runtime["metadata"]["name"])
    self.assertEqual(reference["kind"], runtime["kind"])
    self.assertEqual(reference["apiGroup"], runtime["apiVersion"].split("/")[0])
    self.assertEqual(trainjob["spec"]["trainer"]["args"][:3], ["launch", "--", "train"])


class Scripts(unittest.TestCase):
  """Runs shell scripts with programs that a test writes in place of those of a cluster."""

  def setUp(self):
    self.folder = tempfile.TemporaryDirectory()
    self.addCleanup(self.folder.cleanup)
    self.environment = {"PATH": "%s:/usr/bin:/bin" % self.folder.name, "OUT": self.folder.name}

  def program(self, name, script):
    path = os.path.join(self.folder.name, name)
    with open(path, "w", encoding="utf-8") as program:
      program.write("#!/bin/bash\n" + script)
    os.chmod(path, 0o755)

  def written(self, name):
    try:
      with open(os.path.join(self.folder.name, name), encoding="utf-8") as text:
        return text.read()
    except FileNotFoundError:
      return ""

  def wait_for(self, name):
    deadline = time.monotonic() + 30
    while not self.written(name):
      self.assertLess(time.monotonic(), deadline, "%s was not written" % name)
      time.sleep(0.01)


class PyTorchJobScriptTest(Scripts):

  def command(self):
    replicas = load("pytorchjob.yaml")[0]["spec"]["pytorchReplicaSpecs"]
    self.assertEqual(replicas["Master"]["template"], replicas["Worker"]["template"])
    container = replicas["Master"]["template"]["spec"]["containers"][0]
    return container["command"] + container["args"]

  def test_codes(self):
    for code in [0, 137] + GIVES_UP + sorted(STARTS_AGAIN):
      self.program("millrace", 'echo "$*" > "$OUT/arguments"; exit %d' % code)
      got = subprocess.run(self.command(), env=self.environment, timeout=30).returncode
      self.assertEqual(got, 143 if code in STARTS_AGAIN else code)
    self.assertEqual(self.written("arguments"),
                     "train job.textproto --set run.distributed.rendezvous_timeout_seconds=900 "
                     "--set %s\n" % manifests.SINK)

  def test_sigterm_reaches_the_rank_which_saves(self):
    self.program("millrace", """
      trap 'sleep 0.3; echo saved > "$OUT/saved"; exit 75' TERM
      echo ready > "$OUT/ready"
      while :; do sleep 0.01; done""")
    shell = subprocess.Popen(self.command(), env=self.environment)
    self.wait_for("ready")
    shell.send_signal(signal.SIGTERM)
    self.assertEqual(shell.wait(timeout=30), 143)
    self.assertEqual(self.written("saved"), "saved\n")


class SlurmTest(Scripts):
  script = os.path.join(FOLDER, "train.sbatch")

  def setUp(self):
    super().setUp()
    self.environment.update(SLURM_JOB_ID="123456", SLURM_JOB_NODELIST="n[1-2]",
                            SLURM_TASKS_PER_NODE="2(x2)")
    self.program("scontrol", """
      case $1 in
        show) printf 'n1\\nn2\\n' ;;
        requeue) echo "$2" > "$OUT/requeued" ;;
      esac""")
    # Two tasks; the highest code is srun's.
    self.program("srun", """
      [[ $1 == --kill-on-bad-exit=0 ]] || exit 99
      shift; highest=0
      for SLURM_PROCID in 0 1; do
        SLURM_PROCID=$SLURM_PROCID "$@"; code=$?
        ((code > highest)) && highest=$code
      done
      exit $highest""")

  def run_script(self, codes, **variables):
    self.program("millrace", 'echo "$* $MASTER_ADDR $MASTER_PORT $LOCAL_WORLD_SIZE" > "$OUT/arguments"; '
                 'codes=(%d %d); exit ${codes[$SLURM_PROCID]}' % codes)
    run = subprocess.run(["bash", self.script, "job.textproto"], timeout=30, cwd=self.folder.name,
                         env={**self.environment, **variables}, stderr=subprocess.PIPE)
    requeued = self.written("requeued")
    if requeued:
      os.remove(os.path.join(self.folder.name, "requeued"))
    return run.returncode, requeued == "123456\n", run.stderr.decode()

  def test_it_is_a_script(self):
    subprocess.run(["bash", "-n", self.script], check=True)

  def test_options(self):
    with open(self.script, encoding="utf-8") as text:
      options = manifests.check_sbatch(text.read())
    self.assertIn("requeue", options)
    self.assertRegex(options["signal"], r"^USR1@\d+$")

  def test_wrong_options_are_refused(self):
    with open(self.script, encoding="utf-8") as text:
      script = text.read()
    for right, wrong in (("--requeue", "--requeu"), ("--requeue", "--requeue=yes"),
                         ("--nodes=2", "--nodes=two"), ("--nodes=2", "--nodes"),
                         ("USR1@300", "USR3@300"), ("24:00:00", "24h"),
                         ("--open-mode=append", "--open-mode=add"),
                         ("#SBATCH --requeue", "date\n#SBATCH --requeue")):
      self.assertIn(right, script)
      with self.assertRaises(manifests.ManifestError, msg=wrong):
        manifests.check_sbatch(script.replace(right, wrong))

  def test_what_is_started_again(self):
    for codes in ((75, 75), (76, 76), (137, 76), (76, 139)):
      self.assertEqual(self.run_script(codes), (0, True, ""), codes)
    self.assertRegex(self.written("arguments"), r"^train job.textproto n1 2\d{4} 2$")

  def test_what_gives_up(self):
    self.assertEqual(self.run_script((0, 0)), (0, False, ""))
    for code in GIVES_UP:
      self.assertEqual(self.run_script((code, 76)), (code, False, ""))
      self.assertEqual(self.run_script((76, code)), (code, False, ""))

  def write_job(self, text):
    with open(os.path.join(self.folder.name, "job.textproto"), "w", encoding="utf-8") as job:
      job.write(text)

  def make_checkpoint(self, output_dir, name):
    os.makedirs(os.path.join(self.folder.name, output_dir, "checkpoints", name))

  def assert_started_again(self, codes, times):
    for _ in range(times):
      self.assertEqual(self.run_script(codes, SLURM_RESTART_COUNT="99"), (0, True, ""))

  def assert_given_up(self, codes):
    code, requeued, error = self.run_script(codes)
    self.assertEqual((code, requeued), (76, False))
    self.assertIn("after 20 failures without a newer checkpoint", error)

  def test_failures_in_a_row_are_limited(self):
    self.write_job('run {\n  output_dir: "model"  # all nodes see it\n}\n')
    self.assert_started_again((75, 76), 20)
    self.make_checkpoint("model", "step-9")
    # A stop with a newer checkpoint sets the count to 0, a failure with one to 1.
    self.assert_started_again((75, 75), 1)
    self.assert_started_again((75, 76), 20)
    self.make_checkpoint("model", "step-10")
    self.assert_started_again((75, 76), 20)
    self.assert_given_up((76, 137))
    # The next job with this number begins at 0.
    self.assert_started_again((75, 76), 1)

  def test_stops_without_a_newer_checkpoint_are_failures(self):
    self.assert_started_again((75, 75), 19)
    self.assert_started_again((76, 75), 1)
    self.assert_given_up((75, 75))

  def test_a_save_that_did_not_finish_is_no_newer_checkpoint(self):
    self.write_job('run { output_dir: "model" }\n')
    self.make_checkpoint("model", "step-00000010")
    self.assert_started_again((76, 76), 20)
    self.make_checkpoint("model", "step-00000011.tmp-0123abcd")
    self.assert_given_up((76, 76))

  def test_the_default_output_directory(self):
    self.write_job("train {}\n")
    self.assert_started_again((76, 76), 20)
    self.make_checkpoint("out", "step-00000010")
    self.assert_started_again((76, 76), 1)

  def test_a_signal_leaves_the_shell_of_a_rank_waiting(self):
    self.program("srun", 'shift; exec "$@"')
    self.program("millrace", """
      trap 'sleep 0.3; echo saved > "$OUT/saved"; exit 75' USR1
      echo $PPID > "$OUT/shell"
      while :; do sleep 0.01; done""")
    script = subprocess.Popen(["bash", self.script, "job.textproto"], env=self.environment,
                              cwd=self.folder.name,
                              start_new_session=True)
    self.wait_for("shell")
    shell = int(self.written("shell"))
    with open("/proc/%d/task/%d/children" % (shell, shell), encoding="utf-8") as children:
      rank = int(children.read())
    for process in (shell, rank):
      os.kill(process, signal.SIGUSR1)
    self.assertEqual(script.wait(timeout=30), 0)
    self.assertEqual(self.written("saved"), "saved\n")
    self.assertEqual(self.written("requeued"), "123456\n")

  def test_without_a_job_it_says_how_to_use_it(self):
    run = subprocess.run(["bash", self.script], env=self.environment, stderr=subprocess.PIPE,
                         timeout=30)
    self.assertEqual(run.returncode, 1)
    self.assertIn(b"usage: sbatch train.sbatch JOB.textproto", run.stderr)


if __name__ == "__main__":
  sys.exit(unittest.main())
