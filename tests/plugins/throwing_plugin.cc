// A plugin whose hook throws exceptions at the events that its configuration names.
#include <google/protobuf/wrappers.pb.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "plugin/hook_plugin.h"

namespace millrace {

class ThrowingHook : public Hook {
 public:
  explicit ThrowingHook(const std::string& where) : where_(where) {}

  static absl::StatusOr<std::unique_ptr<Hook>> create(const google::protobuf::StringValue& where,
                                                      const HookResources&) {
    if (where.value() == "factory") throw std::runtime_error("from the factory");
    if (where.value() == "number") throw 7;
    if (where.value() == "status") return absl::OutOfRangeError("from the factory");
    if (where.value() == "null") return std::unique_ptr<Hook>();
    return std::make_unique<ThrowingHook>(where.value());
  }

  absl::string_view name() const override { throw std::runtime_error("from the name"); }
  absl::Status after_step(HookContext&, const StepResult&) override {
    if (where_ == "event") throw std::runtime_error("from the event");
    return absl::OkStatus();
  }
  absl::Status save_state(HookState&) const override {
    if (where_ == "state") throw std::runtime_error("from the state");
    return absl::OkStatus();
  }

 private:
  const std::string where_;
};
MILLRACE_PLUGIN_HOOK(throwing, "throws exceptions", &ThrowingHook::create);

}  // namespace millrace
