// The conformance suite of admissions.
#ifndef MILLRACE_EMBEDDING_POLICIES_ADMISSION_CONFORMANCE_H_
#define MILLRACE_EMBEDDING_POLICIES_ADMISSION_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "embedding/policies/admission.h"
#include "embedding/policies/admission_registry.h"
#include "tests/conformance/property_suite.h"

namespace millrace {

struct AdmissionConformance {
  // Creates the admission under test; a new instance per call.
  std::function<std::unique_ptr<Admission>(const AdmissionInput& input)> make;
  // False if counts are estimates, as in a sketch. A forgotten id may then keep its counts, and
  // counts may depend on the ids of the same call.
  bool exact = true;
};

// Returns the properties of Admission: answers are equal in every call, for a second instance with
// the same counts and on several threads; the order of ids within a call of count() has no effect;
// admits_all() implies admits(); clear() and clone() have their documented effect; state() has the
// documented form, and an instance with this state continues in the same way; states of ranks that
// counted different ids can be joined; states of another kind and damaged states are refused
// without a change; and, if exact, the number of calls per step has no effect and a forgotten id
// leaves no trace.
std::vector<Property> admission_properties(const AdmissionConformance& conformance);

// Registers the properties as tests of `suite`, see register_properties().
//
//   [[maybe_unused]] const bool kEvenIds = register_admission_conformance(
//       "EvenIds", {.make = [](const AdmissionInput& input) { return make_even_ids(input); }});
bool register_admission_conformance(const std::string& suite,
                                    const AdmissionConformance& conformance,
                                    std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_EMBEDDING_POLICIES_ADMISSION_CONFORMANCE_H_
