#include "distributed/thread_collectives.h"

#include <c10/core/ScalarType.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/catch_exceptions.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

// Channel and ordinal of a collective.
using MeetingKey = std::pair<Channel, int64_t>;
// Bytes for each rank, by rank, or one element for all ranks.
using Messages = std::vector<std::string>;

// One collective: the messages of each rank.
struct ThreadMeeting {
  explicit ThreadMeeting(int world_size) : brought(world_size) {}
  std::string what;                              // must be the same on all ranks
  absl::Status mismatch;                         // the error if it is not
  std::vector<std::optional<Messages>> brought;  // by rank
  int missing() const {
    int count = 0;
    for (const auto& messages : brought) count += messages.has_value() ? 0 : 1;
    return count;
  }
};

// The content of received buffers until the exchange ends. Fills at least kLeastPoison bytes, so
// that a reader of an empty buffer also finds an error.
constexpr char kPoison = '\xa5';
constexpr size_t kLeastPoison = 64;

void poison(ByteBuffer& buffer) {
  buffer.resize(std::max(buffer.size(), kLeastPoison));
  std::memset(buffer.data(), kPoison, buffer.size());
}

struct RankState {
  RankPhase phase = RankPhase::kStart;
  int64_t step = 0;
  bool left = false;
};

// The shared state of all ranks.
class World {
 public:
  World(int world_size, absl::Duration timeout)
      : world_size_(world_size), timeout_(timeout), ranks_(world_size) {}

  int world_size() const { return world_size_; }

  void set_phase(int rank, RankPhase phase, int64_t step) {
    MutexLock lock(mutex_);
    ranks_[rank].phase = phase;
    ranks_[rank].step = step;
  }

  RankState state(int rank) {
    MutexLock lock(mutex_);
    return ranks_[rank];
  }

  void fail(int rank, absl::string_view message) {
    MutexLock lock(mutex_);
    if (!failure_.ok()) return;
    failure_ = peer_error(rank, ranks_[rank].phase, ranks_[rank].step, message);
  }

  absl::Status failure() {
    MutexLock lock(mutex_);
    return failure_;
  }

  void leave(int rank) {
    MutexLock lock(mutex_);
    ranks_[rank].left = true;
  }

  // Adds the messages of rank `rank` to the meeting `ordinal` of a channel.
  void bring(int rank, Channel channel, int64_t ordinal, const std::string& what,
             Messages messages) {
    MutexLock lock(mutex_);
    ThreadMeeting& meeting = meetings_.try_emplace({channel, ordinal}, world_size_).first->second;
    if (meeting.what.empty()) meeting.what = what;
    if (meeting.what != what && meeting.mismatch.ok()) {
      meeting.mismatch =
          peer_error(rank, ranks_[rank].phase, ranks_[rank].step,
                     absl::StrCat("it starts ", what, " where others start ", meeting.what));
    }
    meeting.brought[rank] = std::move(messages);
  }

  // Waits for all ranks. Returns their messages for this rank, by rank. The meeting exists until
  // every rank has taken its messages.
  absl::StatusOr<std::vector<std::string>> take(int rank, Channel channel, int64_t ordinal) {
    MutexLock lock(mutex_);
    const MeetingKey key(channel, ordinal);
    ThreadMeeting& meeting = meetings_.at(key);
    const auto settled = [&] {
      return !failure_.ok() || !meeting.mismatch.ok() || meeting.missing() == 0 ||
             gone(meeting) >= 0;
    };
    while (!mutex_.await_for(timeout_, settled)) {
      failure_ = timed_out(meeting);
    }
    RETURN_IF_ERROR(meeting.mismatch);
    // A complete meeting takes precedence over a failure, because it has all messages.
    if (meeting.missing() > 0) {
      RETURN_IF_ERROR(failure_);
      const int left = gone(meeting);
      failure_ = peer_error(left, ranks_[left].phase, ranks_[left].step, "it left the job");
      return failure_;
    }
    std::vector<std::string> all;
    for (const std::optional<Messages>& messages : meeting.brought) {
      all.push_back(messages->size() == 1 ? messages->front() : messages->at(rank));
    }
    // The last rank removes the meeting, which other ranks still read before.
    if (++taken_[key] == world_size_) {
      meetings_.erase(key);
      taken_.erase(key);
    }
    return all;
  }

 private:
  // Returns a rank that has left without coming to the meeting; -1 if there is none.
  int gone(const ThreadMeeting& meeting) const ABSL_NO_THREAD_SAFETY_ANALYSIS {
    for (int rank = 0; rank < world_size_; ++rank) {
      if (!meeting.brought[rank].has_value() && ranks_[rank].left) return rank;
    }
    return -1;
  }

  // Returns the error of a missing rank. A rank in an unlimited phase may exceed the timeout
  // without a fault.
  absl::Status timed_out(const ThreadMeeting& meeting) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (int rank = 0; rank < world_size_; ++rank) {
      if (meeting.brought[rank].has_value() || is_unlimited(ranks_[rank].phase)) continue;
      return peer_error(rank, ranks_[rank].phase, ranks_[rank].step,
                        absl::StrCat("it did not take part for ", absl::FormatDuration(timeout_)));
    }
    return absl::OkStatus();
  }

  const int world_size_;
  const absl::Duration timeout_;
  Mutex mutex_;
  std::vector<RankState> ranks_ ABSL_GUARDED_BY(mutex_);
  std::map<MeetingKey, ThreadMeeting> meetings_ ABSL_GUARDED_BY(mutex_);
  std::map<MeetingKey, int> taken_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

class ThreadCollectives : public Collectives {
 public:
  ThreadCollectives(World& world, int rank, const ThreadRanksOptions& options)
      : world_(world), rank_(rank), options_(options) {}
  int rank() const override { return rank_; }
  int world_size() const override { return world_.world_size(); }

  std::unique_ptr<PendingCollective> start_sum(absl::Span<int64_t> values) override {
    return start<int64_t>(Channel::kControl, absl::StrCat("a sum of ", values.size(), " int64"),
                          values.data(), static_cast<int64_t>(values.size()), at::Tensor());
  }

  std::unique_ptr<PendingCollective> start_sum(absl::Span<double> values) override {
    return start<double>(Channel::kControl, absl::StrCat("a sum of ", values.size(), " double"),
                         values.data(), static_cast<int64_t>(values.size()), at::Tensor());
  }

  std::unique_ptr<PendingCollective> start_exchange(absl::Span<const ByteBuffer> sent,
                                                    absl::Span<ByteBuffer> received) override {
    MILLRACE_CHECK(sent.size() == world_size() && received.size() == world_size());
    Messages messages(world_size());
    for (int rank = 0; rank < world_size(); ++rank) {
      if (rank == rank_) continue;
      messages[rank] = std::string(sent[rank].view());
      poison(received[rank]);
      traffic_.bytes_sent += static_cast<int64_t>(sent[rank].size()) + kTableHeaderBytes;
    }
    received[rank_].clear();
    absl::StatusOr<int64_t> ordinal =
        bring(Channel::kTables, "an exchange of messages", std::move(messages));
    return std::make_unique<PendingExchange>(*this, std::move(ordinal), sent, received);
  }

  TableTraffic table_traffic() const override { return traffic_; }

  std::unique_ptr<PendingCollective> start_sum(at::Tensor tensor) override {
    const int64_t count = tensor.numel();
    const std::string what =
        absl::StrCat("a sum of ", count, " ", c10::toString(tensor.scalar_type()));
    void* data = tensor.mutable_data_ptr();
    switch (tensor.scalar_type()) {
      case at::kFloat: return start(Channel::kData, what, static_cast<float*>(data), count, tensor);
      case at::kDouble:
        return start(Channel::kData, what, static_cast<double*>(data), count, tensor);
      default: return start(Channel::kData, what, static_cast<int64_t*>(data), count, tensor);
    }
  }

  absl::StatusOr<std::vector<std::string>> all_gather(absl::string_view bytes) override {
    ASSIGN_OR_RETURN(const int64_t ordinal,
                     bring(Channel::kData, "a gathering of bytes", {std::string(bytes)}));
    return take(Channel::kData, ordinal);
  }

  absl::StatusOr<std::string> broadcast(absl::string_view bytes, int root) override {
    ASSIGN_OR_RETURN(const int64_t ordinal,
                     bring(Channel::kData, absl::StrCat("a broadcast from rank ", root),
                           {rank_ == root ? std::string(bytes) : std::string()}));
    ASSIGN_OR_RETURN(std::vector<std::string> all, take(Channel::kData, ordinal));
    return std::move(all[root]);
  }

  void set_phase(RankPhase phase, int64_t step) override { world_.set_phase(rank_, phase, step); }

  absl::Status failure() override { return world_.failure(); }

  void fail(const absl::Status& reason) override { world_.fail(rank_, reason.message()); }

 private:
  template <typename T>
  class PendingSum : public PendingCollective {
   public:
    PendingSum(ThreadCollectives& collectives, Channel channel, absl::StatusOr<int64_t> ordinal,
               T* data, int64_t count, at::Tensor keep)
        : collectives_(collectives),
          channel_(channel),
          ordinal_(std::move(ordinal)),
          data_(data),
          count_(count),
          keep_(std::move(keep)) {}

    absl::Status wait() override {
      if (!result_.has_value()) result_ = finish();
      return *result_;
    }

   private:
    absl::Status finish() {
      RETURN_IF_ERROR(ordinal_.status());
      ASSIGN_OR_RETURN(const std::vector<std::string> all, collectives_.take(channel_, *ordinal_));
      // Adds in the order of the ranks, so that all ranks get the same bits.
      for (size_t rank = 0; rank < all.size(); ++rank) {
        for (int64_t i = 0; i < count_; ++i) {
          T value;
          std::memcpy(&value, all[rank].data() + i * sizeof(T), sizeof(T));
          data_[i] = rank == 0 ? value : add(data_[i], value);
        }
      }
      return absl::OkStatus();
    }

    static T add(T a, T b) {
      if constexpr (std::is_same_v<T, int64_t>) {  // wraps around
        return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
      } else {
        return a + b;
      }
    }

    ThreadCollectives& collectives_;
    const Channel channel_;
    const absl::StatusOr<int64_t> ordinal_;
    T* const data_;
    const int64_t count_;
    const at::Tensor keep_;  // owns data_, if it is a tensor's
    std::optional<absl::Status> result_;
  };

  class PendingExchange : public PendingCollective {
   public:
    PendingExchange(ThreadCollectives& collectives, absl::StatusOr<int64_t> ordinal,
                    absl::Span<const ByteBuffer> sent, absl::Span<ByteBuffer> received)
        : collectives_(collectives),
          ordinal_(std::move(ordinal)),
          sent_(sent),
          sent_hashes_(hashes_of(sent)),
          received_(received) {}

    absl::Status wait() override {
      if (!result_.has_value()) result_ = finish();
      return *result_;
    }

   private:
    static std::vector<uint64_t> hashes_of(absl::Span<const ByteBuffer> buffers) {
      std::vector<uint64_t> hashes;
      for (const ByteBuffer& buffer : buffers) {
        hashes.push_back(xxh3(buffer.view()));
      }
      return hashes;
    }

    absl::Status finish() {
      RETURN_IF_ERROR(ordinal_.status());
      ASSIGN_OR_RETURN(const std::vector<std::string> all,
                       collectives_.take(Channel::kTables, *ordinal_));
      // An implementation that sends from the caller's buffers would have sent other data.
      if (hashes_of(sent_) != sent_hashes_) {
        return collectives_.die(absl::FailedPreconditionError(
            "messages of an exchange changed before it was waited for"));
      }
      for (int rank = 0; rank < received_.size(); ++rank) {
        received_[rank].clear();
        if (rank != collectives_.rank()) received_[rank].append(all[rank]);
      }
      return absl::OkStatus();
    }

    ThreadCollectives& collectives_;
    const absl::StatusOr<int64_t> ordinal_;
    const absl::Span<const ByteBuffer> sent_;
    const std::vector<uint64_t> sent_hashes_;
    const absl::Span<ByteBuffer> received_;
    std::optional<absl::Status> result_;
  };

  template <typename T>
  std::unique_ptr<PendingCollective> start(Channel channel, const std::string& what, T* data,
                                           int64_t count, at::Tensor keep) {
    std::string bytes(reinterpret_cast<const char*>(data), static_cast<size_t>(count) * sizeof(T));
    return std::make_unique<PendingSum<T>>(*this, channel, bring(channel, what, {std::move(bytes)}),
                                           data, count, std::move(keep));
  }

  // Returns the ordinal of the collective on its channel.
  absl::StatusOr<int64_t> bring(Channel channel, const std::string& what, Messages messages) {
    RETURN_IF_ERROR(died_);
    RETURN_IF_ERROR(world_.failure());
    const RankState state = world_.state(rank_);
    const CollectiveCall call{rank_, started_++, channel, state.phase, state.step};
    if (options_.inject != nullptr) {
      RETURN_IF_ERROR(die(options_.inject(call)));
    }
    const int64_t ordinal = next_[static_cast<int>(channel)]++;
    world_.bring(rank_, channel, ordinal, what, std::move(messages));
    return ordinal;
  }

  // Ends this rank's part in the job because of `reason`, unless `reason` is OK. Returns `reason`.
  absl::Status die(const absl::Status& reason) {
    died_ = reason;
    if (!died_.ok()) world_.fail(rank_, died_.message());
    return died_;
  }

  absl::StatusOr<std::vector<std::string>> take(Channel channel, int64_t ordinal) {
    RETURN_IF_ERROR(died_);
    return world_.take(rank_, channel, ordinal);
  }

  World& world_;
  const int rank_;
  const ThreadRanksOptions& options_;
  int64_t started_ = 0;
  int64_t next_[kChannels] = {};  // by Channel
  TableTraffic traffic_;
  absl::Status died_;  // by injection, or by misuse
};

}  // namespace

std::vector<absl::Status> run_thread_ranks(
    const ThreadRanksOptions& options,
    const std::function<absl::Status(std::unique_ptr<Collectives>)>& body) {
  World world(options.world_size, options.timeout);
  std::vector<absl::Status> outcomes(options.world_size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < options.world_size; ++rank) {
    threads.emplace_back([&, rank] {
      outcomes[rank] = catch_exceptions(
          [&] { return body(std::make_unique<ThreadCollectives>(world, rank, options)); });
      // The failure is reported here and not when the rank's collectives end, which may be sooner:
      // the other ranks would then see only that the rank left.
      if (!outcomes[rank].ok()) world.fail(rank, outcomes[rank].message());
      world.leave(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

}  // namespace millrace
