#include "checkpoint/format/safetensors_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fault_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;

class SafetensorsReaderTest : public testing::Test {
 protected:
  SafetensorsReaderTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    path_ = join_path(testing::TempDir(), std::string("safetensors_reader_") + test->name());
    const bool flags[] = {true, false, true};
    const std::vector<TensorSource> sources = {
        tensor_from_memory("floats", TensorType::kF32, {3, 1}, floats_.data()),
        tensor_from_memory("ids", TensorType::kI64, {2}, ids_.data()),
        tensor_from_memory("none", TensorType::kF32, {0, 9}, nullptr),
        tensor_from_memory("flags", TensorType::kBool, {3}, flags)};
    EXPECT_OK(write_safetensors(files_, path_, sources, {{"k", "v"}}));
    good_ = read_file(files_, path_).value_or("");
  }
  absl::StatusOr<std::unique_ptr<SafetensorsReader>> open_with(absl::string_view content) {
    EXPECT_OK(write_file_atomically(files_, path_, content));
    return SafetensorsReader::open(files_, path_);
  }
  // Opens the file and reads all tensors. Returns the first error.
  absl::Status read_all(absl::string_view content) {
    auto reader = open_with(content);
    if (!reader.ok()) return reader.status();
    for (const TensorInfo& info : (*reader)->tensors()) {
      std::vector<char> bytes(info.size_bytes());
      const absl::Status status = (*reader)->read_bytes(info, absl::MakeSpan(bytes));
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }
  static std::string with_length(uint64_t length, absl::string_view rest) {
    std::string content(8, '\0');
    std::memcpy(content.data(), &length, 8);
    return absl::StrCat(content, rest);
  }

  FileSystem& files_ = FileSystem::local();
  std::string path_, good_;
  const std::vector<float> floats_ = {1, -2, 0.5};
  const std::vector<int64_t> ids_ = {7, -1};
};

TEST_F(SafetensorsReaderTest, ReadsWhatWasWritten) {
  ASSERT_OK_AND_ASSIGN(auto reader, SafetensorsReader::open(files_, path_));
  EXPECT_EQ(reader->path(), path_);
  EXPECT_EQ(reader->metadata().at("k"), "v");
  ASSERT_EQ(reader->tensors().size(), 4u);
  ASSERT_OK_AND_ASSIGN(const TensorInfo* floats, reader->find("floats"));
  EXPECT_THAT(floats->shape, ElementsAre(3, 1));
  std::vector<float> values(3);
  ASSERT_OK(reader->read(*floats, absl::MakeSpan(values)));
  EXPECT_EQ(values, floats_);
  ASSERT_OK_AND_ASSIGN(const TensorInfo* ids, reader->find("ids"));
  std::vector<int64_t> numbers(2);
  ASSERT_OK(reader->read(*ids, absl::MakeSpan(numbers)));
  EXPECT_EQ(numbers, ids_);
  ASSERT_OK_AND_ASSIGN(const TensorInfo* flags, reader->find("flags"));
  std::vector<char> bytes(3);
  ASSERT_OK(reader->read_bytes(*flags, absl::MakeSpan(bytes)));
  EXPECT_THAT(bytes, ElementsAre(1, 0, 1));
  ASSERT_OK_AND_ASSIGN(const TensorInfo* none, reader->find("none"));
  EXPECT_OK(reader->read(*none, absl::Span<float>()));
}

TEST_F(SafetensorsReaderTest, UnknownNamesGiveTheNearest) {
  ASSERT_OK_AND_ASSIGN(auto reader, SafetensorsReader::open(files_, path_));
  EXPECT_THAT(reader->find("float"),
              StatusIs(absl::StatusCode::kNotFound,
                       AllOf(HasSubstr(path_), HasSubstr("did you mean \"floats\"?"))));
}

TEST_F(SafetensorsReaderTest, AnotherTypeOrCountIsAnError) {
  ASSERT_OK_AND_ASSIGN(auto reader, SafetensorsReader::open(files_, path_));
  const TensorInfo& floats = **reader->find("floats");
  std::vector<float> four(4);
  std::vector<int64_t> numbers(3);
  EXPECT_THAT(reader->read(floats, absl::MakeSpan(four)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("12 bytes of F32")));
  EXPECT_THAT(reader->read(floats, absl::MakeSpan(numbers)),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("24 of I64")));
}

TEST_F(SafetensorsReaderTest, FilesThatCannotBeOpened) {
  EXPECT_THAT(SafetensorsReader::open(files_, path_ + ".missing"),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr(".missing")));
  EXPECT_THAT(SafetensorsReader::open(files_, testing::TempDir()),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(SafetensorsReaderTest, HeaderLengths) {
  EXPECT_OK(open_with(with_length(2, "{}")));
  EXPECT_THAT(open_with(with_length(0, "")), StatusIs(kDataLoss, HasSubstr(path_)));
  EXPECT_THAT(open_with(with_length(3, "{}")), StatusIs(kDataLoss, HasSubstr("header of 3 bytes")));
  for (const uint64_t length : {1ULL << 62, 1ULL << 63, ~0ULL, (64ULL << 20) + 1}) {
    EXPECT_THAT(open_with(with_length(length, "{}")), StatusIs(kDataLoss, HasSubstr("header of")));
  }
  EXPECT_THAT(open_with(with_length(1, "{}")), StatusIs(kDataLoss));
}

TEST_F(SafetensorsReaderTest, BooleansAreZeroOrOne) {
  std::string content = good_;
  content.back() = 2;
  EXPECT_THAT(read_all(content), StatusIs(kDataLoss, HasSubstr("tensor \"flags\": a boolean")));
}

TEST_F(SafetensorsReaderTest, TruncatedAnywhereIsAnErrorNamingTheFile) {
  for (size_t length = 0; length < good_.size(); ++length) {
    EXPECT_THAT(read_all(absl::string_view(good_).substr(0, length)),
                StatusIs(kDataLoss, HasSubstr(path_)))
        << length;
  }
  EXPECT_THAT(read_all(good_ + "x"), StatusIs(kDataLoss, HasSubstr("bytes follow the header")));
}

// Any change of the header gives an error or a header that satisfies every rule.
TEST_F(SafetensorsReaderTest, ChangedHeadersNeverCrash) {
  uint64_t length = 0;
  std::memcpy(&length, good_.data(), 8);
  const absl::string_view header = absl::string_view(good_).substr(8, length);
  const int64_t data_bytes = static_cast<int64_t>(good_.size() - 8 - length);
  int accepted = 0;
  for (size_t i = 0; i < header.size(); ++i) {
    for (int flip = 1; flip < 256; ++flip) {
      std::string changed(header);
      changed[i] = static_cast<char>(changed[i] ^ flip);
      const auto parsed = parse_safetensors_header(changed, data_bytes);
      accepted += parsed.ok();
      if (!parsed.ok()) {
        ASSERT_THAT(parsed, StatusIs(kDataLoss)) << changed;
      }
    }
  }
  EXPECT_GT(accepted, 0) << "letters of names and metadata may be others";
}

TEST_F(SafetensorsReaderTest, EveryByteOfTheFileFlippedNeverCrashes) {
  for (size_t i = 0; i < good_.size(); ++i) {
    for (const int flip : {1, 0x20, 0x80, 0xff}) {
      std::string changed = good_;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      const absl::Status status = read_all(changed);
      if (!status.ok()) {
        ASSERT_THAT(status, StatusIs(kDataLoss, HasSubstr(path_))) << i;
      }
    }
  }
}

TEST_F(SafetensorsReaderTest, ReadErrorsAreReturned) {
  for (int64_t n = 0; n < 4; ++n) {
    FaultFileSystem faulty(files_);
    faulty.fail(n, 1, absl::UnavailableError("injected"));
    auto reader = SafetensorsReader::open(faulty, path_);
    if (n < 3) {
      EXPECT_THAT(reader, StatusIs(absl::StatusCode::kUnavailable, HasSubstr("injected"))) << n;
      continue;
    }
    ASSERT_OK(reader);
    std::vector<int64_t> ids(2);
    EXPECT_THAT((*reader)->read(**(*reader)->find("ids"), absl::MakeSpan(ids)),
                StatusIs(absl::StatusCode::kUnavailable, HasSubstr("tensor \"ids\": injected")));
  }
}

TEST_F(SafetensorsReaderTest, FileThatBecameShorterAfterOpening) {
  ASSERT_OK_AND_ASSIGN(auto reader, SafetensorsReader::open(files_, path_));
  ASSERT_OK_AND_ASSIGN(auto emptied, files_.create(path_));  // the same file, now empty
  std::vector<int64_t> ids(2);
  EXPECT_THAT(reader->read(**reader->find("ids"), absl::MakeSpan(ids)),
              StatusIs(kDataLoss, HasSubstr("the file ends")));
}

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
