// Reports statistics of parameters and gradients.
#ifndef MILLRACE_HOOKS_WATCH_TENSORS_HOOK_H_
#define MILLRACE_HOOKS_WATCH_TENSORS_HOOK_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hook/cadence.h"
#include "hook/hook.h"
#include "hook/hook_registry.h"
#include "proto/inspection_hook_configs.pb.h"

namespace millrace {

// Reports statistics of dense parameters, before the update, and of gradients, as applied by the
// optimizers, on the steps of a cadence. Names are such as "watch/bias/norm" and
// "watch/bias.grad/norm". A parameter not used in the step has no gradient, and no gradient is
// reported. On other steps the hook reads no tensor. All ranks report the same values. The next
// report shows the last value of each name.
//
// A step reports if the cadence would trigger in `after_step`. A trigger of time, epochs or windows
// since the previous step makes the next step due.
class WatchTensorsHook : public Hook {
 public:
  // The name under which the hook is registered.
  static constexpr absl::string_view kName = "watch_tensors";

  // REQUIRES: check(config) returns OK.
  explicit WatchTensorsHook(const WatchTensorsConfig& config);
  // Errors: InvalidArgument with a line for each wrong field.
  static absl::Status check(const WatchTensorsConfig& config);
  // Creates the hook from WatchTensorsConfig. Errors: errors of check().
  static absl::StatusOr<std::unique_ptr<Hook>> create(const HookConfig& config,
                                                      const HookResources& resources);

  absl::string_view name() const override { return kName; }
  absl::Status start(HookContext& context) override;
  // Errors: InvalidArgument at the first step if a pattern matches no tensor.
  absl::Status after_backward(HookContext& context, const Gradients& gradients) override;

 private:
  struct Watched {
    size_t parameter = 0;  // position in Gradients::dense()
    bool is_gradient = false;
    std::string name;
  };

  absl::Status find(absl::Span<const NamedParameter> parameters);
  void report(HookContext& context, absl::Span<const NamedParameter> parameters) const;

  const WatchTensorsConfig config_;
  const Cadence when_;
  bool found_ = false;
  std::vector<Watched> watched_;  // once found_
  Progress last_;                 // of the step before
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_WATCH_TENSORS_HOOK_H_
