// The memory of records of ids without a row.
#ifndef MILLRACE_EMBEDDING_SHARD_RECORD_MEMORY_H_
#define MILLRACE_EMBEDDING_SHARD_RECORD_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace millrace {

// Records of one size, in blocks that are reused in later steps.
class RecordMemory {
 public:
  explicit RecordMemory(int64_t record_bytes) : record_bytes_(record_bytes) {}

  // Returns an uninitialized record, which does not move until clear().
  char* add() {
    const size_t block = used_ / kRecords, at = used_ % kRecords;
    if (block == blocks_.size()) blocks_.emplace_back(new char[kRecords * record_bytes_]);
    ++used_;
    return blocks_[block].get() + at * record_bytes_;
  }
  void clear() { used_ = 0; }

 private:
  static constexpr size_t kRecords = 256;  // per block

  const int64_t record_bytes_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t used_ = 0;  // number of records
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_SHARD_RECORD_MEMORY_H_
