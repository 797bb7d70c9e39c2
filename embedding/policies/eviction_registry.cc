#include "embedding/policies/eviction_registry.h"

#include <google/protobuf/descriptor.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "proto/documented_protos.h"

namespace millrace {
namespace {

std::vector<PartFamily::Field> built_in_rules() {
  std::vector<PartFamily::Field> rules;
  for (const char* rule :
       {"idle_steps", "idle_seconds", "idle_windows", "frequency_below", "norm_below"}) {
    const auto* const field = EvictionConfig::descriptor()->FindFieldByName(rule);
    rules.push_back({rule, absl::StrCat(rule, ": …"), [field] { return comment_of(*field); }});
  }
  return rules;
}

}  // namespace

MILLRACE_PART_FAMILY(eviction, CustomRegistry<EvictionRuleFactory>, "eviction",
                     "eviction { custom { name: \"NAME\" } }", built_in_rules());

}  // namespace millrace
