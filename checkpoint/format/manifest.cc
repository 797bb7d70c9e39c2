#include "checkpoint/format/manifest.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <map>

#include "absl/numeric/int128.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

namespace json_util = google::protobuf::util;

// The beginning of every manifest: its first field, before the digits of the digest.
constexpr absl::string_view kStart = "{\n \"digest\": \"";
constexpr size_t kDigits = 32;
const char kZeros[kDigits + 1] = "00000000000000000000000000000000";

absl::uint128 digest_with_zeros(absl::string_view text) {
  Xxh3Stream stream;
  stream.update(text.substr(0, kStart.size()));
  stream.update(kZeros);
  stream.update(text.substr(kStart.size() + kDigits));
  return stream.digest();
}

absl::Status check_digest(absl::string_view text) {
  if (!absl::StartsWith(text, kStart) || text.size() < kStart.size() + kDigits) {
    return absl::DataLossError("it does not begin with a digest");
  }
  const absl::string_view stated = text.substr(kStart.size(), kDigits);
  const std::string actual = format_digest(digest_with_zeros(text));
  if (stated == actual) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("its digest is ", actual, ", not what it says"));
}

absl::Status parse_json(absl::string_view text, bool ignore_unknown, CheckpointManifest* manifest) {
  json_util::JsonParseOptions options;
  options.ignore_unknown_fields = ignore_unknown;
  const auto status = json_util::JsonStringToMessage({text.data(), text.size()}, manifest, options);
  if (status.ok()) return absl::OkStatus();
  return absl::DataLossError(std::string(status.message()));
}

// Checks for a newer program's manifest, which may have unknown fields.
absl::Status check_version(absl::string_view text) {
  CheckpointManifest manifest;
  RETURN_IF_ERROR(parse_json(text, /*ignore_unknown=*/true, &manifest));
  if (manifest.format_version() <= kCheckpointFormatVersion) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("format version ", manifest.format_version(), " of ",
                                               manifest.producer(), "; this program knows ",
                                               kCheckpointFormatVersion));
}

std::string content_key(const CheckpointManifest& manifest) {
  CheckpointManifest content;
  *content.mutable_parts() = manifest.parts();
  std::sort(content.mutable_parts()->begin(), content.mutable_parts()->end());
  if (manifest.has_base()) *content.mutable_base() = manifest.base();
  *content.mutable_progress() = manifest.progress();
  content.mutable_progress()->clear_elapsed_seconds();
  content.set_fingerprint(manifest.fingerprint());
  *content.mutable_left_out() = manifest.left_out();
  content.set_finished(manifest.finished());
  *content.mutable_state_digests() = manifest.state_digests();
  *content.mutable_content_digests() = manifest.content_digests();
  std::sort(content.mutable_content_digests()->begin(), content.mutable_content_digests()->end(),
            [](const auto& a, const auto& b) { return a.name() < b.name(); });
  *content.mutable_tables() = manifest.tables();
  std::sort(content.mutable_tables()->begin(), content.mutable_tables()->end(),
            [](const auto& a, const auto& b) { return a.name() < b.name(); });
  return content.SerializeAsString();
}

}  // namespace

absl::StatusOr<std::string> format_manifest(CheckpointManifest manifest) {
  manifest.set_digest(kZeros);
  manifest.set_format_version(kCheckpointFormatVersion);
  std::sort(manifest.mutable_files()->begin(), manifest.mutable_files()->end(),
            [](const auto& a, const auto& b) { return a.name() < b.name(); });
  for (CheckpointManifest::File& file : *manifest.mutable_files()) {
    std::stable_sort(file.mutable_tensors()->begin(), file.mutable_tensors()->end(),
                     [](const auto& a, const auto& b) { return a.offset() < b.offset(); });
  }
  RETURN_IF_ERROR(check_manifest(manifest));
  json_util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = json_util::MessageToJsonString(manifest, &text, options);
  if (!status.ok()) return absl::InvalidArgumentError(std::string(status.message()));
  if (static_cast<int64_t>(text.size()) > kMaxManifestBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the manifest has ", text.size(), " bytes; at most ", kMaxManifestBytes));
  }
  // A text that is not UTF-8 does not survive the conversion.
  CheckpointManifest back;
  if (!parse_json(text, false, &back).ok() ||
      back.SerializeAsString() != manifest.SerializeAsString()) {
    return absl::InvalidArgumentError("a text in the manifest is not UTF-8");
  }
  const absl::uint128 digest = digest_with_zeros(text);
  text.replace(kStart.size(), kDigits, format_digest(digest));
  return text;
}

absl::StatusOr<CheckpointManifest> parse_manifest(absl::string_view text) {
  if (static_cast<int64_t>(text.size()) > kMaxManifestBytes) {
    return absl::DataLossError(absl::StrCat("more than ", kMaxManifestBytes, " bytes"));
  }
  RETURN_IF_ERROR(check_digest(text));
  CheckpointManifest manifest;
  const absl::Status parsed = parse_json(text, /*ignore_unknown=*/false, &manifest);
  if (!parsed.ok() || manifest.format_version() > kCheckpointFormatVersion) {
    RETURN_IF_ERROR(check_version(text));
  }
  RETURN_IF_ERROR(parsed);
  const absl::Status checked = check_manifest(manifest);
  if (!checked.ok()) return absl::DataLossError(checked.message());
  return manifest;
}

bool equal_content(const CheckpointManifest& a, const CheckpointManifest& b) {
  return content_key(a) == content_key(b);
}

bool has_part(const CheckpointManifest& manifest, CheckpointManifest::Part part) {
  return std::find(manifest.parts().begin(), manifest.parts().end(), part) !=
         manifest.parts().end();
}

int64_t total_bytes(const CheckpointManifest& manifest) {
  int64_t bytes = 0;
  for (const CheckpointManifest::File& file : manifest.files()) bytes += file.size();
  return bytes;
}

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
