// The long campaigns of docs/reliability.md:
//
//   checkpoints --campaign=NAME [--count=N] [--stride=N] [--seed=N] [--directory=DIR]
//               [--report=FILE]
//
// NAME is kills, syscalls, crash_states, disk, flips or faults. DIR should be on a disk; the
// program creates a directory in DIR and removes it afterwards. Prints the findings and appends
// them to FILE. Exits with 1 after a violation, with 64 for wrong arguments.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/file_system.h"
#include "tests/campaigns/campaigns.h"

namespace millrace {
namespace {

struct Arguments {
  std::string campaign;
  int64_t count = -1;
  int64_t stride = 1;
  int64_t seed = 1;
  std::string directory = "/tmp";
  std::string report;
};

bool parse(int argc, char** argv, Arguments* arguments) {
  for (int i = 1; i < argc; ++i) {
    absl::string_view text = argv[i];
    bool known = false;
    for (auto [name, value] : {std::pair("--campaign=", &arguments->campaign),
                               std::pair("--directory=", &arguments->directory),
                               std::pair("--report=", &arguments->report)}) {
      if (!absl::ConsumePrefix(&text, name)) continue;
      *value = std::string(text);
      known = true;
    }
    for (auto [name, value] :
         {std::pair("--count=", &arguments->count), std::pair("--stride=", &arguments->stride),
          std::pair("--seed=", &arguments->seed)}) {
      if (!absl::ConsumePrefix(&text, name)) continue;
      known = absl::SimpleAtoi(text, value) && *value > 0;
    }
    if (!known) return false;
  }
  return arguments->campaign == "faults" || find_campaign(arguments->campaign) != nullptr;
}

CampaignResult run(const Arguments& arguments, const std::string& directory,
                   std::vector<std::string>* lines) {
  CampaignOptions options;
  options.stride = arguments.stride;
  options.seed = arguments.seed;
  options.directory = directory;
  if (arguments.campaign == "faults") return run_faults(options, lines);
  const CampaignEntry& campaign = *find_campaign(arguments.campaign);
  options.count = arguments.count > 0 ? arguments.count : campaign.long_count;
  return campaign.run(options);
}

int main(int argc, char** argv) {
  Arguments arguments;
  if (!parse(argc, argv, &arguments)) {
    std::fprintf(stderr,
                 "usage: checkpoints --campaign=kills|syscalls|crash_states|disk|flips|faults "
                 "[--count=N] [--stride=N] [--seed=N] [--directory=DIR] [--report=FILE]\n");
    return 64;
  }
  std::string directory = join_path(arguments.directory, "campaign-XXXXXX");
  if (::mkdtemp(directory.data()) == nullptr) {
    std::fprintf(stderr, "cannot make a directory in %s\n", arguments.directory.c_str());
    return 64;
  }
  const absl::Time begin = absl::Now();
  std::vector<std::string> lines;
  const CampaignResult result = run(arguments, directory, &lines);
  std::string text =
      absl::StrCat(result.to_string(), ", seconds ", absl::ToInt64Seconds(absl::Now() - begin),
                   ", seed ", arguments.seed, "\n");
  for (const std::string& line : lines) absl::StrAppend(&text, "  ", line, "\n");
  std::fputs(text.c_str(), stdout);
  if (!arguments.report.empty()) std::ofstream(arguments.report, std::ios::app) << text;
  remove_recursively(FileSystem::local(), directory).IgnoreError();
  return result.violations() > 0 ? 1 : 0;
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) { return millrace::main(argc, argv); }
