#include "proto/data_windows.h"

#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(DataWindowsTest, DataComesInWindowsIfAnyOfItsSourcesDoes) {
  DataConfig data;
  EXPECT_FALSE(comes_in_windows(data));
  data.mutable_mix()->add_source();
  EXPECT_FALSE(comes_in_windows(data));
  data.mutable_mix()->add_source()->mutable_data()->mutable_windows();
  EXPECT_TRUE(comes_in_windows(data));
  data.clear_mix();
  data.mutable_windows();
  EXPECT_TRUE(comes_in_windows(data));
}

TEST(DataWindowsTest, WhoSaysWhereFilesAre) {
  WindowsConfig windows;
  EXPECT_FALSE(finds_own_files(windows));
  windows.mutable_list();
  EXPECT_FALSE(finds_own_files(windows));
  windows.mutable_directory();
  EXPECT_TRUE(finds_own_files(windows));
}

}  // namespace
}  // namespace millrace
