#include "bench/arrow_read.h"

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

TEST(ArrowReadTest, CountsTheRowsOfBothFormats) {
  for (const auto format : {DataConfig::ORC, DataConfig::PARQUET}) {
    const std::string path = absl::StrCat(fresh_test_dir(), "/data", extension_of(format));
    ASSERT_OK(write_data_file(criteo_like_table(1000, 2, 3), format, 300, path));
    EXPECT_TRUE(arrow_reads(path));
    EXPECT_THAT(read_with_arrow(path, {"label", "c3"}), IsOkAndHolds(1000));
  }
}

TEST(ArrowReadTest, OtherFilesAreRefused) {
  EXPECT_FALSE(arrow_reads("data.csv"));
  EXPECT_THAT(read_with_arrow("/none.parquet", {}),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("/none.parquet")));
}

}  // namespace
}  // namespace millrace
