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

// One measured quantity; printed as one JSON line with the median and the best of its values.
struct Measurement {
  std::string name;
  std::map<std::string, std::string> parameters;
  std::string unit;
  bool higher_is_better = false;
  std::vector<double> values;  // one for each repeat
};

// {"name":…, parameters…, "unit":…, "median":…, "best":…, "repeats":n, "values":[…]} and a newline.
std::string to_json_line(const Measurement& measurement);

// Of bench_embedding alone.
struct EmbeddingFlags {
  EmbeddingShape shape;
  std::string optimizer = "sgd";
  InstructionSet instruction_set = best_instruction_set();  // one that this machine has
  std::string data;        // directory for the batches and their gradient; "": none
  bool check = false;      // write rows before and after some steps there and measure nothing
  bool overwrite = false;  // replace files there that another program wrote
};

// Flags of bench_distributed.
struct DistributedFlags {
  EmbeddingShape shape;  // shape.batch is not used
  int64_t ranks = 2;
  std::vector<int64_t> batches = {2048, 8192};  // examples of all ranks together
  std::vector<std::string> optimizers = {"sgd", "rowwise_adagrad"};
  InstructionSet instruction_set = best_instruction_set();  // one that this machine has
  // The same as in EmbeddingFlags. REQUIRES: `batches` and `optimizers` have one element each.
  std::string data;
  bool check = false;
  bool overwrite = false;
};

// Of bench_idmap alone.
struct IdMapFlags {
  int64_t rows = 10000000;
  std::string ids = "random";  // as benchmark_ids of bench/id_workload.h
  int64_t batch = 2048;        // ids of a call
  double zipf = 1.05;
};

// Of bench_dense alone.
struct DenseFlags {
  int64_t batch = 0;    // examples of a batch; 0: as configured
  std::string compute;  // float32, bfloat16 or float16; "": as configured
};

// Of bench_train alone.
struct TrainFlags {
  int64_t ranks = 0;  // processes that share the threads; 0: the job is not split
};

// Of bench_checkpoint alone.
struct CheckpointFlags {
  EmbeddingShape shape = {.rows = 384616, .dim = 32};  // ten million rows in all
  std::string optimizer = "adam";
  std::string directory = "checkpoint_bench";
};

struct BenchmarkFlags {
  int64_t repeats = 5;
  int64_t steps = 0;  // 0: what suits the benchmark
  int64_t threads = 2;
  std::string config;  // the job to run, or whose data to read
  std::vector<std::string> set;
  EmbeddingFlags embedding;
  DistributedFlags distributed;
  IdMapFlags idmap;
  CheckpointFlags checkpoint;
  DenseFlags dense;
  TrainFlags train;
};

// A benchmark prints each measurement when it has it.
using PrintMeasurement = std::function<void(const Measurement&)>;

// Steps of full embedding tables with autograd, finiteness and updates; ids/s, ms of each phase,
// and how many cores others kept busy in each window. With --data, into that directory, in the
// order of this machine's bytes, for other programs to do the same with:
//   rows.i64      int64 [8, tables, batch, ids_per_feature]: row numbers of the batches, in turn
//   gradient.f32  float32 [batch, tables * dim]: of the pooled output, the same in every step
// and with --check, measuring nothing, float32 [rows, tables, dim]:
//   before.f32, after.f32   the weights of all rows before and after --steps [20] steps
// Files of these names that are not of this benchmark are replaced with --overwrite alone.
absl::Status bench_embedding(const BenchmarkFlags& flags, const PrintMeasurement& print);

// Measures steps of full embedding tables that are split over processes of this machine,
// alternating with the steps of bench_embedding in one process of as many threads. Steps run
// through the parts of the trainer. For each optimizer and batch: ids/s of both and their ratio;
// the bound of that ratio, own / (own + bytes / rate), where `own` is the time of a step of one
// process and `rate` is measured by exchanges of equally long messages without other work; ms and
// bytes a step and rank of each exchange; ms of the work between exchanges; the share of distinct
// ids; the rows that owners serve, largest over mean; foreign cores. Writes files as
// bench_embedding does. Makes processes by fork: see ServingProcess.
absl::Status bench_distributed(const BenchmarkFlags& flags, const PrintMeasurement& print);

// Checkpoints of full embedding tables, written and removed in --directory, in directories whose
// names begin with "bench-". In turn, files
// forgotten by the page cache before they are read: MB/s of saving and of writing and syncing the
// same bytes, of loading with all checks and of reading them, and ratios. The bytes of a delta of 1
// % of the rows over those of all. Of asynchronous saves how long training stops, how long a step
// takes without and meanwhile (median and 99th percentile), and how long until they are durable.
absl::Status bench_checkpoint(const BenchmarkFlags& flags, const PrintMeasurement& print);

// The id map beside ska::flat_hash_map and absl::flat_hash_map, alternating, all three in huge
// pages: ids/s of inserting --rows ids into an empty map and of finding them, --batch in a call,
// on one thread by its CPU time and on --threads by the clock; the same with room made for all
// before; the longest call that inserts, in CPU ms; bytes a row; and ratios. For --ids other than
// random also our map with random ones.
absl::Status bench_idmap(const BenchmarkFlags& flags, const PrintMeasurement& print);

// Whole steps of a job in its trainer, on the first eight batches of its training data, which are
// read before; without hooks, evaluations and checkpoints. In turn with the matrix products of such
// a step alone, forward and backward, on tensors of the same shapes and layouts whose results have
// their memory already. examples/s, ms of a step, of its phases and of its products, their share of
// the step and their GFLOP/s, and how many cores others kept busy in each window.
absl::Status bench_dense(const BenchmarkFlags& flags, const PrintMeasurement& print);

// Trainer with five hooks that do nothing, against the same model in a bare loop; and a trainer
// that reports every 100 steps, against one that also has a schedule, clipping by norm, a moving
// average and early stopping; µs a step, all four in turn.
absl::Status bench_loop(const BenchmarkFlags& flags, const PrintMeasurement& print);

// Process start to the end of a run of one step without evaluation: an upper bound for the time to
// the end of the first step; seconds. Runs this program anew.
absl::Status bench_start(const BenchmarkFlags& flags, const PrintMeasurement& print);

// Examples/s of a job, alone and beside a process that keeps one core busy, alternating. With
// --ranks, in one process and over ranks instead, and the ratio.
absl::Status bench_train(const BenchmarkFlags& flags, const PrintMeasurement& print);

// The step exchange of two or more processes, hidden behind a step of 5 ms, synchronous, and left
// out, alternating; run by `millrace launch -n 2 -- bench exchange`, printed by rank 0.
absl::Status bench_exchange(const BenchmarkFlags& flags, const PrintMeasurement& print);

// One epoch of a job's training data, read and made into batches that nobody trains on; rows/s by
// the clock and by CPU time, and where the files are Parquet or ORC, alternating, Arrow's own
// reading of the same columns to its arrays, and the ratio of both CPU times.
absl::Status bench_ingest(const BenchmarkFlags& flags, const PrintMeasurement& print);

}  // namespace millrace

#endif  // MILLRACE_BENCH_BENCHMARK_H_
