// The part of a job's store that belongs to one start of its ranks.
#ifndef MILLRACE_DISTRIBUTED_START_STORE_H_
#define MILLRACE_DISTRIBUTED_START_STORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/mutex.h"
#include "distributed/mesh/job_store.h"

namespace millrace {

// The key at which rank 0 writes the name of the newest start.
inline constexpr char kStartKey[] = "start";

// Prepends the name of a start to all keys. A rank that was paused or cut off may reach the store
// of a later start of the job, at the same address: there kStartKey has another name or none. From
// then on every call returns Aborted and changes nothing. The name is read again before a call if
// the last time was `check_interval` ago, so a write shortly after the change may still reach the
// store, under the keys of the old start, which no rank of the new start reads. Thread-safe.
class StartStore : public JobStore {
 public:
  // Borrows `store` and `clock`.
  StartStore(JobStore& store, std::string name, absl::Duration check_interval, const Clock& clock)
      : store_(store), name_(std::move(name)), check_interval_(check_interval), clock_(clock) {}

  const std::string& name() const { return name_; }
  // Returns true once a call has found another start.
  bool replaced();

  absl::Status set(const std::string& key, absl::string_view value) override;
  absl::StatusOr<std::optional<std::string>> get(const std::string& key) override;
  absl::StatusOr<std::vector<std::string>> get_all(const std::vector<std::string>& keys) override;
  absl::StatusOr<std::optional<std::vector<std::string>>> find_all(
      const std::vector<std::string>& keys) override;
  absl::StatusOr<int64_t> add(const std::string& key, int64_t amount) override;
  absl::StatusOr<std::string> set_once(const std::string& key, absl::string_view value) override;
  void close() override { store_.close(); }

 private:
  // Errors: Aborted if another start has replaced this one; errors of the store.
  absl::Status check();
  std::string key_of(const std::string& key) const;
  std::vector<std::string> keys_of(const std::vector<std::string>& keys) const;

  JobStore& store_;
  const std::string name_;
  const absl::Duration check_interval_;
  const Clock& clock_;

  Mutex mutex_;
  absl::Duration next_check_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  bool replaced_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_START_STORE_H_
