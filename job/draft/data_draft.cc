#include "job/draft/data_draft.h"

#include <cstdint>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "io/partition_columns.h"
#include "job/draft/feature_draft.h"

namespace millrace {
namespace {

constexpr size_t kMaxListedFiles = 50;
constexpr size_t kListedColumns = 5;
constexpr double kEvalShare = 0.1;
constexpr int64_t kFewestRows = 100;  // above, a share by hash is almost surely not empty

void set_paths(const std::vector<std::string>& paths, DataConfig* config) {
  config->clear_path();
  for (const std::string& path : paths) config->add_path(path);
}

// Returns the values of the time partitions of a file; "" without any.
std::string time_directories(const FileSetLook& look, const std::string& path) {
  std::vector<std::string> directories;
  for (const Partition& partition : partitions_of(path)) {
    for (const ColumnLook& column : look.columns) {
      if (column.name != partition.name || !is_time_partition(column)) continue;
      directories.push_back(partition.directory);
    }
  }
  return absl::StrJoin(directories, "/");
}

// Returns " The last partition ..." that says why the last partition by time, of `rows` rows, is
// not held out.
std::string partition_comment(const FileSetLook& look, const std::string& last, int64_t rows) {
  std::string reason = "has more than half of the rows";
  if (rows == look.rows) reason = "is the only one";
  if (rows == 0) reason = "has no rows";
  if (look.files.size() > kMaxListedFiles) {
    reason = absl::StrCat("is not drafted of more than ", kMaxListedFiles, " files");
  }
  return absl::StrCat(" The last partition by time, ", comment_text(last), ", ", reason, ".");
}

// Returns " 2 % of the evaluation rows are ..." if some are in the training data, else "".
std::string leakage_comment(const DataLook& look) {
  if (look.leaked_rows == 0) return "";
  const double share =
      static_cast<double>(look.leaked_rows) / static_cast<double>(look.eval->sampled_rows);
  const bool is_all = look.train.sampled_rows == look.train.rows;
  return absl::StrFormat(
      " %s%.3g %% of the %d evaluation rows that were looked at are rows of the training data, "
      "too: "
      "the evaluation will be better than that of new data.",
      is_all ? "" : "At least ", 100 * share, look.eval->sampled_rows);
}

// Returns a comment on the columns with blanks around cells or names, and the handling of the
// blanks.
std::string blanks_comment(const FileSetLook& look) {
  std::vector<std::string> names;
  for (const ColumnLook& column : look.columns) {
    if (column.has_blanks) names.emplace_back(absl::StripAsciiWhitespace(column.name));
  }
  if (names.empty()) return "";
  const size_t more = names.size() > kListedColumns ? names.size() - kListedColumns : 0;
  names.resize(names.size() - more);
  return absl::StrCat(
      "Blanks stand around cells or names of columns: ", comment_text(absl::StrJoin(names, ", ")),
      more > 0 ? absl::StrCat(" and ", more, " more") : "",
      ". Numbers are read without them; text, ids that are hashed and names keep "
      "them. Remove them from the files if other files will have none.");
}

// Returns the configuration with the delimiter of lists in cells, if there is one.
DataConfig with_list_delimiter(DataConfig config, const FileSetLook& train) {
  const char delimiter = common_list_delimiter(train);
  if (delimiter != 0) config.mutable_csv()->set_list_delimiter(std::string(1, delimiter));
  return config;
}

}  // namespace

std::string comment_text(absl::string_view text) {
  return absl::StrReplaceAll(text, {{"\n", " "}, {"\r", " "}});
}

DataDraft draft_data(const DataLook& look) {
  const FileSetLook& train = look.train;
  const auto rows = static_cast<double>(train.rows);
  DataDraft draft{.train = with_list_delimiter(train.config, train),
                  .blanks = blanks_comment(train),
                  .train_rows = rows};
  if (look.eval) {
    draft.eval = with_list_delimiter(look.eval->config, train);
    draft.comment = absl::StrCat("Evaluated on the files of --eval.", leakage_comment(look));
    return draft;
  }
  // The last file, or all files of the last day or load.
  const std::string last = time_directories(train, train.files.back().path);
  std::vector<std::string> paths, last_paths;
  int64_t last_rows = 0;
  for (const FileLook& file : train.files) {
    const bool is_last =
        last.empty() ? &file == &train.files.back() : time_directories(train, file.path) == last;
    (is_last ? last_paths : paths).push_back(file.path);
    if (is_last) last_rows += file.rows;
  }
  // Holds out up to half of the rows if they are a last day, since its metrics are the best
  // estimate of those of later days.
  const int64_t most_rows = last.empty() ? train.rows / 4 : train.rows / 2;
  if (!paths.empty() && train.files.size() <= kMaxListedFiles && last_rows > 0 &&
      last_rows <= most_rows) {
    set_paths(paths, &draft.train);
    set_paths(last_paths, &draft.eval.emplace(draft.train));
    draft.train_rows -= static_cast<double>(last_rows);
    draft.comment = last.empty()
                        ? "The last file is held out to evaluate on: no --eval was given."
                        : absl::StrCat("All of ", comment_text(last),
                                       " is held out to evaluate on: no --eval was given.");
    return draft;
  }
  if (train.rows < kFewestRows) {
    draft.comment = absl::StrCat("Not evaluated: ", train.rows,
                                 " rows are too few to hold some out. Give others with --eval.");
    return draft;
  }
  SplitConfig& from = *draft.eval.emplace(draft.train).mutable_split();
  from.set_by(SplitConfig::HASH_OF_EXAMPLE);
  from.set_from(1 - kEvalShare);
  SplitConfig& to = *draft.train.mutable_split();
  to.set_by(SplitConfig::HASH_OF_EXAMPLE);
  to.set_to(1 - kEvalShare);
  draft.train_rows *= 1 - kEvalShare;
  draft.comment = absl::StrCat(
      "A tenth of the rows, drawn by a hash, is held out to evaluate on: no --eval was given. If "
      "rows depend on time, give later files with --eval.",
      last.empty() ? "" : partition_comment(train, last, last_rows));
  return draft;
}

}  // namespace millrace
