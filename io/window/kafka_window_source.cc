#include "io/window/kafka_window_source.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "io/kafka/kafka_path.h"
#include "io/window/time_window_source.h"
#include "proto/config_variables.h"

namespace millrace {
namespace {

// Cuts the ranges to `limit` offsets in all: as many of each partition as it has, up to a level
// that is equal for all, so that no partition falls behind.
void cut(int64_t limit, std::vector<KafkaOffsets>* ranges) {
  std::vector<size_t> by_size(ranges->size());
  std::iota(by_size.begin(), by_size.end(), 0);
  const auto size = [&](size_t i) { return (*ranges)[i].end - (*ranges)[i].begin; };
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](size_t a, size_t b) { return size(a) < size(b); });
  for (size_t done = 0; done < by_size.size(); ++done) {
    KafkaOffsets& range = (*ranges)[by_size[done]];
    const auto left = static_cast<int64_t>(by_size.size() - done);
    range.end = std::min(range.end, range.begin + limit / left);
    limit -= range.end - range.begin;
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<WindowSource>> KafkaWindowSource::create(const KafkaWindows& config,
                                                                        Clock& clock) {
  // Readers get the secrets resolved, too (open_file()), and share the consumers.
  KafkaWindows resolved = config;
  RETURN_IF_ERROR(resolve_secrets("windows.kafka", &resolved));
  std::shared_ptr<KafkaTopic> topic = KafkaTopic::shared(resolved);
  RETURN_IF_ERROR(topic->with_consumer([](KafkaConsumer&) { return absl::OkStatus(); }));
  return std::unique_ptr<WindowSource>(new KafkaWindowSource(config, std::move(topic), clock));
}

std::string KafkaWindowSource::path_of(const std::string& name) const {
  return absl::StrCat("kafka://", config_.topic(), "/", name);
}

void KafkaWindowSource::set_format(DataConfig& data) const {
  data.mutable_custom_format()->set_name("kafka");
  *data.mutable_custom_format()->MutableExtension(kafka) = config_;
}

absl::StatusOr<Found> KafkaWindowSource::find(bool no_more, WindowPosition& position) {
  Ranges ranges;
  Found found = Found::kNotYet;
  RETURN_IF_ERROR(topic_->with_consumer([&](KafkaConsumer& consumer) {
    const absl::StatusOr<Found> looked = next_ranges(consumer, no_more, position, &ranges);
    // Gone records do not come back.
    if (absl::IsOutOfRange(looked.status())) return looked.status();
    if (looked.ok()) {
      found = *looked;
    } else {
      waits_for_ = absl::StrCat("Kafka: ", looked.status().message());
      seen_ = -1 - std::abs(seen_);  // an outage is no time without records
    }
    return patience_.note(looked.status());
  }));
  if (found != Found::kWindow) return found;
  position.clear_file();
  position.clear_next_offset();
  int64_t total = 0;
  for (size_t partition = 0; partition < ranges.size(); ++partition) {
    const auto [begin, end] = ranges[partition];
    position.add_next_offset(end);
    total += end;
    if (begin == end) continue;
    const std::string path = kafka_path({.topic = config_.topic(),
                                         .partition = static_cast<int32_t>(partition),
                                         .begin = begin,
                                         .end = end});
    position.add_file()->set_name(path.substr(path_of("").size()));
  }
  // The sum of the offsets differs between windows, and is short however many partitions there are.
  position.set_name(absl::StrCat(config_.topic(), " to ", total));
  return Found::kWindow;
}

// Finds the ranges of the next window.
absl::StatusOr<Found> KafkaWindowSource::next_ranges(KafkaConsumer& consumer, bool no_more,
                                                     const WindowPosition& position,
                                                     Ranges* ranges) {
  ASSIGN_OR_RETURN(*ranges, ready(consumer, position));
  // Reported ends may be too low.
  if (size_of(*ranges) < config_.records()) {
    RETURN_IF_ERROR(consumer.confirm(config_.records(), ranges));
  }
  const int64_t records = size_of(*ranges);
  seen_ = 0;
  for (const KafkaOffsets& range : *ranges) seen_ += range.end;
  if (records == 0 || !(no_more || is_due(records, position))) {
    waits_for_ = absl::StrCat("records of topic ", config_.topic(), " (", records, " of ",
                              config_.records(), " are there)");
    return no_more ? Found::kEnded : Found::kNotYet;
  }
  cut(config_.records(), ranges);
  RETURN_IF_ERROR(consumer.confirm(/*wanted=*/0, ranges));
  return Found::kWindow;
}

bool KafkaWindowSource::is_due(int64_t records, const WindowPosition& position) {
  if (records >= config_.records()) return true;
  const std::string key = absl::StrJoin(position.next_offset(), ",");
  if (due_position_ != key || due_since_ == absl::ZeroDuration()) {
    due_position_ = key;
    due_since_ = clock_.elapsed();
  }
  return config_.seconds() > 0 && clock_.elapsed() - due_since_ >= absl::Seconds(config_.seconds());
}

absl::StatusOr<KafkaWindowSource::Ranges> KafkaWindowSource::ready(KafkaConsumer& consumer,
                                                                   const WindowPosition& position) {
  ASSIGN_OR_RETURN(const int32_t count, consumer.partitions());
  const bool begins = position.next_offset_size() == 0;
  if (position.next_offset_size() > count) {
    return absl::FailedPreconditionError(
        absl::StrCat("topic ", config_.topic(), " has ", count, " partitions; the job has read ",
                     position.next_offset_size(), ": it is another topic"));
  }
  Ranges ranges(count);
  for (int32_t partition = 0; partition < count; ++partition) {
    ASSIGN_OR_RETURN(ranges[partition], consumer.offsets(partition));
  }
  if (begins && first_.size() < ranges.size()) {
    ASSIGN_OR_RETURN(first_, first_offsets(consumer, ranges));
  }
  // Partitions that were added begin at their first record.
  for (int32_t partition = 0; partition < count; ++partition) {
    const auto index = static_cast<size_t>(partition);
    if (partition < position.next_offset_size()) {
      RETURN_IF_ERROR(begin_at(partition, position.next_offset(partition), ranges[index]));
    } else if (begins) {
      RETURN_IF_ERROR(begin_at(partition, first_[index], ranges[index]));
    }
  }
  return ranges;
}

// Returns where a new job begins in each partition. What is known already stays.
absl::StatusOr<std::vector<int64_t>> KafkaWindowSource::first_offsets(KafkaConsumer& consumer,
                                                                      const Ranges& all) const {
  std::vector<int64_t> first = first_;
  Ranges ends = all;
  const bool at_end = config_.start() == KafkaWindows::LATEST && !config_.has_start_time();
  if (at_end && first.empty()) {
    constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
    RETURN_IF_ERROR(consumer.confirm(kAll, &ends));
  }
  for (size_t partition = first.size(); partition < all.size(); ++partition) {
    if (config_.has_start_time()) {
      ASSIGN_OR_RETURN(const absl::Time time, parse_window_time(config_.start_time()));
      ASSIGN_OR_RETURN(const int64_t offset,
                       consumer.offset_at(static_cast<int32_t>(partition), time));
      first.push_back(offset);
    } else {
      // One that was added since the first look begins at its first record.
      first.push_back(at_end && first_.empty() ? ends[partition].end : all[partition].begin);
    }
  }
  return first;
}

// Makes a range begin at `begin`. Errors: OutOfRange if the brokers no longer have that.
absl::Status KafkaWindowSource::begin_at(int32_t partition, int64_t begin, KafkaOffsets& range) {
  if (begin < range.begin) {
    const std::string gone =
        absl::StrCat("topic ", config_.topic(), ", partition ", partition, ": offset ", begin,
                     " is no longer there, the first is ", range.begin, "; ", range.begin - begin,
                     " records were not read");
    if (config_.missing() == KafkaWindows::FAIL) {
      return absl::OutOfRangeError(absl::StrCat(
          gone,
          " (windows.kafka.missing: FAIL). Let the topic keep records for longer; with SKIP "
          "training goes on behind them"));
    }
    if (said_.insert(gone).second) MILLRACE_LOG(WARNING) << gone << ", they are left out";
    return absl::OkStatus();
  }
  range.begin = begin;
  range.end = std::max(range.end, begin);
  return absl::OkStatus();
}

}  // namespace millrace
