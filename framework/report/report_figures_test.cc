#include "framework/report/report_figures.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "framework/report/numbered_reports_testing.h"

namespace millrace {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

TEST(ReportFiguresTest, ValuesAreThoseOfTheMembers) {
  const Progress progress = {.step = 7, .elapsed = absl::Milliseconds(1500)};
  EXPECT_EQ(value_of(kProgressFigures[0], progress), FigureValue(int64_t{7}));
  EXPECT_EQ(number_of(kProgressFigures[0], progress), 7);
  EXPECT_EQ(value_of(kProgressFigures.back(), progress), FigureValue(1.5));
  Report report;
  report.examples_per_second = 2.5;
  EXPECT_EQ(value_of(kRateFigures[0], report), FigureValue(2.5));
}

// Checks of the common properties of the figures in all lists.
class Checks {
 public:
  Checks() {
    const absl::StatusOr<std::string> page = read_file(FileSystem::local(), "docs/sinks.md");
    EXPECT_OK(page.status());
    page_ = page.value_or("");
  }
  // Checks `figures`; `part` precedes their names.
  template <typename Part>
  void check(const std::string& part, absl::Span<const Figure<Part>> figures) {
    for (const Figure<Part>& figure : figures) {
      const std::string name = part + figure.name;
      EXPECT_TRUE(names_.insert(name).second) << name;
      EXPECT_TRUE(paths_.insert(part + figure.json).second) << name;
      const std::string end = absl::StrCat(figure.name, "`");
      EXPECT_THAT(page_, AnyOf(HasSubstr("`" + end), HasSubstr("/" + end), HasSubstr("_" + end)));
      check_family(name, figure.family, figure.label);
    }
  }

 private:
  void check_family(const std::string& name, const MetricFamily& family, const char* label) {
    EXPECT_TRUE(samples_.emplace(family.name, label).second) << name;
    const bool counter = family.type == MetricFamily::Type::kCounter;
    EXPECT_EQ(std::string(family.name).ends_with("_total"), counter) << name;
    const auto [help, first] = helps_.emplace(family.name, family.help);
    EXPECT_EQ(help->second, family.help) << name << ": the help of its family";
    EXPECT_THAT(page_, HasSubstr(std::string("`") + family.name));
  }

  std::string page_;
  std::set<std::string> names_, paths_;
  std::set<std::pair<std::string, std::string>> samples_;
  std::map<std::string, std::string> helps_;
};

TEST(ReportFiguresTest, NamesAreDistinctAndDocumentedAndTypesFitThem) {
  Checks checks;
  checks.check("", kProgressFigures);
  checks.check("", kRateFigures);
  checks.check("table/", kTableFigures);
  checks.check("ranks/", kRankFigures);
  checks.check("process/", kProcessFigures);
  checks.check("eval/", kEvaluationFigures);
}

TEST(ReportFiguresTest, NumberedReportsAreExactInFloat32) {
  for (const std::vector<double>& numbers :
       {numbered_report().numbers, numbered_evaluation().numbers}) {
    for (const double number : numbers) EXPECT_EQ(static_cast<float>(number), number);
  }
}

}  // namespace
}  // namespace millrace
