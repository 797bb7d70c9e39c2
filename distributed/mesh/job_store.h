// A small key-value store shared by all ranks of a job: the ranks meet in the store, and check it
// if a rank is missing.
#ifndef MILLRACE_DISTRIBUTED_MESH_JOB_STORE_H_
#define MILLRACE_DISTRIBUTED_MESH_JOB_STORE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

// A store shared by all ranks. No call waits for a key to appear: each call ends within seconds.
// The next call after an error tries to reconnect to the store.
// Errors, of every call: Unavailable (the store is gone: its machine refuses connections),
// DeadlineExceeded (the store does not answer, or the network is down), Aborted (the ranks were
// started again: distributed/start_store.h), FailedPrecondition (a value is not of this job's
// secret). Thread-safe.
class JobStore {
 public:
  virtual ~JobStore() = default;

  virtual absl::Status set(const std::string& key, absl::string_view value) = 0;
  // Returns the value of the key; none if the key does not exist.
  virtual absl::StatusOr<std::optional<std::string>> get(const std::string& key) = 0;
  // Returns the values of many keys in one call. REQUIRES: all keys exist.
  virtual absl::StatusOr<std::vector<std::string>> get_all(
      const std::vector<std::string>& keys) = 0;
  // Returns the values of many keys in one call; none if a key does not exist.
  virtual absl::StatusOr<std::optional<std::vector<std::string>>> find_all(
      const std::vector<std::string>& keys) = 0;
  // Adds to the number at the key, initially 0. Returns the sum.
  virtual absl::StatusOr<int64_t> add(const std::string& key, int64_t amount) = 0;
  // Sets the key if it does not exist. Returns the value after the call.
  virtual absl::StatusOr<std::string> set_once(const std::string& key, absl::string_view value) = 0;
  // Makes all later calls fail, and calls under way.
  virtual void close() = 0;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_MESH_JOB_STORE_H_
