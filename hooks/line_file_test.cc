#include "hooks/line_file.h"

#include <gtest/gtest.h>

#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

constexpr char kPath[] = "out/lines.txt";

class LineFileTest : public testing::Test {
 protected:
  std::string text() { return *read_file(files_, kPath); }
  void append(LineFile& file, std::initializer_list<const char*> lines) {
    for (const char* line : lines) ASSERT_OK(file.append(line));
  }

  MemoryFileSystem files_;
};

TEST_F(LineFileTest, ANewRunReplacesTheFile) {
  for (const char* line : {"first", "second"}) {
    LineFile file(files_, kPath);
    file.begin(/*continues=*/false);
    EXPECT_TRUE(file.empty());
    append(file, {line});
    EXPECT_FALSE(file.empty());
    ASSERT_OK(file.finish());
    EXPECT_EQ(text(), std::string(line) + "\n");
    EXPECT_EQ(file.bytes(), static_cast<int64_t>(text().size()));
  }
}

TEST_F(LineFileTest, ARunThatContinuesDropsWhatIsBehindItsBytes) {
  LineFile before(files_, kPath);
  before.begin(false);
  append(before, {"a", "b"});
  const int64_t bytes = before.bytes();
  append(before, {"c"});
  ASSERT_OK(before.finish());
  LineFile after(files_, kPath);
  after.set_bytes(bytes);
  after.begin(true);
  append(after, {"d"});
  EXPECT_EQ(text(), "a\nb\nd\n");
  EXPECT_EQ(after.bytes(), 6);
}

TEST_F(LineFileTest, ARunThatContinuesDropsLaterLinesAndHalfOnes) {
  ASSERT_OK(files_.create_directories("out"));
  ASSERT_OK(write_file_atomically(files_, kPath, "1\n9\n2\n3"));
  LineFile file(files_, kPath);
  file.begin(true, [](absl::string_view line) { return line == "9"; });
  append(file, {"4"});
  EXPECT_EQ(text(), "1\n2\n4\n");
}

TEST_F(LineFileTest, ARemovedFileBeginsAnew) {
  LineFile file(files_, kPath);
  file.begin(false);
  append(file, {"a"});
  file.check_removed();
  append(file, {"b"});
  EXPECT_EQ(text(), "a\nb\n") << "it is there";
  ASSERT_OK(files_.remove(kPath));
  file.check_removed();
  EXPECT_TRUE(file.empty());
  append(file, {"c"});
  EXPECT_EQ(text(), "c\n");
  EXPECT_EQ(file.bytes(), 2);
}

TEST_F(LineFileTest, NothingIsWrittenWithoutALine) {
  LineFile file(files_, kPath);
  file.begin(true);
  ASSERT_OK(file.finish());
  EXPECT_FALSE(files_.info(kPath).ok());
}

}  // namespace
}  // namespace millrace
