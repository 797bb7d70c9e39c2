#include "checkpoint/folder/directory_lock.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fault_file_system_testing.h"
#include "base/memory_file_system_testing.h"
#include "base/recording_file_system_testing.h"
#include "base/status_matchers.h"
#include "tests/environment/obey_permissions.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

class DirectoryLockTest : public testing::Test {
 protected:
  DirectoryLockTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = join_path(testing::TempDir(), std::string("directory_lock_") + test->name());
    remove_recursively(files_, folder_).IgnoreError();
  }
  absl::StatusOr<std::unique_ptr<DirectoryLock>> acquire() {
    return DirectoryLock::acquire(files_, folder_, clock_);
  }

  FileSystem& files_ = FileSystem::local();
  FakeClock clock_{absl::FromUnixSeconds(1767323045)};
  std::string folder_;
};

TEST_F(DirectoryLockTest, TheSecondIsToldWhoTheFirstIs) {
  {
    ASSERT_OK_AND_ASSIGN(const auto lock, acquire());
    EXPECT_THAT(acquire(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                    AllOf(HasSubstr(folder_), HasSubstr("host "),
                                          HasSubstr(absl::StrCat("pid ", ::getpid())),
                                          HasSubstr("since 2026-01-02T03:04:05Z"))));
  }
  EXPECT_OK(acquire());
}

// Files whose lock another process holds at the first `times` tries.
class BrieflyLockedFiles : public MemoryFileSystem {
 public:
  explicit BrieflyLockedFiles(int times) : times_(times) {}
  absl::StatusOr<std::unique_ptr<FileLock>> lock(const std::string& path) override {
    if (times_-- > 0) return std::unique_ptr<FileLock>();
    return MemoryFileSystem::lock(path);
  }

 private:
  int times_;
};

TEST_F(DirectoryLockTest, ALockThatIsHeldBrieflyIsTriedAgain) {
  BrieflyLockedFiles twice(2), three_times(3);
  EXPECT_OK(DirectoryLock::acquire(twice, "out", clock_));
  EXPECT_THAT(DirectoryLock::acquire(three_times, "out", clock_),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(DirectoryLockTest, TheFileSaysWho) {
  ASSERT_OK_AND_ASSIGN(const auto lock, acquire());
  ASSERT_OK_AND_ASSIGN(const std::string content, read_file(files_, folder_ + "/lock"));
  EXPECT_THAT(content,
              MatchesRegex("host [^ ]+ pid [0-9]+ since 2026-01-02T03:04:05Z\nrun [0-9a-f]+\n"));
}

TEST_F(DirectoryLockTest, AnOwnerNoticesAnotherOne) {
  ASSERT_OK_AND_ASSIGN(auto lock, DirectoryLock::acquire(files_, folder_, clock_, "mine"));
  EXPECT_OK(check_owner(files_, folder_, "mine"));
  EXPECT_OK(check_owner(files_, folder_, ""));
  const std::string path = folder_ + "/lock";
  for (const char* other : {"host b pid 7 since x\nrun mine2\n", "host b pid 7 since x\n", ""}) {
    ASSERT_OK(write_file_atomically(files_, path, other));
    EXPECT_THAT(check_owner(files_, folder_, "mine"),
                StatusIs(absl::StatusCode::kAborted,
                         AllOf(HasSubstr(folder_ + " was taken by another run"),
                               HasSubstr(*other == 0 ? "another process" : "host b pid 7"))));
  }
  ASSERT_OK(files_.remove(path));
  EXPECT_OK(check_owner(files_, folder_, "mine")) << "the folder was removed, not taken";
}

TEST_F(DirectoryLockTest, WhatADeadOneLeftDoesNotBlock) {
  ASSERT_OK(files_.create_directories(folder_));
  ASSERT_OK(write_file_atomically(files_, folder_ + "/lock", "host gone pid 1 since long ago\n"));
  EXPECT_OK(acquire());
}

// Another process holds the lock until it is killed.
TEST_F(DirectoryLockTest, AKilledProcessHoldsNothing) {
  ASSERT_OK(files_.create_directories(folder_));
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const auto lock = acquire();
    const char done = lock.ok() ? 'y' : 'n';
    if (::write(ready[1], &done, 1) != 1) ::_exit(1);
    for (;;) ::pause();
  }
  char done = 0;
  ASSERT_EQ(::read(ready[0], &done, 1), 1);
  EXPECT_EQ(done, 'y');
  EXPECT_THAT(acquire(), StatusIs(absl::StatusCode::kFailedPrecondition,
                                  HasSubstr(absl::StrCat("pid ", child, " "))));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_OK(acquire());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(DirectoryLockTest, OddContentIsNoHarm) {
  ASSERT_OK_AND_ASSIGN(const auto lock, acquire());
  ASSERT_OK_AND_ASSIGN(auto file, files_.create(folder_ + "/lock"));
  EXPECT_THAT(acquire(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another process")));
  ASSERT_OK(file->append("\x1b[2J\xff"));
  EXPECT_THAT(acquire(), StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("\\x1b[2J")));
}

TEST_F(DirectoryLockTest, AFolderThatCannotBeWritten) {
  EXPECT_THAT(DirectoryLock::acquire(files_, "/proc/checkpoints", clock_),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("/proc/checkpoints")));
  ASSERT_OK(files_.create_directories(folder_));
  ASSERT_EQ(::chmod(folder_.c_str(), 0555), 0);
  const ObeyPermissions obey;
  EXPECT_THAT(acquire(), StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(folder_)));
  ::chmod(folder_.c_str(), 0755);
}

TEST_F(DirectoryLockTest, ALinkIsNotFollowed) {
  ASSERT_OK(files_.create_directories(folder_));
  ASSERT_EQ(::symlink("elsewhere", (folder_ + "/lock").c_str()), 0);
  EXPECT_FALSE(acquire().ok());
  EXPECT_THAT(files_.link_info(folder_ + "/elsewhere"), StatusIs(absl::StatusCode::kNotFound));
}

// Otherwise a crash could remove the folder with everything saved in it.
TEST_F(DirectoryLockTest, TheWayToTheFolderIsSynced) {
  MemoryFileSystem memory;
  for (int attempt = 0; attempt < 2; ++attempt) {  // the first may have been killed before
    RecordingFileSystem recording(memory);
    ASSERT_OK(DirectoryLock::acquire(recording, "a/b/checkpoints", clock_));
    std::vector<std::string> synced;
    for (const FileOperation& operation : recording.operations()) {
      if (operation.kind == FileOperation::Kind::kSyncDirectory) synced.push_back(operation.path);
    }
    EXPECT_THAT(synced, ElementsAre("a/b", "a", "."));
  }
}

TEST_F(DirectoryLockTest, DirectoriesFurtherUpNeedNotBeSynced) {
  for (int64_t n = 4; n < 6; ++n) {
    FaultFileSystem faulty(files_);
    faulty.fail(n, 1, absl::UnavailableError("injected"));
    EXPECT_OK(DirectoryLock::acquire(faulty, folder_, clock_)) << n;
    EXPECT_GT(faulty.calls(), n);
  }
}

TEST_F(DirectoryLockTest, EveryCallThatFailsIsReported) {
  for (int64_t n = 0; n < 4; ++n) {
    FaultFileSystem faulty(files_);
    faulty.fail(n, 1, absl::UnavailableError("injected"));
    EXPECT_THAT(DirectoryLock::acquire(faulty, folder_, clock_),
                StatusIs(absl::StatusCode::kUnavailable))
        << n;
    EXPECT_OK(acquire()) << "nothing is held";
  }
}

}  // namespace
}  // namespace millrace
