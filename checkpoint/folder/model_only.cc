#include "checkpoint/folder/model_only.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "checkpoint/folder/checkpoint_reader.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/folder/content_digests.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/manifest.h"

namespace millrace {
namespace {

using File = CheckpointManifest::File;

// Space for the manifest and for the file system's own records.
constexpr int64_t kMetadataBytes = 1 << 20;

bool is_kept(const File& file, absl::string_view tensor) {
  if (file.kind() == CheckpointManifest::DENSE_FILE) {
    return is_of_model(tensor);
  }
  const std::string prefix = absl::StrCat("table/", file.table(), "/");
  return tensor == prefix + "ids" || tensor == prefix + "weights";
}

// Returns the layout of a file's kept tensors.
absl::StatusOr<TensorFileLayout> kept_layout(const TensorFileLayout& whole, const File& file) {
  std::vector<TensorInfo> tensors;
  for (const TensorInfo& tensor : whole.tensors()) {
    if (is_kept(file, tensor.name)) tensors.push_back(tensor);
  }
  return TensorFileLayout::create(std::move(tensors), whole.metadata());
}

absl::Status copy_file(const CheckpointReader& from, const File& file, CommitDirectory& to,
                       ThreadPool& threads) {
  ASSIGN_OR_RETURN(const auto source, from.open_file(file));
  ASSIGN_OR_RETURN(const TensorFileLayout whole, from.layout(file));
  ASSIGN_OR_RETURN(const TensorFileLayout kept, kept_layout(whole, file));
  std::map<std::string, int64_t> places;  // in the source
  for (const TensorInfo& tensor : whole.tensors()) {
    places[tensor.name] = whole.data_begin() + tensor.begin;
  }
  return to.write_tensors(
      file, kept,
      [&](const TensorInfo& tensor, int64_t begin, absl::Span<char> bytes) {
        return source->read(places.at(tensor.name) + begin, bytes);
      },
      threads);
}

// Writes the files of one rank. Returns their entries.
absl::StatusOr<std::vector<File>> copy_rank(const CheckpointReader& from, int rank,
                                            CommitDirectory& to, ThreadPool& threads) {
  for (const File& file : from.manifest().files()) {
    const bool has_tensors = file.kind() == CheckpointManifest::DENSE_FILE ||
                             file.kind() == CheckpointManifest::TABLE_FILE;
    if (file.rank() == rank && has_tensors) {
      RETURN_IF_ERROR(copy_file(from, file, to, threads));
    }
  }
  return to.finish_files(threads);
}

CheckpointManifest kept_manifest(const CheckpointManifest& whole) {
  CheckpointManifest kept = whole;
  kept.clear_files();
  kept.clear_state_digests();
  kept.clear_parts();
  for (const auto part : {CheckpointManifest::DENSE, CheckpointManifest::ROWS}) {
    if (has_part(whole, part)) kept.add_parts(part);
  }
  for (CheckpointManifest::Table& table : *kept.mutable_tables()) {
    table.clear_slots();
    table.clear_state_digest();
  }
  return kept;
}

// Replaces all content digests by the digests of the model, since the content of the other digests
// is no longer part of the checkpoint.
absl::Status set_content_digests(const CheckpointReader& from, CheckpointManifest* kept,
                                 ThreadPool& threads) {
  ASSIGN_OR_RETURN(const auto digests, compute_content_digests(from, DigestOf::kModel, threads));
  kept->clear_content_digests();
  for (const auto& [name, digest] : digests) {
    CheckpointManifest::ContentDigest* content = kept->add_content_digests();
    content->set_name(name);
    content->set_digest(format_digest(digest));
  }
  return absl::OkStatus();
}

// Returns an upper bound of the bytes to write.
int64_t kept_bytes(const CheckpointManifest& whole) {
  int64_t bytes = kMetadataBytes;
  for (const File& file : whole.files()) {
    if (file.kind() == CheckpointManifest::CHUNKS_FILE) bytes += file.size();
    if (file.tensors_size() > 0) bytes += file.tensors(0).offset();
    for (int i = 0; i < file.tensors_size(); ++i) {
      const bool last = i + 1 == file.tensors_size();
      const int64_t end = last ? file.size() : file.tensors(i + 1).offset();
      if (is_kept(file, file.tensors(i).name())) bytes += end - file.tensors(i).offset();
    }
  }
  return bytes;
}

}  // namespace

bool has_training_state(const CheckpointManifest& manifest) {
  return std::any_of(manifest.parts().begin(), manifest.parts().end(), [](int part) {
    return part != CheckpointManifest::DENSE && part != CheckpointManifest::ROWS;
  });
}

absl::Status make_model_only(FileSystem& files, const std::string& path, ThreadPool& threads,
                             const std::string& token) {
  ASSIGN_OR_RETURN(const auto reader, CheckpointReader::open(files, path));
  const CheckpointManifest& whole = reader->manifest();
  if (!has_training_state(whole)) return absl::OkStatus();
  const std::string folder = directory_of(path);
  RETURN_IF_ERROR(check_free_space(files, folder, kept_bytes(whole)));
  CheckpointManifest kept = kept_manifest(whole);
  RETURN_IF_ERROR(set_content_digests(*reader, &kept, threads));
  const std::string nonce = new_nonce();
  std::vector<std::unique_ptr<CommitDirectory>> writers;
  for (int rank = 0; rank < whole.world_size(); ++rank) {
    ASSIGN_OR_RETURN(auto writer, CommitDirectory::begin(
                                      files, {folder, whole.progress().step(), nonce, rank,
                                              whole.world_size(), /*keep_files=*/false, token}));
    writers.push_back(std::move(writer));
    ASSIGN_OR_RETURN(const std::vector<File> entries,
                     copy_rank(*reader, rank, *writers[rank], threads));
    for (const File& file : entries) *kept.add_files() = file;
  }
  return writers[0]->commit(std::move(kept), threads).status();
}

}  // namespace millrace
