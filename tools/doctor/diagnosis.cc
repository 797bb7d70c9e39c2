#include "tools/doctor/diagnosis.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "base/failure_kind.h"
#include "tools/text_table.h"

namespace millrace {
namespace {

constexpr int64_t kGibibyte = int64_t{1} << 30;
// Enough files for data, checkpoints and exchanges with some hundred ranks.
constexpr int64_t kFewOpenFiles = 1024;
constexpr double kMuchStolen = 0.02;

Finding cores(const Machine& machine) {
  Finding finding{"cores", absl::StrCat(machine.usable_cores, " of ", machine.cores), ""};
  if (!machine.processor.empty()) absl::StrAppend(&finding.value, ", ", machine.processor);
  if (machine.quota.has_value()) {
    absl::StrAppend(&finding.value, absl::StrFormat("; time of %.2g by quota", *machine.quota));
    if (*machine.quota < static_cast<double>(machine.usable_cores)) {
      finding.advice = absl::StrFormat(
          "the control group may use the time of %.2g cores, so that more threads wait for each "
          "other; set run.threads to %d, or raise the quota (cpu.max)",
          *machine.quota, std::max<int64_t>(1, std::llround(std::floor(*machine.quota))));
    }
  }
  return finding;
}

Finding load(const Machine& machine) {
  Finding finding{"load", absl::StrFormat("%.2f", *machine.load), ""};
  if (*machine.load >= 0.5 * static_cast<double>(machine.cores) && machine.cores > 0) {
    finding.advice = absl::StrFormat(
        "%.1f other processes want the %d cores, so that threads of a step wait for the slowest; "
        "stop them, or set run.threads to fewer",
        *machine.load, machine.cores);
  }
  return finding;
}

Finding stolen(const Machine& machine) {
  Finding finding{"stolen time", absl::StrFormat("%.1f %%", 100 * *machine.stolen), ""};
  if (*machine.stolen > kMuchStolen) {
    finding.advice =
        "the hypervisor gave this share of the time to other machines, which slows every step; "
        "measure ratios within one run only, or rent cores of your own";
  }
  return finding;
}

Finding governor(const Machine& machine) {
  Finding finding{"frequency governor", machine.governor, ""};
  if (machine.governor == "powersave" || machine.governor == "conservative") {
    finding.advice =
        "the processor may run below its clock frequency; as root: cpupower frequency-set -g "
        "performance";
  }
  return finding;
}

Finding clock_source(const Machine& machine) {
  Finding finding{"clock source", machine.clock_source, ""};
  if (machine.clock_source == "hpet" || machine.clock_source == "acpi_pm") {
    finding.advice =
        "reading the time takes about a microsecond, which timers of each step do; boot with "
        "clocksource=tsc if the processor has a constant one";
  }
  return finding;
}

Finding instructions(const Machine& machine) {
  Finding finding{"instruction set", name_of(machine.instruction_set), ""};
  if (machine.instruction_set == InstructionSet::kBaseline) {
    finding.advice =
        "lookups and updates of tables run without AVX2, which is slower; use a processor, or a "
        "type of virtual machine, that has it";
  }
  return finding;
}

Finding memory(const Machine& machine) {
  Finding finding{"memory", bytes_text(*machine.memory), ""};
  if (machine.available.has_value()) {
    absl::StrAppend(&finding.value, ", available ", bytes_text(*machine.available));
  }
  if (machine.memory_limit.has_value() && *machine.memory_limit < *machine.memory) {
    absl::StrAppend(&finding.value, ", limit ", bytes_text(*machine.memory_limit));
    finding.advice = absl::StrCat(
        "the control group ends the process at ", bytes_text(*machine.memory_limit),
        "; give tables a limit (max_rows or max_bytes), or raise the limit (memory.max)");
  }
  return finding;
}

Finding swap(const Machine& machine) {
  Finding finding{"swap in use", bytes_text(*machine.swapped), ""};
  if (*machine.swapped > kGibibyte) {
    finding.advice =
        "memory was full at some time; rows of tables that are swapped out are read from the disk "
        "at each lookup. Stop other programs, or give tables a limit";
  }
  return finding;
}

Finding huge_pages(const Machine& machine) {
  Finding finding{"huge pages", machine.huge_pages, ""};
  if (machine.huge_pages == "never") {
    finding.advice =
        "each lookup in a large table also misses the processor's cache of addresses; as root: "
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
  }
  return finding;
}

Finding open_files(const Machine& machine) {
  Finding finding{"open files", absl::StrCat(*machine.open_files), ""};
  if (*machine.open_files < kFewOpenFiles) {
    finding.advice =
        std::string(too_few_files("a job with many data files or ranks may need more").message());
  }
  return finding;
}

Finding disk(const Machine& machine) {
  Finding finding{"free disk", bytes_text(*machine.disk_free), ""};
  if (!machine.missing_directory.empty()) {
    absl::StrAppend(&finding.value, " at ", machine.disk_parent, ", as ", machine.missing_directory,
                    " does not exist");
  }
  if (*machine.disk_free < kGibibyte) {
    finding.advice =
        "a checkpoint is written beside the ones that exist; free some space, or set "
        "run.output_dir to another disk";
  }
  return finding;
}

}  // namespace

std::vector<Finding> diagnose(const Machine& machine) {
  std::vector<Finding> findings = {cores(machine), instructions(machine)};
  if (machine.load.has_value()) findings.push_back(load(machine));
  if (machine.stolen.has_value()) findings.push_back(stolen(machine));
  if (!machine.governor.empty()) findings.push_back(governor(machine));
  if (!machine.clock_source.empty()) findings.push_back(clock_source(machine));
  if (machine.memory.has_value()) findings.push_back(memory(machine));
  if (machine.swapped.has_value()) findings.push_back(swap(machine));
  if (!machine.huge_pages.empty()) findings.push_back(huge_pages(machine));
  if (machine.open_files.has_value()) findings.push_back(open_files(machine));
  if (machine.disk_free.has_value()) findings.push_back(disk(machine));
  return findings;
}

std::string diagnosis_text(const std::vector<Finding>& findings) {
  TextTable table({{"machine"}, {""}});
  std::string advice;
  for (const Finding& finding : findings) {
    table.add({finding.name, finding.value});
    if (!finding.advice.empty()) absl::StrAppend(&advice, finding.name, ": ", finding.advice, "\n");
  }
  if (advice.empty()) advice = "nothing here slows a job\n";
  return absl::StrCat(table.text(), "\n", advice);
}

std::string diagnosis_json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const Finding& finding : findings) {
    json[absl::StrReplaceAll(finding.name, {{" ", "_"}})] = {{"value", finding.value},
                                                             {"advice", finding.advice}};
  }
  return json.dump() + "\n";
}

}  // namespace millrace
