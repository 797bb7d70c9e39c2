#include "tools/doctor/machine.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

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

}  // namespace millrace
