// The conformance suite of transforms.
#ifndef MILLRACE_TESTS_CONFORMANCE_TRANSFORM_CONFORMANCE_H_
#define MILLRACE_TESTS_CONFORMANCE_TRANSFORM_CONFORMANCE_H_

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "io/transform/transform.h"
#include "tests/conformance/property_suite.h"

namespace millrace {

struct TransformConformance {
  // Creates the transform under test, a new object at each call. The suite prepares the object.
  std::function<std::unique_ptr<Transform>()> make;
  // Returns the file system of prepare().
  std::function<FileSystem&()> files = []() -> FileSystem& { return FileSystem::local(); };
};

// Returns the promises of Transform, over texts, integers and numbers as takes() says, in columns
// with one value a row and with lists, with and without weights: results of the type of gives(); as
// many rows as before, with valid offsets, values and weights; finite numbers; the same results for
// any division of the rows into calls, without rows, at every call, for a second instance and on
// several threads; and bad rows that are added to FeatureInput::bad, or are a DataLoss error with
// file, row and column if bad rows may not be skipped.
std::vector<Property> transform_properties(const TransformConformance& conformance);

// Registers transform_properties() as tests of `suite`, see register_properties(). The formula of a
// transform needs separate tests, see transform_testing.h.
//
//   [[maybe_unused]] const bool kSquareRoot = register_transform_conformance(
//       "SquareRoot", {.make = [] { return std::make_unique<SquareRoot>(); }});
bool register_transform_conformance(const std::string& suite,
                                    const TransformConformance& conformance,
                                    std::source_location place = std::source_location::current());

}  // namespace millrace

#endif  // MILLRACE_TESTS_CONFORMANCE_TRANSFORM_CONFORMANCE_H_
