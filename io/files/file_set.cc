#include "io/files/file_set.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "io/files/glob.h"
#include "io/format/csv_config.h"

namespace millrace {
namespace {

// Returns the index of `name` among the file's columns.
absl::StatusOr<int64_t> find_column(const FileReader& reader, const std::string& name) {
  int64_t found = -1;
  const std::vector<FileColumn>& columns = reader.columns();
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name != name) continue;
    if (found >= 0) {
      return absl::InvalidArgumentError(absl::StrCat(reader.path(), " has two columns named \"",
                                                     name, "\"; give one of them another name"));
    }
    found = static_cast<int64_t>(i);
  }
  if (found < 0) {
    std::vector<std::string> names;
    int64_t own = 0;
    for (const FileColumn& column : columns) {
      names.push_back(column.name);
      own += column.is_partition ? 0 : 1;
    }
    // A file whose only column is text was probably split by a wrong delimiter.
    const bool one_text = own == 1 && columns[0].type == ValueType::kText;
    return absl::InvalidArgumentError(
        absl::StrCat(reader.path(), " has no column \"", name, "\"", did_you_mean(name, names),
                     one_text ? delimiter_hint(columns[0].name) : ""));
  }
  if (!columns[found].supported) {
    return absl::InvalidArgumentError(absl::StrCat(reader.path(), ", column \"", name,
                                                   "\": cannot read values of type ",
                                                   columns[found].type_name));
  }
  return found;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> expand_paths(FileSystem& files, const DataConfig& config) {
  if (config.path().empty()) {
    return absl::InvalidArgumentError("no path: the data's configuration names no file");
  }
  std::vector<std::string> paths;
  absl::flat_hash_set<std::string> seen;
  for (const std::string& pattern : config.path()) {
    ASSIGN_OR_RETURN(std::vector<std::string> matches, named_files(files, pattern));
    if (matches.empty()) {
      return absl::NotFoundError(absl::StrCat("no file matches ", pattern));
    }
    for (std::string& path : matches) {
      if (!seen.insert(path).second) {
        return absl::InvalidArgumentError(absl::StrCat(path, " is named twice by the paths ",
                                                       absl::StrJoin(config.path(), ", ")));
      }
      paths.push_back(std::move(path));
    }
  }
  return paths;
}

absl::StatusOr<FileSet> FileSet::open(FileSystem& files, const DataConfig& config,
                                      std::vector<std::string> columns, bool may_be_empty,
                                      BadFiles* bad_files) {
  RETURN_IF_ERROR(check_csv("csv", config.csv()));
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, expand_paths(files, config));
  FileSet set(files, config);
  set.columns_ = std::move(columns);
  set.set_columns_.resize(set.columns_.size());
  for (const std::string& path : paths) {
    const absl::Status status = set.add(path);
    if (status.ok()) continue;
    RETURN_IF_ERROR(set.skip(path, paths.size(), status));
    if (bad_files != nullptr) bad_files->add(path);
  }
  if (set.rows_ == 0 && (!may_be_empty || set.readable_files_ == 0)) {
    return absl::DataLossError(absl::StrCat(
        "no rows in ", paths.front(),
        paths.size() > 1 ? absl::StrCat(" and ", paths.size() - 1, " more files") : ""));
  }
  return set;
}

std::vector<ValueType> FileSet::column_types() const {
  std::vector<ValueType> types;
  for (const SetColumn& column : set_columns_) types.push_back(column.type());
  return types;
}

absl::StatusOr<FileSet::OpenFile> FileSet::open_one(
    const std::string& path, std::shared_ptr<const FileLayout> layout) const {
  OpenFile file;
  ASSIGN_OR_RETURN(file.reader, open_file(*files_, path, config_, std::move(layout)));
  for (size_t i = 0; i < columns_.size(); ++i) {
    ASSIGN_OR_RETURN(const int64_t column, find_column(*file.reader, columns_[i]));
    RETURN_IF_ERROR(set_columns_[i].check(path, file.reader->columns()[column]));
    file.columns.push_back(column);
  }
  return file;
}

absl::Status FileSet::add(const std::string& path) {
  ASSIGN_OR_RETURN(const OpenFile file, open_one(path, nullptr));
  for (const int64_t count : file.reader->group_rows()) {
    if (count < 0 || count > std::numeric_limits<int32_t>::max()) {
      return absl::DataLossError(absl::StrCat(path, ": a row group of ", count, " rows"));
    }
  }
  for (size_t i = 0; i < columns_.size(); ++i) {
    set_columns_[i].add(path, file.reader->columns()[file.columns[i]]);
  }
  ++readable_files_;
  paths_.push_back(path);
  layouts_.push_back(file.reader->layout());
  group_rows_.push_back(file.reader->group_rows());
  int64_t row = 0;
  first_row_.emplace_back();
  for (const int64_t count : group_rows_.back()) {
    first_row_.back().push_back(row);
    row += count;
  }
  rows_ += row;
  return absl::OkStatus();
}

// Returns: `why`, or OK if the file may be left out.
absl::Status FileSet::skip(const std::string& path, size_t path_count, const absl::Status& why) {
  const bool is_bad =
      absl::IsDataLoss(why) || absl::IsInvalidArgument(why) || absl::IsNotFound(why);
  if (config_.bad_data() != DataConfig::SKIP || !is_bad) return why;
  ++bad_files_;
  const auto files = static_cast<double>(path_count);
  if (static_cast<double>(bad_files_) > config_.max_bad_fraction() * files) {
    const double needed = std::ceil(1e4 * static_cast<double>(bad_files_) / files) / 1e4;
    return annotate(why, absl::StrCat(bad_files_, " of ", path_count,
                                      " files are bad data, more than max_bad_fraction ",
                                      config_.max_bad_fraction(),
                                      " allows; correct them, or set max_bad_fraction to at least ",
                                      needed, " to omit them"));
  }
  MILLRACE_LOG(WARNING) << "a file is bad data and left out: " << why.message();
  // It keeps its place, so that the numbers of the others stay.
  paths_.push_back(path);
  layouts_.emplace_back();
  group_rows_.emplace_back();
  first_row_.emplace_back();
  return absl::OkStatus();
}

absl::StatusOr<FileSet::OpenFile> FileSet::open_again(int64_t file) const {
  ASSIGN_OR_RETURN(OpenFile again, open_one(paths_[file], layouts_[file]));
  if (again.reader->group_rows() != group_rows_[file]) {
    return absl::DataLossError(absl::StrCat(paths_[file], " changed while it was being read"));
  }
  return again;
}

}  // namespace millrace
