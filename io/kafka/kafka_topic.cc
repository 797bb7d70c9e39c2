#include "io/kafka/kafka_topic.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "io/kafka/kafka_library.h"
#include "proto/field_check.h"

namespace millrace {
namespace {

constexpr int kCallMs = 5000;  // limit of one question to the brokers
constexpr int kPollMs = 100;
constexpr int kCommitMs = 2000;
constexpr absl::Duration kSayWaiting = absl::Seconds(5), kSayAgain = absl::Minutes(1);
constexpr absl::Duration kMostOther = absl::Seconds(10);  // for failures but silence

// Options that windows rest on: nothing is committed but by commit(), read from elsewhere, or left
// out.
constexpr std::pair<const char*, const char*> kOwnOptions[] = {
    {"auto.offset.reset", "error"},        {"enable.auto.commit", "false"},
    {"enable.auto.offset.store", "false"}, {"enable.partition.eof", "true"},
    {"isolation.level", "read_committed"},
};
// Options that the fields `brokers` and `group` stand for.
constexpr const char* kFields[] = {"bootstrap.servers", "metadata.broker.list", "group.id"};

// Returns NAME and VALUE of NAME=VALUE.
std::pair<std::string, std::string> split_option(const std::string& option) {
  return absl::StrSplit(option, absl::MaxSplits('=', 1));
}

template <auto KafkaLibrary::*destroy>
struct Destroy {
  template <typename T>
  void operator()(T* object) const {
    (library->*destroy)(object);
  }
  const KafkaLibrary* library;
};

using Partitions = std::unique_ptr<rd_kafka_topic_partition_list_t,
                                   Destroy<&KafkaLibrary::topic_partition_list_destroy_>>;
using Message = std::unique_ptr<rd_kafka_message_t, Destroy<&KafkaLibrary::message_destroy_>>;

// Refused rights, and brokers that the library cannot speak to.
bool is_refusal(rd_kafka_resp_err_t error) {
  switch (error) {
    case RD_KAFKA_RESP_ERR__AUTHENTICATION:
    case RD_KAFKA_RESP_ERR__SSL:
    case RD_KAFKA_RESP_ERR__FATAL:
    case RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE:
    case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED:
    case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
    case RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION: return true;
    default: return false;
  }
}

bool is_unknown_topic(rd_kafka_resp_err_t error) {
  return error == RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART ||
         error == RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC || error == RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
}

class Consumer : public KafkaConsumer {
 public:
  Consumer(const KafkaLibrary& library, const KafkaWindows& config)
      : library_(library),
        config_(config),
        where_(absl::StrCat("topic ", config.topic(), " at ", config.brokers())) {}

  absl::Status start() {
    rd_kafka_conf_t* const conf = library_.conf_new_();
    absl::Status set = set_options(conf);
    library_.conf_set_opaque_(conf, this);
    library_.conf_set_error_cb_(conf, &Consumer::note_error);
    library_.conf_set_log_cb_(conf, &Consumer::note_log);
    char error[512] = "";
    if (set.ok()) client_ = library_.new_(RD_KAFKA_CONSUMER, conf, error, sizeof(error));
    if (client_ == nullptr) {
      library_.conf_destroy_(conf);
      if (!set.ok()) return set;
      return absl::InvalidArgumentError(absl::StrCat("windows.kafka: ", error));
    }
    library_.poll_set_consumer_(client_);
    topic_ = library_.topic_new_(client_, config_.topic().c_str(), nullptr);
    if (topic_ == nullptr) return absl::InvalidArgumentError("windows.kafka.topic is refused");
    return absl::OkStatus();
  }

  ~Consumer() override {
    if (topic_ != nullptr) library_.topic_destroy_(topic_);
    if (client_ != nullptr) {
      library_.destroy_flags_(client_, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE);
    }
  }

  absl::StatusOr<int32_t> partitions() override {
    const rd_kafka_metadata_t* metadata = nullptr;
    rd_kafka_resp_err_t error = library_.metadata_(client_, 0, topic_, &metadata, kCallMs);
    int32_t count = 0;
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
      const bool is_there = metadata->topic_cnt == 1 && metadata->topics[0].partition_cnt > 0;
      if (metadata->topic_cnt == 1) error = metadata->topics[0].err;
      if (error == RD_KAFKA_RESP_ERR_NO_ERROR && !is_there) {
        error = RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART;
      }
      if (is_there) count = metadata->topics[0].partition_cnt;
      library_.metadata_destroy_(metadata);
    }
    RETURN_IF_ERROR(reply(error));
    return count;
  }

  absl::StatusOr<KafkaOffsets> offsets(int32_t partition) override {
    KafkaOffsets offsets;
    RETURN_IF_ERROR(reply(library_.query_watermark_offsets_(
        client_, config_.topic().c_str(), partition, &offsets.begin, &offsets.end, kCallMs)));
    return offsets;
  }

  absl::Status confirm(std::vector<KafkaOffsets> ranges) override {
    return look_behind_ends(/*wanted=*/0, &ranges);
  }

  absl::Status extend(int64_t wanted, std::vector<KafkaOffsets>* ranges) override {
    return look_behind_ends(wanted, ranges);
  }

  absl::StatusOr<int64_t> offset_at(int32_t partition, absl::Time time) override {
    const Partitions asked = one(partition, absl::ToUnixMillis(time));
    RETURN_IF_ERROR(reply(library_.offsets_for_times_(client_, asked.get(), kCallMs)));
    RETURN_IF_ERROR(reply(asked->elems[0].err));
    constexpr int64_t kAll = std::numeric_limits<int64_t>::max();
    std::vector<KafkaOffsets> ranges(partition + 1, {.begin = 0, .end = kAll});
    KafkaOffsets& all = ranges.back();
    ASSIGN_OR_RETURN(all, offsets(partition));
    RETURN_IF_ERROR(extend(kAll, &ranges));
    const int64_t found = asked->elems[0].offset;
    if (found < 0 || found >= all.end) return all.end;
    // One broker names the first record if all are earlier.
    bool is_later = true;
    RETURN_IF_ERROR(read(partition, found, found + 1, [&](const KafkaRecord& record) {
      is_later = record.time_ms >= absl::ToUnixMillis(time);
    }));
    return is_later ? found : all.end;
  }

  absl::Status read(int32_t partition, int64_t begin, int64_t end,
                    const std::function<void(const KafkaRecord&)>& visit) override {
    if (begin >= end) return absl::OkStatus();
    if (partition != partition_ || begin != next_) {
      RETURN_IF_ERROR(assign(*one(partition, begin)));
      partition_ = partition;
      next_ = begin;
    }
    KafkaPatience patience(config_, Clock::real());
    while (next_ < end) {
      const absl::StatusOr<Message> polled = poll();
      if (absl::IsOutOfRange(polled.status())) return polled.status();
      const bool is_silent = polled.ok() && *polled == nullptr;
      RETURN_IF_ERROR(
          patience.note(is_silent ? failure(RD_KAFKA_RESP_ERR__TIMED_OUT) : polled.status()));
      if (is_silent || !polled.ok()) continue;
      const rd_kafka_message_t& message = **polled;
      // Others are of an assignment before this one.
      if (message.partition != partition || message.offset < next_) continue;
      if (message.err == RD_KAFKA_RESP_ERR__PARTITION_EOF) {
        next_ = message.offset;
      } else if (message.offset >= end) {
        partition_ = -1;  // the next call reads this record again
        break;
      } else {
        next_ = message.offset + 1;
        visit(record_of(message));
      }
    }
    return absl::OkStatus();
  }

  absl::Status commit(absl::Span<const int64_t> offsets) override {
    const Partitions list(library_.topic_partition_list_new_(static_cast<int>(offsets.size())),
                          {&library_});
    for (size_t i = 0; i < offsets.size(); ++i)
      add(static_cast<int32_t>(i), offsets[i], list.get());
    rd_kafka_queue_t* const queue = library_.queue_new_(client_);
    rd_kafka_resp_err_t error =
        library_.commit_queue_(client_, list.get(), queue, nullptr, nullptr);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
      rd_kafka_event_t* const event = library_.queue_poll_(queue, kCommitMs);
      error = event == nullptr ? RD_KAFKA_RESP_ERR__TIMED_OUT : library_.event_error_(event);
      if (event != nullptr) library_.event_destroy_(event);
    }
    library_.queue_destroy_(queue);
    return error == RD_KAFKA_RESP_ERR_NO_ERROR ? absl::OkStatus() : failure(error);
  }

  // Reads nothing ahead from now on.
  void release() {
    const Partitions none(library_.topic_partition_list_new_(1), {&library_});
    assign(*none).IgnoreError();
  }

 private:
  absl::Status set_option(rd_kafka_conf_t* conf, const std::string& name,
                          const std::string& value) const {
    char error[512] = "";
    if (library_.conf_set_(conf, name.c_str(), value.c_str(), error, sizeof(error)) ==
        RD_KAFKA_CONF_OK) {
      return absl::OkStatus();
    }
    // The value may be a secret.
    return absl::InvalidArgumentError(absl::StrCat("windows.kafka.option: librdkafka ",
                                                   library_.version_str_(), " refuses ", name));
  }

  absl::Status set_options(rd_kafka_conf_t* conf) const {
    RETURN_IF_ERROR(set_option(conf, "bootstrap.servers", config_.brokers()));
    RETURN_IF_ERROR(
        set_option(conf, "group.id", config_.group().empty() ? "millrace" : config_.group()));
    // How long a question for the records of one partition holds up that for another one's.
    RETURN_IF_ERROR(set_option(conf, "fetch.wait.max.ms", "50"));
    // A broker that is back is used soon.
    RETURN_IF_ERROR(set_option(conf, "reconnect.backoff.max.ms", "2000"));
    // What a consumer reads ahead: each reader of each rank has one.
    RETURN_IF_ERROR(set_option(conf, "queued.max.messages.kbytes", "16384"));
    for (const std::string& option : config_.option()) {
      const auto [name, value] = split_option(option);
      RETURN_IF_ERROR(set_option(conf, name, value));
    }
    for (const auto& [name, value] : kOwnOptions) RETURN_IF_ERROR(set_option(conf, name, value));
    return absl::OkStatus();
  }

  // confirm() if `wanted` is 0, else extend().
  absl::Status look_behind_ends(int64_t wanted, std::vector<KafkaOffsets>* ranges) {
    const Partitions assigned(library_.topic_partition_list_new_(1), {&library_});
    std::vector<uint8_t> waits(ranges->size());
    for (size_t partition = 0; partition < ranges->size(); ++partition) {
      const auto [begin, end] = (*ranges)[partition];
      if (wanted == 0 ? begin >= end : end - begin >= wanted) continue;
      waits[partition] = 1;
      add(static_cast<int32_t>(partition), end, assigned.get());
    }
    int count = assigned->cnt;
    if (count == 0) return absl::OkStatus();
    RETURN_IF_ERROR(assign(*assigned));
    absl::Status trouble;
    absl::Duration limit = Clock::real().elapsed() + absl::Milliseconds(kCallMs);
    while (count > 0 && Clock::real().elapsed() < limit) {
      const absl::StatusOr<Message> message = poll();
      trouble = message.status();
      if (absl::IsOutOfRange(trouble)) break;
      if (!message.ok() || *message == nullptr) continue;
      const auto partition = static_cast<size_t>((*message)->partition);
      // Partitions that are done send more, which is no reason to wait for the others.
      if (partition >= ranges->size() || waits[partition] == 0) continue;
      KafkaOffsets& range = (*ranges)[partition];
      const bool is_end = (*message)->err == RD_KAFKA_RESP_ERR__PARTITION_EOF;
      if ((*message)->offset < range.end) continue;  // of an assignment before this one
      limit = Clock::real().elapsed() + absl::Milliseconds(kCallMs);
      if (wanted > 0) range.end = (*message)->offset + (is_end ? 0 : 1);
      // A record, or the end of the partition, proves that reading reaches the end of the range.
      waits[partition] = !is_end && range.end - range.begin < wanted;
      count -= waits[partition] == 0 ? 1 : 0;
    }
    release();
    if (absl::IsOutOfRange(trouble)) {
      return absl::FailedPreconditionError(absl::StrCat(
          trouble.message(), ": the topic was made anew, or lost records; start a new job"));
    }
    if (count == 0) return absl::OkStatus();
    return trouble.ok() ? failure(RD_KAFKA_RESP_ERR__TIMED_OUT) : trouble;
  }

  static Consumer& self(rd_kafka_t* client, void* opaque) {
    return *static_cast<Consumer*>(opaque);
  }

  // Called by functions of the library that this thread calls.
  static void note_error(rd_kafka_t* client, int error, const char* reason, void* opaque) {
    self(client, opaque).note(static_cast<rd_kafka_resp_err_t>(error), reason);
  }

  // Called by threads of the library.
  static void note_log(const rd_kafka_t* client, int level, const char*, const char* text) {
    if (level > 4) return;  // LOG_WARNING
    auto& consumer = *static_cast<Consumer*>(KafkaLibrary::get().value()->opaque_(client));
    MutexLock lock(consumer.mutex_);
    consumer.last_log_ = text;
  }

  void note(rd_kafka_resp_err_t error, absl::string_view reason) {
    MutexLock lock(mutex_);
    is_refused_ |= is_refusal(error);
    // The reason is known already; that all brokers are down adds nothing.
    if (error == RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN && !last_log_.empty()) return;
    last_log_ = std::string(reason);
  }

  void note_answer() {
    MutexLock lock(mutex_);
    is_refused_ = false;
    last_log_.clear();
  }

  // Returns the error of a call that gave `error`.
  absl::Status failure(rd_kafka_resp_err_t error) {
    if (is_unknown_topic(error)) {
      return absl::NotFoundError(absl::StrCat(where_, " does not exist; create it"));
    }
    MutexLock lock(mutex_);
    std::string what =
        absl::StrCat(where_, " (librdkafka ", library_.version_str_(),
                     "): ", last_log_.empty() ? library_.err2str_(error) : last_log_);
    if (absl::StrContains(last_log_, "ApiVersionRequest failed")) {
      const std::string carried = KafkaLibrary::carried();
      absl::StrAppend(&what, "; the broker may need a newer library: let MILLRACE_LIBRDKAFKA name ",
                      carried.empty() || carried == library_.name ? "one" : carried);
    }
    if (is_refused_ || is_refusal(error)) return absl::FailedPreconditionError(what);
    return absl::UnavailableError(what);
  }

  // Returns the result of a call outside of poll(), where the library calls note_error().
  absl::Status reply(rd_kafka_resp_err_t error) {
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
      note_answer();
      return absl::OkStatus();
    }
    const Message message(library_.consumer_poll_(client_, 0), {&library_});
    if (message != nullptr) partition_ = -1;  // the record is read again
    return failure(error);
  }

  void add(int32_t partition, int64_t offset, rd_kafka_topic_partition_list_t* list) const {
    library_.topic_partition_list_add_(list, config_.topic().c_str(), partition)->offset = offset;
  }

  Partitions one(int32_t partition, int64_t offset) const {
    Partitions list(library_.topic_partition_list_new_(1), {&library_});
    add(partition, offset, list.get());
    return list;
  }

  // Reads these partitions, from their offsets, from now on.
  absl::Status assign(const rd_kafka_topic_partition_list_t& list) {
    partition_ = -1;
    const rd_kafka_resp_err_t error = library_.assign_(client_, &list);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) return absl::OkStatus();
    return absl::InternalError(absl::StrCat(where_, ": ", library_.err2str_(error)));
  }

  // Returns a record or an end (PARTITION_EOF) of an assigned partition; null: neither came for a
  // moment. Errors: OutOfRange if the brokers do not have the offset.
  absl::StatusOr<Message> poll() {
    Message message(library_.consumer_poll_(client_, kPollMs), {&library_});
    if (message == nullptr) return message;
    const rd_kafka_resp_err_t error = message->err;
    if (error == RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET ||
        error == RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE) {
      partition_ = -1;
      return absl::OutOfRangeError(absl::StrCat(where_, ", partition ", message->partition,
                                                ": offset ", message->offset, " is not there"));
    }
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR && error != RD_KAFKA_RESP_ERR__PARTITION_EOF) {
      return failure(error);
    }
    note_answer();
    return message;
  }

  KafkaRecord record_of(const rd_kafka_message_t& message) const {
    KafkaRecord record{.offset = message.offset};
    rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
    record.time_ms = library_.message_timestamp_(&message, &type);
    record.key = {static_cast<const char*>(message.key), message.key_len};
    record.value = {static_cast<const char*>(message.payload), message.len};
    return record;
  }

  const KafkaLibrary& library_;
  const KafkaWindows config_;
  const std::string where_;  // for messages
  rd_kafka_t* client_ = nullptr;
  rd_kafka_topic_t* topic_ = nullptr;
  int32_t partition_ = -1;  // that is assigned; -1: none
  int64_t next_ = 0;        // the next offset of it
  Mutex mutex_;
  std::string last_log_ ABSL_GUARDED_BY(mutex_);
  bool is_refused_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace

absl::StatusOr<std::unique_ptr<KafkaConsumer>> KafkaConsumer::create(const KafkaWindows& config) {
  ASSIGN_OR_RETURN(const KafkaLibrary* const library, KafkaLibrary::get());
  auto consumer = std::make_unique<Consumer>(*library, config);
  RETURN_IF_ERROR(consumer->start());
  return std::unique_ptr<KafkaConsumer>(std::move(consumer));
}

KafkaCounters& KafkaCounters::of(const std::string& topic) {
  static auto& mutex = *new Mutex;
  static auto& counters = *new std::map<std::string, KafkaCounters>;
  MutexLock lock(mutex);
  return counters[topic];
}

void KafkaCounters::note(const KafkaRecord& record) {
  bytes += static_cast<int64_t>(record.value.size());
  int64_t last = last_time_ms;
  if (record.time_ms <= last || record.time_ms > absl::ToUnixMillis(absl::Now())) return;
  while (record.time_ms > last && !last_time_ms.compare_exchange_weak(last, record.time_ms)) {
  }
}

std::vector<std::string> KafkaTopic::samples() {
  MutexLock lock(mutex_);
  return samples_;
}

void KafkaTopic::set_samples(std::vector<std::string> samples) {
  MutexLock lock(mutex_);
  if (samples_.empty()) samples_ = std::move(samples);
}

absl::Status KafkaPatience::note(const absl::Status& result) {
  if (result.ok()) {
    since_.reset();
    return result;
  }
  ++counters_.retries;
  const absl::Duration now = clock_.elapsed();
  if (!since_.has_value()) {
    since_ = now;
    said_ = now + kSayWaiting;
  }
  const bool is_silence = absl::IsUnavailable(result);
  if (now - *since_ >= (is_silence ? timeout_ : std::min(timeout_, kMostOther))) {
    if (!is_silence) return result;
    return absl::UnavailableError(absl::StrCat("no broker answered for ",
                                               absl::ToDoubleSeconds(timeout_),
                                               " s (timeout_seconds): ", result.message()));
  }
  if (now >= said_) {
    said_ = now + kSayAgain;
    MILLRACE_LOG(WARNING) << "waiting for Kafka: " << result.message();
  }
  return absl::OkStatus();
}

std::shared_ptr<KafkaTopic> KafkaTopic::shared(const KafkaWindows& config) {
  static auto& mutex = *new Mutex;
  static auto& topics = *new std::map<std::string, std::weak_ptr<KafkaTopic>>;
  MutexLock lock(mutex);
  std::weak_ptr<KafkaTopic>& known = topics[config.SerializeAsString()];
  std::shared_ptr<KafkaTopic> topic = known.lock();
  if (topic == nullptr) known = topic = std::make_shared<KafkaTopic>(config);
  return topic;
}

absl::Status KafkaTopic::with_consumer(const std::function<absl::Status(KafkaConsumer&)>& use) {
  std::unique_ptr<KafkaConsumer> consumer;
  {
    MutexLock lock(mutex_);
    if (!idle_.empty()) {
      consumer = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (consumer == nullptr) {
    ASSIGN_OR_RETURN(consumer, KafkaConsumer::create(config_));
  }
  RETURN_IF_ERROR(use(*consumer));
  MutexLock lock(mutex_);
  idle_.push_back(std::move(consumer));
  return absl::OkStatus();
}

absl::Status check_kafka(absl::string_view where, const KafkaWindows& config) {
  if (config.brokers().empty()) return wrong(where, "brokers is missing; write HOST:PORT");
  for (const absl::string_view broker : absl::StrSplit(config.brokers(), ',')) {
    const size_t colon = broker.rfind(':');
    int32_t port = 0;
    if (colon != absl::string_view::npos && colon > 0 &&
        absl::SimpleAtoi(broker.substr(colon + 1), &port) && port > 0 && port < 65536) {
      continue;
    }
    return wrong(where, absl::StrCat("brokers has \"", broker, "\"; write HOST:PORT"));
  }
  if (config.topic().empty()) return wrong(where, "topic is missing");
  for (const char c : config.topic()) {
    if (absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-') continue;
    return wrong(where, absl::StrCat("topic is \"", config.topic(),
                                     "\"; a topic has letters, digits, ., _ and -"));
  }
  if (config.has_start() + config.has_start_time() + config.has_start_offsets() > 1) {
    return wrong(where, "start, start_time and start_offsets say where to begin; set one of them");
  }
  for (const std::string& option : config.option()) {
    const std::string name = split_option(option).first;
    // What is given may be a secret.
    if (!absl::StrContains(option, '=') || name.empty() || absl::StrContains(name, '$')) {
      return wrong(where, "an option is not NAME=VALUE");
    }
    for (const absl::string_view field : kFields) {
      if (name == field)
        return wrong(where, absl::StrCat("option ", name, ": set ",
                                         name == "group.id" ? "group" : "brokers", " instead"));
    }
    for (const auto& [own, value] : kOwnOptions) {
      if (name != own) continue;
      return wrong(where, absl::StrCat("option ", name, " is ", value, " for windows; remove it"));
    }
  }
  return absl::OkStatus();
}

}  // namespace millrace
