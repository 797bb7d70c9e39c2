// A JobStore in memory, for tests.
#ifndef MILLRACE_DISTRIBUTED_MESH_MEMORY_JOB_STORE_TESTING_H_
#define MILLRACE_DISTRIBUTED_MESH_MEMORY_JOB_STORE_TESTING_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "distributed/mesh/job_store.h"

namespace millrace {

// Shared by all ranks of a test. Thread-safe.
class MemoryJobStore : public JobStore {
 public:
  // Makes every later call return `status`; OK: calls work again.
  void break_with(absl::Status status);
  // Returns the value of a key, even from a broken store.
  std::optional<std::string> peek(const std::string& key);
  void erase(const std::string& key);

  absl::Status set(const std::string& key, absl::string_view value) override;
  absl::StatusOr<std::optional<std::string>> get(const std::string& key) override;
  absl::StatusOr<std::vector<std::string>> get_all(const std::vector<std::string>& keys) override;
  absl::StatusOr<std::optional<std::vector<std::string>>> find_all(
      const std::vector<std::string>& keys) override;
  absl::StatusOr<int64_t> add(const std::string& key, int64_t amount) override;
  absl::StatusOr<std::string> set_once(const std::string& key, absl::string_view value) override;
  void close() override;

 private:
  Mutex mutex_;
  absl::Status broken_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, std::string> values_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_MESH_MEMORY_JOB_STORE_TESTING_H_
