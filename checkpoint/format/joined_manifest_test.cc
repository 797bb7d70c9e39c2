#include "checkpoint/format/joined_manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/hash.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

using ::testing::HasSubstr;

// Returns the manifest of rank `rank`, with 10 + rank rows of a table.
CheckpointManifest part(int rank) {
  CheckpointManifest manifest;
  manifest.mutable_progress()->set_step(7);
  manifest.mutable_progress()->set_elapsed_seconds(rank);
  manifest.add_state_digests(format_digest(100 + rank));
  if (rank == 0) {
    auto* dense = manifest.add_content_digests();
    dense->set_name("dense");
    dense->set_digest(format_digest(5));
  }
  auto* digest = manifest.add_content_digests();
  digest->set_name("table/a");
  digest->set_digest(format_digest(~absl::uint128(0) - rank));
  CheckpointManifest::Table* table = manifest.add_tables();
  table->set_name("a");
  table->set_rows(10 + rank);
  table->set_applied_steps(7);
  table->set_evicted_log_begins(rank == 1 ? 4 : 2);
  table->set_state_digest(format_digest(1000 + rank));
  manifest.add_files()->set_rank(rank);
  return manifest;
}

absl::StatusOr<CheckpointManifest> joined(
    int ranks, const std::function<void(CheckpointManifest&)>& spoil_last = nullptr) {
  std::vector<std::string> texts;
  for (int rank = 0; rank < ranks; ++rank) {
    CheckpointManifest manifest = part(rank);
    if (rank == ranks - 1 && spoil_last != nullptr) spoil_last(manifest);
    texts.push_back(manifest.SerializeAsString());
  }
  return joined_manifest(texts);
}

TEST(JoinedManifestTest, RowsAndDigestsOfTablesAreSums) {
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest manifest, joined(3));
  const CheckpointManifest::Table& table = manifest.tables(0);
  EXPECT_EQ(table.rows(), 10 + 11 + 12);
  EXPECT_EQ(table.applied_steps(), 7);
  EXPECT_EQ(table.evicted_log_begins(), 4) << "the largest";
  EXPECT_EQ(table.state_digest(), format_digest(1000 + 1001 + 1002));
  ASSERT_EQ(manifest.content_digests_size(), 2);
  EXPECT_EQ(manifest.content_digests(0).digest(), format_digest(5)) << "rank 0 has it alone";
  EXPECT_EQ(manifest.content_digests(1).digest(), format_digest(~absl::uint128(0) - 5))
      << "modulo 2^128";
  EXPECT_EQ(manifest.progress().elapsed_seconds(), 0) << "of rank 0";
  ASSERT_EQ(manifest.files_size(), 3);
  ASSERT_EQ(manifest.state_digests_size(), 3);
  EXPECT_EQ(manifest.files(2).rank(), 2);
  EXPECT_EQ(manifest.state_digests(2), format_digest(102));
}

TEST(JoinedManifestTest, OmittedRowsAreSums) {
  std::vector<std::string> texts;
  for (const int omitted : {0, 3, 4}) {
    CheckpointManifest manifest = part(static_cast<int>(texts.size()));
    if (omitted > 0) manifest.mutable_tables(0)->set_omitted_rows(omitted);
    texts.push_back(manifest.SerializeAsString());
  }
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest manifest, joined_manifest(texts));
  EXPECT_EQ(manifest.tables(0).omitted_rows(), 7);
  EXPECT_EQ(manifest.tables(0).rows(), 10 + 11 + 12);
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest without, joined(3));
  EXPECT_FALSE(without.tables(0).has_omitted_rows());
}

TEST(JoinedManifestTest, OneRankIsAsItWas) {
  ASSERT_OK_AND_ASSIGN(const CheckpointManifest manifest, joined(1));
  EXPECT_EQ(manifest.SerializeAsString(), part(0).SerializeAsString());
}

TEST(JoinedManifestTest, RanksThatDisagreeAreNamed) {
  for (const auto& spoil : std::vector<std::function<void(CheckpointManifest&)>>{
           [](auto& m) { m.mutable_progress()->set_step(8); },
           [](auto& m) { m.mutable_tables(0)->set_name("b"); },
           [](auto& m) { m.mutable_tables(0)->set_dim(4); },
           [](auto& m) { m.mutable_tables(0)->set_applied_steps(6); },
           [](auto& m) { m.add_tables()->set_name("z"); }, [](auto& m) { m.add_left_out("x"); },
           [](auto& m) { m.mutable_base()->set_step(1); },
           [](auto& m) { m.add_parts(CheckpointManifest::ROWS); },
           [](auto& m) { m.mutable_tables(0)->set_state_digest("x"); },
           [](auto& m) { m.mutable_content_digests(0)->set_name("table/b"); }}) {
    EXPECT_THAT(joined(3, spoil), StatusIs(absl::StatusCode::kInternal, HasSubstr("rank 2")));
  }
  EXPECT_THAT(joined_manifest({part(0).SerializeAsString(), "\xff"}),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("rank 1")));
}

}  // namespace
}  // namespace millrace
