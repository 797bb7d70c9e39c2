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

// Returns the promises of RowFilter. The result for a row depends on the row alone: it is the same
// in every call, in a second instance, in any order of rows and on several threads. It depends on
// the text of the table's name and not on the location of the text in memory. Every number is
// valid, however large or small, and so is a last step after the checkpoint.
std::vector<Property> row_filter_properties(const RowFilterConformance& conformance);

// Registers the properties as tests of `suite`, see register_properties().
//
//   [[maybe_unused]] const bool kEvenIds =
//       register_row_filter_conformance("EvenIds", {.make = [] { return make_even_ids(); }});
bool register_row_filter_conformance(const std::string& suite,
                                     const RowFilterConformance& conformance,
                                     std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_STATE_ROW_FILTER_CONFORMANCE_H_
