// Part of every plugin, but not of a program: the build note, the table and the entry.
#include "plugin/hook_plugin.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"
#include "plugin/plugin_build.h"
#include "proto/config_durations.h"
#include "proto/config_variables.h"
#include "proto/range_check.h"

namespace millrace {
namespace {

constexpr PluginNote<PluginBuild> make_build_note() {
  PluginNote<PluginBuild> note;
  set_note_text(note.name, kPluginNoteName);
  note.type = kBuildNote;
  note.content = this_plugin_build();
  return note;
}

[[gnu::section(".note.millrace"), gnu::used, gnu::aligned(4)]] constexpr PluginNote<PluginBuild>
    kBuild = make_build_note();

// Modified during static initialization only.
std::vector<MillracePluginHook>& table() {
  static auto* table = new std::vector<MillracePluginHook>;
  return *table;
}

void report(const absl::Status& status, MillracePluginFail fail, void* where) {
  const absl::string_view text = status.message();
  fail(where, static_cast<int32_t>(status.code()), text.data(), text.size());
}

// Keeps the first error of a text.
class FirstError : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, google::protobuf::io::ColumnNumber column,
                const std::string& message) override {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(
        absl::StrCat("plugin.config: line ", line + 1, ", column ", column + 1, ": ", message));
  }
  const absl::Status& status() const { return status_; }

 private:
  absl::Status status_;
};

absl::Status parse_config(absl::string_view text, google::protobuf::Message& message) {
  FirstError first;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&first);
  if (parser.ParseFromString(std::string(text), &message)) {
    // After parsing, so that a value cannot end the string that it is in.
    RETURN_IF_ERROR(resolve_secrets("plugin.config", &message));
    RETURN_IF_ERROR(use_durations("plugin.config", &message));
    return check_ranges("plugin.config", message);
  }
  if (!first.status().ok()) return first.status();
  return absl::InvalidArgumentError(
      absl::StrCat("plugin.config is no text of a ", message.GetTypeName()));
}

void destroy(void* hook, MillracePluginFail fail, void* where) {
  const absl::Status status = catch_exceptions("destroying a hook", [&]() -> absl::Status {
    delete static_cast<Hook*>(hook);
    return absl::OkStatus();
  });
  if (!status.ok()) report(status, fail, where);
}

}  // namespace

Hook* make_plugin_hook(const MillracePluginCreate& arguments, google::protobuf::Message& message,
                       const std::function<absl::StatusOr<std::unique_ptr<Hook>>()>& make) {
  std::unique_ptr<Hook> hook;
  const absl::Status status = catch_exceptions("its factory", [&]() -> absl::Status {
    RETURN_IF_ERROR(parse_config({arguments.config, arguments.config_size}, message));
    ASSIGN_OR_RETURN(hook, make());
    return hook == nullptr ? absl::InternalError("its factory returned none") : absl::OkStatus();
  });
  if (!status.ok()) report(status, arguments.fail, arguments.where);
  return hook.release();
}

bool add_plugin_hook(const char* name, void* (*create)(const MillracePluginCreate*)) {
  table().push_back({name, create, &destroy});
  return true;
}

}  // namespace millrace

extern "C" int32_t MILLRACE_PLUGIN_ENTRY(MillracePluginTable* table, MillracePluginFail fail,
                                         void* where) {
  if (table->abi_version != millrace::kPluginAbiVersion || table->size != sizeof(*table)) {
    constexpr absl::string_view kText = "the program has another version of the plugin interface";
    fail(where, static_cast<int32_t>(absl::StatusCode::kFailedPrecondition), kText.data(),
         kText.size());
    return 1;
  }
  table->hook_count = millrace::table().size();
  table->hooks = millrace::table().data();
  return 0;
}
