#include "checkpoint/folder/referred_files.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/hash.h"
#include "base/lines/line_text.h"
#include "base/path/path_check.h"
#include "base/status_macros.h"
#include "checkpoint/format/chunk_digests.h"
#include "io/transform/transform_registry.h"

namespace millrace {
namespace {

constexpr int64_t kPieceBytes = 1 << 20;  // bytes per read

}  // namespace

absl::StatusOr<FileIdentity> identify_file(FileSystem& files, const std::string& path) {
  RETURN_IF_ERROR(check_rereadable(files, path));
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files.open(path));
  const int64_t size = file->size_bytes();
  std::string piece(std::min(kPieceBytes, size), '\0');
  std::vector<absl::uint128> digests;
  for (int64_t chunk = 0, at = 0; chunk < chunk_count(size); ++chunk) {
    Xxh3Stream digest;
    for (const int64_t end = at + chunk_size(size, chunk); at < end;) {
      const int64_t due = std::min<int64_t>(piece.size(), end - at);
      ASSIGN_OR_RETURN(const int64_t count, file->read_at(at, due, piece.data()));
      if (count == 0) return absl::AbortedError(absl::StrCat(path, " became shorter"));
      digest.update(absl::string_view(piece).substr(0, count));
      at += count;
    }
    digests.push_back(digest.digest());
  }
  return FileIdentity{size, format_digest(file_digest(digests))};
}

namespace {

using ReferredFile = CheckpointManifest::ReferredFile;

std::string difference(const ReferredFile& before, const ReferredFile& now,
                       const std::vector<std::string>& users) {
  const std::string moved =
      before.path() == now.path() ? "" : absl::StrCat(" (which was ", before.path(), ")");
  return absl::StrCat(now.path(), moved, " for ", absl::StrJoin(users, ", "), ": ", now.size(),
                      " bytes, digest ", now.digest(), "; then ", before.size(), " bytes, digest ",
                      before.digest());
}

}  // namespace

absl::StatusOr<ReferredFile> refer_to(const std::string& path, const FileIdentity& identity,
                                      const std::vector<std::string>& used_by) {
  ReferredFile file;
  file.set_path(absolute_path(path));
  std::string quoted;
  if (!json_string(file.path(), &quoted)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the path \"", absl::CHexEscape(file.path()),
                     "\" is not UTF-8, so that no checkpoint can name it; rename it"));
  }
  file.set_size(identity.size_bytes);
  file.set_digest(identity.digest);
  file.mutable_used_by()->Add(used_by.begin(), used_by.end());
  return file;
}

absl::StatusOr<std::map<std::string, std::vector<std::string>>> files_of_transforms(
    const TrainConfig& train) {
  std::map<std::string, std::vector<std::string>> users;
  for (const FeatureConfig& feature : train.feature()) {
    for (int k = 0; k < feature.transform_size(); ++k) {
      const std::string user = absl::StrCat("feature/", feature.name(), "/transform/", k);
      ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                       files_of_transform(feature.transform(k)), user);
      for (size_t i = 0; i < paths.size(); ++i) {
        users[paths[i]].push_back(i == 0 ? user : absl::StrCat(user, "/file/", i));
      }
    }
  }
  return users;
}

absl::StatusOr<std::vector<ReferredFile>> find_vocabularies(const TrainConfig& train,
                                                            FileSystem& files) {
  ASSIGN_OR_RETURN(const auto users, files_of_transforms(train));
  std::vector<ReferredFile> found;
  for (const auto& [path, used_by] : users) {
    ASSIGN_OR_RETURN(const FileIdentity identity, identify_file(files, path));
    ASSIGN_OR_RETURN(ReferredFile file, refer_to(path, identity, used_by));
    found.push_back(std::move(file));
  }
  return found;
}

void add_referred_files(const std::vector<ReferredFile>& files, CheckpointManifest* manifest) {
  std::map<std::string, ReferredFile> by_path;
  for (const ReferredFile& file : manifest->referred_files()) by_path[file.path()] = file;
  for (const ReferredFile& file : files) {
    const auto [place, first] = by_path.try_emplace(file.path(), file);
    if (!first) place->second.mutable_used_by()->MergeFrom(file.used_by());
  }
  manifest->clear_referred_files();
  for (auto& [path, file] : by_path) *manifest->add_referred_files() = std::move(file);
}

absl::Status check_vocabularies(const CheckpointManifest& manifest,
                                const std::vector<ReferredFile>& now) {
  std::map<std::string, const ReferredFile*> users;
  for (const ReferredFile& file : now) {
    for (const std::string& user : file.used_by()) users[user] = &file;
  }
  std::vector<std::string> lines;
  for (const ReferredFile& before : manifest.referred_files()) {
    std::map<const ReferredFile*, std::vector<std::string>> changed;
    for (const std::string& user : before.used_by()) {
      const auto found = users.find(user);
      if (found == users.end() || found->second->digest() == before.digest()) continue;
      changed[found->second].push_back(user);
    }
    for (const auto& [file, of] : changed) lines.push_back(difference(before, *file, of));
  }
  if (lines.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("a vocabulary, or another file of a transform, is not what it was, so that "
                   "values would mean something else (put it back, or begin anew in another "
                   "output_dir): ",
                   absl::StrJoin(lines, "; ")));
}

}  // namespace millrace
