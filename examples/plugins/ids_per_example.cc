// A minimal plugin: one hook without options.
#include <google/protobuf/empty.pb.h>

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "plugin/hook_plugin.h"

namespace millrace::examples {

// Reports the number of ids per example. Reads only the shapes of tensors, so no device is waited
// for.
class IdsPerExample : public Hook {
 public:
  static absl::StatusOr<std::unique_ptr<Hook>> create(const google::protobuf::Empty&,
                                                      const HookResources&) {
    return std::make_unique<IdsPerExample>();
  }

  absl::string_view name() const override { return "ids_per_example"; }

  absl::Status after_data(HookContext& context, const Batch& batch, int64_t) override {
    if (batch.size == 0 || !batch.sparse.values.defined()) return absl::OkStatus();
    context.report("ids_per_example", static_cast<double>(batch.sparse.values.numel()) /
                                          static_cast<double>(batch.size));
    return absl::OkStatus();
  }
};
// The hook only reports, so an error disables the hook instead of ending the training.
MILLRACE_PLUGIN_HOOK(ids_per_example, "reports the number of ids per example",
                     &IdsPerExample::create, ::millrace::OnError::kWarn);

}  // namespace millrace::examples
