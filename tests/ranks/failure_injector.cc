#include "tests/ranks/failure_injector.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "distributed/forwarded_collectives.h"

namespace millrace {
namespace {

// The selection of rows to evict sums this number of integers (RowSelection::Counts); a step
// exchange sums fewer.
constexpr size_t kEvictionCounts = 256;

// The longest time until a rank publishes its state.
constexpr absl::Duration kPublishes = absl::Seconds(10);

class InjectingCollectives : public ForwardedCollectives {
 public:
  InjectingCollectives(std::unique_ptr<Collectives> under, FailureInjector& injector)
      : ForwardedCollectives(std::move(under)), injector_(injector) {}

  std::unique_ptr<PendingCollective> start_sum(absl::Span<int64_t> values) override {
    if (values.size() < kEvictionCounts) return others().start_sum(values);
    injector_.hit(FailurePhase::kEviction);
    auto sum = others().start_sum(values);
    injector_.hit(FailurePhase::kEviction);
    return sum;
  }

  std::unique_ptr<PendingCollective> start_exchange(absl::Span<const ByteBuffer> sent,
                                                    absl::Span<ByteBuffer> received) override {
    const FailurePhase phase = phase_of(sent[(rank() + 1) % world_size()]);
    injector_.hit(phase);
    auto exchange = others().start_exchange(sent, received);
    injector_.hit(phase);
    return exchange;
  }

  std::unique_ptr<PendingCollective> start_sum(at::Tensor tensor) override {
    if (injector_.phase() != RankPhase::kCommit) return others().start_sum(std::move(tensor));
    injector_.hit(FailurePhase::kVector);
    auto sum = others().start_sum(std::move(tensor));
    injector_.hit(FailurePhase::kVector);
    return sum;
  }

  std::unique_ptr<PendingCollective> start_sum(absl::Span<double> values) override {
    injector_.hit(FailurePhase::kVector);
    auto sum = others().start_sum(values);
    injector_.hit(FailurePhase::kVector);
    return sum;
  }

  absl::StatusOr<std::vector<std::string>> all_gather(absl::string_view bytes) override {
    return inside_save([&] { return others().all_gather(bytes); });
  }

  absl::StatusOr<std::string> broadcast(absl::string_view bytes, int root) override {
    return inside_save([&] { return others().broadcast(bytes, root); });
  }

  void set_phase(RankPhase phase, int64_t step) override {
    others().set_phase(phase, step);
    injector_.set_phase(phase, step);
    if (phase == RankPhase::kUpdate) injector_.hit(FailurePhase::kUpdate);
    if (phase == RankPhase::kCheckpoint) injector_.hit(FailurePhase::kSave);
  }

 private:
  // Reports the begin and the end of an exchange of a save.
  template <typename Exchange>
  std::invoke_result_t<Exchange> inside_save(Exchange exchange) {
    const bool saves = injector_.phase() == RankPhase::kCheckpoint;
    if (saves) injector_.hit(FailurePhase::kSave);
    auto result = exchange();
    if (saves) injector_.hit(FailurePhase::kSave);
    return result;
  }

  // Returns the phase from the begin of a frame of TableExchange.
  static FailurePhase phase_of(const ByteBuffer& frame) {
    constexpr size_t kKind = 4, kEvaluates = 5;
    MILLRACE_CHECK(frame.size() >= 8) << "no frame of tables";
    if (frame.data()[kEvaluates] != 0) return FailurePhase::kEvaluation;
    switch (frame.data()[kKind]) {
      case 1: return FailurePhase::kIds;
      case 2: return FailurePhase::kRows;
      default: return FailurePhase::kSums;
    }
  }

  FailureInjector& injector_;
};

}  // namespace

const std::array<FailurePhaseEntry, kFailurePhases>& failure_phases() {
  static constexpr std::array<FailurePhaseEntry, kFailurePhases> kEntries = {{
      {FailurePhase::kFetch, "fetch", RankPhase::kData, 12},
      {FailurePhase::kIds, "ids", RankPhase::kLookup, 24},
      {FailurePhase::kRows, "rows", RankPhase::kLookup, 24},
      {FailurePhase::kForward, "forward", RankPhase::kForward, 12},
      {FailurePhase::kBackward, "backward", RankPhase::kBackward, 12},
      {FailurePhase::kSums, "sums", RankPhase::kCommit, 24},
      {FailurePhase::kVector, "vector", RankPhase::kCommit, 24},
      {FailurePhase::kUpdate, "update", RankPhase::kUpdate, 12},
      {FailurePhase::kEviction, "eviction", RankPhase::kUpdate, 24},
      {FailurePhase::kSave, "save", RankPhase::kCheckpoint, 44},
      {FailurePhase::kEvaluation, "evaluation", RankPhase::kEvaluation, 16},
      {FailurePhase::kWindowWait, "window wait", RankPhase::kWindowWait, 6},
  }};
  return kEntries;
}

const char* failure_kind_name(InjectedKind kind) {
  switch (kind) {
    case InjectedKind::kKill: return "killed";
    case InjectedKind::kFreeze: return "frozen";
    case InjectedKind::kExit: return "exits";
    case InjectedKind::kTerminate: return "gets SIGTERM";
    case InjectedKind::kCrash: return "crashes";
    case InjectedKind::kLoop: return "loops";
    case InjectedKind::kPause: return "pauses";
  }
  return "";
}

FailureRecord::FailureRecord()
    : ranks_([] {
        void* const memory = ::mmap(nullptr, kMaxRanks * sizeof(Rank), PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        MILLRACE_CHECK(memory != MAP_FAILED) << std::strerror(errno);
        return new (memory) Rank[kMaxRanks];
      }()) {}

FailureRecord::FailureRecord(const std::string& path)
    : ranks_([&] {
        const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
        MILLRACE_CHECK(fd >= 0) << path << ": " << std::strerror(errno);
        void* const memory =
            ::mmap(nullptr, kMaxRanks * sizeof(Rank), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        MILLRACE_CHECK(memory != MAP_FAILED) << path << ": " << std::strerror(errno);
        ::close(fd);
        return static_cast<Rank*>(memory);
      }()) {}

FailureRecord::~FailureRecord() { ::munmap(ranks_, kMaxRanks * sizeof(Rank)); }

int64_t FailureRecord::now() {
  timespec time = {};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec;
}

FailureInjector::FailureInjector(int rank, const std::vector<InjectedFailure>& failures,
                                 FailureRecord& record)
    : rank_(rank), record_(record) {
  for (const InjectedFailure& failure : failures) {
    if (failure.rank == rank) failure_ = failure;
  }
}

void FailureInjector::hit(FailurePhase phase) {
  if (!failure_.has_value() || phase != failure_->phase) return;
  if (++hits_ != failure_->ordinal) return;
  if (failure_->kind != InjectedKind::kTerminate) await_published();
  fail();
}

void FailureInjector::set_phase(RankPhase phase, int64_t step) {
  phase_ = phase;
  step_ = step;
}

void FailureInjector::published(RankPhase phase, int64_t step) {
  if (phase == RankPhase::kRendezvous && failure_ && failure_->phase == FailurePhase::kRendezvous) {
    phase_ = phase;
    if (++hits_ == failure_->ordinal) fail();
    return;
  }
  MutexLock lock(mutex_);
  const bool same = phase == published_phase_ && step == published_step_;
  published_times_ = same ? published_times_ + 1 : 1;
  published_phase_ = phase;
  published_step_ = step;
}

void FailureInjector::await_published() {
  // The store ends with rank 0. The others must also have read rank 0's state, which they do
  // several times between two publications. Nothing is published any more if rank 0 has failed
  // before.
  const int times = rank_ == 0 ? 3 : 1;
  MutexLock lock(mutex_);
  mutex_.await_for(kPublishes, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return published_phase_ == phase_ && published_step_ == step_ && published_times_ >= times;
  });
}

void FailureInjector::fail() {
  FailureRecord::Rank& record = record_.of(rank_);
  record.phase = static_cast<int>(phase_);
  record.step = step_;
  record.failed_at = FailureRecord::now();
  switch (failure_->kind) {
    case InjectedKind::kKill: ::raise(SIGKILL); break;
    case InjectedKind::kFreeze: ::raise(SIGSTOP); break;
    case InjectedKind::kExit: std::exit(1);
    case InjectedKind::kTerminate: ::raise(SIGTERM); break;
    case InjectedKind::kCrash:
      ::signal(SIGSEGV, SIG_DFL);  // without the handler of a sanitizer
      ::raise(SIGSEGV);
      break;
    case InjectedKind::kLoop:
      for (;;) ::pause();  // leaves the cores to the other cases
    case InjectedKind::kPause:
      while (record.released == 0) Clock::real().sleep(absl::Milliseconds(1));
      break;
  }
}

std::unique_ptr<Collectives> inject_failures(std::unique_ptr<Collectives> under,
                                             FailureInjector& injector) {
  return std::make_unique<InjectingCollectives>(std::move(under), injector);
}

}  // namespace millrace
