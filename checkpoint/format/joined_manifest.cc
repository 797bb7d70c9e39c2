#include "checkpoint/format/joined_manifest.h"

#include <algorithm>
#include <map>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

using Table = CheckpointManifest::Table;

// Returns the fields that must be equal on all ranks.
std::string shared_part(const CheckpointManifest& manifest) {
  CheckpointManifest shared = manifest;
  shared.clear_files();
  shared.clear_state_digests();
  shared.clear_content_digests();
  shared.clear_finished();
  shared.mutable_progress()->clear_elapsed_seconds();
  shared.clear_referred_files();
  shared.clear_best();
  shared.clear_train_columns();
  for (Table& table : *shared.mutable_tables()) {
    table.clear_rows();
    table.clear_omitted_rows();
    table.clear_evicted_log_begins();
    table.clear_state_digest();
  }
  return shared.SerializeAsString();
}

absl::StatusOr<std::string> sum_of_digests(absl::string_view a, absl::string_view b) {
  const auto first = parse_digest(a), second = parse_digest(b);
  if (!first || !second) return absl::InternalError("a digest is damaged");
  return format_digest(*first + *second);
}

absl::Status add_table(const Table& other, Table* table) {
  table->set_rows(table->rows() + other.rows());
  if (other.omitted_rows() > 0) {
    table->set_omitted_rows(table->omitted_rows() + other.omitted_rows());
  }
  if (other.has_evicted_log_begins()) {
    table->set_evicted_log_begins(
        std::max(table->evicted_log_begins(), other.evicted_log_begins()));
  }
  if (!other.has_state_digest()) return absl::OkStatus();
  ASSIGN_OR_RETURN(*table->mutable_state_digest(),
                   sum_of_digests(table->state_digest(), other.state_digest()));
  return absl::OkStatus();
}

// Adds the manifest of one rank. REQUIRES: shared_part() of both are equal.
absl::Status add(CheckpointManifest other, CheckpointManifest* manifest) {
  manifest->mutable_files()->MergeFrom(other.files());
  manifest->mutable_state_digests()->MergeFrom(other.state_digests());
  for (int t = 0; t < manifest->tables_size(); ++t) {
    RETURN_IF_ERROR(add_table(other.tables(t), manifest->mutable_tables(t)));
  }
  std::map<std::string, CheckpointManifest::ContentDigest*> digests;
  for (auto& digest : *manifest->mutable_content_digests()) digests[digest.name()] = &digest;
  for (const auto& digest : other.content_digests()) {
    const auto found = digests.find(digest.name());
    if (found == digests.end()) {
      return absl::InternalError(absl::StrCat("it alone has ", digest.name()));
    }
    ASSIGN_OR_RETURN(*found->second->mutable_digest(),
                     sum_of_digests(found->second->digest(), digest.digest()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CheckpointManifest> joined_manifest(const std::vector<std::string>& parts) {
  CheckpointManifest manifest;
  for (size_t rank = 0; rank < parts.size(); ++rank) {
    CheckpointManifest part;
    if (!part.ParseFromString(parts[rank])) {
      return absl::InternalError(absl::StrCat("rank ", rank, " sent a bad manifest"));
    }
    if (rank == 0) {
      manifest = std::move(part);
      continue;
    }
    if (shared_part(part) != shared_part(manifest)) {
      return absl::InternalError(absl::StrCat(
          "rank ", rank, " would save another step, other tables or other parts than rank 0"));
    }
    RETURN_IF_ERROR(add(std::move(part), &manifest), absl::StrCat("rank ", rank));
  }
  return manifest;
}

}  // namespace millrace
