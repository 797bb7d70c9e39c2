#include "checkpoint/folder/kept_files.h"

#include <cstring>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

using File = CheckpointManifest::File;

std::map<std::string, std::string> content_digests(const CheckpointManifest& manifest) {
  std::map<std::string, std::string> digests;
  for (const auto& content : manifest.content_digests()) {
    digests[content.name()] = content.digest();
  }
  return digests;
}

// Returns the name of the content digest that covers a file's data, or "" for a file without data.
std::string content_name(const File& file) {
  if (file.kind() == CheckpointManifest::DENSE_FILE) return "dense";
  return file.kind() == CheckpointManifest::TABLE_FILE ? absl::StrCat("table/", file.table()) : "";
}

}  // namespace

absl::StatusOr<std::unique_ptr<KeptFiles>> KeptFiles::open(FileSystem& files,
                                                           const std::string& directory) {
  ASSIGN_OR_RETURN(std::unique_ptr<CheckpointReader> reader,
                   CheckpointReader::open(files, directory));
  std::unique_ptr<KeptFiles> kept(new KeptFiles(std::move(reader)));
  for (const File& file : kept->reader_->manifest().files()) {
    if (file.kind() != CheckpointManifest::CHUNKS_FILE) continue;
    ASSIGN_OR_RETURN(const std::string text, kept->reader_->read_all(file, file.size()));
    ASSIGN_OR_RETURN(std::vector<FileChunks> listed, parse_chunks(text), file.name());
    for (FileChunks& chunks : listed) {
      std::string name = chunks.name;
      kept->chunks_[std::move(name)] = std::move(chunks);
    }
  }
  return kept;
}

std::optional<FileChunks> KeptFiles::match(const std::string& name, int64_t size_bytes,
                                           const Fill& fill, ThreadPool& threads) const {
  const auto chunks = chunks_.find(name);
  if (chunks == chunks_.end() || chunks->second.size_bytes != size_bytes) return std::nullopt;
  File file;
  file.set_name(name);
  const auto opened = reader_->open_file(file);
  if (!opened.ok()) return std::nullopt;
  const absl::Status same = (*opened)->read_pieces(
      [&](int64_t offset, absl::Span<const char> bytes) -> absl::Status {
        const std::unique_ptr<char[]> expected(new char[bytes.size()]);
        RETURN_IF_ERROR(fill(offset, absl::MakeSpan(expected.get(), bytes.size())));
        if (std::memcmp(expected.get(), bytes.data(), bytes.size()) == 0) return absl::OkStatus();
        return absl::CancelledError("the bytes differ");
      },
      threads);
  if (!same.ok()) return std::nullopt;
  return chunks->second;
}

int64_t KeptFiles::expected_bytes(const CheckpointManifest& content) const {
  const CheckpointManifest& manifest = reader_->manifest();
  const bool alike = manifest.world_size() == content.world_size() &&
                     manifest.base().SerializeAsString() == content.base().SerializeAsString();
  if (!alike) return 0;
  const auto here = content_digests(manifest), there = content_digests(content);
  int64_t bytes = 0;
  for (const File& file : manifest.files()) {
    const auto digest = here.find(content_name(file));
    const auto other = there.find(content_name(file));
    if (digest == here.end() || other == there.end()) continue;
    if (digest->second == other->second) bytes += file.size();
  }
  return bytes;
}

}  // namespace millrace
