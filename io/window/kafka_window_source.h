// Windows of the records of a Kafka topic.
#ifndef MILLRACE_IO_WINDOW_KAFKA_WINDOW_SOURCE_H_
#define MILLRACE_IO_WINDOW_KAFKA_WINDOW_SOURCE_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "io/kafka/kafka_topic.h"
#include "io/window/window_source.h"

namespace millrace {

// A window is a range of offsets of each partition, whose ends are those of records that can be
// read. The position is the next offset of each partition, so that a window is the same each time
// that it is read. Partitions that are added begin at their first record.
class KafkaWindowSource : public WindowSource {
 public:
  // Contacts nobody. Borrows `clock`. Errors: as KafkaConsumer::create().
  static absl::StatusOr<std::unique_ptr<WindowSource>> create(const KafkaWindows& config,
                                                              Clock& clock = Clock::real());

  absl::StatusOr<Found> find(bool no_more, WindowPosition& position) override;
  std::string path_of(const std::string& name) const override;
  const std::string& waits_for() const override { return waits_for_; }
  int64_t seen() const override { return seen_; }
  bool has_files() const override { return false; }
  void set_format(DataConfig& data) const override;

 private:
  using Ranges = std::vector<KafkaOffsets>;  // by partition
  KafkaWindowSource(const KafkaWindows& config, std::shared_ptr<KafkaTopic> topic, Clock& clock)
      : config_(config),
        topic_(std::move(topic)),
        clock_(clock),
        patience_(config.timeout_seconds(), clock) {}

  absl::StatusOr<Found> next_ranges(KafkaConsumer& consumer, bool no_more,
                                    const WindowPosition& position, Ranges* ranges);
  // Returns what follows `position` in each partition.
  absl::StatusOr<Ranges> ready(KafkaConsumer& consumer, const WindowPosition& position);
  absl::StatusOr<std::vector<int64_t>> first_offsets(KafkaConsumer& consumer,
                                                     const Ranges& all) const;
  absl::Status begin_at(int32_t partition, int64_t begin, KafkaOffsets& range);
  bool is_due(int64_t records, const WindowPosition& position);

  const KafkaWindows config_;
  const std::shared_ptr<KafkaTopic> topic_;
  Clock& clock_;
  KafkaPatience patience_;
  std::set<std::string> said_;  // warnings
  std::vector<int64_t> first_;  // where a new job begins, by partition, as far as known
  // Since when there are records behind this position.
  std::string due_position_;
  absl::Duration due_since_;
  std::string waits_for_;
  int64_t seen_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_IO_WINDOW_KAFKA_WINDOW_SOURCE_H_
