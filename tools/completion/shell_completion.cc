#include "tools/completion/shell_completion.h"

#include <CLI/CLI.hpp>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace millrace {
namespace {

// A command with its parent commands, " config check", and the words that may follow.
struct Place {
  std::string path;
  std::string words;
};

void add_places(const CLI::App& command, const std::string& path, std::vector<Place>* places) {
  std::vector<std::string> words;
  const auto commands = command.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* next : commands) words.push_back(next->get_name());
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  places->push_back({path, absl::StrJoin(words, " ")});
  for (const CLI::App* next : commands) {
    add_places(*next, absl::StrCat(path, " ", next->get_name()), places);
  }
}

}  // namespace

std::string bash_completion(const CLI::App& program) {
  std::vector<Place> places;
  add_places(program, "", &places);
  std::vector<std::string> paths;
  std::string cases;
  for (const Place& place : places) {
    if (!place.path.empty()) paths.push_back(absl::StrCat("\"", place.path, "\""));
    absl::StrAppend(&cases, "    \"", place.path, "\") words=\"", place.words, "\" ;;\n");
  }
  const std::string& name = program.get_name();
  return absl::StrCat("_", name, R"(() {
  local path="" words="" i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case "$path ${COMP_WORDS[i]}" in
      )",
                      absl::StrJoin(paths, "|"), R"() path="$path ${COMP_WORDS[i]}" ;;
    esac
  done
  case "$path" in
)",
                      cases, R"(  esac
  COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _)",
                      name, " ", name, "\n");
}

}  // namespace millrace
