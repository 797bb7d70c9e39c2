#include "io/window/kafka_window_source.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "io/kafka/kafka_offsets.h"
#include "io/kafka/kafka_path.h"
#include "io/kafka/kafka_payload.h"
#include "io/window/time_window_source.h"
#include "proto/config_variables.h"

namespace millrace {
namespace {

std::string key_of(const WindowPosition& position) {
  return absl::StrJoin(position.next_offset(), ",");
}

}  // namespace

absl::StatusOr<std::unique_ptr<KafkaWindowSource>> KafkaWindowSource::create(
    FileSystem& files, const KafkaWindows& config, Clock& clock) {
  // A look needs single records: more of them take long over a slow network. Options of the
  // configuration come later, and count.
  KafkaWindows resolved = config;
  resolved.clear_option();
  if (config.bytes() == 0) resolved.add_option("fetch.message.max.bytes=65536");
  resolved.mutable_option()->MergeFrom(config.option());
  RETURN_IF_ERROR(resolve_secrets("windows.kafka", &resolved));
  if (!config.bad_records().empty()) {
    // A mistake in the path must not end a run at its first bad record.
    RETURN_IF_ERROR(files.open_for_append(config.bad_records()).status(),
                    "windows.kafka.bad_records");
  }
  std::shared_ptr<KafkaTopic> topic = KafkaTopic::shared(resolved);
  RETURN_IF_ERROR(topic->with_consumer([](KafkaConsumer&) { return absl::OkStatus(); }));
  return std::unique_ptr<KafkaWindowSource>(
      new KafkaWindowSource(config, read_start_offsets(files, config), std::move(topic), clock));
}

std::string KafkaWindowSource::path_of(const std::string& name) const {
  return absl::StrCat("kafka://", config_.topic(), "/", name);
}

void KafkaWindowSource::set_format(const WindowPosition&, DataConfig& data) const {
  KafkaWindows topic = config_;
  *topic.mutable_payload() = kafka_payload_of(config_, data);
  data.clear_format();
  data.mutable_custom_format()->set_name("kafka");
  *data.mutable_custom_format()->MutableExtension(kafka) = std::move(topic);
}

void KafkaWindowSource::saved(const WindowPosition& position) {
  if (config_.group().empty() || position.next_offset_size() == 0) return;
  const std::vector<int64_t> offsets(position.next_offset().begin(), position.next_offset().end());
  const absl::Status committed =
      topic_->with_consumer([&](KafkaConsumer& consumer) { return consumer.commit(offsets); });
  if (!committed.ok()) {
    MILLRACE_LOG(WARNING) << "offsets are not committed to group " << config_.group()
                          << ", which shows an older lag: " << committed.message();
  }
}

std::vector<StreamFigure> KafkaWindowSource::figures() const {
  const KafkaCounters& counters = KafkaCounters::of(config_.topic());
  std::vector<StreamFigure> figures = {
      {"kafka_bytes", static_cast<double>(counters.bytes)},
      {"kafka_retries", static_cast<double>(counters.retries)},
  };
  if (lag_ >= 0) figures.push_back({"kafka_lag_records", static_cast<double>(lag_)});
  if (const int64_t last = counters.last_time_ms; last > 0) {
    const double seconds = absl::ToDoubleSeconds(clock_.now() - absl::FromUnixMillis(last));
    figures.push_back({"kafka_lag_seconds", std::max(0.0, seconds), StreamFigure::kMin});
  }
  return figures;
}

absl::Status KafkaWindowSource::note_start(WindowPosition& position) {
  ASSIGN_OR_RETURN(const Offsets given, start_offsets_);
  const int64_t count = given.empty() ? 1 : given.rbegin()->first + 1;
  for (int64_t partition = 0; partition < count; ++partition) {
    const auto start = given.find(partition);
    position.add_start_offset(start == given.end() ? -1 : start->second);
  }
  const absl::Status looked = topic_->with_consumer([&](KafkaConsumer& consumer) -> absl::Status {
    ASSIGN_OR_RETURN(Ranges ranges, ready(consumer, position));
    return consumer.extend(/*wanted=*/1, &ranges);
  });
  first_.clear();  // partitions that are not given begin where they begin then
  if (!absl::IsUnavailable(looked)) return annotate(looked, "windows.kafka.start_offsets");
  MILLRACE_LOG(WARNING) << "the topic behind the files was not looked at: " << looked.message();
  return absl::OkStatus();
}

absl::StatusOr<Found> KafkaWindowSource::find(bool no_more, WindowPosition& position) {
  if (position.next_offset_size() == 0) RETURN_IF_ERROR(given_offsets(position).status());
  Ranges ranges;
  Found found = Found::kNotYet;
  RETURN_IF_ERROR(topic_->with_consumer([&](KafkaConsumer& consumer) {
    const absl::StatusOr<Found> looked = next_ranges(consumer, no_more, position, &ranges);
    // Gone records do not come back, nor is a configuration mended.
    if (absl::IsOutOfRange(looked.status()) || absl::IsInvalidArgument(looked.status())) {
      return looked.status();
    }
    if (looked.ok()) {
      found = *looked;
    } else {
      waits_for_ = absl::StrCat("Kafka: ", looked.status().message());
      ++news_;  // an outage is no time without records
    }
    return patience_.note(looked.status());
  }));
  if (found != Found::kWindow) return found;
  position.clear_file();
  position.clear_next_offset();
  position.clear_start_offset();
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
  // Reported ends may be too low. How many records of a partition a window of bytes takes is not
  // known before they are read: there, an end limits what is taken of its partition.
  if (config_.bytes() == 0 || size_of(*ranges) < config_.records()) {
    RETURN_IF_ERROR(consumer.extend(needed_for_cut(config_.records(), *ranges), ranges));
  }
  const int64_t records = lag_ = size_of(*ranges);
  int64_t end = 0;
  for (const KafkaOffsets& range : *ranges) end += range.end;
  news_ += end != std::exchange(end_, end) ? 1 : 0;
  Measure measure = Measure::kRest;
  std::string size = absl::StrCat(records, " of ", config_.records());
  if (config_.bytes() > 0 && records > 0) {
    ASSIGN_OR_RETURN(measure, cut_to_bytes(consumer, position, ranges));
    absl::StrAppend(&size, ", ", measured_.bytes, " bytes of ", config_.bytes());
  } else {
    cut(config_.records(), ranges);
  }
  const bool is_ready = no_more || measure == Measure::kFull || is_due(records, position);
  if (records == 0 || measure == Measure::kGoesOn || !is_ready) {
    waits_for_ = absl::StrCat("records of topic ", config_.topic(), " (", size, " are there)");
    return no_more && records == 0 ? Found::kEnded : Found::kNotYet;
  }
  RETURN_IF_ERROR(consumer.confirm(*ranges));
  return Found::kWindow;
}

// Gives each partition an equal share of the bytes that are left, until no share holds a record.
absl::StatusOr<KafkaWindowSource::Measure> KafkaWindowSource::cut_to_bytes(
    KafkaConsumer& consumer, const WindowPosition& position, Ranges* ranges) {
  constexpr int64_t kAtOnce = 1000;  // records
  Measured& at = measured_;
  if (at.position != key_of(position) || at.ends.size() > ranges->size()) {
    at = Measured();
    at.position = key_of(position);
  }
  for (size_t i = at.ends.size(); i < ranges->size(); ++i) at.ends.push_back((*ranges)[i].begin);
  const absl::Duration limit = Clock::real().elapsed() + absl::Seconds(1);
  bool is_full = false, goes_on = false;
  // A record that is larger than a window makes one.
  const auto fits = [&](int64_t size, int64_t share) {
    return at.records < config_.records() && (at.records == 0 || size <= share);
  };
  int64_t parts = static_cast<int64_t>(ranges->size());
  for (bool any = true; any && !goes_on;) {
    any = is_full = false;
    const int64_t each = (config_.bytes() - at.bytes) / parts;
    for (size_t i = 0; i < ranges->size() && !goes_on; ++i) {
      int64_t share = std::min(each, config_.bytes() - at.bytes);
      int64_t end = std::max(at.ends[i], (*ranges)[i].begin);
      bool has_room = true;
      while (has_room && end < (*ranges)[i].end) {
        const int64_t stop = std::min((*ranges)[i].end, end + kAtOnce);
        const absl::Status read =
            consumer.read(static_cast<int32_t>(i), end, stop, [&](const KafkaRecord& record) {
              const auto size = static_cast<int64_t>(record.value.size());
              has_room &= fits(size, share);
              if (!has_room) return;
              share -= size;
              at.bytes += size;
              ++at.records;
              at.ends[i] = record.offset + 1;
              any = true;
            });
        // Retention was faster than this look; the next one begins behind what is gone.
        if (absl::IsOutOfRange(read) && config_.missing() == KafkaWindows::SKIP) {
          return absl::UnavailableError(read.message());
        }
        RETURN_IF_ERROR(read);
        if (has_room) at.ends[i] = stop;
        end = at.ends[i];
        goes_on = Clock::real().elapsed() > limit;
        if (goes_on) break;
      }
      is_full |= !has_room;
    }
    // In the last rounds, a partition may use all bytes that the equal shares left.
    if (!any && parts > 1) {
      parts = 1;
      any = true;
    }
  }
  for (size_t i = 0; i < ranges->size(); ++i) {
    (*ranges)[i].end = std::max(at.ends[i], (*ranges)[i].begin);
  }
  if (goes_on) return Measure::kGoesOn;
  return is_full ? Measure::kFull : Measure::kRest;
}

bool KafkaWindowSource::is_due(int64_t records, const WindowPosition& position) {
  if (records >= config_.records()) return true;
  const std::string key = key_of(position);
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
    ASSIGN_OR_RETURN(first_, first_offsets(consumer, position, ranges));
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
absl::StatusOr<std::vector<int64_t>> KafkaWindowSource::first_offsets(
    KafkaConsumer& consumer, const WindowPosition& position, const Ranges& all) const {
  std::vector<int64_t> first = first_;
  Ranges ends = all;
  const bool at_end = config_.start() == KafkaWindows::LATEST && !config_.has_start_time();
  if (at_end && first.empty()) {
    constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
    RETURN_IF_ERROR(consumer.extend(kAll, &ends));
  }
  ASSIGN_OR_RETURN(const Offsets given, given_offsets(position));
  if (!given.empty() && given.rbegin()->first >= static_cast<int64_t>(all.size())) {
    return absl::InvalidArgumentError(absl::StrCat("windows.kafka.start_offsets: partition ",
                                                   given.rbegin()->first, " is none of the ",
                                                   all.size(), " of topic ", config_.topic()));
  }
  for (size_t partition = first.size(); partition < all.size(); ++partition) {
    const auto start = given.find(static_cast<int64_t>(partition));
    if (start != given.end()) {
      first.push_back(start->second);
    } else if (config_.has_start_time()) {
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

absl::StatusOr<KafkaWindowSource::Offsets> KafkaWindowSource::given_offsets(
    const WindowPosition& position) const {
  if (position.start_offset_size() == 0) return start_offsets_;
  Offsets offsets;
  for (int partition = 0; partition < position.start_offset_size(); ++partition) {
    const int64_t offset = position.start_offset(partition);
    if (offset >= 0) offsets[partition] = offset;
  }
  return offsets;
}

absl::StatusOr<KafkaWindowSource::Offsets> KafkaWindowSource::read_start_offsets(
    FileSystem& files, const KafkaWindows& config) {
  Offsets offsets;
  if (!config.has_start_offsets()) return offsets;
  ASSIGN_OR_RETURN(const std::string text, read_file(files, config.start_offsets()),
                   "windows.kafka.start_offsets");
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto bad = [&](absl::string_view what) {
    return absl::InvalidArgumentError(
        absl::StrCat("windows.kafka.start_offsets: ", config.start_offsets(), ": ", what));
  };
  if (!json.is_object() || !json.contains("offsets") || !json["offsets"].is_object()) {
    return bad("it is not {\"topic\": NAME, \"offsets\": {\"PARTITION\": OFFSET}}");
  }
  if (json.contains("topic") && json["topic"] != config.topic()) {
    return bad(absl::StrCat("it is of topic ", json["topic"].dump()));
  }
  for (const auto& [name, offset] : json["offsets"].items()) {
    int64_t partition = 0;
    if (!absl::SimpleAtoi(name, &partition) || partition < 0 || !offset.is_number_integer() ||
        offset.get<int64_t>() < 0) {
      return bad(absl::StrCat("\"", name, "\": ", offset.dump(), " is no partition and offset"));
    }
    offsets[partition] = offset.get<int64_t>();
  }
  return offsets;
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
