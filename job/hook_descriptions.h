// The output of `millrace hooks`.
#ifndef MILLRACE_JOB_HOOK_DESCRIPTIONS_H_
#define MILLRACE_JOB_HOOK_DESCRIPTIONS_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace millrace {

// Lists default hooks (job/default_hooks.h) in calling order, one line each, then all linked hooks
// (hook/hook_registry.h) by name. `millrace list hook` also lists the linked hooks, from the
// same registry, with the places of their registration.
std::string list_hooks();
// Returns the description of a hook: purpose, handling of errors, and configuration field by field.
// Errors: InvalidArgument with the nearest name.
absl::StatusOr<std::string> describe_hook(absl::string_view name);

}  // namespace millrace

#endif  // MILLRACE_JOB_HOOK_DESCRIPTIONS_H_
