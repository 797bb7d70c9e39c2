#include "tools/output/run_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/directory_lock.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class RunDirectoryTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& content = "mine") {
    const std::string path = join_path(folder_, name);
    ASSERT_OK(files_.create_directories(directory_of(path)));
    ASSERT_OK(write_file_atomically(files_, path, content));
  }
  absl::Status check(bool overwrite = false) {
    return check_run_directory(files_, folder_, overwrite);
  }

  FileSystem& files_ = FileSystem::local();
  const std::string folder_ = fresh_test_dir();
};

TEST_F(RunDirectoryTest, OneThatIsMissingOrHoldsNothing) {
  EXPECT_OK(check_run_directory(files_, folder_ + "/none", false));
  EXPECT_OK(check());
  fs::create_directories(folder_ + "/logs");
  fs::create_directories(folder_ + "/checkpoints");
  write("lock", "");
  write("checkpoints/lock", "");
  EXPECT_OK(check()) << "as a run leaves it that is killed as it begins";
  EXPECT_FALSE(is_run_directory(files_, folder_));
}

TEST_F(RunDirectoryTest, CheckpointsMayBeALinkToAnEmptyFolder) {
  const std::string disk = folder_ + "_disk";
  fs::remove_all(disk);
  fs::create_directories(disk);
  fs::create_directories(folder_);
  fs::create_directory_symlink(disk, folder_ + "/checkpoints");
  EXPECT_OK(check());
  std::ofstream(disk + "/file") << "x";
  EXPECT_EQ(check().code(), absl::StatusCode::kPermissionDenied);
}

TEST_F(RunDirectoryTest, FilesOfOthersAreNamed) {
  for (const char* name : {"config.textproto", "events.jsonl", "lock", "metrics/train.jsonl",
                           "summary.json", "part-0.parquet", ".hidden"}) {
    fs::remove_all(folder_);
    write(name);
    EXPECT_THAT(check(),
                StatusIs(absl::StatusCode::kPermissionDenied,
                         AllOf(HasSubstr("output_dir " + folder_),
                               HasSubstr(folder_ + "/" +
                                         std::string(name).substr(0, std::string(name).find('/'))),
                               HasSubstr("--output_dir"), HasSubstr("--overwrite"))));
    EXPECT_OK(check(/*overwrite=*/true));
  }
}

TEST_F(RunDirectoryTest, SomeOfManyAreNamed) {
  for (const char* name : {"a", "b", "c", "d", "e"}) write(name);
  EXPECT_THAT(check().message(),
              AllOf(HasSubstr("/a, "), HasSubstr("/c and 2 more"), Not(HasSubstr(folder_ + "/d"))));
}

TEST_F(RunDirectoryTest, ALockSaysThatItIsARuns) {
  write("a");
  { ASSERT_OK_AND_ASSIGN(const auto lock, DirectoryLock::acquire(files_, folder_, Clock::real())); }
  EXPECT_TRUE(is_run_directory(files_, folder_));
  EXPECT_OK(check());
}

TEST_F(RunDirectoryTest, SoDoesACheckpoint) {
  write("config.textproto");
  write("checkpoints/step-00000010/notes");
  EXPECT_FALSE(check().ok()) << "it is none";
  write("checkpoints/step-00000010/manifest.json", "{}");
  EXPECT_OK(check());
}

TEST_F(RunDirectoryTest, ASummaryOfAFailedRunIsNothingToLose) {
  write("s.json", R"({"outcome": "failed", "stop_reason": "", "error": "x", "steps": 0,
                      "examples": 0, "checkpoint": ""})");
  EXPECT_OK(check());
}

}  // namespace
}  // namespace millrace
