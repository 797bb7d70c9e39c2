// The conformance suite of row filters.
#ifndef MILLRACE_CHECKPOINT_STATE_ROW_FILTER_CONFORMANCE_H_
#define MILLRACE_CHECKPOINT_STATE_ROW_FILTER_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "checkpoint/state/row_filter.h"
#include "tests/conformance/property_suite.h"

namespace millrace {

struct RowFilterConformance {
  // Makes the filter under test, a new one at each call.
  std::function<std::unique_ptr<RowFilter>()> make;
};

// Returns the promises of RowFilter: the result for a row depends on the row alone, so it is the
// same at every call, for a second instance, in any order of rows and on several threads; it
// depends on the name of the table and not on where the name is; and no number is too large or too
// small, nor is a last step after the checkpoint.
std::vector<Property> row_filter_properties(const RowFilterConformance& conformance);

// Registers them as tests of `suite`, see register_properties().
//
//   [[maybe_unused]] const bool kEvenIds =
//       register_row_filter_conformance("EvenIds", {.make = [] { return make_even_ids(); }});
bool register_row_filter_conformance(const std::string& suite,
                                     const RowFilterConformance& conformance,
                                     std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_ROW_FILTER_CONFORMANCE_H_
