#include "checkpoint/folder/checkpoint_reader.h"

#include <set>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/status_macros.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/manifest.h"

namespace millrace {
namespace {

using File = CheckpointManifest::File;

constexpr int64_t kMaxChunksFileBytes = int64_t{1} << 30;

// Returns true if the header and the manifest list the same tensors.
bool same_tensors(const TensorFileLayout& layout, const File& file) {
  if (static_cast<int>(layout.tensors().size()) != file.tensors_size()) return false;
  for (int i = 0; i < file.tensors_size(); ++i) {
    const TensorInfo& tensor = layout.tensors()[i];
    const CheckpointManifest::Tensor& stated = file.tensors(i);
    const std::vector<int64_t> shape(stated.shape().begin(), stated.shape().end());
    if (tensor.name != stated.name() || tensor_type_name(tensor.type) != stated.dtype() ||
        tensor.shape != shape || layout.data_begin() + tensor.begin != stated.offset()) {
      return false;
    }
  }
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CheckpointReader>> CheckpointReader::open(
    FileSystem& files, const std::string& directory) {
  ASSIGN_OR_RETURN(const FileInfo info, files.link_info(directory));
  if (info.kind == FileKind::kSymbolicLink) {
    return absl::DataLossError(absl::StrCat(directory, " is a symbolic link, not a checkpoint"));
  }
  if (info.kind != FileKind::kDirectory) {
    return absl::DataLossError(absl::StrCat(directory, " is no directory, so no checkpoint"));
  }
  std::unique_ptr<CheckpointReader> reader(new CheckpointReader(files, directory));
  ASSIGN_OR_RETURN(reader->manifest_, read_manifest(files, directory));
  RETURN_IF_ERROR(reader->check_entries());
  RETURN_IF_ERROR(reader->read_chunks());
  return reader;
}

absl::StatusOr<CheckpointManifest> CheckpointReader::read_manifest(FileSystem& files,
                                                                   const std::string& directory) {
  const std::string path = join_path(directory, kManifestName);
  const absl::StatusOr<std::string> text = read_regular_file(files, path, kMaxManifestBytes);
  if (absl::IsNotFound(text.status())) {
    const auto name = parse_checkpoint_name(base_name(directory));
    if (name) {
      return absl::DataLossError(absl::StrCat(directory, " is damaged: it has no ", kManifestName));
    }
    return absl::NotFoundError(
        absl::StrCat(directory, " is not a checkpoint: it has no ", kManifestName));
  }
  RETURN_IF_ERROR(text.status());
  ASSIGN_OR_RETURN(CheckpointManifest manifest, parse_manifest(*text), path);
  return manifest;
}

absl::Status CheckpointReader::check_entries() const {
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> entries, files_.list(directory_));
  std::set<std::string> there;
  for (const DirectoryEntry& entry : entries) {
    // Hidden files of the system, such as .nfs0001 and .DS_Store, are in any folder.
    if (!absl::StartsWith(entry.name, ".")) there.insert(entry.name);
  }
  there.erase(kManifestName);
  for (const File& file : manifest_.files()) {
    if (there.erase(file.name()) == 0) {
      return absl::DataLossError(absl::StrCat(path(file), " is missing"));
    }
    ASSIGN_OR_RETURN(const FileInfo info, files_.link_info(path(file)));
    if (info.kind != FileKind::kRegular) {
      return absl::DataLossError(absl::StrCat(path(file), " is not a regular file"));
    }
    if (info.size_bytes != file.size()) {
      return absl::DataLossError(absl::StrCat(path(file), " has ", info.size_bytes, " bytes; ",
                                              file.size(), " were written"));
    }
  }
  if (there.empty()) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(join_path(directory_, *there.begin()),
                                          " does not belong to the checkpoint: ", kManifestName,
                                          " does not name it"));
}

absl::Status CheckpointReader::read_chunks() {
  std::map<int, std::string> names;  // of chunks files, by rank
  for (const File& file : manifest_.files()) {
    if (file.kind() != CheckpointManifest::CHUNKS_FILE) continue;
    ASSIGN_OR_RETURN(const std::string text,
                     read_regular_file(files_, path(file), kMaxChunksFileBytes));
    FileChunks own = chunks_of(file.name(), text);
    if (format_digest(file_digest(own.digests)) != file.digest()) {
      return absl::DataLossError(absl::StrCat(path(file), " is damaged: its digest is another"));
    }
    chunks_[file.name()] = std::move(own);
    names[file.rank()] = file.name();
    ASSIGN_OR_RETURN(std::vector<FileChunks> listed, parse_chunks(text), path(file));
    for (FileChunks& chunks : listed) {
      std::string name = chunks.name;
      if (!chunks_.emplace(name, std::move(chunks)).second) {
        return absl::DataLossError(absl::StrCat(path(file), " has ", name, " a second time"));
      }
    }
  }
  for (const File& file : manifest_.files()) {
    const auto chunks = chunks_.find(file.name());
    if (chunks == chunks_.end() || chunks->second.size_bytes != file.size() ||
        format_digest(file_digest(chunks->second.digests)) != file.digest()) {
      return absl::DataLossError(absl::StrCat(join_path(directory_, names[file.rank()]),
                                              " lacks the digests of ", file.name(),
                                              ", or has others than ", kManifestName));
    }
  }
  if (chunks_.size() == static_cast<size_t>(manifest_.files_size())) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(directory_, ": chunks files have digests of files that are not there"));
}

absl::StatusOr<std::unique_ptr<ChunkedFile>> CheckpointReader::open_file(const File& file) const {
  const auto chunks = chunks_.find(file.name());
  if (chunks == chunks_.end()) {
    return absl::NotFoundError(absl::StrCat(directory_, " has no file ", file.name()));
  }
  return ChunkedFile::open(files_, path(file), chunks->second, buffers_);
}

absl::StatusOr<TensorFileLayout> CheckpointReader::layout(const File& file) const {
  ASSIGN_OR_RETURN(const std::unique_ptr<ChunkedFile> opened, open_file(file));
  return layout(file, *opened);
}

// Reads the header without its chunks: a reader of all data reads the chunks anyway. After an error
// the chunks' digests show if the header is damaged or was written so.
absl::StatusOr<TensorFileLayout> CheckpointReader::layout(const File& file,
                                                          const ChunkedFile& opened) const {
  auto read = [&](bool checked) -> absl::StatusOr<TensorFileLayout> {
    auto read_bytes = [&](absl::Span<char> bytes) {
      return checked ? opened.read(0, bytes) : opened.read_unchecked(0, bytes);
    };
    std::string start(std::min<int64_t>(8, opened.size_bytes()), '\0');
    RETURN_IF_ERROR(read_bytes(absl::MakeSpan(start)));
    ASSIGN_OR_RETURN(const int64_t size, safetensors_start_bytes(start, opened.size_bytes()),
                     opened.path());
    start.resize(size);
    RETURN_IF_ERROR(read_bytes(absl::MakeSpan(start)));
    ASSIGN_OR_RETURN(TensorFileLayout layout, TensorFileLayout::parse(start, opened.size_bytes()),
                     opened.path());
    if (same_tensors(layout, file)) return layout;
    return absl::DataLossError(
        absl::StrCat(opened.path(), ": the header says other tensors than ", kManifestName));
  };
  absl::StatusOr<TensorFileLayout> layout = read(/*checked=*/false);
  if (layout.ok()) return layout;
  return read(/*checked=*/true);
}

absl::Status CheckpointReader::read_tensors(const File& file, const TensorFileLayout::Take& take,
                                            ThreadPool& threads) const {
  ASSIGN_OR_RETURN(const std::unique_ptr<ChunkedFile> opened, open_file(file));
  ASSIGN_OR_RETURN(const TensorFileLayout tensors, layout(file, *opened));
  return opened->read_all(
      [&](int64_t offset, absl::Span<const char> bytes) {
        const absl::Status status = tensors.take(offset, bytes, take);
        return status.ok() ? status : annotate(status, opened->path());
      },
      threads);
}

absl::StatusOr<std::string> CheckpointReader::read_all(const File& file,
                                                       int64_t limit_bytes) const {
  if (file.size() > limit_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        path(file), " has ", file.size(), " bytes; at most ", limit_bytes, " are allowed"));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<ChunkedFile> opened, open_file(file));
  std::string content(file.size(), '\0');
  RETURN_IF_ERROR(opened->read(0, absl::MakeSpan(content)));
  return content;
}

absl::Status CheckpointReader::verify(ThreadPool& threads) const {
  const auto nothing = [](int64_t, absl::Span<const char>) { return absl::OkStatus(); };
  for (const File& file : manifest_.files()) {
    ASSIGN_OR_RETURN(const std::unique_ptr<ChunkedFile> opened, open_file(file));
    RETURN_IF_ERROR(opened->read_pieces(nothing, threads));
    const bool has_tensors = file.kind() == CheckpointManifest::DENSE_FILE ||
                             file.kind() == CheckpointManifest::TABLE_FILE;
    if (has_tensors) RETURN_IF_ERROR(layout(file, *opened).status());
  }
  return absl::OkStatus();
}

}  // namespace millrace
