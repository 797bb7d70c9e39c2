// The hooks that every training job has, unless they are switched off.
#ifndef MILLRACE_JOB_DEFAULT_HOOKS_H_
#define MILLRACE_JOB_DEFAULT_HOOKS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "framework/on_error.h"

namespace google::protobuf {
class Descriptor;
}

namespace millrace {

struct DefaultHook {
  std::string name;
  std::string description;  // one line
  std::string field;        // of JobConfig: its configuration, "run.log"
  std::string switch_off;  // assignment that switches it off: "run.log.style=OFF"; "": it cannot be
  const google::protobuf::Descriptor* message =
      nullptr;  // type of `field`; null: field is no message
  OnError preference = OnError::kFail;
};

// In the order in which they are called; those of train.hooks and run.hooks follow.
const std::vector<DefaultHook>& default_hooks();
// REQUIRES: there is a default hook of this name.
OnError default_preference(absl::string_view name);

// Both tell about default hooks and all that are linked in (see framework/hook_registry.h).
// One line each, in calling order.
std::string list_hooks();
// What one hook does, what its errors lead to, and its configuration field by field.
// Errors: NotFound naming the nearest.
absl::StatusOr<std::string> describe_hook(absl::string_view name);

}  // namespace millrace

#endif  // MILLRACE_JOB_DEFAULT_HOOKS_H_
