#include "plugin/plugin_check.h"

#include <google/protobuf/descriptor.h>

#include <set>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "plugin/plugin_abi.h"
#include "plugin/plugin_build.h"
#include "plugin/process_libraries.h"

namespace millrace {
namespace {

constexpr char kEntry[] = MILLRACE_TEXT_OF(MILLRACE_PLUGIN_ENTRY);

absl::Status bad(absl::string_view what) { return absl::InvalidArgumentError(what); }

// The loader would look for a library that is not there, and run it.
absl::Status check_needed(const ElfFile& elf) {
  const std::set<std::string> loaded = loaded_libraries();
  for (const std::string& name : elf.needed()) {
    if (loaded.count(name) > 0) continue;
    return bad(absl::StrCat("it needs the library \"", name,
                            "\", which this program has not loaded; link that into the plugin "
                            "statically, or into the program"));
  }
  return absl::OkStatus();
}

// protobuf ends the process if a file is described twice.
absl::Status check_proto_file(const std::string& file) {
  const auto* pool = google::protobuf::DescriptorPool::generated_pool();
  if (pool->FindFileByName(file) == nullptr) return absl::OkStatus();
  return bad(absl::StrCat("it brings messages of ", file,
                          ", which the program or another plugin has already: give the file "
                          "another path"));
}

absl::Status check_exported(const ElfSymbol& symbol, bool* has_entry) {
  if (symbol.indirect || symbol.unique) {
    return bad(absl::StrCat("its symbol ", symbol.name, " is of a kind (",
                            symbol.indirect ? "IFUNC" : "GNU_UNIQUE",
                            ") that a plugin must not have"));
  }
  // Code that the compiler gave to every file that uses it; RTLD_LOCAL keeps it from others.
  if (symbol.weak) return absl::OkStatus();
  if (symbol.name == kEntry) {
    *has_entry = true;
    return absl::OkStatus();
  }
  const std::string file = proto_file_of_symbol(symbol.name);
  if (!file.empty()) return check_proto_file(file);
  return bad(absl::StrCat("it exports ", symbol.name,
                          "; a plugin exports its entry alone: build "
                          "it with millrace_hook_plugin"));
}

absl::Status check_symbols(const ElfFile& elf) {
  bool has_entry = false;
  for (const ElfSymbol& symbol : elf.symbols()) {
    if (symbol.defined) {
      RETURN_IF_ERROR(check_exported(symbol, &has_entry));
    } else if (!symbol.weak && !process_has_symbol(symbol.name)) {
      return bad(absl::StrCat("it uses ", symbol.name,
                              ", which this program does not have: link the library that has it "
                              "into the program"));
    }
  }
  return has_entry ? absl::OkStatus() : bad(absl::StrCat("it does not export its entry ", kEntry));
}

}  // namespace

std::string proto_file_of_symbol(absl::string_view symbol) {
  if (!absl::ConsumePrefix(&symbol, "descriptor_table_")) return "";
  std::string path;
  while (!symbol.empty()) {
    if (symbol[0] != '_') {
      path.push_back(symbol[0]);
      symbol.remove_prefix(1);
      continue;
    }
    // Two hexadecimal digits follow.
    if (symbol.size() < 3 || !absl::ascii_isxdigit(symbol[1]) || !absl::ascii_isxdigit(symbol[2])) {
      return "";
    }
    path += absl::HexStringToBytes(symbol.substr(1, 2));
    symbol.remove_prefix(3);
  }
  return path;
}

absl::Status check_plugin(const ElfFile& elf, const PluginNotes& notes) {
  RETURN_IF_ERROR(check_plugin_build(notes.build));
  RETURN_IF_ERROR(check_needed(elf));
  return check_symbols(elf);
}

}  // namespace millrace
