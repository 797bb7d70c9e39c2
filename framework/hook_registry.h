// Hooks by name.
#ifndef MILLRACE_FRAMEWORK_HOOK_REGISTRY_H_
#define MILLRACE_FRAMEWORK_HOOK_REGISTRY_H_

#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "framework/hook.h"
#include "framework/on_error.h"
#include "proto/config.pb.h"

namespace millrace {

class EmbeddingCollection;

// What a hook may be given; all borrowed, and alive as long as the hook. A hook that changes
// something (evicts rows, say) takes that one object from here, never the trainer.
struct HookResources {
  FileSystem& files;
  Clock& clock;
  std::string output_dir;  // made just before the first step
  absl::Span<EmbeddingCollection* const> collections;
};

using HookFactory =
    std::function<absl::StatusOr<std::unique_ptr<Hook>>(const HookConfig&, const HookResources&)>;

// Makes a hook known by name, with one line saying what it does and what its errors lead to unless
// the configuration says otherwise; called during static initialization by MILLRACE_REGISTER_HOOK.
// The registry never changes afterwards. A name that is registered twice makes no hook.
bool register_hook(absl::string_view name, absl::string_view description, HookFactory factory,
                   OnError preference = OnError::kFail,
                   std::source_location place = std::source_location::current());

// Returns the hook of that name. Errors: those of PartRegistry::create.
absl::StatusOr<std::unique_ptr<Hook>> create_hook(const HookConfig& config,
                                                  const HookResources& resources);

// What errors of a configured hook lead to: what the configuration says, else what the hook
// prefers. A hook that is not registered prefers kFail.
OnError on_error_of(const HookConfig& config);
// The same for a hook with a message of its own in RunConfig.
OnError on_error_or(HookConfig::OnError configured, OnError preference);

struct RegisteredHook {
  std::string name;
  std::string description;
  OnError preference = OnError::kFail;
};
std::vector<RegisteredHook> registered_hooks();  // sorted by name

}  // namespace millrace

// At namespace scope in the .cc of a hook, whose cc_library says `alwayslink = True`:
//   MILLRACE_REGISTER_HOOK(my_hook, "counts clicks", &MyHook::create);
// and, for a hook whose errors are better survived (one that only writes reports):
//   MILLRACE_REGISTER_HOOK(my_sink, "sends reports", &MySink::create, ::millrace::OnError::kWarn);
#define MILLRACE_REGISTER_HOOK(name, description, ...)         \
  [[maybe_unused]] static const bool millrace_hook_##name##_ = \
      ::millrace::register_hook(#name, (description), __VA_ARGS__)

#endif  // MILLRACE_FRAMEWORK_HOOK_REGISTRY_H_
