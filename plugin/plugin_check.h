// Checks of a plugin against this program that run nothing of the plugin.
#ifndef MILLRACE_PLUGIN_PLUGIN_CHECK_H_
#define MILLRACE_PLUGIN_PLUGIN_CHECK_H_

#include "absl/status/status.h"
#include "plugin/elf_file.h"
#include "plugin/plugin_note.h"

namespace millrace {

// Checks what is in a plugin against this process: the build note says what this program was built
// with (check_plugin_build); every library that it needs is loaded already, so that loading it
// loads nothing else; it exports the entry and nothing else but descriptions of protobuf messages;
// none of those is known to this process (check_plugin_messages); all that it uses of the program
// is there.
// Errors: InvalidArgument with the first thing that is wrong and what to do. The message does not
// name the file.
absl::Status check_plugin(const ElfFile& elf, const PluginNotes& notes);

}  // namespace millrace

#endif  // MILLRACE_PLUGIN_PLUGIN_CHECK_H_
