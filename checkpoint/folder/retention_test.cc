#include "checkpoint/folder/retention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/fault_file_system_testing.h"
#include "base/hash.h"
#include "base/memory_file_system_testing.h"
#include "base/recording_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/folder/content_digests.h"
#include "checkpoint/folder/model_only.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/testing/crash_states_testing.h"
#include "checkpoint/testing/small_checkpoint_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class RetentionTest : public testing::Test {
 protected:
  RetentionTest() { EXPECT_OK(files_.create_directories("c")); }

  static std::string path(int64_t step) { return "c/" + checkpoint_name(step); }
  void save(const SmallCheckpoint& options) {
    ASSERT_OK(write_small_checkpoint(files_, "c", options));
  }
  void save_delta(int64_t step, int64_t base, int depth) {
    CheckpointManifest::Base of;
    of.set_step(base);
    of.set_depth(depth);
    of.set_digest(CheckpointReader::open(files_, path(base)).value()->manifest().digest());
    save({.step = step, .base = of});
  }
  void damage(int64_t step) {
    const std::string victim = path(step) + "/dense-00000-of-00001.safetensors";
    std::string content = *read_file(files_, victim);
    content.back() ^= 1;
    files_.put(victim, content);
  }
  absl::StatusOr<RetentionResult> apply(const RetentionPolicy& policy,
                                        Check check = Check::kQuick) {
    return apply_retention(files_, "c", policy, check, threads_);
  }
  // Returns the existing steps; negative: model-only.
  std::vector<int64_t> steps() {
    std::vector<int64_t> steps;
    const auto listed = list_checkpoints(files_, "c");
    for (const ListedCheckpoint& checkpoint : *listed) {
      const bool full =
          checkpoint.reader == nullptr || has_training_state(checkpoint.reader->manifest());
      steps.push_back(full ? checkpoint.step : -checkpoint.step);
    }
    return steps;
  }

  MemoryFileSystem files_;
  ThreadPool threads_{1};
};

TEST_F(RetentionTest, LooksAtEachCheckpointOnce) {
  for (const int64_t step : {1, 2, 3}) save({.step = step});
  save_delta(4, 3, 1);
  FaultFileSystem listed(files_), applied(files_);
  ASSERT_OK(list_checkpoints(listed, "c").status());
  ASSERT_OK(apply_retention(applied, "c", {}, Check::kQuick, threads_).status());
  EXPECT_EQ(applied.calls(), listed.calls());
}

TEST_F(RetentionTest, TheLast) {
  for (const int64_t step : {1, 2, 3, 4, 5, 6, 7}) save({.step = step});
  EXPECT_OK(apply({}));
  EXPECT_THAT(steps(), ElementsAre(3, 4, 5, 6, 7));
  ASSERT_OK_AND_ASSIGN(const RetentionResult result, apply({.keep_last = 2}));
  EXPECT_THAT(steps(), ElementsAre(6, 7));
  EXPECT_THAT(result.removed, ElementsAre(path(5), path(4), path(3)));
  EXPECT_OK(apply({.keep_last = 1}));
  EXPECT_OK(apply({.keep_last = 1}));
  EXPECT_THAT(steps(), ElementsAre(7));
  EXPECT_THAT(files_.list("c"), IsOkAndHolds(SizeIs(1))) << "nothing half removed";
}

TEST_F(RetentionTest, NothingToKeepIsNoError) {
  ASSERT_OK_AND_ASSIGN(const RetentionResult result, apply({}));
  EXPECT_THAT(result.removed, IsEmpty());
}

TEST_F(RetentionTest, EveryKth) {
  for (const int64_t step : {5, 10, 15, 20, 25, 26}) save({.step = step});
  EXPECT_OK(apply({.keep_last = 1, .keep_every = 10}));
  EXPECT_THAT(steps(), ElementsAre(10, 20, 26));
}

TEST_F(RetentionTest, TheBest) {
  const double auc[] = {0.7, 0.9, NAN, 0.8, 0.9, 0.1};
  for (int64_t step = 1; step <= 6; ++step) {
    save({.step = step, .metrics = {{"auc", auc[step - 1]}, {"loss", 1 - auc[step - 1]}}});
  }
  save({.step = 7});
  RetentionPolicy policy = {.keep_last = 1, .keep_best = {{"auc", 2, true}, {"loss", 3, false}}};
  EXPECT_OK(apply(policy));
  EXPECT_THAT(steps(), ElementsAre(2, 4, 5, 7));
  policy.keep_best = {{"auc", 1, true}};
  EXPECT_OK(apply(policy));
  EXPECT_THAT(steps(), ElementsAre(5, 7)) << "of equal ones the newer";
  policy.keep_best = {{"auc", 1, false}, {"no such metric", 1, true}};
  EXPECT_OK(apply(policy));
  EXPECT_THAT(steps(), ElementsAre(5, 7)) << "the worst of one";
}

TEST_F(RetentionTest, TheBestScoreThatTheNewestKnows) {
  save({.step = 1, .best_step = 1});
  save({.step = 2, .best_step = 2});
  for (const int64_t step : {3, 4}) save({.step = step, .best_step = 2});
  EXPECT_OK(apply({.keep_last = 1}));
  EXPECT_THAT(steps(), ElementsAre(2, 4));
  save({.step = 5, .best_step = 2});
  EXPECT_OK(apply({.keep_last = 1, .full_last = 1}));
  EXPECT_THAT(steps(), ElementsAre(-2, 5)) << "by its age reduced to the model";
  save({.step = 6, .best_step = 6});
  EXPECT_OK(apply({.keep_last = 1}));
  EXPECT_THAT(steps(), ElementsAre(6)) << "no longer the best";
  save({.step = 7, .best_step = 3});
  EXPECT_OK(apply({.keep_last = 1}));
  EXPECT_THAT(steps(), ElementsAre(7)) << "the best is in another folder";
}

TEST_F(RetentionTest, ADamagedNewestDoesNotSayWhichIsTheBest) {
  save({.step = 1, .best_step = 1});
  for (const int64_t step : {2, 3}) save({.step = step, .best_step = 1});
  save({.step = 4, .best_step = 4});
  ASSERT_OK(files_.remove(path(4) + "/dense-00000-of-00001.safetensors"));
  EXPECT_OK(apply({.keep_last = 1}));
  EXPECT_THAT(steps(), ElementsAre(1, 3, 4));
}

TEST_F(RetentionTest, OlderOnesBecomeModelOnly) {
  for (const int64_t step : {1, 2, 3, 4}) save({.step = step});
  ASSERT_OK_AND_ASSIGN(const RetentionResult result, apply({.keep_last = 3, .full_last = 1}));
  EXPECT_THAT(steps(), ElementsAre(-2, -3, 4));
  EXPECT_THAT(result.reduced, ElementsAre(path(3), path(2)));
  ASSERT_OK_AND_ASSIGN(const RetentionResult again, apply({.keep_last = 3, .full_last = 1}));
  EXPECT_THAT(again.reduced, IsEmpty());
  save({.step = 5});
  EXPECT_OK(apply({.keep_last = 3, .full_last = 2}));
  EXPECT_THAT(steps(), ElementsAre(-3, 4, 5));
}

TEST_F(RetentionTest, DamagedOnesNeitherCountNorGo) {
  for (const int64_t step : {1, 2, 3, 4}) save({.step = step});
  ASSERT_OK(files_.remove(path(3) + "/dense-00000-of-00001.safetensors"));
  ASSERT_OK_AND_ASSIGN(const RetentionResult result, apply({.keep_last = 2}));
  EXPECT_THAT(steps(), ElementsAre(2, 3, 4));
  EXPECT_THAT(result.damaged,
              ElementsAre(StatusIs(absl::StatusCode::kDataLoss, HasSubstr(path(3)))));
}

// An unreadable delta may be based on any earlier checkpoint; a readable manifest names the base.
TEST_F(RetentionTest, WhatADamagedDeltaNeedsStays) {
  for (const int64_t step : {1, 2, 3, 4}) save({.step = step});
  save_delta(5, 2, 1);
  for (const int64_t step : {6, 7}) save({.step = step});
  ASSERT_OK(files_.remove(path(5) + "/dense-00000-of-00001.safetensors"));
  const RetentionPolicy policy = {.keep_last = 1, .full_last = 1};
  EXPECT_OK(apply(policy));
  EXPECT_THAT(steps(), ElementsAre(2, 5, 7)) << "unreduced";
  save({.step = 1});
  ASSERT_OK(files_.remove(path(5) + "/manifest.json"));
  EXPECT_OK(apply(policy));
  EXPECT_THAT(steps(), ElementsAre(1, 2, 5, 7)) << "nobody knows which it needs";
  save({.step = 8});
  EXPECT_OK(apply(policy));
  EXPECT_THAT(steps(), ElementsAre(1, 2, 5, 8)) << "what came later goes";
  ASSERT_OK(remove_checkpoint(files_, path(5)));
  EXPECT_OK(apply(policy));
  EXPECT_THAT(steps(), ElementsAre(8));
}

// Such deltas do not take the place of checkpoints that training could resume from.
TEST_F(RetentionTest, DeltasThatLackTheirBaseDoNotCount) {
  for (const int64_t step : {1, 2, 3}) save({.step = step});
  save_delta(4, 3, 1);
  save_delta(5, 4, 2);
  save({.step = 6});
  ASSERT_OK(remove_checkpoint(files_, path(3)));
  ASSERT_OK_AND_ASSIGN(const RetentionResult result, apply({.keep_last = 2}));
  EXPECT_THAT(steps(), ElementsAre(2, 4, 5, 6));
  EXPECT_THAT(result.damaged, SizeIs(2));
}

TEST_F(RetentionTest, ThoseKnownToBeDamagedInsideDoNotCount) {
  for (const int64_t step : {1, 2, 3, 4, 5}) save({.step = step});
  EXPECT_OK(apply_retention(files_, "c", {.keep_last = 2}, Check::kQuick, threads_, 5,
                            {path(4), path(3)}));
  EXPECT_THAT(steps(), ElementsAre(2, 3, 4, 5));
}

// A later checkpoint may be left over from a run that was restarted from an earlier step.
TEST_F(RetentionTest, OnlyWhatIsNotNewerThanTheSavedOneCounts) {
  for (const int64_t step : {1, 2, 3, 4, 9}) save({.step = step});
  EXPECT_OK(apply_retention(files_, "c", {.keep_last = 2}, Check::kQuick, threads_, 4));
  EXPECT_THAT(steps(), ElementsAre(3, 4, 9));
}

TEST_F(RetentionTest, NothingGoesWhereTheDiskCannotBeRead) {
  for (const int64_t step : {1, 2, 3}) save({.step = step});
  FaultFileSystem counted(files_);
  ASSERT_OK(list_checkpoints(counted, "c").status());
  FaultFileSystem faulty(files_);
  faulty.fail(counted.calls() - 1, 1, absl::UnavailableError("injected"));
  const auto result = apply_retention(faulty, "c", {.keep_last = 1}, Check::kQuick, threads_);
  EXPECT_THAT(result, StatusIs(absl::StatusCode::kUnavailable, HasSubstr(path(3))));
  EXPECT_THAT(steps(), ElementsAre(1, 2, 3));
}

// A quick check cannot see damage inside the data; a full check can, and keeps the remaining
// checkpoints.
TEST_F(RetentionTest, TheNewestThatVerifiesStays) {
  for (const int64_t step : {1, 2, 3, 4}) save({.step = step});
  damage(3);
  damage(4);
  EXPECT_OK(apply({.keep_last = 1, .full_last = 1}, Check::kFull));
  EXPECT_THAT(steps(), ElementsAre(2, 3, 4));
  ASSERT_OK_AND_ASSIGN(const auto newest, newest_checkpoint(files_, "c", Check::kFull, threads_));
  ASSERT_THAT(newest.chain, SizeIs(1));
  EXPECT_OK(check_small_checkpoint(files_, newest.chain[0]->directory(), {.step = 2}));
  damage(2);
  const absl::uint128 before = files_.fingerprint();
  ASSERT_OK_AND_ASSIGN(const RetentionResult nothing, apply({.keep_last = 1}, Check::kFull));
  EXPECT_EQ(files_.fingerprint(), before) << "nothing verifies: nothing goes";
  EXPECT_THAT(nothing.damaged, SizeIs(3));
}

TEST_F(RetentionTest, WhatADeltaNeedsStaysWhole) {
  save({.step = 1});
  save({.step = 2});
  save_delta(3, 2, 1);
  save_delta(4, 3, 2);
  save_delta(5, 2, 1);
  save_delta(6, 4, 3);
  save({.step = 7});
  ASSERT_OK_AND_ASSIGN(const RetentionResult result, apply({.keep_last = 2, .full_last = 1}));
  EXPECT_THAT(steps(), ElementsAre(2, 3, 4, 6, 7));
  EXPECT_THAT(result.removed, ElementsAre(path(5), path(1)));
  EXPECT_THAT(result.reduced, IsEmpty());
  EXPECT_OK(open_chain(files_, path(6)));
  ASSERT_OK_AND_ASSIGN(const RetentionResult more, apply({.keep_last = 1}));
  EXPECT_THAT(more.removed, ElementsAre(path(6), path(4), path(3), path(2)))
      << "deltas before what they need";
}

TEST_F(RetentionTest, BadPolicies) {
  const auto invalid = [](const char* field) {
    return StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(field));
  };
  EXPECT_THAT(apply({.keep_last = 0}), invalid("keep_last"));
  EXPECT_THAT(apply({.keep_every = -1}), invalid("keep_every"));
  EXPECT_THAT(apply({.full_last = 0}), invalid("full_last"));
  EXPECT_THAT(apply({.keep_best = {{"auc", 0, true}}}), invalid("keep_best \"auc\": count is 0"));
  EXPECT_THAT(apply({.keep_best = {{"", 1, true}}}), invalid("keep_best has an empty metric"));
}

TEST_F(RetentionTest, WhateverFailsTheKeptOnesStay) {
  const RetentionPolicy policy = {.keep_last = 2, .full_last = 1};
  for (int64_t n = 0;; ++n) {
    MemoryFileSystem memory;
    ASSERT_OK(memory.create_directories("c"));
    for (const int64_t step : {1, 2, 3}) {
      ASSERT_OK(write_small_checkpoint(memory, "c", {.step = step, .rows = 2}));
    }
    FaultFileSystem faulty(memory);
    faulty.fail(n, int64_t{1} << 40, absl::UnavailableError("injected"));
    const auto result = apply_retention(faulty, "c", policy, Check::kQuick, threads_);
    if (faulty.calls() <= n) {
      EXPECT_OK(result);
      EXPECT_GT(n, 50);
      break;
    }
    ASSERT_OK(check_small_checkpoint(memory, path(3), {.step = 3, .rows = 2})) << n;
    ASSERT_OK_AND_ASSIGN(const auto listed, list_checkpoints(memory, "c"));
    for (const ListedCheckpoint& checkpoint : listed) {
      ASSERT_OK(checkpoint.status) << n;
      ASSERT_OK(checkpoint.reader->verify(threads_)) << n;
    }
    ASSERT_OK(clean_up(memory, "c"));
    ASSERT_OK(apply_retention(memory, "c", policy, Check::kQuick, threads_)) << n;
    ASSERT_THAT(memory.list("c"), IsOkAndHolds(SizeIs(2))) << n;
  }
}

// Returns the operations on three checkpoints, of which the last two stay and the second becomes
// model-only.
std::vector<FileOperation> recorded_retention() {
  MemoryFileSystem memory;
  RecordingFileSystem files(memory);
  ThreadPool threads(1);
  EXPECT_OK(files.create_directories("c"));
  EXPECT_OK(files.sync_directory(""));
  for (const int64_t step : {1, 2, 3}) {
    EXPECT_OK(write_small_checkpoint(files, "c", {.step = step, .rows = 2}));
  }
  files.mark("saved");
  const RetentionPolicy policy = {.keep_last = 2, .full_last = 1};
  EXPECT_OK(apply_retention(files, "c", policy, Check::kQuick, threads));
  return files.operations();
}

// Checks that, after all saves, all existing checkpoints are whole and the retained ones exist.
absl::Status check_after_crash(const CrashState& state) {
  ThreadPool threads(1);
  if (state.marks.empty()) return absl::OkStatus();
  RETURN_IF_ERROR(check_small_checkpoint(*state.files, "c/step-00000003", {.step = 3, .rows = 2}));
  ASSIGN_OR_RETURN(const auto listed, list_checkpoints(*state.files, "c"));
  std::set<int64_t> there;
  for (const ListedCheckpoint& checkpoint : listed) {
    RETURN_IF_ERROR(checkpoint.status);
    RETURN_IF_ERROR(checkpoint.reader->verify(threads));
    there.insert(checkpoint.step);
  }
  return there.count(2) == 1 ? absl::OkStatus() : absl::DataLossError("the second is gone");
}

// Crashes at every point.
TEST(RetentionCrashTest, NoCrashLeavesAPart) {
  int64_t looked = 0;
  const CrashCounts counts = for_each_crash_state(
      recorded_retention(), {.max_states = 20'000}, [&](const CrashState& state) {
        if (!state.marks.empty()) ++looked;
        EXPECT_OK(check_after_crash(state)) << state.what;
        return !testing::Test::HasFailure();
      });
  EXPECT_GT(counts.enumerated, 19'000);
  EXPECT_GT(looked, 1'000);
}

TEST(RetentionCrashTest, EverySyncThatIsLeftOutIsSeen) {
  const std::vector<FileOperation> operations = recorded_retention();
  bool saved = false;
  int64_t syncs = 0;
  for (size_t i = 0; i < operations.size(); ++i) {
    using Kind = FileOperation::Kind;
    if (operations[i].kind == Kind::kMark) saved = true;
    const bool sync =
        operations[i].kind == Kind::kSync || operations[i].kind == Kind::kSyncDirectory;
    if (!saved || !sync) continue;
    std::vector<FileOperation> without = operations;
    without.erase(without.begin() + i);
    bool seen = false;
    for_each_crash_state(without, {.max_states = 4'000}, [&](const CrashState& state) {
      seen = !check_after_crash(state).ok();
      return !seen;
    });
    EXPECT_TRUE(seen) << "without operation " << i << " " << operations[i].path;
    ++syncs;
  }
  EXPECT_GE(syncs, 7);
}

constexpr char kPath[] = "c/step-00000001";

class ModelOnlyTest : public testing::Test {
 protected:
  absl::Status save(FileSystem& files) {
    RETURN_IF_ERROR(files.create_directories("c"));
    return write_small_checkpoint(files, "c", options_).status();
  }
  // All tensors of a checkpoint with their bytes, by file and name.
  static std::map<std::string, std::string> tensors(FileSystem& files) {
    std::map<std::string, std::string> tensors;
    const auto reader = CheckpointReader::open(files, kPath);
    EXPECT_OK(reader);
    ThreadPool threads(1);
    for (const auto& file : (*reader)->manifest().files()) {
      if (file.tensors_size() == 0) continue;
      EXPECT_OK((*reader)->read_tensors(
          file,
          [&](const TensorInfo& tensor, int64_t begin, absl::Span<const char> bytes) {
            std::string& to = tensors[file.name() + ":" + tensor.name];
            EXPECT_EQ(begin, static_cast<int64_t>(to.size())) << "small files come in order";
            to.append(bytes.data(), bytes.size());
            return absl::OkStatus();
          },
          threads));
    }
    return tensors;
  }

  MemoryFileSystem files_;
  ThreadPool threads_{2};
  const SmallCheckpoint options_ = {.seed = 3, .rows = 50, .world_size = 2};
};

TEST_F(ModelOnlyTest, KeepsTheModelAlone) {
  ASSERT_OK(save(files_));
  auto expected = tensors(files_);
  const CheckpointManifest before = CheckpointReader::open(files_, kPath).value()->manifest();
  const size_t whole = expected.size();
  ASSERT_OK(make_model_only(files_, kPath, threads_));
  for (auto entry = expected.begin(); entry != expected.end();) {
    const bool kept = entry->first.find("fc.weight") != std::string::npos ||
                      entry->first.find(":on") != std::string::npos ||
                      entry->first.find("/ids") != std::string::npos ||
                      entry->first.find("/weights") != std::string::npos;
    const bool other = entry->first.find("optimizer/") != std::string::npos ||
                       entry->first.find("admission/") != std::string::npos;
    entry = kept && !other ? std::next(entry) : expected.erase(entry);
  }
  EXPECT_EQ(tensors(files_), expected);
  EXPECT_EQ(expected.size(), 6u);
  EXPECT_GT(whole, 14u);

  ASSERT_OK_AND_ASSIGN(const auto reader, CheckpointReader::open(files_, kPath));
  ASSERT_OK(reader->verify(threads_));
  const CheckpointManifest& manifest = reader->manifest();
  EXPECT_THAT(manifest.parts(), ElementsAre(CheckpointManifest::DENSE, CheckpointManifest::ROWS));
  EXPECT_EQ(manifest.tables(0).slots_size(), 0);
  EXPECT_EQ(manifest.progress().DebugString(), before.progress().DebugString());
  EXPECT_EQ(manifest.world_size(), 2);
  EXPECT_LT(total_bytes(manifest), total_bytes(before));
  ASSERT_OK_AND_ASSIGN(const auto digests,
                       compute_content_digests(*reader, DigestOf::kEverything, threads_));
  EXPECT_EQ(manifest.content_digests_size(), 2);
  for (const auto& stated : manifest.content_digests()) {
    EXPECT_EQ(stated.digest(), format_digest(digests.at(stated.name())));
  }
  EXPECT_NE(manifest.content_digests(0).digest(), before.content_digests(0).digest());
}

TEST_F(ModelOnlyTest, AgainDoesNothing) {
  ASSERT_OK(save(files_));
  EXPECT_TRUE(has_training_state(CheckpointReader::open(files_, kPath).value()->manifest()));
  ASSERT_OK(make_model_only(files_, kPath, threads_));
  EXPECT_FALSE(has_training_state(CheckpointReader::open(files_, kPath).value()->manifest()));
  const absl::uint128 before = files_.fingerprint();
  ASSERT_OK(make_model_only(files_, kPath, threads_));
  EXPECT_EQ(files_.fingerprint(), before);
}

TEST_F(ModelOnlyTest, DamageIsNotCopied) {
  ASSERT_OK(save(files_));
  const std::string victim = std::string(kPath) + "/table-items-00001-of-00002.safetensors";
  std::string content = *read_file(files_, victim);
  content.back() ^= 1;  // of the weights, which come last
  files_.put(victim, content);
  const absl::uint128 before = files_.fingerprint();
  EXPECT_THAT(make_model_only(files_, kPath, threads_),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr(victim)));
  EXPECT_EQ(files_.fingerprint(), before);
}

TEST_F(ModelOnlyTest, AFullDiskIsSaidBefore) {
  ASSERT_OK(save(files_));
  files_.set_capacity(files_.used_bytes() + 1000);
  const absl::uint128 before = files_.fingerprint();
  EXPECT_THAT(make_model_only(files_, kPath, threads_),
              StatusIs(absl::StatusCode::kResourceExhausted, HasSubstr("has room for 1000")));
  EXPECT_EQ(files_.fingerprint(), before);
}

TEST_F(ModelOnlyTest, WhateverFailsTheModelStays) {
  for (int64_t n = 0;; ++n) {
    MemoryFileSystem memory;
    ASSERT_OK(save(memory));
    FaultFileSystem faulty(memory);
    faulty.fail(n, int64_t{1} << 40, absl::UnavailableError("injected"));
    ThreadPool one(1);
    const absl::Status status = make_model_only(faulty, kPath, one);
    if (faulty.calls() <= n) {
      EXPECT_OK(status);
      EXPECT_GT(n, 50);
      break;
    }
    ASSERT_OK_AND_ASSIGN(const auto newest, newest_checkpoint(memory, "c", Check::kFull, one));
    ASSERT_EQ(newest.chain.size(), 1u) << n;
    ASSERT_OK(clean_up(memory, "c"));
    ASSERT_OK(make_model_only(memory, kPath, one)) << n;
    ASSERT_THAT(memory.list("c"), IsOkAndHolds(testing::SizeIs(1))) << n;
  }
}

}  // namespace
}  // namespace millrace
