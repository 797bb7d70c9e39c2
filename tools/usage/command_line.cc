#include "tools/usage/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "base/text.h"

namespace millrace {
namespace {

using Arguments = std::vector<std::string>;

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

// Returns the error for the next argument if it should be a command.
std::string unknown_command(const CLI::App& app, const Arguments& rest) {
  if (rest.empty() || absl::StartsWith(rest[0], "-") || commands_of(app).empty()) return "";
  std::vector<std::string> names;
  for (const CLI::App* command : commands_of(app)) names.push_back(command->get_name());
  return absl::StrCat("there is no command ", rest[0], did_you_mean(rest[0], names));
}

std::string unknown_flag(const CLI::App& app, const Arguments& rest) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const bool has_separator = std::count(rest.begin(), rest.end(), "--") > 0;
  for (const std::string& argument : rest) {
    if (argument == "--") break;
    const std::string name = argument.substr(0, argument.find('='));
    if (!absl::StartsWith(name, "--") || std::count(names.begin(), names.end(), name) > 0) continue;
    const std::string unknown = absl::StrCat("there is no flag ", name, did_you_mean(name, names));
    if (app.get_name() != "launch" || has_separator) return unknown;
    return absl::StrCat(
        unknown,
        "; flags of the ranks' command go behind --, as in: millrace launch -n 2 -- "
        "train CONFIG ",
        name);
  }
  return "";
}

std::string value_of(const std::string& flag, const Arguments& rest) {
  for (size_t i = 0; i < rest.size(); ++i) {
    if (absl::StartsWith(rest[i], flag + "=")) return rest[i].substr(flag.size() + 1);
    if (rest[i] == flag && i + 1 < rest.size()) return rest[i + 1];
  }
  return "";
}

}  // namespace

UsageError explain_usage_error(const CLI::App& program, const CLI::ParseError& error,
                               const Arguments& arguments) {
  const CLI::App* app = &program;
  std::string words = program.get_name();
  size_t used = 0;
  const auto is_next = [&](const CLI::App* command) {
    return used < arguments.size() && command->get_name() == arguments[used];
  };
  // The error does not name the subcommand, so the arguments select it.
  while (true) {
    const std::vector<const CLI::App*> commands = commands_of(*app);
    const auto next = std::find_if(commands.begin(), commands.end(), is_next);
    if (next == commands.end()) break;
    app = *next;
    absl::StrAppend(&words, " ", arguments[used++]);
  }
  const Arguments rest(arguments.begin() + used, arguments.end());

  UsageError result;
  // The parser's message suggests nothing; these messages name a similar command or flag.
  result.message = unknown_command(*app, rest);
  if (result.message.empty() && dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr) {
    result.message = unknown_flag(*app, rest);
  }
  if (result.message.empty()) {
    result.message = absl::StrReplaceAll(error.what(), {{"\n", " "}});
  }
  absl::StrAppend(&result.message, "; see ", words, " --help");
  if (app->get_option_no_throw("--summary") != nullptr) {
    result.summary = value_of("--summary", rest);
  }
  return result;
}

namespace {

bool is_decimal(absl::string_view text) {
  absl::ConsumePrefix(&text, "-") || absl::ConsumePrefix(&text, "+");
  if (text.empty()) return false;
  for (const char c : text) {
    if (!absl::ascii_isdigit(c)) return false;
  }
  return true;
}

// Replaces a decimal number by the only form that CLI11 reads as decimal. CLI11 itself refuses
// other texts. Returns: the error, or "".
template <typename Integer>
std::string normalize(std::string& text) {
  if (!is_decimal(text)) return "";
  Integer value;
  if (!absl::SimpleAtoi(text, &value)) {
    return absl::StrCat(text, " is out of range; it must be ", std::numeric_limits<Integer>::min(),
                        " to ", std::numeric_limits<Integer>::max());
  }
  text = absl::StrCat(value);
  return "";
}

}  // namespace

void read_whole_numbers_strictly(CLI::App& program) {
  for (CLI::Option* option : program.get_options()) {
    const std::string type = option->get_type_name();
    if (type == "INT") option->transform(CLI::Validator(normalize<int64_t>, ""));
    // Negative numbers have a separate message.
    if (type == "UINT")
      option->transform(CLI::Validator(
          [](std::string& text) {
            return text.rfind('-', 0) == 0 ? std::string() : normalize<uint64_t>(text);
          },
          ""));
  }
  for (CLI::App* command : program.get_subcommands([](CLI::App*) { return true; })) {
    read_whole_numbers_strictly(*command);
  }
}

}  // namespace millrace
