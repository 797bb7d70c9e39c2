#include "checkpoint/format/safetensors_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/fault_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

class SafetensorsWriterTest : public testing::Test {
 protected:
  SafetensorsWriterTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    directory_ = join_path(testing::TempDir(), std::string("safetensors_writer_") + test->name());
    EXPECT_OK(files_.create_directories(directory_));
    path_ = join_path(directory_, "w.safetensors");
  }

  FileSystem& files_ = FileSystem::local();
  std::string directory_, path_;
  const std::vector<float> floats_ = {1, -2, 0.5};
  const std::vector<int64_t> ids_ = {7, -1};
  const std::vector<TensorSource> sources_ = {
      tensor_from_memory("w", TensorType::kF32, {3, 1}, floats_.data()),
      tensor_from_memory("ids", TensorType::kI64, {2}, ids_.data())};
};

// The exact bytes of the format, which Python's safetensors package also reads.
TEST_F(SafetensorsWriterTest, GoldenBytes) {
  ASSERT_OK(write_safetensors(files_, path_, sources_, {{"k", "v"}}));
  const std::string header =
      R"({"__metadata__":{"k":"v"},"ids":{"dtype":"I64","shape":[2],"data_offsets":[0,16]},)"
      R"("w":{"dtype":"F32","shape":[3,1],"data_offsets":[16,28]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  std::string expected(1, static_cast<char>(padded.size()));
  expected += std::string(7, '\0') + padded;
  expected += std::string("\x07\0\0\0\0\0\0\0", 8) + std::string(8, '\xff');
  expected += std::string("\0\0\x80\x3f\0\0\0\xc0\0\0\0\x3f", 12);
  ASSERT_LT(padded.size(), 256u);
  EXPECT_THAT(read_file(files_, path_), IsOkAndHolds(expected));
}

TEST_F(SafetensorsWriterTest, OrderDoesNotMatter) {
  ASSERT_OK(write_safetensors(files_, path_, sources_, {}));
  ASSERT_OK_AND_ASSIGN(const std::string first, read_file(files_, path_));
  ASSERT_OK(write_safetensors(files_, path_, {sources_[1], sources_[0]}, {}));
  EXPECT_THAT(read_file(files_, path_), IsOkAndHolds(first));
}

TEST_F(SafetensorsWriterTest, NothingToWriteIsAFileTooAndPathsMayBeRelative) {
  ASSERT_OK(write_safetensors(files_, path_, {}, {}));
  EXPECT_THAT(read_file(files_, path_),
              IsOkAndHolds(std::string("\x08\0\0\0\0\0\0\0{}      ", 16)));
  const std::string relative = "safetensors_writer_test.safetensors";
  EXPECT_OK(write_safetensors(files_, relative, {}, {}));
  EXPECT_OK(files_.remove(relative));
}

TEST_F(SafetensorsWriterTest, ContentComesInPieces) {
  TensorSource source{"a", TensorType::kU8, {4}, [](const TensorSource::Append& append) {
                        for (const char* piece : {"ab", "", "c", "d"}) {
                          const absl::Status status = append(piece);
                          if (!status.ok()) return status;
                        }
                        return absl::OkStatus();
                      }};
  ASSERT_OK(write_safetensors(files_, path_, {source}, {}));
  ASSERT_OK_AND_ASSIGN(const std::string content, read_file(files_, path_));
  EXPECT_EQ(content.substr(content.size() - 4), "abcd");
}

TEST_F(SafetensorsWriterTest, WrongContentIsAnErrorAndTheOldFileStays) {
  ASSERT_OK(write_file_atomically(files_, path_, "old"));
  auto write = [&](const std::string& bytes, absl::Status outcome) {
    TensorSource source{"a", TensorType::kU8, {4}, [&](const TensorSource::Append& append) {
                          const absl::Status status = append(bytes);
                          return status.ok() ? outcome : status;
                        }};
    return write_safetensors(files_, path_, {source}, {});
  };
  EXPECT_THAT(write("abc", absl::OkStatus()),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("tensor \"a\": fewer bytes")));
  EXPECT_THAT(write("abcde", absl::OkStatus()),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("more bytes")));
  EXPECT_THAT(write("abcd", absl::UnavailableError("gone")),
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr(path_ + ", tensor \"a\": gone")));
  EXPECT_THAT(read_file(files_, path_), IsOkAndHolds("old"));
  EXPECT_THAT(files_.glob(directory_ + "/*"), IsOkAndHolds(ElementsAre(path_)));
}

TEST_F(SafetensorsWriterTest, BadNamesAndMetadataWriteNothing) {
  const float x = 0;
  const TensorSource good = tensor_from_memory("a", TensorType::kF32, {}, &x);
  const TensorSource bad = tensor_from_memory("../a", TensorType::kF32, {}, &x);
  EXPECT_THAT(write_safetensors(files_, path_, {bad}, {}), StatusIs(kInvalid, HasSubstr(path_)));
  EXPECT_THAT(write_safetensors(files_, path_, {good, good}, {}), StatusIs(kInvalid));
  EXPECT_THAT(write_safetensors(files_, path_, {good}, {{"k", "\xff"}}), StatusIs(kInvalid));
  EXPECT_THAT(files_.info(path_), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(SafetensorsWriterTest, WhereNothingCanBeWritten) {
  EXPECT_THAT(write_safetensors(files_, directory_ + "/missing/x", sources_, {}),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("missing/x")));
  EXPECT_FALSE(write_safetensors(files_, directory_, sources_, {}).ok());
}

// After a failure of any call, the file has its old or its new content, and no other file is left.
TEST_F(SafetensorsWriterTest, EveryCallMayFail) {
  ASSERT_OK(write_safetensors(files_, path_, sources_, {}));
  ASSERT_OK_AND_ASSIGN(const std::string whole, read_file(files_, path_));
  ASSERT_OK(write_file_atomically(files_, path_, "old"));
  for (int64_t n = 0;; ++n) {
    FaultFileSystem faulty(files_);
    faulty.fail(n, 1, absl::ResourceExhaustedError("injected"));
    const absl::Status status = write_safetensors(faulty, path_, sources_, {});
    if (faulty.calls() <= n) {
      EXPECT_OK(status);
      EXPECT_GE(n, 8) << "create, 4 appends, sync, close, rename, sync of the directory";
      break;
    }
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("injected"))) << n;
    EXPECT_THAT(read_file(files_, path_), IsOkAndHolds(AnyOf("old", whole))) << n;
    EXPECT_THAT(files_.glob(directory_ + "/*"), IsOkAndHolds(ElementsAre(path_))) << n;
  }
  EXPECT_THAT(read_file(files_, path_), IsOkAndHolds(whole));
}

}  // namespace
}  // namespace millrace
