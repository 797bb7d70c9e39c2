// Benchmarks behind `millrace bench NAME`.
#ifndef MILLRACE_BENCH_BENCHMARK_H_
#define MILLRACE_BENCH_BENCHMARK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/isa/instruction_set.h"
#include "bench/embedding/embedding_workload.h"

namespace millrace {

// One measured quantity, which is printed as a JSON line with the median and the best value.
struct Measurement {
  std::string name;
  std::map<std::string, std::string> parameters;
  std::string unit;
  bool higher_is_better = false;
  std::vector<double> values;  // one for each repeat
};

// Returns {"name":…, parameters…, "unit":…, "median":…, "best":…, "repeats":n, "values":[…]} and a
// newline.
std::string to_json_line(const Measurement& measurement);

// Flags of bench_embedding.
struct EmbeddingFlags {
  EmbeddingShape shape;
  std::string optimizer = "sgd";
  InstructionSet instruction_set = best_instruction_set();  // one that this machine has
  std::string data;        // directory for the batches and their gradient; "": none
  bool check = false;      // write rows before and after some steps to `data` and measure nothing
  bool overwrite = false;  // replace files of another program in `data`
};

// Flags of bench_distributed.
struct DistributedFlags {
  EmbeddingShape shape;  // shape.batch is not used
  int64_t ranks = 2;
  std::vector<int64_t> batches = {2048, 8192};  // examples of all ranks together
  std::vector<std::string> optimizers = {"sgd", "rowwise_adagrad"};
  std::vector<std::string> table_channels = {"TCP"};        // as run.distributed.table_channel
  InstructionSet instruction_set = best_instruction_set();  // one that this machine has
  // Files, see EmbeddingFlags. REQUIRES: `batches`, `optimizers` and `table_channels` have one
  // element each.
  std::string data;
  bool check = false;
  bool overwrite = false;
};

// Flags of bench_idmap.
struct IdMapFlags {
  int64_t rows = 10000000;
  std::string ids = "random";  // as benchmark_ids of bench/id_workload.h
  int64_t batch = 2048;        // ids of a call
  double zipf = 1.05;
};

// Flags of bench_dense.
struct DenseFlags {
  int64_t batch = 0;    // examples of a batch; 0: as configured
  std::string compute;  // float32, bfloat16 or float16; "": as configured
};

// Flags of bench_train.
struct TrainFlags {
  int64_t ranks = 0;  // processes that share the threads; 0: the job is not split
};

// Flags of bench_checkpoint.
struct CheckpointFlags {
  EmbeddingShape shape = {.rows = 384616, .dim = 32};  // ten million rows in all
  std::string optimizer = "adam";
  std::string directory = "checkpoint_bench";
};

struct BenchmarkFlags {
  int64_t repeats = 5;
  int64_t steps = 0;  // 0: chosen by the benchmark
  int64_t threads = 2;
  std::string config;  // the job to run or to read the data of
  std::vector<std::string> set;
  EmbeddingFlags embedding;
  DistributedFlags distributed;
  IdMapFlags idmap;
  CheckpointFlags checkpoint;
  DenseFlags dense;
  TrainFlags train;
};

// Prints a measurement. A benchmark calls it as soon as a measurement is complete.
using PrintMeasurement = std::function<void(const Measurement&)>;

// Measures steps of full embedding tables with autograd, the check for finite gradients, and
// updates: ids/s, ms of each phase, and foreign cores of each window. With --data, writes input for
// other programs into that directory, in the byte order of this machine:
//   rows.i64      int64 [8, tables, batch, ids_per_feature]: row numbers of the batches, in turn
//   gradient.f32  float32 [batch, tables * dim]: of the pooled output, the same in every step
// With --check, measures nothing and writes float32 [rows, tables, dim]:
//   before.f32, after.f32   the weights of all rows before and after --steps [20] steps
// Replaces files of these names that another program wrote only with --overwrite.
absl::Status bench_embedding(const BenchmarkFlags& flags, const PrintMeasurement& print);

// Measures steps of full embedding tables that are split over processes of this machine,
// alternating with the steps of bench_embedding in one process with the same number of threads.
// Steps run through the parts of the trainer. For each optimizer and batch: ids/s of both and their
// ratio; the bound of this ratio, own / (own + bytes / rate), where `own` is the time of a step of
// one process and `rate` is measured by exchanges of messages of equal length without other work;
// ms and bytes a step and rank of each exchange; ms of the work between exchanges; the share of
// distinct ids; the rows that owners serve, largest over mean; foreign cores. Writes files as
// bench_embedding does. Creates processes by fork, see ServingProcess.
absl::Status bench_distributed(const BenchmarkFlags& flags, const PrintMeasurement& print);

// Measures checkpoints of full embedding tables, which it writes and removes in --directory, in
// directories whose names begin with "bench-". Measures, alternating, MB/s of saving and of writing
// and syncing the same bytes; MB/s of loading with all checks and of reading the same bytes, after
// the page cache was cleared; and ratios. Measures the bytes of a delta of 1 % of the rows relative
// to all rows. Measures, for asynchronous saves, the pause of training, the time of a step without
// and during a save (median and 99th percentile), and the time until a save is durable.
absl::Status bench_checkpoint(const BenchmarkFlags& flags, const PrintMeasurement& print);

// Compares the id map with ska::flat_hash_map and absl::flat_hash_map, alternating, all three in
// huge pages: ids/s of inserting --rows ids into an empty map and of finding ids, --batch per call,
// on one thread by its CPU time and on --threads by the clock; the same with capacity for all ids
// reserved; the longest call that inserts, in CPU ms; bytes per row; and ratios. For --ids other
// than random, also measures the id map with random ids.
absl::Status bench_idmap(const BenchmarkFlags& flags, const PrintMeasurement& print);

// Measures whole steps of a job in its trainer, on the first eight batches of its training data,
// which are read in advance; without hooks, evaluations and checkpoints. Alternates with the matrix
// products of one step alone, forward and backward, on tensors of the same shapes and layouts with
// allocated results. Prints examples/s, ms of a step, of its phases and of its products, the
// products' share of the step and their GFLOP/s, and foreign cores of each window.
absl::Status bench_dense(const BenchmarkFlags& flags, const PrintMeasurement& print);

// Compares, in µs per step and alternating: a trainer with five hooks that do nothing and the same
// model in a bare loop; a trainer that reports every 100 steps and one that also has a schedule,
// clipping by norm, a moving average and early stopping.
absl::Status bench_loop(const BenchmarkFlags& flags, const PrintMeasurement& print);

// Measures the seconds from the start of a process to the end of a run of one step without
// evaluation, an upper bound of the time to the end of the first step. Starts this program again.
absl::Status bench_start(const BenchmarkFlags& flags, const PrintMeasurement& print);

// Measures examples/s of a job, alternating: alone, and next to a process that keeps one core busy.
// With --ranks, compares one process with several ranks instead, and prints the ratio.
absl::Status bench_train(const BenchmarkFlags& flags, const PrintMeasurement& print);

// Measures the step exchange of two or more processes, alternating: overlapped with a step of 5 ms,
// synchronous, and omitted. Run by `millrace launch -n 2 -- bench exchange`; rank 0 prints.
absl::Status bench_exchange(const BenchmarkFlags& flags, const PrintMeasurement& print);

// Reads one epoch of a job's training data into batches without training: rows/s by the clock and
// by CPU time. For Parquet and ORC files, alternates with Arrow's own reading of the same columns
// to arrays, and prints the ratio of the CPU times.
absl::Status bench_ingest(const BenchmarkFlags& flags, const PrintMeasurement& print);

}  // namespace millrace

#endif  // MILLRACE_BENCH_BENCHMARK_H_
