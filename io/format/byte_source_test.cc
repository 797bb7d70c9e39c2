#include "io/format/byte_source.h"

#include <string>

#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "tests/io_testing/data_files.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

class ByteSourceTest : public testing::Test {
 protected:
  ReadableFile& file(const std::string& content) {
    files_.put("/bytes", content);
    file_ = *files_.open("/bytes");
    return *file_;
  }
  // Everything, in pieces.
  static absl::StatusOr<std::string> drain(ByteSource& source, int64_t piece) {
    std::string all;
    while (true) {
      std::string bytes(piece, '\0');
      const auto count = source.read(absl::MakeSpan(bytes));
      if (!count.ok()) return count.status();
      all += bytes.substr(0, *count);
      if (*count < piece) return all;
    }
  }
  MemoryFileSystem files_;
  std::unique_ptr<ReadableFile> file_;
};

std::string long_text() {
  std::string text;
  for (int64_t i = 0; i < 100000; ++i) text += std::to_string(i * i % 7919);
  return text;
}

TEST_F(ByteSourceTest, PlainFromAnyOffset) {
  const std::string text = long_text();
  for (const int64_t piece : {1000, 300000, 1 << 20}) {
    ASSERT_OK_AND_ASSIGN(const std::string all, drain(*plain_bytes(file(text), 5), piece));
    EXPECT_EQ(all, text.substr(5));
  }
  ASSERT_OK_AND_ASSIGN(const std::string none, drain(*plain_bytes(file("")), 10));
  EXPECT_EQ(none, "");
}

TEST_F(ByteSourceTest, GzipOfSeveralMembers) {
  const std::string text = long_text();
  EXPECT_TRUE(*is_gzip(file(gzip(text))));
  EXPECT_FALSE(*is_gzip(file("\x1f")));
  for (const int64_t piece : {1000, 1 << 20}) {
    ASSERT_OK_AND_ASSIGN(const std::string all,
                         drain(*gzip_bytes(file(gzip(text) + gzip("") + gzip("end"))), piece));
    EXPECT_EQ(all, text + "end");
  }
}

TEST_F(ByteSourceTest, DamageIsToldWithItsPlace) {
  const std::string whole = gzip(long_text());
  EXPECT_THAT(drain(*gzip_bytes(file(whole.substr(0, whole.size() - 1))), 4096),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("end in the middle, near byte")));
  EXPECT_THAT(drain(*gzip_bytes(file(whole + "x")), 4096),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("near byte")));
  for (size_t place = 30; place < whole.size(); place += whole.size() / 50) {
    std::string damaged = whole;
    damaged[place] = static_cast<char>(damaged[place] ^ 4);
    EXPECT_THAT(drain(*gzip_bytes(file(damaged)), 4096), StatusIs(absl::StatusCode::kDataLoss))
        << place;
  }
}

}  // namespace
}  // namespace millrace
