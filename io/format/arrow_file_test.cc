#include "io/format/arrow_file.h"

#include <string>

#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

// Keeps the bytes written, up to a limit.
class SmallFile : public WritableFile {
 public:
  explicit SmallFile(size_t room) : room_(room) {}
  absl::Status append(absl::string_view bytes) override {
    if (content.size() + bytes.size() > room_) return absl::ResourceExhaustedError("disk full");
    content.append(bytes.data(), bytes.size());
    return absl::OkStatus();
  }
  absl::Status sync() override { return absl::OkStatus(); }
  absl::Status close() override { return absl::OkStatus(); }
  std::string content;

 private:
  const size_t room_;
};

TEST(ArrowOutputTest, WritesAndCounts) {
  SmallFile file(100);
  ArrowOutput output(file);
  ASSERT_TRUE(output.Write("abc", 3).ok());
  ASSERT_TRUE(output.Write("", 0).ok());
  ASSERT_TRUE(output.Write("de", 2).ok());
  EXPECT_EQ(file.content, "abcde");
  EXPECT_EQ(output.Tell().ValueOr(-1), 5);
  EXPECT_FALSE(output.closed());
  ASSERT_TRUE(output.Close().ok());
  EXPECT_TRUE(output.closed());
}

TEST(ArrowOutputTest, TheFirstErrorOfTheFileKeepsItsCode) {
  SmallFile file(4);
  ArrowOutput output(file);
  const auto write = [&](const char* text) {
    return guard_arrow(output, [&] { return output.Write(text, 3); });
  };
  EXPECT_OK(write("abc"));
  EXPECT_THAT(write("def"), StatusIs(absl::StatusCode::kResourceExhausted, "disk full"));
  EXPECT_FALSE(output.Write("g", 1).ok()) << "a failure lasts: the file would have a hole";
  EXPECT_EQ(file.content, "abc");
}

TEST(ArrowOutputTest, ErrorsOfArrowAndExceptions) {
  SmallFile file(4);
  ArrowOutput output(file);
  EXPECT_THAT(guard_arrow(output, [] { return arrow::Status::Invalid("two\nlines"); }),
              StatusIs(absl::StatusCode::kInternal, "two lines"));
  EXPECT_THAT(guard_arrow(output, [] { return arrow::Status::OutOfMemory("much"); }),
              StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(guard_arrow(output, []() -> arrow::Status { throw std::runtime_error("thrown"); }),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("thrown")));
}

TEST(ArrowOutputTest, DetachedItTouchesNothing) {
  SmallFile file(100);
  ArrowOutput output(file);
  output.detach();
  EXPECT_FALSE(output.Write("abc", 3).ok());
  EXPECT_EQ(file.content, "");
}

}  // namespace
}  // namespace millrace
