#include "checkpoint/objects/object_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fault_file_system_testing.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/folder/directory_lock.h"
#include "checkpoint/folder/retention.h"
#include "checkpoint/objects/object_lease.h"
#include "checkpoint/objects/ordered_upload.h"
#include "checkpoint/testing/memory_store_testing.h"
#include "checkpoint/testing/small_checkpoint_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kFolder[] = "s3://bucket/run/checkpoints";

// Calls a function in each sleep.
class SleepClock : public FakeClock {
 public:
  void sleep(absl::Duration duration) override {
    advance(duration);
    if (in_sleep) in_sleep();
  }
  std::function<void()> in_sleep;
};

std::vector<std::string> names(FileSystem& files, const std::string& directory) {
  std::vector<std::string> names;
  const auto entries = files.list(directory);
  EXPECT_OK(entries.status());
  for (const DirectoryEntry& entry : *entries) names.push_back(entry.name);
  return names;
}

class ObjectFilesTest : public testing::Test {
 protected:
  void save(FileSystem& files, const SmallCheckpoint& options) {
    ASSERT_OK(write_small_checkpoint(files, kFolder, options));
  }

  MemoryStore store_;
  SleepClock clock_;
  ThreadPool threads_{2};
};

TEST_F(ObjectFilesTest, ACheckpointIsAPrefixWithItsManifestLast) {
  ObjectFiles files(store_, clock_);
  ASSERT_OK_AND_ASSIGN(auto lock, DirectoryLock::acquire(files, kFolder, clock_, "run1"));
  EXPECT_EQ(lock->generation(), 1);
  const SmallCheckpoint first = {.step = 5, .world_size = 2, .nonce = "a1"};
  save(files, first);
  EXPECT_THAT(names(store_, kFolder), ElementsAre("lock", "newest", "step-00000005-a1"));
  EXPECT_THAT(names(store_, absl::StrCat(kFolder, "/step-00000005-a1")), SizeIs(8));
  EXPECT_EQ(*read_file(store_, absl::StrCat(kFolder, "/newest")), "step-00000005-a1\n");
  // Another process sees it under the name of a local checkpoint.
  ObjectFiles reader(store_, clock_);
  EXPECT_THAT(names(reader, kFolder), ElementsAre("lock", "newest", "step-00000005"));
  EXPECT_OK(check_small_checkpoint(reader, absl::StrCat(kFolder, "/step-00000005"), first));

  // Another checkpoint of the same step replaces it.
  const SmallCheckpoint second = {.step = 5, .seed = 2, .nonce = "a0"};
  save(files, second);
  EXPECT_THAT(names(store_, kFolder), ElementsAre("lock", "newest", "step-00000005-a0"));
  EXPECT_OK(check_small_checkpoint(reader, absl::StrCat(kFolder, "/step-00000005"), second));
  ASSERT_OK(remove_checkpoint(files, absl::StrCat(kFolder, "/step-00000005"), "run1"));
  EXPECT_THAT(names(store_, kFolder), ElementsAre("lock", "newest"));
}

TEST_F(ObjectFilesTest, ReadsAPointerThatTheListingLacksAndACopyWithoutANonce) {
  class LateListing : public ForwardingFileSystem {
   public:
    using ForwardingFileSystem::ForwardingFileSystem;
    absl::StatusOr<std::vector<DirectoryEntry>> list(const std::string& path) override {
      ASSIGN_OR_RETURN(std::vector<DirectoryEntry> entries, under_.list(path));
      std::erase_if(entries, [](const auto& entry) { return entry.name == "step-00000002-b"; });
      return entries;
    }
  };
  ObjectFiles files(store_, clock_);
  ASSERT_OK_AND_ASSIGN(auto lock, DirectoryLock::acquire(files, kFolder, clock_));
  save(files, {.step = 1, .nonce = "a"});
  save(files, {.step = 2, .nonce = "b"});
  ASSERT_OK(write_small_checkpoint(store_.memory(), kFolder, {.step = 3}));
  LateListing late(store_);
  ObjectFiles reader(late, clock_);
  EXPECT_THAT(names(reader, kFolder),
              ElementsAre("lock", "newest", "step-00000001", "step-00000002", "step-00000003"));
  for (const int64_t step : {1, 2, 3}) {
    EXPECT_OK(check_small_checkpoint(reader, absl::StrCat(kFolder, "/", checkpoint_name(step)),
                                     {.step = step}));
  }
}

// Saves, replaces and removes; counts what was promised to be durable.
absl::Status work(FileSystem& files, const Clock& clock, int* promised) {
  ThreadPool threads(1);
  ASSIGN_OR_RETURN(auto lock, DirectoryLock::acquire(files, kFolder, clock, "worker"));
  RETURN_IF_ERROR(clean_up(files, kFolder, "worker").status());
  const SmallCheckpoint steps[] = {{.step = 1, .nonce = "a"},
                                   {.step = 2, .world_size = 2, .nonce = "b"},
                                   {.step = 2, .seed = 2, .nonce = "c"},
                                   {.step = 3, .nonce = "d"}};
  for (const SmallCheckpoint& step : steps) {
    RETURN_IF_ERROR(write_small_checkpoint(files, kFolder, step).status());
    ++*promised;
    RETURN_IF_ERROR(
        apply_retention(files, kFolder, {.keep_last = 1, .full_last = 1}, Check::kFull, threads)
            .status());
  }
  return absl::OkStatus();
}

TEST_F(ObjectFilesTest, ADeathAnywhereLosesNothingThatWasPromised) {
  const int64_t newest_of[] = {0, 1, 2, 2, 3};  // by the number of promises
  int64_t deaths = 0;
  for (;; ++deaths) {
    SCOPED_TRACE(deaths);
    MemoryStore store;
    int promised = 0;
    FaultFileSystem dying(store);
    dying.fail(deaths, 1'000'000, absl::UnavailableError("dead"));
    {
      ObjectFiles files(dying, clock_);
      const absl::Status worked = work(files, clock_, &promised);
      if (deaths >= dying.calls()) {
        ASSERT_OK(worked);
        break;
      }
    }
    ObjectFiles files(store, clock_);
    ASSERT_OK_AND_ASSIGN(auto lock, DirectoryLock::acquire(files, kFolder, clock_));
    ASSERT_OK(clean_up(files, kFolder).status());
    ASSERT_OK_AND_ASSIGN(const auto listed, list_checkpoints(files, kFolder));
    const int64_t newest = listed.empty() ? 0 : listed.back().step;
    EXPECT_GE(newest, newest_of[promised]);
    for (const ListedCheckpoint& checkpoint : listed) {
      ASSERT_NE(checkpoint.reader, nullptr) << checkpoint.status;
      EXPECT_OK(checkpoint.reader->verify(threads_));
    }
    // Nothing else is left, and training goes on.
    EXPECT_THAT(names(store, kFolder), SizeIs(testing::Le(listed.size() + 2)));
    save(files, {.step = 9, .nonce = "z"});
    EXPECT_EQ(list_checkpoints(files, kFolder)->back().step, 9);
  }
  EXPECT_GT(deaths, 150);
}

TEST_F(ObjectFilesTest, ALeaseIsTakenFromADeadHolderAlone) {
  ObjectFiles files(store_, clock_), others(store_, clock_);
  const std::string path = absl::StrCat(kFolder, "/lock");
  {
    ASSERT_OK_AND_ASSIGN(auto lock, DirectoryLock::acquire(files, kFolder, clock_, "one"));
    EXPECT_TRUE(is_directory_lock(store_, path));
    EXPECT_OK(check_owner(others, kFolder, "one"));
  }
  EXPECT_TRUE(parse_lease(*read_file(store_, path))->is_free);
  // A free lease is taken at once.
  const absl::Duration before = clock_.elapsed();
  ASSERT_OK_AND_ASSIGN(auto lock, DirectoryLock::acquire(files, kFolder, clock_, "two"));
  EXPECT_EQ(lock->generation(), 2);
  EXPECT_LT(clock_.elapsed() - before, absl::Seconds(2));
  // A holder that renews keeps it.
  const std::string held = *read_file(store_, path);
  int64_t renewed = 0;
  clock_.in_sleep = [&] {
    const size_t number = held.find("renewed ") + 8;
    store_.memory().put(
        path, absl::StrCat(held.substr(0, number), ++renewed, held.substr(held.find(' ', number))));
  };
  EXPECT_THAT(DirectoryLock::acquire(others, kFolder, clock_, "three").status(),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("another run writes in")));
  // Two that take it at once: the later one has it.
  clock_.in_sleep = nullptr;
  store_.memory().put(path, held);
  int sleeps = 0;
  clock_.in_sleep = [&] {
    if (++sleeps != 11) return;
    store_.memory().put(path,
                        "host a pid 1 since x\nlease other generation 3 renewed 0 period 9\n");
  };
  ASSERT_OK_AND_ASSIGN(const auto late, others.lock(path));
  EXPECT_EQ(late, nullptr);
  // A dead holder loses it, notices and changes nothing.
  clock_.in_sleep = nullptr;
  ASSERT_OK_AND_ASSIGN(auto next, DirectoryLock::acquire(others, kFolder, clock_, "four"));
  EXPECT_EQ(next->generation(), 4);
  EXPECT_THAT(check_owner(files, kFolder, "two"),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("was taken by")));
  lock.reset();
  EXPECT_OK(check_owner(others, kFolder, "four"));
}

TEST_F(ObjectFilesTest, AWriterStopsIfTheNewestCheckpointIsNotItsOwn) {
  ObjectFiles files(store_, clock_);
  ASSERT_OK_AND_ASSIGN(auto lock, DirectoryLock::acquire(files, kFolder, clock_));
  save(files, {.step = 1});
  store_.memory().put(absl::StrCat(kFolder, "/newest"), "step-00000007-other\n");
  EXPECT_THAT(write_small_checkpoint(files, kFolder, {.step = 2}).status(),
              StatusIs(absl::StatusCode::kAborted, HasSubstr("has saved step-00000007-other;")));
  EXPECT_THAT(names(files, kFolder), testing::Not(testing::Contains("step-00000002")));
}

TEST_F(ObjectFilesTest, AnUploadHasItsBytesInOrderFromAnyThread) {
  ASSERT_OK_AND_ASSIGN(auto file, store_.create("s3://bucket/a"));
  OrderedUpload upload(store_, "s3://bucket/a", std::move(file), 6);
  std::thread late([&] { EXPECT_OK(upload.write_at(3, "def")); });
  EXPECT_OK(upload.write_at(0, "abc"));
  late.join();
  EXPECT_OK(upload.sync());
  EXPECT_EQ(*read_file(store_, "s3://bucket/a"), "abcdef");

  ASSERT_OK_AND_ASSIGN(file, store_.create("s3://bucket/b"));
  OrderedUpload abandoned(store_, "s3://bucket/b", std::move(file), 6);
  std::thread waiting([&] {
    EXPECT_THAT(abandoned.write_at(3, "def"),
                StatusIs(absl::StatusCode::kDataLoss, HasSubstr("no first bytes")));
  });
  abandoned.abandon(absl::DataLossError("no first bytes"));
  waiting.join();
  EXPECT_FALSE(abandoned.sync().ok());
  EXPECT_THAT(store_.info("s3://bucket/b").status(), testing::Truly(absl::IsNotFound));
}

}  // namespace
}  // namespace millrace
