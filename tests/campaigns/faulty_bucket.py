#!/usr/bin/env python3
"""Trains with checkpoints in a bucket behind a proxy that fails, and kills the run at random.

    tests/campaigns/faulty_bucket.py --millrace bazel-bin/tools/millrace --kills 100

Needs moto's server: ./bazelw test_setup, then MILLRACE_S3_SERVER or --server. The proxy delays requests,
answers with 500 and 503, resets connections before and after a request reached the server, and cuts
bodies. Each start of the run is killed after a random time. In the end the run trains undisturbed to its
end. What must hold: every checkpoint that a run reported is there or a newer one is, every listed
checkpoint verifies, and the last one equals that of an undisturbed run with a local folder. Prints a line
of JSON; exits with 1 if something does not hold.
"""

import argparse
import http.client
import http.server
import json
import os
import random
import re
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

JOB = """
train {
  generated_data { directory: "data" rows: 20000 eval_rows: 100 }
  train_data { batch_size: 100 shuffle_rows: 1000 }
  feature { name: "label" kind: LABEL }
  feature { name: "i{1..13}" kind: DENSE default_value: 0 }
  feature { name: "c{1..3}" }
  table { name: "c{1..3}" dim: 4 }
  model { name: "deepfm" [millrace.deepfm] { hidden: [8] } }
}
run {
  threads: 1
  checkpoint { when { every_steps: 20 } keep_last: 3 max_deltas: 2 asynchronous: %s }
  places { %s }
}
"""


class Faults:
  """Which requests fail, and how; drawn from a generator with a seed."""

  KINDS = ("delay", "500", "503", "reset before", "reset after", "torn request", "torn response")

  def __init__(self, seed, share):
    self.random, self.share, self.lock = random.Random(seed), share, threading.Lock()
    self.count = dict.fromkeys(self.KINDS, 0)

  def draw(self):
    with self.lock:
      if self.random.random() >= self.share:
        return None
      kind = self.random.choice(self.KINDS)
      self.count[kind] += 1
      return kind


def proxy(target, faults):
  """Starts a proxy for the server at port `target`. Returns its port."""

  class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
      pass

    def reset(self):
      self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
      self.close_connection = True
      self.connection.close()

    def handle_all(self):
      length = int(self.headers.get("Content-Length") or 0)
      body = self.rfile.read(length) if length else None
      if self.headers.get("Transfer-Encoding") == "chunked":
        body = b""
        while True:
          line = self.rfile.readline()
          body += line
          size = int(line.split(b";")[0], 16)
          body += self.rfile.read(size + 2)
          if size == 0:
            break
      fault = faults.draw()
      if fault == "delay":
        time.sleep(0.3)
      elif fault in ("500", "503"):
        self.send_response(int(fault))
        self.send_header("Content-Length", "0")
        self.end_headers()
        return
      elif fault == "reset before":
        return self.reset()
      headers = {k: v for k, v in self.headers.items() if k.lower() != "connection"}
      upstream = http.client.HTTPConnection("127.0.0.1", target, timeout=30)
      if fault == "torn request" and body:
        # The server sees the beginning of the body and the end of the connection.
        with socket.create_connection(("127.0.0.1", target)) as raw:
          head = f"{self.command} {self.path} HTTP/1.1\r\n"
          head += "".join(f"{k}: {v}\r\n" for k, v in headers.items())
          raw.sendall(head.encode() + b"\r\n" + body[:len(body) // 2])
        return self.reset()
      upstream.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
      for key, value in headers.items():
        upstream.putheader(key, value)
      upstream.endheaders(body)
      answer = upstream.getresponse()
      content = answer.read()
      upstream.close()
      if fault == "reset after":
        return self.reset()
      self.send_response(answer.status)
      for key, value in answer.getheaders():
        if key.lower() not in ("connection", "transfer-encoding", "date", "server"):
          self.send_header(key, value)
      if "Content-Length" not in answer.headers:
        self.send_header("Content-Length", str(len(content)))
      self.end_headers()
      if fault == "torn response" and content:
        self.wfile.write(content[:len(content) // 2])
        return self.reset()
      if self.command != "HEAD":
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_all

  class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_):
      pass

  server = Server(("127.0.0.1", 0), Handler)
  threading.Thread(target=server.serve_forever, daemon=True).start()
  return server.server_port


def start_store(program):
  """Starts the S3 server on a free port. Returns the process and the port."""
  with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
  store = subprocess.Popen([program, "-p", str(port)], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                           text=True)
  for line in store.stderr:
    if "Running on" in line:
      break
  threading.Thread(target=store.stderr.read, daemon=True).start()
  connection = http.client.HTTPConnection("127.0.0.1", port)
  connection.request("PUT", "/bucket", headers={"Authorization": "AWS4-HMAC-SHA256 Credential=test/"
                                                "20260101/us-east-1/s3/aws4_request"})
  assert connection.getresponse().status == 200
  return store, port


def run(options, directory):
  store, port = start_store(options.server)
  faults = Faults(options.seed, options.share)
  behind = proxy(port, faults)
  environment = dict(os.environ, AWS_REGION="us-east-1", AWS_ACCESS_KEY_ID="test",
                     AWS_SECRET_ACCESS_KEY="test", AWS_ENDPOINT_URL=f"http://127.0.0.1:{behind}")
  direct = dict(environment, AWS_ENDPOINT_URL=f"http://127.0.0.1:{port}")
  for name, places in (("bucket", "lease_seconds: 1"), ("local", "")):
    with open(os.path.join(directory, f"{name}.textproto"), "w", encoding="utf-8") as file:
      file.write(JOB % ("true" if options.asynchronous else "false", places))

  def millrace(*arguments):
    return subprocess.run([options.millrace, *arguments], cwd=directory, env=direct, check=False,
                          capture_output=True, text=True, timeout=300)

  problems, outcomes = [], {}

  def check(what, result):
    if result.returncode != 0:
      problems.append(f"{what}: {result.returncode}: {result.stdout[-1000:]}{result.stderr[-1000:]}")

  def train(number, patience):
    """Trains behind the proxy, for `patience` seconds. Returns the exit code and the newest step saved."""
    log = os.path.join(directory, "log")
    with open(log, "w", encoding="utf-8") as output:
      process = subprocess.Popen([options.millrace, "train", "bucket.textproto", "--output_dir", f"out{number}",
                                  "--set", f"run.places.checkpoints=s3://bucket/run{number}"],
                                 cwd=directory, env=environment, stdout=output, stderr=output)
      try:
        process.wait(patience)
      except subprocess.TimeoutExpired:
        process.kill()
      code = process.wait()
    with open(log, encoding="utf-8") as text:
      content = text.read()
    outcomes[code] = outcomes.get(code, 0) + 1
    if code not in (0, -9, 74):
      problems.append(f"exit code {code}: {content[-1000:]}")
    return code, max([int(step) for step in re.findall(r"saved \S*step-(\d+)", content)], default=0)

  check("local", millrace("train", "local.textproto", "--output_dir", "local"))
  generator = random.Random(options.seed + 1)
  kills = number = promised = 0
  while not problems:
    folder = f"s3://bucket/run{number}"
    is_last = kills >= options.kills
    code, saved = train(number, 120 if is_last else generator.uniform(0.5, options.patience))
    kills += code == -9
    print(f"run {number}: exit code {code}, saved step {saved}", file=sys.stderr)
    promised = max(promised, saved)
    entries = json.loads(millrace("checkpoint", "list", folder, "--json").stdout or "[]")
    newest = max([entry["step"] for entry in entries], default=0)
    if newest < promised:
      problems.append(f"step {promised} was promised, the newest of {folder} is {newest}")
    if code != 0:
      continue
    check("verify", millrace("checkpoint", "verify", folder))
    check("diff", millrace("checkpoint", "diff", folder, "local"))
    number, promised = number + 1, 0
    if is_last:
      break
  store.kill()
  store.wait()
  return {"kills": kills, "runs": number, "exit codes": outcomes, "faults": faults.count, "problems": problems}


def main():
  parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
  parser.add_argument("--millrace", required=True)
  parser.add_argument("--server", default=os.environ.get("MILLRACE_S3_SERVER"))
  parser.add_argument("--kills", type=int, default=100)
  parser.add_argument("--share", type=float, default=0.05, help="of requests that fail [0.05]")
  parser.add_argument("--seed", type=int, default=1)
  parser.add_argument("--patience", type=float, default=6, help="most seconds before a kill [6]")
  parser.add_argument("--asynchronous", action="store_true")
  options = parser.parse_args()
  if not options.server:
    sys.exit("faulty_bucket.py: no --server; ./bazelw test_setup installs one")
  options.millrace = os.path.abspath(options.millrace)
  with tempfile.TemporaryDirectory() as directory:
    result = run(options, directory)
  print(json.dumps(result))
  sys.exit(1 if result["problems"] else 0)


if __name__ == "__main__":
  main()
