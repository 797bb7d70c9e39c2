#include "job/hook_descriptions.h"

#include <google/protobuf/descriptor.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text.h"
#include "hook/hook_registry.h"
#include "job/default_hooks.h"
#include "proto/config.pb.h"
#include "proto/field_description.h"

namespace millrace {
namespace {

const char* word(OnError on_error) {
  switch (on_error) {
    case OnError::kWarn: return "is logged and counted; the run goes on (WARN)";
    case OnError::kDisable: return "disables the hook; the run goes on (DISABLE)";
    default: return "ends the run (FAIL)";
  }
}

std::string line(absl::string_view name, absl::string_view description) {
  return absl::StrFormat("  %-18s %s\n", name, description);
}

// Returns "a ReportConfig", "an EvaluationConfig".
std::string with_article(absl::string_view name) {
  const bool vowel = absl::string_view("AEIOU").find(name[0]) != absl::string_view::npos;
  return absl::StrCat(vowel ? "an " : "a ", name);
}

std::string describe_default(const DefaultHook& hook) {
  std::string text = absl::StrCat(hook.name, ": ", hook.description, "\n",
                                  "default hook, attached to every training job");
  if (!hook.switch_off.empty()) absl::StrAppend(&text, " unless ", hook.switch_off);
  absl::StrAppend(&text, "\nan error ", word(hook.preference));
  const bool can_choose =
      hook.message != nullptr && hook.message->FindFieldByName("on_error") != nullptr;
  if (can_choose) absl::StrAppend(&text, ", unless ", hook.field, ".on_error says otherwise");
  absl::StrAppend(&text, "\nconfigured by ", hook.field);
  if (hook.message == nullptr) return text + "\n";
  return absl::StrCat(text, ", ", with_article(hook.message->name()), ":\n\n",
                      describe_fields(*hook.message));
}

// Returns the configuration of the hook: the extension of HookConfig with the hook's name.
const google::protobuf::FieldDescriptor* extension_of(absl::string_view name) {
  std::vector<const google::protobuf::FieldDescriptor*> extensions;
  google::protobuf::DescriptorPool::generated_pool()->FindAllExtensions(HookConfig::descriptor(),
                                                                        &extensions);
  for (const google::protobuf::FieldDescriptor* extension : extensions) {
    if (absl::string_view(extension->name()) == name && extension->message_type() != nullptr) {
      return extension;
    }
  }
  return nullptr;
}

std::string describe_registered(const RegisteredHook& hook) {
  const google::protobuf::FieldDescriptor* extension = extension_of(hook.name);
  const std::string config =
      extension == nullptr ? "" : absl::StrCat(" [", extension->full_name(), "] { … }");
  std::string text = absl::StrCat(
      hook.name, ": ", hook.description, "\nlinked in; attached by hooks { name: \"", hook.name,
      "\"", config, " } in train (if it changes the result) or run\nan error ",
      word(hook.preference), ", unless on_error in hooks says otherwise\n");
  if (extension == nullptr) return text + "no extension of HookConfig has its name\n";
  return absl::StrCat(text, "configured by [", extension->full_name(), "], ",
                      with_article(extension->message_type()->name()), ":\n\n",
                      describe_fields(*extension->message_type()));
}

}  // namespace

std::string list_hooks() {
  std::string text = "default hooks, in the order in which they are called:\n";
  for (const DefaultHook& hook : default_hooks()) {
    absl::StrAppend(&text, line(hook.name, hook.description));
  }
  absl::StrAppend(&text, "linked in, for train.hooks and run.hooks, which follow in that order:\n");
  const std::vector<RegisteredHook> registered = registered_hooks();
  for (const RegisteredHook& hook : registered) {
    absl::StrAppend(&text, line(hook.name, hook.description));
  }
  return registered.empty() ? text + "  (none)\n" : text;
}

absl::StatusOr<std::string> describe_hook(absl::string_view name) {
  std::vector<std::string> names;
  for (const DefaultHook& hook : default_hooks()) {
    if (hook.name == name) return describe_default(hook);
    names.push_back(hook.name);
  }
  for (const RegisteredHook& hook : registered_hooks()) {
    if (hook.name == name) return describe_registered(hook);
    names.push_back(hook.name);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no hook \"", name, "\"", did_you_mean(name, names)));
}

}  // namespace millrace
