#include "tools/checkpoint/checkpoint_export.h"

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "base/path/path_check.h"
#include "base/status_macros.h"
#include "checkpoint/folder/outside_checkpoints.h"
#include "checkpoint/folder/referred_files.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/format/safetensors_file.h"
#include "job/output_place.h"
#include "tools/checkpoint/table_parquet.h"
#include "tools/output/output_file.h"

namespace millrace {
namespace {

using Chain = absl::Span<const std::unique_ptr<CheckpointReader>>;

std::string without_slash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

absl::StatusOr<bool> exists(FileSystem& files, const std::string& path) {
  const absl::Status status = files.link_info(path).status();
  if (absl::IsNotFound(status)) return false;
  RETURN_IF_ERROR(status);
  return true;
}

absl::Status check_output(FileSystem& files, const std::string& output) {
  RETURN_IF_ERROR(check_output_place(files, output));
  ASSIGN_OR_RETURN(const bool there, exists(files, output));
  if (there) {
    return absl::PermissionDeniedError(
        absl::StrCat(output, " is there already; choose another name or remove it"));
  }
  if (parse_checkpoint_name(base_name(output))) {
    return absl::InvalidArgumentError(absl::StrCat(
        "cannot write ", output, ": it would pass for a checkpoint; choose another name"));
  }
  return check_outside_checkpoints(files, output);
}

class Exporter {
 public:
  Exporter(FileSystem& files, const CheckpointContent& content, const ExportOptions& options)
      : files_(files), content_(content), options_(options), chain_(content.chain()) {
    if (options.delta) chain_ = chain_.subspan(chain_.size() - 1);
    metadata_[kFormatKey] = options.delta ? "export delta 1" : "export 1";
    metadata_["millrace.step"] = absl::StrCat(content.manifest().progress().step());
    if (options.delta) {
      metadata_["millrace.base_step"] = absl::StrCat(content.manifest().base().step());
    }
  }

  absl::Status write_all(const std::string& directory) {
    RETURN_IF_ERROR(write_dense(join_path(directory, "dense.safetensors")));
    const bool parquet = options_.format == ExportFormat::kParquet;
    for (const auto& table : content_.manifest().tables()) {
      if (table_columns(content_.manifest(), table.name()).empty()) continue;
      const std::string name =
          absl::StrCat("table-", table.name(), parquet ? ".parquet" : ".safetensors");
      RETURN_IF_ERROR(write_table(table.name(), join_path(directory, name)));
    }
    return absl::OkStatus();
  }

  absl::Status copy_referred(const std::string& directory) {
    FileSystem& sources = options_.sources != nullptr ? *options_.sources : files_;
    ASSIGN_OR_RETURN(const std::vector<std::string> paths,
                     export_referred_files(sources, content_.manifest(), files_, directory));
    for (const std::string& path : paths) written_.push_back({path});
    return absl::OkStatus();
  }

  absl::Status write_table(const std::string& table, const std::string& path) {
    RETURN_IF_ERROR(find_columns(content_.manifest(), table, {}).status(), content_.directory());
    std::vector<std::string> columns;
    for (const TableColumn& column : table_columns(content_.manifest(), table)) {
      if (!absl::StartsWith(column.name, "slot/")) columns.push_back(column.name);
    }
    std::vector<int64_t> tombstones;
    if (options_.delta) {
      ASSIGN_OR_RETURN(tombstones, read_tombstones(*chain_.back(), table));
    }
    written_.push_back({path, count_rows(table), static_cast<int64_t>(tombstones.size())});
    return options_.format == ExportFormat::kParquet
               ? write_parquet(table, columns, std::move(tombstones), path)
               : write_tensors(table, columns, tombstones, path);
  }

  std::vector<ExportedFile> written() && { return std::move(written_); }

 private:
  int64_t count_rows(const std::string& table) const {
    if (options_.delta) return held_rows(content_.manifest(), table);
    for (const auto& entry : content_.manifest().tables()) {
      if (entry.name() == table) return entry.rows();
    }
    return 0;
  }

  absl::Status write_dense(const std::string& path) {
    std::vector<TensorSource> sources;
    for (const TensorInfo& tensor : content_.dense_tensors()) {
      if (absl::StartsWith(tensor.name, kOptimizerPrefix)) continue;
      const auto content = [this, name = tensor.name](const TensorSource::Append& append) {
        const absl::StatusOr<std::string> bytes = content_.read(name);
        return bytes.ok() ? append(*bytes) : bytes.status();
      };
      sources.push_back({tensor.name, tensor.type, tensor.shape, content});
    }
    written_.push_back({path});
    return write_safetensors(files_, path, sources, metadata_);
  }

  // Each tensor needs a separate scan, since tensors are written one after the other.
  absl::Status write_column(const std::string& table, const std::string& column,
                            const TensorSource::Append& append) const {
    const bool is_ids = column == "ids";
    ASSIGN_OR_RETURN(const auto scan, TableScan::open(chain_, table,
                                                      is_ids ? std::vector<std::string>{}
                                                             : std::vector<std::string>{column}));
    for (RowBlock block;;) {
      RETURN_IF_ERROR(scan->next(&block));
      if (block.rows() == 0) return absl::OkStatus();
      RETURN_IF_ERROR(is_ids ? append(bytes_of(block.ids)) : append(block.columns[0]));
    }
  }

  static absl::string_view bytes_of(const std::vector<int64_t>& ids) {
    return {reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(int64_t)};
  }

  absl::Status write_tensors(const std::string& table, const std::vector<std::string>& columns,
                             const std::vector<int64_t>& tombstones, const std::string& path) {
    const int64_t rows = count_rows(table);
    const std::string prefix = absl::StrCat("table/", table, "/");
    std::vector<TensorSource> sources;
    const auto add = [&](const std::string& name, TensorType type, std::vector<int64_t> shape) {
      sources.push_back({prefix + name, type, std::move(shape),
                         [this, &table, name](const TensorSource::Append& append) {
                           return write_column(table, name, append);
                         }});
    };
    ASSIGN_OR_RETURN(const std::vector<TableColumn> found,
                     find_columns(content_.manifest(), table, columns));
    add("ids", TensorType::kI64, {rows});
    for (const TableColumn& column : found) add(column.name, column.type, column.shape(rows));
    if (options_.delta) {
      sources.push_back(
          {prefix + "tombstones",
           TensorType::kI64,
           {static_cast<int64_t>(tombstones.size())},
           [&](const TensorSource::Append& append) { return append(bytes_of(tombstones)); }});
    }
    return write_safetensors(files_, path, sources, metadata_);
  }

  absl::Status write_parquet(const std::string& table, const std::vector<std::string>& columns,
                             std::vector<int64_t> tombstones, const std::string& path) {
    ASSIGN_OR_RETURN(const auto scan, TableScan::open(chain_, table, columns));
    TableParquetOptions parquet;
    if (options_.delta) parquet.removed = std::move(tombstones);
    parquet.metadata = metadata_;
    return write_file_atomically(files_, path, [&](WritableFile& file) {
      return write_table_parquet(file, *scan, parquet);
    });
  }

  FileSystem& files_;
  const CheckpointContent& content_;
  const ExportOptions& options_;
  Chain chain_;
  std::map<std::string, std::string> metadata_;
  std::vector<ExportedFile> written_;
};

absl::StatusOr<std::vector<ExportedFile>> export_directory(FileSystem& files,
                                                           const CheckpointContent& content,
                                                           const ExportOptions& options,
                                                           const std::string& output) {
  Exporter exporter(files, content, options);
  size_t aside_bytes = 0;  // of the directory's name before it is `output`
  RETURN_IF_ERROR(write_output_directory(files, output, [&](const std::string& aside) {
    aside_bytes = aside.size();
    // First, since these files may no longer exist.
    if (options.referred_files && !options.delta) RETURN_IF_ERROR(exporter.copy_referred(aside));
    return exporter.write_all(aside);
  }));
  std::vector<ExportedFile> written = std::move(exporter).written();
  for (ExportedFile& file : written) {
    file.path = join_path(output, file.path.substr(aside_bytes + 1));
  }
  return written;
}

}  // namespace

absl::StatusOr<ExportFormat> parse_export_format(absl::string_view name) {
  if (name == "safetensors") return ExportFormat::kSafetensors;
  if (name == "parquet") return ExportFormat::kParquet;
  return absl::InvalidArgumentError(
      absl::StrCat("there is no format \"", name, "\"; known: safetensors, parquet"));
}

absl::StatusOr<std::vector<ExportedFile>> export_checkpoint(FileSystem& files,
                                                            const CheckpointContent& content,
                                                            const ExportOptions& options) {
  if (options.delta && !content.manifest().has_base()) {
    return absl::InvalidArgumentError(
        absl::StrCat(content.directory(), " is no delta; leave --delta out"));
  }
  const std::string output = without_slash(options.output);
  RETURN_IF_ERROR(check_output(files, output));
  if (options.table.empty()) return export_directory(files, content, options, output);
  Exporter exporter(files, content, options);
  RETURN_IF_ERROR(
      with_output_lock(files, output, [&] { return exporter.write_table(options.table, output); }));
  return std::move(exporter).written();
}

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
  // The index is written last, so that it names only complete files.
  written.push_back(join_path(directory, kIndex));
  RETURN_IF_ERROR(write_file_atomically(files, written.back(), index.dump(2) + "\n"));
  return written;
}

}  // namespace millrace
