#include "plugin/plugin_library.h"

#include <dlfcn.h>

#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/failure_kind.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "base/text.h"
#include "plugin/elf_file.h"
#include "plugin/plugin_build.h"
#include "plugin/plugin_check.h"
#include "plugin/plugin_hook.h"

namespace millrace {
namespace {

// The result of loading each plugin, by digest.
struct Loaded {
  Mutex mutex;
  std::map<std::string, absl::StatusOr<const PluginLibrary*>, std::less<>> libraries
      ABSL_GUARDED_BY(mutex);
};
Loaded& loaded() {
  static auto* loaded = new Loaded;
  return *loaded;
}

// A MillracePluginFail; `where` is an absl::Status.
void keep_error(void* where, int32_t code, const char* text, uint64_t size) {
  auto& status = *static_cast<absl::Status*>(where);
  const bool is_error =
      code > 0 && code <= static_cast<int32_t>(absl::StatusCode::kUnauthenticated);
  status = absl::Status(is_error ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown,
                        text == nullptr ? absl::string_view() : absl::string_view(text, size));
}

}  // namespace

std::vector<std::string> hook_names(const PluginNotes& notes) {
  std::vector<std::string> names;
  for (const PluginHookText& hook : notes.hooks) names.emplace_back(hook.name);
  return names;
}

absl::StatusOr<CheckedPlugin> check_plugin_file(PluginFile file) {
  // Messages of a loaded plugin are known to the process, so another check of the same plugin would
  // fail.
  if (const PluginLibrary* library = PluginLibrary::find(file.digest()); library != nullptr) {
    return CheckedPlugin{std::move(file), library->notes()};
  }
  ASSIGN_OR_RETURN(const ElfFile elf, ElfFile::parse(file.bytes()), file.path());
  ASSIGN_OR_RETURN(PluginNotes notes, read_plugin_notes(elf), file.path());
  RETURN_IF_ERROR(check_plugin(elf, notes), file.path());
  return CheckedPlugin{std::move(file), std::move(notes)};
}

const PluginLibrary* PluginLibrary::find(absl::string_view digest) {
  MutexLock lock(loaded().mutex);
  const auto found = loaded().libraries.find(digest);
  return found == loaded().libraries.end() ? nullptr : found->second.value_or(nullptr);
}

absl::StatusOr<const PluginLibrary*> PluginLibrary::load(CheckedPlugin plugin) {
  MutexLock lock(loaded().mutex);
  const std::string path = plugin.file.path();
  const std::string digest = plugin.file.digest();
  const auto found = loaded().libraries.find(digest);
  if (found != loaded().libraries.end()) return found->second;
  auto library = std::unique_ptr<PluginLibrary>(new PluginLibrary(std::move(plugin)));
  absl::StatusOr<const PluginLibrary*> result = library.get();
  if (absl::Status status = library->open(); !status.ok()) {
    result = annotate(std::move(status), path);
  }
  // A file opened by the dynamic loader stays open for the life of the process, and so must the
  // copy. A refused file is not needed.
  if (library->is_open_) library.release();
  return loaded().libraries.emplace(digest, std::move(result)).first->second;
}

// Runs code of the plugin: its constructors in dlopen, then its entry.
absl::Status PluginLibrary::open() {
  void* handle = ::dlopen(file_.loadable_path().c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr)
    return absl::InvalidArgumentError(absl::StrCat("the dynamic loader refuses it: ", ::dlerror()));
  is_open_ = true;
  const auto entry = reinterpret_cast<MillracePluginEntry>(
      ::dlsym(handle, MILLRACE_TEXT_OF(MILLRACE_PLUGIN_ENTRY)));
  if (entry == nullptr) return absl::InvalidArgumentError("it does not export its entry");
  MillracePluginTable table = {kPluginAbiVersion, sizeof(MillracePluginTable), 0, nullptr};
  absl::Status reported;
  const absl::Status status = catch_exceptions("its entry", [&]() -> absl::Status {
    if (entry(&table, &keep_error, &reported) == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("its entry failed: ", reported.message()));
  });
  if (!status.ok()) return absl::InvalidArgumentError(status.message());
  return read_table(table);
}

// Checks that the table agrees with the notes by which the plugin was chosen.
absl::Status PluginLibrary::read_table(const MillracePluginTable& table) {
  if (table.abi_version != kPluginAbiVersion || table.size != sizeof(table)) {
    return absl::InvalidArgumentError(absl::StrCat("its table has version ", table.abi_version,
                                                   " and ", table.size, " bytes; must be ",
                                                   kPluginAbiVersion, " and ", sizeof(table)));
  }
  if (table.hooks == nullptr || table.hook_count != notes_.hooks.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("its table has ", table.hooks == nullptr ? 0 : table.hook_count,
                     " hooks and its notes have ", notes_.hooks.size()));
  }
  // The notes are sorted by name, and hooks_ must have the same order.
  for (const PluginHookText& note : notes_.hooks) {
    const MillracePluginHook* found = nullptr;
    for (uint64_t i = 0; i < table.hook_count; ++i) {
      const MillracePluginHook& hook = table.hooks[i];
      if (hook.name != nullptr && std::strncmp(hook.name, note.name, sizeof(note.name)) == 0) {
        found = &hook;
      }
    }
    if (found == nullptr || found->create == nullptr || found->destroy == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("its table lacks the hook \"", note.name, "\" of its notes"));
    }
    hooks_.push_back(*found);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Hook>> PluginLibrary::create_hook(
    absl::string_view hook, absl::string_view instance, absl::string_view config,
    const HookResources& resources) const {
  for (size_t i = 0; i < hooks_.size(); ++i) {
    if (notes_.hooks[i].name != hook) continue;
    absl::Status reported = absl::InternalError("its factory returned none");
    MillracePluginCreate arguments = {};
    arguments.size = sizeof(arguments);
    arguments.config = config.data();
    arguments.config_size = config.size();
    arguments.resources = &resources;
    arguments.fail = &keep_error;
    arguments.where = &reported;
    void* made = nullptr;
    RETURN_IF_ERROR(catch_part_exceptions("its factory", [&]() -> absl::Status {
      made = hooks_[i].create(&arguments);
      return made == nullptr ? as_part_failure(reported) : absl::OkStatus();
    }));
    return std::make_unique<PluginHook>(instance, static_cast<Hook*>(made), hooks_[i].destroy);
  }
  return absl::NotFoundError(absl::StrCat(file_.path(), " has no hook \"", hook, "\"",
                                          did_you_mean(hook, hook_names(notes_))));
}

}  // namespace millrace
