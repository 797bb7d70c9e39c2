// A correct plugin that does nothing.
#include <google/protobuf/empty.pb.h>

#include <memory>

#include "plugin/hook_plugin.h"

namespace millrace {

class QuietHook : public Hook {
 public:
  static absl::StatusOr<std::unique_ptr<Hook>> create(const google::protobuf::Empty&,
                                                      const HookResources&) {
    return std::make_unique<QuietHook>();
  }
  absl::string_view name() const override { return "quiet"; }
};
MILLRACE_PLUGIN_HOOK(quiet, "does nothing", &QuietHook::create);

}  // namespace millrace
