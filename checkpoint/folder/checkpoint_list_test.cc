#include "checkpoint/folder/checkpoint_list.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "base/fault_file_system_testing.h"
#include "base/hash.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/testing/small_checkpoint_testing.h"

namespace millrace {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::StatusCode kDataLoss = absl::StatusCode::kDataLoss;

class CheckpointListTest : public testing::Test {
 protected:
  CheckpointListTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = join_path(testing::TempDir(), std::string("checkpoint_list_") + test->name());
    remove_recursively(files_, folder_).IgnoreError();
    EXPECT_OK(files_.create_directories(folder_));
  }
  std::string at(const std::string& name) { return join_path(folder_, name); }
  void save(const SmallCheckpoint& options) {
    ASSERT_OK(write_small_checkpoint(files_, folder_, options));
  }
  void flip_last_byte(const std::string& name) {
    ASSERT_OK_AND_ASSIGN(std::string content, read_file(files_, at(name)));
    content.back() ^= 1;
    ASSERT_OK(write_file_atomically(files_, at(name), content));
  }
  absl::StatusOr<NewestCheckpoint> newest(Check check) {
    return newest_checkpoint(files_, folder_, check, threads_);
  }
  // Gives the checkpoint the format version of a newer program.
  void make_newer(const std::string& name) {
    const std::string path = at(name + "/manifest.json");
    ASSERT_OK_AND_ASSIGN(std::string text, read_file(files_, path));
    const std::string version = "\"format_version\": 3";
    text.replace(text.find(version), version.size(), "\"format_version\": 4");
    const std::string start = "{\n \"digest\": \"";
    text.replace(start.size(), 32, std::string(32, '0'));
    text.replace(start.size(), 32, format_digest(xxh3_128(text)));
    ASSERT_OK(write_file_atomically(files_, path, text));
  }
  CheckpointManifest::Base base_of(int64_t step, int depth) {
    CheckpointManifest::Base base;
    base.set_step(step);
    base.set_depth(depth);
    base.set_digest(
        CheckpointReader::open(files_, at(checkpoint_name(step))).value()->manifest().digest());
    return base;
  }

  FileSystem& files_ = FileSystem::local();
  ThreadPool threads_{1};
  std::string folder_;
};

TEST_F(CheckpointListTest, NothingThere) {
  EXPECT_THAT(list_checkpoints(files_, folder_), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(list_checkpoints(files_, at("missing")), IsOkAndHolds(IsEmpty()));
  ASSERT_OK_AND_ASSIGN(const auto found, newest(Check::kFull));
  EXPECT_THAT(found.chain, IsEmpty());
  EXPECT_THAT(found.damaged, IsEmpty());
}

TEST_F(CheckpointListTest, ByStepWhateverElseIsThere) {
  for (const int64_t step : {100'000'000, 20, 3}) save({.step = step});
  ASSERT_OK(files_.create_directories(at("step-00000099.tmp-a")));
  ASSERT_OK(files_.create_directories(at("step-00000098.removed-a")));
  ASSERT_OK(files_.create_directories(at("other")));
  ASSERT_OK_AND_ASSIGN(const auto listed, list_checkpoints(files_, folder_));
  ASSERT_THAT(listed, SizeIs(3));
  EXPECT_EQ(listed[0].step, 3);
  EXPECT_EQ(listed[2].step, 100'000'000);
  EXPECT_EQ(listed[2].path, at("step-100000000"));
  for (const auto& checkpoint : listed) EXPECT_OK(checkpoint.status);
  ASSERT_OK_AND_ASSIGN(const auto found, newest(Check::kFull));
  ASSERT_THAT(found.chain, SizeIs(1));
  EXPECT_EQ(found.chain[0]->directory(), at("step-100000000"));
}

TEST_F(CheckpointListTest, DamagedOnesAreNamedAndPassedOver) {
  for (const int64_t step : {1, 2, 3, 4, 5}) save({.step = step});
  flip_last_byte("step-00000002/table-items-00001-of-00002.safetensors");
  flip_last_byte("step-00000003/chunks-00000-of-00001.xxh");
  ASSERT_OK(files_.remove(at("step-00000004/manifest.json")));
  ASSERT_OK(remove_recursively(files_, at("step-00000005")));
  ASSERT_EQ(::symlink("step-00000001", at("step-00000005").c_str()), 0);
  ASSERT_OK_AND_ASSIGN(const auto quick, newest(Check::kQuick));
  EXPECT_EQ(quick.chain.back()->directory(), at("step-00000002")) << "quick reads no data";
  ASSERT_OK_AND_ASSIGN(const auto full, newest(Check::kFull));
  EXPECT_EQ(full.chain.back()->directory(), at("step-00000001"));
  ASSERT_THAT(full.damaged, SizeIs(4));
  EXPECT_THAT(full.damaged[0], StatusIs(kDataLoss, HasSubstr("step-00000005 is a symbolic link")));
  EXPECT_THAT(full.damaged[1],
              StatusIs(kDataLoss, HasSubstr("step-00000004 is damaged: it has no")));
  EXPECT_THAT(full.damaged[2],
              StatusIs(kDataLoss, HasSubstr("step-00000003/chunks-00000-of-00001.xxh")));
  EXPECT_THAT(
      full.damaged[3],
      StatusIs(kDataLoss, AllOf(HasSubstr("step-00000002/table-items-00001-of-00002.safetensors"),
                                HasSubstr("between bytes 0 and"))));
}

TEST_F(CheckpointListTest, FilesAreNoCheckpointsWhateverTheirName) {
  save({.step = 1});
  for (const char* name : {"step-00000002", "step-00000003.old-a", "README"}) {
    ASSERT_OK(write_file_atomically(files_, at(name), "mine"));
  }
  ASSERT_OK_AND_ASSIGN(const auto listed, list_checkpoints(files_, folder_));
  ASSERT_THAT(listed, SizeIs(1));
  EXPECT_OK(listed[0].status);
  ASSERT_OK_AND_ASSIGN(const auto found, newest(Check::kQuick));
  EXPECT_THAT(found.damaged, IsEmpty());
}

TEST_F(CheckpointListTest, TheNewestThatCanBeUsed) {
  for (const int64_t step : {1, 2, 3, 4}) save({.step = step});
  ASSERT_OK(files_.remove(at("step-00000004/manifest.json")));
  std::vector<int64_t> tried;
  const auto use = [&](const absl::Status& of_newest) {
    tried.clear();
    return newest_checkpoint(files_, folder_, [&](CheckpointChain chain) {
      tried.push_back(chain.back()->manifest().progress().step());
      return tried.back() == 3 ? of_newest : absl::OkStatus();
    });
  };
  ASSERT_OK_AND_ASSIGN(const auto found, use(absl::DataLossError("a bad number")));
  EXPECT_EQ(found.chain.back()->directory(), at("step-00000002"));
  EXPECT_THAT(tried, testing::ElementsAre(3, 2));
  ASSERT_THAT(found.damaged, SizeIs(2));
  EXPECT_EQ(found.damaged[1].message(), at("step-00000003") + ": a bad number");
  EXPECT_THAT(use(absl::InvalidArgumentError("another model")),
              StatusIs(absl::StatusCode::kInvalidArgument, at("step-00000003") + ": another model"))
      << "no damage, so nothing else is tried";
  EXPECT_THAT(tried, testing::ElementsAre(3));
}

// Neither error indicates damaged content: an older checkpoint instead would be a step back.
TEST_F(CheckpointListTest, ANewerFormatAndADiskThatFailsArePassedOverByNobody) {
  for (const int64_t step : {1, 2}) save({.step = step});
  make_newer("step-00000002");
  for (const Check check : {Check::kQuick, Check::kFull}) {
    EXPECT_THAT(newest(check),
                StatusIs(absl::StatusCode::kUnimplemented,
                         AllOf(HasSubstr(at("step-00000002")), HasSubstr("format version 4"))));
  }
  save({.step = 3});
  EXPECT_OK(newest(Check::kFull)) << "older than what is found";
  int64_t failed = 0;
  for (int64_t n = 0;; ++n) {
    FaultFileSystem faulty(files_);
    faulty.fail(n, int64_t{1} << 40, absl::UnavailableError("injected"));
    const auto found = newest_checkpoint(faulty, folder_, Check::kFull, threads_);
    if (faulty.calls() <= n) break;
    if (found.ok()) {
      EXPECT_EQ(found->chain.back()->directory(), at("step-00000003")) << n;
    } else {
      EXPECT_THAT(found.status(), StatusIs(absl::StatusCode::kUnavailable)) << n;
      ++failed;
    }
  }
  EXPECT_GT(failed, 10);
}

TEST_F(CheckpointListTest, OneSearchForAll) {
  const std::vector<std::string> paths = {"c/3", "c/2", "c/1"};
  const auto search = [&](OnDamage on_damage, std::vector<absl::StatusOr<bool>> results) {
    return search_newest(paths, on_damage, [&](size_t i) { return results[i]; });
  };
  const absl::Status bad = absl::DataLossError("bad"), gone = absl::NotFoundError("no c/2");
  ASSERT_OK_AND_ASSIGN(const NewestSearch last, search(OnDamage::kFallback, {bad, gone, true}));
  EXPECT_EQ(last.found, 2u);
  EXPECT_THAT(last.damaged, testing::ElementsAre(StatusIs(kDataLoss, "c/3: bad"),
                                                 StatusIs(absl::StatusCode::kNotFound, "no c/2")));
  ASSERT_OK_AND_ASSIGN(const NewestSearch other, search(OnDamage::kStrict, {false, true, bad}));
  EXPECT_EQ(other.found, 1u);
  EXPECT_THAT(other.damaged, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const NewestSearch none, search(OnDamage::kFallback, {bad, false, bad}));
  EXPECT_EQ(none.found, std::nullopt);
  EXPECT_THAT(none.damaged, SizeIs(2));
  EXPECT_THAT(search(OnDamage::kStrict, {false, bad, true}), StatusIs(kDataLoss, "c/2: bad"));
  EXPECT_THAT(search(OnDamage::kFallback, {bad, absl::UnavailableError("EIO"), true}),
              StatusIs(absl::StatusCode::kUnavailable, "c/2: EIO"));
}

TEST_F(CheckpointListTest, AManifestIsKnownWhateverElseIsDamaged) {
  save({.step = 1});
  save({.step = 2, .base = base_of(1, 1)});
  save({.step = 3});
  ASSERT_OK(files_.remove(at("step-00000002/dense-00000-of-00001.safetensors")));
  ASSERT_OK(files_.remove(at("step-00000003/manifest.json")));
  ASSERT_OK_AND_ASSIGN(const auto listed, list_checkpoints(files_, folder_));
  EXPECT_EQ(listed[1].reader, nullptr);
  ASSERT_TRUE(listed[1].manifest.has_value());
  EXPECT_EQ(listed[1].manifest->base().step(), 1);
  EXPECT_FALSE(listed[2].manifest.has_value());
}

TEST_F(CheckpointListTest, ARenamedCheckpointIsDamaged) {
  save({.step = 1});
  save({.step = 2});
  ASSERT_OK(files_.rename(at("step-00000001"), at("step-00000003")));
  ASSERT_OK_AND_ASSIGN(const auto found, newest(Check::kQuick));
  EXPECT_EQ(found.chain.back()->directory(), at("step-00000002"));
  EXPECT_THAT(found.damaged[0],
              StatusIs(kDataLoss, HasSubstr("step-00000003 is a checkpoint of step 1")));
}

TEST_F(CheckpointListTest, OneThatWasBeingReplacedCounts) {
  save({.step = 1});
  save({.step = 2});
  ASSERT_OK(files_.rename(at("step-00000002"), at("step-00000002.old-a")));
  ASSERT_OK_AND_ASSIGN(const auto found, newest(Check::kFull));
  EXPECT_EQ(found.chain.back()->directory(), at("step-00000002.old-a"));
  save({.step = 2, .seed = 2});
  ASSERT_OK_AND_ASSIGN(const auto replaced, newest(Check::kFull));
  EXPECT_EQ(replaced.chain.back()->directory(), at("step-00000002"));
}

TEST_F(CheckpointListTest, ChainsOfDeltas) {
  save({.step = 1});
  save({.step = 2, .seed = 2, .base = base_of(1, 1)});
  save({.step = 3, .seed = 3, .base = base_of(2, 2)});
  ASSERT_OK_AND_ASSIGN(const auto chain, open_chain(files_, at("step-00000003")));
  ASSERT_THAT(chain, SizeIs(3));
  EXPECT_EQ(chain[0]->directory(), at("step-00000001"));
  EXPECT_EQ(chain[2]->directory(), at("step-00000003"));
  ASSERT_OK_AND_ASSIGN(const auto found, newest(Check::kFull));
  EXPECT_THAT(found.chain, SizeIs(3));
}

TEST_F(CheckpointListTest, BrokenChainsAreNamed) {
  save({.step = 1});
  save({.step = 2, .seed = 2, .base = base_of(1, 1)});
  save({.step = 3, .seed = 3, .base = base_of(2, 1)});
  EXPECT_THAT(open_chain(files_, at("step-00000003")),
              StatusIs(kDataLoss, HasSubstr("step-00000002 is another checkpoint")))
      << "the depth is wrong";
  flip_last_byte("step-00000001/dense-00000-of-00001.safetensors");
  ASSERT_OK_AND_ASSIGN(const auto damaged, newest(Check::kFull));
  EXPECT_THAT(damaged.chain, IsEmpty()) << "all hang on the first";
  EXPECT_THAT(damaged.damaged, SizeIs(3));
  ASSERT_OK(remove_checkpoint(files_, at("step-00000001")));
  EXPECT_THAT(open_chain(files_, at("step-00000002")),
              StatusIs(kDataLoss,
                       AllOf(HasSubstr("step-00000002 is a delta"), HasSubstr("step-00000001"))));
  save({.step = 1, .seed = 9, .nonce = "n2"});
  EXPECT_THAT(open_chain(files_, at("step-00000002")),
              StatusIs(kDataLoss, HasSubstr("step-00000001 is another checkpoint")));
}

TEST_F(CheckpointListTest, ErrorsOfListingAreReported) {
  save({.step = 1});
  FaultFileSystem faulty(files_);
  faulty.fail(0, 1, absl::UnavailableError("injected"));
  EXPECT_THAT(newest_checkpoint(faulty, folder_, Check::kQuick, threads_),
              StatusIs(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace millrace
