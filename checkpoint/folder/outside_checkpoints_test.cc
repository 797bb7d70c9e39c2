#include "checkpoint/folder/outside_checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/clock.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/directory_lock.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class OutsideCheckpointsTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  void lock(const std::string& name) {
    ASSERT_OK(DirectoryLock::acquire(files_, path(name), Clock::real()).status());
  }
  void add_checkpoint(const std::string& name) {
    ASSERT_OK(files_.create_directories(path(name)));
    ASSERT_OK(write_file_atomically(files_, path(name) + "/manifest.json", "{}"));
  }
  absl::Status check(const std::string& name) {
    return check_outside_checkpoints(files_, path(name));
  }
  void expect_refused(const std::string& name, const std::string& holder) {
    EXPECT_THAT(check(name), StatusIs(absl::StatusCode::kPermissionDenied,
                                      AllOf(HasSubstr("cannot write " + path(name)),
                                            HasSubstr(holder), HasSubstr("choose a place"))))
        << name;
  }

  FileSystem& files_ = FileSystem::local();
  const std::string folder_ = fresh_test_dir();
};

TEST_F(OutsideCheckpointsTest, ACheckpointAndAllBelowItAreRefused) {
  add_checkpoint("out/checkpoints/step-00000004");
  fs::create_directory_symlink(path("out/checkpoints/step-00000004"), path("link"));
  for (const char* name : {"out/checkpoints/step-00000004", "out/checkpoints/step-00000004/",
                           "out/checkpoints/step-00000004/x", "out/checkpoints/step-00000004/x/y",
                           "out/logs/../checkpoints/step-00000004/x", "link/x"}) {
    expect_refused(name, "the checkpoint " + path("out/checkpoints/step-00000004"));
  }
}

TEST_F(OutsideCheckpointsTest, TheFolderOfARunsCheckpointsIsRefused) {
  lock("out");
  lock("out/checkpoints");
  expect_refused("out/checkpoints", "it is the folder of checkpoints " + path("out/checkpoints"));
  expect_refused("out/checkpoints/x/y", "lie in the folder of checkpoints");
  EXPECT_OK(check("out"));
  EXPECT_OK(check("out/metrics/x"));
}

TEST_F(OutsideCheckpointsTest, ACheckpointMakesAFolderOneOfCheckpoints) {
  add_checkpoint("out/checkpoints/step-00000004");
  expect_refused("out/checkpoints/x", "the folder of checkpoints");
  add_checkpoint("other/step-00000004");
  EXPECT_OK(check("other/x")) << "a copy beside files of a user's";
  lock("other");
  expect_refused("other/x", "the folder of checkpoints");
}

TEST_F(OutsideCheckpointsTest, AnOutputDirectoryMayHaveTheName) {
  lock("checkpoints");
  lock("checkpoints/checkpoints");
  EXPECT_OK(check("checkpoints"));
  expect_refused("checkpoints/checkpoints", "the folder of checkpoints");
}

TEST_F(OutsideCheckpointsTest, OtherPlacesAreAccepted) {
  EXPECT_OK(check("none/of/these"));
  EXPECT_OK(check_outside_checkpoints(files_, "relative"));
  EXPECT_OK(check_outside_checkpoints(files_, "/"));
  EXPECT_OK(check_outside_checkpoints(files_, "s3://bucket/out"));
  fs::create_directories(path("out/checkpoints/step-00000004"));
  EXPECT_OK(check("out/checkpoints/step-00000004")) << "without a manifest";
}

}  // namespace
}  // namespace millrace
