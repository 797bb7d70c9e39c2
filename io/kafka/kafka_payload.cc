#include "io/kafka/kafka_payload.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
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

constexpr absl::string_view kNoValue = ": a record without a value";

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
  absl::StatusOr<std::vector<FileColumn>> columns(absl::string_view) override {
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
        RETURN_IF_ERROR(bad(record, 0, error));
      }
    }
    if (requests.empty()) return rows;
    rows.columns.resize(requests.size());
    if (records.empty()) return rows;
    TextFiles files(file);
    ASSIGN_OR_RETURN(const std::unique_ptr<FileReader> reader, open(files));
    RETURN_IF_ERROR(parse(*reader, records, requests, bad, &rows.columns));
    return rows;
  }

 protected:
  // Appends the row of a value, or returns why it would not become one row of the file.
  virtual absl::string_view append(absl::string_view value, std::string* file) const = 0;
  // Opens the file. Errors: as FileOpener. Columns do not depend on the content.
  virtual absl::StatusOr<std::unique_ptr<FileReader>> open(FileSystem& files) const = 0;

  static constexpr const char* kPath = "records";

 private:
  static absl::Status parse(FileReader& reader, absl::Span<const int64_t> records,
                            absl::Span<const ColumnRequest> requests, const BadRecord& bad,
                            std::vector<Column>* columns) {
    const std::vector<int64_t>& groups = reader.group_rows();
    if (std::accumulate(groups.begin(), groups.end(), size_t{0}) != records.size()) {
      return absl::DataLossError("a record is not one row");
    }
    int64_t row = 0;
    for (size_t group = 0; group < groups.size(); ++group) {
      const int64_t count = groups[group];
      BadRows of_group(count, /*skip=*/true);
      ASSIGN_OR_RETURN(std::vector<Column> part,
                       reader.read({static_cast<int64_t>(group), 0, count}, requests, of_group));
      for (int64_t i = 0; i < count; ++i) {
        if (!of_group.contains(i)) continue;
        const int64_t number = reader.row_lines().empty() ? row + i : reader.row_lines()[i];
        RETURN_IF_ERROR(bad(records[row + i], 0, what_of(of_group.first().message(), number)));
      }
      for (size_t c = 0; c < columns->size(); ++c) {
        if (group == 0) {
          (*columns)[c] = std::move(part[c]);
        } else {
          append_rows(part[c], 0, count, (*columns)[c]);
        }
      }
      row += count;
    }
    return absl::OkStatus();
  }

  // Returns what an error says, without the place, if it is of the row of this number, of a line or
  // record.
  static absl::string_view what_of(absl::string_view message, int64_t number) {
    constexpr absl::string_view kOther = ": values that do not fit";
    if (!absl::ConsumePrefix(&message, absl::StrCat(kPath, ", line ", number)) &&
        !absl::ConsumePrefix(&message, absl::StrCat(kPath, ", record ", number))) {
      return kOther;
    }
    if (message.empty() || absl::ascii_isdigit(message.front())) return kOther;
    const size_t what = std::min(message.find(": "), message.find(", column "));
    return what == absl::string_view::npos ? kOther : message.substr(what);
  }
};

class LinePayload : public FilePayload {
 public:
  explicit LinePayload(CsvConfig csv) : csv_(std::move(csv)) {}

 protected:
  absl::string_view append(absl::string_view value, std::string* file) const override {
    while (absl::ConsumeSuffix(&value, "\n") || absl::ConsumeSuffix(&value, "\r")) {
    }
    const absl::string_view error = error_of(value);
    if (error.empty()) absl::StrAppend(file, value, "\n");
    return error;
  }

  absl::StatusOr<std::unique_ptr<FileReader>> open(FileSystem& files) const override {
    return open_csv(files, kPath, csv_);
  }

 private:
  absl::string_view error_of(absl::string_view line) const {
    if (line.empty()) return kNoValue;
    if (csv_.literal_quotes() || !absl::StrContains(line, '"')) {
      return absl::StrContains(line, '\n') ? ": a record of several lines" : "";
    }
    // A quoted cell that did not end would take the next records along.
    enum { kBegins, kPlain, kQuoted, kAfterQuote } state = kBegins;
    for (const char c : line) {
      if (state == kQuoted) {
        if (c == '"') state = kAfterQuote;
      } else if (c == '"' && state != kPlain) {
        state = kQuoted;  // a cell that begins with a quote, or a doubled quote in one
      } else if (c == '\n') {
        return ": a record of several lines";
      } else {
        state = c == csv_.delimiter()[0] ? kBegins : kPlain;
      }
    }
    return state == kQuoted ? ": a quoted cell that does not end" : "";
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
