#include "distributed/environment/checkpoint_notice.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"

namespace millrace {
namespace {

// Returns true if the descriptor is a memory file of kCheckpointFile. A process that inherited the
// variable without the descriptor may have another file there.
bool is_launchers_file(int file) {
  char target[64];
  const std::string link = absl::StrCat("/proc/self/fd/", file);
  const ssize_t size = ::readlink(link.c_str(), target, sizeof target);
  return size > 0 && absl::string_view(target, static_cast<size_t>(size)) ==
                         absl::StrCat("/memfd:", kCheckpointFile, " (deleted)");
}

}  // namespace

void notify_launcher_of_checkpoint(const GetVariable& get, int64_t step) {
  const absl::StatusOr<std::optional<VariableNumber>> file = read_number(get, kCheckpointNotice);
  if (!file.ok() || !file->has_value() || !is_launchers_file((*file)->value)) return;
  const std::string line = absl::StrCat(step, "\n");
  [[maybe_unused]] const ssize_t written = ::write((*file)->value, line.data(), line.size());
}

int64_t last_noticed_step(int file) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t count = ::pread(file, buffer, sizeof buffer, static_cast<off_t>(text.size()));
    if (count <= 0) break;
    text.append(buffer, static_cast<size_t>(count));
  }
  int64_t last = -1, step = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    if (absl::SimpleAtoi(line, &step)) last = std::max(last, step);
  }
  return last;
}

}  // namespace millrace
