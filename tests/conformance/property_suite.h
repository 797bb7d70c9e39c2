// Conformance suites: the promises of an interface, each as a test with a name of its own.
#ifndef MILLRACE_TESTS_CONFORMANCE_PROPERTY_SUITE_H_
#define MILLRACE_TESTS_CONFORMANCE_PROPERTY_SUITE_H_

#include <functional>
#include <source_location>
#include <string>
#include <vector>

namespace millrace {

// One promise of an interface.
struct Property {
  std::string name;             // of its test, such as "KeepsItsName"
  std::function<void()> check;  // checks the promise with GoogleTest's assertions
};

// Adds a test SUITE.NAME for each property. Returns true, so that the test of a part registers a
// suite at namespace scope, by the function of its family:
//
//   [[maybe_unused]] const bool kLion =
//       register_row_optimizer_conformance("Lion", [] { return make_lion(); });
//
// A failure names the file and line of `place`. REQUIRES: called before the tests run; `suite` is
// the name of no other suite, and of no class of tests.
bool register_properties(const std::string& suite, std::vector<Property> properties,
                         std::source_location place = std::source_location::current());

// Returns the names of the properties whose check fails. For the test of a suite: a part that
// breaks one promise must fail the property of that promise.
std::vector<std::string> failing_properties(const std::vector<Property>& properties);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CONFORMANCE_PROPERTY_SUITE_H_
