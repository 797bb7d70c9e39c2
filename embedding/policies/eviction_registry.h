// The registry of custom eviction rules.
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

// The inputs of a rule.
struct EvictionInput {
  std::string table;
};

// Creates the rule of one table. `config` has the extension of the part.
using EvictionRuleFactory = std::function<absl::StatusOr<std::unique_ptr<EvictionRule>>(
    const CustomConfig& config, const EvictionInput& input)>;

// Returns the registry of rules, including the names of built-in rules.
CustomRegistry<EvictionRuleFactory>& eviction_registry();

}  // namespace millrace

// Registers a rule. Used at namespace scope in a .cc whose cc_library has `alwayslink = True`:
//   MILLRACE_REGISTER_EVICTION(odd_ids, "ids that are odd", &OddIds::create);
#define MILLRACE_REGISTER_EVICTION(name, description, factory) \
  MILLRACE_REGISTER_PART(eviction, name, #name, description, factory)

#endif  // MILLRACE_EMBEDDING_POLICIES_EVICTION_REGISTRY_H_
