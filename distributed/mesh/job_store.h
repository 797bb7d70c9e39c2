// A few values by key that all ranks of a job see: where they meet, and where they look when one of
// them is missing.
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

// Nothing here waits for a key to appear: each call ends within seconds. After an error the next
// call tries to reach the store anew. Errors, of every call: Unavailable (the store is gone),
// DeadlineExceeded (it does not answer). May be called from any thread.
class JobStore {
 public:
  virtual ~JobStore() = default;

  virtual absl::Status set(const std::string& key, absl::string_view value) = 0;
  // Returns: what the key holds; none if it is not there.
  virtual absl::StatusOr<std::optional<std::string>> get(const std::string& key) = 0;
  // The same for many keys in one call. REQUIRES: all are there.
  virtual absl::StatusOr<std::vector<std::string>> get_all(
      const std::vector<std::string>& keys) = 0;
  // Adds to the number that the key holds, at first 0. Returns: the sum.
  virtual absl::StatusOr<int64_t> add(const std::string& key, int64_t amount) = 0;
  // Sets the key if it is not there. Returns: what it holds then.
  virtual absl::StatusOr<std::string> set_once(const std::string& key, absl::string_view value) = 0;
  // Makes all calls fail from now on, also one under way.
  virtual void close() = 0;
};

}  // namespace millrace

#endif  // MILLRACE_DISTRIBUTED_MESH_JOB_STORE_H_
