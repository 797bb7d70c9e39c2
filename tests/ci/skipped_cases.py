"""Counts the skipped cases of a test run and decides which of them CI allows.

  skipped_cases.py EVENTS        EVENTS: what bazel's --build_event_json_file wrote

Prints the number of skipped cases and a line for each reason. With CI=true in the environment
it also prints a line `refused TARGET` for each target that passed with skips that are refused, and
exits with 1 if a skip is refused. A skip is refused unless its reason has a form of
tests/environment/skip.h and names a feature that the machine lacks, as far as a probe of this file
finds, or data of users, or what is too large for CI. Packages are no such reason: `./bazelw
test_setup` installs them.
"""
import ctypes
import json
import os
import resource
import shutil
import subprocess
import sys
import urllib.parse
import xml.etree.ElementTree as xml


def may_trace():
  """True if this process may attach to a process of its own."""
  seize = 0x4206
  child = subprocess.Popen(["sleep", "60"])
  try:
    return ctypes.CDLL(None, use_errno=True).ptrace(seize, child.pid, None, None) == 0
  finally:
    child.kill()
    child.wait()


def processor_flags():
  with open("/proc/cpuinfo") as text:
    for line in text:
      if line.startswith("flags"):
        return set(line.split(":", 1)[1].split())
  return set()


def has_ipv6():
  try:
    with open("/proc/net/if_inet6") as text:
      return any(line.startswith("0" * 31 + "1 ") for line in text)
  except OSError:
    return False


def has_cuda_device():
  return os.path.exists("/dev/nvidia0")


def may_change_affinity():
  try:
    os.sched_setaffinity(0, os.sched_getaffinity(0))
    return True
  except OSError:
    return False


def may_mount_tmpfs():
  command = ["unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"]
  try:
    return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0
  except OSError:
    return False


def may_make_hosts():
  """True if tests/hosts/hosts.py may make hosts, as root or as a user."""
  tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
  sys.path.insert(0, os.path.join(tests, "hosts"))
  sys.dont_write_bytecode = True
  import hosts
  return hosts.unshare_command() is not None


# The variables that name data of users, and what `./bazelw test_setup` provides: variables and
# programs.
USER_DATA = {"MILLRACE_DATA"}
# What CI does without: 730 MB for a configuration that no machine of it can run.
LARGE = {"MILLRACE_CUDA_WHEELS"}
INSTALLED = {
    "MILLRACE_CLANG_FORMAT",
    "MILLRACE_MLFLOW",
    "MILLRACE_PROMETHEUS",
    "MILLRACE_S3_SERVER",
    "MILLRACE_TENSORBOARD",
    "MILLRACE_TEST_PYTHON",
    "MILLRACE_TORCHRUN",
    "ip",
    "nft",
}

# Feature by its name in tests/environment/skip.h -> a function that is true if the machine has it.
PROBES = {
    "/dev/full": lambda: os.access("/dev/full", os.W_OK),
    "CUDA device": has_cuda_device,
    "IPv6": has_ipv6,
    "affinities": may_change_affinity,
    "avx2": lambda: {"avx2", "bmi2"} <= processor_flags(),
    "avx512": lambda: {"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= processor_flags(),
    "locked memory": lambda: resource.getrlimit(resource.RLIMIT_MEMLOCK)[0] >= 4096,
    "network namespaces": may_make_hosts,
    "nvcc": lambda: bool(shutil.which("nvcc")) or os.path.exists("/usr/local/cuda/bin/nvcc"),
    "processor flags": lambda: bool(processor_flags()),
    "ptrace": may_trace,
    "root": lambda: os.geteuid() == 0,
    "tmpfs": may_mount_tmpfs,
    "two CPUs": lambda: len(os.sched_getaffinity(0)) > 1,
    "x86-64": lambda: os.uname().machine == "x86_64",
}


def why_refused(reason):
  """Returns "" if CI allows a case to be skipped for this reason."""
  parts = [part.strip() for part in reason.split(":", 2)]
  if len(parts) == 3 and parts[0] == "package":
    return "./bazelw test_setup installs it"
  if len(parts) < 3 or parts[0] not in ("kernel", "hardware", "not provided"):
    return "no reason of tests/environment/skip.h that CI allows"
  kind, feature = parts[:2]
  if kind == "not provided":
    if feature in INSTALLED:
      return "./bazelw test_setup installs it"
    if feature not in USER_DATA | LARGE:
      return "tests/ci/skipped_cases.py knows no variable %s" % feature
    return "%s is set" % feature if os.environ.get(feature) else ""
  if feature not in PROBES:
    return "no probe for %s in tests/ci/skipped_cases.py" % feature
  return "this machine has %s" % feature if PROBES[feature]() else ""


def read_events(path):
  with open(path) as lines:
    return [json.loads(line) for line in lines]


def passed_targets(events):
  return {
      event["id"]["testSummary"]["label"]
      for event in events
      if event.get("testSummary", {}).get("overallStatus") in ("PASSED", "FLAKY")
  }


def result_files(events):
  """Yields (target, path) of the test.xml of each test action."""
  for event in events:
    for output in event.get("testResult", {}).get("testActionOutput", []):
      if output["name"] == "test.xml" and output.get("uri", "").startswith("file://"):
        path = urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path)
        yield event["id"]["testResult"]["label"], path


def reason_of(skipped):
  """The text that the test streamed into GTEST_SKIP(), in one line."""
  lines = (skipped.text or skipped.get("message") or "").strip().split("\n")
  if len(lines) > 1 and ".cc:" in lines[0]:  # the place in the source
    lines = lines[1:]
  return " ".join(line.strip() for line in lines) or "no reason"


def skipped_cases(events):
  """Returns [(target, case, reason)]. A case that several shards or attempts list counts once."""
  cases = {}
  for target, path in result_files(events):
    try:
      root = xml.parse(path).getroot()
    except (OSError, xml.ParseError):
      continue  # bazel itself reports a test that did not end
    for case in root.iter("testcase"):
      for skipped in case.iter("skipped"):
        name = "%s.%s" % (case.get("classname"), case.get("name"))
        cases[target, name] = reason_of(skipped)
  return [(target, name, reason) for (target, name), reason in sorted(cases.items())]


def main():
  events = read_events(sys.argv[1])
  cases = skipped_cases(events)
  print("%d cases skipped" % len(cases))
  by_reason = {}
  for target, name, reason in cases:
    by_reason.setdefault(reason, []).append((target, name))
  strict = os.environ.get("CI") == "true"
  refused = set()
  for reason, skipped in sorted(by_reason.items()):
    why = why_refused(reason) if strict else ""
    print("  %d  %s%s" % (len(skipped), reason, " (not allowed: %s)" % why if why else ""))
    for target, name in skipped:
      print("     %s %s" % (target, name))
      if why:
        refused.add(target)
  for target in sorted(refused & passed_targets(events)):
    print("refused %s" % target)
  return 1 if refused else 0


if __name__ == "__main__":
  sys.exit(main())
