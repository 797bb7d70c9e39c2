#include "checkpoint/state/state_messages.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace millrace {
namespace {

// A counter and its place in the message.
struct Counter {
  int64_t TableStatistics::*field;
  int64_t (TableCountersState::*get)() const;
  void (TableCountersState::*set)(int64_t);
};
constexpr Counter kCounters[] = {
    {&TableStatistics::inserted, &TableCountersState::inserted, &TableCountersState::set_inserted},
    {&TableStatistics::steps, &TableCountersState::steps, &TableCountersState::set_steps},
    {&TableStatistics::occurrences, &TableCountersState::occurrences,
     &TableCountersState::set_occurrences},
    {&TableStatistics::unique_ids, &TableCountersState::unique_ids,
     &TableCountersState::set_unique_ids},
    {&TableStatistics::hottest, &TableCountersState::hottest, &TableCountersState::set_hottest},
    {&TableStatistics::unadmitted, &TableCountersState::unadmitted,
     &TableCountersState::set_unadmitted},
};

// Returns all progress except the time, whose unit differs between the messages.
template <typename State>
Progress counts_of(const State& state) {
  Progress progress;
  progress.step = state.step();
  progress.examples = state.examples();
  progress.epoch = state.epoch();
  progress.window = state.window();
  progress.skipped_steps = state.skipped_steps();
  progress.skipped_examples = state.skipped_examples();
  return progress;
}

}  // namespace

ProgressState to_state(const Progress& progress) {
  ProgressState state;
  state.set_step(progress.step);
  state.set_examples(progress.examples);
  state.set_epoch(progress.epoch);
  state.set_window(progress.window);
  state.set_skipped_steps(progress.skipped_steps);
  state.set_skipped_examples(progress.skipped_examples);
  state.set_elapsed_nanoseconds(absl::ToInt64Nanoseconds(progress.elapsed));
  return state;
}

absl::StatusOr<Progress> from_state(const ProgressState& state) {
  for (const int64_t number :
       {state.step(), state.examples(), state.epoch(), state.window(), state.skipped_steps(),
        state.skipped_examples(), state.elapsed_nanoseconds()}) {
    if (number < 0) {
      return absl::DataLossError(
          absl::StrCat("the progress is damaged: one of its numbers is ", number));
    }
  }
  Progress progress = counts_of(state);
  progress.elapsed = absl::Nanoseconds(state.elapsed_nanoseconds());
  return progress;
}

CheckpointManifest::Progress to_manifest(const ProgressState& state) {
  CheckpointManifest::Progress progress;
  progress.set_step(state.step());
  progress.set_examples(state.examples());
  progress.set_epoch(state.epoch());
  progress.set_window(state.window());
  progress.set_skipped_steps(state.skipped_steps());
  progress.set_skipped_examples(state.skipped_examples());
  progress.set_elapsed_seconds(1e-9 * static_cast<double>(state.elapsed_nanoseconds()));
  return progress;
}

Progress from_manifest(const CheckpointManifest::Progress& state) {
  Progress progress = counts_of(state);
  progress.elapsed = absl::Seconds(state.elapsed_seconds());
  return progress;
}

TableCountersState to_state(absl::string_view table, const TableCounters& counters) {
  TableCountersState state;
  state.set_table(std::string(table));
  state.set_applied_steps(counters.applied_steps);
  state.set_last_step(counters.last_step);
  for (const Counter& counter : kCounters) (state.*counter.set)(counters.counted.*counter.field);
  for (const int64_t rows : counters.counted.evicted) state.add_evicted(rows);
  // Earlier programs do not know this reason.
  if (counters.counted.evicted[static_cast<int>(EvictionReason::kCustom)] == 0) {
    state.mutable_evicted()->RemoveLast();
  }
  return state;
}

absl::StatusOr<TableCounters> from_state(const TableCountersState& state) {
  TableCounters counters;
  counters.applied_steps = state.applied_steps();
  counters.last_step = state.last_step();
  bool good = counters.applied_steps >= 0 && counters.last_step >= 0 &&
              (state.evicted_size() == kEvictionReasons ||
               state.evicted_size() == kEvictionReasons - 1);  // without kCustom
  for (const Counter& counter : kCounters) {
    counters.counted.*counter.field = (state.*counter.get)();
    good &= counters.counted.*counter.field >= 0;
  }
  for (int i = 0; good && i < state.evicted_size(); ++i) {
    counters.counted.evicted[i] = state.evicted(i);
    good = state.evicted(i) >= 0;
  }
  if (good) return counters;
  return absl::DataLossError(absl::StrCat("the counters of table ", state.table(), " are damaged"));
}

TableCounters merged(const TableCounters& a, const TableCounters& b) {
  TableCounters sum = a;
  sum.applied_steps = std::max(a.applied_steps, b.applied_steps);
  sum.last_step = std::max(a.last_step, b.last_step);
  for (const Counter& counter : kCounters) {
    sum.counted.*counter.field += b.counted.*counter.field;
  }
  for (int i = 0; i < kEvictionReasons; ++i) sum.counted.evicted[i] += b.counted.evicted[i];
  return sum;
}

}  // namespace millrace
