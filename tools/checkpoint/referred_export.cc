#include "tools/checkpoint/referred_export.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/path/path_check.h"
#include "base/status_macros.h"
#include "checkpoint/folder/file_identity.h"

namespace millrace {
namespace {

using ReferredFile = CheckpointManifest::ReferredFile;

constexpr char kFolder[] = "referred_files";
constexpr char kIndex[] = "referred_files.json";
constexpr int64_t kPieceBytes = 1 << 20;  // that is copied at once
constexpr char kHowToGoOn[] = " (put it back, or leave such files out with --no_referred_files)";

absl::Status of_source(const absl::Status& status, const std::string& path) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("the checkpoint refers to ", path, ": ",
                                                  status.message(), kHowToGoOn));
}

absl::Status changed(const ReferredFile& referred, absl::string_view now) {
  return of_source(absl::FailedPreconditionError(
                       absl::StrCat("it is not what it was: ", now, "; then ", referred.size(),
                                    " bytes, digest ", referred.digest())),
                   referred.path());
}

// Checks that a file may be opened. Somebody else may have written the manifest: its path must
// neither block the export nor choose what is read with the credentials of this user.
absl::Status check_source(FileSystem& sources, const ReferredFile& referred) {
  if (is_uri(referred.path())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the checkpoint refers to ", referred.path(),
                     ", and an export fetches no URI that a checkpoint names: copy that file "
                     "yourself, and leave such files out with --no_referred_files"));
  }
  const absl::StatusOr<FileInfo> info = sources.info(referred.path());
  RETURN_IF_ERROR(of_source(info.status(), referred.path()));
  RETURN_IF_ERROR(of_source(check_rereadable(referred.path(), *info), referred.path()));
  if (info->is_directory || info->size_bytes == referred.size()) return absl::OkStatus();
  return changed(referred, absl::StrCat(info->size_bytes, " bytes"));
}

absl::Status copy(FileSystem& sources, const std::string& from, FileSystem& files,
                  const std::string& to) {
  const auto source = sources.open(from);
  RETURN_IF_ERROR(of_source(source.status(), from));
  const int64_t size = (*source)->size_bytes();
  return write_file_atomically(files, to, [&](WritableFile& file) -> absl::Status {
    std::string piece(std::min(kPieceBytes, size), '\0');
    for (int64_t at = 0; at < size;) {
      const auto count = (*source)->read_at(at, piece.size(), piece.data());
      RETURN_IF_ERROR(of_source(count.status(), from));
      if (*count == 0) return absl::OkStatus();  // the digest will differ
      RETURN_IF_ERROR(file.append(absl::string_view(piece).substr(0, *count)));
      at += *count;
    }
    return absl::OkStatus();
  });
}

absl::Status copy_checked(FileSystem& sources, const ReferredFile& referred, FileSystem& files,
                          const std::string& to) {
  RETURN_IF_ERROR(check_source(sources, referred));
  RETURN_IF_ERROR(copy(sources, referred.path(), files, to));
  ASSIGN_OR_RETURN(const FileIdentity copied, identify_file(files, to));
  if (copied == FileIdentity{referred.size(), referred.digest()}) return absl::OkStatus();
  return changed(referred, absl::StrCat(copied.size_bytes, " bytes, digest ", copied.digest));
}

// Returns a name that is not in `taken` yet.
std::string new_name(const std::string& path, std::set<std::string>* taken) {
  std::string name = base_name(path);
  for (int number = 1; !taken->insert(name).second; ++number) {
    name = absl::StrCat(number, "-", base_name(path));
  }
  return name;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> export_referred_files(FileSystem& sources,
                                                               const CheckpointManifest& manifest,
                                                               FileSystem& files,
                                                               const std::string& directory) {
  std::vector<std::string> written;
  if (manifest.referred_files().empty()) return written;
  const std::string folder = join_path(directory, kFolder);
  RETURN_IF_ERROR(files.create_directories(folder));
  nlohmann::ordered_json index = nlohmann::ordered_json::array();
  std::set<std::string> taken;
  for (const ReferredFile& referred : manifest.referred_files()) {
    const std::string name = new_name(referred.path(), &taken);
    RETURN_IF_ERROR(copy_checked(sources, referred, files, join_path(folder, name)));
    written.push_back(join_path(folder, name));
    index.push_back({{"file", join_path(kFolder, name)},
                     {"path", referred.path()},
                     {"size", referred.size()},
                     {"digest", referred.digest()},
                     {"used_by", std::vector<std::string>(referred.used_by().begin(),
                                                          referred.used_by().end())}});
  }
  written.push_back(join_path(directory, kIndex));
  RETURN_IF_ERROR(write_file_atomically(files, written.back(), index.dump(2) + "\n"));
  return written;
}

}  // namespace millrace
