#include "tools/checkpoint/checkpoint_forget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/file_system.h"
#include "base/status_matchers.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/directory_lock.h"
#include "checkpoint/inspect/checkpoint_content.h"
#include "checkpoint/testing/rows_checkpoint_testing.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

class CheckpointForgetTest : public testing::Test {
 protected:
  std::string folder(const std::string& name) const { return directory_ + "/" + name; }
  static std::string step(int64_t number) { return absl::StrCat("step-0000000", number); }

  // Writes a checkpoint of step 1, and a delta of step 2, in which rows 3 and 4 are changed, 5 is
  // new and 2 has gone, without the rows of `without`.
  void write(const std::string& name, const std::vector<int64_t>& without = {}) {
    RowsCheckpoint whole = {.step = 1, .rows = test_rows(4, 2, 1)};
    RowsCheckpoint delta = {.step = 2, .rows = test_rows(5, 2, 1)};
    delta.rows.erase(2);
    for (const int64_t id : {3, 4, 5}) {
      delta.rows[id].weights[0] += 1;
      delta.rows[id].last_step = 2;
    }
    for (auto& [id, row] : whole.rows) row.last_step = 1;
    delta.rows[1] = whole.rows[1];
    for (const int64_t id : without) {
      whole.rows.erase(id);
      delta.rows.erase(id);
    }
    ASSERT_OK(write_rows_checkpoint(files_, folder(name), whole));
    ASSERT_OK(write_rows_checkpoint(files_, folder(name), delta, &whole));
  }

  // Returns the digests and rows of a checkpoint that verifies.
  std::string content_of(const std::string& name, int64_t number) {
    const std::string path = folder(name) + "/" + step(number);
    const auto chain = open_chain(files_, path);
    EXPECT_OK(chain);
    if (!chain.ok()) return "";
    ThreadPool threads(1);
    EXPECT_OK(chain->back()->verify(threads));
    std::string text = absl::StrCat(chain->back()->manifest().tables(0).rows(), " rows");
    for (const auto& digest : chain->back()->manifest().content_digests()) {
      absl::StrAppend(&text, ", ", digest.name(), " ", digest.digest());
    }
    return text;
  }

  bool has(const std::string& name, int64_t number, int64_t id) {
    auto content = CheckpointContent::open(files_, folder(name) + "/" + step(number));
    EXPECT_OK(content);
    const auto rows = (*content)->read_rows("items", {"weights"}, {id});
    EXPECT_OK(rows);
    return rows->rows() == 1;
  }

  absl::StatusOr<std::vector<ForgottenIds>> forget(const std::string& name,
                                                   const std::vector<int64_t>& ids) {
    return forget_ids(files_, Clock::real(), folder(name), "items", ids);
  }

  FileSystem& files_ = FileSystem::local();
  const std::string directory_ =
      testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(CheckpointForgetTest, CheckpointsAreAsIfTheIdsHadNeverBeen) {
  const std::vector<std::vector<int64_t>> cases = {{3},       {5}, {1, 4}, {2}, {1, 2, 3, 4, 5},
                                                   {3, 3, 99}};
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    const std::string name = absl::StrCat("c", i), other = absl::StrCat("other", i);
    write(name);
    write(other, cases[i]);
    ASSERT_OK_AND_ASSIGN(const auto forgotten, forget(name, cases[i]));
    for (const int64_t number : {1, 2}) {
      EXPECT_EQ(content_of(name, number), content_of(other, number));
      for (const int64_t id : cases[i]) EXPECT_FALSE(has(name, number, id));
    }
    EXPECT_FALSE(forgotten.empty());
  }
  // The id that the delta removes is in the delta's tombstones, too.
  ASSERT_OK_AND_ASSIGN(const std::string record, read_file(files_, folder("c3/forgotten.jsonl")));
  const auto json = nlohmann::json::parse(record);
  EXPECT_EQ(json["ids"], 1);
  EXPECT_EQ(json["checkpoints"][0]["rows"], 1);
  EXPECT_EQ(json["checkpoints"][1]["tombstones"], 1);
}

TEST_F(CheckpointForgetTest, UnknownIdsChangeNothing) {
  write("c");
  const auto written = std::filesystem::last_write_time(folder("c/step-00000001/manifest.json"));
  EXPECT_THAT(forget("c", {77}), IsOkAndHolds(testing::IsEmpty()));
  EXPECT_EQ(std::filesystem::last_write_time(folder("c/step-00000001/manifest.json")), written);
  EXPECT_THAT(forget_ids(files_, Clock::real(), folder("c"), "users", {1}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("table \"users\"")));
}

TEST_F(CheckpointForgetTest, ACallThatWasInterruptedIsRepeated) {
  write("c");
  write("done");
  ASSERT_OK(forget("done", {3}));
  // The newest checkpoint is replaced first.
  std::filesystem::remove_all(folder("c/step-00000002"));
  std::filesystem::copy(folder("done/step-00000002"), folder("c/step-00000002"),
                        std::filesystem::copy_options::recursive);
  EXPECT_FALSE(open_chain(files_, folder("c/step-00000002")).ok());
  EXPECT_TRUE(has("c", 1, 3)) << "older ones are readable";
  ASSERT_OK(forget("c", {3}));
  for (const int64_t number : {1, 2})
    EXPECT_EQ(content_of("c", number), content_of("done", number));
}

TEST_F(CheckpointForgetTest, DamagedAndLockedFoldersAreLeftAlone) {
  write("c");
  {
    ASSERT_OK_AND_ASSIGN(const auto lock,
                         DirectoryLock::acquire(files_, folder("c"), Clock::real()));
    EXPECT_THAT(forget("c", {3}), StatusIs(absl::StatusCode::kFailedPrecondition));
  }
  std::filesystem::resize_file(folder("c/step-00000001/manifest.json"), 100);
  EXPECT_THAT(forget("c", {3}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("is damaged and may hold the ids")));
}

TEST_F(CheckpointForgetTest, ModelOnlyCheckpoints) {
  for (const bool with : {true, false}) {
    RowsCheckpoint content = {.rows = test_rows(9, 3, 2), .row_state = false};
    content.dim = 3;
    if (!with) content.rows.erase(7);
    ASSERT_OK(write_rows_checkpoint(files_, folder(with ? "c" : "other"), content));
  }
  ASSERT_OK(forget("c", {7}));
  EXPECT_EQ(content_of("c", 1), content_of("other", 1));
}

}  // namespace
}  // namespace millrace
