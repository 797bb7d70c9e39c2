#include "plugin/plugin_report.h"

#include <utility>

#include "base/file_system.h"
#include "base/status_macros.h"
#include "plugin/elf_file.h"
#include "plugin/plugin_check.h"
#include "plugin/plugin_file.h"
#include "plugin/plugin_messages.h"

namespace millrace {
namespace {

void add_names(const ElfFile& elf, PluginReport& report) {
  report.needed = elf.needed();
  for (const ElfSymbol& symbol : elf.symbols()) {
    if (!symbol.defined) continue;
    report.exported.push_back(symbol.name);
    std::string file = proto_file_of_symbol(symbol.name);
    if (!file.empty()) report.proto_files.push_back(std::move(file));
  }
}

absl::Status read_content(absl::string_view bytes, PluginReport& report) {
  ASSIGN_OR_RETURN(const ElfFile elf, ElfFile::parse(bytes));
  add_names(elf, report);
  ASSIGN_OR_RETURN(report.notes, read_plugin_notes(elf));
  return check_plugin(elf, *report.notes);
}

}  // namespace

absl::StatusOr<PluginReport> inspect_plugin(const std::string& path) {
  ASSIGN_OR_RETURN(const PluginFile file, PluginFile::read(path));
  PluginReport report;
  report.path = path;
  report.bytes = static_cast<int64_t>(file.bytes().size());
  report.digest = file.digest();
  const absl::Status content = read_content(file.bytes(), report);
  if (!content.ok()) report.refusals.emplace_back(content.message());
  const absl::Status place = PluginFile::open(absolute_path(path)).status();
  if (!place.ok()) report.refusals.emplace_back(place.message());
  return report;
}

}  // namespace millrace
