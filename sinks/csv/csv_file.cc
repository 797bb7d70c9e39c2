#include "sinks/csv/csv_file.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "base/status_macros.h"
#include "sinks/number_text.h"

namespace millrace {
namespace {

constexpr char kStep[] = "step";

std::string join(const std::vector<std::string>& fields) {
  std::string line;
  for (const std::string& field : fields) {
    absl::StrAppend(&line, line.empty() && &field == &fields.front() ? "" : ",", csv_field(field));
  }
  return line + "\n";
}

}  // namespace

std::string csv_field(absl::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

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

std::string CsvFile::header() const {
  std::vector<std::string> names = {kStep};
  names.insert(names.end(), columns_.begin(), columns_.end());
  return join(names);
}

// Removes rows that the run writes again, and reads the columns.
absl::Status CsvFile::read_kept_rows() {
  const absl::StatusOr<std::string> text = read_file(files_, path_);
  if (absl::IsNotFound(text.status())) return absl::OkStatus();
  RETURN_IF_ERROR(text.status());
  absl::string_view rest = *text;
  std::vector<std::string> fields;
  // A file of something else is replaced.
  const bool known = next_csv_record(rest, fields) && fields[0] == kStep;
  if (known) columns_.assign(fields.begin() + 1, fields.end());
  std::string kept = known ? header() : "";
  for (absl::string_view row = rest; known && next_csv_record(rest, fields); row = rest) {
    int64_t step = 0;
    if (!absl::SimpleAtoi(fields[0], &step) || step > first_step_) continue;
    absl::StrAppend(&kept, row.substr(0, row.size() - rest.size()));
  }
  return kept == *text ? absl::OkStatus() : write_file_atomically(files_, path_, kept);
}

absl::Status CsvFile::open() {
  RETURN_IF_ERROR(files_.create_directories(directory_of(path_)));
  if (first_step_ > 0) RETURN_IF_ERROR(read_kept_rows());
  ASSIGN_OR_RETURN(file_, first_step_ > 0 ? files_.open_for_append(path_) : files_.create(path_));
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
  if (begins) return file_->append(header());
  RETURN_IF_ERROR(file_->close());
  file_.reset();
  ASSIGN_OR_RETURN(const std::string text, read_file(files_, path_));
  absl::string_view rest = text;
  std::vector<std::string> fields;
  next_csv_record(rest, fields);
  std::string grown = header();
  const std::string missing(columns_.size() - before, ',');
  for (absl::string_view row = rest; next_csv_record(rest, fields); row = rest) {
    absl::StrAppend(&grown, row.substr(0, row.size() - rest.size() - 1), missing, "\n");
  }
  RETURN_IF_ERROR(write_file_atomically(files_, path_, grown));
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

absl::Status CsvFile::flush() { return file_ == nullptr ? absl::OkStatus() : file_->sync(); }

}  // namespace millrace
