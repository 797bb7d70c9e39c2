#include "io/file_reader.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/parts/part_registry.h"
#include "base/path/path_check.h"
#include "base/status_macros.h"
#include "io/file_start.h"
#include "io/partition_columns.h"
#include "proto/config_variables.h"

namespace millrace {
namespace {

// Formats by name, as `custom_format` names them. The formats of DataConfig.format have fields.
MILLRACE_PART_FAMILY(file_format, PartRegistry<FileOpener>, "file format",
                     "custom_format { name: \"NAME\" }");

struct KnownFormat {
  std::string name;
  std::string place;  // of its registration
  FileFormat format;
};

std::vector<KnownFormat>& formats() {
  static auto* const formats = new std::vector<KnownFormat>;
  return *formats;
}

// Returns the length of the longest extension of the format that `name` ends with; 0: none.
size_t matched_length(const FileFormat& format, absl::string_view name) {
  size_t longest = 0;
  for (const std::string& extension : format.extensions) {
    if (absl::EndsWith(name, extension)) longest = std::max(longest, extension.size());
  }
  return longest;
}

// Returns the formats of DataConfig.format or, for AUTO, the formats with the longest extension of
// `path`.
std::vector<const KnownFormat*> find_formats(const std::string& path, const DataConfig& config) {
  const std::string name = absl::AsciiStrToLower(path);
  std::vector<const KnownFormat*> found;
  size_t longest = 1;
  for (const KnownFormat& known : formats()) {
    if (config.format() != DataConfig::AUTO) {
      if (known.format.format == config.format()) found.push_back(&known);
    } else if (const size_t length = matched_length(known.format, name); length >= longest) {
      if (length > longest) found.clear();
      longest = length;
      found.push_back(&known);
    }
  }
  return found;
}

absl::Status ambiguous(const std::string& path, absl::Span<const KnownFormat* const> found) {
  const auto append_place = [](std::string* out, const KnownFormat* known) {
    absl::StrAppend(out, known->name, " (", known->place, ")");
  };
  return absl::InvalidArgumentError(
      absl::StrCat("cannot read ", path,
                   ": more than one file format fits: ", absl::StrJoin(found, ", ", append_place),
                   "; link one of them, or set custom_format if their names differ"));
}

// Returns what compressed the file, as compression_of() does; "" if it cannot be read.
absl::string_view compression_of_file(FileSystem& files, const std::string& path) {
  const absl::StatusOr<std::unique_ptr<ReadableFile>> file = files.open(path);
  char head[kCompressionBytes];
  if (!file.ok()) return "";
  const int64_t wanted = std::min(kCompressionBytes, (*file)->size_bytes());
  return compression_of({head, static_cast<size_t>((*file)->read_at(0, wanted, head).value_or(0))});
}

absl::Status unknown_format(FileSystem& files, const std::string& path, DataConfig::Format format) {
  if (format != DataConfig::AUTO) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read ", path, ": no reader for ", DataConfig::Format_Name(format),
                     " is linked in; add //:dataset to the dependencies of this program"));
  }
  if (const absl::string_view compression = compression_of_file(files, path);
      !compression.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is compressed with ", compression, "; unpack it",
                     compression == "gzip" ? ", or set `format: TFRECORD` if it holds records, "
                                             "which are read compressed"
                                           : ""));
  }
  std::vector<std::string> extensions;
  for (const auto& [name, place, known] : formats()) {
    extensions.insert(extensions.end(), known.extensions.begin(), known.extensions.end());
  }
  std::sort(extensions.begin(), extensions.end());
  return absl::InvalidArgumentError(
      absl::StrCat("cannot tell the format of ", path, " by its extension (known: ",
                   absl::StrJoin(extensions, " "), "); set `format` in the data's configuration"));
}

// A file with columns for the directories of its path.
class PartitionedReader : public FileReader {
 public:
  using FileReader::read;
  PartitionedReader(std::unique_ptr<FileReader> file, std::vector<Partition> partitions)
      : file_(std::move(file)), partitions_(std::move(partitions)), columns_(file_->columns()) {
    for (const Partition& partition : partitions_) {
      FileColumn& column = columns_.emplace_back();
      column.name = partition.name;
      column.type = ValueType::kText;
      column.supported = !partition.is_ambiguous;
      column.type_name = partition.is_ambiguous
                             ? absl::StrCat("partition of several values, ", partition.directory)
                             : "partition";
      column.is_partition = true;
    }
  }

  const std::string& path() const override { return file_->path(); }
  const std::vector<FileColumn>& columns() const override { return columns_; }
  const std::vector<int64_t>& group_rows() const override { return file_->group_rows(); }
  std::shared_ptr<const FileLayout> layout() const override { return file_->layout(); }

  absl::StatusOr<std::vector<Column>> read(const RowRange& range,
                                           absl::Span<const ColumnRequest> requests,
                                           BadRows& bad) override {
    const auto own_columns = static_cast<int64_t>(file_->columns().size());
    // The path has the values of partitions; the file does not contain these columns.
    std::vector<ColumnRequest> own;
    for (const ColumnRequest& request : requests) {
      if (request.column < own_columns) own.push_back(request);
    }
    std::vector<Column> read;
    if (!own.empty()) {
      ASSIGN_OR_RETURN(read, file_->read(range, own, bad));
    }
    std::vector<Column> columns(requests.size());
    auto next = read.begin();
    for (size_t i = 0; i < requests.size(); ++i) {
      if (requests[i].column < own_columns) {
        columns[i] = std::move(*next++);
        continue;
      }
      columns[i].type = read_type(requests[i].as);
      const absl::Status status =
          append_partition(partitions_[requests[i].column - own_columns], range.count, &columns[i]);
      if (!status.ok()) RETURN_IF_ERROR(bad.add_all(annotate(status, path())));
    }
    has_read_file_ = !own.empty();
    return columns;
  }
  absl::Span<const int64_t> row_lines() const override {
    return has_read_file_ ? file_->row_lines() : absl::Span<const int64_t>();
  }
  absl::string_view line_name() const override { return file_->line_name(); }

 private:
  const std::unique_ptr<FileReader> file_;
  const std::vector<Partition> partitions_;
  std::vector<FileColumn> columns_;  // those of file_, then one for each partition
  bool has_read_file_ = false;       // by the last read(): not of partitions alone
};

absl::StatusOr<std::unique_ptr<FileReader>> open_by_format(
    FileSystem& files, const std::string& path, const DataConfig& config,
    std::shared_ptr<const FileLayout> layout) {
  if (config.has_custom_format()) {
    DataConfig resolved = config;
    RETURN_IF_ERROR(resolve_secrets("custom_format", resolved.mutable_custom_format()));
    return file_format_registry().create(config.custom_format().name(), files, path, resolved,
                                         std::move(layout));
  }
  const std::vector<const KnownFormat*> found = find_formats(path, config);
  if (found.empty()) return unknown_format(files, path, config.format());
  if (found.size() > 1) return ambiguous(path, found);
  const auto& [name, place, format] = *found.front();
  if (format.format == DataConfig::AUTO) {
    return file_format_registry().create(name, files, path, config, std::move(layout));
  }
  return format.open(files, path, config, std::move(layout));
}

}  // namespace

ValueType read_type(ValueType as) { return as == ValueType::kText ? ValueType::kString : as; }

bool register_file_format(absl::string_view name, absl::string_view description, FileFormat format,
                          std::source_location place) {
  if (format.format != DataConfig::AUTO) {
    file_format_registry().add_field(
        name, absl::StrCat("format: ", DataConfig::Format_Name(format.format)),
        [text = std::string(description)] { return text; });
  } else {
    file_format_registry().add(name, description, format.open, place);
  }
  formats().push_back({.name = std::string(name),
                       .place = absl::StrCat(place.file_name(), ":", place.line()),
                       .format = std::move(format)});
  return true;
}

std::optional<DataConfig::Format> format_of_extension(const std::string& path) {
  const std::vector<const KnownFormat*> found = find_formats(path, DataConfig());
  if (found.size() != 1) return std::nullopt;
  return found[0]->format.format;
}

absl::StatusOr<std::unique_ptr<FileReader>> open_file(FileSystem& files, const std::string& path,
                                                      const DataConfig& config,
                                                      std::shared_ptr<const FileLayout> layout) {
  ASSIGN_OR_RETURN(const FileInfo info, files.info(path));
  if (info.is_directory) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is a directory; name the files in it, such as ", join_path(path, "*.orc")));
  }
  RETURN_IF_ERROR(check_rereadable(path, info));
  ASSIGN_OR_RETURN(std::unique_ptr<FileReader> file,
                   open_by_format(files, path, config, std::move(layout)));
  std::vector<Partition> partitions = partitions_of(path);
  if (partitions.empty()) return file;
  std::vector<std::string> names;
  for (const FileColumn& column : file->columns()) names.push_back(column.name);
  partitions = partition_columns(std::move(partitions), names);
  if (partitions.empty()) return file;
  return std::make_unique<PartitionedReader>(std::move(file), std::move(partitions));
}

}  // namespace millrace
