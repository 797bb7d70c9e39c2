#include "checkpoint/format/manifest.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

namespace json = google::protobuf::util;

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
  json::JsonParseOptions options;
  options.ignore_unknown_fields = ignore_unknown;
  const auto status = json::JsonStringToMessage({text.data(), text.size()}, manifest, options);
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
  json::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = json::MessageToJsonString(manifest, &text, options);
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

}  // namespace millrace
