#include "io/partition_columns.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "io/text_values.h"

namespace millrace {
namespace {

constexpr absl::string_view kMissing = "__HIVE_DEFAULT_PARTITION__";

int digit_value(char c) {
  if (absl::ascii_isdigit(c)) return c - '0';
  return absl::ascii_isxdigit(c) ? absl::ascii_tolower(c) - 'a' + 10 : -1;
}

// Replaces %XX by the byte. Other percent signs stay.
std::string url_decode(absl::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool is_code = text[i] == '%' && i + 2 < text.size() && digit_value(text[i + 1]) >= 0 &&
                         digit_value(text[i + 2]) >= 0;
    if (!is_code) {
      decoded.push_back(text[i]);
      continue;
    }
    decoded.push_back(static_cast<char>(digit_value(text[i + 1]) * 16 + digit_value(text[i + 2])));
    i += 2;
  }
  return decoded;
}

// Returns the path within a URI; other paths as they are.
absl::string_view path_of_uri(absl::string_view path) {
  const size_t scheme = path.find("://");
  if (scheme == absl::string_view::npos) return path;
  const bool has_query = absl::StartsWith(path, "http://") || absl::StartsWith(path, "https://");
  if (has_query) path = path.substr(0, path.find_first_of("?#"));
  const size_t begin = path.find('/', scheme + 3);
  return begin == absl::string_view::npos ? "" : path.substr(begin);
}

// Returns the value as a number; 0 if it is none, which sets *is_valid.
template <typename T>
T number_of(absl::string_view value, bool* is_valid) {
  T number = 0;
  *is_valid = parse_cell_number(value, &number);
  return number;
}

}  // namespace

std::vector<Partition> partitions_of(absl::string_view path) {
  std::vector<Partition> partitions;
  std::vector<absl::string_view> parts = absl::StrSplit(path_of_uri(path), '/');
  parts.pop_back();  // the name of the file
  for (const absl::string_view part : parts) {
    const size_t equals = part.find('=');
    if (equals == absl::string_view::npos || equals == 0) continue;
    Partition partition{.directory = std::string(part),
                        .name = url_decode(part.substr(0, equals)),
                        .value = std::nullopt};
    std::string value = url_decode(part.substr(equals + 1));
    if (!value.empty() && value != kMissing) partition.value = std::move(value);
    const bool is_known =
        std::any_of(partitions.begin(), partitions.end(), [&](const Partition& known) {
          return known.name == partition.name && known.value == partition.value;
        });
    if (!is_known) partitions.push_back(std::move(partition));
  }
  return partitions;
}

std::vector<Partition> partition_columns(std::vector<Partition> partitions,
                                         absl::Span<const std::string> names) {
  std::vector<Partition> columns;
  for (Partition& partition : partitions) {
    if (std::find(names.begin(), names.end(), partition.name) != names.end()) continue;
    const auto same = std::find_if(columns.begin(), columns.end(), [&](const Partition& column) {
      return column.name == partition.name;
    });
    if (same == columns.end()) {
      columns.push_back(std::move(partition));
      continue;
    }
    same->is_ambiguous = true;
    absl::StrAppend(&same->directory, " and ", partition.directory);
  }
  return columns;
}

absl::Status append_partition(const Partition& partition, int64_t rows, Column* column) {
  const bool is_text = column->type == ValueType::kString || column->type == ValueType::kText;
  absl::string_view value = partition.value ? absl::string_view(*partition.value) : "";
  if (!is_text) value = absl::StripAsciiWhitespace(value);
  if (value.empty()) {
    append_empty_rows(rows, column);
    return absl::OkStatus();
  }
  column->rows += rows;
  bool is_valid = true;
  if (is_text) {
    column->strings.reserve(rows, rows * static_cast<int64_t>(value.size()));
    for (int64_t row = 0; row < rows; ++row) column->strings.push_back(value);
  } else if (column->type == ValueType::kDouble) {
    column->doubles.resize(column->rows, number_of<double>(value, &is_valid));
  } else {
    column->int64s.resize(column->rows, number_of<int64_t>(value, &is_valid));
  }
  if (is_valid) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("column ", partition.name, " of directory ",
                                          partition.directory, ": \"", value, "\" is no ",
                                          column->type == ValueType::kDouble ? "number" : "integer",
                                          ", which is needed; the transform hash takes any text"));
}

}  // namespace millrace
