// The limit of memory for Arrow to read a file. Included by the readers' .cc files only.
#ifndef MILLRACE_IO_FORMAT_ARROW_MEMORY_H_
#define MILLRACE_IO_FORMAT_ARROW_MEMORY_H_

#include <arrow/memory_pool.h>

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace millrace {

// A memory pool that allocates at most a given number of bytes at a time: a small file may declare
// values of any size. It must outlive what was allocated from it.
class ArrowMemory {
 public:
  explicit ArrowMemory(int64_t max_bytes)
      : max_bytes_(max_bytes),
        counted_(arrow::default_memory_pool()),
        pool_(&counted_, max_bytes) {}

  arrow::MemoryPool* pool() { return &pool_; }
  int64_t max_bytes() const { return max_bytes_; }

  // An error of the reader: bad data if it met the cap.
  absl::Status explain(const absl::Status& status) const {
    if (!absl::IsResourceExhausted(status)) return status;
    return absl::DataLossError(
        absl::StrCat("it takes more than max_group_bytes, ", max_bytes_, ": ", status.message()));
  }

 private:
  const int64_t max_bytes_;
  arrow::ProxyMemoryPool counted_;  // by this reader alone
  arrow::CappedMemoryPool pool_;
};

}  // namespace millrace

#endif  // MILLRACE_IO_FORMAT_ARROW_MEMORY_H_
