#include "checkpoint/folder/commit_directory.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/fault_file_system_testing.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/testing/small_checkpoint_testing.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CommitDirectoryTest : public testing::Test {
 protected:
  CommitDirectoryTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = join_path(testing::TempDir(), std::string("commit_directory_") + test->name());
    start_anew();
  }
  void start_anew() {
    remove_recursively(files_, folder_).IgnoreError();
    EXPECT_OK(files_.create_directories(folder_));
  }
  std::string at(const std::string& name) { return join_path(folder_, name); }
  std::vector<std::string> names() {
    std::vector<std::string> all;
    const auto entries = files_.list(folder_);
    for (const DirectoryEntry& entry : *entries) all.push_back(entry.name);
    return all;
  }
  absl::Status check(const SmallCheckpoint& options) {
    return check_small_checkpoint(files_, at(checkpoint_name(options.step)), options);
  }

  void expect_replacing_loses_nothing(const SmallCheckpoint& first, const SmallCheckpoint& second);

  FileSystem& files_ = FileSystem::local();
  std::string folder_;
};

TEST_F(CommitDirectoryTest, ACheckpointAppears) {
  for (const int world_size : {1, 2, 3}) {
    const SmallCheckpoint options = {.step = world_size, .world_size = world_size};
    EXPECT_THAT(write_small_checkpoint(files_, folder_, options), IsOkAndHolds(true));
    EXPECT_OK(check(options));
  }
  EXPECT_THAT(names(), ElementsAre("step-00000001", "step-00000002", "step-00000003"));
}

TEST_F(CommitDirectoryTest, TheSameAgainDoesNothing) {
  const SmallCheckpoint options;
  ASSERT_OK(write_small_checkpoint(files_, folder_, options));
  ASSERT_OK_AND_ASSIGN(const std::string before,
                       read_file(files_, at("step-00000001/manifest.json")));
  EXPECT_THAT(write_small_checkpoint(files_, folder_, {.nonce = "n2"}), IsOkAndHolds(false));
  EXPECT_THAT(names(), ElementsAre("step-00000001"));
  EXPECT_THAT(read_file(files_, at("step-00000001/manifest.json")), IsOkAndHolds(before));
}

TEST_F(CommitDirectoryTest, AnotherOneOfTheStepIsReplaced) {
  ASSERT_OK(write_small_checkpoint(files_, folder_, {.seed = 1}));
  EXPECT_THAT(write_small_checkpoint(files_, folder_, {.seed = 2, .nonce = "n2"}),
              IsOkAndHolds(true));
  EXPECT_OK(check({.seed = 2}));
  EXPECT_THAT(names(), ElementsAre("step-00000001"));
}

TEST_F(CommitDirectoryTest, ADamagedOneOfTheStepIsReplaced) {
  ASSERT_OK(write_small_checkpoint(files_, folder_, {}));
  const std::string victim = at("step-00000001/dense-00000-of-00001.safetensors");
  std::string content = *read_file(files_, victim);
  content.back() ^= 1;
  ASSERT_OK(write_file_atomically(files_, victim, content));
  EXPECT_THAT(write_small_checkpoint(files_, folder_, {.nonce = "n2"}), IsOkAndHolds(true));
  EXPECT_OK(check({}));
  EXPECT_THAT(names(), ElementsAre("step-00000001"));
}

// Returns the inode number of each file, by name.
std::map<std::string, ino_t> inodes_in(FileSystem& files, const std::string& directory) {
  std::map<std::string, ino_t> inodes;
  const auto entries = files.list(directory);
  EXPECT_OK(entries.status());
  for (const DirectoryEntry& entry : *entries) {
    struct stat info;
    EXPECT_EQ(::stat(join_path(directory, entry.name).c_str(), &info), 0);
    inodes[entry.name] = info.st_ino;
  }
  return inodes;
}

TEST_F(CommitDirectoryTest, DataFilesOfTheSameBytesAreKept) {
  for (const int world_size : {1, 2}) {
    start_anew();
    ASSERT_OK(write_small_checkpoint(files_, folder_, {.world_size = world_size}));
    const auto before = inodes_in(files_, at("step-00000001"));
    const SmallCheckpoint finished = {
        .world_size = world_size, .nonce = "n2", .finished = true, .keep_files = true};
    EXPECT_THAT(write_small_checkpoint(files_, folder_, finished), IsOkAndHolds(true));
    EXPECT_OK(check(finished));
    ThreadPool threads(1);
    ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::open(files_, at("step-00000001")));
    EXPECT_OK(reader->verify(threads));
    EXPECT_TRUE(reader->manifest().finished());
    for (const auto& [name, inode] : inodes_in(files_, at("step-00000001"))) {
      const bool data = name.find(".safetensors") != std::string::npos;
      EXPECT_EQ(inode == before.at(name), data) << name;
    }
    EXPECT_THAT(names(), ElementsAre("step-00000001"));
  }
}

TEST_F(CommitDirectoryTest, OtherBytesAndDamagedFilesAreNotKept) {
  ASSERT_OK(write_small_checkpoint(files_, folder_, {}));
  const std::string victim = "dense-00000-of-00001.safetensors";
  std::string content = *read_file(files_, at("step-00000001/" + victim));
  content.back() ^= 1;
  ASSERT_OK(write_file_atomically(files_, at("step-00000001/" + victim), content));
  const auto before = inodes_in(files_, at("step-00000001"));
  const SmallCheckpoint again = {.nonce = "n2", .keep_files = true};
  EXPECT_THAT(write_small_checkpoint(files_, folder_, again), IsOkAndHolds(true));
  EXPECT_OK(check(again));
  for (const auto& [name, inode] : inodes_in(files_, at("step-00000001"))) {
    const bool kept = name.find("table-") != std::string::npos;
    EXPECT_EQ(inode == before.at(name), kept) << name;
  }
  const SmallCheckpoint another = {.seed = 2, .nonce = "n3", .keep_files = true};
  EXPECT_THAT(write_small_checkpoint(files_, folder_, another), IsOkAndHolds(true));
  EXPECT_OK(check(another));
}

// A file system without hard links.
class WithoutLinks : public MemoryFileSystem {
 public:
  absl::Status link(const std::string&, const std::string&) override {
    return absl::PermissionDeniedError("Operation not permitted");
  }
};

TEST_F(CommitDirectoryTest, WithoutLinksFilesAreWrittenIfThereIsRoom) {
  WithoutLinks files;
  ASSERT_OK(files.create_directories("c"));
  ASSERT_OK(write_small_checkpoint(files, "c", {}));
  const int64_t used = files.used_bytes();
  files.set_capacity(used + 100);
  SmallCheckpoint finished = {.nonce = "n2", .finished = true, .keep_files = true};
  EXPECT_THAT(write_small_checkpoint(files, "c", finished),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("has room for 100")));
  EXPECT_OK(check_small_checkpoint(files, "c/step-00000001", {}));
  EXPECT_EQ(files.used_bytes(), used);
  files.set_capacity(int64_t{1} << 30);
  EXPECT_THAT(write_small_checkpoint(files, "c", finished), IsOkAndHolds(true));
  EXPECT_OK(check_small_checkpoint(files, "c/step-00000001", finished));
}

TEST_F(CommitDirectoryTest, OtherThingsOfTheNameStay) {
  ASSERT_OK(files_.create_directories(at("elsewhere")));
  ASSERT_EQ(::symlink("elsewhere", at("step-00000001").c_str()), 0);
  EXPECT_THAT(write_small_checkpoint(files_, folder_, {}),
              StatusIs(absl::StatusCode::kPermissionDenied, HasSubstr("step-00000001")));
  EXPECT_THAT(names(), ElementsAre("elsewhere", "step-00000001"));
}

TEST_F(CommitDirectoryTest, WithoutACommitNothingIsLeft) {
  {
    ASSERT_OK_AND_ASSIGN(auto writer, CommitDirectory::begin(files_, {folder_, 1, "n", 0, 2}));
    ASSERT_OK_AND_ASSIGN(auto other, CommitDirectory::begin(files_, {folder_, 1, "n", 1, 2}));
    CheckpointManifest::File entry;
    entry.set_name("state-00001-of-00002.pb");
    ASSERT_OK(other->write(entry, "x"));
    other.reset();
    EXPECT_THAT(names(), ElementsAre("step-00000001.tmp-n")) << "the others may be writing";
  }
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(CommitDirectoryTest, BadOptionsAndManifests) {
  const auto invalid = StatusIs(absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(CommitDirectory::begin(files_, {folder_, -1, "n"}), invalid);
  EXPECT_THAT(CommitDirectory::begin(files_, {folder_, 1, ""}), invalid);
  EXPECT_THAT(CommitDirectory::begin(files_, {folder_, 1, "../n"}), invalid);
  EXPECT_THAT(CommitDirectory::begin(files_, {folder_, 1, "n", 1, 1}), invalid);
  EXPECT_THAT(names(), IsEmpty());
  ASSERT_OK_AND_ASSIGN(auto writer, CommitDirectory::begin(files_, {folder_, 1, "n"}));
  ThreadPool threads(1);
  CheckpointManifest manifest;
  manifest.mutable_progress()->set_step(2);
  EXPECT_THAT(writer->commit(manifest, threads), invalid);
  manifest.mutable_progress()->set_step(1);
  EXPECT_THAT(writer->commit(manifest, threads),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("chunks files")));
}

TEST_F(CommitDirectoryTest, OtherRanksSeeTheDirectoryOfRank0) {
  const CommitOptions second = {folder_, 1, "n", 1, 2};
  EXPECT_THAT(
      CommitDirectory::begin(files_, second),
      StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("which rank 1 does not see")));
  ASSERT_OK(CommitDirectory::make(files_, {folder_, 1, "other"}));
  EXPECT_THAT(CommitDirectory::begin(files_, second),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK(CommitDirectory::make(files_, {folder_, 1, "n"}));
  EXPECT_OK(CommitDirectory::begin(files_, second));
}

// Every failure, of one call or of all later calls, is reported with its error, leaves earlier
// checkpoints untouched, and lets the next attempt succeed.
TEST_F(CommitDirectoryTest, EveryCallThatFailsIsReported) {
  const SmallCheckpoint first = {.step = 1}, second = {.step = 2, .seed = 2, .world_size = 2};
  for (const int64_t count : {int64_t{1}, int64_t{1} << 40}) {
    for (int64_t n = 0;; ++n) {
      start_anew();
      ASSERT_OK(write_small_checkpoint(files_, folder_, first));
      FaultFileSystem faulty(files_);
      faulty.fail(n, count, absl::ResourceExhaustedError("injected"));
      const auto written = write_small_checkpoint(faulty, folder_, second);
      ASSERT_OK(check(first)) << n;
      if (faulty.calls() <= n) {
        ASSERT_OK(written);
        EXPECT_GT(n, 20);
        break;
      }
      ASSERT_THAT(written, StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("injected")))
          << n;
      ASSERT_OK(clean_up(files_, folder_));
      SmallCheckpoint again = second;
      again.nonce = "n2";
      ASSERT_OK(write_small_checkpoint(files_, folder_, again)) << n;
      ASSERT_OK(check(second));
      ASSERT_THAT(names(), ElementsAre("step-00000001", "step-00000002")) << n;
    }
  }
}

// Likewise while a checkpoint of the same step is replaced: the old or the new one always exists.
TEST_F(CommitDirectoryTest, ReplacingLosesNothing) {
  for (const SmallCheckpoint& second :
       {SmallCheckpoint{.seed = 2, .nonce = "n2"},
        SmallCheckpoint{.nonce = "n2", .finished = true, .keep_files = true}}) {
    expect_replacing_loses_nothing({.seed = 1}, second);
  }
}

void CommitDirectoryTest::expect_replacing_loses_nothing(const SmallCheckpoint& first,
                                                         const SmallCheckpoint& second) {
  int64_t failures = 0;
  for (const int64_t count : {int64_t{1}, int64_t{1} << 40}) {
    for (int64_t n = 0;; ++n) {
      start_anew();
      ASSERT_OK(write_small_checkpoint(files_, folder_, first));
      FaultFileSystem faulty(files_);
      faulty.fail(n, count, absl::UnavailableError("injected"));
      const auto written = write_small_checkpoint(faulty, folder_, second);
      if (faulty.calls() <= n) break;
      if (!written.ok()) ++failures;
      ASSERT_OK_AND_ASSIGN(const auto listed, list_checkpoints(files_, folder_));
      ASSERT_EQ(listed.size(), 1u) << n;
      ASSERT_OK(listed[0].status) << n;
      const bool old = check_small_checkpoint(files_, listed[0].path, first).ok();
      const bool current = check_small_checkpoint(files_, listed[0].path, second).ok();
      ASSERT_TRUE(old || current) << n;
      ASSERT_TRUE(current || !written.ok()) << n;
      ASSERT_OK(clean_up(files_, folder_));
      ASSERT_THAT(names(), ElementsAre("step-00000001")) << n;
      ASSERT_OK(check(old ? first : second)) << n;
    }
  }
  EXPECT_GT(failures, 20);
}

// For every disk size, a save succeeds or reports a full disk, and earlier checkpoints stay.
TEST_F(CommitDirectoryTest, EverySizeOfDisk) {
  const SmallCheckpoint first = {.step = 1}, second = {.step = 2, .seed = 2};
  int64_t full = 0;
  for (int64_t room = 0;; room += 61) {
    MemoryFileSystem memory;
    ASSERT_OK(memory.create_directories("c"));
    ASSERT_OK(write_small_checkpoint(memory, "c", first));
    const int64_t used = memory.used_bytes();
    memory.set_capacity(used + room);
    const auto written = write_small_checkpoint(memory, "c", second);
    ASSERT_OK(check_small_checkpoint(memory, "c/step-00000001", first)) << room;
    if (written.ok()) {
      ASSERT_OK(check_small_checkpoint(memory, "c/step-00000002", second));
      EXPECT_GE(room, memory.used_bytes() - used);
      break;
    }
    ASSERT_THAT(written, StatusIs(absl::StatusCode::kResourceExhausted)) << room;
    ASSERT_EQ(memory.used_bytes(), used) << "nothing is left of the attempt";
    ++full;
  }
  EXPECT_GT(full, 50);
}

TEST_F(CommitDirectoryTest, FreeSpace) {
  EXPECT_OK(check_free_space(files_, folder_, 1));
  EXPECT_THAT(check_free_space(files_, folder_, INT64_MAX),
              StatusIs(absl::StatusCode::kResourceExhausted,
                       AllOf(HasSubstr("9223372036854775807"), HasSubstr(folder_))));
}

TEST_F(CommitDirectoryTest, RemovesCheckpointsAlone) {
  ASSERT_OK(write_small_checkpoint(files_, folder_, {}));
  ASSERT_OK(files_.create_directories(at("data")));
  EXPECT_OK(remove_checkpoint(files_, at("step-00000001")));
  EXPECT_THAT(names(), ElementsAre("data"));
  EXPECT_THAT(remove_checkpoint(files_, at("data")),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_FALSE(remove_checkpoint(files_, at("step-00000001")).ok());
  EXPECT_THAT(names(), ElementsAre("data"));
}

// After any failure of a removal the checkpoint is whole, or not present under its name.
TEST_F(CommitDirectoryTest, RemovingIsWholeOrNot) {
  for (int64_t n = 0;; ++n) {
    start_anew();
    ASSERT_OK(write_small_checkpoint(files_, folder_, {}));
    FaultFileSystem faulty(files_);
    faulty.fail(n, int64_t{1} << 40, absl::UnavailableError("injected"));
    const absl::Status status = remove_checkpoint(faulty, at("step-00000001"));
    if (faulty.calls() <= n) {
      EXPECT_OK(status);
      EXPECT_GT(n, 8);
      break;
    }
    EXPECT_FALSE(status.ok());
    ASSERT_OK_AND_ASSIGN(const auto listed, list_checkpoints(files_, folder_));
    if (!listed.empty()) {
      ASSERT_OK(check({})) << n;
    }
    ASSERT_OK(clean_up(files_, folder_));
    ASSERT_EQ(names().empty(), listed.empty()) << n;
  }
}

TEST_F(CommitDirectoryTest, CleansUpAfterDeadWriters) {
  ASSERT_OK(write_small_checkpoint(files_, folder_, {.step = 1}));
  ASSERT_OK(write_small_checkpoint(files_, folder_, {.step = 2}));
  ASSERT_OK(write_small_checkpoint(files_, folder_, {.step = 3}));
  ASSERT_OK(files_.rename(at("step-00000002"), at("step-00000002.old-a")));
  ASSERT_OK(files_.rename(at("step-00000003"), at("step-00000003.old-a")));
  ASSERT_OK(write_small_checkpoint(files_, folder_, {.step = 3, .seed = 2}));
  ASSERT_OK(files_.create_directories(at("step-00000004.tmp-a/sub")));
  ASSERT_OK(files_.create_directories(at("step-00000005.removed-a")));
  ASSERT_OK(files_.create_directories(at("kept.tmp-a")));
  ASSERT_OK(files_.create_directories(at("target")));
  ASSERT_EQ(::symlink("target", at("step-00000006.tmp-a").c_str()), 0);
  EXPECT_THAT(
      clean_up(files_, folder_),
      IsOkAndHolds(ElementsAre(
          "gave " + at("step-00000002.old-a") + " its name back",
          "removed " + at("step-00000003.old-a"), "removed " + at("step-00000004.tmp-a"),
          "removed " + at("step-00000005.removed-a"), "removed " + at("step-00000006.tmp-a"))));
  EXPECT_THAT(names(), ElementsAre("kept.tmp-a", "step-00000001", "step-00000002", "step-00000003",
                                   "target"));
  EXPECT_OK(check({.step = 2}));
  EXPECT_OK(check({.step = 3, .seed = 2}));
  EXPECT_THAT(clean_up(files_, folder_), IsOkAndHolds(IsEmpty()));
}

TEST_F(CommitDirectoryTest, CleaningUpKeepsTheOldOneIfTheNewOneIsDamaged) {
  ASSERT_OK(write_small_checkpoint(files_, folder_, {}));
  ASSERT_OK(files_.rename(at("step-00000001"), at("step-00000001.old-a")));
  ASSERT_OK(files_.create_directories(at("step-00000001")));
  EXPECT_THAT(clean_up(files_, folder_), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(names(), ElementsAre("step-00000001", "step-00000001.old-a"));
}

TEST(CheckNamesTest, WhatWouldStandInTheWayOfASaveIsNamed) {
  MemoryFileSystem files;
  EXPECT_OK(write_small_checkpoint(files, "c", {.step = 1}));
  for (const char* name : {"notes.txt", "step-00000002.old-a", "step-7"}) {
    files.put(join_path("c", name), "mine");
  }
  EXPECT_OK(check_names(files, "c"));
  files.put("c/step-00000003", "mine");
  EXPECT_THAT(check_names(files, "c"),
              StatusIs(absl::StatusCode::kPermissionDenied,
                       AllOf(HasSubstr("c/step-00000003"), HasSubstr("move it away"))));
}

}  // namespace
}  // namespace millrace
