#include "checkpoint/folder/model_only.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/fault_file_system_testing.h"
#include "base/hash.h"
#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "checkpoint/folder/checkpoint_list.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/folder/content_digests.h"
#include "checkpoint/format/manifest.h"
#include "checkpoint/testing/small_checkpoint_testing.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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
