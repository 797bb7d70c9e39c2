#include "base/fault_file_system_testing.h"

#include <gtest/gtest.h>

#include <string>

#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(FaultFileSystemTest, FailsTheChosenCallsAndCounts) {
  const std::string path = testing::TempDir() + "/fault_file_system_test";
  FaultFileSystem files(FileSystem::local());
  files.fail(1, 2, absl::ResourceExhaustedError("injected"));
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<WritableFile> file, files.create(path));
  EXPECT_THAT(file->append("lost"), StatusIs(absl::StatusCode::kResourceExhausted, "injected"));
  EXPECT_THAT(file->sync(), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_OK(file->append("kept"));
  EXPECT_OK(file->close());
  EXPECT_EQ(files.calls(), 5);
  EXPECT_THAT(read_file(files, path), IsOkAndHolds("kept"));
  EXPECT_EQ(files.calls(), 7) << "open and read_at";
}

TEST(FaultFileSystemTest, EveryKindOfCallCanFail) {
  const std::string path = testing::TempDir() + "/fault_file_system_test_2";
  FaultFileSystem files(FileSystem::local());
  ASSERT_OK(write_file_atomically(files, path, "x"));
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<ReadableFile> file, files.open(path));
  files.fail(files.calls(), 1000, absl::UnavailableError("injected"));
  char byte;
  EXPECT_FALSE(file->read_at(0, 1, &byte).ok());
  EXPECT_FALSE(files.open(path).ok());
  EXPECT_FALSE(files.create(path).ok());
  EXPECT_FALSE(files.info(path).ok());
  EXPECT_FALSE(files.glob(path).ok());
  EXPECT_FALSE(files.create_directories(path + "_d").ok());
  EXPECT_FALSE(files.rename(path, path + "_r").ok());
  EXPECT_FALSE(files.remove(path).ok());
  EXPECT_FALSE(files.sync_directory(testing::TempDir()).ok());
  EXPECT_FALSE(files.create_new(path + "_n", 1).ok());
  EXPECT_FALSE(files.link_info(path).ok());
  EXPECT_FALSE(files.list(testing::TempDir()).ok());
  EXPECT_FALSE(files.free_bytes(testing::TempDir()).ok());
  EXPECT_FALSE(files.lock(path + "_l").ok());
  EXPECT_FALSE(FileSystem::local().info(path + "_n").ok());
  EXPECT_THAT(read_file(FileSystem::local(), path), IsOkAndHolds("x")) << "nothing was done";
}

TEST(FaultFileSystemTest, FilesThatItGaveFailToo) {
  const std::string path = testing::TempDir() + "/fault_file_system_test_3";
  FileSystem::local().remove(path).IgnoreError();
  FaultFileSystem files(FileSystem::local());
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<PositionedFile> file, files.create_new(path, 1));
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<FileLock> lock, files.lock(path + "_l"));
  files.fail(2, 4, absl::UnavailableError("injected"));
  EXPECT_FALSE(file->write_at(0, "x").ok());
  EXPECT_FALSE(file->sync().ok());
  EXPECT_FALSE(file->close().ok());
  EXPECT_FALSE(lock->write("x").ok());
  EXPECT_OK(lock->write("y"));
  EXPECT_THAT(read_file(files, path), IsOkAndHolds(std::string(1, '\0')));
  EXPECT_THAT(read_file(files, path + "_l"), IsOkAndHolds("y"));
  EXPECT_THAT(files.lock(path + "_l"), IsOkAndHolds(testing::IsNull()));
}

}  // namespace
}  // namespace millrace
