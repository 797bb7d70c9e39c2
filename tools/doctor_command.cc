#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "tools/commands.h"
#include "tools/doctor/diagnosis.h"
#include "tools/doctor/version_text.h"
#include "tools/exit_code.h"

namespace millrace {
namespace {

struct Flags {
  std::string output_dir = ".";
  bool json = false;
};

int examine(const Flags& flags) {
  const std::vector<Finding> findings = diagnose(read_machine(flags.output_dir));
  if (flags.json) {
    std::cout << diagnosis_json(findings) << std::flush;
  } else {
    std::cout << version_text() << "\n\n" << diagnosis_text(findings) << std::flush;
  }
  return kExitFinished;
}

}  // namespace

Command add_doctor_command(CLI::App& program) {
  auto flags = std::make_shared<Flags>();  // shared with the parser's callbacks
  CLI::App* command =
      program.add_subcommand("doctor", "tell what this machine has and what slows jobs on it");
  command->add_option("--output_dir", flags->output_dir, "directory whose disk is looked at [.]");
  command->add_flag("--json", flags->json, "print one JSON object");
  return [flags]() -> absl::StatusOr<int> { return examine(*flags); };
}

}  // namespace millrace
