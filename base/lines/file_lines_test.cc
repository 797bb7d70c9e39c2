#include "base/lines/file_lines.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fault_file_system_testing.h"
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
  int64_t bytes = options.first_byte;
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
  EXPECT_THAT(lines_of("1\n2\n3\n", {.first_byte = 1}), ElementsAre("", "2", "3"));
  EXPECT_THAT(lines_of("1\n2\n3\n", {.most_bytes = 4, .first_byte = 2}), ElementsAre("2"));
  EXPECT_THAT(lines_of("1\n2\n3\n", {.first_byte = 7}), IsEmpty());
}

TEST(LineReaderTest, AMissingFile) {
  MemoryFileSystem files;
  EXPECT_THAT(LineReader::open(files, "a").status(), StatusIs(absl::StatusCode::kNotFound));
}

class RewriteLinesTest : public testing::Test {
 protected:
  // Returns what the file has after edits, and checks the result.
  std::string rewritten(const std::string& text, const LineEdit& edit,
                        const LineReaderOptions& options = {}) {
    files_.put("out/a", text);
    const absl::StatusOr<int64_t> bytes = rewrite_lines(files_, "out/a", options, edit);
    EXPECT_OK(bytes.status());
    const std::string after = *read_file(files_, "out/a");
    EXPECT_EQ(bytes.value_or(-1), static_cast<int64_t>(after.size()));
    EXPECT_EQ(files_.list("out")->size(), 1);
    return after;
  }
  MemoryFileSystem files_;
};

bool drop_x(std::string& line) { return line != "x"; }

TEST_F(RewriteLinesTest, LinesAreDroppedAndChanged) {
  EXPECT_EQ(rewritten("1\nx\n2\nx\n", drop_x), "1\n2\n");
  EXPECT_EQ(rewritten("x\nx\n", drop_x), "");
  EXPECT_EQ(rewritten("1\n2\n", drop_x), "1\n2\n");
  EXPECT_EQ(rewritten("1\n\n3\n",
                      [](std::string& line) {
                        if (line != "1") line += "!";
                        return true;
                      }),
            "1\n!\n3!\n");
}

TEST_F(RewriteLinesTest, ATornEndIsDropped) {
  EXPECT_EQ(rewritten("1\n2\n3", nullptr), "1\n2\n");
  EXPECT_EQ(rewritten("1\nx\n3", drop_x), "1\n");
  EXPECT_EQ(rewritten("1", nullptr), "");
  EXPECT_EQ(rewritten("", nullptr), "");
  EXPECT_EQ(rewritten("1\n22\n3\n", nullptr, {.most_bytes = 4}), "1\n");
  EXPECT_EQ(rewritten("1\n22\n3\n", nullptr, {.most_bytes = 5}), "1\n22\n");
  EXPECT_EQ(rewritten("\"1\nx\n\"\nx\n\"", drop_x, {.quotes = true}), "\"1\nx\n\"\n");
}

TEST_F(RewriteLinesTest, EachLineIsPassedOnceInOrder) {
  std::vector<std::string> seen;
  rewritten("1\nx\n2\n3\n", [&](std::string& line) {
    seen.push_back(line);
    return line != "x";
  });
  EXPECT_THAT(seen, ElementsAre("1", "x", "2", "3"));
}

TEST_F(RewriteLinesTest, AMissingFileHasNoLines) {
  EXPECT_THAT(rewrite_lines(files_, "out/a", {}, nullptr), IsOkAndHolds(0));
  EXPECT_FALSE(files_.info("out/a").ok());
}

// Notes the largest read and write of a file system.
class PieceSizes : public FaultFileSystem {
 public:
  using FaultFileSystem::FaultFileSystem;

  int64_t largest = 0;

  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    auto file = FaultFileSystem::open(path);
    if (!file.ok()) return file.status();
    return std::make_unique<Reader>(*std::move(file), largest);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> create_replacement(
      const std::string& path, const std::string& like) override {
    auto file = FaultFileSystem::create_replacement(path, like);
    if (!file.ok()) return file.status();
    return std::make_unique<Writer>(*std::move(file), largest);
  }

 private:
  struct Reader : ReadableFile {
    Reader(std::unique_ptr<ReadableFile> file, int64_t& most)
        : under(std::move(file)), most(most) {}
    const std::string& path() const override { return under->path(); }
    int64_t size_bytes() const override { return under->size_bytes(); }
    absl::StatusOr<int64_t> read_at(int64_t offset, int64_t count, void* buffer) override {
      most = std::max(most, count);
      return under->read_at(offset, count, buffer);
    }
    std::unique_ptr<ReadableFile> under;
    int64_t& most;
  };
  struct Writer : WritableFile {
    Writer(std::unique_ptr<WritableFile> file, int64_t& most)
        : under(std::move(file)), most(most) {}
    absl::Status append(absl::string_view bytes) override {
      most = std::max(most, static_cast<int64_t>(bytes.size()));
      return under->append(bytes);
    }
    absl::Status sync() override { return under->sync(); }
    absl::Status close() override { return under->close(); }
    std::unique_ptr<WritableFile> under;
    int64_t& most;
  };
};

// The file is neither read nor written as a whole.
TEST_F(RewriteLinesTest, ALargeFileIsStreamed) {
  std::string text, kept;
  for (int i = 0; i < 1000000; ++i) {
    absl::StrAppend(&text, i, "\n");
    if (i != 500000) absl::StrAppend(&kept, i, "\n");
  }
  files_.put("out/a", text);
  PieceSizes pieces(files_);
  EXPECT_THAT(
      rewrite_lines(pieces, "out/a", {}, [](std::string& line) { return line != "500000"; }),
      IsOkAndHolds(static_cast<int64_t>(kept.size())));
  EXPECT_EQ(*read_file(files_, "out/a"), kept);
  EXPECT_LT(pieces.largest, 1 << 20);
}

TEST_F(RewriteLinesTest, AnErrorLeavesTheOldOrTheNewFile) {
  const std::string before = "1\nx\n2\n", after = "1\n2\n";
  for (int64_t n = 0;; ++n) {
    files_.put("out/a", before);
    FaultFileSystem files(files_);
    files.fail(n, 1, absl::UnavailableError("injected"));
    const auto bytes = rewrite_lines(files, "out/a", {}, drop_x);
    if (files.calls() <= n) break;
    const std::string text = *read_file(files_, "out/a");
    EXPECT_TRUE(text == before || text == after) << n << ": " << text;
    EXPECT_FALSE(bytes.ok()) << n;
  }
}

}  // namespace
}  // namespace millrace
