#include "io/data_identity.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/path/path_check.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

constexpr int64_t kEndBytes = 64 << 10;
constexpr int64_t kPieceBytes = 1 << 20;  // bytes per read

absl::StatusOr<DataIdentity::File> file_identity(FileSystem& files, const std::string& path,
                                                 int64_t whole_bytes) {
  RETURN_IF_ERROR(check_rereadable(files, path));
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files.open(path));
  const int64_t size = file->size_bytes();
  const int64_t covered = size <= whole_bytes ? size : std::min(size, kEndBytes);
  std::string piece(static_cast<size_t>(std::min(covered, kPieceBytes)), '\0');
  Xxh3Stream digest;
  for (int64_t left = covered; left > 0;) {
    const int64_t bytes = std::min(left, kPieceBytes);
    ASSIGN_OR_RETURN(const int64_t read, file->read_at(size - left, bytes, piece.data()));
    if (read != bytes) return absl::DataLossError(absl::StrCat(path, " became shorter"));
    digest.update(absl::string_view(piece.data(), bytes));
    left -= bytes;
  }
  DataIdentity::File identity;
  identity.set_name(base_name(path));
  identity.set_size(size);
  identity.set_end_digest(format_digest(digest.digest()));
  return identity;
}

// Describes the difference of one file, if any.
std::optional<std::string> difference(int index, const DataIdentity::File& before,
                                      const DataIdentity::File& now) {
  if (before.name() != now.name()) {
    return absl::StrCat("file ", index + 1, " is ", now.name(), ", not ", before.name());
  }
  if (before.has_size() != now.has_size()) {
    return absl::StrCat(now.name(), now.has_size() ? " is there, and was missing" : " is missing");
  }
  if (before.size() != now.size()) {
    return absl::StrCat(now.name(), " has ", now.size(), " bytes, not ", before.size());
  }
  if (before.end_digest() != now.end_digest()) {
    return absl::StrCat(now.name(), " ends with other bytes");
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<DataIdentity> data_identity(FileSystem& files, const std::vector<std::string>& paths,
                                           bool may_be_missing, int64_t whole_bytes) {
  DataIdentity identity;
  for (const std::string& path : paths) {
    absl::StatusOr<DataIdentity::File> file = file_identity(files, path, whole_bytes);
    if (may_be_missing && absl::IsNotFound(file.status())) {
      identity.add_file()->set_name(base_name(path));
      continue;
    }
    RETURN_IF_ERROR(file.status());
    *identity.add_file() = *std::move(file);
  }
  return identity;
}

std::vector<std::string> data_differences(const DataIdentity& before, const DataIdentity& now,
                                          size_t limit) {
  std::vector<std::string> lines;
  if (before.file_size() == 0 || now.file_size() == 0) return lines;
  size_t more = 0;
  const auto add = [&](std::string line) {
    if (lines.size() < limit) {
      lines.push_back(std::move(line));
    } else {
      ++more;
    }
  };
  if (before.file_size() != now.file_size()) {
    const int files = now.file_size();
    add(absl::StrCat(files == 1 ? "there is 1 file" : absl::StrCat("there are ", files, " files"),
                     ", not ", before.file_size()));
  }
  for (int i = 0; i < std::min(before.file_size(), now.file_size()); ++i) {
    std::optional<std::string> line = difference(i, before.file(i), now.file(i));
    if (line.has_value()) add(*std::move(line));
  }
  if (more > 0) lines.push_back(absl::StrCat("and ", more, " more"));
  return lines;
}

}  // namespace millrace
