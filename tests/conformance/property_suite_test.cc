#include "tests/conformance/property_suite.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

namespace millrace {
namespace {

using ::testing::ElementsAre;

int runs = 0;

[[maybe_unused]] const bool kCounted = register_properties("Counted", {{"Once", [] { ++runs; }},  //
                                                                       {"Again", [] { ++runs; }}});

// Returns the names of the tests of a suite, in the form of --gtest_filter. Sets `place` to their
// file and line.
std::vector<std::string> tests_of(const std::string& suite, std::string* place) {
  std::vector<std::string> names;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& tests = *all.GetTestSuite(s);
    if (tests.name() != suite) continue;
    for (int t = 0; t < tests.total_test_count(); ++t) {
      names.emplace_back(tests.GetTestInfo(t)->name());
      *place = tests.GetTestInfo(t)->file();
    }
  }
  return names;
}

TEST(PropertySuiteTest, EachPropertyIsATestOfTheCallersFile) {
  std::string place;
  EXPECT_THAT(tests_of("Counted", &place), ElementsAre("Once", "Again"));
  EXPECT_THAT(place, testing::HasSubstr("property_suite_test.cc"));
}

TEST(PropertySuiteTest, NamesThePropertiesThatFail) {
  const std::vector<Property> properties = {
      {"Holds", [] { EXPECT_TRUE(true); }},
      {"Fails", [] { EXPECT_TRUE(false); }},
      {"FailsAtOnce", [] { FAIL(); }},
      {"Throws", [] { throw std::runtime_error("as LibTorch does"); }},
      {"FailsOnAThread", [] { std::thread([] { ADD_FAILURE(); }).join(); }},
      {"FailsOften",
       [] {
         for (int i = 0; i < 3; ++i) ADD_FAILURE();
       }},
  };
  EXPECT_THAT(failing_properties(properties),
              ElementsAre("Fails", "FailsAtOnce", "Throws", "FailsOnAThread", "FailsOften"));
}

// Registered tests run after the tests above: a property that did not run fails the program.
class EachRan : public testing::Environment {
 public:
  void TearDown() override {
    if (GTEST_FLAG_GET(filter) == "*") {
      EXPECT_EQ(runs, 2);
    }
  }
};
[[maybe_unused]] const testing::Environment* const kEachRan =
    testing::AddGlobalTestEnvironment(new EachRan);

}  // namespace
}  // namespace millrace
