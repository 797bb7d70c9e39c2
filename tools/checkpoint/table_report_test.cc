#include "tools/checkpoint/table_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/testing/rows_checkpoint_testing.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

class TableReportTest : public testing::Test {
 protected:
  absl::StatusOr<TableUse> use_of(RowsCheckpoint content, int64_t top) {
    content.step = 20;
    const std::string folder = absl::StrCat("c", ++folders_);
    EXPECT_OK(write_rows_checkpoint(files_, folder, content));
    auto opened = CheckpointContent::open(files_, folder + "/step-00000020");
    if (!opened.ok()) return opened.status();
    return read_table_use(**opened, "items", top);
  }

  MemoryFileSystem files_;
  int folders_ = 0;
};

TEST_F(TableReportTest, HottestIdsAndAges) {
  // Weights, sum, frequency, last step.
  const RowsCheckpoint content = {.rows = {{-9, {{1, 2}, 0, 40, 20}},
                                           {7, {{1, 2}, 0, 5, 19}},
                                           {8, {{1, 2}, 0, 5, 10}},
                                           {9, {{1, 2}, 0, 0, 9}}}};
  ASSERT_OK_AND_ASSIGN(const TableUse use, use_of(content, 2));
  EXPECT_EQ(use.rows, 4);
  EXPECT_EQ(use.occurrences, 50);
  const std::string text = table_use_text(use);
  EXPECT_EQ(text,
            "table items: 4 rows at step 20, 50 occurrences\n"
            "hottest ids  occurrences    share\n"
            "-9                    40  80.00 %\n"
            "7                      5  10.00 %\n"
            "last occurrence      rows    share\n"
            "in this step            1  25.00 %\n"
            "1 step ago              1  25.00 %\n"
            "up to 10 steps ago      1  25.00 %\n"
            "up to 100 steps ago     1  25.00 %\n");
  EXPECT_EQ(nlohmann::json::parse(table_use_json(use)),
            nlohmann::json::parse(R"({"table": "items", "step": 20, "rows": 4, "occurrences": 50,
                "hottest": [{"id": -9, "frequency": 40}, {"id": 7, "frequency": 5}],
                "ages": [{"steps": 0, "rows": 1}, {"steps": 1, "rows": 1},
                         {"steps": 10, "rows": 1}, {"steps": 100, "rows": 1}]})"));
}

TEST_F(TableReportTest, TablesWithoutRowsOrCounts) {
  ASSERT_OK_AND_ASSIGN(const TableUse none, use_of({}, 3));
  EXPECT_EQ(none.rows, 0);
  EXPECT_THAT(table_use_text(none), HasSubstr("0 rows"));
  EXPECT_THAT(use_of({.rows = test_rows(3, 2, 1), .row_state = false}, 3),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("frequency")));
}

}  // namespace
}  // namespace millrace
