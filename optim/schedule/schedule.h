// A learning rate that changes while training advances.
#ifndef MILLRACE_OPTIM_SCHEDULE_SCHEDULE_H_
#define MILLRACE_OPTIM_SCHEDULE_SCHEDULE_H_

#include <cstdint>
#include <limits>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "base/progress.h"
#include "proto/schedule.pb.h"

namespace millrace {

// Totals of the whole training, over all resumes. Absent if not known before training begins.
struct ScheduleTotals {
  std::optional<int64_t> steps;
  std::optional<int64_t> examples;
  std::optional<int64_t> epochs;
  std::optional<int64_t> windows;

  // If true, the job counts the steps and examples of its files when it starts: checks of a
  // configuration accept shares of them, and only the creation of a schedule needs the numbers.
  bool counted_at_start = false;

  // Returns the total in `unit`.
  std::optional<int64_t> of(ScheduleConfig::Unit unit) const;
  // Returns true if a schedule will know the total in `unit` when it is created.
  bool will_know(ScheduleConfig::Unit unit) const;
};

// Values for the creation of a schedule and of the schedules that are its parts.
struct ScheduleInput {
  double learning_rate = 0;                           // the highest rate, at least 0
  ScheduleConfig::Unit unit = ScheduleConfig::STEPS;  // of positions
  ScheduleTotals totals = {};                         // of training, where they are known
};

// Interface of all learning-rate schedules. A schedule is a function from the position of training
// to the rate. The position is the amount of progress in one unit: steps, examples, epochs or
// windows. A schedule therefore needs no state to resume, except reduce_on_plateau, whose rate
// follows from a metric.
//
//   ASSIGN_OR_RETURN(std::unique_ptr<Schedule> schedule,
//                    create_schedule(config, learning_rate, totals));
//   const double rate = schedule->rate(progress);  // of the step after `progress`
//
// Several threads may call the const functions while no other function runs.
class Schedule {
 public:
  explicit Schedule(ScheduleConfig::Unit unit) : unit_(unit) {}
  virtual ~Schedule() = default;
  Schedule(const Schedule&) = delete;
  Schedule& operator=(const Schedule&) = delete;

  // Returns the unit of positions.
  ScheduleConfig::Unit unit() const { return unit_; }
  // Returns the position of `progress`. Refused steps and their examples do not count.
  double position(const Progress& progress) const;
  // Returns the rate of the step that follows `progress`.
  double rate(const Progress& progress) const { return rate_at(position(progress)); }

  // Returns the rate at `position`: finite and at least 0. REQUIRES: position >= 0. Called before
  // each step. The result depends on `position` and on the state alone.
  virtual double rate_at(double position) const = 0;
  // Returns the position from which rate_at() returns the same rate. The default is infinity: the
  // rate changes forever.
  virtual double end() const { return std::numeric_limits<double>::infinity(); }

  // Returns the name of the metric that observe() needs: SET/METRIC of an evaluation set, or
  // train/METRIC. The default is "": none. Called once, before training. The result is valid
  // during the lifetime of the schedule.
  virtual absl::string_view monitor() const { return ""; }
  // Notes a new value of the metric that monitor() names. Called after each evaluation, or each
  // report of training, that has the metric, with the same values in the same order on all ranks.
  // The default does nothing.
  virtual void observe(double value) {}

  // Returns the state that load_state() needs to continue. Called when a checkpoint is made. A
  // registered schedule sets `custom`, with its own name. The default is the empty state.
  virtual ScheduleState state() const { return {}; }
  // Replaces the state. Called before training resumes. Ignores the state of another kind, so that
  // the kind of a schedule may change between two runs. The default ignores all.
  // Errors: InvalidArgument if the state cannot have come from state(); nothing has changed then.
  virtual absl::Status load_state(const ScheduleState& state) { return absl::OkStatus(); }

 private:
  ScheduleConfig::Unit unit_;
};

}  // namespace millrace

#endif  // MILLRACE_OPTIM_SCHEDULE_SCHEDULE_H_
