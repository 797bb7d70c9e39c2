#include "io/kafka/kafka_payload.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/checksum/tfrecord.h"
#include "io/format/csv_reader.h"
#include "io/format/tfrecord_reader.h"

namespace millrace {
namespace {

class LinePayload : public KafkaPayload {
 public:
  explicit LinePayload(CsvConfig csv) : csv_(std::move(csv)) {}

  absl::string_view error(absl::string_view value) const override {
    const absl::string_view line = line_of(value);
    if (line.empty()) return "a record without a value";
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

  void append(absl::string_view value, std::string* file) const override {
    absl::StrAppend(file, line_of(value), "\n");
  }

  std::string blank() const override {
    if (csv_.column_size() == 1) return "\"\"";
    return std::string(csv_.column_size() - 1, csv_.delimiter()[0]);
  }

  absl::StatusOr<std::unique_ptr<FileReader>> open(FileSystem& files,
                                                   const std::string& path) const override {
    return open_csv(files, path, csv_);
  }

 private:
  // Without the ends of lines behind it.
  static absl::string_view line_of(absl::string_view value) {
    while (absl::ConsumeSuffix(&value, "\n") || absl::ConsumeSuffix(&value, "\r")) {
    }
    return value;
  }

  const CsvConfig csv_;
};

class ExamplePayload : public KafkaPayload {
 public:
  explicit ExamplePayload(const DataConfig& config) : config_(config) {}

  absl::string_view error(absl::string_view value) const override {
    return value.empty() ? "a record without a value" : "";
  }

  void append(absl::string_view value, std::string* file) const override {
    absl::StrAppend(file, tfrecord(value));
  }

  std::string blank() const override { return ""; }

  absl::StatusOr<std::unique_ptr<FileReader>> open(FileSystem& files,
                                                   const std::string& path) const override {
    return open_tfrecord(files, path, config_);
  }

 private:
  const DataConfig config_;
};

}  // namespace

std::unique_ptr<KafkaPayload> KafkaPayload::create(const DataConfig& config) {
  if (config.format() == DataConfig::TFRECORD) return std::make_unique<ExamplePayload>(config);
  return std::make_unique<LinePayload>(config.csv());
}

}  // namespace millrace
