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
                       HasSubstr("the list of files changed: file 1 was a, now it is 0")));
}

TEST_F(ListWindowSourceTest, PathsThatMatchNothing) {
  EXPECT_THAT(source("path: 'e/*' windows {}"), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace millrace
