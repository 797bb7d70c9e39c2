// Benchmarks behind `millrace bench NAME`.
#ifndef MILLRACE_BENCH_BENCHMARK_H_
#define MILLRACE_BENCH_BENCHMARK_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace millrace {

// One measured quantity; printed as one JSON line with the median and the best of its values.
struct Measurement {
  std::string name;
  std::map<std::string, std::string> parameters;
  std::string unit;
  bool higher_is_better = false;
  std::vector<double> values;  // one for each repeat
};

// {"name":…, parameters…, "unit":…, "median":…, "best":…, "repeats":n} and a newline.
std::string to_json_line(const Measurement& measurement);

struct BenchmarkFlags {
  int64_t repeats = 5;
  int64_t steps = 0;  // 0: what suits the benchmark
  int64_t threads = 2;
  std::string config;  // the job to run, or whose data to read
  std::vector<std::string> set;
};

// A benchmark prints each measurement when it has it.
using PrintMeasurement = std::function<void(const Measurement&)>;

// Trainer with five hooks that do nothing, against the same model in a bare loop; µs a step.
absl::Status bench_loop(const BenchmarkFlags& flags, const PrintMeasurement& print);

// Process start to the end of a run of one step without evaluation: an upper bound for the time to
// the end of the first step; seconds. Runs this program anew.
absl::Status bench_start(const BenchmarkFlags& flags, const PrintMeasurement& print);

// Examples/s of a job, alone and beside a process that keeps one core busy, alternating.
absl::Status bench_train(const BenchmarkFlags& flags, const PrintMeasurement& print);

// The step exchange of two or more processes, hidden behind a step of 5 ms, synchronous, and left
// out, alternating; run by `millrace launch -n 2 -- bench exchange`, printed by rank 0.
absl::Status bench_exchange(const BenchmarkFlags& flags, const PrintMeasurement& print);

// One epoch of a job's training data, read and made into batches that nobody trains on; rows/s.
absl::Status bench_ingest(const BenchmarkFlags& flags, const PrintMeasurement& print);

}  // namespace millrace

#endif  // MILLRACE_BENCH_BENCHMARK_H_
