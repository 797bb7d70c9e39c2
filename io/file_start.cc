#include "io/file_start.h"

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr absl::string_view kByteOrderMark = "\xef\xbb\xbf";

bool ends_lines_with_carriage_returns(absl::string_view head) {
  if (absl::StrContains(head, '\n')) return false;
  bool in_quotes = false, is_behind = false;  // a carriage return
  for (const char c : head) {
    if (c == '"') in_quotes = !in_quotes;
    if (is_behind && c != '\r') return true;
    is_behind = c == '\r' && !in_quotes;
  }
  return false;
}

// Moves `start` behind a line "sep=;".
void skip_separator_line(absl::string_view head, TextStart* start) {
  const size_t feed = head.find('\n', start->begin);
  if (feed == absl::string_view::npos) return;
  absl::string_view line = head.substr(start->begin, feed - start->begin);
  absl::ConsumeSuffix(&line, "\r");
  if (absl::StartsWith(line, "\"") && absl::EndsWith(line, "\"") && line.size() > 2) {
    line = line.substr(1, line.size() - 2);
  }
  if (line.size() != 5 || !absl::StartsWithIgnoreCase(line, "sep=")) return;
  start->separator = line[4];
  start->begin = static_cast<int64_t>(feed) + 1;
  ++start->line;
}

}  // namespace

bool is_utf16(absl::string_view head) {
  return absl::StartsWith(head, "\xff\xfe") || absl::StartsWith(head, "\xfe\xff");
}

absl::StatusOr<TextStart> find_text_start(absl::string_view head, bool separator_line) {
  RETURN_IF_ERROR(check_not_compressed(head));
  if (is_utf16(head)) {
    return absl::DataLossError(
        "the text is UTF-16, as its byte order mark says; convert it to UTF-8, such as by `iconv "
        "-f UTF-16 -t UTF-8`");
  }
  if (ends_lines_with_carriage_returns(head)) {
    return absl::DataLossError(
        "line 1: lines end with carriage returns alone; convert them to line feeds, such as by "
        "`tr '\\r' '\\n'`");
  }
  TextStart start;
  if (absl::StartsWith(head, kByteOrderMark)) start.begin = kByteOrderMark.size();
  if (separator_line) skip_separator_line(head, &start);
  return start;
}

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
