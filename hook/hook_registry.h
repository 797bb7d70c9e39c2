// Hooks by name.
#ifndef MILLRACE_HOOK_HOOK_REGISTRY_H_
#define MILLRACE_HOOK_HOOK_REGISTRY_H_

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
#include "hook/hook.h"
#include "hook/hook_statistics.h"
#include "proto/config.pb.h"

namespace millrace {

class EmbeddingCollection;

// Objects that a hook may use. All are borrowed and outlive the hook. A hook that changes something
// (evicts rows, say) takes that object from here, never the trainer.
struct HookResources {
  FileSystem& files;
  Clock& clock;
  std::string output_dir;  // created just before the first step
  absl::Span<EmbeddingCollection* const> collections;
  // Where versions for servers go (run.places.published).
  std::string published = {};
};

using HookFactory =
    std::function<absl::StatusOr<std::unique_ptr<Hook>>(const HookConfig&, const HookResources&)>;

// Registers a hook under a name, with a description of one line and the effect of its errors unless
// the configuration sets one. Called during static initialization by MILLRACE_REGISTER_HOOK; the
// registry does not change afterwards. A name that is registered twice creates no hook.
bool register_hook(absl::string_view name, absl::string_view description, HookFactory factory,
                   OnError preference = OnError::kFail,
                   std::source_location place = std::source_location::current());

// Creates the hook that `config` names. Errors: as PartRegistry::create().
absl::StatusOr<std::unique_ptr<Hook>> create_hook(const HookConfig& config,
                                                  const HookResources& resources);

// Returns the effect of a hook's errors: the value in the configuration, else the hook's
// preference. A hook that is not registered prefers kFail.
OnError on_error_of(const HookConfig& config);
// Returns the effect of errors for a hook with its own message in RunConfig.
OnError on_error_or(HookConfig::OnError configured, OnError preference);

struct RegisteredHook {
  std::string name;
  std::string description;
  OnError preference = OnError::kFail;
};
std::vector<RegisteredHook> registered_hooks();  // sorted by name

}  // namespace millrace

// Registers a hook. Used at namespace scope in the hook's .cc, whose cc_library sets
// `alwayslink = True`:
//   MILLRACE_REGISTER_HOOK(my_hook, "counts clicks", &MyHook::create);
// A hook whose errors should not end a run, such as a writer of reports, adds:
//   MILLRACE_REGISTER_HOOK(my_sink, "sends reports", &MySink::create, ::millrace::OnError::kWarn);
#define MILLRACE_REGISTER_HOOK(name, description, ...)         \
  [[maybe_unused]] static const bool millrace_hook_##name##_ = \
      ::millrace::register_hook(#name, (description), __VA_ARGS__)

#endif  // MILLRACE_HOOK_HOOK_REGISTRY_H_
