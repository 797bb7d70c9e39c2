// Conformance suites: each promise of an interface is a test with its own name.
#ifndef MILLRACE_TESTS_CONFORMANCE_PROPERTY_SUITE_H_
#define MILLRACE_TESTS_CONFORMANCE_PROPERTY_SUITE_H_

#include <functional>
#include <source_location>
#include <string>
#include <thread>
#include <vector>

namespace millrace {

// One promise of an interface.
struct Property {
  std::string name;             // the name of the test, such as "KeepsItsName"
  std::function<void()> check;  // checks the promise with GoogleTest's assertions
};

// Returns a function that makes a property from a name and a check of `subject`:
//
//   const auto property = properties_of(make);
//   return {property("HasAName", check_name), property("StaysFinite", check_finite)};
template <typename Subject>
auto properties_of(const Subject& subject) {
  return [subject](const char* name, void (*check)(const Subject&)) {
    return Property{name, [=] { check(subject); }};
  };
}

// Calls `call` with each element on a separate thread, all at the same time, and waits for them.
template <typename Element, typename Call>
void call_on_threads(std::vector<Element>& elements, const Call& call) {
  std::vector<std::thread> threads;
  for (Element& element : elements) threads.emplace_back([&] { call(element); });
  for (std::thread& thread : threads) thread.join();
}

// Adds a test SUITE.NAME for each property. Returns true, so that the test of a part can register a
// suite at namespace scope, by the function of the family:
//
//   [[maybe_unused]] const bool kLion =
//       register_row_optimizer_conformance("Lion", [] { return make_lion(); });
//
// A failure names the file and line of `place`. REQUIRES: called before the tests run; `suite`
// differs from the names of all other suites and test classes.
bool register_properties(const std::string& suite, std::vector<Property> properties,
                         std::source_location place = std::source_location::current());

// Returns the names of the properties whose check fails. For the test of a suite: a part with a
// broken promise must fail the property of the promise.
std::vector<std::string> failing_properties(const std::vector<Property>& properties);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CONFORMANCE_PROPERTY_SUITE_H_
