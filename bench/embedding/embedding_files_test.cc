#include "bench/embedding/embedding_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/clock.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/directory_lock.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<std::string> kNames = {"rows.i64", "gradient.f32"};

class EmbeddingFilesTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  absl::StatusOr<EmbeddingFiles> open(bool overwrite = false) {
    return EmbeddingFiles::open(files_, folder_, kNames, overwrite);
  }
  void expect_refused(const std::string& name) {
    EXPECT_THAT(open().status(),
                StatusIs(absl::StatusCode::kPermissionDenied,
                         AllOf(HasSubstr("cannot write " + path(name)), HasSubstr("--overwrite"))));
  }

  FileSystem& files_ = FileSystem::local();
  const std::string folder_ = fresh_test_dir();
};

TEST_F(EmbeddingFilesTest, FilesOfItsOwnAreReplaced) {
  for (const char* bytes : {"12345678", "1234"}) {
    ASSERT_OK_AND_ASSIGN(EmbeddingFiles written, open());
    for (const std::string& name : kNames) ASSERT_OK(written.write(name, bytes));
    EXPECT_THAT(read_file(files_, path("rows.i64")), IsOkAndHolds(bytes));
  }
}

TEST_F(EmbeddingFilesTest, FilesOfOthersAreNot) {
  ASSERT_OK(write_file_atomically(files_, path("notes"), "mine"));
  EXPECT_OK(open()) << "a file of another name";
  ASSERT_OK(write_file_atomically(files_, path("gradient.f32"), "mine"));
  expect_refused("gradient.f32");
  EXPECT_OK(open(/*overwrite=*/true));
}

TEST_F(EmbeddingFilesTest, AFileThatChangedIsSomebodyElses) {
  {
    ASSERT_OK_AND_ASSIGN(EmbeddingFiles written, open());
    ASSERT_OK(written.write("rows.i64", "12345678"));
  }
  ASSERT_OK(write_file_atomically(files_, path("rows.i64"), "mine"));
  expect_refused("rows.i64");
}

TEST_F(EmbeddingFilesTest, AListThatItDidNotWriteCountsForNothing) {
  ASSERT_OK(write_file_atomically(files_, path(".bench_embedding"), "rows.i64 4\n"));
  ASSERT_OK(write_file_atomically(files_, path("rows.i64"), "mine"));
  expect_refused("rows.i64");
}

TEST_F(EmbeddingFilesTest, DirectoriesThatDoNotFit) {
  const auto refused = [this](const std::string& directory, absl::StatusCode code,
                              const std::string& what) {
    EXPECT_THAT(EmbeddingFiles::open(files_, directory, kNames, true).status(),
                StatusIs(code, HasSubstr(what)));
  };
  refused(path("none"), absl::StatusCode::kPermissionDenied, path("none"));
  refused("~/b", absl::StatusCode::kInvalidArgument, "~/b");
  ASSERT_OK(DirectoryLock::acquire(files_, folder_, Clock::real()).status());
  ASSERT_OK(DirectoryLock::acquire(files_, path("checkpoints"), Clock::real()).status());
  refused(path("checkpoints"), absl::StatusCode::kPermissionDenied, "folder of checkpoints");
}

}  // namespace
}  // namespace millrace
