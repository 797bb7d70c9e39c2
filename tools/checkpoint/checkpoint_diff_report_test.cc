#include "tools/checkpoint/checkpoint_diff_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace millrace {
namespace {

using Json = nlohmann::json;

CheckpointDiff different() {
  CheckpointDiff diff;
  diff.progress = {"step: 1 → 2"};
  diff.job = {"seed: 1 → 2"};
  diff.parts = {"ROW_STATE: only in a"};
  diff.equal_dense = 4;
  diff.dense.push_back({"gone", "F32 [1]", ""});
  diff.dense.push_back({"new", "", "F32 [2]"});
  diff.dense.push_back({"other", "F32 [1]", "F32 [2]"});
  diff.dense.push_back({"values", "F32 [3]", "F32 [3]", {2, 0.25, 1}});
  TableDifference items{"items"};
  items.rows_a = 10;
  items.rows_b = 11;
  items.added = 3;
  items.removed = 2;
  items.changed = 1;
  items.unchanged = 7;
  items.columns.push_back({"weights", "F32 × 2", "F32 × 2", 1, {1, 1e-6, 0}});
  items.columns.push_back({"slot/sum", "F32 × 1", ""});
  diff.tables.push_back(items);
  TableDifference users{"users"};
  users.rows_a = users.rows_b = users.unchanged = 5;
  diff.tables.push_back(users);
  TableDifference old{"old"};
  old.in_b = false;
  old.rows_a = old.removed = 9;
  diff.tables.push_back(old);
  return diff;
}

TEST(CheckpointDiffReportTest, ForPeople) {
  EXPECT_EQ(diff_text(different()),
            "progress: step: 1 → 2\n"
            "job: seed: 1 → 2\n"
            "parts: ROW_STATE: only in a\n"
            "gone: only in a (F32 [1])\n"
            "new: only in b (F32 [2])\n"
            "other: F32 [1] → F32 [2]\n"
            "values: 2 numbers differ, by 0.25 at most; 1 are not a number\n"
            "dense tensors that are equal: 4\n"
            "table items: 10 → 11 rows: 3 added, 2 removed, 1 changed, 7 unchanged\n"
            "  weights: 1 rows changed: 1 numbers differ, by 1e-06 at most\n"
            "  slot/sum: only in a (F32 × 1)\n"
            "table users: equal, 5 rows\n"
            "table old: rows only in a: 9\n"
            "different\n");
}

TEST(CheckpointDiffReportTest, Equal) {
  EXPECT_EQ(diff_text(CheckpointDiff()), "equal\n");
  EXPECT_EQ(Json::parse(diff_json(CheckpointDiff()))["equal"], true);
}

TEST(CheckpointDiffReportTest, AsJson) {
  CheckpointDiff diff = different();
  diff.dense[3].values.max_abs = std::numeric_limits<double>::infinity();
  const Json json = Json::parse(diff_json(diff));
  EXPECT_EQ(json["equal"], false);
  EXPECT_EQ(json["job"][0], "seed: 1 → 2");
  EXPECT_EQ(json["dense"][0]["b"], nullptr);
  EXPECT_EQ(json["dense"][3]["values"]["changed"], 2);
  EXPECT_EQ(json["dense"][3]["values"]["max_abs"], nullptr) << "which is not finite";
  EXPECT_EQ(json["tables"]["items"]["added"], 3);
  EXPECT_EQ(json["tables"]["items"]["columns"][0]["changed_rows"], 1);
  EXPECT_EQ(json["tables"]["users"]["equal"], true);
  EXPECT_EQ(json["tables"]["old"]["in_b"], false);
}

}  // namespace
}  // namespace millrace
