// A job that reports after each step, and its memory.
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
  int64_t reports = 0;  // made so far
  int64_t resident_bytes = 0;
  int64_t peak_bytes = 0;  // peak of the process's resident memory so far
};

// Trains a tiny job with the hooks of a configured job. Each step is followed by a report to the
// console, metrics/train.jsonl, CSV, TensorBoard and Prometheus, with the spans EPOCH, TOTAL and
// MOVING, and each epoch of eight steps by lines in events.jsonl. After three quarters of the
// reports, the job ends with a checkpoint and is resumed. After nine tenths, a value appears that
// earlier reports did not have, a late column of train.csv. Calls `sample` every `sample_every`
// reports.
// Errors: any error of the job.
absl::Status run_report_memory(const ReportMemoryOptions& options,
                               const std::function<void(const MemorySample&)>& sample);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_REPORT_MEMORY_CAMPAIGN_H_
