#include "io/window/directory_window_source.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/memory_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class DirectoryWindowSourceTest : public testing::Test {
 protected:
  DirectoryWindowSourceTest() { EXPECT_OK(files_.create_directories("in")); }

  void put(const std::vector<std::string>& names) {
    for (const std::string& name : names) files_.put("in/" + name, "x");
  }
  std::unique_ptr<DirectoryWindowSource> source(const std::string& more = "") {
    WindowsConfig windows;
    windows.mutable_directory()->set_path("in");
    EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(more, &windows));
    return std::make_unique<DirectoryWindowSource>(
        files_, windows, [](const std::string&) { return absl::UnimplementedError("rows"); });
  }
  // The files of the windows that are there now.
  std::vector<std::string> windows(DirectoryWindowSource& source) {
    std::vector<std::string> windows;
    while (true) {
      const auto found = source.find(/*no_more=*/false, position_);
      EXPECT_OK(found.status());
      last_ = found.ok() ? *found : Found::kEnded;
      if (!found.ok() || *found != Found::kWindow) return windows;
      std::vector<std::string> files;
      for (const auto& file : position_.file()) files.push_back(file.name());
      windows.push_back(absl::StrJoin(files, "+"));
    }
  }

  MemoryFileSystem files_;
  WindowPosition position_;
  Found last_ = Found::kNotYet;
};

TEST_F(DirectoryWindowSourceTest, TakesNamesInTheirOrderAsTheyCome) {
  const auto one = source();
  EXPECT_THAT(windows(*one), IsEmpty());
  EXPECT_EQ(last_, Found::kNotYet);
  EXPECT_EQ(one->waits_for(), "files in in (0 of 1 are there)");
  put({"b", "a", "c"});
  EXPECT_THAT(windows(*one), ElementsAre("a", "b", "c"));
  put({"d"});
  EXPECT_THAT(windows(*one), ElementsAre("d"));
  EXPECT_EQ(last_, Found::kNotYet);
  put({"e", "_END"});
  EXPECT_THAT(windows(*one), ElementsAre("e"));
  EXPECT_EQ(last_, Found::kEnded);
}

// Lists what is there and then lets names come that the listing may have in part.
class GrowingFiles : public MemoryFileSystem {
 public:
  absl::StatusOr<std::vector<DirectoryEntry>> list(const std::string& path) override {
    ASSIGN_OR_RETURN(std::vector<DirectoryEntry> entries, MemoryFileSystem::list(path));
    if (comes_.empty()) return entries;
    for (const std::string& name : comes_) put(join_path(path, name), "x");
    entries.push_back({comes_.back(), FileKind::kRegular});
    comes_.clear();
    return entries;
  }
  void comes_while_listed(std::vector<std::string> names) { comes_ = std::move(names); }

 private:
  std::vector<std::string> comes_;
};

TEST_F(DirectoryWindowSourceTest, NoNameIsMissedThatCameWhileOthersWereListed) {
  GrowingFiles files;
  ASSERT_OK(files.create_directories("in"));
  files.put("in/a", "x");
  WindowsConfig config;
  config.mutable_directory()->set_path("in");
  DirectoryWindowSource source(files, config,
                               [](const std::string&) { return absl::UnimplementedError("rows"); });
  files.comes_while_listed({"b", "c"});
  EXPECT_THAT(windows(source), ElementsAre("a", "b", "c"));
  files.comes_while_listed({"d", "e", "_END"});
  EXPECT_THAT(windows(source), ElementsAre("d", "e"));
  EXPECT_EQ(last_, Found::kEnded);
}

TEST_F(DirectoryWindowSourceTest, SeveralFilesAndARest) {
  const auto three = source("files: 3");
  put({"a", "b", "c", "d"});
  EXPECT_THAT(windows(*three), ElementsAre("a+b+c"));
  EXPECT_EQ(position_.name(), "a..c");
  EXPECT_EQ(three->waits_for(), "files in in (1 of 3 is there)");
  put({"_END"});
  EXPECT_THAT(windows(*three), ElementsAre("d"));
}

TEST_F(DirectoryWindowSourceTest, WhatIsNotWholeDoesNotCount) {
  put({".a.csv", "_b.csv", "c.csv.tmp", "d.txt", "e.csv"});
  EXPECT_THAT(windows(*source("directory { pattern: '*.csv' }")), ElementsAre("e.csv"));
}

TEST_F(DirectoryWindowSourceTest, MarkedFiles) {
  const auto marked = source("directory { done_suffix: '.done' }");
  put({"a", "b", "b.done", "c.done"});
  EXPECT_THAT(windows(*marked), ElementsAre("b"));
  put({"c"});
  EXPECT_THAT(windows(*marked), ElementsAre("c"));
}

TEST_F(DirectoryWindowSourceTest, DirectoriesWithTheirMark) {
  put({"a/part-1", "a/part-0", "a/_SUCCESS", "a/.part-2", "b/part-0"});
  const auto one = source();
  EXPECT_THAT(windows(*one), ElementsAre("a/part-0+a/part-1"));
  put({"b/_SUCCESS"});
  EXPECT_THAT(windows(*one), ElementsAre("b/part-0"));
  EXPECT_EQ(one->path_of("b/part-0"), "in/b/part-0");
}

TEST_F(DirectoryWindowSourceTest, LateNamesFail) {
  const auto one = source();
  put({"a", "c"});
  windows(*one);
  put({"b"});
  EXPECT_THAT(one->find(false, position_),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr("in/b came late: c was taken"), HasSubstr("late: FAIL"))));
  // Also for one that knows the position alone.
  EXPECT_THAT(source()->find(false, position_), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(DirectoryWindowSourceTest, LateNamesAreLeftOut) {
  const auto one = source("directory { late: SKIP }");
  put({"a", "c"});
  windows(*one);
  put({"b", "d"});
  EXPECT_THAT(windows(*one), ElementsAre("d"));
  EXPECT_THAT(windows(*source("directory { late: SKIP }")), IsEmpty());
}

TEST_F(DirectoryWindowSourceTest, LateNamesAreTakenWithTheNextWindow) {
  const auto two = source("files: 2 directory { late: TAKE }");
  put({"b", "d"});
  windows(*two);
  put({"a", "c", "e"});
  EXPECT_THAT(windows(*two), ElementsAre("a+c"));
  EXPECT_EQ(position_.last_name(), "d");
  put({"f"});
  EXPECT_THAT(windows(*source("files: 2 directory { late: TAKE }")), ElementsAre("e+f"));
}

TEST_F(DirectoryWindowSourceTest, ANameThatComesAgainIsLate) {
  const auto one = source();
  put({"a", "b"});
  windows(*one);
  ASSERT_OK(files_.remove("in/a"));
  put({"c"});
  EXPECT_THAT(windows(*one), ElementsAre("c"));
  put({"a"});
  EXPECT_THAT(one->find(false, position_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("in/a came late")));
}

TEST_F(DirectoryWindowSourceTest, AVanishedDirectoryIsAnError) {
  const auto one = source();
  ASSERT_OK(remove_recursively(files_, "in"));
  EXPECT_THAT(one->find(false, position_), StatusIs(absl::StatusCode::kNotFound, HasSubstr("in")));
}

TEST_F(DirectoryWindowSourceTest, LookingChangesNothing) {
  const auto one = source();
  put({"a", "b"});
  WindowPosition look = position_;
  EXPECT_THAT(one->find(false, look), IsOkAndHolds(Found::kWindow));
  EXPECT_THAT(one->find(false, look), IsOkAndHolds(Found::kWindow));
  EXPECT_THAT(windows(*one), ElementsAre("a", "b"));
}

// More names than a position keeps: the position stays small, and no file is repeated.
TEST_F(DirectoryWindowSourceTest, ManyNames) {
  constexpr int kNames = kTakenNames + 500;
  const auto hundred = source("files: 100 directory { late: TAKE }");
  for (int i = 0; i < kNames; ++i) put({absl::StrFormat("part-%05d", 2 * i)});
  EXPECT_EQ(windows(*hundred).size(), kNames / 100);
  EXPECT_LE(position_.ByteSizeLong(), 32u << 10);
  EXPECT_EQ(position_.forgotten(),
            absl::StrFormat("part-%05d", 2 * (kNames / 100 * 100 - kTakenNames - 1)));
  // One that looked all the time knows a late name, however old.
  put({"part-00001"});
  ASSERT_THAT(hundred->find(/*no_more=*/true, position_), IsOkAndHolds(Found::kWindow));
  EXPECT_EQ(position_.file(0).name(), "part-00001");
  EXPECT_EQ(position_.file_size(), 1 + kNames % 100);
  // One that did not takes nothing twice.
  put({"part-00003"});
  EXPECT_THAT(source("files: 100 directory { late: TAKE }")->find(true, position_),
              IsOkAndHolds(Found::kEnded));
}

// Counts listings and questions for times. Directories were modified at a time that tests set.
class CountingFiles : public MemoryFileSystem {
 public:
  absl::StatusOr<std::vector<DirectoryEntry>> list(const std::string& path) override {
    ++lists;
    return MemoryFileSystem::list(path);
  }
  absl::StatusOr<FileInfo> info(const std::string& path) override {
    ASSIGN_OR_RETURN(FileInfo info, MemoryFileSystem::info(path));
    info.modified = modified;
    ++times;
    return info;
  }

  int lists = 0;
  int times = 0;
  absl::Time modified = absl::InfiniteFuture();
};

TEST_F(DirectoryWindowSourceTest, ABacklogIsListedOnceAsLongAsNothingChanges) {
  CountingFiles files;
  const auto put = [&](const char* name, absl::Time modified) {
    files.put(absl::StrCat("in/", name), "x");
    files.modified = modified;
    files.lists = 0;
  };
  WindowsConfig config;
  config.mutable_directory()->set_path("in");
  DirectoryWindowSource source(files, config, nullptr);
  const absl::Time old = absl::UnixEpoch();
  for (const char* name : {"a", "b", "c", "d"}) put(name, old);
  WindowPosition peeked;
  ASSERT_THAT(source.find(/*no_more=*/false, peeked), IsOkAndHolds(Found::kWindow));
  EXPECT_EQ(peeked.name(), "a");
  EXPECT_THAT(windows(source), ElementsAre("a", "b", "c", "d"));
  EXPECT_EQ(files.lists, 2 + 1) << "two for the backlog, one at its end";
  EXPECT_EQ(files.times, 1 + 4 + 1) << "one for each find";
  // The mount keeps no times.
  put("e", old);
  put("f", old);
  EXPECT_THAT(windows(source), ElementsAre("e", "f"));
  EXPECT_EQ(files.lists, 2 + 1);
  put("g", old + absl::Seconds(1));
  put("h", old + absl::Seconds(2));
  EXPECT_THAT(windows(source), ElementsAre("g", "h"));
  EXPECT_EQ(files.lists, 2 + 1);
  const absl::Time future = absl::Now() + absl::Hours(1);
  put("i", future);
  put("j", future);
  EXPECT_THAT(windows(source), ElementsAre("i", "j"));
  EXPECT_EQ(files.lists, 2 + 2 + 1) << "a change may hide another of the same time";
  put("ba", old);
  EXPECT_THAT(source.find(/*no_more=*/false, position_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("ba came late")));
}

TEST_F(DirectoryWindowSourceTest, OldLateNamesThatWaitAreKept) {
  put({"c"});
  position_.set_last_name("m");
  position_.set_forgotten("k");
  *position_.add_late() = "b";
  put({"a", "b"});
  EXPECT_THAT(windows(*source("directory { late: TAKE }")), ElementsAre("b"));
}

}  // namespace
}  // namespace millrace
