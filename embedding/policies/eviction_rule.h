// The interface of custom eviction rules.
#ifndef MILLRACE_EMBEDDING_POLICIES_EVICTION_RULE_H_
#define MILLRACE_EMBEDDING_POLICIES_EVICTION_RULE_H_

#include <cstdint>

#include "absl/types/span.h"

namespace millrace {

// A row, as input of a rule.
struct EvictionCandidate {
  int64_t id = 0;
  int64_t frequency = 0;                 // occurrences in applied steps
  int64_t last_step = 0;                 // the last applied step with the id
  absl::Span<const float> weights = {};  // of the row; may be empty if no rule needs weights
};

// A custom eviction rule: eviction { custom { name: "NAME" } }. Class EvictionRules
// (embedding/policies/eviction.h) has the built-in rules.
class EvictionRule {
 public:
  virtual ~EvictionRule() = default;

  // Returns true if the row must be evicted after `step` applied steps. The result must depend only
  // on the arguments, so that jobs of any number of ranks evict the same rows, also after a resume.
  // Called for each row of a table when the hook evict_rows evicts, unless a built-in rule already
  // evicts the row; may be called from several threads. Must not throw.
  virtual bool evicts(const EvictionCandidate& row, int64_t step) const = 0;

  // Returns true if evicts() reads the weights. The default is false.
  virtual bool needs_weights() const { return false; }
};

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_POLICIES_EVICTION_RULE_H_
