#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fault_file_system_testing.h"
#include "base/forwarding_file_system.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/objects/object_files.h"
#include "checkpoint/published/published_folder.h"
#include "checkpoint/published/publisher.h"
#include "checkpoint/testing/memory_store_testing.h"
#include "checkpoint/testing/rows_checkpoint_testing.h"
#include "checkpoint/testing/small_checkpoint_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Code = absl::StatusCode;

// A run and its folder of versions, on a disk or in a bucket.
class Place {
 public:
  explicit Place(bool is_bucket)
      : root_(is_bucket ? "s3://bucket/run" : "/run"),
        objects_(store_, clock_),
        files_(is_bucket ? static_cast<FileSystem&>(objects_) : disk_) {
    disk_.put("/run/config.textproto", "");
  }
  FileSystem& files() { return files_; }
  FakeClock& clock() { return clock_; }
  std::string folder() const { return root_ + "/published"; }
  std::string checkpoint(int64_t step) const {
    return join_path(root_ + "/checkpoints", checkpoint_name(step));
  }
  void save(SmallCheckpoint checkpoint) {
    ASSERT_OK(write_small_checkpoint(files_, root_ + "/checkpoints", checkpoint));
  }
  void save_rows(const RowsCheckpoint& content, const RowsCheckpoint* base = nullptr) {
    ASSERT_OK(write_rows_checkpoint(files_, root_ + "/checkpoints", content, base));
  }
  std::unique_ptr<Publisher> publisher(PublishRules rules = {}) {
    return std::make_unique<Publisher>(files_, clock_, folder(), std::move(rules));
  }
  PublishOutcome offer(Publisher& publisher, int64_t step) {
    const auto outcome = publisher.offer(checkpoint(step), "");
    EXPECT_OK(outcome.status());
    return outcome.value_or(PublishOutcome());
  }
  // Returns the step that servers serve; -1: none.
  int64_t served() {
    const auto served = served_version(files_, folder());
    EXPECT_OK(served.status());
    return served.ok() && served->has_value() ? (*served)->step : -1;
  }
  // Returns the steps whose files are there, each of which can be read.
  std::vector<int64_t> steps() {
    std::vector<int64_t> steps;
    const auto checkpoints = list_checkpoints(files_, folder());
    EXPECT_OK(checkpoints.status());
    ThreadPool threads(1);
    for (const ListedCheckpoint& each : *checkpoints) {
      EXPECT_OK(each.status);
      if (each.reader == nullptr) continue;
      EXPECT_OK(each.reader->verify(threads));
      steps.push_back(each.step);
    }
    return steps;
  }

 private:
  const std::string root_;
  FakeClock clock_;
  MemoryFileSystem disk_;
  MemoryStore store_;
  ObjectFiles objects_;
  FileSystem& files_;
};

class PublishedTest : public testing::TestWithParam<bool> {
 protected:
  Place place_{GetParam()};
};

INSTANTIATE_TEST_SUITE_P(, PublishedTest, testing::Bool(),
                         [](const auto& each) { return each.param ? "Bucket" : "Disk"; });

TEST_P(PublishedTest, VersionsAreCopiesAndTheOldestGo) {
  for (const int64_t step : {1, 2, 3, 4}) place_.save({.step = step, .seed = step});
  auto publisher = place_.publisher({.keep_last = 2});
  EXPECT_FALSE(is_published_folder(place_.files(), place_.folder()));
  for (const int64_t step : {1, 2, 4}) {
    EXPECT_EQ(place_.offer(*publisher, step).kind, PublishOutcome::kPublished);
    EXPECT_EQ(place_.served(), step);
  }
  EXPECT_EQ(place_.offer(*publisher, 4).kind, PublishOutcome::kNoCandidate) << "decided before";
  EXPECT_THAT(place_.steps(), ElementsAre(2, 4));
  EXPECT_OK(check_small_checkpoint(place_.files(), join_path(place_.folder(), checkpoint_name(4)),
                                   {.step = 4, .seed = 4}));
  EXPECT_THAT(publisher->offer(place_.checkpoint(3), ""),
              StatusIs(Code::kFailedPrecondition, HasSubstr("another run published there")));
  // Another publisher while this one lives. In the time of the test a lease of a bucket runs out.
  const bool takes = GetParam();
  EXPECT_EQ(place_.publisher()->offer(place_.checkpoint(4), "").status().code(),
            takes ? Code::kOk : Code::kFailedPrecondition);
  place_.save({.step = 5, .seed = 5});
  EXPECT_EQ(publisher->offer(place_.checkpoint(5), "").status().code(),
            takes ? Code::kAborted : Code::kOk);
  publisher.reset();

  // The next run continues. A step that is saved again is another version.
  place_.save({.step = 6, .seed = 6});
  publisher = place_.publisher({.keep_last = 1});
  EXPECT_EQ(place_.offer(*publisher, 6).kind, PublishOutcome::kPublished);
  place_.save({.step = 6, .seed = 7, .nonce = "n2"});
  EXPECT_EQ(place_.offer(*publisher, 6).kind, PublishOutcome::kPublished);
  EXPECT_THAT(place_.steps(), ElementsAre(6));
  const auto versions = read_versions(place_.files(), place_.folder());
  ASSERT_OK(versions.status());
  EXPECT_EQ(versions->versions(0).state(), PublishedVersions::REMOVED);
  EXPECT_EQ(versions->versions(versions->versions_size() - 1).state(),
            PublishedVersions::PUBLISHED);
}

TEST_P(PublishedTest, TheGateComparesWithWhatIsServed) {
  const double kNan = std::nan("");
  struct Case {
    double auc;
    PublishOutcome::Kind kind;
    int64_t served;
    std::string reason;
  };
  const std::vector<Case> cases = {
      {kNan, PublishOutcome::kRefused, -1, "eval/auc is nan"},
      {0.70, PublishOutcome::kPublished, 2, ""},
      {0.695, PublishOutcome::kPublished, 3, ""},
      {0.68, PublishOutcome::kRefused, 3, "eval/auc is 0.68, worse by"},
      {0.686, PublishOutcome::kPublished, 5, ""},
      {0.675, PublishOutcome::kRefused, 5, "of the served step 5"},
  };
  auto publisher = place_.publisher({.monitor = "eval/auc", .most_worse = 0.01});
  place_.save({.step = 0, .metrics = {{"other/auc", 1}}});
  EXPECT_EQ(place_.offer(*publisher, 0).kind, PublishOutcome::kNoCandidate);
  for (size_t i = 0; i < cases.size(); ++i) {
    const int64_t step = i + 1;
    place_.save({.step = step, .seed = step, .metrics = {{"eval/auc", cases[i].auc}}});
    const PublishOutcome outcome = place_.offer(*publisher, step);
    EXPECT_EQ(outcome.kind, cases[i].kind) << step;
    EXPECT_THAT(outcome.reason, HasSubstr(cases[i].reason));
    EXPECT_EQ(place_.served(), cases[i].served) << step;
  }
  // A refused version stays listed, and a pinned one is what the next is compared with.
  EXPECT_THAT(pin_version(place_.files(), place_.clock(), place_.folder(), 4, ""),
              StatusIs(Code::kFailedPrecondition, HasSubstr("it was refused: eval/auc is 0.68")));
  EXPECT_THAT(pin_version(place_.files(), place_.clock(), place_.folder(), 2, "bad"),
              IsOkAndHolds(2));
  place_.save({.step = 7, .metrics = {{"eval/auc", 0.685}}});
  EXPECT_THAT(place_.offer(*publisher, 7).reason, HasSubstr("of the served step 2"));
}

TEST_P(PublishedTest, RollbackHoldsUntilItIsResumed) {
  auto publisher = place_.publisher({.keep_last = 1});
  const auto pin = [&](std::optional<int64_t> step) {
    return pin_version(place_.files(), place_.clock(), place_.folder(), step, "");
  };
  EXPECT_THAT(pin({}).status().code(), Code::kNotFound) << "no such folder";
  for (const int64_t step : {1, 2}) {
    place_.save({.step = step, .seed = step});
    place_.offer(*publisher, step);
  }
  EXPECT_THAT(pin(1), StatusIs(Code::kFailedPrecondition, HasSubstr("were removed")));
  EXPECT_THAT(pin(9), StatusIs(Code::kNotFound, HasSubstr("no version of step 9")));
  EXPECT_THAT(pin({}), StatusIs(Code::kNotFound, HasSubstr("no version before")));
  EXPECT_THAT(pin(2), IsOkAndHolds(2));
  for (const int64_t step : {3, 4}) {
    place_.save({.step = step, .seed = step});
    EXPECT_EQ(place_.offer(*publisher, step).kind, PublishOutcome::kPublished);
    EXPECT_EQ(place_.served(), 2);
  }
  EXPECT_THAT(place_.steps(), ElementsAre(2, 4)) << "what is served stays";
  EXPECT_THAT(unpin_version(place_.files(), place_.folder()), IsOkAndHolds(true));
  EXPECT_THAT(unpin_version(place_.files(), place_.folder()), IsOkAndHolds(false));
  EXPECT_EQ(place_.served(), 4);
  EXPECT_THAT(pin({}), IsOkAndHolds(2));
  EXPECT_EQ(place_.served(), 2);
}

TEST_P(PublishedTest, AStepThatIsRefusedAgainStaysPublished) {
  auto publisher = place_.publisher({.monitor = "eval/auc"});
  place_.save({.step = 1, .metrics = {{"eval/auc", 0.7}}});
  place_.offer(*publisher, 1);
  place_.save({.step = 1, .seed = 2, .metrics = {{"eval/auc", 0.6}}, .nonce = "n2"});
  EXPECT_EQ(place_.offer(*publisher, 1).kind, PublishOutcome::kRefused);
  EXPECT_EQ(place_.served(), 1);
  EXPECT_EQ(place_.offer(*publisher, 1).kind, PublishOutcome::kNoCandidate);
}

// Training resumed from step 1, and step 2 differs from the earlier one.
TEST_P(PublishedTest, VersionsWhoseFilesAreReplacedLeaveTheList) {
  RowsCheckpoint first{.step = 1, .rows = test_rows(4, 2, 1)};
  RowsCheckpoint second{.step = 2, .rows = test_rows(5, 2, 2)};
  RowsCheckpoint third{.step = 3, .rows = test_rows(6, 2, 3)};
  place_.save_rows(first);
  place_.save_rows(second, &first);
  place_.save_rows(third, &second);
  auto publisher = place_.publisher();
  for (const int64_t step : {2, 3}) place_.offer(*publisher, step);
  RowsCheckpoint other{.step = 2, .rows = test_rows(5, 2, 7)};
  RowsCheckpoint after{.step = 3, .rows = test_rows(6, 2, 8)};
  for (const int64_t step : {3, 2}) {
    ASSERT_OK(remove_checkpoint(place_.files(), place_.checkpoint(step)));
  }
  place_.save_rows(other, &first);
  place_.save_rows(after, &other);
  ASSERT_OK(pin_version(place_.files(), place_.clock(), place_.folder(), 2, "").status());
  EXPECT_THAT(publisher->offer(place_.checkpoint(3), ""),
              StatusIs(Code::kFailedPrecondition, HasSubstr("the pinned version 2")));
  EXPECT_EQ(place_.served(), 2);
  EXPECT_THAT(place_.steps(), ElementsAre(1, 2, 3));
  ASSERT_OK(unpin_version(place_.files(), place_.folder()).status());
  EXPECT_EQ(place_.offer(*publisher, 3).kind, PublishOutcome::kPublished);
  EXPECT_EQ(place_.served(), 3);
  EXPECT_THAT(place_.steps(), ElementsAre(1, 2, 3));
  EXPECT_THAT(pin_version(place_.files(), place_.clock(), place_.folder(), 2, ""),
              StatusIs(Code::kFailedPrecondition, HasSubstr("were removed")));
}

TEST_P(PublishedTest, BasesOfDeltasComeAlongAndStay) {
  std::vector<RowsCheckpoint> all;
  for (const int64_t step : {1, 2, 3, 4, 5}) {
    all.push_back({.step = step, .rows = test_rows(3 + step, 2, step)});
  }
  auto publisher = place_.publisher({.keep_last = 1});
  place_.save_rows(all[0]);
  for (const int i : {1, 2, 3}) place_.save_rows(all[i], &all[i - 1]);
  place_.save_rows(all[4]);
  EXPECT_EQ(place_.offer(*publisher, 3).kind, PublishOutcome::kPublished);
  EXPECT_THAT(place_.steps(), ElementsAre(1, 2, 3));
  EXPECT_EQ(place_.offer(*publisher, 4).kind, PublishOutcome::kPublished);
  EXPECT_THAT(place_.steps(), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(place_.offer(*publisher, 5).kind, PublishOutcome::kPublished);
  EXPECT_THAT(place_.steps(), ElementsAre(5));
}

TEST_P(PublishedTest, ACheckpointThatIsSavedAgainWhileItIsCopiedIsWhole) {
  // Saves step 1 again before a call of the file system.
  class Resaving : public ForwardingFileSystem {
   public:
    Resaving(Place& place, int64_t at)
        : ForwardingFileSystem(place.files()), place_(place), at_(at) {}
    absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
      if (calls++ == at_) place_.save({.step = 1, .seed = 2, .nonce = "n2"});
      return ForwardingFileSystem::open(path);
    }
    int64_t calls = 0;

   private:
    Place& place_;
    const int64_t at_;
  };
  for (int64_t at = 0;; ++at) {
    Place place(GetParam());
    place.save({.step = 1});
    Resaving files(place, at);
    Publisher publisher(files, place.clock(), place.folder(), {});
    EXPECT_OK(publisher.offer(place.checkpoint(1), "").status()) << at;
    EXPECT_THAT(place.steps(), ElementsAre(1)) << at;
    if (files.calls <= at) break;
  }
}

TEST_P(PublishedTest, AnErrorAnywhereLeavesTheListOfWholeVersions) {
  for (const auto [goes_on, is_pinned] :  // goes_on: calls after the failed one fail too
       {std::pair(false, false), std::pair(true, false), std::pair(false, true)}) {
    for (int64_t failed = 0;; ++failed) {
      Place place(GetParam());
      for (const int64_t step : {1, 2, 3}) place.save({.step = step, .seed = step});
      {
        auto publisher = place.publisher({.keep_last = 2});
        place.offer(*publisher, 1);
        place.offer(*publisher, 2);
      }
      if (is_pinned) {
        ASSERT_OK(pin_version(place.files(), place.clock(), place.folder(), 1, "").status());
      }
      FaultFileSystem faulty(place.files());
      faulty.fail(failed, goes_on ? 1'000'000 : 1, absl::UnavailableError("injected"));
      {
        Publisher publisher(faulty, place.clock(), place.folder(), {.keep_last = 1});
        publisher.offer(place.checkpoint(3), "").IgnoreError();
      }
      EXPECT_THAT(place.served(), is_pinned ? testing::AnyOf(1, 1) : testing::AnyOf(2, 3));
      EXPECT_THAT(place.steps(), testing::Contains(place.served()));
      auto next = place.publisher({.keep_last = 1});
      place.save({.step = 4, .seed = 4});
      EXPECT_EQ(place.offer(*next, 4).kind, PublishOutcome::kPublished) << failed;
      EXPECT_EQ(place.served(), is_pinned ? 1 : 4);
      EXPECT_EQ(place.steps(),
                is_pinned ? std::vector<int64_t>({1, 4}) : std::vector<int64_t>({4}));
      if (faulty.calls() <= failed) break;
    }
  }
}

TEST_P(PublishedTest, OnlyItsRunPublishesToAFolder) {
  place_.save({.step = 1});
  place_.offer(*place_.publisher({.run = "a"}), 1);
  EXPECT_THAT(place_.publisher({.run = "b"})->begin(),
              StatusIs(Code::kFailedPrecondition, HasSubstr("versions of another run")));
  EXPECT_OK(place_.publisher({.run = "a"})->begin());
  // Nothing is taken for a version that was not published there.
  Publisher foreign(place_.files(), place_.clock(), directory_of(place_.checkpoint(1)), {});
  EXPECT_THAT(foreign.begin(),
              StatusIs(Code::kFailedPrecondition, HasSubstr("step-00000001 and no versions.json")));
}

TEST_P(PublishedTest, AVersionWhoseFilesAreGoneLeavesTheListAndIsNotPinned) {
  auto publisher = place_.publisher({.keep_last = 2});
  for (const int64_t step : {1, 2}) {
    place_.save({.step = step, .seed = step});
    place_.offer(*publisher, step);
  }
  ASSERT_OK(remove_checkpoint(place_.files(), join_path(place_.folder(), checkpoint_name(1))));
  EXPECT_THAT(pin_version(place_.files(), place_.clock(), place_.folder(), 1, ""),
              StatusIs(Code::kFailedPrecondition, HasSubstr("cannot find")));
  place_.save({.step = 3, .seed = 3});
  EXPECT_OK(place_.offer(*publisher, 3).retention);
  const auto versions = read_versions(place_.files(), place_.folder());
  ASSERT_OK(versions.status());
  EXPECT_EQ(find_published(*versions, 1), nullptr);
  EXPECT_NE(find_published(*versions, 2), nullptr);
}

TEST(PublishedFolderTest, DamagedListsAreNamed) {
  MemoryFileSystem files;
  const auto code = [&](const std::string& text) {
    files.put("/p/versions.json", text);
    const absl::Status status = read_versions(files, "/p").status();
    EXPECT_THAT(std::string(status.message()), HasSubstr("/p/versions.json"));
    return status.code();
  };
  EXPECT_EQ(code("{"), Code::kDataLoss);
  EXPECT_EQ(code("{}"), Code::kDataLoss);
  EXPECT_EQ(code(R"({"format_version": 9})"), Code::kUnimplemented);
}

TEST(PublishedFolderTest, FilesOfTheJobAreReadFromTheirCopies) {
  MemoryFileSystem files;
  files.put(
      "/p/versions.json",
      R"({"format_version": 1, "files": [{"path": "/job/words.txt", "copy": "1-words.txt", "written": ["words.txt"]}]})");
  files.put("/p/files/1-words.txt", "a\n");
  files.put("/job/other.txt", "b\n");
  ASSERT_OK_AND_ASSIGN(const auto published, PublishedFiles::create(files, "/p"));
  EXPECT_THAT(read_file(*published, "/job/words.txt"), IsOkAndHolds("a\n"));
  EXPECT_OK(published->info("/job/words.txt").status());
  EXPECT_THAT(read_file(*published, "words.txt"), IsOkAndHolds("a\n")) << "as the job has it";
  EXPECT_THAT(read_file(*published, "/job/other.txt"), IsOkAndHolds("b\n"));
}

}  // namespace
}  // namespace millrace
