// Times of a recurring action. Computed from Progress, so that a resume preserves them.
#ifndef MILLRACE_HOOK_CADENCE_H_
#define MILLRACE_HOOK_CADENCE_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "base/progress.h"
#include "proto/config.pb.h"

namespace millrace {

// Intervals and moments, combined: the cadence triggers at each of them. 0 or false: never. Hooks
// call HookContext::due(cadence) instead of counting.
//
//   const Cadence cadence = {.every_steps = 100, .at_end = true};
struct Cadence {
  int64_t every_steps = 0;
  absl::Duration every = absl::ZeroDuration();  // of training time
  int64_t every_epochs = 0;
  int64_t every_windows = 0;
  bool at_start = false;
  bool at_end = false;
  double every_share = 0;  // of the steps of training, in [0, 1]
  // The first step, time, epoch and window at which the interval of the same unit triggers;
  // after_steps also holds for every_share.
  int64_t after_steps = 0;
  absl::Duration after = absl::ZeroDuration();
  int64_t after_epochs = 0;
  int64_t after_windows = 0;

  static Cadence from_config(const CadenceConfig& config);
  // Returns from_config() of a configuration that is `given`, else `otherwise`.
  static Cadence from_config_or(bool given, const CadenceConfig& config, const Cadence& otherwise) {
    return given ? from_config(config) : otherwise;
  }

  // Returns true if a multiple of an interval lies after `last` and not after `now`: step 100, 200,
  // … for every_steps = 100. Does not cover start and end. `total_steps`: steps of training, for
  // every_share, which never triggers if they are 0.
  bool crossed(const Progress& last, const Progress& now, int64_t total_steps = 0) const;

  // Returns true if the cadence can trigger at all.
  bool enabled() const;

  // Returns a text such as "every 100 steps, at end".
  std::string to_string() const;
};

}  // namespace millrace

#endif  // MILLRACE_HOOK_CADENCE_H_
