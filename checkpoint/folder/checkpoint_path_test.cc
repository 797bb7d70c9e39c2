#include "checkpoint/folder/checkpoint_path.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/testing/small_checkpoint_testing.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CheckpointPathTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const int64_t step : {1, 2}) {
      ASSERT_OK(write_small_checkpoint(files_, "out/checkpoints", {.step = step}));
    }
    ASSERT_OK(files_.create_directories("empty"));
  }

  void expect(const std::string& path, bool is_checkpoint, const std::string& resolved) {
    ASSERT_OK_AND_ASSIGN(const CheckpointPath found, resolve_checkpoint_path(files_, path));
    EXPECT_EQ(found.is_checkpoint, is_checkpoint) << path;
    EXPECT_EQ(found.path, resolved) << path;
  }
  void damage(const std::string& checkpoint) {
    files_.put("out/checkpoints/" + checkpoint + "/manifest.json", "{}");
  }

  MemoryFileSystem files_;
  ThreadPool threads_{1};
};

TEST_F(CheckpointPathTest, CheckpointsFoldersAndOutputDirectories) {
  expect("out/checkpoints/step-00000001", true, "out/checkpoints/step-00000001");
  expect("out/checkpoints/step-00000001//", true, "out/checkpoints/step-00000001");
  expect("out/checkpoints", false, "out/checkpoints");
  expect("out/", false, "out/checkpoints");
}

TEST_F(CheckpointPathTest, NamesOrContentMakeOne) {
  files_.put("copied/manifest.json", "{}");
  expect("copied", true, "copied");
  ASSERT_OK(files_.create_directories("x/step-00000007"));
  expect("x/step-00000007", true, "x/step-00000007");
  expect("x", false, "x");
  ASSERT_OK(files_.create_directories("y/checkpoints"));
  expect("y/checkpoints", false, "y/checkpoints");
}

TEST_F(CheckpointPathTest, OtherThingsAreNamed) {
  EXPECT_THAT(resolve_checkpoint_path(files_, "nowhere").status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("nowhere")));
  EXPECT_THAT(resolve_checkpoint_path(files_, "empty").status(),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr("empty is neither"), HasSubstr("manifest.json"))));
  files_.put("weights.safetensors", "x");
  EXPECT_THAT(resolve_checkpoint_path(files_, "weights.safetensors").status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is a file")));
}

TEST_F(CheckpointPathTest, TheBestOfAFolder) {
  ASSERT_OK(write_small_checkpoint(files_, "out/checkpoints", {.step = 3, .best_step = 1}));
  for (const char* path : {"out/best", "out/best/", "out/checkpoints/best"}) {
    expect(path, true, "out/checkpoints/step-00000001");
  }
  ASSERT_OK(write_small_checkpoint(files_, "out/checkpoints", {.step = 4, .best_step = 4}));
  expect("out/best", true, "out/checkpoints/step-00000004");
  damage("step-00000004");
  expect("out/best", true, "out/checkpoints/step-00000001");
  ASSERT_OK_AND_ASSIGN(const NewestCheckpoint best,
                       open_checkpoint(files_, "out/best", Check::kQuick, threads_));
  ASSERT_THAT(best.chain, SizeIs(1));
  EXPECT_EQ(best.chain[0]->directory(), "out/checkpoints/step-00000001");
}

TEST_F(CheckpointPathTest, AFileOfThatNameComesFirst) {
  ASSERT_OK(write_small_checkpoint(files_, "out/checkpoints", {.step = 3, .best_step = 1}));
  ASSERT_OK(write_small_checkpoint(files_, "out/best/checkpoints", {.step = 7}));
  expect("out/best", false, "out/best/checkpoints");
}

TEST_F(CheckpointPathTest, WhereNoBestIsKnown) {
  const auto error = [&](const std::string& path) {
    return resolve_checkpoint_path(files_, path).status();
  };
  constexpr auto kNotFound = absl::StatusCode::kNotFound;
  EXPECT_THAT(error("out/best"),
              StatusIs(kNotFound, AllOf(HasSubstr("out/best: no best score is known in "
                                                  "out/checkpoints/step-00000002"),
                                        HasSubstr("run.evaluation.best"))));
  ASSERT_OK(write_small_checkpoint(files_, "out/checkpoints", {.step = 9, .best_step = 8}));
  EXPECT_THAT(error("out/best"),
              StatusIs(kNotFound, AllOf(HasSubstr("is 0.5 of step 8, but"),
                                        HasSubstr("step-00000008 is not there"))));
  ASSERT_OK(files_.create_directories("new/checkpoints"));
  EXPECT_THAT(error("new/best"),
              StatusIs(kNotFound, HasSubstr("there is no checkpoint in new/checkpoints")));
  EXPECT_THAT(error("out/checkpoints/step-00000001/best"),
              StatusIs(kNotFound, HasSubstr("step-00000001/best")));
  EXPECT_THAT(error("nowhere/best"), StatusIs(kNotFound, HasSubstr("nowhere/best")));
  EXPECT_THAT(error("out/beste"), StatusIs(kNotFound, HasSubstr("out/beste")));
}

TEST_F(CheckpointPathTest, TheDirectoryWhereOneStandsHasItsName) {
  FileSystem& files = FileSystem::local();
  const std::string folder = fresh_test_dir();
  ASSERT_OK(write_small_checkpoint(files, folder, {.step = 1}));
  const std::string path = folder + "/step-00000001";
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(path);
  const auto here = resolve_checkpoint_path(files, ".");
  const auto above = resolve_checkpoint_path(files, "..");
  std::filesystem::current_path(before);
  ASSERT_OK(here);
  ASSERT_OK(above);
  EXPECT_TRUE(here->is_checkpoint);
  EXPECT_TRUE(std::filesystem::equivalent(here->path, path));
  EXPECT_EQ(base_name(here->path), "step-00000001");
  EXPECT_FALSE(above->is_checkpoint);
  EXPECT_TRUE(std::filesystem::equivalent(above->path, folder));
}

TEST_F(CheckpointPathTest, OpensTheNewestThatIsWhole) {
  ASSERT_OK_AND_ASSIGN(const NewestCheckpoint newest,
                       open_checkpoint(files_, "out", Check::kQuick, threads_));
  ASSERT_THAT(newest.chain, SizeIs(1));
  EXPECT_EQ(newest.chain[0]->manifest().progress().step(), 2);
  EXPECT_THAT(newest.damaged, IsEmpty());
  ASSERT_OK_AND_ASSIGN(
      const NewestCheckpoint one,
      open_checkpoint(files_, "out/checkpoints/step-00000001", Check::kQuick, threads_));
  EXPECT_EQ(one.chain.back()->manifest().progress().step(), 1);

  damage("step-00000002");
  ASSERT_OK_AND_ASSIGN(const NewestCheckpoint before,
                       open_checkpoint(files_, "out", Check::kQuick, threads_));
  EXPECT_EQ(before.chain.back()->manifest().progress().step(), 1);
  EXPECT_THAT(before.damaged, SizeIs(1));
  EXPECT_THAT(
      open_checkpoint(files_, "out/checkpoints/step-00000002", Check::kQuick, threads_).status(),
      StatusIs(absl::StatusCode::kDataLoss, HasSubstr("step-00000002/manifest.json")));
}

TEST_F(CheckpointPathTest, NoneThatIsWhole) {
  damage("step-00000001");
  damage("step-00000002");
  EXPECT_THAT(open_checkpoint(files_, "out", Check::kQuick, threads_).status(),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("no checkpoint in out/checkpoints is whole"),
                             HasSubstr("step-00000002"))));
  ASSERT_OK(files_.create_directories("y/checkpoints"));
  EXPECT_THAT(open_checkpoint(files_, "y", Check::kQuick, threads_).status(),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("no checkpoint in y/checkpoints")));
}

TEST_F(CheckpointPathTest, DamageThatShowsInUseIsPassedOverUnlessItIsNamed) {
  const UseChain use = [](CheckpointChain chain) {
    const bool second = chain.back()->manifest().progress().step() == 2;
    return second ? absl::DataLossError("a bad number") : absl::OkStatus();
  };
  ASSERT_OK_AND_ASSIGN(const NewestCheckpoint found, open_checkpoint(files_, "out", use));
  EXPECT_EQ(found.chain.back()->manifest().progress().step(), 1);
  EXPECT_THAT(found.damaged, SizeIs(1));
  EXPECT_THAT(
      open_checkpoint(files_, "out/checkpoints/step-00000002", use).status(),
      StatusIs(absl::StatusCode::kDataLoss,
               "a bad number; name out/checkpoints to take the newest checkpoint there that "
               "is whole"));
}

TEST_F(CheckpointPathTest, AllBytesOfThoseOfAFolder) {
  const std::string name = "out/checkpoints/step-00000002/dense-00000-of-00001.safetensors";
  ASSERT_OK_AND_ASSIGN(std::string content, read_file(files_, name));
  content.back() ^= 1;
  files_.put(name, content);
  ASSERT_OK_AND_ASSIGN(const NewestCheckpoint full,
                       open_checkpoint(files_, "out", Check::kFull, threads_));
  EXPECT_EQ(full.chain.back()->manifest().progress().step(), 1);
  ASSERT_OK_AND_ASSIGN(const NewestCheckpoint quick,
                       open_checkpoint(files_, "out", Check::kQuick, threads_));
  EXPECT_EQ(quick.chain.back()->manifest().progress().step(), 2);
}

// A chain is opened as a whole.
TEST_F(CheckpointPathTest, Deltas) {
  ASSERT_OK_AND_ASSIGN(const auto base,
                       CheckpointReader::open(files_, "out/checkpoints/step-00000002"));
  CheckpointManifest::Base delta_base;
  delta_base.set_step(2);
  delta_base.set_digest(base->manifest().digest());
  delta_base.set_depth(1);
  ASSERT_OK(write_small_checkpoint(files_, "out/checkpoints", {.step = 3, .base = delta_base}));
  ASSERT_OK_AND_ASSIGN(const NewestCheckpoint newest,
                       open_checkpoint(files_, "out", Check::kQuick, threads_));
  ASSERT_THAT(newest.chain, SizeIs(2));
  EXPECT_EQ(newest.chain[0]->manifest().progress().step(), 2);
  EXPECT_EQ(newest.chain[1]->manifest().progress().step(), 3);
}

}  // namespace
}  // namespace millrace
