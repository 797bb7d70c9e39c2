// Offsets of one partition of a Kafka topic as the rows of a file.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/forwarding_file_system.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "io/column_rows.h"
#include "io/file_reader.h"
#include "io/files/file_system_registry.h"
#include "io/format/csv_reader.h"
#include "io/kafka/kafka_path.h"
#include "io/kafka/kafka_topic.h"

namespace millrace {
namespace {

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

constexpr int kOwnColumns = 4;
constexpr const char* kOwnNames[kOwnColumns] = {"kafka_key", "kafka_time_ms", "kafka_offset",
                                                "kafka_partition"};

// Returns "" if a record holds one line of delimited text, else what is wrong with it.
absl::string_view line_error(absl::string_view line, const CsvConfig& csv) {
  if (line.empty()) return "a record without a value";
  if (csv.literal_quotes() || !absl::StrContains(line, '"')) {
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
      state = c == csv.delimiter()[0] ? kBegins : kPlain;
    }
  }
  return state == kQuoted ? "a quoted cell that does not end" : "";
}

class KafkaReader : public FileReader {
 public:
  using FileReader::read;
  KafkaReader(std::string path, KafkaRange range, const CsvConfig& csv,
              std::shared_ptr<KafkaTopic> topic)
      : path_(std::move(path)), range_(std::move(range)), csv_(csv), topic_(std::move(topic)) {
    rows_.push_back(range_.end - range_.begin);
  }

  absl::Status start() {
    TextFiles none("");
    ASSIGN_OR_RETURN(const std::unique_ptr<FileReader> empty, open_csv(none, path_, csv_));
    columns_ = empty->columns();
    for (FileColumn& column : columns_) column.is_empty = false;  // not known before records come
    csv_columns_ = static_cast<int64_t>(columns_.size());
    for (const char* const name : kOwnNames) {
      const bool is_taken = std::any_of(columns_.begin(), columns_.end(),
                                        [&](const auto& column) { return column.name == name; });
      if (is_taken) {
        return absl::InvalidArgumentError(
            absl::StrCat("csv.column: ", name, " is the name of a column of every record"));
      }
      const bool is_key = name == kOwnNames[0];
      columns_.push_back({.name = name,
                          .type = is_key ? ValueType::kString : ValueType::kInt64,
                          .type_name = is_key ? "bytes" : "int64"});
    }
    return absl::OkStatus();
  }

  const std::string& path() const override { return path_; }
  const std::vector<FileColumn>& columns() const override { return columns_; }
  const std::vector<int64_t>& group_rows() const override { return rows_; }
  absl::Span<const int64_t> row_lines() const override { return offsets_; }
  absl::string_view line_name() const override { return "offset"; }

  absl::StatusOr<std::vector<Column>> read(const RowRange& range,
                                           absl::Span<const ColumnRequest> requests,
                                           BadRows& bad) override {
    Records records;
    RETURN_IF_ERROR(fetch(range, bad, &records));
    offsets_.resize(range.count);
    for (int64_t row = 0; row < range.count; ++row) offsets_[row] = records.begin + row;
    std::vector<ColumnRequest> of_text;
    for (const ColumnRequest& request : requests) {
      if (request.column < csv_columns_) of_text.push_back(request);
    }
    std::vector<Column> text;
    if (!of_text.empty()) {
      ASSIGN_OR_RETURN(text, parse(records.text, of_text, bad));
    }
    std::vector<Column> columns;
    auto next = text.begin();
    for (const ColumnRequest& request : requests) {
      if (request.column < csv_columns_) {
        columns.push_back(std::move(*next++));
      } else {
        columns.push_back(own_column(request.column - csv_columns_, range.count, records));
      }
    }
    return columns;
  }

 private:
  struct Records {
    int64_t begin = 0;  // offset of the first row
    std::string text;   // a line for each row
    StringValues keys;
    std::vector<int64_t> times;
  };

  // Fills one line for each offset. Those without a record are omitted.
  absl::Status fetch(const RowRange& range, BadRows& bad, Records* records) {
    records->begin = range_.begin + range.begin;
    const int64_t end = records->begin + range.count;
    std::vector<std::pair<size_t, size_t>> lines(range.count);  // begin and size in `values`
    std::vector<std::string> keys(range.count);
    std::vector<uint8_t> is_there(range.count);
    std::string values;
    absl::Status status;
    records->times.assign(range.count, -1);
    const auto visit = [&](const KafkaRecord& record) {
      const int64_t row = record.offset - records->begin;
      absl::string_view line = record.value;
      while (absl::ConsumeSuffix(&line, "\n") || absl::ConsumeSuffix(&line, "\r")) {
      }
      is_there[row] = 1;
      records->times[row] = record.time_ms;
      keys[row] = std::string(record.key);
      const absl::string_view error = line_error(line, csv_);
      if (!error.empty()) {
        if (status.ok()) status = bad.add(row, error_at(record.offset, absl::StrCat(": ", error)));
        return;
      }
      lines[row] = {values.size(), line.size()};
      values.append(line.data(), line.size());
    };
    RETURN_IF_ERROR(topic_->with_consumer([&](KafkaConsumer& consumer) {
      return read_records(consumer, records->begin, end, visit);
    }));
    RETURN_IF_ERROR(status);
    // The text of rows that are none or bad does not matter, but must not be bad.
    absl::string_view filler;
    for (const auto& [at, size] : lines) {
      if (size == 0) continue;
      filler = absl::string_view(values).substr(at, size);
      break;
    }
    const std::string blank = absl::StrCat("\"\"", std::string(csv_columns_ - 1, delimiter()));
    if (filler.empty()) filler = csv_columns_ > 1 ? absl::string_view(blank).substr(2) : blank;
    for (int64_t row = 0; row < range.count; ++row) {
      if (is_there[row] == 0) bad.omit(row);
      const auto [at, size] = lines[row];
      absl::StrAppend(&records->text,
                      size == 0 ? filler : absl::string_view(values).substr(at, size), "\n");
      records->keys.push_back(keys[row]);
    }
    return absl::OkStatus();
  }

  char delimiter() const { return csv_.delimiter()[0]; }

  // Reads [begin, end). Records that the brokers do not have are an error, or as none.
  absl::Status read_records(KafkaConsumer& consumer, int64_t begin, int64_t end,
                            const std::function<void(const KafkaRecord&)>& visit) const {
    KafkaPatience patience(topic_->config().timeout_seconds(), Clock::real());
    while (begin < end) {
      const absl::Status read = consumer.read(range_.partition, begin, end, visit);
      if (!absl::IsOutOfRange(read)) return read;
      const absl::StatusOr<KafkaOffsets> held = consumer.offsets(range_.partition);
      RETURN_IF_ERROR(patience.note(held.status()));
      if (!held.ok()) continue;
      const std::string what =
          absl::StrCat(read.message(), ": the brokers have ", held->begin, " to ", held->end);
      if (topic_->config().missing() == KafkaWindows::FAIL) {
        return absl::OutOfRangeError(
            absl::StrCat(what, " (windows.kafka.missing: FAIL); with SKIP they are left out"));
      }
      MILLRACE_LOG(WARNING) << what << "; others are left out";
      if (held->begin <= begin) break;  // the end is before
      begin = held->begin;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Column>> parse(absl::string_view text,
                                            absl::Span<const ColumnRequest> requests,
                                            BadRows& bad) const {
    TextFiles files(text);
    ASSIGN_OR_RETURN(const std::unique_ptr<FileReader> lines, open_csv(files, path_, csv_));
    const std::vector<int64_t>& groups = lines->group_rows();
    if (std::accumulate(groups.begin(), groups.end(), int64_t{0}) !=
        static_cast<int64_t>(offsets_.size())) {
      return absl::DataLossError(absl::StrCat(path_, ": a record is no line of delimited text"));
    }
    std::vector<Column> columns(requests.size());
    std::vector<Column> part;
    int64_t row = 0;
    for (size_t group = 0; group < lines->group_rows().size(); ++group) {
      const int64_t count = lines->group_rows()[group];
      BadRows of_group(count, /*skip=*/true);
      ASSIGN_OR_RETURN(part,
                       lines->read({static_cast<int64_t>(group), 0, count}, requests, of_group));
      for (int64_t i = 0; i < count; ++i) {
        if (!of_group.contains(i)) continue;
        const std::string line = absl::StrCat(path_, ", line ", lines->row_lines()[i]);
        absl::string_view what = of_group.first().message();
        const bool is_its_own = absl::ConsumePrefix(&what, line) &&
                                (what.empty() || !absl::ascii_isdigit(what.front()));
        if (!is_its_own) what = ": values that do not fit";
        RETURN_IF_ERROR(bad.add(row + i, error_at(offsets_[row + i], what)));
      }
      for (size_t c = 0; c < columns.size(); ++c) {
        if (group == 0) {
          columns[c] = std::move(part[c]);
        } else {
          append_rows(part[c], 0, count, columns[c]);
        }
      }
      row += count;
    }
    return columns;
  }

  Column own_column(int64_t which, int64_t rows, const Records& records) const {
    Column column;
    column.rows = rows;
    column.type = which == 0 ? ValueType::kString : ValueType::kInt64;
    if (which == 0) column.strings = records.keys;
    if (which == 1) column.int64s = records.times;
    if (which == 2) column.int64s = offsets_;
    if (which == 3) column.int64s.assign(rows, range_.partition);
    return column;
  }

  absl::Status error_at(int64_t offset, absl::string_view what) const {
    return absl::DataLossError(absl::StrCat(path_, ", offset ", offset, what));
  }

  const std::string path_;
  const KafkaRange range_;
  const CsvConfig csv_;
  const std::shared_ptr<KafkaTopic> topic_;
  std::vector<FileColumn> columns_;
  int64_t csv_columns_ = 0;
  std::vector<int64_t> rows_;
  std::vector<int64_t> offsets_;  // of the rows of the last read()
};

absl::StatusOr<std::unique_ptr<FileReader>> open_kafka(FileSystem&, const std::string& path,
                                                       const DataConfig& config,
                                                       std::shared_ptr<const FileLayout>) {
  ASSIGN_OR_RETURN(KafkaRange range, parse_kafka_path(path));
  KafkaWindows windows = config.custom_format().GetExtension(kafka);
  auto reader = std::make_unique<KafkaReader>(path, std::move(range), config.csv(),
                                              KafkaTopic::shared(windows));
  RETURN_IF_ERROR(reader->start());
  return std::unique_ptr<FileReader>(std::move(reader));
}

MILLRACE_REGISTER_FILE_FORMAT(kafka, "records of a Kafka topic, in windows { kafka {} }",
                              {.open = &open_kafka});

// The paths of ranges of offsets name themselves.
class KafkaPaths : public ForwardingFileSystem {
 public:
  KafkaPaths() : ForwardingFileSystem(FileSystem::local()) {}
  absl::StatusOr<std::vector<std::string>> glob(const std::string& pattern) override {
    return std::vector<std::string>{pattern};
  }
  absl::StatusOr<std::unique_ptr<ReadableFile>> open(const std::string& path) override {
    return no_file(path);
  }
  absl::StatusOr<FileInfo> info(const std::string& path) override {
    RETURN_IF_ERROR(parse_kafka_path(path).status());
    return FileInfo();
  }
  // No name that a file could be moved from.
  absl::StatusOr<FileInfo> link_info(const std::string& path) override {
    return absl::NotFoundError(absl::StrCat(path, " is no file"));
  }
  absl::StatusOr<std::vector<DirectoryEntry>> list(const std::string& path) override {
    return no_file(path);
  }

 private:
  static absl::Status no_file(const std::string& path) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " is no file; read the topic by windows { kafka {} }"));
  }
};

absl::StatusOr<std::unique_ptr<FileSystem>> make_kafka_paths() {
  return std::make_unique<KafkaPaths>();
}

MILLRACE_REGISTER_FILE_SYSTEM(kafka, "offsets of a Kafka topic", &make_kafka_paths);

}  // namespace
}  // namespace millrace
