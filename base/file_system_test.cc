#include "base/file_system.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>

#include "base/fault_file_system_testing.h"
#include "base/status_matchers.h"
#include "tests/environment/obey_permissions.h"
#include "tests/environment/skip.h"

static bool answers_are_lost = false;

// Replaces the function of the C library. If answers are lost, renames and reports a missing
// source, as NFS does for a repeated request.
int rename(const char* from, const char* to) noexcept {
  const int result = ::renameat(AT_FDCWD, from, AT_FDCWD, to);
  if (result != 0 || !answers_are_lost) return result;
  errno = ENOENT;
  return -1;
}

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class FileSystemTest : public testing::Test {
 protected:
  FileSystemTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    root_ = join_path(testing::TempDir(), std::string("file_system_test_") + test->name());
    remove_recursively(files_, root_).IgnoreError();
    EXPECT_OK(files_.create_directories(root_));
  }
  std::string path(const std::string& name) { return join_path(root_, name); }
  void write(const std::string& name, absl::string_view content) {
    ASSERT_OK(write_file_atomically(files_, path(name), content));
  }

  FileSystem& files_ = FileSystem::local();
  std::string root_;
};

TEST_F(FileSystemTest, AppendingContinuesAFile) {
  const std::string log = path("log");
  for (const char* piece : {"one", "two"}) {
    ASSERT_OK_AND_ASSIGN(std::unique_ptr<WritableFile> out, files_.open_for_append(log));
    ASSERT_OK(out->append(piece));
    ASSERT_OK(out->close());
  }
  EXPECT_THAT(read_file(files_, log), IsOkAndHolds("onetwo"));
}

TEST_F(FileSystemTest, WritesAndReadsBack) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<WritableFile> out, files_.create(path("a")));
  ASSERT_OK(out->append("hello "));
  ASSERT_OK(out->append(absl::string_view("w\0rld", 5)));
  ASSERT_OK(out->sync());
  ASSERT_OK(out->close());
  EXPECT_THAT(read_file(files_, path("a")), IsOkAndHolds(std::string("hello w\0rld", 11)));
}

TEST_F(FileSystemTest, ReadsAnyPlaceAndStopsAtTheEnd) {
  write("a", "0123456789");
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<ReadableFile> in, files_.open(path("a")));
  EXPECT_EQ(in->size_bytes(), 10);
  EXPECT_EQ(in->path(), path("a"));
  char buffer[8] = {};
  EXPECT_THAT(in->read_at(3, 4, buffer), IsOkAndHolds(4));
  EXPECT_EQ(std::string(buffer, 4), "3456");
  EXPECT_THAT(in->read_at(8, 8, buffer), IsOkAndHolds(2));
  EXPECT_THAT(in->read_at(10, 1, buffer), IsOkAndHolds(0));
  EXPECT_THAT(in->read_at(99, 1, buffer), IsOkAndHolds(0));
}

// Such as the pipe of `millrace train <(make_config)`.
TEST_F(FileSystemTest, PipesAreReadToTheirEnd) {
  std::string text;
  for (int i = 0; i < 40000; ++i) text += std::to_string(i) + "\n";
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::thread writer([&] {
    EXPECT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ::close(ends[1]);
  });
  EXPECT_THAT(read_file(files_, "/dev/fd/" + std::to_string(ends[0])), IsOkAndHolds(text));
  writer.join();
  ::close(ends[0]);
}

TEST_F(FileSystemTest, DevicesWithoutAnEndAreRefused) {
  EXPECT_THAT(read_file(files_, "/dev/zero"),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no end")));
  EXPECT_THAT(read_file(files_, "/dev/null"), IsOkAndHolds(""));
  EXPECT_THAT(read_file(files_, "/proc/self/status"), IsOkAndHolds(HasSubstr("Pid:")));
}

TEST_F(FileSystemTest, MissingFilesAreNotFoundAndNamed) {
  const std::string missing = path("missing");
  const auto not_found = StatusIs(absl::StatusCode::kNotFound, HasSubstr(missing));
  EXPECT_THAT(files_.open(missing), not_found);
  EXPECT_THAT(files_.info(missing), not_found);
  EXPECT_THAT(read_file(files_, missing), not_found);
}

TEST_F(FileSystemTest, WhatCannotBeWrittenIsDeniedAndNamed) {
  const std::string missing = path("missing");
  const auto denied = StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr(missing));
  EXPECT_THAT(files_.remove(missing), denied);
  EXPECT_THAT(files_.rename(missing, path("b")), denied);
  EXPECT_THAT(files_.create(missing + "/child"), denied);
  EXPECT_THAT(files_.open_for_append(missing + "/child"), denied);
  EXPECT_THAT(files_.sync_directory(missing), denied);
}

TEST_F(FileSystemTest, DirectoriesAreNoFilesAndFilesNoDirectories) {
  write("file", "x");
  const absl::StatusCode code = absl::StatusCode::kFailedPrecondition;
  EXPECT_THAT(files_.open(root_), StatusIs(code, HasSubstr(root_)));
  EXPECT_THAT(files_.open(path("file/child")), StatusIs(code));
  const absl::StatusCode denied = absl::StatusCode::kPermissionDenied;
  EXPECT_THAT(files_.create(root_), StatusIs(denied, HasSubstr(root_)));
  EXPECT_THAT(files_.create(path("file/child")), StatusIs(denied));
  EXPECT_THAT(files_.create_directories(path("file")), StatusIs(denied, HasSubstr(path("file"))));
  EXPECT_THAT(files_.create_directories(path("file/child")), StatusIs(denied));
  EXPECT_THAT(files_.sync_directory(path("file")), StatusIs(denied));
  EXPECT_THAT(write_file_atomically(files_, root_, "x"), StatusIs(denied));
}

TEST_F(FileSystemTest, UnwritableDirectory) {
  ASSERT_EQ(::chmod(root_.c_str(), 0555), 0);
  const ObeyPermissions obey;
  EXPECT_THAT(files_.create(path("a")), StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(files_.create_directories(path("a/b")),
              StatusIs(absl::StatusCode::kPermissionDenied));
  ::chmod(root_.c_str(), 0755);
}

TEST_F(FileSystemTest, FullDisk) {
  if (::access("/dev/full", W_OK) != 0)
    GTEST_SKIP() << skip_kernel_feature("/dev/full", "none here");
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<WritableFile> out, files_.create("/dev/full"));
  EXPECT_THAT(out->append("x"),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("/dev/full")));
}

TEST_F(FileSystemTest, InfoTellsFilesFromDirectories) {
  write("a", "12345");
  ASSERT_OK_AND_ASSIGN(const FileInfo file, files_.info(path("a")));
  EXPECT_EQ(file.size_bytes, 5);
  EXPECT_FALSE(file.is_directory);
  ASSERT_OK_AND_ASSIGN(const FileInfo directory, files_.info(root_));
  EXPECT_TRUE(directory.is_directory);
}

TEST_F(FileSystemTest, GlobSortsByName) {
  for (const char* name : {"part-2.orc", "part-10.orc", "part-1.orc", "other.txt"}) write(name, "");
  EXPECT_THAT(
      files_.glob(path("part-*.orc")),
      IsOkAndHolds(ElementsAre(path("part-1.orc"), path("part-10.orc"), path("part-2.orc"))));
  EXPECT_THAT(files_.glob(path("part-[12].orc")),
              IsOkAndHolds(ElementsAre(path("part-1.orc"), path("part-2.orc"))));
  EXPECT_THAT(files_.glob(path("part-?.orc")),
              IsOkAndHolds(ElementsAre(path("part-1.orc"), path("part-2.orc"))));
  EXPECT_THAT(files_.glob(path("{part-2,other,part-1}.*")),
              IsOkAndHolds(ElementsAre(path("other.txt"), path("part-1.orc"), path("part-2.orc"))));
  EXPECT_THAT(files_.glob(path("other.txt")), IsOkAndHolds(ElementsAre(path("other.txt"))));
}

TEST_F(FileSystemTest, GlobOfNothingIsEmpty) {
  write("file", "");
  EXPECT_THAT(files_.glob(path("*.parquet")), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(files_.glob(path("missing")), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(files_.glob(path("missing/*.orc")), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(files_.glob(path("miss*/deep/*.orc")), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(files_.glob(path("file/*.orc")), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(files_.glob(""), IsOkAndHolds(IsEmpty()));
}

TEST_F(FileSystemTest, GlobReportsDirectoriesItMayNotRead) {
  ASSERT_OK(files_.create_directories(path("closed")));
  ASSERT_EQ(::chmod(path("closed").c_str(), 0), 0);
  const ObeyPermissions obey;
  EXPECT_THAT(files_.glob(path("closed/*")),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(path("closed"))));
  ::chmod(path("closed").c_str(), 0755);
}

TEST_F(FileSystemTest, DirectoriesAreMadeWithThoseAboveAndMayExist) {
  ASSERT_OK(files_.create_directories(path("a/b/c")));
  EXPECT_OK(files_.create_directories(path("a/b/c")));
  EXPECT_OK(files_.create_directories(path("a//b/./d/")));
  EXPECT_TRUE(files_.info(path("a/b/c"))->is_directory);
  EXPECT_TRUE(files_.info(path("a/b/d"))->is_directory);
  EXPECT_OK(files_.sync_directory(path("a/b")));
}

TEST_F(FileSystemTest, RenameReplaces) {
  write("a", "new");
  write("b", "old");
  ASSERT_OK(files_.rename(path("a"), path("b")));
  EXPECT_THAT(read_file(files_, path("b")), IsOkAndHolds("new"));
  EXPECT_THAT(files_.info(path("a")), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(FileSystemTest, ARenameThatWasDoneSucceedsIfItsAnswerIsLost) {
  write("a", "new");
  write("b", "old");
  ASSERT_OK(files_.create_directories(path("d")));
  answers_are_lost = true;
  EXPECT_OK(files_.rename(path("a"), path("b")));
  EXPECT_OK(files_.rename(path("d"), path("e")));
  EXPECT_THAT(files_.rename(path("missing"), path("b")),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("No such file")));
  answers_are_lost = false;
  EXPECT_THAT(read_file(files_, path("b")), IsOkAndHolds("new"));
  EXPECT_TRUE(files_.info(path("e"))->is_directory);
}

TEST_F(FileSystemTest, RemoveTakesFilesAndEmptyDirectories) {
  write("a", "x");
  ASSERT_OK(files_.create_directories(path("d")));
  EXPECT_OK(files_.remove(path("a")));
  EXPECT_OK(files_.remove(path("d")));
  EXPECT_THAT(files_.glob(path("*")), IsOkAndHolds(IsEmpty()));
}

// Fails each call in turn: the old content stays, no other file is left and the error is returned.
// The last call makes the new content durable; if it fails, the new content stays.
TEST_F(FileSystemTest, AtomicWriteThatFailsLeavesTheOldContent) {
  write("a", "old");
  int64_t n = 0;
  for (;; ++n) {
    FaultFileSystem faulty(files_);
    faulty.fail(n, 1, absl::ResourceExhaustedError("injected"));
    const absl::Status status = write_file_atomically(faulty, path("a"), "new");
    if (faulty.calls() <= n) {
      EXPECT_OK(status);
      break;
    }
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, "injected")) << n;
    EXPECT_THAT(read_file(files_, path("a")), IsOkAndHolds(n < 5 ? "old" : "new")) << n;
    EXPECT_THAT(files_.glob(path("*")), IsOkAndHolds(ElementsAre(path("a")))) << n;
  }
  EXPECT_EQ(n, 6) << "create, append, sync, close, rename, sync of the directory";
  EXPECT_THAT(read_file(files_, path("a")), IsOkAndHolds("new"));
}

TEST_F(FileSystemTest, AtomicWriteKeepsPermissionsAndFollowsNoLink) {
  write("a", "old");
  ASSERT_EQ(::chmod(path("a").c_str(), 0620), 0);
  write("a", "new");
  struct stat stat;
  ASSERT_EQ(::stat(path("a").c_str(), &stat), 0);
  EXPECT_EQ(stat.st_mode & 0777, 0620u);
  constexpr gid_t kGroup = 4321;
  if (::chown(path("a").c_str(), -1, kGroup) == 0) {  // only root may
    write("a", "newer");
    ASSERT_EQ(::stat(path("a").c_str(), &stat), 0);
    EXPECT_EQ(stat.st_gid, kGroup);
    EXPECT_EQ(stat.st_mode & 0777, 0620u);
  }
  write("a", "new");
  ASSERT_EQ(::symlink(path("a").c_str(), path("link").c_str()), 0);
  EXPECT_THAT(files_.create_replacement(path("link"), path("b")),
              StatusIs(absl::StatusCode::kPermissionDenied));
  // A link where this process writes aside goes, as does a file that a killed process left.
  ASSERT_EQ(::symlink(path("a").c_str(), aside_path(path("b")).c_str()), 0);
  write("b", "other");
  write("link", "other");
  EXPECT_THAT(read_file(files_, path("a")), IsOkAndHolds("new"));
  ASSERT_OK(files_.create(aside_path(path("b"))).status());
  write("b", "another");
  EXPECT_THAT(read_file(files_, path("b")), IsOkAndHolds("another"));
  EXPECT_THAT(files_.glob(path("*.tmp-*")), IsOkAndHolds(IsEmpty()));
}

TEST_F(FileSystemTest, AtomicWriteInPieces) {
  auto pieces = [](WritableFile& file) -> absl::Status {
    RETURN_IF_ERROR(file.append("a"));
    return file.append("b");
  };
  ASSERT_OK(write_file_atomically(files_, path("a"), pieces));
  EXPECT_THAT(read_file(files_, path("a")), IsOkAndHolds("ab"));
  auto failing = [](WritableFile&) { return absl::InternalError("no more"); };
  EXPECT_THAT(write_file_atomically(files_, path("a"), failing),
              StatusIs(absl::StatusCode::kInternal, "no more"));
  EXPECT_THAT(read_file(files_, path("a")), IsOkAndHolds("ab"));
  EXPECT_THAT(files_.glob(path("*")), IsOkAndHolds(ElementsAre(path("a"))));
}

TEST(PathTest, FromTheRoot) {
  EXPECT_EQ(absolute_path("/a/../b"), "/a/../b") << "a may be a symbolic link";
  EXPECT_EQ(absolute_path("s3://bucket/key"), "s3://bucket/key");
  const std::string here = absolute_path("x");
  EXPECT_EQ(here.front(), '/');
  EXPECT_EQ(base_name(here), "x");
}

TEST(JoinPathTest, Joins) {
  EXPECT_EQ(join_path("a", "b"), "a/b");
  EXPECT_EQ(join_path("a/", "b"), "a/b");
  EXPECT_EQ(join_path("", "b"), "b");
  EXPECT_EQ(join_path("a", "/b"), "/b");
  EXPECT_EQ(join_path("a", ""), "a/");
  EXPECT_EQ(join_path("/", "b"), "/b");
}

TEST_F(FileSystemTest, PositionedFilesAreWrittenAtAnyPlace) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<PositionedFile> out, files_.create_new(path("a"), 8));
  ASSERT_OK(out->write_at(6, "67"));
  ASSERT_OK(out->write_at(1, "123"));
  out->start_writeback(0, 8);
  ASSERT_OK(out->sync());
  ASSERT_OK(out->close());
  EXPECT_THAT(read_file(files_, path("a")), IsOkAndHolds(std::string("\000123\0\00067", 8)));
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<PositionedFile> empty, files_.create_new(path("b"), 0));
  EXPECT_OK(empty->close());
}

TEST_F(FileSystemTest, NewFilesReplaceNothing) {
  write("a", "x");
  ASSERT_EQ(::symlink("nowhere", path("link").c_str()), 0);
  const auto denied = StatusIs(absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(files_.create_new(path("a"), 1), denied);
  EXPECT_THAT(files_.create_new(path("link"), 1), denied);
  EXPECT_THAT(read_file(files_, path("a")), IsOkAndHolds("x"));
}

TEST_F(FileSystemTest, NewFilesBeyondTheDiskAreRefusedAndGone) {
  const auto file = files_.create_new(path("huge"), int64_t{1} << 60);
  EXPECT_FALSE(file.ok());
  EXPECT_THAT(files_.info(path("huge")), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(FileSystemTest, ListsNamesAndKinds) {
  ASSERT_OK(files_.create_directories(path("d")));
  write("b", "x");
  ASSERT_EQ(::symlink("d", path("link").c_str()), 0);
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(files_.list(root_),
              IsOkAndHolds(ElementsAre(DirectoryEntry{"b", FileKind::kRegular},
                                       DirectoryEntry{"d", FileKind::kDirectory},
                                       DirectoryEntry{"link", FileKind::kSymbolicLink},
                                       DirectoryEntry{"pipe", FileKind::kOther})));
  ASSERT_OK_AND_ASSIGN(const FileInfo link, files_.link_info(path("link")));
  EXPECT_EQ(link.kind, FileKind::kSymbolicLink);
  ASSERT_OK_AND_ASSIGN(const FileInfo followed, files_.info(path("link")));
  EXPECT_EQ(followed.kind, FileKind::kDirectory);
  EXPECT_THAT(files_.list(path("missing")), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(files_.list(path("b")), StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(FileSystemTest, RemovesTreesAndNeverFollowsLinks) {
  ASSERT_OK(files_.create_directories(path("tree/deep/er")));
  ASSERT_OK(files_.create_directories(path("kept")));
  write("kept/file", "x");
  write("tree/deep/file", "y");
  ASSERT_EQ(::symlink("../../kept", path("tree/deep/link").c_str()), 0);
  ASSERT_EQ(::symlink("kept", path("link").c_str()), 0);
  EXPECT_OK(remove_recursively(files_, path("tree")));
  EXPECT_OK(remove_recursively(files_, path("link")));
  EXPECT_THAT(files_.info(path("tree")), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(read_file(files_, path("kept/file")), IsOkAndHolds("x"));
  EXPECT_THAT(remove_recursively(files_, path("tree")), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(FileSystemTest, OneHoldsALock) {
  ASSERT_OK_AND_ASSIGN(std::unique_ptr<FileLock> lock, files_.lock(path("lock")));
  ASSERT_NE(lock, nullptr);
  ASSERT_OK(lock->write("a long holder"));
  ASSERT_OK(lock->write("me"));
  EXPECT_THAT(files_.lock(path("lock")), IsOkAndHolds(testing::IsNull()));
  EXPECT_THAT(read_file(files_, path("lock")), IsOkAndHolds("me"));
  lock.reset();
  EXPECT_THAT(files_.lock(path("lock")), IsOkAndHolds(testing::NotNull()));
  EXPECT_THAT(files_.lock(path("missing/lock")), StatusIs(absl::StatusCode::kPermissionDenied));
}

TEST_F(FileSystemTest, FreeBytes) {
  ASSERT_OK_AND_ASSIGN(const int64_t free, files_.free_bytes(root_));
  EXPECT_GT(free, 0);
  EXPECT_THAT(files_.free_bytes(path("missing")), StatusIs(absl::StatusCode::kNotFound));
}

TEST(PathTest, DirectoryAndName) {
  EXPECT_EQ(directory_of("a/b/c"), "a/b");
  EXPECT_EQ(directory_of("/a"), "/");
  EXPECT_EQ(directory_of("a"), ".");
  EXPECT_EQ(base_name("a/b/c"), "c");
  EXPECT_EQ(base_name("c"), "c");
}

}  // namespace
}  // namespace millrace
