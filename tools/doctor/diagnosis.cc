#include "tools/doctor/diagnosis.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/failure_kind.h"
#include "tools/text_table.h"

namespace millrace {
namespace {

// Returns the text of a file; "" if it cannot be read.
std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return std::string(absl::StripAsciiWhitespace(text.str()));
}

std::optional<int64_t> whole(absl::string_view text) {
  int64_t number = 0;
  return absl::SimpleAtoi(text, &number) ? std::optional(number) : std::nullopt;
}

// Returns the value of the first line "KEY: VALUE" or "KEY : VALUE"; "" without such a line.
std::string value_of(absl::string_view text, absl::string_view key) {
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(':', 1));
    if (absl::StripAsciiWhitespace(parts.first) != key) continue;
    return std::string(absl::StripAsciiWhitespace(parts.second));
  }
  return "";
}

// Returns the bytes of a line "KEY: NUMBER kB".
std::optional<int64_t> bytes_of(absl::string_view text, absl::string_view key) {
  const std::string value = value_of(text, key);
  const std::optional<int64_t> kibibytes = whole(absl::StripSuffix(value, " kB"));
  return kibibytes.has_value() ? std::optional(*kibibytes * 1024) : std::nullopt;
}

// Returns "b" of "a [b] c".
std::string chosen(absl::string_view text) {
  const size_t begin = text.find('['), end = text.find(']');
  if (begin == text.npos || end == text.npos) return "";
  return std::string(text.substr(begin + 1, end - begin - 1));
}

int64_t count_cores(absl::string_view text) {
  int64_t cores = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    cores += absl::StartsWith(line, "processor") ? 1 : 0;
  }
  return cores;
}

// Returns the share of the field "steal" of /proc/stat (proc(5)).
std::optional<double> stolen_share(absl::string_view text) {
  constexpr size_t kSteal = 7, kFields = 8;  // user, nice, …, softirq, steal
  const std::vector<absl::string_view> lines = absl::StrSplit(text, '\n');
  const std::vector<absl::string_view> words = absl::StrSplit(lines[0], ' ', absl::SkipEmpty());
  if (words.size() < 1 + kFields || words[0] != "cpu") return std::nullopt;
  double all = 0, stolen = 0;
  for (size_t i = 0; i < kFields; ++i) {
    const std::optional<int64_t> ticks = whole(words[i + 1]);
    if (!ticks.has_value()) return std::nullopt;
    all += static_cast<double>(*ticks);
    if (i == kSteal) stolen = static_cast<double>(*ticks);
  }
  return all > 0 ? std::optional(stolen / all) : std::nullopt;
}

// Sets the limits of the control group (version 2), which a container sees at the root.
void read_control_group(const std::string& directory, Machine* machine) {
  const std::string processor = read_text(directory + "/cpu.max");
  const std::vector<absl::string_view> words = absl::StrSplit(processor, ' ');
  if (words.size() == 2) {
    const std::optional<int64_t> quota = whole(words[0]), period = whole(words[1]);
    if (quota.has_value() && period.has_value() && *period > 0) {
      machine->quota = static_cast<double>(*quota) / static_cast<double>(*period);
    }
  }
  machine->memory_limit = whole(read_text(directory + "/memory.max"));
}

void read_disk(const std::string& directory, Machine* machine) {
  std::error_code error;
  std::filesystem::path path = std::filesystem::absolute(directory, error);
  if (!std::filesystem::exists(path, error)) machine->missing_directory = directory;
  while (!std::filesystem::exists(path, error) && path.has_relative_path()) {
    path = path.parent_path();
  }
  if (!machine->missing_directory.empty()) machine->disk_parent = path.string();
  struct statvfs disk = {};
  if (::statvfs(path.c_str(), &disk) != 0) return;
  machine->disk_free = static_cast<int64_t>(disk.f_bavail) * static_cast<int64_t>(disk.f_frsize);
}

}  // namespace

Machine read_machine(const std::string& directory, const std::string& root) {
  Machine machine;
  const std::string processors = read_text(root + "/proc/cpuinfo");
  machine.processor = value_of(processors, "model name");
  machine.cores = count_cores(processors);
  cpu_set_t usable;
  if (::sched_getaffinity(0, sizeof(usable), &usable) == 0) {
    machine.usable_cores = CPU_COUNT(&usable);
  }
  double load = 0;
  const std::string loads = read_text(root + "/proc/loadavg");
  if (absl::SimpleAtod(loads.substr(0, loads.find(' ')), &load)) machine.load = load;
  machine.stolen = stolen_share(read_text(root + "/proc/stat"));
  const std::string devices = root + "/sys/devices/system";
  machine.governor = read_text(devices + "/cpu/cpu0/cpufreq/scaling_governor");
  machine.clock_source = read_text(devices + "/clocksource/clocksource0/current_clocksource");
  machine.instruction_set = best_instruction_set();
  const std::string memory = read_text(root + "/proc/meminfo");
  machine.memory = bytes_of(memory, "MemTotal");
  machine.available = bytes_of(memory, "MemAvailable");
  const std::optional<int64_t> swap = bytes_of(memory, "SwapTotal"),
                               unused = bytes_of(memory, "SwapFree");
  if (swap.has_value() && unused.has_value()) machine.swapped = *swap - *unused;
  read_control_group(root + "/sys/fs/cgroup", &machine);
  machine.huge_pages = chosen(read_text(root + "/sys/kernel/mm/transparent_hugepage/enabled"));
  rlimit files = {};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur != RLIM_INFINITY) {
    machine.open_files = static_cast<int64_t>(files.rlim_cur);
  }
  read_disk(directory, &machine);
  return machine;
}

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
