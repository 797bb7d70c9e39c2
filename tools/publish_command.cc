#include <CLI/CLI.hpp>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "base/status_macros.h"
#include "checkpoint/format/checkpoint_names.h"
#include "checkpoint/objects/object_files.h"
#include "checkpoint/published/published_folder.h"
#include "tools/commands.h"
#include "tools/exit_code.h"
#include "tools/text_table.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;

struct PublishFlags {
  std::string folder;
  std::optional<int64_t> step;
  std::string reason;
  bool json = false;
};

// Returns the folder of published versions: `path`, or `path`/published for an output directory.
absl::StatusOr<std::string> folder_of(const std::string& path) {
  for (const std::string& folder : {path, join_path(path, kPublishedFolder)}) {
    if (is_published_folder(ObjectFiles::process(), folder)) return folder;
  }
  return absl::NotFoundError(
      absl::StrCat(path, " has no published versions (", kVersionsName,
                   "); give run.places.published, or an output directory of a run with the hook "
                   "publish"));
}

std::string state_name(const PublishedVersions::Version& version) {
  return absl::AsciiStrToLower(PublishedVersions::State_Name(version.state()));
}

std::string list_text(const PublishedVersions& versions, const std::optional<ServedVersion>& served,
                      const std::optional<PinnedVersion>& pinned) {
  const std::string pin =
      !pinned.has_value() ? "" : absl::StrCat(", pinned ", pinned->time(), " ", pinned->reason());
  TextTable table({{"step", TextTable::kRight},
                   {"state"},
                   {"time"},
                   {"kind"},
                   {"size", TextTable::kRight},
                   {"window", TextTable::kRight},
                   {versions.has_monitor() ? versions.monitor() : "value", TextTable::kRight},
                   {""}});
  for (const PublishedVersions::Version& version : versions.versions()) {
    const bool is_served = served.has_value() && version.digest() == served->digest;
    table.add({absl::StrCat(version.step()), state_name(version), version.time(),
               version.has_base_step() ? "delta" : "full", bytes_text(version.bytes()),
               absl::StrCat(version.window()),
               version.has_value() ? absl::StrCat(version.value()) : "-",
               is_served ? absl::StrCat("served", pin) : version.reason()});
  }
  return table.text();
}

std::string list_json(const PublishedVersions& versions, const std::optional<ServedVersion>& served,
                      const std::optional<PinnedVersion>& pinned) {
  Json json = {{"served_step", nullptr},
               {"pinned", nullptr},
               {"monitor", nullptr},
               {"versions", Json::array()}};
  if (served.has_value()) json["served_step"] = served->step;
  if (pinned.has_value()) {
    json["pinned"] = {
        {"step", pinned->step()}, {"time", pinned->time()}, {"reason", pinned->reason()}};
  }
  if (versions.has_monitor()) json["monitor"] = versions.monitor();
  for (const PublishedVersions::Version& version : versions.versions()) {
    Json entry = {{"step", version.step()},   {"state", state_name(version)},
                  {"time", version.time()},   {"digest", version.digest()},
                  {"bytes", version.bytes()}, {"window", version.window()},
                  {"base_step", nullptr},     {"value", nullptr},
                  {"data_time", nullptr},     {"reason", nullptr}};
    if (version.has_base_step()) entry["base_step"] = version.base_step();
    if (version.has_value()) entry["value"] = version.value();
    if (version.has_data_time()) entry["data_time"] = version.data_time();
    if (version.has_reason()) entry["reason"] = version.reason();
    json["versions"].push_back(std::move(entry));
  }
  return json.dump(1) + "\n";
}

absl::StatusOr<int> list(const PublishFlags& flags) {
  FileSystem& files = ObjectFiles::process();
  ASSIGN_OR_RETURN(const std::string folder, folder_of(flags.folder));
  ASSIGN_OR_RETURN(const PublishedVersions versions, read_versions(files, folder));
  const absl::StatusOr<std::optional<ServedVersion>> found = served_version(files, folder);
  const std::optional<ServedVersion> served = found.ok() ? *found : std::nullopt;
  const absl::StatusOr<std::optional<PinnedVersion>> pin = read_pinned(files, folder);
  const std::optional<PinnedVersion> pinned = pin.ok() ? *pin : std::nullopt;
  std::cout << (flags.json ? list_json(versions, served, pinned)
                           : list_text(versions, served, pinned))
            << std::flush;
  RETURN_IF_ERROR(found.status());
  return kExitFinished;
}

absl::StatusOr<int> roll_back(const PublishFlags& flags) {
  ASSIGN_OR_RETURN(const std::string folder, folder_of(flags.folder));
  ASSIGN_OR_RETURN(const int64_t step, pin_version(ObjectFiles::process(), Clock::real(), folder,
                                                   flags.step, flags.reason));
  std::cout << "version " << step << " is served until `millrace publish resume " << folder
            << "`\n";
  return kExitFinished;
}

absl::StatusOr<int> resume(const PublishFlags& flags) {
  ASSIGN_OR_RETURN(const std::string folder, folder_of(flags.folder));
  ASSIGN_OR_RETURN(const bool was_pinned, unpin_version(ObjectFiles::process(), folder));
  std::cout << (was_pinned ? "the newest published version is served\n"
                           : "no version was pinned; nothing changed\n");
  return kExitFinished;
}

}  // namespace

Command add_publish_command(CLI::App& program) {
  auto flags = std::make_shared<PublishFlags>();  // shared with the parser's callbacks
  auto chosen = std::make_shared<absl::StatusOr<int> (*)(const PublishFlags&)>();
  CLI::App* command =
      program.add_subcommand("publish", "versions that the hook publish has given to servers");
  command->require_subcommand(1);
  const auto add = [&](const char* name, const char* description, auto run) {
    CLI::App* app = command->add_subcommand(name, description);
    app->add_option("DIR", flags->folder,
                    "a folder of published versions, or an output directory that has one")
        ->required();
    app->callback([chosen, run] { *chosen = run; });
    return app;
  };
  add("list", "all versions, refused ones with the reason", list)
      ->add_flag("--json", flags->json, "JSON");
  CLI::App* back = add("rollback", "make servers serve an earlier version until resume", roll_back);
  back->add_option("--to", flags->step, "its step [the version before the served one]")
      ->check(CLI::Range(int64_t{0}, std::numeric_limits<int64_t>::max()));
  back->add_option("--reason", flags->reason, "noted beside it");
  add("resume", "make servers serve the newest published version again", resume);
  return [flags, chosen] { return (*chosen)(*flags); };
}

}  // namespace millrace
