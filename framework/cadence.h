// When something is done: a value that is compared with Progress, so that it survives a resume.
#ifndef MILLRACE_FRAMEWORK_CADENCE_H_
#define MILLRACE_FRAMEWORK_CADENCE_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "base/progress.h"
#include "proto/config.pb.h"

namespace millrace {

// Triggers add up; 0 or false: never. Hooks ask HookContext::due(cadence) instead of counting.
//
//   const Cadence cadence = {.every_steps = 100, .at_end = true};
struct Cadence {
  int64_t every_steps = 0;
  absl::Duration every = absl::ZeroDuration();  // of training time
  int64_t every_epochs = 0;
  int64_t every_windows = 0;
  bool at_start = false;
  bool at_end = false;

  static Cadence from_config(const CadenceConfig& config);
  // Returns from_config() of a configuration that is `given`, else `otherwise`.
  static Cadence from_config_or(bool given, const CadenceConfig& config, const Cadence& otherwise) {
    return given ? from_config(config) : otherwise;
  }

  // Whether a multiple of one of its intervals was reached after `last` and not after `now`:
  // step 100, 200, … for every_steps = 100. Neither start nor end.
  bool crossed(const Progress& last, const Progress& now) const;

  // Whether it ever triggers.
  bool enabled() const;

  // "every 100 steps, at end".
  std::string to_string() const;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_CADENCE_H_
