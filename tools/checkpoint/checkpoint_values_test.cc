#include "tools/checkpoint/checkpoint_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/testing/rows_checkpoint_testing.h"
#include "checkpoint/testing/small_checkpoint_testing.h"
#include "io/transform/hash_functions.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class CheckpointValuesTest : public testing::Test {
 protected:
  void SetUp() override {
    const RowsCheckpoint content = {
        .rows = {{7, {{0.1f, NAN}, 3, 4, 5}}, {-9, {{1, 2}, 30, 40, 50}}},
        .dense = {{"b", {0.5f, -1, 3}}, {"none", {}}}};
    ASSERT_OK(write_rows_checkpoint(files_, "c", content));
    ASSERT_OK_AND_ASSIGN(content_, CheckpointContent::open(files_, "c/step-00000001"));
  }

  MemoryFileSystem files_;
  std::unique_ptr<CheckpointContent> content_;
};

TEST_F(CheckpointValuesTest, Tensors) {
  ASSERT_OK_AND_ASSIGN(const std::string text, tensor_text(*content_, "b", 10));
  EXPECT_EQ(text, "b F32 [3]\n0.5\n-1\n3\n");
  ASSERT_OK_AND_ASSIGN(const std::string some, tensor_text(*content_, "b", 1));
  EXPECT_EQ(some, "b F32 [3]\n0.5\nand 2 more lines\n");
  ASSERT_OK_AND_ASSIGN(const std::string none, tensor_text(*content_, "none", 1));
  EXPECT_EQ(none, "none F32 [0]\n");
  ASSERT_OK_AND_ASSIGN(const std::string json, tensor_json(*content_, "b"));
  EXPECT_EQ(Json::parse(json),
            Json::parse(R"({"name": "b", "dtype": "F32", "shape": [3], "values": [0.5, -1, 3]})"));
}

TEST_F(CheckpointValuesTest, WholeTables) {
  ASSERT_OK_AND_ASSIGN(const std::string ids, tensor_json(*content_, "table/items/ids"));
  EXPECT_EQ(Json::parse(ids)["values"].size(), 2);
  EXPECT_TRUE(Json::parse(ids)["values"][0].is_number_integer());
  ASSERT_OK_AND_ASSIGN(const std::string text, tensor_text(*content_, "table/items/weights", 9));
  EXPECT_THAT(text, HasSubstr("\n1 2\n"));
  ASSERT_OK_AND_ASSIGN(const std::string weights, tensor_json(*content_, "table/items/weights"));
  EXPECT_THAT(weights, HasSubstr("\"NaN\"")) << "JSON has no such number";
}

TEST_F(CheckpointValuesTest, BooleansAndSixteenBits) {
  ASSERT_OK(write_small_checkpoint(files_, "s", {.step = 1}));
  ASSERT_OK_AND_ASSIGN(const auto content, CheckpointContent::open(files_, "s/step-00000001"));
  ASSERT_OK_AND_ASSIGN(const std::string on, tensor_json(*content, "on"));
  for (const Json& value : Json::parse(on)["values"]) EXPECT_TRUE(value.is_boolean());
  ASSERT_OK_AND_ASSIGN(const std::string weights, tensor_json(*content, "table/items/weights"));
  EXPECT_EQ(Json::parse(weights)["dtype"], "BF16");
  EXPECT_EQ(Json::parse(weights)["values"].size(), 15);
}

TEST_F(CheckpointValuesTest, Rows) {
  ASSERT_OK_AND_ASSIGN(const std::string json, rows_json(*content_, "items", {{7, 8, -9}}));
  EXPECT_EQ(Json::parse(json), Json::parse(R"({"table": "items", "missing": [8], "rows": [
              {"id": 7, "weights": [0.10000000149011612, "NaN"], "slot/sum": [3], "frequency": 4,
               "last_step": 5},
              {"id": -9, "weights": [1, 2], "slot/sum": [30], "frequency": 40,
               "last_step": 50}]})"));
  ASSERT_OK_AND_ASSIGN(const std::string text, rows_text(*content_, "items", {{8, 7}}));
  EXPECT_THAT(text, HasSubstr("id 7\n  weights: 0.100000001 nan\n  slot/sum: 3\n"
                              "  frequency: 4\n  last_step: 5\nid 8 has no row\n"));
}

// The features are in the configuration in the manifest.
TEST_F(CheckpointValuesTest, IdsThatAreText) {
  CheckpointManifest manifest;
  manifest.set_config("feature { name: 'items' transform { hash { seed: 5 } } }");
  const auto hash = [](absl::string_view text) {
    return static_cast<int64_t>(hash_bytes(HashTransform::XXH3, text, 5));
  };
  ASSERT_OK_AND_ASSIGN(AskedRows asked,
                       asked_rows(manifest, "items", {"7", "ring", "-9"}, false, files_));
  EXPECT_THAT(asked.ids, testing::ElementsAre(7, -9, hash("ring")));
  ASSERT_OK_AND_ASSIGN(const std::string text, rows_text(*content_, "items", asked));
  EXPECT_THAT(text, HasSubstr(absl::StrCat("id ", hash("ring"), " (\"ring\") has no row\n")));
  ASSERT_OK_AND_ASSIGN(const std::string json, rows_json(*content_, "items", asked));
  EXPECT_EQ(Json::parse(json)["ids"], Json::object({{"ring", hash("ring")}}));
  ASSERT_OK_AND_ASSIGN(asked, asked_rows(manifest, "items", {"7"}, /*text=*/true, files_));
  EXPECT_THAT(asked.ids, testing::ElementsAre(hash("7")));
  EXPECT_THAT(asked_rows(manifest, "users", {"ring"}, false, files_).status(),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("\"ring\" is no 64-bit id, and no feature of table users")));
}

TEST_F(CheckpointValuesTest, WhatIsNotThere) {
  EXPECT_THAT(tensor_text(*content_, "c", 1).status(), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(rows_json(*content_, "item", {{1}}).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("did you mean \"items\"")));
}

}  // namespace
}  // namespace millrace
