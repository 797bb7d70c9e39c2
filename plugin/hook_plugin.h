// Registration of the hooks of a plugin. Include this header only in a source of
// millrace_hook_plugin. A library that is linked into the program uses MILLRACE_REGISTER_HOOK
// instead.
//
//   class ClickCount : public Hook {
//    public:
//     static absl::StatusOr<std::unique_ptr<Hook>> create(const ClickCountConfig& config,
//                                                         const HookResources& resources);
//     ...
//   };
//   MILLRACE_PLUGIN_HOOK(click_count, "counts clicks", &ClickCount::create);
//
// ClickCountConfig is any protobuf message; `plugin.config` of the configuration is its text. A
// hook without options takes google::protobuf::Empty.
#ifndef MILLRACE_PLUGIN_HOOK_PLUGIN_H_
#define MILLRACE_PLUGIN_HOOK_PLUGIN_H_

#include <google/protobuf/message.h>

#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hook/hook.h"
#include "hook/hook_registry.h"
#include "hook/hook_statistics.h"
#include "plugin/plugin_abi.h"
#include "plugin/plugin_note.h"

namespace millrace {

constexpr PluginNote<PluginHookText> empty_hook_note() {
  PluginNote<PluginHookText> note;
  set_note_text(note.name, kPluginNoteName);
  note.type = kHookNote;
  return note;
}

template <size_t kName, size_t kDescription>
constexpr PluginNote<PluginHookText> hook_note(const char (&name)[kName],
                                               const char (&description)[kDescription],
                                               OnError on_error = OnError::kFail) {
  PluginNote<PluginHookText> note = empty_hook_note();
  note.content.on_error = static_cast<uint32_t>(on_error);
  set_note_text(note.content.name, name);
  set_note_text(note.content.description, description);
  return note;
}

// Parses `arguments.config` into `message` and calls `make`. Reports errors and exceptions.
// Returns: the hook, owned by the caller, or null.
Hook* make_plugin_hook(const MillracePluginCreate& arguments, google::protobuf::Message& message,
                       const std::function<absl::StatusOr<std::unique_ptr<Hook>>()>& make);

template <typename Config>
using PluginHookFactory = absl::StatusOr<std::unique_ptr<Hook>> (*)(const Config&,
                                                                    const HookResources&);

template <typename Config>
Hook* make_plugin_hook(PluginHookFactory<Config> factory, const MillracePluginCreate& arguments) {
  Config config;
  return make_plugin_hook(arguments, config, [&] {
    return factory(config, *static_cast<const HookResources*>(arguments.resources));
  });
}

// The `create` of an entry of the table.
template <auto kFactory>
void* create_plugin_hook(const MillracePluginCreate* arguments) {
  return make_plugin_hook(kFactory, *arguments);
}

// Adds a hook to the table of the plugin. `name` must stay alive.
bool add_plugin_hook(const char* name, void* (*create)(const MillracePluginCreate*));

}  // namespace millrace

// Registers a hook, at namespace scope: its name, a one-line description, its factory, and
// ::millrace::OnError::kWarn for a hook whose errors should not end the run.
#define MILLRACE_PLUGIN_HOOK(hook, text, factory, ...)                                             \
  [[gnu::section(".note.millrace"), gnu::used,                                                     \
    gnu::aligned(4)]] static constexpr ::millrace::PluginNote<::millrace::PluginHookText>          \
      millrace_plugin_note_##hook##_ =                                                             \
          ::millrace::hook_note(#hook, text __VA_OPT__(, ) __VA_ARGS__);                           \
  [[maybe_unused]] static const bool millrace_plugin_hook_##hook##_ = ::millrace::add_plugin_hook( \
      millrace_plugin_note_##hook##_.content.name, &::millrace::create_plugin_hook<(factory)>)

#endif  // MILLRACE_PLUGIN_HOOK_PLUGIN_H_
