// Checks the promises of row filters for each kind of RowFilterConfig, and that the suite finds a
// filter that breaks one.

#include "checkpoint/state/row_filter_conformance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <thread>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

// A built-in kind, behind the interface of registered filters.
class BuiltIn : public RowFilter {
 public:
  explicit BuiltIn(const RowFilterConfig& config) {
    absl::StatusOr<TableRowFilter> filter = create_row_filter(config);
    EXPECT_OK(filter);
    filter_ = filter->filter;
  }
  bool saves(const RowToSave& row) const override { return filter_->saves(row); }

 private:
  std::shared_ptr<const RowFilter> filter_;  // shared with the copies of a TableRowFilter
};

RowFilterConformance frequency(int64_t min_frequency) {
  return {.make = [=] {
    RowFilterConfig config;
    config.mutable_frequency()->set_min_frequency(min_frequency);
    return std::make_unique<BuiltIn>(config);
  }};
}

[[maybe_unused]] const bool kFrequency = register_row_filter_conformance("Frequency", frequency(5));
[[maybe_unused]] const bool kAnyFrequency =
    register_row_filter_conformance("AnyFrequency", frequency(1));

// Saves frequent rows, and breaks the promise that `fault` names.
class FaultyFilter : public RowFilter {
 public:
  enum class Fault {
    kNone,
    kCountsQuestions,
    kDiffersBetweenThreads,
    kReadsBehindTheName,
    kFailsBeforeTheLastStep,
  };
  explicit FaultyFilter(Fault fault) : fault_(fault) {}

  bool saves(const RowToSave& row) const override {
    const bool frequent = row.frequency >= 5;
    switch (fault_) {
      case Fault::kNone: break;
      case Fault::kCountsQuestions: return ++questions_ % 3 == 0;
      case Fault::kDiffersBetweenThreads:
        return frequent == (std::this_thread::get_id() == made_on_);
      case Fault::kReadsBehindTheName: return row.table.data()[row.table.size()] == '\0';
      case Fault::kFailsBeforeTheLastStep:
        if (row.step < row.last_step) throw std::out_of_range("step");
    }
    return frequent;
  }

 private:
  const Fault fault_;
  const std::thread::id made_on_ = std::this_thread::get_id();
  mutable std::atomic<int64_t> questions_ = 0;
};

std::vector<std::string> failing(FaultyFilter::Fault fault) {
  return failing_properties(
      row_filter_properties({.make = [=] { return std::make_unique<FaultyFilter>(fault); }}));
}

TEST(RowFilterConformanceTest, EachFaultFailsItsProperty) {
  using Fault = FaultyFilter::Fault;
  EXPECT_THAT(failing(Fault::kNone), IsEmpty());
  EXPECT_THAT(failing(Fault::kCountsQuestions),
              IsSupersetOf({"IsTheSameAtEveryCall", "IsTheSameOnSeveralThreads"}));
  EXPECT_THAT(failing(Fault::kDiffersBetweenThreads), ElementsAre("IsTheSameOnSeveralThreads"));
  EXPECT_THAT(failing(Fault::kReadsBehindTheName), ElementsAre("ReadsTheNameAlone"));
  EXPECT_THAT(failing(Fault::kFailsBeforeTheLastStep), ElementsAre("TakesExtremeValues"));
}

}  // namespace
}  // namespace millrace
