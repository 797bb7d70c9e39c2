#include "tests/conformance/property_suite.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <exception>
#include <utility>

namespace millrace {
namespace {

class PropertyTest : public testing::Test {
 public:
  explicit PropertyTest(std::function<void()> check) : check_(std::move(check)) {}
  void TestBody() override { check_(); }

 private:
  const std::function<void()> check_;
};

bool fails(const Property& property) {
  testing::TestPartResultArray results;
  {
    // Properties may check on other threads.
    testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &results);
    try {
      property.check();
    } catch (const std::exception&) {  // as LibTorch throws
      return true;
    }
  }
  for (int i = 0; i < results.size(); ++i) {
    if (results.GetTestPartResult(i).failed()) return true;
  }
  return false;
}

}  // namespace

bool register_properties(const std::string& suite, std::vector<Property> properties,
                         std::source_location place) {
  for (Property& property : properties) {
    testing::RegisterTest(suite.c_str(), property.name.c_str(), /*type_param=*/nullptr,
                          /*value_param=*/nullptr, place.file_name(),
                          static_cast<int>(place.line()),
                          [check = std::move(property.check)] { return new PropertyTest(check); });
  }
  return true;
}

std::vector<std::string> failing_properties(const std::vector<Property>& properties) {
  std::vector<std::string> failing;
  for (const Property& property : properties) {
    if (fails(property)) failing.push_back(property.name);
  }
  return failing;
}

}  // namespace millrace
