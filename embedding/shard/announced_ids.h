// The ids that a model announced for a step.
#ifndef MILLRACE_EMBEDDING_SHARD_ANNOUNCED_IDS_H_
#define MILLRACE_EMBEDDING_SHARD_ANNOUNCED_IDS_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "embedding/id_map/step_map.h"

namespace millrace {

// Returns an InvalidArgument error that names an id that a model looked up without announcing it.
absl::Status not_announced_error(int64_t id);

// Checks that a model with one rank looks up only ids that it announced, as it must over ranks.
// Each table is used by one thread at a time.
class AnnouncedIds {
 public:
  // Begins to check, with no id announced.
  void begin(int64_t tables);
  // Forgets all ids; nothing is checked any more.
  void end() { tables_.clear(); }

  // Announces ids of a table. REQUIRES: begin() was called.
  void add(int64_t table, absl::Span<const int64_t> ids);
  // Errors: not_announced_error() of the first id that was not announced, if ids are checked.
  absl::Status check(int64_t table, absl::Span<const int64_t> ids) const;

 private:
  struct OfTable {
    StepMap map;
    std::vector<int64_t> ids;  // distinct
  };
  std::vector<OfTable> tables_;  // empty: nothing is checked
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_SHARD_ANNOUNCED_IDS_H_
