#include "embedding/policies/eviction_registry.h"

#include <google/protobuf/descriptor.h>

#include "absl/strings/str_cat.h"
#include "proto/documented_protos.h"

namespace millrace {
namespace {

// Lists the built-in rules also in a program that registers no other.
[[maybe_unused]] const PartFamily& kEvictionFamily = eviction_registry();

CustomRegistry<EvictionRuleFactory>* create_registry() {
  auto* const registry =
      new CustomRegistry<EvictionRuleFactory>("eviction", "eviction { custom { name: \"NAME\" } }");
  for (const char* rule :
       {"idle_steps", "idle_seconds", "idle_windows", "frequency_below", "norm_below"}) {
    const auto* const field = EvictionConfig::descriptor()->FindFieldByName(rule);
    registry->add_field(rule, absl::StrCat(rule, ": …"), [field] { return comment_of(*field); });
  }
  return registry;
}

}  // namespace

CustomRegistry<EvictionRuleFactory>& eviction_registry() {
  static auto* const registry = create_registry();
  return *registry;
}

}  // namespace millrace
