// What `millrace hooks` says.
#ifndef MILLRACE_JOB_HOOK_DESCRIPTIONS_H_
#define MILLRACE_JOB_HOOK_DESCRIPTIONS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Lists default hooks (job/default_hooks.h) in calling order, one line each, then all that are
// linked in (framework/hook_registry.h) by name. `millrace list hook` lists the latter, too, from
// the same registry, with the places where they are registered.
std::string list_hooks();
// Describes what one hook does, what its errors lead to, and its configuration field by field.
// Errors: InvalidArgument naming the nearest.
absl::StatusOr<std::string> describe_hook(absl::string_view name);

}  // namespace millrace

#endif  // MILLRACE_JOB_HOOK_DESCRIPTIONS_H_
