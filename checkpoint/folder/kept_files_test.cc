#include "checkpoint/folder/kept_files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/memory_file_system_testing.h"
#include "base/status_matchers.h"
#include "base/thread_pool.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/testing/small_checkpoint_testing.h"

namespace millrace {
namespace {

constexpr char kPath[] = "c/step-00000001";
constexpr char kDense[] = "dense-00000-of-00001.safetensors";

class KeptFilesTest : public testing::Test {
 protected:
  KeptFilesTest() {
    EXPECT_OK(write_small_checkpoint(files_, "c", {}).status());
    content_ = *read_file(files_, path(kDense));
  }
  static std::string path(const std::string& name) { return join_path(kPath, name); }
  // Returns true if the dense file is kept for these bytes.
  bool matches(const std::string& bytes) {
    const auto kept = KeptFiles::open(files_, kPath);
    EXPECT_OK(kept.status());
    const auto fill = [&](int64_t offset, absl::Span<char> to) {
      std::copy_n(bytes.begin() + offset, to.size(), to.begin());
      return absl::OkStatus();
    };
    const auto chunks = (*kept)->match(kDense, bytes.size(), fill, threads_);
    if (!chunks.has_value()) return false;
    EXPECT_EQ(*chunks, chunks_of(kDense, bytes));
    return true;
  }
  CheckpointManifest manifest() { return *CheckpointReader::read_manifest(files_, kPath); }

  MemoryFileSystem files_;
  ThreadPool threads_{2};
  std::string content_;
};

TEST_F(KeptFilesTest, ExactlyTheseBytes) {
  EXPECT_TRUE(matches(content_));
  std::string other = content_;
  other.back() ^= 1;
  EXPECT_FALSE(matches(other));
  EXPECT_FALSE(matches(content_ + "x"));
  EXPECT_FALSE(matches(""));
}

TEST_F(KeptFilesTest, DamagedFilesMatchNothing) {
  std::string damaged = content_;
  damaged[damaged.size() / 2] ^= 1;
  files_.put(path(kDense), damaged);
  EXPECT_FALSE(matches(content_));
  EXPECT_FALSE(matches(damaged)) << "the digest is that of other bytes";
}

TEST_F(KeptFilesTest, AFailingSourceAndUnknownNamesMatchNothing) {
  ASSERT_OK_AND_ASSIGN(const auto kept, KeptFiles::open(files_, kPath));
  const auto fails = [](int64_t, absl::Span<char>) { return absl::DataLossError("no bytes"); };
  EXPECT_FALSE(kept->match(kDense, content_.size(), fails, threads_).has_value());
  EXPECT_FALSE(kept->match("dense", content_.size(), fails, threads_).has_value());
}

TEST_F(KeptFilesTest, WhatIsNoCheckpointIsAnError) {
  EXPECT_FALSE(KeptFiles::open(files_, "c/step-00000002").ok());
  ASSERT_OK(files_.remove(path(kDense)));
  EXPECT_THAT(KeptFiles::open(files_, kPath), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(KeptFilesTest, ExpectsFilesOfEqualContent) {
  ASSERT_OK_AND_ASSIGN(const auto kept, KeptFiles::open(files_, kPath));
  const int64_t dense = content_.size();
  int64_t all = 0;
  CheckpointManifest content = manifest();
  for (const auto& file : content.files()) {
    if (file.tensors_size() > 0) all += file.size();
  }
  content.clear_files();
  content.set_finished(true);
  EXPECT_EQ(kept->expected_bytes(content), all);
  for (auto& digest : *content.mutable_content_digests()) {
    if (digest.name() == "table/items") digest.set_digest(std::string(32, '0'));
  }
  EXPECT_EQ(kept->expected_bytes(content), dense);
  content.set_world_size(2);
  EXPECT_EQ(kept->expected_bytes(content), 0);
  content = manifest();
  content.mutable_base()->set_step(0);
  EXPECT_EQ(kept->expected_bytes(content), 0);
}

}  // namespace
}  // namespace millrace
