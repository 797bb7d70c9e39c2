// Offsets of one partition of a Kafka topic as the rows of a file.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/forwarding_file_system.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "io/column_rows.h"
#include "io/file_reader.h"
#include "io/files/file_system_registry.h"
#include "io/kafka/kafka_path.h"
#include "io/kafka/kafka_payload.h"
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

class KafkaReader : public FileReader {
 public:
  using FileReader::read;
  KafkaReader(std::string path, KafkaRange range, std::unique_ptr<KafkaPayload> payload,
              std::shared_ptr<KafkaTopic> topic)
      : path_(std::move(path)),
        range_(std::move(range)),
        payload_(std::move(payload)),
        topic_(std::move(topic)) {
    rows_.push_back(range_.end - range_.begin);
  }

  absl::Status start() {
    TextFiles none("");
    ASSIGN_OR_RETURN(const std::unique_ptr<FileReader> empty, payload_->open(none, path_));
    columns_ = empty->columns();
    for (FileColumn& column : columns_) column.is_empty = false;  // not known before records come
    value_columns_ = static_cast<int64_t>(columns_.size());
    for (const char* const name : kOwnNames) {
      const bool is_taken = std::any_of(columns_.begin(), columns_.end(),
                                        [&](const auto& column) { return column.name == name; });
      if (is_taken) {
        return absl::InvalidArgumentError(
            absl::StrCat("column ", name, ": this is the name of a column of every record"));
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
    std::vector<ColumnRequest> of_values;
    for (const ColumnRequest& request : requests) {
      if (request.column < value_columns_) of_values.push_back(request);
    }
    std::vector<Column> values;
    if (!of_values.empty()) {
      ASSIGN_OR_RETURN(values, parse(records.file, of_values, bad));
    }
    std::vector<Column> columns;
    auto next = values.begin();
    for (const ColumnRequest& request : requests) {
      if (request.column < value_columns_) {
        columns.push_back(std::move(*next++));
      } else {
        columns.push_back(own_column(request.column - value_columns_, range.count, records));
      }
    }
    return columns;
  }

 private:
  struct Records {
    int64_t begin = 0;  // offset of the first row
    std::string file;   // the rows
    StringValues keys;
    std::vector<int64_t> times;
  };

  // Makes a row of each offset. Those without a record are omitted.
  absl::Status fetch(const RowRange& range, BadRows& bad, Records* records) {
    records->begin = range_.begin + range.begin;
    const int64_t end = records->begin + range.count;
    std::vector<std::string> values(range.count, payload_->blank()), keys(range.count);
    std::vector<uint8_t> is_there(range.count);
    absl::Status status;
    records->times.assign(range.count, -1);
    const auto visit = [&](const KafkaRecord& record) {
      const int64_t row = record.offset - records->begin;
      is_there[row] = 1;
      records->times[row] = record.time_ms;
      keys[row] = std::string(record.key);
      const absl::string_view error = payload_->error(record.value);
      if (error.empty()) {
        values[row] = std::string(record.value);
      } else if (status.ok()) {
        status = bad.add(row, error_at(record.offset, absl::StrCat(": ", error)));
      }
    };
    RETURN_IF_ERROR(topic_->with_consumer([&](KafkaConsumer& consumer) {
      return read_records(consumer, records->begin, end, visit);
    }));
    RETURN_IF_ERROR(status);
    for (int64_t row = 0; row < range.count; ++row) {
      if (is_there[row] == 0) bad.omit(row);
      payload_->append(values[row], &records->file);
      records->keys.push_back(keys[row]);
    }
    return absl::OkStatus();
  }

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

  absl::StatusOr<std::vector<Column>> parse(absl::string_view file,
                                            absl::Span<const ColumnRequest> requests,
                                            BadRows& bad) const {
    TextFiles files(file);
    ASSIGN_OR_RETURN(const std::unique_ptr<FileReader> rows, payload_->open(files, path_));
    const std::vector<int64_t>& groups = rows->group_rows();
    if (std::accumulate(groups.begin(), groups.end(), int64_t{0}) !=
        static_cast<int64_t>(offsets_.size())) {
      return absl::DataLossError(absl::StrCat(path_, ": a record is not one row"));
    }
    std::vector<Column> columns(requests.size());
    std::vector<Column> part;
    int64_t row = 0;
    for (size_t group = 0; group < groups.size(); ++group) {
      const int64_t count = groups[group];
      BadRows of_group(count, /*skip=*/true);
      ASSIGN_OR_RETURN(part,
                       rows->read({static_cast<int64_t>(group), 0, count}, requests, of_group));
      for (int64_t i = 0; i < count; ++i) {
        if (!of_group.contains(i)) continue;
        const int64_t number = rows->row_lines().empty() ? row + i : rows->row_lines()[i];
        RETURN_IF_ERROR(bad.add(
            row + i, error_at(offsets_[row + i], what_of(of_group.first().message(), number))));
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

  // Returns what an error says, without the place, if it is of the row of this number, of a line or
  // record.
  absl::string_view what_of(absl::string_view message, int64_t number) const {
    constexpr absl::string_view kOther = ": values that do not fit";
    if (!absl::ConsumePrefix(&message, absl::StrCat(path_, ", line ", number)) &&
        !absl::ConsumePrefix(&message, absl::StrCat(path_, ", record ", number))) {
      return kOther;
    }
    if (message.empty() || absl::ascii_isdigit(message.front())) return kOther;
    const size_t what = std::min(message.find(": "), message.find(", column "));
    return what == absl::string_view::npos ? kOther : message.substr(what);
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
  const std::unique_ptr<KafkaPayload> payload_;
  const std::shared_ptr<KafkaTopic> topic_;
  std::vector<FileColumn> columns_;
  int64_t value_columns_ = 0;
  std::vector<int64_t> rows_;
  std::vector<int64_t> offsets_;  // of the rows of the last read()
};

absl::StatusOr<std::unique_ptr<FileReader>> open_kafka(FileSystem&, const std::string& path,
                                                       const DataConfig& config,
                                                       std::shared_ptr<const FileLayout>) {
  ASSIGN_OR_RETURN(KafkaRange range, parse_kafka_path(path));
  KafkaWindows windows = config.custom_format().GetExtension(kafka);
  auto reader = std::make_unique<KafkaReader>(path, std::move(range), KafkaPayload::create(config),
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
