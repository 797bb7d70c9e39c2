#include "io/kafka/kafka_payload.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/checksum/tfrecord.h"
#include "base/forwarding_file_system.h"
#include "base/status_macros.h"
#include "io/column_rows.h"
#include "io/format/csv_reader.h"
#include "io/format/tfrecord_reader.h"

namespace millrace {
namespace {

constexpr absl::string_view kNoValue = "a record without a value";

// Text in memory.
class TextFile : public ReadableFile {
 public:
  TextFile(std::string path, absl::string_view text) : path_(std::move(path)), text_(text) {}
  const std::string& path() const override { return path_; }
  int64_t size_bytes() const override { return static_cast<int64_t>(text_.size()); }
  absl::StatusOr<int64_t> read_at(int64_t offset, int64_t count, void* buffer) override {
    count = std::clamp<int64_t>(size_bytes() - offset, 0, count);
    if (count > 0) std::memcpy(buffer, text_.data() + offset, count);
    return count;
  }

 private:
  const std::string path_;
  const absl::string_view text_;
};

// Every file of it holds one text.
class TextFiles : public ForwardingFileSystem {
 public:
  explicit TextFiles(absl::string_view text)
      : ForwardingFileSystem(FileSystem::local()), text_(text) {}
  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    return std::make_unique<TextFile>(path, text_);
  }

 private:
  const absl::string_view text_;
};

// A format of files of rows, of which each record holds one: records become such a file, in memory.
class FilePayload : public KafkaPayload {
 public:
  absl::StatusOr<std::vector<FileColumn>> columns(absl::Span<const absl::string_view>) override {
    TextFiles none("");
    ASSIGN_OR_RETURN(const std::unique_ptr<FileReader> empty, open(none));
    std::vector<FileColumn> columns = empty->columns();
    for (FileColumn& column : columns) column.is_empty = false;  // not known before records come
    return columns;
  }

  absl::StatusOr<KafkaRows> decode(absl::Span<const absl::string_view> values,
                                   absl::Span<const ColumnRequest> requests,
                                   const BadRecord& bad) override {
    KafkaRows rows;
    std::string file;
    std::vector<int64_t> records;  // by row
    for (const absl::string_view value : values) {
      const auto record = static_cast<int64_t>(rows.records.size());
      const absl::string_view error = append(value, &file);
      rows.records.push_back(error.empty() ? 1 : 0);
      if (error.empty()) {
        records.push_back(record);
      } else {
        RETURN_IF_ERROR(bad(record, -1, error));
      }
    }
    rows.columns.resize(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) rows.columns[i].type = read_type(requests[i].as);
    if (requests.empty() || records.empty()) return rows;
    std::vector<int64_t> bad_rows;
    RETURN_IF_ERROR(
        parse(file, static_cast<int64_t>(records.size()), requests, &rows.columns, &bad_rows));
    for (const int64_t row : bad_rows) {
      const absl::string_view value = values[records[row]];
      RETURN_IF_ERROR(bad(records[row], 0, error_of(value, requests)));
    }
    return rows;
  }

 protected:
  // Appends the row of a value, or returns why it would not become one row of the file.
  virtual absl::string_view append(absl::string_view value, std::string* file) const = 0;
  // Opens the file. Errors: as FileOpener. Columns do not depend on the content.
  virtual absl::StatusOr<std::unique_ptr<FileReader>> open(FileSystem& files) const = 0;

  static constexpr const char* kPath = "records";

 private:
  // Reads all rows of a file, which are `count`.
  absl::Status parse(absl::string_view file, int64_t count,
                     absl::Span<const ColumnRequest> requests, std::vector<Column>* columns,
                     std::vector<int64_t>* bad_rows) const {
    TextFiles files(file);
    ASSIGN_OR_RETURN(const std::unique_ptr<FileReader> reader, open(files));
    const std::vector<int64_t>& groups = reader->group_rows();
    if (std::accumulate(groups.begin(), groups.end(), int64_t{0}) != count) {
      return absl::DataLossError("a record is not one row");
    }
    int64_t row = 0;
    for (size_t group = 0; group < groups.size(); ++group) {
      BadRows of_group(groups[group], /*skip=*/true);
      ASSIGN_OR_RETURN(
          std::vector<Column> part,
          reader->read({static_cast<int64_t>(group), 0, groups[group]}, requests, of_group));
      for (int64_t i = 0; i < groups[group]; ++i) {
        if (of_group.contains(i)) bad_rows->push_back(row + i);
      }
      for (size_t c = 0; c < columns->size(); ++c) {
        if (group == 0) {
          (*columns)[c] = std::move(part[c]);
        } else {
          append_rows(part[c], 0, groups[group], (*columns)[c]);
        }
      }
      row += groups[group];
    }
    return absl::OkStatus();
  }

  // Returns why the row of a value is bad, by reading it alone.
  std::string error_of(absl::string_view value, absl::Span<const ColumnRequest> requests) const {
    constexpr char kOther[] = "values that do not fit";
    std::string file;
    append(value, &file);
    TextFiles files(file);
    const absl::StatusOr<std::unique_ptr<FileReader>> reader = open(files);
    if (!reader.ok()) return kOther;
    const absl::Status status = (*reader)->read({0, 0, 1}, requests).status();
    absl::string_view message = status.message();
    if (!absl::ConsumePrefix(&message, kPath)) return status.ok() ? kOther : std::string(message);
    // ", line 1, column x: …" or ", record 0: …".
    const size_t place = std::min(message.find(": "), message.find(", column "));
    return place == absl::string_view::npos ? kOther : std::string(message.substr(place + 2));
  }
};

class LinePayload : public FilePayload {
 public:
  explicit LinePayload(CsvConfig csv) : csv_(std::move(csv)) {}

 protected:
  absl::string_view append(absl::string_view value, std::string* file) const override {
    while (absl::ConsumeSuffix(&value, "\n") || absl::ConsumeSuffix(&value, "\r")) {
    }
    const absl::string_view error = fault_of(value);
    if (error.empty()) absl::StrAppend(file, value, "\n");
    return error;
  }

  absl::StatusOr<std::unique_ptr<FileReader>> open(FileSystem& files) const override {
    return open_csv(files, kPath, csv_);
  }

 private:
  absl::string_view fault_of(absl::string_view line) const {
    if (line.empty()) return kNoValue;
    if (csv_.literal_quotes() || !absl::StrContains(line, '"')) {
      return absl::StrContains(line, '\n') ? "a record of several lines" : "";
    }
    // A quoted cell that did not end would take the next records along.
    enum { kBegins, kPlain, kQuoted, kAfterQuote } state = kBegins;
    for (const char c : line) {
      if (state == kQuoted) {
        if (c == '"') state = kAfterQuote;
      } else if (c == '"' && state != kPlain) {
        state = kQuoted;  // a cell that begins with a quote, or a doubled quote in one
      } else if (c == '\n') {
        return "a record of several lines";
      } else {
        state = c == csv_.delimiter()[0] ? kBegins : kPlain;
      }
    }
    return state == kQuoted ? "a quoted cell that does not end" : "";
  }

  const CsvConfig csv_;
};

class ExamplePayload : public FilePayload {
 public:
  explicit ExamplePayload(const DataConfig& config) : config_(config) {}

 protected:
  absl::string_view append(absl::string_view value, std::string* file) const override {
    if (value.empty()) return kNoValue;
    absl::StrAppend(file, tfrecord(value));
    return "";
  }

  absl::StatusOr<std::unique_ptr<FileReader>> open(FileSystem& files) const override {
    return open_tfrecord(files, kPath, config_);
  }

 private:
  const DataConfig config_;
};

// Records have no line of names, and no first ones to find the columns in.
absl::Status check_columns(int count, absl::string_view field) {
  if (count > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("it needs the columns of a record, in ", field, " of the data"));
}

absl::StatusOr<std::unique_ptr<KafkaPayload>> make_lines(const CustomConfig&,
                                                         const DataConfig& data) {
  RETURN_IF_ERROR(check_columns(data.csv().column_size(), "csv.column"));
  return std::make_unique<LinePayload>(data.csv());
}

absl::StatusOr<std::unique_ptr<KafkaPayload>> make_examples(const CustomConfig&,
                                                            const DataConfig& data) {
  RETURN_IF_ERROR(check_columns(data.tfrecord().column_size(), "tfrecord.column"));
  return std::make_unique<ExamplePayload>(data);
}

}  // namespace

MILLRACE_PART_FAMILY(kafka_payload, CustomRegistry<KafkaPayloadFactory>, "Kafka payload",
                     "windows { kafka { payload { name: \"NAME\" } } }");

MILLRACE_REGISTER_KAFKA_PAYLOAD(csv, "a line of delimited text, with csv.column of the data",
                                &make_lines);
MILLRACE_REGISTER_KAFKA_PAYLOAD(tf_example, "a tf.Example, with tfrecord.column of the data",
                                &make_examples);

CustomConfig kafka_payload_of(const KafkaWindows& kafka, const DataConfig& data) {
  if (kafka.has_payload()) return kafka.payload();
  CustomConfig payload;
  payload.set_name(data.format() == DataConfig::TFRECORD ? "tf_example" : "csv");
  return payload;
}

}  // namespace millrace
