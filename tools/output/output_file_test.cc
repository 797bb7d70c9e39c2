#include "tools/output/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

const OutputKind kKind = {"a poem", [](FileSystem& files, const std::string& path) {
                            return read_file(files, path).value_or("") == "a poem";
                          }};

class OutputFileTest : public testing::Test {
 protected:
  std::string path(const std::string& name) const { return join_path(folder_, name); }
  void write(const std::string& name, const std::string& content) {
    ASSERT_OK(write_file_atomically(files_, path(name), content));
  }
  bool exists(const std::string& name) const { return fs::exists(fs::symlink_status(path(name))); }

  FileSystem& files_ = FileSystem::local();
  const std::string folder_ = fresh_test_dir();
};

TEST_F(OutputFileTest, NoOutputIsAnInputUnderAnyName) {
  write("data.csv", "1,2");
  fs::create_symlink("data.csv", path("link"));
  fs::create_hard_link(path("data.csv"), path("hard"));
  fs::create_directory_symlink(folder_, path("here"));
  const std::vector<RunInput> inputs = {{"the configuration", path("job")},
                                        {"a file of train.train_data", path("data.csv")}};
  for (const char* name : {"data.csv", "./x/../data.csv", "link", "hard", "here/data.csv"}) {
    EXPECT_THAT(check_not_input(files_, path(name), inputs),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(path(name)), HasSubstr("a file of train.train_data"))))
        << name;
  }
  EXPECT_THAT(check_not_input(files_, path("job"), inputs).message(), HasSubstr("configuration"))
      << "that is not there";
  EXPECT_OK(check_not_input(files_, path("other"), inputs));
}

TEST_F(OutputFileTest, NoOutputLiesInACheckpoint) {
  fs::create_directories(path("step-00000007/deep"));
  EXPECT_OK(check_not_input(files_, path("step-00000007/p.csv"), {})) << "it is none";
  write("step-00000007/manifest.json", "{}");
  for (const char* name : {"step-00000007/p.csv", "step-00000007/deep/p.csv"}) {
    EXPECT_THAT(check_not_input(files_, path(name), {}),
                StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("checkpoint")));
  }
  write("manifest.json", "{\"name\": \"something else\"}");
  EXPECT_OK(check_not_input(files_, path("p.csv"), {}));
}

TEST_F(OutputFileTest, OnlyItsKindIsReplaced) {
  EXPECT_OK(check_replaceable(files_, path("new"), kKind, false));
  write("poem", "a poem");
  write("empty", "");
  EXPECT_OK(check_replaceable(files_, path("poem"), kKind, false));
  EXPECT_OK(check_replaceable(files_, path("empty"), kKind, false)) << "nothing is lost";
  write("mine", "my thesis");
  EXPECT_THAT(check_replaceable(files_, path("mine"), kKind, false),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr(path("mine")), HasSubstr("not a poem of Millrace"),
                             HasSubstr("--overwrite"))));
  EXPECT_OK(check_replaceable(files_, path("mine"), kKind, true));
  fs::create_symlink("mine", path("link"));
  EXPECT_FALSE(check_replaceable(files_, path("link"), kKind, false).ok());
}

TEST_F(OutputFileTest, AllChecksTogether) {
  write("mine", "my thesis");
  const std::vector<RunInput> inputs = {{"the configuration", path("mine")}};
  EXPECT_THAT(check_output(files_, path("no/p"), kKind, {}, true),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("no directory")));
  EXPECT_THAT(check_output(files_, path("mine"), kKind, inputs, true),
              StatusIs(absl::StatusCode::kInvalidArgument))
      << "--overwrite is not for inputs";
  EXPECT_THAT(check_output(files_, path("mine"), kKind, {}, false),
              StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_OK(check_output(files_, path("mine"), kKind, {}, true));
}

TEST_F(OutputFileTest, AFileThatPeopleEditIsNotReplaced) {
  write("mine", "my job");
  write("empty", "");
  fs::create_symlink("nothing", path("dangling"));
  EXPECT_OK(check_edited_output(files_, path("new"), {}, false));
  EXPECT_OK(check_edited_output(files_, path("empty"), {}, false));
  for (const char* name : {"mine", "dangling"}) {
    EXPECT_THAT(check_edited_output(files_, path(name), {}, false),
                StatusIs(absl::StatusCode::kPermissionDenied,
                         AllOf(HasSubstr(path(name)), HasSubstr("--overwrite"))));
    EXPECT_OK(check_edited_output(files_, path(name), {}, true));
  }
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_THAT(check_edited_output(files_, path("pipe"), {}, true),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       HasSubstr("is no regular file; choose another")));
  EXPECT_THAT(check_edited_output(files_, path("no/job"), {}, true),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("there is no directory")));
  EXPECT_THAT(check_edited_output(files_, path("mine"), {{"a file of data", path("mine")}}, true),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("a file of data")));
}

TEST_F(OutputFileTest, WhatKilledWritersLeftGoes) {
  // Numbers in use: the first process has the same number in every container.
  const std::vector<std::string> left = {"p.csv.millrace.tmp-1",
                                         absl::StrCat("p.csv.millrace.tmp-", ::getppid()),
                                         "p.csv.millrace.tmp-2.lock", "p.csv.millrace.tmp-2"};
  for (const std::string& name : left) write(name, "half");
  const std::vector<std::string> others = {"q.csv.millrace.tmp-1", "p.csv.millrace.tmp-x",
                                           "p.csv.millrace.tmp-", "p.csv.millrace.tmp-1.txt",
                                           "p.csv.tmp-20240101"};
  for (const std::string& name : others) write(name, "not ours");
  ASSERT_OK(write_output_file(files_, path("p.csv"), [&](WritableFile& file) {
    for (const std::string& name : left) EXPECT_FALSE(exists(name)) << "before the work";
    return file.append("whole");
  }));
  EXPECT_THAT(read_file(files_, path("p.csv")), IsOkAndHolds("whole"));
  EXPECT_FALSE(exists(absl::StrCat("p.csv.millrace.tmp-", ::getpid(), ".lock")));
  for (const std::string& name : others) EXPECT_TRUE(exists(name)) << name;
}

TEST_F(OutputFileTest, AFileThatIsLockedIsLeftAlone) {
  const std::string left = "p.csv.millrace.tmp-1";
  ASSERT_OK_AND_ASSIGN(const auto lock, files_.lock(path(left)));
  remove_leftovers(files_, path("p.csv"));
  EXPECT_TRUE(exists(left));
}

TEST_F(OutputFileTest, ADirectoryAppearsWhole) {
  ASSERT_OK(write_output_directory(files_, path("model"), [&](const std::string& aside) {
    EXPECT_FALSE(exists("model"));
    return write_file_atomically(files_, join_path(aside, "dense"), "whole");
  }));
  EXPECT_THAT(read_file(files_, path("model/dense")), IsOkAndHolds("whole"));
  EXPECT_THAT(write_output_directory(files_, path("other"),
                                     [&](const std::string& aside) -> absl::Status {
                                       EXPECT_OK(write_file_atomically(
                                           files_, join_path(aside, "dense"), "half"));
                                       return absl::DataLossError("no more");
                                     }),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(files_.list(folder_),
              IsOkAndHolds(testing::ElementsAre(DirectoryEntry{"model", FileKind::kDirectory})));
}

TEST_F(OutputFileTest, DirectoriesOfKilledWritersGo) {
  const std::string left = "model.millrace.tmp-1";
  const std::string mine = "model.millrace.tmp-2";
  const std::string locked = "model.millrace.tmp-3";
  for (const std::string& name : {left, mine, locked}) {
    fs::create_directories(path(name));
    write(name + "/dense", "half");
  }
  write(left + ".lock", "");
  ASSERT_OK_AND_ASSIGN(const auto lock, files_.lock(path(locked + ".lock")));
  ASSERT_OK(write_output_directory(files_, path("model"), [&](const std::string&) {
    EXPECT_FALSE(exists(left)) << "before the work";
    return absl::OkStatus();
  }));
  EXPECT_FALSE(exists(left + ".lock"));
  EXPECT_TRUE(exists(mine + "/dense")) << "without a lock it is nobody's";
  EXPECT_TRUE(exists(locked + "/dense")) << "as a writer on another machine";
  EXPECT_TRUE(exists(locked + ".lock"));
}

TEST_F(OutputFileTest, TheWriterHoldsTheLock) {
  const std::string aside = absl::StrCat("p.csv.millrace.tmp-", ::getpid());
  ASSERT_OK(write_output_file(files_, path("p.csv"), [&](WritableFile& file) {
    remove_leftovers(files_, path("p.csv"));
    EXPECT_TRUE(exists(aside + ".lock"));
    EXPECT_TRUE(exists(aside)) << "its lock protects the file";
    return file.append("whole");
  }));
  ASSERT_OK_AND_ASSIGN(const auto lock, files_.lock(path(aside + ".lock")));
  const absl::Status status =
      write_output_file(files_, path("p.csv"), [](WritableFile&) { return absl::OkStatus(); });
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kPermissionDenied,
                               AllOf(HasSubstr("cannot write " + path("p.csv")),
                                     HasSubstr("another process writes " + path(aside)))));
  EXPECT_THAT(read_file(files_, path("p.csv")), IsOkAndHolds("whole"));
}

TEST_F(OutputFileTest, ExtensionsOfOtherFilesAreRefused) {
  for (const char* good : {"r.svg", "r.SVG", "out/r", "r.chart", "out.png/r", ".png"}) {
    EXPECT_OK(check_extension(good, "SVG", {".svg"})) << good;
  }
  EXPECT_EQ(
      check_extension("out/r.PNG", "SVG", {".svg"}),
      absl::InvalidArgumentError("out/r.PNG: the extension is .png, but SVG is written; use .svg"));
  EXPECT_EQ(check_extension("r.csv", "Parquet", {".parquet", ".pq"}),
            absl::InvalidArgumentError(
                "r.csv: the extension is .csv, but Parquet is written; use .parquet or .pq"));
}

TEST_F(OutputFileTest, AFailureLeavesTheOldFile) {
  write("p.csv", "old");
  EXPECT_THAT(write_output_file(files_, path("p.csv"),
                                [](WritableFile& file) {
                                  EXPECT_OK(file.append("half"));
                                  return absl::DataLossError("no more");
                                }),
              StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(read_file(files_, path("p.csv")), IsOkAndHolds("old"));
  EXPECT_THAT(files_.glob(path("p.csv.*")), IsOkAndHolds(testing::IsEmpty()));
}

TEST_F(OutputFileTest, LinksAreFollowed) {
  fs::create_directories(path("disk"));
  write("disk/old.csv", "old");
  fs::create_symlink("old.csv", path("disk/link"));
  fs::create_symlink("disk/link", path("p.csv"));
  fs::create_symlink(path("disk/new.csv"), path("dangling"));
  for (const char* name : {"p.csv", "dangling"}) {
    ASSERT_OK(write_output_file(files_, path(name),
                                [](WritableFile& file) { return file.append("whole"); }));
    EXPECT_TRUE(fs::is_symlink(path(name))) << name;
  }
  EXPECT_TRUE(fs::is_symlink(path("disk/link")));
  EXPECT_THAT(read_file(files_, path("disk/old.csv")), IsOkAndHolds("whole"));
  EXPECT_THAT(read_file(files_, path("disk/new.csv")), IsOkAndHolds("whole"));
}

}  // namespace
}  // namespace millrace
