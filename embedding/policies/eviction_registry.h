// Rules of eviction from outside, by name.
#ifndef MILLRACE_EMBEDDING_POLICIES_EVICTION_REGISTRY_H_
#define MILLRACE_EMBEDDING_POLICIES_EVICTION_REGISTRY_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "embedding/policies/eviction_rule.h"
#include "proto/config.pb.h"
#include "proto/parts/custom_registry.h"

namespace millrace {

// Values that a rule is made with.
struct EvictionInput {
  std::string table;
};

// Makes the rule of one table. `config` has the extension that the part reads.
using EvictionRuleFactory = std::function<absl::StatusOr<std::unique_ptr<EvictionRule>>(
    const CustomConfig& config, const EvictionInput& input)>;

// Returns the registry of rules, which also has the names of the built-in rules.
CustomRegistry<EvictionRuleFactory>& eviction_registry();

}  // namespace millrace

// At namespace scope in a .cc whose cc_library says `alwayslink = True`:
//   MILLRACE_REGISTER_EVICTION(odd_ids, "ids that are odd", &OddIds::create);
#define MILLRACE_REGISTER_EVICTION(name, description, factory) \
  MILLRACE_REGISTER_PART(eviction, name, #name, description, factory)

#endif  // MILLRACE_EMBEDDING_POLICIES_EVICTION_REGISTRY_H_
