// The conformance suite of rules of eviction.
#ifndef MILLRACE_EMBEDDING_POLICIES_EVICTION_CONFORMANCE_H_
#define MILLRACE_EMBEDDING_POLICIES_EVICTION_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "embedding/policies/eviction_registry.h"
#include "embedding/policies/eviction_rule.h"
#include "tests/conformance/property_suite.h"

namespace millrace {

struct EvictionConformance {
  // Creates the rule under test; a new instance per call.
  std::function<std::unique_ptr<EvictionRule>(const EvictionInput& input)> make;
};

// Returns the properties of EvictionRule: the result for a row depends only on the arguments, so it
// is equal in every call, for a second instance, in any order of rows and on several threads; it
// depends on the values of the weights and not on their address, and on no weights unless
// needs_weights(); needs_weights() is equal in every call; and any numbers are accepted, including
// a last step after the current one.
std::vector<Property> eviction_properties(const EvictionConformance& conformance);

// Registers the properties as tests of `suite`, see register_properties().
//
//   [[maybe_unused]] const bool kOddIds = register_eviction_conformance(
//       "OddIds", {.make = [](const EvictionInput& input) { return make_odd_ids(input); }});
bool register_eviction_conformance(const std::string& suite, const EvictionConformance& conformance,
                                   std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_POLICIES_EVICTION_CONFORMANCE_H_
