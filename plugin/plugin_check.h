// Checks of a plugin against the program without running code of the plugin.
#ifndef MILLRACE_PLUGIN_PLUGIN_CHECK_H_
#define MILLRACE_PLUGIN_PLUGIN_CHECK_H_

#include "absl/status/status.h"
#include "plugin/elf_file.h"
#include "plugin/plugin_note.h"

namespace millrace {

// Checks the content of a plugin against the process: the build note matches the program
// (check_plugin_build); every required library is already loaded, so that loading the plugin loads
// nothing else; the plugin exports only the entry and descriptions of protobuf messages, none known
// to the process (check_plugin_messages); all symbols used from the program exist.
// Errors: InvalidArgument with the first problem and a remedy, without the name of the file.
absl::Status check_plugin(const ElfFile& elf, const PluginNotes& notes);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_PLUGIN_CHECK_H_
