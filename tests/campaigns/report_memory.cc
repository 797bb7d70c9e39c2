// Measures the resident memory of a job that makes many reports (docs/sinks.md):
//
//   report_memory [REPORTS [DIRECTORY]]
//
// The default is a million reports. Prints a line after each tenth of the reports. Writes some
// gigabytes of files to a new directory in DIRECTORY, by default /tmp, and removes it afterwards.
// Exits with 1 if the peak of memory grew by more than 4 MiB after the first tenth.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/numbers.h"
#include "tests/campaigns/report_memory_campaign.h"

namespace millrace {
namespace {

constexpr int64_t kMostGrowth = int64_t{4} << 20;

int run(int64_t reports, std::string directory) {
  directory += "/report_memory.XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) {
    std::fprintf(stderr, "cannot make %s\n", directory.c_str());
    return 1;
  }
  int64_t first = 0, last = 0;
  const absl::Status status =
      run_report_memory({.reports = reports, .sample_every = reports / 10, .directory = directory},
                        [&](const MemorySample& sample) {
                          last = sample.peak_bytes;
                          if (first == 0) first = last;
                          std::printf("%lld reports: %.2f MiB, at most %.2f MiB\n",
                                      static_cast<long long>(sample.reports),
                                      static_cast<double>(sample.resident_bytes) / (1 << 20),
                                      static_cast<double>(last) / (1 << 20));
                          std::fflush(stdout);
                        });
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.ToString().c_str());
    return 1;
  }
  std::printf("growth of the peak after the first tenth: %.2f MiB\n",
              static_cast<double>(last - first) / (1 << 20));
  return last - first > kMostGrowth ? 1 : 0;
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  int64_t reports = 1000000;
  if (argc > 3 || (argc > 1 && (!absl::SimpleAtoi(argv[1], &reports) || reports < 10))) {
    std::fprintf(stderr, "usage: report_memory [REPORTS [DIRECTORY]]\n");
    return 64;
  }
  return millrace::run(reports, argc > 2 ? argv[2] : "/tmp");
}
