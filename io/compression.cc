#include "io/compression.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace millrace {
namespace {

struct Compression {
  absl::string_view name;
  absl::string_view magic;  // the first bytes
  absl::string_view command;
};

constexpr Compression kCompressions[] = {
    {"gzip", "\x1f\x8b\x08", "gzip -d"},
    {"zstd", "\x28\xb5\x2f\xfd", "zstd -d"},
    {"zip", "PK\x03\x04", "unzip"},
    {"xz", {"\xfd\x37zXZ\0", 6}, "xz -d"},
};

const Compression* find_compression(absl::string_view head) {
  for (const Compression& compression : kCompressions) {
    if (absl::StartsWith(head, compression.magic)) return &compression;
  }
  // The size of blocks, then the digits of pi, with which every block begins.
  static constexpr Compression kBzip2 = {"bzip2", "BZh", "bzip2 -d"};
  const bool is_bzip2 = absl::StartsWith(head, kBzip2.magic) && head.substr(4, 6) == "1AY&SY";
  return is_bzip2 ? &kBzip2 : nullptr;
}

}  // namespace

absl::string_view compression_of(absl::string_view head) {
  const Compression* const compression = find_compression(head);
  return compression == nullptr ? "" : compression->name;
}

absl::Status check_not_compressed(absl::string_view head) {
  const Compression* const compression = find_compression(head);
  if (compression == nullptr) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the file is compressed with ", compression->name,
                                          "; unpack it, such as by `", compression->command, "`"));
}

}  // namespace millrace
