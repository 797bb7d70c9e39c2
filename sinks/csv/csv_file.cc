#include "sinks/csv/csv_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/lines/file_lines.h"
#include "base/lines/line_text.h"
#include "base/status_macros.h"
#include "sinks/number_text.h"

namespace millrace {
namespace {

constexpr char kStep[] = "step";

// Records of a file end where no quotes are open.
const LineReaderOptions kRecords = {.quotes = true};

// Returns the line of column names, without a line feed.
std::string header_of(const std::vector<std::string>& columns) {
  std::vector<std::string> fields;
  for (const std::string& column : columns) fields.push_back(csv_field(column));
  return absl::StrJoin(fields, ",");
}

}  // namespace

std::string csv_number(double value) { return number_text(value, {"nan", "inf", "-inf"}); }

bool next_csv_record(absl::string_view& text, std::vector<std::string>& fields) {
  fields.assign(1, "");
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted && c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
      fields.back().push_back('"');
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      fields.emplace_back();
    } else if (!quoted && c == '\n') {
      text.remove_prefix(i + 1);
      return true;
    } else {
      fields.back().push_back(c);
    }
  }
  return false;
}

void CsvFile::start(SinkStart start, std::string set_column) {
  start_ = std::move(start);
  set_column_ = std::move(set_column);
  file_.reset();
  columns_.clear();
}

// Removes rows that the run writes again, and reads the columns.
absl::Status CsvFile::read_kept_rows() {
  std::vector<std::string> fields;
  bool is_header = true, known = false;
  const absl::Status status = rewrite_lines(files_, path_, kRecords, [&](std::string& record) {
                                if (std::exchange(is_header, false)) {
                                  const std::string ended = record + "\n";
                                  absl::string_view rest = ended;
                                  // A file of something else is replaced.
                                  known = next_csv_record(rest, fields) && fields[0] == kStep;
                                  if (!known) return false;
                                  record = header_of(fields);
                                  columns_.assign(fields.begin() + 1, fields.end());
                                  return true;
                                }
                                return known && keeps(record);
                              }).status();
  if (!status.ok()) columns_.clear();
  return status;
}

bool CsvFile::keeps(const std::string& row) const {
  int64_t step = 0;
  const absl::string_view first = absl::string_view(row).substr(0, row.find(','));
  if (!absl::SimpleAtoi(first, &step)) return false;
  // Only rows of this step need the set, so other rows are not parsed.
  if (set_column_.empty() || step != start_.first_step)
    return !start_.comes_again(step, SinkStart::kTrain);
  const std::string record = row + "\n";
  absl::string_view rest = record;
  std::vector<std::string> fields;
  next_csv_record(rest, fields);
  const auto column = std::find(columns_.begin(), columns_.end(), set_column_);
  const auto set = static_cast<size_t>(column - columns_.begin()) + 1;
  return set < fields.size() && !start_.comes_again(step, fields[set]);
}

absl::Status CsvFile::open() {
  RETURN_IF_ERROR(files_.create_directories(directory_of(path_)));
  const bool continues = start_.first_step > 0;
  if (continues) RETURN_IF_ERROR(read_kept_rows());
  ASSIGN_OR_RETURN(file_, continues ? files_.open_for_append(path_) : files_.create(path_));
  new_file_ = true;
  return absl::OkStatus();
}

// Existing rows have fewer fields and get empty fields at the end.
absl::Status CsvFile::add_columns(const std::vector<std::string>& names) {
  const bool begins = columns_.empty();
  const size_t before = columns_.size();
  for (const std::string& name : names) {
    if (std::find(columns_.begin(), columns_.end(), name) == columns_.end()) {
      columns_.push_back(name);
    }
  }
  if (columns_.size() == before && !begins) return absl::OkStatus();
  const std::string header = absl::StrCat(kStep, ",", header_of(columns_));
  if (begins) return file_->append(header + "\n");
  RETURN_IF_ERROR(file_->close());
  file_.reset();
  const std::string missing(columns_.size() - before, ',');
  bool is_header = true;
  RETURN_IF_ERROR(rewrite_lines(files_, path_, kRecords, [&](std::string& record) {
                    if (std::exchange(is_header, false)) {
                      record = header;
                    } else {
                      record += missing;
                    }
                    return true;
                  }).status());
  ASSIGN_OR_RETURN(file_, files_.open_for_append(path_));
  return absl::OkStatus();
}

absl::Status CsvFile::add(int64_t step, const std::vector<std::string>& names,
                          const std::map<std::string, std::string>& fields) {
  if (file_ == nullptr) RETURN_IF_ERROR(open());
  RETURN_IF_ERROR(add_columns(names));
  std::string row = absl::StrCat(step);
  for (const std::string& column : columns_) {
    const auto found = fields.find(column);
    absl::StrAppend(&row, ",", found == fields.end() ? "" : found->second);
  }
  return file_->append(row + "\n");
}

absl::Status CsvFile::flush() {
  if (file_ == nullptr) return absl::OkStatus();
  if (absl::IsNotFound(files_.link_info(path_).status())) {
    start(start_, set_column_);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(file_->sync());
  if (new_file_) RETURN_IF_ERROR(files_.sync_directory(directory_of(path_)));
  new_file_ = false;
  return absl::OkStatus();
}

}  // namespace millrace
