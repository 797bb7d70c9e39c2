// A hook.
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hook/hook_registry.h"
#include "visits.pb.h"

namespace visits {
namespace {

// Ends training at the first report whose loss is small enough.
class StopAtLossHook : public millrace::Hook {
 public:
  static absl::StatusOr<std::unique_ptr<millrace::Hook>> create(const millrace::HookConfig& config,
                                                                const millrace::HookResources&) {
    return std::make_unique<StopAtLossHook>(config.GetExtension(stop_at_loss).at_most());
  }

  explicit StopAtLossHook(double at_most) : at_most_(at_most) {}

  absl::string_view name() const override { return "stop_at_loss"; }

  absl::Status after_report(millrace::HookContext& context,
                            const millrace::Report& report) override {
    const auto loss = report.metrics.find("loss");
    if (loss != report.metrics.end() && loss->second <= at_most_) {
      context.requests().stop("the loss is small enough");
    }
    return absl::OkStatus();
  }

 private:
  const double at_most_;
};

MILLRACE_REGISTER_HOOK(stop_at_loss, "stops when the loss is small enough",
                       &StopAtLossHook::create);

}  // namespace
}  // namespace visits
