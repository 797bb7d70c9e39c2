#include "tools/run_job.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tools/cli.h"
#include "tools/process_start.h"

namespace millrace {
namespace {

// Returns the path of a data file, which Bazel places next to the program, in PROGRAM.runfiles.
std::string runfile_path(absl::string_view runfile) {
  const char* directory = std::getenv("RUNFILES_DIR");
  if (directory != nullptr) return absl::StrCat(directory, "/", runfile);
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  return absl::StrCat(program.string(), ".runfiles/", runfile);
}

bool takes_config(absl::string_view command) {
  return command == "train" || command == "evaluate" || command == "predict" || command == "export";
}

}  // namespace

std::string source_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path file = std::filesystem::canonical(path, error);
  if (error) return path;
  const std::filesystem::path here = std::filesystem::current_path(error);
  const std::filesystem::path below = file.lexically_relative(here);
  return error || below.empty() || *below.begin() == ".." ? file.string() : below.string();
}

std::vector<std::string> with_config(std::vector<std::string> arguments, absl::string_view config) {
  if (arguments.size() < 2) return arguments;
  size_t place = 2;  // after the command
  if (arguments[1] == "config" && arguments.size() > 2 && !absl::StartsWith(arguments[2], "-")) {
    place = 3;
  } else if (!takes_config(arguments[1])) {
    return arguments;
  }
  if (place < arguments.size() && !absl::StartsWith(arguments[place], "-")) return arguments;
  arguments.insert(arguments.begin() + place, std::string(config));
  return arguments;
}

int run_job(int argc, char** argv, absl::string_view config) {
  prepare_process(argv);
  std::vector<std::string> arguments =
      with_config({argv, argv + argc}, source_path(runfile_path(config)));
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  return run_program(static_cast<int>(arguments.size()), pointers.data());
}

}  // namespace millrace
