// What a crash may leave of recorded file operations, for tests.
#ifndef MILLRACE_CHECKPOINT_TESTING_CRASH_STATES_TESTING_H_
#define MILLRACE_CHECKPOINT_TESTING_CRASH_STATES_TESTING_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/memory_file_system_testing.h"
#include "base/recording_file_system_testing.h"

namespace millrace {

// One state of the disk after a crash.
struct CrashState {
  std::unique_ptr<MemoryFileSystem> files;
  // Operations begun before the crash, and the marks among them: what had been promised.
  int64_t operations = 0;
  std::vector<std::string> marks = {};
  // For people: what became of each operation that was not durable.
  std::string what = {};
};

struct CrashOptions {
  int64_t max_states = 10'000;  // enumerated, over all points of a crash
  uint64_t seed = 1;            // of mixes
};

struct CrashCounts {
  int64_t enumerated = 0;
  int64_t distinct = 0;  // trees and promises; only these were looked at
};

// Calls `look` with states of the disk after a crash before, between and after the operations.
// `operations` begin with an empty disk. The model is the weakest that systems promise:
//
//   * Bytes of a file are on disk when the file was synced after they were written. Before, each
//     write is on disk, not, or torn: a part of it, with zeros or nothing for the rest. So is the
//     size of a new file.
//   * That a name is, or is not, in a directory is on disk when the directory was synced
//     afterwards. Before, each creation, renaming and removal is on disk or not, whatever became
//     of the others. Syncing a file says nothing of its name.
//
// For every point first all of these that are not durable are lost, then kept, then each lost or
// torn alone, then each kept alone, then all after one of them lost; then mixes by chance until
// max_states are spent, as many for each point. `look` returns whether to go on.
CrashCounts for_each_crash_state(const std::vector<FileOperation>& operations,
                                 const CrashOptions& options,
                                 const std::function<bool(const CrashState&)>& look);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_TESTING_CRASH_STATES_TESTING_H_
