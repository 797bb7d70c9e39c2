#include "io/format/libsvm_reader.h"

#include <charconv>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "io/format/text_lines.h"
#include "io/format/text_numbers.h"

namespace millrace {
namespace {

constexpr int64_t kLabel = 0;
constexpr int64_t kQid = 1;
constexpr int64_t kFirstPair = 2;  // index and value of a field take turns
constexpr absl::string_view kBlanks = " \t\r";

struct LibsvmLayout : public FileLayout {
  int64_t size_bytes = 0;
  LineIndex lines;
};

// The next piece of a line between blanks, cut off from it; "" at the end.
absl::string_view next_token(absl::string_view* line) {
  const size_t begin = std::min(line->find_first_not_of(kBlanks), line->size());
  const size_t end = std::min(line->find_first_of(kBlanks, begin), line->size());
  const absl::string_view token = line->substr(begin, end - begin);
  line->remove_prefix(end);
  return token;
}

template <typename T>
bool parse_integer(absl::string_view text, T* value) {
  const char* const end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, *value);
  return result.ec == std::errc() && result.ptr == end;
}

bool parse_number(absl::string_view text, double* value) {
  // "+1" is the usual label of a positive example.
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  return parse_double(text.data(), static_cast<int64_t>(text.size()), value);
}

struct Pair {
  uint64_t field = 0;
  uint64_t index = 0;
  double value = 0;
};

// Returns: whether `token` is a pair of numbers, or with_field three.
bool parse_pair(absl::string_view token, bool with_field, Pair* pair) {
  if (with_field) {
    const size_t colon = token.find(':');
    if (colon == absl::string_view::npos || !parse_integer(token.substr(0, colon), &pair->field)) {
      return false;
    }
    token.remove_prefix(colon + 1);
  }
  const size_t colon = token.find(':');
  return colon != absl::string_view::npos && parse_integer(token.substr(0, colon), &pair->index) &&
         parse_number(token.substr(colon + 1), &pair->value);
}

class LibsvmReader : public FileReader {
 public:
  using FileReader::read;
  LibsvmReader(std::string path, std::unique_ptr<ReadableFile> file, const LibsvmConfig& config)
      : path_(std::move(path)), file_(std::move(file)), fields_(config.fields()) {}

  absl::Status open(std::shared_ptr<const FileLayout> layout) {
    layout_ = std::static_pointer_cast<const LibsvmLayout>(std::move(layout));
    if (layout_ == nullptr) {
      auto made = std::make_shared<LibsvmLayout>();
      made->size_bytes = file_->size_bytes();
      ASSIGN_OR_RETURN(made->lines, index_lines(*file_, {}));
      layout_ = std::move(made);
    } else if (layout_->size_bytes != file_->size_bytes()) {
      return absl::DataLossError("the file changed while it was being read");
    }
    for (const LineGroup& group : layout_->lines.groups) group_rows_.push_back(group.rows);
    add_column("label", ValueType::kDouble);
    add_column("qid", ValueType::kInt64);
    for (int64_t field = 0; field < std::max<int64_t>(fields_, 1); ++field) {
      const std::string suffix = fields_ > 0 ? absl::StrCat("_", field) : "";
      add_column("index" + suffix, ValueType::kUint64);
      add_column("value" + suffix, ValueType::kDouble);
    }
    return absl::OkStatus();
  }

  const std::string& path() const override { return path_; }
  const std::vector<FileColumn>& columns() const override { return columns_; }
  const std::vector<int64_t>& group_rows() const override { return group_rows_; }
  std::shared_ptr<const FileLayout> layout() const override { return layout_; }

  absl::Span<const int64_t> row_lines() const override { return row_lines_; }

  absl::StatusOr<std::vector<Column>> read(const RowRange& range,
                                           absl::Span<const ColumnRequest> requests,
                                           BadRows& bad) override {
    const LineGroup& group = layout_->lines.groups[range.group];
    RETURN_IF_ERROR(buffer_.read(*file_, group), path_);
    // All columns are parsed; columns that are not requested have no place.
    std::vector<Column> columns(requests.size());
    std::vector<Column*> places(columns_.size(), nullptr);
    for (size_t i = 0; i < requests.size(); ++i) {
      columns[i].type = requests[i].as;
      columns[i].rows = range.count;
      columns[i].offsets = {0};
      places[requests[i].column] = &columns[i];
    }
    RETURN_IF_ERROR(parse(group, range, places, bad));
    for (Column& column : columns) simplify_offsets(column);
    return columns;
  }

 private:
  void add_column(std::string name, ValueType type) {
    columns_.push_back({.name = std::move(name),
                        .type = type,
                        .type_name = type == ValueType::kDouble ? "number" : "integer"});
  }

  absl::Status parse(const LineGroup& group, const RowRange& range,
                     const std::vector<Column*>& places, BadRows& bad) {
    row_lines_.clear();
    int64_t row = -range.begin, line = group.first_line;
    const char* at = buffer_.data();
    const char* const end = at + buffer_.size();
    for (; at < end && row < range.count; ++line) {
      const char* const feed = static_cast<const char*>(std::memchr(at, '\n', end - at));
      const absl::string_view text(at, feed - at);
      at = feed + 1;
      if (text.find_first_not_of('\r') == absl::string_view::npos) continue;  // blank
      if (row++ < 0) continue;
      row_lines_.push_back(line);
      const std::string wrong = parse_line(text, places);
      for (Column* column : places) {
        if (column != nullptr) column->offsets.push_back(values_of(*column));
      }
      if (wrong.empty()) continue;
      RETURN_IF_ERROR(
          bad.add(row - 1, absl::DataLossError(absl::StrCat(path_, ", line ", line, ": ", wrong))));
    }
    if (row >= range.count) return absl::OkStatus();
    return absl::DataLossError(absl::StrCat(path_, " changed while it was being read"));
  }

  static int64_t values_of(const Column& column) {
    return static_cast<int64_t>(column.type == ValueType::kDouble ? column.doubles.size()
                                                                  : column.int64s.size());
  }

  // Returns: what is wrong with it, "" if nothing is.
  std::string parse_line(absl::string_view line, const std::vector<Column*>& places) const {
    // The format allows a comment at the end of a line.
    line = line.substr(0, line.find('#'));
    const absl::string_view label = next_token(&line);
    double number = 0;
    if (!parse_number(label, &number)) return complaint("label", label, "a number");
    if (places[kLabel] != nullptr) places[kLabel]->doubles.push_back(number);
    absl::string_view token = next_token(&line);
    // Only files for ranking have a qid.
    if (absl::StartsWith(token, "qid:")) {
      int64_t qid = 0;
      if (!parse_integer(token.substr(4), &qid)) return complaint("qid", token, "qid:number");
      if (places[kQid] != nullptr) places[kQid]->int64s.push_back(qid);
      token = next_token(&line);
    }
    for (; !token.empty(); token = next_token(&line)) {
      Pair pair;
      if (!parse_pair(token, fields_ > 0, &pair)) {
        return fields_ > 0 ? complaint("index", token, "field:index:value")
                           : complaint("index", token, "index:value");
      }
      if (fields_ > 0 && pair.field >= static_cast<uint64_t>(fields_)) {
        return absl::StrCat("field ", pair.field, " where there are ", fields_, ", from 0");
      }
      const int64_t column = kFirstPair + 2 * static_cast<int64_t>(pair.field);
      if (places[column] != nullptr) {
        places[column]->int64s.push_back(static_cast<int64_t>(pair.index));
      }
      if (places[column + 1] != nullptr) places[column + 1]->doubles.push_back(pair.value);
    }
    return "";
  }

  static std::string complaint(absl::string_view column, absl::string_view token,
                               absl::string_view what) {
    return absl::StrCat("column ", column, ": \"", absl::CEscape(token.substr(0, 40)), "\" is not ",
                        what);
  }

  const std::string path_;
  const std::unique_ptr<ReadableFile> file_;
  const int64_t fields_;
  std::shared_ptr<const LibsvmLayout> layout_;  // shared with readers of the same file
  std::vector<FileColumn> columns_;
  std::vector<int64_t> group_rows_;
  LineBuffer buffer_;               // of the group that is being read
  std::vector<int64_t> row_lines_;  // of the last read()
};

}  // namespace

absl::StatusOr<std::unique_ptr<FileReader>> open_libsvm(FileSystem& files, const std::string& path,
                                                        const DataConfig& config,
                                                        std::shared_ptr<const FileLayout> layout) {
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, files.open(path));
  auto reader = std::make_unique<LibsvmReader>(path, std::move(file), config.libsvm());
  RETURN_IF_ERROR(reader->open(std::move(layout)),
                  absl::StrCat("cannot open ", path, " as libsvm's text"));
  return reader;
}

MILLRACE_REGISTER_FILE_FORMAT(libsvm, "lines of label and index:value, also of libffm and libfm",
                              {.format = DataConfig::LIBSVM,
                               .extensions = {".libsvm", ".svm", ".libfm", ".libffm", ".ffm"},
                               .open = open_libsvm});

}  // namespace millrace
