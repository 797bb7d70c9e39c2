#include "sinks/csv/csv_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/lines/csv_field.h"
#include "base/lines/rewrite_lines.h"
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

void CsvFile::start(int64_t first_step) {
  first_step_ = first_step;
  file_.reset();
  columns_.clear();
}

// Removes rows that the run writes again, and reads the columns.
absl::Status CsvFile::read_kept_rows() {
  std::vector<std::string> fields;
  bool is_header = true, known = false;
  const absl::Status status =
      rewrite_lines(files_, path_, kRecords, [&](std::string& record) {
        if (std::exchange(is_header, false)) {
          const std::string ended = record + "\n";
          absl::string_view rest = ended;
          // A file of something else is replaced.
          known = next_csv_record(rest, fields) && fields[0] == kStep;
          if (known) record = header_of(fields);
          return known;
        }
        int64_t step = 0;
        const absl::string_view first = absl::string_view(record).substr(0, record.find(','));
        return known && absl::SimpleAtoi(first, &step) && step <= first_step_;
      }).status();
  RETURN_IF_ERROR(status);
  if (known) columns_.assign(fields.begin() + 1, fields.end());
  return absl::OkStatus();
}

absl::Status CsvFile::open() {
  RETURN_IF_ERROR(files_.create_directories(directory_of(path_)));
  if (first_step_ > 0) RETURN_IF_ERROR(read_kept_rows());
  ASSIGN_OR_RETURN(file_, first_step_ > 0 ? files_.open_for_append(path_) : files_.create(path_));
  new_file_ = true;
  return absl::OkStatus();
}

// Rows that are there have fewer fields then, which stand for missing values at the end; they get
// empty ones.
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
    start(first_step_);
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(file_->sync());
  if (new_file_) RETURN_IF_ERROR(files_.sync_directory(directory_of(path_)));
  new_file_ = false;
  return absl::OkStatus();
}

}  // namespace millrace
