#include "checkpoint/format/chunk_digests.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/hash.h"

namespace millrace {
namespace {

constexpr absl::string_view kMagic = "millrace chunks ";
constexpr absl::string_view kFirstLine = "millrace chunks 1 16777216";
constexpr size_t kMaxNameBytes = 255;

// Parses a number without sign or leading zeros.
std::optional<int64_t> parse_size(absl::string_view text) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || value < 0 || absl::StrCat(value) != text) {
    return std::nullopt;
  }
  return value;
}

// Splits a text into lines.
class Lines {
 public:
  explicit Lines(absl::string_view text) : rest_(text) {}
  bool done() const { return rest_.empty(); }

  // Returns none if no line end follows.
  std::optional<absl::string_view> next() {
    const size_t end = rest_.find('\n');
    if (end == absl::string_view::npos) return std::nullopt;
    const absl::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    ++number_;
    return line;
  }

  absl::Status error(absl::string_view what) const {
    return absl::DataLossError(absl::StrCat("line ", number_, ": ", what));
  }

 private:
  absl::string_view rest_;
  int64_t number_ = 0;
};

absl::Status parse_digests(Lines& lines, FileChunks* file) {
  const int64_t count = chunk_count(file->size_bytes);
  // The vector grows with the lines that exist, not with the stated size.
  for (int64_t i = 0; i < count; ++i) {
    const std::optional<absl::string_view> line = lines.next();
    const std::optional<absl::uint128> digest = line ? parse_digest(*line) : std::nullopt;
    if (!digest) return lines.error(absl::StrCat("no digest of chunk ", i, " of ", file->name));
    file->digests.push_back(*digest);
  }
  return absl::OkStatus();
}

absl::Status check_first_line(std::optional<absl::string_view> line) {
  if (line == kFirstLine) return absl::OkStatus();
  int64_t version = 0;
  absl::string_view rest = line.value_or("");
  if (absl::ConsumePrefix(&rest, kMagic) &&
      absl::SimpleAtoi(rest.substr(0, rest.find(' ')), &version) && version > 1) {
    return absl::UnimplementedError(
        absl::StrCat("a chunks file of version ", version, "; this program knows 1"));
  }
  return absl::DataLossError("line 1: not a chunks file");
}

}  // namespace

int64_t chunk_count(int64_t size_bytes) {
  return size_bytes / kChunkBytes + (size_bytes % kChunkBytes != 0);
}

int64_t chunk_size(int64_t size_bytes, int64_t chunk) {
  return std::min(kChunkBytes, size_bytes - chunk * kChunkBytes);
}

FileChunks chunks_of(absl::string_view name, absl::string_view content) {
  FileChunks file{std::string(name), static_cast<int64_t>(content.size())};
  for (int64_t i = 0; i < chunk_count(file.size_bytes); ++i) {
    file.digests.push_back(xxh3_128(content.substr(i * kChunkBytes, kChunkBytes)));
  }
  return file;
}

absl::uint128 file_digest(absl::Span<const absl::uint128> chunk_digests) {
  Xxh3Stream stream;
  for (const absl::uint128 digest : chunk_digests) stream.update(digest_bytes(digest));
  return stream.digest();
}

bool is_file_name(absl::string_view name) {
  auto may_be = [](char c) { return absl::ascii_isalnum(c) || c == '_' || c == '-' || c == '.'; };
  return !name.empty() && name.size() <= kMaxNameBytes && name[0] != '.' &&
         std::all_of(name.begin(), name.end(), may_be);
}

std::string format_chunks(std::vector<FileChunks> files) {
  std::sort(files.begin(), files.end(),
            [](const FileChunks& a, const FileChunks& b) { return a.name < b.name; });
  std::string text = absl::StrCat(kFirstLine, "\n");
  for (const FileChunks& file : files) {
    absl::StrAppend(&text, file.name, " ", file.size_bytes, "\n");
    for (const absl::uint128 digest : file.digests) {
      absl::StrAppend(&text, format_digest(digest), "\n");
    }
  }
  return text;
}

absl::StatusOr<std::vector<FileChunks>> parse_chunks(absl::string_view text) {
  Lines lines(text);
  absl::Status status = check_first_line(lines.next());
  if (!status.ok()) return status;
  std::vector<FileChunks> files;
  while (!lines.done()) {
    const std::optional<absl::string_view> line = lines.next();
    if (!line) return lines.error("no line end after it");
    const size_t space = line->find(' ');
    if (space == absl::string_view::npos) return lines.error("not a name and a size");
    FileChunks file{std::string(line->substr(0, space))};
    const std::optional<int64_t> size = parse_size(line->substr(space + 1));
    if (!is_file_name(file.name) || !size) {
      return lines.error(absl::StrCat("\"", absl::CHexEscape(*line), "\" is no name and size"));
    }
    // Requires ascending names, which excludes duplicates.
    if (!files.empty() && files.back().name >= file.name) {
      return lines.error(absl::StrCat(file.name, " after ", files.back().name));
    }
    file.size_bytes = *size;
    status = parse_digests(lines, &file);
    if (!status.ok()) return status;
    files.push_back(std::move(file));
  }
  return files;
}

}  // namespace millrace
