#include "checkpoint/state/row_filter.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

RowFilterConfig config_of(const std::string& text) {
  RowFilterConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config));
  return config;
}

// Saves rows of the checkpoint's own step.
class PresentRows : public RowFilter {
 public:
  bool saves(const RowToSave& row) const override { return row.last_step == row.step; }
};

absl::StatusOr<std::unique_ptr<RowFilter>> create_present_rows(const CustomConfig&) {
  return std::make_unique<PresentRows>();
}
MILLRACE_REGISTER_ROW_FILTER(present_rows, "rows of the last step", &create_present_rows);

absl::StatusOr<std::unique_ptr<RowFilter>> create_refused(const CustomConfig&) {
  return absl::InvalidArgumentError("share is 2; it must be at most 1");
}
MILLRACE_REGISTER_ROW_FILTER(refused_rows, "a filter of a wrong number", &create_refused);

TEST(RowFilterTest, RefusesBadConfigurationsNamingTheField) {
  const auto check = [](const std::string& text) {
    return check_row_filter("run.checkpoint.row_filter", config_of(text));
  };
  EXPECT_OK(check("frequency { min_frequency: 1 } table: 'items'"));
  EXPECT_OK(check("custom { name: 'present_rows' }"));
  EXPECT_THAT(check(""), StatusIs(kInvalid, HasSubstr("run.checkpoint.row_filter: says not which "
                                                      "rows; give frequency or custom")));
  EXPECT_THAT(check("frequency {}"),
              StatusIs(kInvalid, HasSubstr("row_filter.frequency: min_frequency is missing")));
  EXPECT_THAT(check("frequency { min_frequency: 0 }"),
              StatusIs(kInvalid, HasSubstr("row_filter.frequency: min_frequency is 0")));
  EXPECT_THAT(check("frequency { min_frequency: 2 } table: ''"),
              StatusIs(kInvalid, HasSubstr("row_filter: table has an empty pattern")));
  EXPECT_THAT(check("custom { name: 'present_row' }"),
              StatusIs(kInvalid, AllOf(HasSubstr("row_filter.custom"), HasSubstr("present_row"),
                                       HasSubstr("present_rows"))));
}

TEST(RowFilterTest, FrequencySavesRowsFromItsNumberOn) {
  ASSERT_OK_AND_ASSIGN(const TableRowFilter filter,
                       create_row_filter(config_of("frequency { min_frequency: 3 }")));
  EXPECT_FALSE(filter.filter->saves({.table = "items", .id = 1, .frequency = 2}));
  EXPECT_TRUE(filter.filter->saves({.table = "items", .id = 1, .frequency = 3}));
  EXPECT_TRUE(filter.filter->saves({.table = "items", .id = 1, .frequency = 4}));
}

TEST(RowFilterTest, PatternsNameTheTables) {
  ASSERT_OK_AND_ASSIGN(const TableRowFilter all,
                       create_row_filter(config_of("frequency { min_frequency: 3 }")));
  EXPECT_TRUE(all.filters("items"));
  ASSERT_OK_AND_ASSIGN(
      const TableRowFilter some,
      create_row_filter(config_of("frequency { min_frequency: 3 } table: ['user*', 'items']")));
  EXPECT_TRUE(some.filters("items"));
  EXPECT_TRUE(some.filters("users"));
  EXPECT_FALSE(some.filters("items2"));
  EXPECT_FALSE(TableRowFilter().filters("items")) << "without a filter";
}

TEST(RowFilterTest, CustomIsTheRegisteredFilter) {
  ASSERT_OK_AND_ASSIGN(const TableRowFilter filter,
                       create_row_filter(config_of("custom { name: 'present_rows' }")));
  EXPECT_TRUE(filter.filter->saves({.last_step = 7, .step = 7}));
  EXPECT_FALSE(filter.filter->saves({.last_step = 6, .step = 7}));
  EXPECT_THAT(create_row_filter(config_of("custom { name: 'refused_rows' }")),
              StatusIs(kInvalid, HasSubstr("row filter \"refused_rows\": share is 2")));
}

}  // namespace
}  // namespace millrace
