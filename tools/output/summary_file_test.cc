#include "tools/output/summary_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/status_matchers.h"
#include "tests/environment/obey_permissions.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace fs = std::filesystem;

class SummaryFileTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return join_path(folder_, name); }
  SummaryFile file(const std::string& path, bool overwrite = false) {
    return SummaryFile(files_, path, overwrite);
  }
  void write(const std::string& name, const std::string& content) {
    ASSERT_OK(write_file_atomically(files_, path(name), content));
  }
  void expect_mine(const std::string& name) {
    EXPECT_THAT(read_file(files_, path(name)), IsOkAndHolds("mine"));
  }

  FileSystem& files_ = FileSystem::local();
  const std::string folder_ = fresh_test_dir();
};

TEST_F(SummaryFileTest, WhereItCannotBeWrittenIsKnownBefore) {
  EXPECT_OK(file("").check());
  EXPECT_OK(file("s.json").check());
  EXPECT_OK(file(path("s.json")).check());
  EXPECT_OK(file("/dev/null").check());
  for (const std::string& place : {folder_, path("none/s.json")}) {
    const auto denied = StatusIs(absl::StatusCode::kPermissionDenied,
                                 AllOf(HasSubstr("--summary"), HasSubstr(place)));
    EXPECT_THAT(file(place).check(), denied);
    EXPECT_THAT(file(place).write("{}"), denied);
  }
  EXPECT_THAT(file("~/s.json").check(),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("--summary: \"~/s.json\"")));
}

TEST_F(SummaryFileTest, ADirectoryThatMayNotBeWrittenToIsKnownBefore) {
  fs::permissions(folder_, fs::perms(0555));
  const ObeyPermissions obey;
  EXPECT_THAT(file(path("s.json")).check(),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("--summary"), HasSubstr(folder_ + " is not writable"))));
  fs::permissions(folder_, fs::perms(0777));
}

TEST_F(SummaryFileTest, Writes) {
  EXPECT_OK(file("").write("{}"));
  EXPECT_OK(file(path("s.json")).write("{}\n"));
  EXPECT_THAT(read_file(files_, path("s.json")), IsOkAndHolds("{}\n"));
}

TEST_F(SummaryFileTest, EndsACommand) {
  const SummaryFile summary = file(path("s.json"));
  EXPECT_THAT(summary.end_command({}, absl::OkStatus()), IsOkAndHolds(0));
  EXPECT_THAT(read_file(files_, path("s.json")), IsOkAndHolds(HasSubstr("\"completed\"")));
  const absl::Status failure = absl::NotFoundError("no such checkpoint");
  EXPECT_THAT(summary.end_command({}, failure), StatusIs(failure.code()));
  EXPECT_THAT(read_file(files_, path("s.json")),
              IsOkAndHolds(AllOf(HasSubstr("\"failed\""), HasSubstr("no such checkpoint"))));
  EXPECT_THAT(file(folder_).end_command({}, absl::OkStatus()),
              StatusIs(absl::StatusCode::kPermissionDenied));
}

TEST_F(SummaryFileTest, FilesOfAnotherKindStay) {
  write("mine", "mine");
  SummaryFile summary = file(path("mine"));
  const auto denied = StatusIs(absl::StatusCode::kPermissionDenied,
                               AllOf(HasSubstr("--summary"), HasSubstr("--overwrite")));
  EXPECT_THAT(summary.write("{}"), denied) << "before the checks";
  EXPECT_OK(summary.check());
  EXPECT_THAT(summary.check_inputs([] { return std::vector<RunInput>(); }), denied);
  EXPECT_THAT(summary.write("{}"), denied) << "whatever came of the checks";
  fs::create_symlink("mine", path("link"));
  EXPECT_THAT(file(path("link")).write("{}"), denied);
  expect_mine("mine");
  write("empty", "");
  EXPECT_OK(file(path("empty")).check());
  EXPECT_OK(file(path("empty")).write("{}"));
}

TEST_F(SummaryFileTest, OverwriteCountsOnceTheInputsAreKnown) {
  write("mine", "mine");
  SummaryFile summary = file(path("mine"), /*overwrite=*/true);
  EXPECT_OK(summary.check());
  EXPECT_FALSE(summary.write("{}").ok());
  expect_mine("mine");
  EXPECT_OK(summary.check_inputs([] { return std::vector<RunInput>(); }));
  EXPECT_OK(summary.write("{}"));
  EXPECT_THAT(read_file(files_, path("mine")), IsOkAndHolds("{}"));
}

// The error does not recommend --overwrite, which inputs do not allow.
TEST_F(SummaryFileTest, InputsAreNeverReplaced) {
  write("mine", "mine");
  const std::vector<RunInput> inputs = {{"a file of train.train_data", path("mine")}};
  for (const bool overwrite : {false, true}) {
    SummaryFile summary = file(path("mine"), overwrite);
    EXPECT_THAT(summary.check_inputs([&] { return inputs; }),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr("--summary"), HasSubstr("a file of train.train_data"),
                               Not(HasSubstr("--overwrite")))));
    EXPECT_OK(summary.write("{}")) << "nothing is written any more";
    expect_mine("mine");
  }
}

TEST_F(SummaryFileTest, InputsAreFoundOnlyForAFile) {
  SummaryFile none = file("");
  EXPECT_OK(none.check_inputs([]() -> std::vector<RunInput> {
    ADD_FAILURE() << "nothing to compare them with";
    return {};
  }));
}

TEST_F(SummaryFileTest, WhatIsNoFileIsWrittenToRatherThanReplaced) {
  const std::string link = path("link");
  // Through links in a folder of the test: a mistake must not replace the machine's devices.
  for (const std::string& to :
       {path("target"), std::string("/dev/null"), std::string("/dev/full")}) {
    fs::remove(link);
    fs::create_symlink(to, link);
    const absl::Status status = file(link).write("{}\n");
    if (to == "/dev/full") {
      EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("--summary")));
    } else {
      EXPECT_OK(status);
    }
    EXPECT_TRUE(fs::is_symlink(link)) << to;
  }
  EXPECT_THAT(read_file(files_, path("target")), IsOkAndHolds("{}\n"));
}

// As with --summary /dev/stdout > log.
TEST_F(SummaryFileTest, WhatAnOpenFileHoldsStays) {
  ASSERT_OK_AND_ASSIGN(const auto log, files_.open_for_append(path("log")));
  ASSERT_OK(log->append("before\n"));
  for (int descriptor = 3; descriptor < 64; ++descriptor) {
    const std::string name = "/proc/self/fd/" + std::to_string(descriptor);
    std::error_code error;
    if (fs::read_symlink(name, error) != fs::path(path("log"))) continue;
    EXPECT_OK(file(name).check());
    EXPECT_OK(file(name).write("{}\n"));
  }
  EXPECT_THAT(read_file(files_, path("log")), IsOkAndHolds("before\n{}\n"));
}

}  // namespace
}  // namespace millrace
