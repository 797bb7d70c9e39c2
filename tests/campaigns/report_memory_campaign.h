// A job that reports after each step, and the memory that it takes.
#ifndef MILLRACE_TESTS_CAMPAIGNS_REPORT_MEMORY_CAMPAIGN_H_
#define MILLRACE_TESTS_CAMPAIGNS_REPORT_MEMORY_CAMPAIGN_H_

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"

namespace millrace {

struct ReportMemoryOptions {
  int64_t reports = 1000000;
  int64_t sample_every = 100000;  // reports
  std::string directory;          // exists and is empty; the files of the job remain there
};

struct MemorySample {
  int64_t reports = 0;  // made by then
  int64_t resident_bytes = 0;
  int64_t peak_bytes = 0;  // the most resident memory of the process until then
};

// Trains a tiny job with the hooks of a configured one. Each step is followed by a report to the
// console, metrics/train.jsonl, CSV, TensorBoard and Prometheus, with the spans EPOCH, TOTAL and
// MOVING, and each epoch of eight steps by lines in events.jsonl. After three quarters of the
// reports the job ends with a checkpoint and is resumed; after nine tenths a value comes up that
// earlier reports did not have, a late column of train.csv. Calls `sample` every `sample_every`
// reports. Errors: those of the job.
absl::Status run_report_memory(const ReportMemoryOptions& options,
                               const std::function<void(const MemorySample&)>& sample);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_REPORT_MEMORY_CAMPAIGN_H_
