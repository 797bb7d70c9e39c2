#include "checkpoint/testing/table_files_testing.h"

#include <cstring>

#include "base/status_macros.h"
#include "checkpoint/folder/commit_directory.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/manifest.h"

namespace millrace {
namespace {

constexpr char kPrefix[] = "table/items/";

absl::Status commit(CommitDirectory& directory, CheckpointManifest manifest, ThreadPool& threads) {
  ASSIGN_OR_RETURN(const auto entries, directory.finish_files(threads));
  manifest.clear_files();
  for (const CheckpointManifest::File& file : entries) *manifest.add_files() = file;
  return directory.commit(std::move(manifest), threads).status();
}

absl::Status write(FileSystem& files, const std::string& folder, int64_t step,
                   const std::vector<const EmbeddingTable*>& shards,
                   const TableWriterOptions& options,
                   const std::optional<CheckpointManifest::Base>& base, int threads) {
  ThreadPool pool(threads);
  ASSIGN_OR_RETURN(const auto directory,
                   CommitDirectory::begin(files, {folder, step, new_nonce(), 0, 1}));
  std::vector<std::string> parts;
  for (const EmbeddingTable* shard : shards) {
    ASSIGN_OR_RETURN(TableWriter writer,
                     TableWriter::create(shard->content().view(), options, pool));
    RETURN_IF_ERROR(writer.write(*directory, pool));
    CheckpointManifest part;
    part.mutable_progress()->set_step(step);
    part.add_parts(CheckpointManifest::ROWS);
    if (options.row_state) part.add_parts(CheckpointManifest::ROW_STATE);
    if (options.table_state) part.add_parts(CheckpointManifest::TABLE_STATE);
    if (base.has_value()) *part.mutable_base() = *base;
    *part.add_tables() = writer.entry();
    parts.push_back(part.SerializeAsString());
  }
  ASSIGN_OR_RETURN(CheckpointManifest manifest, joined_manifest(parts));
  return commit(*directory, std::move(manifest), pool);
}

}  // namespace

absl::Status write_table(FileSystem& files, const std::string& folder, int64_t step,
                         const EmbeddingTable& table, const TableWriterOptions& options,
                         std::optional<CheckpointManifest::Base> base, int threads) {
  return write(files, folder, step, {&table}, options, base, threads);
}

absl::Status write_shards(FileSystem& files, const std::string& folder, int64_t step,
                          const std::vector<std::unique_ptr<EmbeddingTable>>& shards,
                          const TableWriterOptions& options,
                          std::optional<CheckpointManifest::Base> base) {
  std::vector<const EmbeddingTable*> tables;
  for (const auto& shard : shards) tables.push_back(shard.get());
  return write(files, folder, step, tables, options, base, /*threads=*/1);
}

absl::StatusOr<std::vector<FileTensors>> read_table_files(const CheckpointReader& checkpoint) {
  ThreadPool threads(1);
  std::vector<FileTensors> all;
  for (const CheckpointManifest::File& file : checkpoint.manifest().files()) {
    if (file.kind() != CheckpointManifest::TABLE_FILE) continue;
    ASSIGN_OR_RETURN(const TensorFileLayout layout, checkpoint.layout(file));
    FileTensors& content = all.emplace_back();
    for (const TensorInfo& tensor : layout.tensors()) {
      content[tensor.name.substr(sizeof(kPrefix) - 1)] = {tensor.type, tensor.shape,
                                                          std::string(tensor.size_bytes(), '\0')};
    }
    RETURN_IF_ERROR(checkpoint.read_tensors(
        file,
        [&](const TensorInfo& tensor, int64_t begin, absl::Span<const char> bytes) {
          std::string& to = content[tensor.name.substr(sizeof(kPrefix) - 1)].bytes;
          std::memcpy(to.data() + begin, bytes.data(), bytes.size());
          return absl::OkStatus();
        },
        threads));
  }
  return all;
}

absl::Status write_table_files(FileSystem& files, const std::string& folder,
                               CheckpointManifest like, const std::vector<FileTensors>& content) {
  ThreadPool threads(1);
  ASSIGN_OR_RETURN(
      const auto directory,
      CommitDirectory::begin(files, {folder, like.progress().step(), new_nonce(), 0, 1}));
  auto next = content.begin();
  for (const CheckpointManifest::File& file : like.files()) {
    if (file.kind() != CheckpointManifest::TABLE_FILE) continue;
    const FileTensors& of_file = *next++;
    std::vector<TensorInfo> infos;
    for (const auto& [name, tensor] : of_file) {
      infos.push_back({kPrefix + name, tensor.type, tensor.shape});
    }
    ASSIGN_OR_RETURN(const TensorFileLayout layout,
                     TensorFileLayout::create(infos, {{kFormatKey, kCheckpointFormat}}));
    RETURN_IF_ERROR(directory->write_tensors(
        file, layout,
        [&](const TensorInfo& tensor, int64_t begin, absl::Span<char> bytes) {
          const std::string& from = of_file.at(tensor.name.substr(sizeof(kPrefix) - 1)).bytes;
          std::memcpy(bytes.data(), from.data() + begin, bytes.size());
          return absl::OkStatus();
        },
        threads));
  }
  return commit(*directory, std::move(like), threads);
}

}  // namespace millrace
