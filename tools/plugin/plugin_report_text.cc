#include "tools/plugin/plugin_report_text.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "plugin/plugin_build.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

const char* on_error_word(uint32_t on_error) {
  switch (static_cast<OnError>(on_error)) {
    case OnError::kWarn: return "WARN";
    case OnError::kDisable: return "DISABLE";
    default: return "FAIL";
  }
}

std::string list(const char* title, const std::vector<std::string>& names) {
  return names.empty() ? "" : absl::StrCat(title, "\n  ", absl::StrJoin(names, "\n  "), "\n");
}

std::string notes_text(const PluginNotes& notes) {
  const PluginBuild& build = notes.build;
  std::string text = absl::StrCat(
      "interface: version ", build.abi_version, "\nMillrace:  ", build.millrace_version,
      "\ncompiler:  ", build.compiler_abi, "\nLibTorch:  ", build.libtorch_version,
      "\nheaders:   ", build.headers_digest, "\nhooks:\n");
  for (const PluginHookText& hook : notes.hooks) {
    absl::StrAppend(&text, "  ", hook.name, ": ", hook.description,
                    " (an error: ", on_error_word(hook.on_error), ")\n");
  }
  return text;
}

Json notes_json(const PluginNotes& notes) {
  Json sizes = Json::object();
  for (size_t i = 0; i < std::size(kPluginTypes); ++i) {
    sizes[kPluginTypes[i].name] = notes.build.sizes[i];
  }
  Json hooks = Json::array();
  for (const PluginHookText& hook : notes.hooks) {
    hooks.push_back({{"name", hook.name},
                     {"description", hook.description},
                     {"on_error", on_error_word(hook.on_error)}});
  }
  return {{"interface_version", notes.build.abi_version},
          {"millrace_version", notes.build.millrace_version},
          {"compiler", notes.build.compiler_abi},
          {"libtorch_version", notes.build.libtorch_version},
          {"headers_sha256", notes.build.headers_digest},
          {"sizes", sizes},
          {"hooks", hooks}};
}

}  // namespace

std::string plugin_report_text(const PluginReport& report) {
  std::string text = absl::StrCat("file:      ", report.path, " (", report.bytes,
                                  " bytes)\nSHA-256:   ", report.digest, "\n");
  if (report.notes.has_value()) absl::StrAppend(&text, notes_text(*report.notes));
  absl::StrAppend(&text, list(".proto files:", report.proto_files), list("needs:", report.needed),
                  list("exports:", report.exported));
  if (report.refusals.empty()) {
    return text + "this program accepts it from a directory of run.plugins\n";
  }
  return text + list("this program refuses it:", report.refusals);
}

std::string plugin_report_json(const PluginReport& report) {
  Json json = {{"path", report.path},
               {"bytes", report.bytes},
               {"sha256", report.digest},
               {"accepted", report.refusals.empty()},
               {"refusals", report.refusals}};
  json["note"] = report.notes.has_value() ? notes_json(*report.notes) : Json();
  json["proto_files"] = report.proto_files;
  json["needs"] = report.needed;
  json["exports"] = report.exported;
  // Names in a file may be any bytes.
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) + "\n";
}

}  // namespace millrace
