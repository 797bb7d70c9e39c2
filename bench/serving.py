#!/usr/bin/env python3
"""Measures `millrace serve` beside a server in Python with PyTorch eager, and LibTorch's forward pass alone.

  ./bazelw build //tools:millrace
  bench/serving.py --millrace bazel-bin/tools/millrace [--rounds 5] [--seconds 3]

Runs with a python3 that has torch and numpy. DeepFM of examples/criteo on generated data; requests of 64 rows in
binary tensors over connections that stay open; 1, 2 and 4 clients. The sides take turns in each round. The server in
Python (http.server, a thread for each connection) looks ids up as indices of nn.Embedding of the same sizes, which is
less work than a map of ids. Prints medians over rounds as lines of JSON: requests per second and milliseconds of a
request; then the latency while a trainer saves deltas each second.
"""
import argparse
import http.server
import json
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROWS, DENSE, SPARSE, DIM, HIDDEN = 64, 13, 26, 8, 400
IDS = 20000  # of a feature in requests
JOB = """
train {
  generated_data { directory: "data" rows: 200000 eval_rows: 1000 }
  train_data { batch_size: 512 }
  feature { name: "label" kind: LABEL }
  feature { name: "i{1..13}" kind: DENSE default_value: 0 transform { log1p {} } }
  feature { name: "c{1..26}" }
  table { name: "c{1..26}" dim: 8 }
  model { name: "deepfm" [millrace.deepfm] { hidden: [400, 400, 400] } }
  max_epochs: 1000
}
run { output_dir: "out" threads: 1 report { when { every_steps: 100000 } }
      checkpoint { when { every_seconds: 1 } max_deltas: 100 keep_last: 100 } }
"""


def request_body():
  """Returns the head of a binary request and its body."""
  import numpy as np  # pylint: disable=import-outside-toplevel
  chance = np.random.default_rng(1)
  inputs, data = [], b""
  for name, kind, values in (
      [(f"i{i + 1}", "FP32", chance.random(ROWS, dtype=np.float32)) for i in range(DENSE)] +
      [(f"c{i + 1}", "INT64", chance.integers(0, IDS, ROWS)) for i in range(SPARSE)]):
    inputs.append({"name": name, "shape": [ROWS], "datatype": kind,
                   "parameters": {"binary_data_size": values.nbytes}})
    data += values.tobytes()
  head = json.dumps({"inputs": inputs, "parameters": {"binary_data_output": True}}).encode()
  return (b"POST /v2/models/model/infer HTTP/1.1\r\nHost: x\r\nInference-Header-Content-Length: %d\r\n"
          b"Content-Length: %d\r\n\r\n" % (len(head), len(head) + len(data))) + head + data


def serve_with_torch(port):
  """The peer: DeepFM in PyTorch eager behind http.server."""
  import numpy as np  # pylint: disable=import-outside-toplevel
  import torch  # pylint: disable=import-outside-toplevel
  from torch import nn  # pylint: disable=import-outside-toplevel
  torch.set_num_threads(1)
  tables = nn.ModuleList(nn.Embedding(IDS, DIM + 1) for _ in range(SPARSE))
  layers, width = [], DENSE + SPARSE * DIM
  for _ in range(3):
    layers += [nn.Linear(width, HIDDEN), nn.ReLU()]
    width = HIDDEN
  mlp, linear = nn.Sequential(*layers, nn.Linear(width, 1)), nn.Linear(DENSE, 1)

  @torch.inference_mode()
  def predict(dense, ids):
    rows = torch.stack([table(ids[:, index]) for index, table in enumerate(tables)], 1)
    vectors, sums = rows[:, :, :DIM], rows.sum(1)
    pairs = 0.5 * (sums[:, :DIM].square().sum(1, True) - vectors.square().sum((1, 2)).unsqueeze(1))
    deep = mlp(torch.cat([dense, vectors.flatten(1)], 1))
    return torch.sigmoid(linear(dense) + sums[:, DIM:] + pairs + deep)

  class Handler(http.server.BaseHTTPRequestHandler):
    """Answers a request of the protocol."""
    protocol_version = "HTTP/1.1"

    def do_POST(self):  # pylint: disable=invalid-name
      body = self.rfile.read(int(self.headers["Content-Length"]))
      at = int(self.headers["Inference-Header-Content-Length"])
      columns = []
      for entry in json.loads(body[:at])["inputs"]:
        kind = np.float32 if entry["datatype"] == "FP32" else np.int64
        columns.append(np.frombuffer(body, kind, entry["shape"][0], at))
        at += entry["parameters"]["binary_data_size"]
      dense = torch.from_numpy(np.log1p(np.stack(columns[:DENSE], 1)))
      result = predict(dense, torch.from_numpy(np.stack(columns[DENSE:], 1))).numpy().tobytes()
      self.send_response(200)
      self.send_header("Content-Length", str(len(result)))
      self.end_headers()
      self.wfile.write(result)

    def log_message(self, *arguments):  # pylint: disable=arguments-differ
      pass

  class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

  Handler.wbufsize = -1  # one packet for a reply
  Server(("127.0.0.1", port), Handler).serve_forever()


def forward_alone(script, seconds):
  """Returns the forward passes per second of the exported script, on one thread."""
  import torch  # pylint: disable=import-outside-toplevel
  torch.set_num_threads(1)
  model = torch.jit.load(script).eval()
  dense, embeddings = torch.rand(ROWS, DENSE), torch.rand(ROWS, SPARSE * (DIM + 1))
  with torch.inference_mode():
    for _ in range(50):
      model(dense, embeddings)
    count, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
      model(dense, embeddings)
      count += 1
    return count / (time.perf_counter() - begin)


def ask(port, seconds, latencies):
  """One client: sends the request again and again."""
  request = request_body()
  with socket.create_connection(("127.0.0.1", port)) as connection:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    end = time.perf_counter() + seconds
    while (begin := time.perf_counter()) < end:
      connection.sendall(request)
      reply = connection.recv(65536)
      while b"\r\n\r\n" not in reply:
        reply += connection.recv(65536)
      head, _, body = reply.partition(b"\r\n\r\n")
      if b" 200 " not in head.split(b"\r\n", 1)[0]:
        raise RuntimeError(reply[:500])
      length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
      while len(body) < length:
        body += connection.recv(65536)
      latencies.append(time.perf_counter() - begin)


def load(port, clients, seconds):
  """Returns requests per second, and median and 99th percentile of milliseconds, from processes of clients."""
  processes = [subprocess.Popen([sys.executable, __file__, "--client", str(port), "--seconds", str(seconds)],
                                stdout=subprocess.PIPE) for _ in range(clients)]
  latencies = []
  for process in processes:
    output = process.communicate()[0]
    if process.returncode != 0:
      raise RuntimeError("a client failed")
    latencies += struct.unpack(f"{len(output) // 8}d", output)
  latencies.sort()
  return len(latencies) / seconds, 1000 * statistics.median(latencies), 1000 * latencies[int(len(latencies) * 0.99)]


def free_port():
  with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    return free.getsockname()[1]


def wait_for(port, process):
  while True:
    try:
      socket.create_connection(("127.0.0.1", port), 1).close()
      return
    except OSError:
      if process.poll() is not None:
        raise RuntimeError("a server does not start") from None
      time.sleep(0.1)


def measure(options, directory):
  """Prints the figures."""
  with open(os.path.join(directory, "job.textproto"), "w", encoding="utf-8") as file:
    file.write(JOB)
  program = os.path.abspath(options.millrace)

  def run(*arguments):
    subprocess.run([program, *arguments], cwd=directory, check=True, capture_output=True)
  run("train", "job.textproto", "--max_steps", "390")
  run("export", "--checkpoint", "out", "--output", "model.pt")
  ports = {"millrace": free_port(), "pytorch": free_port()}
  with open(os.path.join(directory, "log"), "w", encoding="utf-8") as log:
    servers = [
        subprocess.Popen([program, "serve", "out", "--port", str(ports["millrace"]), "--workers", "2"],
                         cwd=directory, stdout=log, stderr=log),
        subprocess.Popen([sys.executable, os.path.abspath(__file__), "--peer", str(ports["pytorch"])])]
    try:
      for port, server in zip(ports.values(), servers):
        wait_for(port, server)
        load(port, 2, 1)  # warm-up
      figures, forward = {}, []
      for _ in range(options.rounds):
        forward.append(forward_alone(os.path.join(directory, "model.pt"), options.seconds / 3))
        for clients in (1, 2, 4):
          for side, port in ports.items():
            figures.setdefault((clients, side), []).append(load(port, clients, options.seconds))
      alone = statistics.median(forward)
      print(json.dumps({"forward alone, one thread, per second": round(alone)}))
      for clients in (1, 2, 4):
        ours, peer = figures[clients, "millrace"], figures[clients, "pytorch"]
        print(json.dumps({
            "clients": clients, "requests per second": round(statistics.median(f[0] for f in ours)),
            "of pytorch": round(statistics.median(f[0] for f in peer)),
            "ratio": round(statistics.median(a[0] / b[0] for a, b in zip(ours, peer)), 2),
            "of forward alone": round(statistics.median(f[0] for f in ours) / alone / min(clients, 2), 2),
            "milliseconds, median and p99": [round(statistics.median(f[i] for f in ours), 2) for i in (1, 2)]}))
      trainer = subprocess.Popen([program, "train", "job.textproto"], cwd=directory, stdout=log, stderr=log)
      time.sleep(3)
      under = [load(ports["millrace"], 1, 2 * options.seconds) for _ in range(options.rounds)]
      trainer.kill()
      print(json.dumps({"while deltas arrive": {
          "milliseconds, median and p99": [round(statistics.median(f[i] for f in under), 2) for i in (1, 2)],
          "p99 / median": round(statistics.median(f[2] / f[1] for f in under), 2)}}))
    finally:
      for server in servers:
        server.kill()


def main():
  parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
  parser.add_argument("--millrace")
  parser.add_argument("--rounds", type=int, default=5)
  parser.add_argument("--seconds", type=float, default=3)
  parser.add_argument("--peer", type=int, help=argparse.SUPPRESS)
  parser.add_argument("--client", type=int, help=argparse.SUPPRESS)
  options = parser.parse_args()
  if options.peer:
    serve_with_torch(options.peer)
  elif options.client:
    latencies = []
    ask(options.client, options.seconds, latencies)
    sys.stdout.buffer.write(struct.pack(f"{len(latencies)}d", *latencies))
  elif options.millrace:
    with tempfile.TemporaryDirectory() as directory:
      measure(options, directory)
  else:
    parser.error("--millrace is needed")


if __name__ == "__main__":
  main()
