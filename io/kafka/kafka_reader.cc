// Offsets of one partition of a Kafka topic as the rows of a file.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/forwarding_file_system.h"
#include "base/lines/line_text.h"
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

constexpr int kOwnColumns = 4;
constexpr const char* kOwnNames[kOwnColumns] = {"kafka_key", "kafka_time_ms", "kafka_offset",
                                                "kafka_partition"};

// Some records.
struct Records {
  int64_t begin = 0, end = 0;  // offsets that were read
  std::vector<int64_t> offsets, times;
  StringValues keys, values;

  int64_t size() const { return static_cast<int64_t>(offsets.size()); }
};

// Values of records that tell the columns, so that opening the range again reads nothing.
struct KafkaLayout : public FileLayout {
  std::vector<std::string> samples;
};

// Row groups are of whole records, of which each has the same number of places for its rows; those
// without a row are omitted.
class KafkaReader : public FileReader {
 public:
  using FileReader::read;
  KafkaReader(std::string path, KafkaRange range, std::unique_ptr<KafkaPayload> payload,
              std::shared_ptr<KafkaTopic> topic, FileSystem& files,
              std::shared_ptr<const FileLayout> layout)
      : path_(std::move(path)),
        range_(std::move(range)),
        payload_(std::move(payload)),
        topic_(std::move(topic)),
        places_(topic_->config().rows_per_record()),
        files_(files),
        layout_(std::dynamic_pointer_cast<const KafkaLayout>(std::move(layout))) {}

  absl::Status start() {
    ASSIGN_OR_RETURN(columns_, value_columns());
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
    // Units of work should not split records.
    const int64_t records = range_.end - range_.begin;
    group_records_ = places_ == 1 ? records : std::max<int64_t>(1, kGroupRows / places_);
    for (int64_t begin = 0; begin < records; begin += group_records_) {
      rows_.push_back(std::min(group_records_, records - begin) * places_);
    }
    return absl::OkStatus();
  }

  const std::string& path() const override { return path_; }
  const std::vector<FileColumn>& columns() const override { return columns_; }
  const std::vector<int64_t>& group_rows() const override { return rows_; }
  std::shared_ptr<const FileLayout> layout() const override { return layout_; }
  absl::Span<const int64_t> row_lines() const override { return offsets_; }
  absl::string_view line_name() const override { return "offset"; }

  absl::StatusOr<std::vector<Column>> read(const RowRange& range,
                                           absl::Span<const ColumnRequest> requests,
                                           BadRows& bad) override {
    const int64_t first = range_.begin + range.group * group_records_;  // offset of the group
    Places places{first * places_ + range.begin, range.count};
    offsets_.resize(range.count);
    for (int64_t i = 0; i < range.count; ++i) offsets_[i] = (places.begin + i) / places_;
    const int64_t end = (places.begin + range.count + places_ - 1) / places_;
    RETURN_IF_ERROR(fetch(places.begin / places_, end));
    std::vector<ColumnRequest> of_values;
    for (const ColumnRequest& request : requests) {
      if (request.column < value_columns_) of_values.push_back(request);
    }
    std::vector<absl::string_view> values;
    for (int64_t i = 0; i < records_.size(); ++i) values.push_back(records_.values[i]);
    std::vector<int64_t> bad_places;
    // Features find more bad rows after this.
    if (!topic_->config().bad_records().empty()) bad.set_listener(keeper_of_bad_records(places));
    ASSIGN_OR_RETURN(KafkaRows rows,
                     payload_->decode(values, of_values,
                                      [&](int64_t record, int64_t row, absl::string_view why) {
                                        return add_bad(record, row, why, places, bad, &bad_places);
                                      }));
    RETURN_IF_ERROR(check(rows, of_values));
    put_in_place(places, of_values, bad_places, rows, bad);
    std::vector<Column> columns;
    auto next = rows.columns.begin();
    for (const ColumnRequest& request : requests) {
      if (request.column < value_columns_) {
        columns.push_back(std::move(*next++));
      } else {
        columns.push_back(own_column(request.column - value_columns_, places));
      }
    }
    return columns;
  }

 private:
  static constexpr int64_t kGroupRows = 16384;  // kMaxUnitRows
  static constexpr int64_t kSamples = 16;

  // The places [begin, begin + count); the first one of an offset is offset * places_.
  struct Places {
    int64_t begin = 0, count = 0;
  };

  absl::StatusOr<std::vector<FileColumn>> value_columns() {
    if (!payload_->describes_itself()) return payload_->columns({});
    if (layout_ == nullptr) RETURN_IF_ERROR(take_samples());
    const std::vector<std::string>& samples = layout_->samples;
    return payload_->columns(std::vector<absl::string_view>(samples.begin(), samples.end()));
  }

  // Finds records that tell the columns: the first records of the range of which one can be read,
  // else records of the topic elsewhere.
  absl::Status take_samples() {
    auto layout = std::make_shared<KafkaLayout>();
    absl::Status bad = absl::DataLossError("there are no records");
    int64_t count = kSamples;
    for (int64_t begin = range_.begin; begin < range_.end; begin += count, count *= 2) {
      RETURN_IF_ERROR(fetch(begin, std::min(range_.end, begin + count)));
      std::vector<absl::string_view> values;
      for (int64_t i = 0; i < records_.size(); ++i) values.push_back(records_.values[i]);
      if (values.empty()) continue;
      bad = payload_->columns(values).status();
      if (!bad.ok()) continue;
      values.resize(std::min<size_t>(values.size(), kSamples));
      for (const absl::string_view value : values) layout->samples.emplace_back(value);
      topic_->set_samples(layout->samples);
      break;
    }
    if (layout->samples.empty()) layout->samples = topic_->samples();
    if (layout->samples.empty()) {
      RETURN_IF_ERROR(sample_topic(&layout->samples));
    }
    if (layout->samples.empty()) {
      return annotate(bad, absl::StrCat(path_, ": no record tells its columns"));
    }
    layout_ = std::move(layout);
    return absl::OkStatus();
  }

  // Takes the last records of each partition, until one can be read. A range may have none, or only
  // the marker of a transaction.
  absl::Status sample_topic(std::vector<std::string>* samples) const {
    return topic_->with_consumer([&](KafkaConsumer& consumer) -> absl::Status {
      ASSIGN_OR_RETURN(const int32_t partitions, consumer.partitions());
      for (int32_t partition = 0; partition < partitions; ++partition) {
        ASSIGN_OR_RETURN(const KafkaOffsets held, consumer.offsets(partition));
        std::vector<std::string> last;
        RETURN_IF_ERROR(consumer.read(
            partition, std::max(held.begin, held.end - kSamples), held.end,
            [&](const KafkaRecord& record) { last.push_back(std::string(record.value)); }));
        const std::vector<absl::string_view> values(last.begin(), last.end());
        if (values.empty() || !payload_->columns(values).ok()) continue;
        topic_->set_samples(last);
        *samples = std::move(last);
        return absl::OkStatus();
      }
      return absl::OkStatus();
    });
  }

  // Reads the offsets [begin, end) into records_.
  absl::Status fetch(int64_t begin, int64_t end) {
    if (records_.begin == begin && records_.end == end) return absl::OkStatus();
    records_ = Records();
    KafkaCounters& counters = KafkaCounters::of(range_.topic);
    const auto visit = [&](const KafkaRecord& record) {
      records_.offsets.push_back(record.offset);
      records_.times.push_back(record.time_ms);
      records_.keys.push_back(record.key);
      records_.values.push_back(record.value);
      counters.note(record);
    };
    RETURN_IF_ERROR(topic_->with_consumer(
        [&](KafkaConsumer& consumer) { return read_records(consumer, begin, end, visit); }));
    records_.begin = begin;
    records_.end = end;
    return absl::OkStatus();
  }

  // Reads [begin, end). Records that the brokers do not have are an error, or as none.
  absl::Status read_records(KafkaConsumer& consumer, int64_t begin, int64_t end,
                            const std::function<void(const KafkaRecord&)>& visit) const {
    KafkaPatience patience(topic_->config(), Clock::real());
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

  // Adds a bad row, or all places of a bad record, so that max_bad_fraction is of records.
  absl::Status add_bad(int64_t record, int64_t row, absl::string_view why, const Places& places,
                       BadRows& bad, std::vector<int64_t>* bad_places) const {
    const int64_t offset = records_.offsets[record];
    const int64_t first = offset * places_ - places.begin;
    const std::string at = row < 0 || places_ == 1 ? "" : absl::StrCat(", row ", row);
    const absl::string_view sign = absl::StartsWith(why, "column ") ? ", " : ": ";
    for (int64_t place = first + std::max<int64_t>(row, 0);
         place < first + (row < 0 ? places_ : row + 1); ++place) {
      if (place < 0 || place >= places.count) continue;
      bad_places->push_back(place);
      RETURN_IF_ERROR(bad.add(place, error_at(offset, absl::StrCat(at, sign, why))));
    }
    return absl::OkStatus();
  }

  // Payloads may be another program's.
  absl::Status check(const KafkaRows& rows, absl::Span<const ColumnRequest> requests) const {
    int64_t count = 0;
    bool fits = rows.records.size() == static_cast<size_t>(records_.size()) &&
                rows.columns.size() == requests.size();
    for (const int64_t of_record : rows.records) {
      fits &= of_record >= 0 && of_record <= places_;
      count += of_record;
    }
    for (size_t i = 0; fits && i < requests.size(); ++i) {
      fits = rows.columns[i].rows == count && rows.columns[i].type == read_type(requests[i].as);
    }
    if (fits) return absl::OkStatus();
    return absl::InternalError(
        absl::StrCat(path_, ": the payload gives other rows or columns than it was asked for"));
  }

  // Makes the columns have one row for each place, and omits places without one.
  void put_in_place(const Places& places, absl::Span<const ColumnRequest> requests,
                    std::vector<int64_t>& bad_places, KafkaRows& rows, BadRows& bad) const {
    std::sort(bad_places.begin(), bad_places.end());
    std::vector<Column> columns(rows.columns.size());
    const bool fits = places.begin % places_ == 0 && places.count == records_.size() * places_ &&
                      std::all_of(rows.records.begin(), rows.records.end(),
                                  [&](int64_t count) { return count == places_; });
    if (fits) return;
    for (size_t c = 0; c < columns.size(); ++c) {
      columns[c].type = read_type(requests[c].as);
      columns[c].exact_integers = rows.columns[c].exact_integers;
    }
    int64_t place = 0, row = 0;
    const auto fill_to = [&](int64_t to) {
      if (to <= place) return;
      for (Column& column : columns) append_empty_rows(to - place, &column);
      for (; place < to; ++place) {
        if (!std::binary_search(bad_places.begin(), bad_places.end(), place)) bad.omit(place);
      }
    };
    for (int64_t i = 0; i < records_.size(); ++i) {
      const int64_t first = records_.offsets[i] * places_ - places.begin;  // may be before 0
      const int64_t skip = std::max<int64_t>(0, -first);
      const int64_t take =
          std::max<int64_t>(0, std::min(rows.records[i], places.count - first) - skip);
      if (take > 0) {
        fill_to(first + skip);
        for (size_t c = 0; c < columns.size(); ++c) {
          append_rows(rows.columns[c], row + skip, row + skip + take, columns[c]);
        }
        place += take;
      }
      row += rows.records[i];
    }
    fill_to(places.count);
    rows.columns = std::move(columns);
  }

  Column own_column(int64_t which, const Places& places) const {
    Column column;
    column.rows = places.count;
    column.type = which == 0 ? ValueType::kString : ValueType::kInt64;
    int64_t record = 0;
    for (int64_t i = 0; i < places.count; ++i) {
      while (record < records_.size() && records_.offsets[record] < offsets_[i]) ++record;
      const bool is_there = record < records_.size() && records_.offsets[record] == offsets_[i];
      if (which == 0) column.strings.push_back(is_there ? records_.keys[record] : "");
      if (which == 1) column.int64s.push_back(is_there ? records_.times[record] : -1);
    }
    if (which == 2) column.int64s = offsets_;
    if (which == 3) column.int64s.assign(places.count, range_.partition);
    return column;
  }

  // Returns what appends each record with a bad row, once, to the file of bad ones.
  BadRows::Listener keeper_of_bad_records(const Places& places) const {
    return
        [this, places, kept = std::set<int64_t>()](int64_t place, const absl::Status& why) mutable {
          const int64_t offset = (places.begin + place) / places_;
          return kept.insert(offset).second ? keep_bad(offset, why.message()) : absl::OkStatus();
        };
  }

  absl::Status keep_bad(int64_t offset, absl::string_view why) const {
    const auto found = std::lower_bound(records_.offsets.begin(), records_.offsets.end(), offset);
    if (found == records_.offsets.end() || *found != offset) return absl::OkStatus();
    const auto record = found - records_.offsets.begin();
    absl::ConsumePrefix(&why, error_at(offset, "").message());
    if (!absl::ConsumePrefix(&why, ", ")) absl::ConsumePrefix(&why, ": ");
    nlohmann::ordered_json json{{"topic", range_.topic},
                                {"partition", range_.partition},
                                {"offset", offset},
                                {"time_ms", records_.times[record]},
                                {"why", std::string(why)}};
    json["key_base64"] = absl::Base64Escape(records_.keys[record]);
    json["value_base64"] = absl::Base64Escape(records_.values[record]);
    ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file,
                     files_.open_for_append(topic_->config().bad_records()),
                     "windows.kafka.bad_records");
    RETURN_IF_ERROR(file->append(json_line(json) + "\n"), "windows.kafka.bad_records");
    return annotate(file->close(), "windows.kafka.bad_records");
  }

  absl::Status error_at(int64_t offset, absl::string_view what) const {
    return absl::DataLossError(absl::StrCat(path_, ", offset ", offset, what));
  }

  const std::string path_;
  const KafkaRange range_;
  const std::unique_ptr<KafkaPayload> payload_;
  const std::shared_ptr<KafkaTopic> topic_;
  const int64_t places_;  // for the rows of a record
  FileSystem& files_;
  std::shared_ptr<const KafkaLayout> layout_;  // null: not known, or not needed
  std::vector<FileColumn> columns_;
  int64_t value_columns_ = 0;
  int64_t group_records_ = 0;
  std::vector<int64_t> rows_;
  Records records_;               // that were fetched last
  std::vector<int64_t> offsets_;  // of the rows of the last read()
};

absl::StatusOr<std::unique_ptr<FileReader>> open_kafka(FileSystem& files, const std::string& path,
                                                       const DataConfig& config,
                                                       std::shared_ptr<const FileLayout> layout) {
  ASSIGN_OR_RETURN(KafkaRange range, parse_kafka_path(path));
  KafkaWindows windows = config.custom_format().GetExtension(kafka);
  const CustomConfig name = kafka_payload_of(windows, config);
  ASSIGN_OR_RETURN(auto payload, kafka_payload_registry().create(name, config));
  auto reader =
      std::make_unique<KafkaReader>(path, std::move(range), std::move(payload),
                                    KafkaTopic::shared(windows), files, std::move(layout));
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
