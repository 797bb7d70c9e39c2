#!/usr/bin/env python3
"""Starts a training job with the sink prometheus, checks its page with promtool, and has Prometheus
scrape it and load the alarms. Prints what came out as a JSON object and ends both programs.

    scrape_prometheus.py PROMETHEUS RULES MILLRACE ARGUMENT...

    {"page": TEXT, "check_exit_code": N, "check_output": TEXT,
     "steps": [VALUE, VALUE],            # millrace_steps_total, the second larger than the first
     "alarms": [NAME, ...]}
"""
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

SECONDS = 40  # that anything may take


def get(url):
  with urllib.request.urlopen(url, timeout=5) as answer:
    return answer.read().decode()


def wait_for(found):
  """Calls found() until it gives something."""
  deadline = time.monotonic() + SECONDS
  while time.monotonic() < deadline:
    try:
      result = found()
      if result:
        return result
    except OSError:  # nobody listens yet
      pass
    time.sleep(0.05)
  raise TimeoutError("nothing was found in time")


def free_port():
  with socket.socket() as server:
    server.bind(("127.0.0.1", 0))
    return server.getsockname()[1]


def address_in(log):
  """Returns HOST:PORT of the endpoint that the job logged; none before it did."""
  with open(log) as lines:
    for line in lines:
      if "metrics for Prometheus: http://" in line and line.endswith("\n"):
        return line.split("http://")[1].split("/")[0]
  return None


def steps(api):
  """Returns the newest value of the counter; none before the first scrape."""
  query = urllib.parse.quote("millrace_steps_total")
  result = json.loads(get(f"{api}/query?query={query}"))["data"]["result"]
  return float(result[0]["value"][1]) if result else None


def page_with_steps(address):
  """Returns the page of metrics; none before the first report."""
  page = get(f"http://{address}/metrics")
  return page if "millrace_steps_total" in page else None


def steps_after(api, before):
  """Returns the newest value of the counter; none while it is not larger than `before`."""
  now = steps(api)
  return now if now > before else None


def watch(folder, prometheus, rules, train, programs):
  """Returns what is to be printed. Appends the programs that it starts to `programs`."""
  promtool = os.path.join(os.path.dirname(prometheus), "promtool")
  # Files, not pipes: a job whose lines nobody reads would stand still.
  log_of_job = os.path.join(folder, "job.log")
  with open(log_of_job, "w") as log:
    programs.append(subprocess.Popen(train, stderr=log, stdout=subprocess.DEVNULL))
  address = wait_for(lambda: address_in(log_of_job))
  page = wait_for(lambda: page_with_steps(address))
  check = subprocess.run([promtool, "check", "metrics"], input=page, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
  with open(os.path.join(folder, "prometheus.yml"), "w") as config:
    json.dump({"global": {"scrape_interval": "200ms", "scrape_timeout": "200ms"},
               "rule_files": [os.path.abspath(rules)],
               "scrape_configs": [{"job_name": "millrace",
                                   "static_configs": [{"targets": [address]}]}]}, config)
  port = free_port()
  with open(os.path.join(folder, "prometheus.log"), "w") as log:
    programs.append(subprocess.Popen(
        [prometheus, f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
         f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log))
  api = f"http://127.0.0.1:{port}/api/v1"
  first = wait_for(lambda: steps(api))
  second = wait_for(lambda: steps_after(api, first))
  alarms = [rule["name"] for group in json.loads(get(f"{api}/rules"))["data"]["groups"]
            for rule in group["rules"]]
  return {"page": page, "check_exit_code": check.returncode, "check_output": check.stdout,
          "steps": [first, second], "alarms": alarms}


def main():
  prometheus, rules, *train = sys.argv[1:]
  programs = []
  with tempfile.TemporaryDirectory() as folder:
    try:
      print(json.dumps(watch(folder, prometheus, rules, train, programs)))
    except Exception:
      for name in ("job.log", "prometheus.log"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
          with open(path) as log:
            print(f"{name}:", log.read()[-2000:], file=sys.stderr)
      raise
    finally:
      for program in programs:
        program.kill()
        program.wait()


if __name__ == "__main__":
  main()
