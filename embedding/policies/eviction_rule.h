// Rules of eviction that come from outside.
#ifndef MILLRACE_EMBEDDING_POLICIES_EVICTION_RULE_H_
#define MILLRACE_EMBEDDING_POLICIES_EVICTION_RULE_H_

#include <cstdint>

#include "absl/types/span.h"

namespace millrace {

// A row as rules see it.
struct EvictionCandidate {
  int64_t id = 0;
  int64_t frequency = 0;                 // occurrences of the id in applied steps
  int64_t last_step = 0;                 // the last applied step that had the id
  absl::Span<const float> weights = {};  // of the row; may be empty if no rule needs them
};

// Interface of rules from outside: eviction { custom { name: "NAME" } }. The built-in rules are
// class EvictionRules (embedding/policies/eviction.h).
class EvictionRule {
 public:
  virtual ~EvictionRule() = default;

  // Returns true if the row is to be evicted after `step` applied steps. The result depends on the
  // arguments alone, so that jobs of any number of ranks evict the same rows, also after a resume.
  // Called for each row of a table whenever the hook evict_rows evicts; may be called from several
  // threads. Does not throw.
  virtual bool evicts(const EvictionCandidate& row, int64_t step) const = 0;

  // Returns true if evicts() reads the weights. The default is false.
  virtual bool needs_weights() const { return false; }
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_POLICIES_EVICTION_RULE_H_
