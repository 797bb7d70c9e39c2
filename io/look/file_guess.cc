#include "io/look/file_guess.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/path/rereadable.h"
#include "base/status_macros.h"
#include "io/file_reader.h"

namespace millrace {
namespace {

constexpr int64_t kHeadBytes = 1 << 20;
constexpr int64_t kMaxHeadBytes = 16 << 20;  // of a longest line

bool is_text(absl::string_view head) {
  return std::none_of(head.begin(), head.end(), [](char c) {
    return absl::ascii_iscntrl(static_cast<unsigned char>(c)) && c != '\t' && c != '\n' &&
           c != '\r';
  });
}

// Returns the format of the first bytes; AUTO if it is unknown.
DataConfig::Format format_of_content(absl::string_view head) {
  if (absl::StartsWith(head, "ORC")) return DataConfig::ORC;
  if (absl::StartsWith(head, "PAR1")) return DataConfig::PARQUET;
  const absl::string_view line = head.substr(0, head.find('\n'));
  const bool has_delimiter = line.find_first_of("\t,;|") != absl::string_view::npos;
  return is_text(head) && has_delimiter ? DataConfig::CSV : DataConfig::AUTO;
}

absl::StatusOr<std::string> read_head(ReadableFile& file, int64_t limit) {
  std::string head(std::min(limit, file.size_bytes()), '\0');
  ASSIGN_OR_RETURN(const int64_t count,
                   file.read_at(0, static_cast<int64_t>(head.size()), head.data()));
  head.resize(count);
  return head;
}

// Text without a byte order mark and blank lines before the first line.
absl::string_view first_line_and_rest(absl::string_view head) {
  if (absl::StartsWith(head, "\xef\xbb\xbf")) head.remove_prefix(3);
  while (absl::StartsWith(head, "\n") || absl::StartsWith(head, "\r")) head.remove_prefix(1);
  return head;
}

absl::string_view first_line(absl::string_view head) {
  head = first_line_and_rest(head);
  head = head.substr(0, head.find('\n'));
  if (absl::EndsWith(head, "\r")) head.remove_suffix(1);
  return head;
}

// The usual delimiter that occurs most often; a comma if none does.
char find_delimiter(absl::string_view line) {
  char best = ',';
  int64_t most = 0;
  for (const char delimiter : {'\t', ',', ';', '|'}) {
    const int64_t count = std::count(line.begin(), line.end(), delimiter);
    if (count <= most) continue;
    most = count;
    best = delimiter;
  }
  return best;
}

bool is_typed(const std::vector<absl::string_view>& cells) {
  return std::all_of(cells.begin(), cells.end(), [](absl::string_view cell) {
    const size_t colon = cell.rfind(':');
    if (colon == 0 || colon == absl::string_view::npos) return false;
    const absl::string_view type = cell.substr(colon + 1);
    return type == "token" || type == "token_seq" || type == "float" || type == "float_seq";
  });
}

bool is_header(const std::vector<absl::string_view>& cells) {
  absl::flat_hash_set<absl::string_view> seen;
  return std::all_of(cells.begin(), cells.end(), [&](absl::string_view cell) {
    double number = 0;
    return !cell.empty() && !absl::SimpleAtod(cell, &number) && seen.insert(cell).second;
  });
}

void guess_csv(absl::string_view head, CsvConfig* csv) {
  const absl::string_view line = first_line(head);
  const char delimiter = find_delimiter(line);
  if (delimiter != ',') csv->set_delimiter(std::string(1, delimiter));
  const std::vector<absl::string_view> cells = absl::StrSplit(line, delimiter);
  if (is_typed(cells)) {
    csv->set_header(CsvConfig::TYPED);
  } else if (!is_header(cells)) {
    for (size_t i = 1; i <= cells.size(); ++i) csv->add_column(absl::StrCat("column_", i));
  }
}

// The number of fields of `label field:index:value ...`; 0 of `label index:value ...`.
int64_t count_fields(absl::string_view head) {
  int64_t fields = 0;
  for (const absl::string_view line : absl::StrSplit(head, '\n')) {
    for (const absl::string_view pair : absl::StrSplit(line, ' ')) {
      const std::vector<absl::string_view> parts = absl::StrSplit(pair, ':');
      int64_t field = 0;
      if (parts.size() == 3 && absl::SimpleAtoi(parts[0], &field) && field >= 0) {
        fields = std::max(fields, field + 1);
      }
    }
  }
  return std::min<int64_t>(fields, 4096);
}

}  // namespace

absl::StatusOr<DataConfig> guess_file(FileSystem& files, const std::string& path) {
  ASSIGN_OR_RETURN(const FileInfo info, files.info(path));
  if (info.is_directory) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is a directory; name the files in it, such as ", join_path(path, "*.parquet")));
  }
  RETURN_IF_ERROR(check_rereadable(path, info));
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, files.open(path));
  ASSIGN_OR_RETURN(std::string head, read_head(*file, kHeadBytes));
  if (head.empty()) return absl::DataLossError(absl::StrCat(path, " is empty"));
  DataConfig config;
  std::optional<DataConfig::Format> format = format_of_extension(path);
  if (!format) {
    format = format_of_content(head);
    if (format == DataConfig::AUTO) {
      return absl::InvalidArgumentError(
          absl::StrCat("cannot tell the format of ", path,
                       ", neither by its extension nor by its content; known: .orc .parquet .csv "
                       ".tsv .tfrecord .libsvm, and delimited text of any name"));
    }
    config.set_format(*format);
  }
  if (format == DataConfig::LIBSVM) {
    const int64_t fields = count_fields(head);
    if (fields > 0) config.mutable_libsvm()->set_fields(fields);
  }
  if (format == DataConfig::CSV) {
    if (!absl::StrContains(first_line_and_rest(head), '\n')) {
      ASSIGN_OR_RETURN(head, read_head(*file, kMaxHeadBytes));
    }
    guess_csv(head, config.mutable_csv());
    if (config.csv().ByteSizeLong() == 0) config.clear_csv();
  }
  return config;
}

std::string format_name(const DataConfig& config, const std::string& path) {
  const DataConfig::Format format = config.format() == DataConfig::AUTO
                                        ? format_of_extension(path).value_or(DataConfig::AUTO)
                                        : config.format();
  switch (format) {
    case DataConfig::ORC: return "ORC";
    case DataConfig::PARQUET: return "Parquet";
    case DataConfig::TFRECORD: return "TFRecord";
    case DataConfig::LIBSVM: return "libsvm";
    case DataConfig::CSV: break;
    default: return "unknown";
  }
  const std::string kind = config.csv().delimiter() == "\t" ? "TSV" : "CSV";
  if (config.csv().header() == CsvConfig::TYPED) return kind + " with a typed header";
  return kind + (config.csv().column().empty() ? " with a header" : " without a header");
}

}  // namespace millrace
