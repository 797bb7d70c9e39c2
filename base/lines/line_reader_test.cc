#include "base/lines/line_reader.h"

#include <vector>

#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> lines_of(const std::string& text, const LineReaderOptions& options = {}) {
  MemoryFileSystem files;
  files.put("a", text);
  std::vector<std::string> lines;
  const auto reader = LineReader::open(files, "a", options);
  EXPECT_OK(reader.status());
  if (!reader.ok()) return lines;
  int64_t bytes = 0;
  for (absl::string_view line;;) {
    const absl::StatusOr<bool> more = (*reader)->next(line);
    EXPECT_OK(more.status());
    if (!more.ok() || !*more) return lines;
    lines.emplace_back(line);
    bytes += static_cast<int64_t>(line.size()) + 1;
    EXPECT_EQ((*reader)->end_of_line(), bytes);
  }
}

TEST(LineReaderTest, LinesWithAnEnd) {
  EXPECT_THAT(lines_of(""), IsEmpty());
  EXPECT_THAT(lines_of("a"), IsEmpty());
  EXPECT_THAT(lines_of("\n"), ElementsAre(""));
  EXPECT_THAT(lines_of("a\n\n\"b\nc"), ElementsAre("a", "", "\"b"));
}

TEST(LineReaderTest, AnyBorderOfReads) {
  const std::string text = "1\n22\n\n4444444444444\n\"5\n\"\"5\"\n6\n7";
  for (int64_t read = 1; read < 40; ++read) {
    EXPECT_THAT(lines_of(text, {.read_bytes = read}),
                ElementsAre("1", "22", "", "4444444444444", "\"5", "\"\"5\"", "6"))
        << read;
    EXPECT_THAT(lines_of(text, {.quotes = true, .read_bytes = read}),
                ElementsAre("1", "22", "", "4444444444444", "\"5\n\"\"5\"", "6"))
        << read;
  }
}

TEST(LineReaderTest, TheFirstBytes) {
  EXPECT_THAT(lines_of("1\n2\n3\n", {.most_bytes = 4}), ElementsAre("1", "2"));
  EXPECT_THAT(lines_of("1\n2\n3\n", {.most_bytes = 5}), ElementsAre("1", "2"));
  EXPECT_THAT(lines_of("1\n2\n3\n", {.most_bytes = 0}), IsEmpty());
}

TEST(LineReaderTest, AMissingFile) {
  MemoryFileSystem files;
  EXPECT_THAT(LineReader::open(files, "a").status(), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace millrace
