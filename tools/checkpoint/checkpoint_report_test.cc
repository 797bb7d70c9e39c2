#include "tools/checkpoint/checkpoint_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/content_digests.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/testing/rows_checkpoint_testing.h"
#include "checkpoint/testing/small_checkpoint_testing.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class CheckpointReportTest : public testing::Test {
 protected:
  std::string path(int64_t step) { return "c/step-0000000" + std::to_string(step); }

  void write(const SmallCheckpoint& options) {
    ASSERT_OK(write_small_checkpoint(files_, "c", options));
  }
  // Writes a delta on an existing step.
  void write_delta(int64_t step, int64_t on, const std::string& digest = "") {
    CheckpointManifest::Base base;
    ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::open(files_, path(on)));
    const CheckpointManifest& manifest = reader->manifest();
    base.set_step(on);
    base.set_digest(digest.empty() ? manifest.digest() : digest);
    base.set_depth(manifest.has_base() ? manifest.base().depth() + 1 : 1);
    write({.step = step, .rows = 3, .base = base});
  }
  std::vector<ListedCheckpoint> list() {
    auto listed = list_checkpoints(files_, "c");
    EXPECT_OK(listed);
    check_bases(*listed);
    return *std::move(listed);
  }
  std::unique_ptr<CheckpointReader> open(int64_t step) {
    auto reader = CheckpointReader::open(files_, path(step));
    EXPECT_OK(reader);
    return *std::move(reader);
  }

  MemoryFileSystem files_;
};

TEST_F(CheckpointReportTest, ListHasALineForEach) {
  write({.step = 1, .metrics = {{"eval/auc", 0.75}}});
  write_delta(2, 1);
  const std::string text = list_text(list());
  EXPECT_THAT(
      text, AllOf(HasSubstr("full"), HasSubstr("eval/auc 0.75"), HasSubstr("complete, not read")));
  const Json json = Json::parse(list_json(list()));
  ASSERT_EQ(json.size(), 2);
  EXPECT_EQ(json[0]["step"], 1);
  EXPECT_EQ(json[0]["path"], path(1));
  EXPECT_EQ(json[0]["status"], "ok");
  EXPECT_EQ(json[0]["error"], "");
  EXPECT_EQ(json[0]["size"], total_bytes(open(1)->manifest()));
  EXPECT_EQ(json[0]["base"], nullptr);
  EXPECT_EQ(json[0]["metrics"]["eval/auc"], 0.75);
  EXPECT_EQ(json[0]["parts"][0], "dense");
  EXPECT_EQ(json[1]["base"]["step"], 1);
  EXPECT_EQ(json[1]["base"]["depth"], 1);
}

TEST_F(CheckpointReportTest, ListSaysWhatIsDamaged) {
  write({.step = 1});
  write_delta(2, 1);
  write_delta(3, 2);
  write({.step = 4});
  files_.put(path(1) + "/manifest.json", "{}");
  const auto listed = list();
  ASSERT_EQ(listed.size(), 4);
  EXPECT_THAT(listed[0].status, StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(listed[1].status, StatusIs(absl::StatusCode::kDataLoss,
                                         HasSubstr("step-00000002 is a delta on step 1, which")));
  EXPECT_THAT(listed[2].status,
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is a delta on step 2, which")));
  EXPECT_OK(listed[3].status);
  EXPECT_THAT(list_text(listed), HasSubstr("damaged: c/step-00000003"));
  const Json json = Json::parse(list_json(listed));
  EXPECT_EQ(json[0]["status"], "damaged");
  EXPECT_THAT(json[0]["error"].get<std::string>(), HasSubstr("manifest.json"));
  EXPECT_FALSE(json[0].contains("size"));
  EXPECT_EQ(json[3]["status"], "ok");
}

TEST_F(CheckpointReportTest, ADeltaOnAnotherCheckpointIsDamaged) {
  write({.step = 1});
  write_delta(2, 1, std::string(32, '0'));
  EXPECT_THAT(list()[1].status, StatusIs(absl::StatusCode::kDataLoss,
                                         HasSubstr("c/step-00000001 is another checkpoint")));
}

TEST_F(CheckpointReportTest, AnEmptyFolder) {
  EXPECT_EQ(list_text({}), "no checkpoints\n");
  EXPECT_EQ(Json::parse(list_json({})), Json::array());
}

TEST_F(CheckpointReportTest, ShowAsJson) {
  write({.step = 3, .rows = 7, .world_size = 2, .metrics = {{"auc", 0.5}, {"bad", NAN}}});
  const auto reader = open(3);
  const Json json = Json::parse(show_json(*reader));
  EXPECT_EQ(json["progress"]["step"], 3);
  EXPECT_EQ(json["progress"]["examples"], 300);
  EXPECT_EQ(json["world_size"], 2);
  EXPECT_EQ(json["metrics"]["auc"], 0.5);
  EXPECT_EQ(json["metrics"]["bad"], nullptr);
  EXPECT_EQ(json["base"], nullptr);
  ThreadPool threads(1);
  ASSERT_OK_AND_ASSIGN(const auto digests,
                       compute_content_digests(*reader, DigestOf::kEverything, threads));
  EXPECT_EQ(json["content_digests"]["dense"], format_digest(digests.at("dense")));
  EXPECT_EQ(json["content_digest"], format_digest(combined_content_digest(reader->manifest())));
  const Json& items = json["tables"]["items"];
  EXPECT_EQ(items["rows"], 7);
  EXPECT_EQ(items["rows_here"], 7);
  EXPECT_EQ(items["digest"], format_digest(digests.at("table/items")));
  EXPECT_EQ(items["slots"], Json::parse(R"([{"name": "sum", "size": 2}])"));
  ASSERT_EQ(json["files"].size(), reader->manifest().files_size());
  for (int i = 0; i < reader->manifest().files_size(); ++i) {
    EXPECT_EQ(json["files"][i]["name"], reader->manifest().files(i).name());
    EXPECT_EQ(json["files"][i]["size"], reader->manifest().files(i).size());
  }
}

// Checks that every tensor is at its stated position.
TEST_F(CheckpointReportTest, ShowNamesAllTensors) {
  write({.step = 1});
  const auto reader = open(1);
  const Json json = Json::parse(show_json(*reader));
  std::vector<std::string> dense;
  for (const Json& tensor : json["tensors"]) {
    ASSERT_OK_AND_ASSIGN(const std::string file,
                         read_file(files_, path(1) + "/" + tensor["file"].get<std::string>()));
    EXPECT_LE(tensor["offset"].get<size_t>() + tensor["size"].get<size_t>(), file.size());
    const std::string name = tensor["name"];
    if (tensor["file"].get<std::string>().starts_with("dense")) dense.push_back(name);
    if (name != "fc.weight") continue;
    EXPECT_EQ(tensor["dtype"], "F32");
    EXPECT_EQ(tensor["shape"], Json({3, 2}));
    EXPECT_EQ(tensor["size"], 24);
  }
  EXPECT_THAT(dense, ElementsAre("fc.weight", "optimizer/fc.weight/exp_avg", "on"));
}

TEST_F(CheckpointReportTest, ShowForPeople) {
  write({.step = 1});
  write_delta(2, 1);
  const std::string text = show_text(*open(1));
  EXPECT_THAT(text, AllOf(HasSubstr("step 1, 100 examples"), HasSubstr("(dense, dense_optimizer"),
                          HasSubstr("items"), HasSubstr("sum[2]"), HasSubstr("[3, 2]"),
                          HasSubstr("table-items-00001-of-00002.safetensors")));
  EXPECT_THAT(text, Not(HasSubstr("delta")));
  EXPECT_THAT(show_text(*open(2)), AllOf(HasSubstr("delta on    step 1"), HasSubstr("tombstones")));
}

TEST_F(CheckpointReportTest, TheBestScore) {
  ASSERT_OK(write_small_checkpoint(files_, "c", {.step = 1}));
  ASSERT_OK(write_small_checkpoint(files_, "c", {.step = 2, .best_step = 1}));
  EXPECT_EQ(Json::parse(show_json(*open(1)))["best"], nullptr);
  EXPECT_THAT(show_text(*open(1)), Not(HasSubstr("best")));
  EXPECT_EQ(Json::parse(show_json(*open(2)))["best"],
            (Json{{"of", "eval/auc, higher is better"}, {"score", 0.5}, {"step", 1}}));
  EXPECT_THAT(show_text(*open(2)),
              HasSubstr("best score  0.5 at step 1 (eval/auc, higher is better)"));
}

TEST_F(CheckpointReportTest, RunsThatFinished) {
  for (const bool finished : {false, true}) {
    const int64_t step = finished ? 2 : 1;
    ASSERT_OK(write_rows_checkpoint(files_, "c", {.step = step, .finished = finished}));
    EXPECT_EQ(Json::parse(show_json(*open(step)))["finished"], finished);
    EXPECT_EQ(Json::parse(list_json(list())).back()["finished"], finished);
    EXPECT_EQ(show_text(*open(step)).find("; finished") != std::string::npos, finished);
  }
}

TEST(PartsTextTest, Words) {
  CheckpointManifest manifest;
  EXPECT_EQ(parts_text(manifest), "none");
  manifest.add_parts(CheckpointManifest::DENSE);
  EXPECT_EQ(parts_text(manifest), "model");
  manifest.add_parts(CheckpointManifest::ROW_STATE);
  EXPECT_EQ(parts_text(manifest), "dense+row_state");
}

}  // namespace
}  // namespace millrace
