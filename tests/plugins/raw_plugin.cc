// A plugin with a correct note, whose entry performs the action that MILLRACE_RAW_PLUGIN names.
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "plugin/plugin_abi.h"
#include "plugin/plugin_build.h"
#include "plugin/plugin_note.h"

namespace millrace {
namespace {

constexpr PluginNote<PluginBuild> build_note() {
  PluginNote<PluginBuild> note;
  set_note_text(note.name, kPluginNoteName);
  note.type = kBuildNote;
  note.content = this_plugin_build();
  return note;
}

constexpr PluginNote<PluginHookText> hook_note() {
  PluginNote<PluginHookText> note;
  set_note_text(note.name, kPluginNoteName);
  note.type = kHookNote;
  set_note_text(note.content.name, "raw");
  set_note_text(note.content.description, "does what it is told");
  return note;
}

[[gnu::section(".note.millrace"), gnu::used, gnu::aligned(4)]] constexpr auto kBuild = build_note();
[[gnu::section(".note.millrace"), gnu::used, gnu::aligned(4)]] constexpr auto kHook = hook_note();

class IdleHook : public Hook {
 public:
  absl::string_view name() const override { return "raw"; }
};

std::string_view told() {
  const char* text = std::getenv("MILLRACE_RAW_PLUGIN");
  return text == nullptr ? "" : text;
}

void* create(const MillracePluginCreate* arguments) {
  if (told() == "throws in create") throw std::runtime_error("no hook today");
  if (told() == "throws a number in create") throw 7;
  if (told() == "fails in create without text") {
    arguments->fail(arguments->where, 9999, nullptr, 5);
  }
  static IdleHook idle;
  return told() == "throws in destroy" ? &idle : nullptr;
}

void destroy(void*, MillracePluginFail, void*) { throw std::runtime_error("not destroyed"); }

constexpr MillracePluginHook kHooks[] = {
    {"raw", &create, &destroy}, {"other", &create, &destroy}, {"raw", nullptr, &destroy}};

}  // namespace
}  // namespace millrace

extern "C" int32_t MILLRACE_PLUGIN_ENTRY(MillracePluginTable* table, MillracePluginFail fail,
                                         void* where) {
  const std::string_view told = millrace::told();
  if (told == "throws") throw std::runtime_error("not today");
  if (told == "throws a number") throw 7;
  if (told == "fails") {
    fail(where, 3, "no table", 8);
    return 1;
  }
  if (told == "fails without text") return -1;
  table->hook_count = told == "two hooks" ? 2 : told == "no hooks" ? 0 : 1;
  table->hooks = millrace::kHooks;
  if (told == "another hook") table->hooks = millrace::kHooks + 1;
  if (told == "no factory") table->hooks = millrace::kHooks + 2;
  if (told == "null table") table->hooks = nullptr;
  if (told == "another version") table->abi_version = 99;
  if (told == "another size") table->size = 8;
  return 0;
}
