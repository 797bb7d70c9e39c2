#include "tests/hostile/hostile_case.h"

#include <cstdio>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/e2e/run_program.h"
#include "tests/hostile/file_snapshot.h"

namespace millrace {
namespace {

namespace fs = std::filesystem;

// Output of a program that crashes instead of failing.
constexpr const char* kTraces[] = {"what():",     "terminate called", "Exception raised from",
                                   "stack trace", "    @ ",           "frame #",
                                   "*** SIG",     "Segmentation",     "core dumped"};

constexpr char kFunctions[] = R"(
  ulimit -c 0
  trained() { cp -r "$TEMPLATE/run" "$1"; }
)";

ProgramResult run_shell(const std::string& script, const HostileSetting& setting,
                        bool obeys_permissions) {
  ProgramOptions options;
  options.directory = setting.folder;
  options.obeys_permissions = obeys_permissions;
  return run_program({"/usr/bin/env", absl::StrCat("HOME=", setting.folder),
                      absl::StrCat("TEMPLATE=", setting.template_folder),
                      absl::StrCat("PATH=", setting.program_folder, ":/usr/bin:/bin"), "/bin/bash",
                      "-c", absl::StrCat(kFunctions, script)},
                     options);
}

void copy_template(const HostileSetting& setting) {
  fs::create_directories(setting.folder);
  for (const fs::directory_entry& entry : fs::directory_iterator(setting.template_folder)) {
    if (entry.is_regular_file()) fs::copy(entry.path(), setting.folder);
  }
}

// Makes directories listable, because otherwise they could not be removed.
void open_directories(const std::string& folder) {
  std::error_code ignored;
  const auto options = fs::directory_options::skip_permission_denied;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder, options)) {
    if (entry.is_directory(ignored) && !entry.is_symlink(ignored)) {
      fs::permissions(entry.path(), fs::perms::owner_all, fs::perm_options::add, ignored);
    }
  }
}

class Complaints {
 public:
  explicit Complaints(const HostileCase& hostile) : hostile_(hostile) {}

  void check_end(const ProgramResult& result) {
    // The shell may have become the program, which a signal ended.
    const int code = result.exit_code < 0 ? 128 - result.exit_code : result.exit_code;
    if (code != hostile_.exit_code) {
      add("the exit code is ", code, " and not ", hostile_.exit_code);
    }
    const std::string last = result.last_error();
    if (!matches_pattern(last, hostile_.last_line)) {
      add("the last line is\n    ", last, "\n  and not\n    ", hostile_.last_line);
    }
    for (const char* trace : kTraces) {
      if (absl::StrContains(result.err, trace)) add("stderr has \"", trace, "\"");
    }
    if (!list_.empty()) add("stderr was\n", result.err);
  }

  void check_files(const std::vector<FileChange>& changes) {
    std::vector<bool> met(hostile_.after.size(), false);
    for (const FileChange& change : changes) {
      bool wanted = false;
      for (size_t i = 0; i < met.size(); ++i) {
        if (!matches_pattern(change.path, hostile_.after[i])) continue;
        wanted = met[i] = true;
      }
      if (!wanted) add(change.path, " ", change.what);
    }
    for (size_t i = 0; i < met.size(); ++i) {
      if (!met[i]) add("nothing appeared or changed at ", hostile_.after[i]);
    }
  }

  template <typename... Parts>
  void add(const Parts&... parts) {
    list_.push_back(absl::StrCat(parts...));
  }
  std::vector<std::string> take() { return std::move(list_); }

 private:
  const HostileCase& hostile_;
  std::vector<std::string> list_;
};

}  // namespace

std::vector<std::string> run_hostile_case(const HostileCase& hostile,
                                          const HostileSetting& setting) {
  Complaints complaints(hostile);
  copy_template(setting);
  const ProgramResult prepared =
      run_shell(absl::StrCat("set -e\n", hostile.before), setting, /*obeys_permissions=*/false);
  if (prepared.exit_code != 0) return {"the case cannot be prepared: " + prepared.err};
  const FileSnapshot before = take_snapshot(setting.folder);
  const ProgramResult result = run_shell(hostile.command, setting, /*obeys_permissions=*/true);
  std::printf("%d %s\n", result.exit_code, result.last_error().c_str());
  complaints.check_end(result);
  complaints.check_files(changes_between(before, take_snapshot(setting.folder)));
  open_directories(setting.folder);
  fs::remove_all(setting.folder);
  return complaints.take();
}

bool matches_pattern(absl::string_view text, absl::string_view pattern) {
  const size_t star = pattern.find('*');
  if (star == absl::string_view::npos) return text == pattern;
  if (!absl::StartsWith(text, pattern.substr(0, star))) return false;
  const absl::string_view rest = pattern.substr(star + 1);
  for (size_t begin = star; begin <= text.size(); ++begin) {
    if (matches_pattern(text.substr(begin), rest)) return true;
  }
  return false;
}

}  // namespace millrace
