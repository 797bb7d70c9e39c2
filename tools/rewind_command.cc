#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status_macros.h"
#include "checkpoint/objects/object_files.h"
#include "tools/checkpoint/checkpoint_rewind.h"
#include "tools/commands.h"
#include "tools/exit_code.h"

namespace millrace {
namespace {

struct RewindFlags {
  std::string output_dir, window;
  bool dry_run = false;
};

absl::StatusOr<int> run(const RewindFlags& flags) {
  ASSIGN_OR_RETURN(const Rewound rewound,
                   rewind_to_window(ObjectFiles::process(), Clock::real(), flags.output_dir,
                                    flags.window, flags.dry_run));
  const char* const removes = flags.dry_run ? "would remove " : "removed ";
  for (const std::string& path : rewound.removed) std::cout << removes << path << "\n";
  std::cout << "window " << rewound.window << " (" << rewound.name << "): training "
            << (flags.dry_run ? "would resume" : "resumes") << " from " << rewound.checkpoint
            << ", which holds " << rewound.windows
            << (rewound.windows == 1 ? " window\n" : " windows\n");
  if (!rewound.missing.empty()) {
    std::cout << rewound.missing.size() << " files of the windows behind it are not here, such as "
              << rewound.missing.front() << ": move them back before the next run\n";
  }
  return kExitFinished;
}

}  // namespace

Command add_rewind_command(CLI::App& program) {
  auto flags = std::make_shared<RewindFlags>();
  CLI::App* command =
      program.add_subcommand("rewind", "go back to a window: remove the checkpoints behind it");
  command->add_option("OUTPUT_DIR", flags->output_dir, "the output directory of a run on windows")
      ->required();
  command
      ->add_option("--to", flags->window,
                   "the window to train on again, by its name or number in windows.jsonl")
      ->required();
  command->add_flag("--dry_run", flags->dry_run, "only print what would be done");
  return [flags] { return run(*flags); };
}

}  // namespace millrace
