// Plugins loaded into the process.
#ifndef MILLRACE_PLUGIN_PLUGIN_LIBRARY_H_
#define MILLRACE_PLUGIN_PLUGIN_LIBRARY_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hook/hook.h"
#include "hook/hook_registry.h"
#include "hook/hook_statistics.h"
#include "plugin/plugin_abi.h"
#include "plugin/plugin_file.h"
#include "plugin/plugin_note.h"

namespace millrace {

// A checked plugin, described by its bytes. No code of the plugin has run.
struct CheckedPlugin {
  PluginFile file;
  PluginNotes notes;
};

// Reads and checks the content of a file (ElfFile, read_plugin_notes, check_plugin).
// Errors: InvalidArgument with the file.
absl::StatusOr<CheckedPlugin> check_plugin_file(PluginFile file);

// A loaded plugin. Lives as long as the process, since threads, objects and exit handlers of a
// plugin may outlive every hook. May be used from any thread.
class PluginLibrary {
 public:
  // Loads the checked copy, and requests the table from the entry. A plugin of equal bytes is
  // loaded once; a second call returns the same library, or the same error.
  // Errors: InvalidArgument with the file, also for an exception of the entry. A file refused by
  // the dynamic loader leaves no descriptor and no memory behind.
  static absl::StatusOr<const PluginLibrary*> load(CheckedPlugin plugin);

  // Returns the loaded plugin with the digest, or null.
  static const PluginLibrary* find(absl::string_view digest);

  const PluginNotes& notes() const { return notes_; }

  // Creates a hook of the plugin with the name `instance`. An event costs one virtual call more
  // than in a linked hook. Errors: NotFound with the nearest hook; errors and exceptions of the
  // hook's factory.
  absl::StatusOr<std::unique_ptr<Hook>> create_hook(absl::string_view hook,
                                                    absl::string_view instance,
                                                    absl::string_view config,
                                                    const HookResources& resources) const;

 private:
  explicit PluginLibrary(CheckedPlugin plugin)
      : file_(std::move(plugin.file)), notes_(std::move(plugin.notes)) {}
  absl::Status open();
  absl::Status read_table(const MillracePluginTable& table);

  PluginFile file_;  // kept, see PluginFile::loadable_path()
  PluginNotes notes_;
  std::vector<MillracePluginHook> hooks_;  // as notes_.hooks
  bool is_open_ = false;                   // true if the dynamic loader has opened the file
};

// Returns the names of the hooks.
std::vector<std::string> hook_names(const PluginNotes& notes);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_PLUGIN_LIBRARY_H_
