// The ids that a model announces for a step.
#ifndef MILLRACE_EMBEDDING_SHARD_ANNOUNCED_IDS_H_
#define MILLRACE_EMBEDDING_SHARD_ANNOUNCED_IDS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "embedding/id_map/step_map.h"

namespace millrace {

// Returns the InvalidArgument error of an id that was looked up without announcement.
absl::Status not_announced_error(int64_t id);

// Checks on one rank that a model looks up only ids that it announced, as sharded tables require.
// Each table is used by one thread at a time.
class AnnouncedIds {
 public:
  // Begins checks, without announced ids.
  void begin(int64_t tables);
  // Ends checks and forgets all ids.
  void end() { tables_.clear(); }

  // Announces ids of a table. REQUIRES: begin() was called.
  void add(int64_t table, absl::Span<const int64_t> ids);
  // Checks ids of a lookup; OK if checks have not begun. Errors: not_announced_error() of the first
  // id that was not announced.
  absl::Status check(int64_t table, absl::Span<const int64_t> ids) const;

 private:
  struct OfTable {
    StepMap map;
    std::vector<int64_t> ids;  // distinct
  };
  std::vector<OfTable> tables_;  // empty: no checks
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_SHARD_ANNOUNCED_IDS_H_
