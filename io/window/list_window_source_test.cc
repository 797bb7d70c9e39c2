#include "io/window/list_window_source.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

class ListWindowSourceTest : public testing::Test {
 protected:
  ListWindowSourceTest() {
    for (const char* name : {"d/a", "d/b", "d/c"}) files_.put(name, "x");
  }
  absl::StatusOr<std::unique_ptr<WindowSource>> source(const std::string& config) {
    DataConfig data;
    EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(config, &data));
    return ListWindowSource::create(
        files_, data, [](const std::string&) -> absl::StatusOr<int64_t> { return 5; });
  }
  MemoryFileSystem files_;
  WindowPosition position_;
};

TEST_F(ListWindowSourceTest, FilesInTheirOrderThenTheEnd) {
  ASSERT_OK_AND_ASSIGN(const auto list, source("path: ['d/c', 'd/a', 'd/b'] windows { files: 2 }"));
  ASSERT_THAT(list->find(false, position_), IsOkAndHolds(Found::kWindow));
  EXPECT_EQ(position_.name(), "c..a");
  ASSERT_THAT(list->find(false, position_), IsOkAndHolds(Found::kWindow));
  ASSERT_EQ(position_.file_size(), 1);
  EXPECT_EQ(list->path_of(position_.file(0).name()), "d/b");
  EXPECT_THAT(list->find(false, position_), IsOkAndHolds(Found::kEnded));
}

TEST_F(ListWindowSourceTest, RowsGoOnFromAPosition) {
  const std::string config = "path: 'd/*' windows { rows: 4 }";
  std::string windows;
  for (int i = 0; i < 5; ++i) {
    ASSERT_OK_AND_ASSIGN(const auto list, source(config));
    const auto found = list->find(false, position_);
    ASSERT_OK(found.status());
    if (*found == Found::kWindow) windows += position_.name() + " ";
  }
  EXPECT_EQ(windows, "a a..b b..c c ");
}

TEST_F(ListWindowSourceTest, AnotherListIsAnError) {
  ASSERT_OK_AND_ASSIGN(const auto list, source("path: 'd/*' windows {}"));
  ASSERT_THAT(list->find(false, position_), IsOkAndHolds(Found::kWindow));
  files_.put("d/0", "x");
  ASSERT_OK_AND_ASSIGN(const auto other, source("path: 'd/*' windows {}"));
  EXPECT_THAT(other->find(false, position_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("the list of files changed: file 1 was d/a, now it is d/0")));
}

TEST_F(ListWindowSourceTest, EqualNamesInOtherFoldersAreOtherFiles) {
  for (const char* name : {"e/1/part", "e/2/part", "e/3/part"}) files_.put(name, "x");
  ASSERT_OK_AND_ASSIGN(const auto list, source("path: 'e/*/part' windows { files: 2 }"));
  ASSERT_THAT(list->find(false, position_), IsOkAndHolds(Found::kWindow));
  files_.put("f/1/part", "x");
  files_.put("f/2/part", "x");
  ASSERT_OK_AND_ASSIGN(const auto moved, source("path: 'f/*/part' windows { files: 2 }"));
  WindowPosition position = position_;
  EXPECT_THAT(moved->find(false, position), IsOkAndHolds(Found::kEnded)) << "the folder may move";
  files_.put("g/0/part", "x");
  files_.put("g/2/part", "x");
  ASSERT_OK_AND_ASSIGN(const auto changed, source("path: 'g/*/part' windows { files: 2 }"));
  EXPECT_THAT(changed->find(false, position_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("file 2 was e/2/part, now it is g/2/part, but one of the files")));

  files_.put("e/0/part", "x");
  ASSERT_OK_AND_ASSIGN(const auto before, source("path: 'e/*/part' windows { files: 2 }"));
  EXPECT_THAT(before->find(false, position_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("file 2 was e/2/part, now it is e/1/part")));
  ASSERT_OK(files_.remove("e/1/part"));
  ASSERT_OK_AND_ASSIGN(const auto replaced, source("path: 'e/*/part' windows { files: 2 }"));
  EXPECT_THAT(replaced->find(false, position_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("one of the files before it is another")));
  position_.clear_last_path();
  EXPECT_THAT(replaced->find(false, position_), IsOkAndHolds(Found::kWindow))
      << "positions of earlier versions have names alone";
}

TEST_F(ListWindowSourceTest, PathsThatMatchNothing) {
  EXPECT_THAT(source("path: 'e/*' windows {}"), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace millrace
