// A plugin that leaves a mark as soon as any of its code runs: it writes the file that
// MILLRACE_PLUGIN_MARK names. The tests make every wrong plugin from this plugin.
#include <fcntl.h>
#include <google/protobuf/empty.pb.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

#include "plugin/hook_plugin.h"

namespace {

__attribute__((constructor(101))) void leave_mark() {
  const char* mark = std::getenv("MILLRACE_PLUGIN_MARK");
  if (mark != nullptr) ::close(::open(mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
}

}  // namespace

namespace millrace {

class MarkingHook : public Hook {
 public:
  static absl::StatusOr<std::unique_ptr<Hook>> create(const google::protobuf::Empty&,
                                                      const HookResources&) {
    return std::make_unique<MarkingHook>();
  }
  absl::string_view name() const override { return "marking"; }
};
MILLRACE_PLUGIN_HOOK(marking, "leaves a mark", &MarkingHook::create);

}  // namespace millrace
