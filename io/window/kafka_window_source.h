// Windows of the records of a Kafka topic.
#ifndef MILLRACE_IO_WINDOW_KAFKA_WINDOW_SOURCE_H_
#define MILLRACE_IO_WINDOW_KAFKA_WINDOW_SOURCE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "io/kafka/kafka_topic.h"
#include "io/window/window_source.h"

namespace millrace {

// A window is a range of offsets of each partition, whose ends are those of records that can be
// read. The position is the next offset of each partition, so that a window is the same each time
// that it is read. Partitions that are added begin at their first record.
class KafkaWindowSource : public WindowSource {
 public:
  // Contacts nobody. Borrows `files`, which has start_offsets, and `clock`. Errors: as
  // KafkaConsumer::create().
  static absl::StatusOr<std::unique_ptr<KafkaWindowSource>> create(FileSystem& files,
                                                                   const KafkaWindows& config,
                                                                   Clock& clock = Clock::real());

  // Puts the offsets of start_offsets into `position`, which has no window of the topic yet; find()
  // begins there. Looks at the topic, so that a mistake is an error before the first window of
  // files. Logs a warning if no broker answers. Errors: of start_offsets; all but Unavailable of
  // that look.
  absl::Status note_start(WindowPosition& position);

  absl::StatusOr<Found> find(bool no_more, WindowPosition& position) override;
  absl::StatusOr<Found> look_ahead(WindowPosition&) override { return Found::kNotYet; }
  std::string path_of(const std::string& name) const override;
  const std::string& waits_for() const override { return waits_for_; }
  int64_t seen() const override { return news_; }
  bool has_files(const WindowPosition&) const override { return false; }
  void set_format(const WindowPosition& position, DataConfig& data) const override;
  // Commits the offsets to the group of consumers. A failure is a warning.
  void saved(const WindowPosition& position) override;
  // kafka_lag_records, of rank 0: the records behind the last window when the next one was looked
  // for. kafka_lag_seconds: the age of the latest record that was read as data. kafka_bytes and
  // kafka_retries: bytes of such values, and repeated calls, of this process for the topic.
  std::vector<StreamFigure> figures() const override;

 private:
  using Ranges = std::vector<KafkaOffsets>;    // by partition
  using Offsets = std::map<int64_t, int64_t>;  // by partition
  KafkaWindowSource(const KafkaWindows& config, absl::StatusOr<Offsets> start_offsets,
                    std::shared_ptr<KafkaTopic> topic, Clock& clock)
      : config_(config),
        start_offsets_(std::move(start_offsets)),
        topic_(std::move(topic)),
        clock_(clock),
        patience_(config, clock) {}

  absl::StatusOr<Found> next_ranges(KafkaConsumer& consumer, bool no_more,
                                    const WindowPosition& position, Ranges* ranges);
  // Returns what follows `position` in each partition.
  absl::StatusOr<Ranges> ready(KafkaConsumer& consumer, const WindowPosition& position);
  absl::StatusOr<std::vector<int64_t>> first_offsets(KafkaConsumer& consumer,
                                                     const WindowPosition& position,
                                                     const Ranges& all) const;
  // Returns the offsets of start_offsets that are given, as of the beginning of the stream.
  absl::StatusOr<Offsets> given_offsets(const WindowPosition& position) const;
  static absl::StatusOr<Offsets> read_start_offsets(FileSystem& files, const KafkaWindows& config);
  absl::Status begin_at(int32_t partition, int64_t begin, KafkaOffsets& range);
  bool is_due(int64_t records, const WindowPosition& position);
  // Cuts the ranges to KafkaWindows.bytes and records. Measures for about a second at most,
  // and continues in the next look (kGoesOn).
  enum class Measure { kRest, kFull, kGoesOn };
  absl::StatusOr<Measure> cut_to_bytes(KafkaConsumer& consumer, const WindowPosition& position,
                                       Ranges* ranges);

  const KafkaWindows config_;
  const absl::StatusOr<Offsets> start_offsets_;
  const std::shared_ptr<KafkaTopic> topic_;
  Clock& clock_;
  KafkaPatience patience_;
  std::set<std::string> said_;  // warnings
  std::vector<int64_t> first_;  // where a new job begins, by partition, as far as known
  // Since when there are records behind this position.
  std::string due_position_;
  absl::Duration due_since_;
  // The size of the records behind a position, as far as they were read.
  struct Measured {
    std::string position;
    std::vector<int64_t> ends;  // by partition
    int64_t records = 0, bytes = 0;
  } measured_;
  std::string waits_for_;
  int64_t news_ = 0;  // looks that found more records, or no broker
  int64_t end_ = 0;   // the sum of the ends that were found last
  int64_t lag_ = -1;  // records; -1: not known
};

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_KAFKA_WINDOW_SOURCE_H_
