#include "tools/look/look_flags.h"

#include <CLI/CLI.hpp>

#include "base/status_macros.h"

namespace millrace {

void add_look_flags(CLI::App& command, LookFlags& flags) {
  command.add_option("FILE", flags.paths, "files of data or patterns, quoted")->required();
  command.add_option("--label", flags.label,
                     "the label: COLUMN, or 'COLUMN>=NUMBER' for a label from a rating");
  command.add_option("--eval", flags.eval, "files of evaluation data or patterns");
}

absl::StatusOr<LookOptions> look_options(const LookFlags& flags) {
  LookOptions options = {.paths = flags.paths, .eval_paths = flags.eval};
  if (!flags.label.empty()) {
    ASSIGN_OR_RETURN(options.label, parse_label_rule(flags.label), "--label");
  }
  return options;
}

}  // namespace millrace
