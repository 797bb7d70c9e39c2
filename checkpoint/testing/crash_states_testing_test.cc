#include "checkpoint/testing/crash_states_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/testing/small_checkpoint_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

// Returns all states as texts: "a=content b/", and the promises.
std::set<std::string> all_states(const std::vector<FileOperation>& operations,
                                 int64_t max_states = 100'000) {
  std::set<std::string> states;
  for_each_crash_state(operations, {.max_states = max_states}, [&](const CrashState& state) {
    std::string text;
    for (const char* pattern : {"/*", "/*/*"}) {
      const auto paths = state.files->glob(pattern);
      for (const std::string& path : *paths) {
        const auto content = read_file(*state.files, path);
        absl::StrAppend(&text, text.empty() ? "" : " ", path.substr(1),
                        content.ok() ? "=" + *content : "/");
      }
    }
    for (const std::string& mark : state.marks) absl::StrAppend(&text, " !", mark);
    states.insert(text);
    return true;
  });
  return states;
}

TEST(CrashStatesTest, AWriteIsLostKeptOrTorn) {
  MemoryFileSystem memory;
  RecordingFileSystem files(memory);
  ASSERT_OK_AND_ASSIGN(auto file, files.create("a"));
  ASSERT_OK(files.sync_directory("."));
  ASSERT_OK(file->append("wxyz"));
  const std::string zeros(4, '\0');
  EXPECT_THAT(all_states(files.operations()),
              UnorderedElementsAre("", "a=", "a=w", "a=wx", "a=wxy", "a=wxyz", "a=" + zeros,
                                   "a=" + zeros.substr(1) + "z", "a=" + zeros.substr(2) + "yz",
                                   "a=" + zeros.substr(3) + "xyz"));
  ASSERT_OK(file->sync());
  files.mark("synced");
  std::set<std::string> promised;
  for (const std::string& state : all_states(files.operations())) {
    if (state.find('!') != std::string::npos) promised.insert(state);
  }
  EXPECT_THAT(promised, ElementsAre("a=wxyz !synced"));
}

TEST(CrashStatesTest, SyncingAFileSaysNothingOfItsName) {
  MemoryFileSystem memory;
  RecordingFileSystem files(memory);
  ASSERT_OK_AND_ASSIGN(auto file, files.create("a"));
  ASSERT_OK(file->append("x"));
  ASSERT_OK(file->sync());
  files.mark("synced");
  const auto states = all_states(files.operations());
  EXPECT_EQ(states.count(" !synced"), 1u);
  EXPECT_EQ(states.count("a=x !synced"), 1u);
  EXPECT_EQ(states.count("a= !synced"), 0u);
}

TEST(CrashStatesTest, RenamesAreWholeAndDurableWithTheirDirectory) {
  MemoryFileSystem memory;
  RecordingFileSystem files(memory);
  ASSERT_OK(files.create_directories("d"));
  ASSERT_OK(files.create("d/f").status());
  ASSERT_OK(files.sync_directory("d"));
  ASSERT_OK(files.sync_directory(""));
  files.mark("made");
  ASSERT_OK(files.rename("d", "e"));
  files.mark("renamed");
  EXPECT_THAT(all_states(files.operations()),
              UnorderedElementsAre("", "d/", "d/ d/f=", "d/ d/f= !made", "e/ e/f= !made",
                                   "d/ d/f= !made !renamed", "e/ e/f= !made !renamed"));
  ASSERT_OK(files.sync_directory(""));
  files.mark("synced");
  EXPECT_EQ(all_states(files.operations()).count("d/ d/f= !made !renamed !synced"), 0u);
}

// A removal may be on disk although the earlier renaming is not: names follow no order.
TEST(CrashStatesTest, RemovalsReachWhatIsStillThere) {
  MemoryFileSystem memory;
  RecordingFileSystem files(memory);
  ASSERT_OK(files.create_directories("d"));
  ASSERT_OK(files.create("d/f").status());
  ASSERT_OK(files.sync_directory("d"));
  ASSERT_OK(files.sync_directory(""));
  ASSERT_OK(files.rename("d", "e"));
  ASSERT_OK(files.remove("e/f"));
  const auto states = all_states(files.operations());
  EXPECT_EQ(states.count("d/"), 1u) << "the rename is lost, the removal kept";
  EXPECT_EQ(states.count("e/"), 1u);
}

TEST(CrashStatesTest, ALinkIsANameOfTheSameBytes) {
  MemoryFileSystem memory;
  RecordingFileSystem files(memory);
  ASSERT_OK(files.create_directories("d"));
  ASSERT_OK_AND_ASSIGN(auto file, files.create("a"));
  ASSERT_OK(file->append("x"));
  ASSERT_OK(file->sync());
  ASSERT_OK(files.sync_directory(""));
  files.mark("made");
  ASSERT_OK(files.link("a", "d/b"));
  ASSERT_OK(files.remove("a"));
  std::set<std::string> promised;
  for (const std::string& state : all_states(files.operations())) {
    if (state.find('!') != std::string::npos) promised.insert(state);
  }
  EXPECT_THAT(promised, UnorderedElementsAre("a=x d/ !made", "a=x d/ d/b=x !made", "d/ !made",
                                             "d/ d/b=x !made"));
}

TEST(CrashStatesTest, KeepsToItsLimitAndStopsWhenTold) {
  MemoryFileSystem memory;
  RecordingFileSystem files(memory);
  for (int i = 0; i < 20; ++i) ASSERT_OK(files.create(absl::StrCat("f", i)).status());
  const CrashCounts counts = for_each_crash_state(files.operations(), {.max_states = 5000},
                                                  [](const CrashState&) { return true; });
  EXPECT_LE(counts.enumerated, 5000);
  EXPECT_GT(counts.enumerated, 4500);
  EXPECT_GT(counts.distinct, 1000);
  int64_t looked = 0;
  for_each_crash_state(files.operations(), {.max_states = 5000},
                       [&](const CrashState&) { return ++looked < 7; });
  EXPECT_EQ(looked, 7);
}

// Two saves, a third that replaces the second, and a fourth that keeps the third one's data files.
class CheckpointCrashTest : public testing::Test {
 protected:
  CheckpointCrashTest() : files_(memory_) {
    EXPECT_OK(files_.create_directories("c"));
    EXPECT_OK(files_.sync_directory(""));
    save({.step = 1, .rows = 2});
    save({.step = 2, .seed = 2, .rows = 2});
    save({.step = 2, .seed = 3, .rows = 2, .nonce = "n2"});
    save({.step = 2, .seed = 3, .rows = 2, .nonce = "n3", .finished = true, .keep_files = true});
  }

  void save(const SmallCheckpoint& options) {
    ASSERT_OK(write_small_checkpoint(files_, "c", options));
    saved_.push_back(options);
    files_.mark(absl::StrCat(saved_.size()));
  }

  // Checks that a crash keeps all promises: the last acknowledged save, or a later one, loads.
  absl::Status check(const CrashState& state) {
    int64_t promised = 0;
    if (!state.marks.empty()) (void)absl::SimpleAtoi(state.marks.back(), &promised);
    ASSIGN_OR_RETURN(const NewestCheckpoint newest,
                     newest_checkpoint(*state.files, "c", Check::kFull, threads_));
    if (newest.chain.empty()) {
      return promised == 0 ? absl::OkStatus() : absl::DataLossError("nothing is left");
    }
    const std::string& path = newest.chain.back()->directory();
    for (size_t i = std::max<int64_t>(promised, 1); i <= saved_.size(); ++i) {
      if (check_small_checkpoint(*state.files, path, saved_[i - 1]).ok()) return absl::OkStatus();
    }
    return absl::DataLossError(absl::StrCat(path, " is not what was promised"));
  }

  // Returns the number of states that break a promise; at most one if `stop`.
  int64_t violations(const std::vector<FileOperation>& operations, int64_t max_states, bool stop,
                     CrashCounts* counts = nullptr) {
    int64_t violations = 0;
    const CrashCounts all =
        for_each_crash_state(operations, {.max_states = max_states}, [&](const CrashState& state) {
          const absl::Status status = check(state);
          if (status.ok()) return true;
          if (!stop) ADD_FAILURE() << status << "\n" << state.what;
          ++violations;
          return !stop && violations < 5;
        });
    if (counts != nullptr) *counts = all;
    return violations;
  }

  MemoryFileSystem memory_;
  RecordingFileSystem files_;
  ThreadPool threads_{1};
  std::vector<SmallCheckpoint> saved_;
};

TEST_F(CheckpointCrashTest, NoCrashBreaksAPromise) {
  CrashCounts counts;
  const std::vector<FileOperation> operations = files_.operations();
  EXPECT_EQ(std::count_if(operations.begin(), operations.end(),
                          [](const FileOperation& operation) {
                            return operation.kind == FileOperation::Kind::kLink;
                          }),
            3)
      << "one dense file and two of the table";
  EXPECT_EQ(violations(operations, 20'000, /*stop=*/false, &counts), 0);
  EXPECT_GT(counts.enumerated, 19'000);
  EXPECT_GT(counts.distinct, 4'000);
}

// Every sync in the protocol is needed, and the model detects its absence.
TEST_F(CheckpointCrashTest, EverySyncThatIsLeftOutBreaksOne) {
  const std::vector<FileOperation> operations = files_.operations();
  int64_t syncs = 0;
  for (size_t i = 0; i < operations.size(); ++i) {
    const bool sync = operations[i].kind == FileOperation::Kind::kSync ||
                      operations[i].kind == FileOperation::Kind::kSyncDirectory;
    if (!sync || i == 1) continue;  // the first makes the folder durable
    std::vector<FileOperation> without = operations;
    without.erase(without.begin() + i);
    EXPECT_EQ(violations(without, 3'000, /*stop=*/true), 1)
        << "without operation " << i << " " << operations[i].path;
    ++syncs;
  }
  EXPECT_GT(syncs, 20);
}

// After any crash the next writer cleans up and saves.
TEST_F(CheckpointCrashTest, TheNextWriterGoesOn) {
  int64_t looked = 0;
  for_each_crash_state(files_.operations(), {.max_states = 2'000}, [&](const CrashState& state) {
    FileSystem& files = *state.files;
    if (!files.info("c").ok()) return true;
    EXPECT_OK(clean_up(files, "c")) << state.what;
    EXPECT_OK(check(state)) << "cleaning up lost something\n" << state.what;
    const SmallCheckpoint next = {.step = 3, .seed = 4, .rows = 2};
    EXPECT_OK(write_small_checkpoint(files, "c", next)) << state.what;
    EXPECT_OK(check_small_checkpoint(files, "c/step-00000003", next)) << state.what;
    ++looked;
    return !HasFailure();
  });
  EXPECT_GT(looked, 300);
}

}  // namespace
}  // namespace millrace
