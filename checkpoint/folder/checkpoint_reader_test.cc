#include "checkpoint/folder/checkpoint_reader.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/fault_file_system_testing.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/testing/small_checkpoint_testing.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;

class CheckpointReaderTest : public testing::Test {
 protected:
  CheckpointReaderTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = join_path(testing::TempDir(), std::string("checkpoint_reader_") + test->name());
    remove_recursively(files_, folder_).IgnoreError();
    EXPECT_OK(files_.create_directories(folder_));
    EXPECT_OK(write_small_checkpoint(files_, folder_, options_));
    path_ = join_path(folder_, checkpoint_name(options_.step));
  }

  // Opens the checkpoint and reads every byte.
  absl::Status check() { return check(files_); }
  absl::Status check(FileSystem& files) {
    ASSIGN_OR_RETURN(const auto reader, CheckpointReader::open(files, path_));
    ThreadPool threads(1);
    return reader->verify(threads);
  }
  // Copies the files to memory, where injecting damage takes less time.
  void copy(MemoryFileSystem& memory) {
    for (const std::string& name : names()) memory.put(at(name), *read_file(files_, at(name)));
  }
  std::string at(const std::string& name) { return join_path(path_, name); }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    const auto entries = files_.list(path_);
    for (const DirectoryEntry& entry : *entries) all.push_back(entry.name);
    return all;
  }
  // Writes in place, as damage would; write_file_atomically() would need a second file in the
  // folder.
  void put(const std::string& name, const std::string& content) {
    ASSERT_OK_AND_ASSIGN(auto file, files_.create(at(name)));
    ASSERT_OK(file->append(content));
    ASSERT_OK(file->close());
  }

  FileSystem& files_ = FileSystem::local();
  const SmallCheckpoint options_ = {.step = 7, .world_size = 2};
  std::string folder_, path_;
};

TEST_F(CheckpointReaderTest, ReadsWhatWasWritten) {
  EXPECT_OK(check());
  EXPECT_OK(check_small_checkpoint(files_, path_, options_));
  SmallCheckpoint other = options_;
  other.seed = 2;
  EXPECT_THAT(check_small_checkpoint(files_, path_, other), StatusIs(kDataLoss));
}

TEST_F(CheckpointReaderTest, EveryFlippedByteIsSeen) {
  MemoryFileSystem memory;
  copy(memory);
  int64_t bytes = 0;
  for (const std::string& name : names()) {
    ASSERT_OK_AND_ASSIGN(const std::string good, read_file(files_, at(name)));
    for (size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] ^= 1 << (i % 8);
      memory.put(at(name), bad);
      ASSERT_THAT(check(memory), StatusIs(kDataLoss, HasSubstr(name))) << name << " " << i;
      ++bytes;
    }
    memory.put(at(name), good);
  }
  EXPECT_OK(check(memory));
  EXPECT_GT(bytes, 3000);
}

TEST_F(CheckpointReaderTest, EveryTruncationAndEveryAddedByteIsSeen) {
  MemoryFileSystem memory;
  copy(memory);
  for (const std::string& name : names()) {
    ASSERT_OK_AND_ASSIGN(const std::string good, read_file(files_, at(name)));
    for (size_t size = 0; size <= good.size() + 1; ++size) {
      if (size == good.size()) continue;
      std::string bad = good.substr(0, size);
      bad.resize(size, 'x');
      memory.put(at(name), bad);
      ASSERT_THAT(CheckpointReader::open(memory, path_), StatusIs(kDataLoss, HasSubstr(name)))
          << name << " " << size;
    }
    memory.put(at(name), good);
  }
  EXPECT_OK(check(memory));
}

TEST_F(CheckpointReaderTest, MissingFilesAreNamed) {
  for (const std::string& name : names()) {
    ASSERT_OK_AND_ASSIGN(const std::string good, read_file(files_, at(name)));
    ASSERT_OK(files_.remove(at(name)));
    if (name == kManifestName) {
      EXPECT_THAT(check(),
                  StatusIs(kDataLoss, AllOf(HasSubstr(path_), HasSubstr("has no manifest.json"))));
    } else {
      EXPECT_THAT(check(), StatusIs(kDataLoss, HasSubstr(name + " is missing")));
    }
    put(name, good);
  }
}

TEST_F(CheckpointReaderTest, HiddenFilesOfTheSystemAreNoDamage) {
  put(".nfs00000001", "x");
  put(".DS_Store", "x");
  EXPECT_OK(check());
}

TEST_F(CheckpointReaderTest, AddedFilesAreNamed) {
  put("more", "");
  EXPECT_THAT(check(), StatusIs(kDataLoss, HasSubstr("more does not belong to the checkpoint")));
  ASSERT_OK(files_.remove(at("more")));
  ASSERT_OK(files_.create_directories(at("sub")));
  EXPECT_THAT(check(), StatusIs(kDataLoss, HasSubstr("sub does not belong")));
}

TEST_F(CheckpointReaderTest, SwappedFilesAreSeen) {
  const std::vector<std::string> all = names();
  for (size_t a = 0; a < all.size(); ++a) {
    for (size_t b = a + 1; b < all.size(); ++b) {
      const std::string content_a = *read_file(files_, at(all[a]));
      const std::string content_b = *read_file(files_, at(all[b]));
      put(all[a], content_b);
      put(all[b], content_a);
      EXPECT_THAT(check(), StatusIs(kDataLoss)) << all[a] << " " << all[b];
      put(all[a], content_a);
      put(all[b], content_b);
    }
  }
  EXPECT_OK(check());
}

TEST_F(CheckpointReaderTest, FilesOfAnotherStepAreSeen) {
  SmallCheckpoint other = options_;
  other.step = 8;
  other.seed = 2;  // equal sizes, other values
  ASSERT_OK(write_small_checkpoint(files_, folder_, other));
  for (const std::string& name : names()) {
    const std::string good = *read_file(files_, at(name));
    put(name, *read_file(files_, join_path(folder_, checkpoint_name(8) + "/" + name)));
    EXPECT_THAT(check(), StatusIs(kDataLoss)) << name;
    put(name, good);
  }
}

TEST_F(CheckpointReaderTest, LinksAndPipesAreRefused) {
  for (const std::string& name : names()) {
    const std::string aside = join_path(folder_, "aside");
    ASSERT_OK(files_.rename(at(name), aside));
    ASSERT_EQ(::symlink(aside.c_str(), at(name).c_str()), 0);
    EXPECT_THAT(check(), StatusIs(kDataLoss, HasSubstr(name))) << name;
    ASSERT_OK(files_.remove(at(name)));
    ASSERT_EQ(::mkfifo(at(name).c_str(), 0600), 0);
    EXPECT_THAT(check(), StatusIs(kDataLoss, HasSubstr(name))) << "does not wait for a writer";
    ASSERT_OK(files_.remove(at(name)));
    ASSERT_OK(files_.rename(aside, at(name)));
  }
  const std::string link = join_path(folder_, "link");
  ASSERT_EQ(::symlink(path_.c_str(), link.c_str()), 0);
  EXPECT_THAT(CheckpointReader::open(files_, link),
              StatusIs(kDataLoss, HasSubstr("symbolic link")));
}

TEST_F(CheckpointReaderTest, OtherThingsAreNotCheckpoints) {
  EXPECT_THAT(CheckpointReader::open(files_, at("nothing")), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_THAT(CheckpointReader::open(files_, folder_),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("is not a checkpoint")));
  EXPECT_THAT(CheckpointReader::open(files_, at(kManifestName)),
              StatusIs(kDataLoss, HasSubstr("is no directory")));
}

TEST_F(CheckpointReaderTest, SmallFilesAreReadWhole) {
  ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::open(files_, path_));
  for (const auto& file : reader->manifest().files()) {
    EXPECT_THAT(reader->read_all(file, file.size()),
                IsOkAndHolds(*read_file(files_, at(file.name()))));
    EXPECT_THAT(reader->read_all(file, file.size() - 1),
                StatusIs(absl::StatusCode::kResourceExhausted));
  }
  CheckpointManifest::File other;
  other.set_name("../other");
  EXPECT_THAT(reader->open_file(other), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(CheckpointReaderTest, EveryCallThatFailsIsReported) {
  for (int64_t n = 0;; ++n) {
    FaultFileSystem faulty(files_);
    faulty.fail(n, 1, absl::UnavailableError("injected"));
    const absl::Status status = check_small_checkpoint(faulty, path_, options_);
    if (faulty.calls() <= n) {
      EXPECT_OK(status);
      EXPECT_GT(n, 30);
      break;
    }
    // A header that cannot be read is read again with its digests.
    EXPECT_THAT(status, AnyOf(IsOk(), StatusIs(absl::StatusCode::kUnavailable))) << n;
  }
}

}  // namespace
}  // namespace millrace
