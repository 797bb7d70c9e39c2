#include "plugin/plugin_check.h"

#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "plugin/plugin_abi.h"
#include "plugin/plugin_build.h"
#include "plugin/plugin_messages.h"
#include "plugin/process_libraries.h"

namespace millrace {
namespace {

constexpr char kEntry[] = MILLRACE_TEXT_OF(MILLRACE_PLUGIN_ENTRY);

// The loader would search for a missing library, and run its code.
absl::Status check_needed(const ElfFile& elf) {
  const std::set<std::string> loaded = loaded_libraries();
  for (const std::string& name : elf.needed()) {
    if (loaded.count(name) > 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("it needs the library \"", name,
                     "\", which this program has not loaded; link that into the plugin "
                     "statically, or into the program"));
  }
  return absl::OkStatus();
}

absl::Status check_exported(const ElfSymbol& symbol, bool* has_entry) {
  if (symbol.indirect || symbol.unique) {
    return absl::InvalidArgumentError(absl::StrCat("its symbol ", symbol.name, " is of a kind (",
                                                   symbol.indirect ? "IFUNC" : "GNU_UNIQUE",
                                                   ") that a plugin must not have"));
  }
  // Code that the compiler emits into every file that uses it; RTLD_LOCAL hides it from others.
  if (symbol.weak) return absl::OkStatus();
  if (symbol.name == kEntry) {
    *has_entry = true;
    return absl::OkStatus();
  }
  if (!proto_file_of_symbol(symbol.name).empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("it exports ", symbol.name,
                                                 "; a plugin exports its entry alone: build "
                                                 "it with millrace_hook_plugin"));
}

absl::Status check_symbols(const ElfFile& elf) {
  bool has_entry = false;
  for (const ElfSymbol& symbol : elf.symbols()) {
    if (symbol.defined) {
      RETURN_IF_ERROR(check_exported(symbol, &has_entry));
    } else if (!symbol.weak && !process_has_symbol(symbol.name)) {
      return absl::InvalidArgumentError(
          absl::StrCat("it uses ", symbol.name,
                       ", which this program does not have: link the library that has it "
                       "into the program"));
    }
  }
  return has_entry
             ? absl::OkStatus()
             : absl::InvalidArgumentError(absl::StrCat("it does not export its entry ", kEntry));
}

}  // namespace

absl::Status check_plugin(const ElfFile& elf, const PluginNotes& notes) {
  RETURN_IF_ERROR(check_plugin_build(notes.build));
  RETURN_IF_ERROR(check_needed(elf));
  RETURN_IF_ERROR(check_symbols(elf));
  return check_plugin_messages(elf);
}

}  // namespace millrace
