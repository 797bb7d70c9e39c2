#include "checkpoint/format/chunked_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <stdexcept>
#include <string>

#include "base/fault_file_system_testing.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ChunkedFileTest : public testing::Test {
 protected:
  ChunkedFileTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    directory_ = join_path(testing::TempDir(), std::string("chunked_file_") + test->name());
    remove_recursively(files_, directory_).IgnoreError();
    EXPECT_OK(files_.create_directories(directory_));
    path_ = join_path(directory_, "f");
  }

  // Returns bytes that differ between chunks.
  static std::string content(int64_t size) {
    std::string text(size, '\0');
    for (int64_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 31 + (i >> 20));
    return text;
  }

  absl::StatusOr<FileChunks> write(FileSystem& files, const std::string& text, int threads) {
    ThreadPool pool(threads);
    ASSIGN_OR_RETURN(WrittenFile written, write_chunks(
                                              files, path_, text.size(),
                                              [&](int64_t offset, absl::Span<char> bytes) {
                                                std::memcpy(bytes.data(), text.data() + offset,
                                                            bytes.size());
                                                return absl::OkStatus();
                                              },
                                              pool));
    RETURN_IF_ERROR(written.file->sync());
    RETURN_IF_ERROR(written.file->close());
    return written.chunks;
  }

  FileSystem& files_ = FileSystem::local();
  ChunkBuffers buffers_;
  std::string directory_, path_;
};

TEST_F(ChunkedFileTest, BytesAndDigestsDoNotDependOnThreads) {
  const std::string text = content(3 * kChunkBytes + 12345);
  for (const int threads : {1, 4, 7}) {
    ASSERT_OK_AND_ASSIGN(const FileChunks chunks, write(files_, text, threads));
    EXPECT_EQ(chunks, chunks_of("f", text));
    EXPECT_TRUE(*read_file(files_, path_) == text);
    ASSERT_OK(files_.remove(path_));
  }
}

TEST_F(ChunkedFileTest, SmallAndEmptyFiles) {
  for (const int64_t size : {int64_t{0}, int64_t{1}, kChunkBytes}) {
    const std::string text = content(size);
    EXPECT_THAT(write(files_, text, 2), IsOkAndHolds(chunks_of("f", text)));
    ASSERT_OK_AND_ASSIGN(auto file,
                         ChunkedFile::open(files_, path_, chunks_of("f", text), buffers_));
    ThreadPool pool(2);
    int64_t bytes = 0;
    EXPECT_OK(file->read_all(
        [&](int64_t, absl::Span<const char> chunk) {
          bytes += chunk.size();
          return absl::OkStatus();
        },
        pool));
    EXPECT_EQ(bytes, size);
    ASSERT_OK(files_.remove(path_));
  }
}

TEST_F(ChunkedFileTest, ReadsBackAllAndPieces) {
  const std::string text = content(2 * kChunkBytes + 77);
  ASSERT_OK_AND_ASSIGN(const FileChunks chunks, write(files_, text, 2));
  ASSERT_OK_AND_ASSIGN(auto file, ChunkedFile::open(files_, path_, chunks, buffers_));
  std::string all(text.size(), 'x');
  ThreadPool pool(3);
  ASSERT_OK(file->read_all(
      [&](int64_t offset, absl::Span<const char> bytes) {
        std::memcpy(all.data() + offset, bytes.data(), bytes.size());
        return absl::OkStatus();
      },
      pool));
  EXPECT_TRUE(all == text);
  for (const auto& [offset, size] : {std::pair<int64_t, int64_t>{0, 1},
                                     {kChunkBytes - 3, 7},
                                     {5, 2 * kChunkBytes},
                                     {2 * kChunkBytes + 76, 1},
                                     {4, 0}}) {
    std::string piece(size, 'x');
    ASSERT_OK(file->read(offset, absl::MakeSpan(piece)));
    EXPECT_TRUE(piece == text.substr(offset, size)) << offset;
  }
}

TEST_F(ChunkedFileTest, PiecesAreAllBytesOnce) {
  const std::string text = content(2 * kChunkBytes + 777);
  ASSERT_OK_AND_ASSIGN(const FileChunks chunks, write(files_, text, 2));
  ASSERT_OK_AND_ASSIGN(const auto file, ChunkedFile::open(files_, path_, chunks, buffers_));
  for (const int threads : {1, 3}) {
    ThreadPool pool(threads);
    std::string back(text.size(), '\0');
    std::atomic<int64_t> count{0};
    file->will_need_first();
    ASSERT_OK(file->read_pieces(
        [&](int64_t offset, absl::Span<const char> bytes) {
          std::memcpy(back.data() + offset, bytes.data(), bytes.size());
          count += static_cast<int64_t>(bytes.size());
          return absl::OkStatus();
        },
        pool));
    EXPECT_EQ(count, static_cast<int64_t>(text.size()));
    EXPECT_TRUE(back == text);
  }
}

// The receiver of pieces cannot know whether their chunk is damaged.
TEST_F(ChunkedFileTest, OfADamagedChunkTheDamageIsToldWhateverItLedTo) {
  const std::string text = content(kChunkBytes + 1000);
  ASSERT_OK_AND_ASSIGN(const FileChunks chunks, write(files_, text, 1));
  std::string bad = text;
  bad[kChunkBytes - 1] ^= 1;
  ASSERT_OK(write_file_atomically(files_, path_, bad));
  ASSERT_OK_AND_ASSIGN(const auto file, ChunkedFile::open(files_, path_, chunks, buffers_));
  ThreadPool pool(1);
  const auto refuse = [](int64_t, absl::Span<const char>) {
    return absl::InvalidArgumentError("nonsense");
  };
  EXPECT_THAT(file->read_pieces(refuse, pool),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("bytes 0 and")));
  const auto throws = [](int64_t, absl::Span<const char>) -> absl::Status {
    throw std::runtime_error("nonsense");
  };
  EXPECT_THAT(file->read_pieces(throws, pool), StatusIs(absl::StatusCode::kDataLoss));
  ASSERT_OK(write_file_atomically(files_, path_, text));
  ASSERT_OK_AND_ASSIGN(const auto good, ChunkedFile::open(files_, path_, chunks, buffers_));
  EXPECT_THAT(good->read_pieces(refuse, pool),
              StatusIs(absl::StatusCode::kInvalidArgument, "nonsense"));
}

TEST_F(ChunkedFileTest, ACursorReadsEachChunkOnce) {
  const std::string text = content(2 * kChunkBytes + 77);
  ASSERT_OK_AND_ASSIGN(const FileChunks chunks, write(files_, text, 2));
  FaultFileSystem counting(files_);
  ASSERT_OK_AND_ASSIGN(auto file, ChunkedFile::open(counting, path_, chunks, buffers_));
  const int64_t before = counting.calls();
  ChunkCursor cursor(*file);
  constexpr int64_t kPiece = 1'000'003;
  for (int64_t at = 0; at < static_cast<int64_t>(text.size()); at += kPiece) {
    std::string piece(std::min<int64_t>(kPiece, text.size() - at), 'x');
    ASSERT_OK(cursor.read(at, absl::MakeSpan(piece)));
    ASSERT_TRUE(piece == text.substr(at, kPiece)) << at;
  }
  EXPECT_EQ(counting.calls() - before, 64 + 64 + 1) << "pieces of a quarter of a megabyte";
}

TEST_F(ChunkedFileTest, DamageIsNamedWithItsPlace) {
  std::string text = content(2 * kChunkBytes + 77);
  const FileChunks chunks = chunks_of("f", text);
  text[kChunkBytes + 5] ^= 4;
  ASSERT_OK(write(files_, text, 1));
  ASSERT_OK_AND_ASSIGN(auto file, ChunkedFile::open(files_, path_, chunks, buffers_));
  const auto damaged =
      StatusIs(absl::StatusCode::kDataLoss,
               AllOf(HasSubstr(path_), HasSubstr("between bytes 16777216 and 33554431")));
  ThreadPool pool(2);
  EXPECT_THAT(
      file->read_all([](int64_t, absl::Span<const char>) { return absl::OkStatus(); }, pool),
      damaged);
  char byte = 0;
  EXPECT_THAT(file->read(2 * kChunkBytes - 1, {&byte, 1}), damaged);
  EXPECT_OK(file->read(kChunkBytes - 1, {&byte, 1})) << "another chunk";
}

TEST_F(ChunkedFileTest, OtherSizesAndOtherThingsAreRefused) {
  ASSERT_OK(write(files_, "abc", 1));
  EXPECT_THAT(ChunkedFile::open(files_, path_, chunks_of("f", "abcd"), buffers_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("has 3 bytes; 4 were written")));
  const std::string link = join_path(directory_, "link"), pipe = join_path(directory_, "pipe");
  ASSERT_EQ(::symlink("f", link.c_str()), 0);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(ChunkedFile::open(files_, link, chunks_of("f", "abc"), buffers_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("symbolic link")));
  EXPECT_THAT(ChunkedFile::open(files_, pipe, chunks_of("f", "abc"), buffers_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("not a regular file")));
  EXPECT_THAT(ChunkedFile::open(files_, join_path(directory_, "no"), {}, buffers_),
              StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(read_regular_file(files_, path_, 3), IsOkAndHolds("abc"));
  EXPECT_THAT(read_regular_file(files_, path_, 2), StatusIs(absl::StatusCode::kDataLoss));
  EXPECT_THAT(read_regular_file(files_, link, 3), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(ChunkedFileTest, NothingIsOverwritten) {
  ASSERT_OK(write(files_, "abc", 1));
  EXPECT_THAT(write(files_, "other", 1), StatusIs(absl::StatusCode::kPermissionDenied));
  EXPECT_THAT(read_file(files_, path_), IsOkAndHolds("abc"));
}

TEST_F(ChunkedFileTest, EveryCallThatFailsIsReported) {
  const std::string text = content(kChunkBytes + 1);
  for (int64_t n = 0;; n += n == 3 ? 58 : 1) {
    FaultFileSystem faulty(files_);
    faulty.fail(n, 1, absl::ResourceExhaustedError("injected"));
    const auto chunks = write(faulty, text, 2);
    files_.remove(path_).IgnoreError();
    if (faulty.calls() <= n) {
      EXPECT_OK(chunks);
      EXPECT_EQ(n, 1 + 64 + 1 + 2) << "create, pieces of two chunks, sync, close";
      break;
    }
    EXPECT_THAT(chunks, StatusIs(absl::StatusCode::kResourceExhausted, "injected")) << n;
  }
}

TEST_F(ChunkedFileTest, AnErrorOfTheCallerEndsIt) {
  ASSERT_OK_AND_ASSIGN(const FileChunks chunks, write(files_, content(3 * kChunkBytes), 1));
  ASSERT_OK_AND_ASSIGN(auto file, ChunkedFile::open(files_, path_, chunks, buffers_));
  ThreadPool pool(1);
  int calls = 0;
  EXPECT_THAT(file->read_all(
                  [&](int64_t, absl::Span<const char>) {
                    ++calls;
                    return absl::InternalError("enough");
                  },
                  pool),
              StatusIs(absl::StatusCode::kInternal, "enough"));
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace millrace
