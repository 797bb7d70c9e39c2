#include "io/files/uri_file_system.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "io/files/file_system_registry.h"
#include "io/files/glob.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class UriFileSystemTest : public testing::Test {
 protected:
  UriFileSystemTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = join_path(testing::TempDir(), absl::StrCat("uri_file_system_test_", test->name()));
    remove_recursively(FileSystem::local(), folder_).IgnoreError();
    EXPECT_OK(FileSystem::local().create_directories(join_path(folder_, "sub")));
    for (const char* name : {"a.csv", "b.csv", "c.txt", ".d.csv", "sub/e.csv"}) {
      EXPECT_OK(write_file_atomically(FileSystem::local(), join_path(folder_, name), name));
    }
  }
  std::string uri(const std::string& name) { return absl::StrCat("file://", folder_, "/", name); }
  static std::vector<std::string> as_uris(std::vector<std::string> paths) {
    for (std::string& path : paths) path.insert(0, "file://");
    return paths;
  }

  std::string folder_;
  MemoryFileSystem local_;
  UriFileSystem files_{local_};
};

TEST_F(UriFileSystemTest, SchemesTellUrisFromPaths) {
  for (const char* path : {"s3://b/k", "gs://b", "file:///a", "x-y+z.1://h"}) {
    EXPECT_TRUE(is_uri(path)) << path;
  }
  for (const char* path : {"", "a/b", "/a", "://b", "a/b://c", "a:b", "a:/b"}) {
    EXPECT_FALSE(is_uri(path)) << path;
  }
}

TEST_F(UriFileSystemTest, ReadsWhatIsThere) {
  ASSERT_OK_AND_ASSIGN(const auto file, files_.open(uri("sub/e.csv")));
  EXPECT_EQ(file->path(), uri("sub/e.csv"));
  EXPECT_EQ(file->size_bytes(), 9);
  char buffer[20] = {};
  EXPECT_THAT(file->read_at(4, 20, buffer), IsOkAndHolds(5));
  EXPECT_STREQ(buffer, "e.csv");
  EXPECT_THAT(file->read_at(9, 20, buffer), IsOkAndHolds(0));
  EXPECT_THAT(file->read_at(30, 20, buffer), IsOkAndHolds(0));
  ASSERT_OK_AND_ASSIGN(const FileInfo info, files_.info(uri("a.csv")));
  EXPECT_EQ(info.size_bytes, 5);
  EXPECT_FALSE(info.is_directory);
  ASSERT_OK_AND_ASSIGN(const FileInfo folder, files_.info(uri("sub/")));
  EXPECT_TRUE(folder.is_directory);
}

TEST_F(UriFileSystemTest, ListsAndMatchesAsLocalFilesDo) {
  EXPECT_THAT(files_.list(uri("")),
              IsOkAndHolds(ElementsAre(DirectoryEntry{".d.csv"}, DirectoryEntry{"a.csv"},
                                       DirectoryEntry{"b.csv"}, DirectoryEntry{"c.txt"},
                                       DirectoryEntry{"sub", FileKind::kDirectory})));
  for (const char* pattern : {"*.csv", "*", "?.csv", "[ab].*", "{c,a}.*", "*/*.csv", "s*/e.*",
                              "sub/e.csv", "nothing", "nothing/*", "a.csv/*", "{*,*/*}.csv",
                              "{a,{b,c}}.*", "{a.csv,{b", "{a.csv,\\{b}", "\\a.csv", "a.*v\\"}) {
    ASSERT_OK_AND_ASSIGN(const auto due, FileSystem::local().glob(join_path(folder_, pattern)));
    EXPECT_THAT(files_.glob(uri(pattern)), IsOkAndHolds(as_uris(due))) << pattern;
  }
}

// A directory that ** found is named in a pattern, with its special characters escaped.
TEST_F(UriFileSystemTest, TwoStarsMatchAsInLocalPaths) {
  for (const char* name : {"x,y", "{z}", "w]", "[v", "b\\s", "q?*", "deep/er", ".hidden"}) {
    const std::string directory = join_path(folder_, name);
    EXPECT_OK(FileSystem::local().create_directories(directory));
    EXPECT_OK(write_file_atomically(FileSystem::local(), join_path(directory, "f.csv"), "x"));
  }
  for (const char* pattern : {"**/*.csv", "**/f.csv", "**", "*/**/f.csv", "deep/**/*.csv"}) {
    ASSERT_OK_AND_ASSIGN(const auto due,
                         deep_glob(FileSystem::local(), join_path(folder_, pattern)));
    EXPECT_GE(due.size(), 1u) << pattern;
    EXPECT_THAT(deep_glob(files_, uri(pattern)), IsOkAndHolds(as_uris(due))) << pattern;
  }
}

TEST_F(UriFileSystemTest, ErrorsAreThoseOfFiles) {
  EXPECT_THAT(files_.open(uri("none")),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(uri("none"))));
  EXPECT_THAT(files_.open(uri("sub")), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(files_.list(uri("a.csv")), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(files_.list(uri("none")), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(files_.open("nonsense://host/a"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("nonsense://host")));
  EXPECT_THAT(files_.open("s3:///a"),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no bucket")));
}

TEST_F(UriFileSystemTest, PasswordsAreRefusedAndNotRepeated) {
  for (const char* uri : {"s3://KEY:SECRET@bucket/a.csv", "s3://KEY:SEC/RET@bucket/a.csv",
                          "gs://SECRET@bucket/*.csv"}) {
    const auto refused = StatusIs(absl::StatusCode::kInvalidArgument,
                                  AllOf(HasSubstr("PASSWORD@BUCKET"), Not(HasSubstr("@bucket"))));
    EXPECT_THAT(files_.open(uri), refused) << uri;
    EXPECT_THAT(files_.glob(uri), refused) << uri;
    EXPECT_THAT(files_.info(uri), refused) << uri;
  }
  EXPECT_OK(check_bucket("s3://bucket/name@with:signs"));
  EXPECT_OK(check_bucket("hdfs://node:9000/name"));
}

TEST_F(UriFileSystemTest, AnEndpointIsAnAddressAlone) {
  for (const char* endpoint : {"http://proxy:9000/minio", "http://u:SECRET@host", "host?a=b"}) {
    ::setenv("AWS_ENDPOINT_URL", endpoint, 1);
    EXPECT_THAT(files_.open("s3://bucket/a.csv"),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("AWS_ENDPOINT_URL"), Not(HasSubstr("SECRET")))))
        << endpoint;
  }
  ::unsetenv("AWS_ENDPOINT_URL");
}

TEST_F(UriFileSystemTest, APlaceThatIsSlowHoldsNoOtherUp) {
  absl::Notification connecting, other_reached;
  UriFileSystem files(local_, [&](const std::string& uri, auto*) {
    if (uri == "hdfs://other/") return absl::UnavailableError("no other");
    connecting.Notify();
    other_reached.WaitForNotification();
    return absl::UnavailableError("nobody answers");
  });
  std::thread slow(
      [&] { EXPECT_THAT(files.open("hdfs://slow/a"), StatusIs(absl::StatusCode::kUnavailable)); });
  connecting.WaitForNotification();
  EXPECT_THAT(files.open("hdfs://other/a"),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("no other")));
  other_reached.Notify();
  slow.join();
}

// Twice: Arrow keeps the first failure and words it otherwise.
TEST_F(UriFileSystemTest, ALibraryThatIsMissingIsNamed) {
  ::unsetenv("HADOOP_HOME");
  ::unsetenv("ARROW_LIBHDFS_DIR");
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_THAT(files_.open("hdfs://node:9000/data.csv"),
                StatusIs(absl::StatusCode::kUnavailable,
                         AllOf(HasSubstr("cannot reach hdfs://node:9000: this machine has no "
                                         "libhdfs.so"),
                               HasSubstr("HADOOP_HOME"), HasSubstr("JAVA_HOME"),
                               Not(HasSubstr("dlopen")))));
  }
}

TEST_F(UriFileSystemTest, NothingIsWritten) {
  const auto refused = StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("only read"));
  EXPECT_THAT(files_.create(uri("n")), refused);
  EXPECT_THAT(files_.open_for_append(uri("n")), refused);
  EXPECT_THAT(files_.create_new(uri("n"), 1), refused);
  EXPECT_THAT(files_.create_directories(uri("n")), refused);
  EXPECT_THAT(files_.rename(uri("a.csv"), uri("n")), refused);
  EXPECT_THAT(files_.rename("a", uri("n")), refused);
  EXPECT_THAT(files_.remove(uri("a.csv")), refused);
  EXPECT_THAT(files_.sync_directory(uri("")), refused);
  EXPECT_THAT(files_.free_bytes(uri("")), refused);
  EXPECT_THAT(files_.lock(uri("n")), refused);
}

// A file system that finds one file by any pattern.
class OneFile : public MemoryFileSystem {
 public:
  absl::StatusOr<std::vector<std::string>> glob(const std::string&) override {
    return std::vector<std::string>{"memory://host/a.csv"};
  }
};

absl::StatusOr<std::unique_ptr<FileSystem>> create_memory() {
  auto files = std::make_unique<OneFile>();
  RETURN_IF_ERROR(files->create_directories("memory://host"));
  RETURN_IF_ERROR(write_file_atomically(*files, "memory://host/a.csv", "content"));
  return files;
}
MILLRACE_REGISTER_FILE_SYSTEM(memory, "files of a test", &create_memory);

absl::StatusOr<std::unique_ptr<FileSystem>> create_absent() {
  return absl::UnavailableError("nobody answers");
}
MILLRACE_REGISTER_FILE_SYSTEM(absent, "a service that does not answer", &create_absent);

TEST_F(UriFileSystemTest, ARegisteredSchemeIsReadByItsFileSystem) {
  EXPECT_THAT(read_file(files_, "memory://host/a.csv"), IsOkAndHolds("content"));
  EXPECT_THAT(files_.list("memory://host"), IsOkAndHolds(ElementsAre(DirectoryEntry{"a.csv"})));
  EXPECT_THAT(files_.glob("memory://host/*.csv"), IsOkAndHolds(ElementsAre("memory://host/a.csv")));
  ASSERT_OK_AND_ASSIGN(const FileInfo info, files_.link_info("memory://host/a.csv"));
  EXPECT_EQ(info.size_bytes, 7);
  EXPECT_THAT(files_.open("memory://host/b.csv"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(files_.remove("memory://host/a.csv"), StatusIs(absl::StatusCode::kPermissionDenied));
}

TEST_F(UriFileSystemTest, SchemesThatCannotBeUsedAreNamed) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    EXPECT_THAT(files_.open("absent://host/a"),
                StatusIs(absl::StatusCode::kUnavailable,
                         HasSubstr("file system \"absent\": nobody answers")));
  }
  EXPECT_THAT(files_.open("memori://host/a"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"memori\""), HasSubstr("\"memory\""))));
}

TEST_F(UriFileSystemTest, OtherPathsAreThoseOfTheFileSystemBelow) {
  ASSERT_OK(files_.create_directories("x"));
  ASSERT_OK(write_file_atomically(files_, "x/y", "content"));
  EXPECT_THAT(read_file(local_, "x/y"), IsOkAndHolds("content"));
  EXPECT_THAT(files_.glob("x/*"), IsOkAndHolds(ElementsAre("x/y")));
  EXPECT_THAT(files_.list("x"), IsOkAndHolds(ElementsAre(DirectoryEntry{"y"})));
  ASSERT_OK(files_.rename("x/y", "x/z"));
  ASSERT_OK(files_.remove("x/z"));
  EXPECT_THAT(files_.list("x"), IsOkAndHolds(IsEmpty()));
}

}  // namespace
}  // namespace millrace
