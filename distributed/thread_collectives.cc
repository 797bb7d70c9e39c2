#include "distributed/thread_collectives.h"

#include <c10/core/ScalarType.h>

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
#include "base/mutex.h"
#include "base/status_macros.h"

namespace millrace {
namespace {

// One collective: what each rank brought to it.
struct Meeting {
  explicit Meeting(int world_size) : brought(world_size) {}
  std::string what;                                 // must be the same on all ranks
  absl::Status mismatch;                            // if it is not
  std::vector<std::optional<std::string>> brought;  // by rank
  int missing() const {
    int count = 0;
    for (const auto& bytes : brought) count += bytes.has_value() ? 0 : 1;
    return count;
  }
};

struct RankState {
  RankPhase phase = RankPhase::kStart;
  int64_t step = 0;
  bool left = false;
};

// What the ranks share.
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

  // Rank `rank` brings `bytes` to the meeting `ordinal` of a channel.
  void bring(int rank, bool control, int64_t ordinal, const std::string& what, std::string bytes) {
    MutexLock lock(mutex_);
    Meeting& meeting = meetings_.try_emplace({control, ordinal}, world_size_).first->second;
    if (meeting.what.empty()) meeting.what = what;
    if (meeting.what != what && meeting.mismatch.ok()) {
      meeting.mismatch =
          peer_error(rank, ranks_[rank].phase, ranks_[rank].step,
                     absl::StrCat("it starts ", what, " where others start ", meeting.what));
    }
    meeting.brought[rank] = std::move(bytes);
  }

  // Waits for all ranks. Returns: what they brought; it stays until everyone took it.
  absl::StatusOr<std::vector<std::string>> take(int rank, bool control, int64_t ordinal) {
    MutexLock lock(mutex_);
    const std::pair<bool, int64_t> key(control, ordinal);
    Meeting& meeting = meetings_.at(key);
    const auto settled = [&] {
      return !failure_.ok() || !meeting.mismatch.ok() || meeting.missing() == 0 ||
             gone(meeting) >= 0;
    };
    while (!mutex_.await_for(timeout_, settled)) {
      if (waits_for_data(meeting)) continue;
      failure_ = timed_out(meeting);
    }
    RETURN_IF_ERROR(meeting.mismatch);
    if (meeting.missing() > 0) {
      RETURN_IF_ERROR(failure_);
      const int left = gone(meeting);
      failure_ = peer_error(left, ranks_[left].phase, ranks_[left].step, "it left the job");
      return failure_;
    }
    std::vector<std::string> all;
    for (const std::optional<std::string>& bytes : meeting.brought) all.push_back(*bytes);
    if (++taken_[key] == world_size_) {
      meetings_.erase(key);
      taken_.erase(key);
    }
    return all;
  }

 private:
  // A rank that has left without coming to the meeting; -1: none.
  int gone(const Meeting& meeting) const ABSL_NO_THREAD_SAFETY_ANALYSIS {
    for (int rank = 0; rank < world_size_; ++rank) {
      if (!meeting.brought[rank].has_value() && ranks_[rank].left) return rank;
    }
    return -1;
  }

  bool waits_for_data(const Meeting& meeting) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (int rank = 0; rank < world_size_; ++rank) {
      if (meeting.brought[rank].has_value()) continue;
      const RankPhase phase = ranks_[rank].phase;
      if (is_unlimited(phase)) return true;
    }
    return false;
  }

  absl::Status timed_out(const Meeting& meeting) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    for (int rank = 0; rank < world_size_; ++rank) {
      if (meeting.brought[rank].has_value()) continue;
      return peer_error(rank, ranks_[rank].phase, ranks_[rank].step,
                        absl::StrCat("it did not take part for ", absl::FormatDuration(timeout_)));
    }
    return absl::OkStatus();
  }

  const int world_size_;
  const absl::Duration timeout_;
  Mutex mutex_;
  std::vector<RankState> ranks_ ABSL_GUARDED_BY(mutex_);
  std::map<std::pair<bool, int64_t>, Meeting> meetings_ ABSL_GUARDED_BY(mutex_);
  std::map<std::pair<bool, int64_t>, int> taken_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
};

class ThreadCollectives : public Collectives {
 public:
  ThreadCollectives(World& world, int rank, const ThreadRanksOptions& options)
      : world_(world), rank_(rank), options_(options) {}
  int rank() const override { return rank_; }
  int world_size() const override { return world_.world_size(); }

  std::unique_ptr<PendingCollective> start_sum(absl::Span<int64_t> values) override {
    return start<int64_t>(/*control=*/true, absl::StrCat("a sum of ", values.size(), " int64"),
                          values.data(), static_cast<int64_t>(values.size()), at::Tensor());
  }

  std::unique_ptr<PendingCollective> start_sum(at::Tensor tensor) override {
    const int64_t count = tensor.numel();
    const std::string what =
        absl::StrCat("a sum of ", count, " ", c10::toString(tensor.scalar_type()));
    void* data = tensor.mutable_data_ptr();
    switch (tensor.scalar_type()) {
      case at::kFloat:
        return start(/*control=*/false, what, static_cast<float*>(data), count, tensor);
      case at::kDouble:
        return start(/*control=*/false, what, static_cast<double*>(data), count, tensor);
      default: return start(/*control=*/false, what, static_cast<int64_t*>(data), count, tensor);
    }
  }

  absl::StatusOr<std::vector<std::string>> all_gather(absl::string_view bytes) override {
    ASSIGN_OR_RETURN(const int64_t ordinal,
                     bring(/*control=*/false, "a gathering of bytes", std::string(bytes)));
    return take(/*control=*/false, ordinal);
  }

  absl::StatusOr<std::string> broadcast(absl::string_view bytes, int root) override {
    ASSIGN_OR_RETURN(const int64_t ordinal,
                     bring(/*control=*/false, absl::StrCat("a broadcast from rank ", root),
                           rank_ == root ? std::string(bytes) : std::string()));
    ASSIGN_OR_RETURN(std::vector<std::string> all, take(/*control=*/false, ordinal));
    return std::move(all[root]);
  }

  void set_phase(RankPhase phase, int64_t step) override { world_.set_phase(rank_, phase, step); }

  void fail(const absl::Status& reason) override { world_.fail(rank_, reason.message()); }

 private:
  template <typename T>
  class PendingSum : public PendingCollective {
   public:
    PendingSum(ThreadCollectives& collectives, bool control, absl::StatusOr<int64_t> ordinal,
               T* data, int64_t count, at::Tensor keep)
        : collectives_(collectives),
          control_(control),
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
      ASSIGN_OR_RETURN(const std::vector<std::string> all, collectives_.take(control_, *ordinal_));
      // In the order of the ranks: the same bits for all.
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
    const bool control_;
    const absl::StatusOr<int64_t> ordinal_;
    T* const data_;
    const int64_t count_;
    const at::Tensor keep_;  // owns data_, if it is a tensor's
    std::optional<absl::Status> result_;
  };

  template <typename T>
  std::unique_ptr<PendingCollective> start(bool control, const std::string& what, T* data,
                                           int64_t count, at::Tensor keep) {
    std::string bytes(reinterpret_cast<const char*>(data), static_cast<size_t>(count) * sizeof(T));
    return std::make_unique<PendingSum<T>>(*this, control, bring(control, what, std::move(bytes)),
                                           data, count, std::move(keep));
  }

  // Returns: which of the channel's collectives this is.
  absl::StatusOr<int64_t> bring(bool control, const std::string& what, std::string bytes) {
    RETURN_IF_ERROR(died_);
    RETURN_IF_ERROR(world_.failure());
    const RankState state = world_.state(rank_);
    const CollectiveCall call{rank_, started_++, control, state.phase, state.step};
    if (options_.inject != nullptr) {
      died_ = options_.inject(call);
      if (!died_.ok()) {
        world_.fail(rank_, died_.message());
        return died_;
      }
    }
    const int64_t ordinal = next_[control ? 1 : 0]++;
    world_.bring(rank_, control, ordinal, what, std::move(bytes));
    return ordinal;
  }

  absl::StatusOr<std::vector<std::string>> take(bool control, int64_t ordinal) {
    RETURN_IF_ERROR(died_);
    return world_.take(rank_, control, ordinal);
  }

  World& world_;
  const int rank_;
  const ThreadRanksOptions& options_;
  int64_t started_ = 0;
  int64_t next_[2] = {0, 0};
  absl::Status died_;  // by injection
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
      // Not when its collectives end, which may be sooner: others would hear of that alone.
      if (!outcomes[rank].ok()) world.fail(rank, outcomes[rank].message());
      world.leave(rank);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return outcomes;
}

}  // namespace millrace
