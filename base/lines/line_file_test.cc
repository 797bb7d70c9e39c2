#include "base/lines/line_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/fault_file_system_testing.h"
#include "base/memory_file_system_testing.h"
#include "base/recording_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;

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

// A file system whose files accept only a limited number of bytes in the next writes, like a full
// disk.
class TearingFileSystem : public FaultFileSystem {
 public:
  using FaultFileSystem::FaultFileSystem;

  static constexpr int64_t kNoLimit = -1;
  int64_t room = kNoLimit;

  absl::StatusOr<std::unique_ptr<WritableFile>> create(const std::string& path) override {
    return tearing(FaultFileSystem::create(path));
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> open_for_append(const std::string& path) override {
    return tearing(FaultFileSystem::open_for_append(path));
  }

 private:
  struct File : WritableFile {
    File(std::unique_ptr<WritableFile> file, int64_t& room) : under(std::move(file)), room(room) {}
    absl::Status append(absl::string_view bytes) override {
      if (room == kNoLimit) return under->append(bytes);
      const auto fits = static_cast<size_t>(room);
      RETURN_IF_ERROR(under->append(bytes.substr(0, fits)));
      if (bytes.size() > fits) {
        room = 0;
        return absl::ResourceExhaustedError("disk full");
      }
      room -= static_cast<int64_t>(bytes.size());
      return absl::OkStatus();
    }
    absl::Status sync() override { return under->sync(); }
    absl::Status close() override { return under->close(); }
    std::unique_ptr<WritableFile> under;
    int64_t& room;
  };

  absl::StatusOr<std::unique_ptr<WritableFile>> tearing(
      absl::StatusOr<std::unique_ptr<WritableFile>> file) {
    if (!file.ok()) return file.status();
    return std::make_unique<File>(*std::move(file), room);
  }
};

constexpr auto kFull = absl::StatusCode::kResourceExhausted;

TEST_F(LineFileTest, AFullDiskTearsNoLine) {
  for (int64_t room = 0; room < 4; ++room) {
    TearingFileSystem files(files_);
    LineFile file(files, kPath);
    file.begin(false);
    append(file, {"first"});
    files.room = room;
    EXPECT_THAT(file.append("abc"), StatusIs(kFull)) << room;
    EXPECT_EQ(file.bytes(), 6);
    EXPECT_THAT(file.append("lost"), StatusIs(kFull)) << room;
    files.room = 1;
    if (room < 3) {
      EXPECT_THAT(file.append("lost"), StatusIs(kFull)) << room;
    }
    files.room = TearingFileSystem::kNoLimit;
    append(file, {"last"});
    ASSERT_OK(file.finish());
    EXPECT_EQ(text(), "first\nabc\nlast\n") << room;
    EXPECT_EQ(file.bytes(), static_cast<int64_t>(text().size()));
  }
}

TEST_F(LineFileTest, TheEndFinishesALine) {
  TearingFileSystem files(files_);
  LineFile file(files, kPath);
  file.begin(false);
  files.room = 2;
  EXPECT_THAT(file.append("abc"), StatusIs(kFull));
  EXPECT_EQ(text(), "ab");
  files.room = TearingFileSystem::kNoLimit;
  ASSERT_OK(file.finish());
  EXPECT_EQ(text(), "abc\n");
}

TEST_F(LineFileTest, AFileThatAnotherProgramChangedIsCutBack) {
  TearingFileSystem files(files_);
  LineFile file(files, kPath);
  file.begin(false);
  append(file, {"a"});
  files.room = 1;
  EXPECT_THAT(file.append("bcd"), StatusIs(kFull));
  files.room = TearingFileSystem::kNoLimit;
  files_.put(kPath, "a\nxyz");
  append(file, {"e"});
  EXPECT_EQ(text(), "a\nbcd\ne\n");
}

// A checkpoint has bytes() of earlier lines; a resumed run finds each of these lines.
TEST_F(LineFileTest, ACheckpointAfterATornLineHasItsLines) {
  TearingFileSystem files(files_);
  int64_t bytes = 0;
  {
    LineFile file(files, kPath);
    file.begin(false);
    append(file, {"1"});
    files.room = 1;
    EXPECT_THAT(file.append("22"), StatusIs(kFull));
    files.room = TearingFileSystem::kNoLimit;
    append(file, {"3"});
    bytes = file.bytes();
    append(file, {"4"});
  }
  LineFile file(files, kPath);
  file.set_bytes(bytes);
  file.begin(true);
  append(file, {"5"});
  EXPECT_EQ(text(), "1\n22\n3\n5\n");
}

TEST_F(LineFileTest, SyncMakesLinesAndTheNameDurable) {
  using Kind = FileOperation::Kind;
  ASSERT_OK(files_.create_directories("out"));
  RecordingFileSystem files(files_);
  LineFile file(files, kPath);
  file.begin(false);
  ASSERT_OK(file.sync());
  EXPECT_FALSE(files_.info(kPath).ok()) << "there is no line";
  std::vector<Kind> kinds;
  for (const char* line : {"a", "b"}) {
    append(file, {line});
    ASSERT_OK(file.sync());
  }
  for (const FileOperation& operation : files.operations()) {
    if (operation.kind != Kind::kMakeDirectory) kinds.push_back(operation.kind);
  }
  EXPECT_THAT(kinds, ElementsAre(Kind::kCreate, Kind::kWrite, Kind::kSync, Kind::kSyncDirectory,
                                 Kind::kWrite, Kind::kSync));
}

TEST_F(LineFileTest, ALineIsFinishedBeforeASync) {
  TearingFileSystem files(files_);
  LineFile file(files, kPath);
  file.begin(false);
  files.room = 2;
  EXPECT_THAT(file.append("abc"), StatusIs(kFull));
  EXPECT_THAT(file.sync(), StatusIs(kFull));
  EXPECT_EQ(file.bytes(), 0);
  files.room = TearingFileSystem::kNoLimit;
  ASSERT_OK(file.sync());
  EXPECT_EQ(file.bytes(), 4);
  EXPECT_EQ(text(), "abc\n");
}

TEST_F(LineFileTest, AnErrorOfASyncLosesNoLine) {
  FaultFileSystem files(files_);
  LineFile file(files, kPath);
  file.begin(false);
  append(file, {"a"});
  files.fail(files.calls() + 1, 1, absl::UnavailableError("injected"));
  EXPECT_THAT(file.sync(), StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(file.bytes(), 2);
  append(file, {"b"});
  ASSERT_OK(file.sync());
  ASSERT_OK(file.finish());
  EXPECT_EQ(text(), "a\nb\n");
}

TEST_F(LineFileTest, EachErrorOfASyncIsReported) {
  int64_t failed = 0;
  for (bool more = true; more; ++failed) {
    FaultFileSystem files(files_);
    LineFile file(files, kPath);
    file.begin(false);
    append(file, {"a"});
    files.fail(files.calls() + failed, 1, absl::UnavailableError("injected"));
    const int64_t before = files.calls();
    const absl::Status status = file.sync();
    more = files.calls() > before + failed;
    EXPECT_EQ(status.ok(), !more) << failed;
    files.fail(0, 0, absl::OkStatus());
    ASSERT_OK(file.sync());
  }
  EXPECT_EQ(failed, 4) << "the file is found and synced, and so is the directory";
}

TEST_F(LineFileTest, ARemovedFileIsNotSynced) {
  LineFile file(files_, kPath);
  file.begin(false);
  append(file, {"a"});
  ASSERT_OK(remove_recursively(files_, "out"));
  ASSERT_OK(file.sync());
  EXPECT_FALSE(files_.info("out").ok());
}

TEST_F(LineFileTest, ARunThatCannotContinueAtOnceTriesAgain) {
  for (int64_t n = 0;; ++n) {
    files_.put(kPath, "1\n2\n3\n");
    FaultFileSystem files(files_);
    files.fail(n, 1, absl::UnavailableError("injected"));
    LineFile file(files, kPath);
    file.set_bytes(4);
    file.begin(true);
    const bool failed = !file.append("x").ok();
    if (failed) file.append("x").IgnoreError();
    if (files.calls() <= n) break;
    EXPECT_EQ(text().substr(0, 6), "1\n2\nx\n") << n;
  }
}

}  // namespace
}  // namespace millrace
