// The conformance suite of initializers.
#ifndef MILLRACE_EMBEDDING_ROWS_INITIALIZER_CONFORMANCE_H_
#define MILLRACE_EMBEDDING_ROWS_INITIALIZER_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "embedding/rows/row_initializer.h"
#include "tests/conformance/property_suite.h"

namespace millrace {

struct InitializerConformance {
  // Creates the initializer under test; a new instance per call.
  std::function<std::unique_ptr<RowInitializer>(const RowInitializerInput& input)> make;
  // False if different tables, seeds or ids may have equal rows, as with a constant.
  bool random = true;
};

// Returns the properties of RowInitializer: fill() sets every column to a finite value and writes
// nothing beyond the row; a row is equal in every call, for a second instance, in any order of ids
// and on several threads; a short row is the beginning of a long one; and, if random, rows differ
// between tables, seeds and ids.
std::vector<Property> initializer_properties(const InitializerConformance& conformance);

// Registers the properties as tests of `suite`, see register_properties().
//
//   [[maybe_unused]] const bool kSpread = register_initializer_conformance(
//       "Spread", {.make = [](const RowInitializerInput& input) { return make_spread(input); }});
bool register_initializer_conformance(const std::string& suite,
                                      const InitializerConformance& conformance,
                                      std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_ROWS_INITIALIZER_CONFORMANCE_H_
