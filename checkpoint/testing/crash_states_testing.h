// Possible states of a disk after a crash during recorded file operations, for tests.
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
  // Operations begun before the crash, and the marks among them: the promises made so far.
  int64_t operations = 0;
  std::vector<std::string> marks = {};
  // For people: the fate of each operation that was not durable.
  std::string what = {};
};

struct CrashOptions {
  int64_t max_states = 10'000;  // enumerated, over all points of a crash
  uint64_t seed = 1;            // of mixes
};

struct CrashCounts {
  int64_t enumerated = 0;
  int64_t distinct = 0;  // distinct trees and promises; only these were passed to `look`
};

// Calls `look` with states of the disk after a crash before, between and after the operations.
// `operations` begin with an empty disk. The model is the weakest that systems promise:
//
//   * Bytes of a file are on disk if the file was synced after they were written. Before, each
//     write is on disk, lost, or torn: partly on disk, with zeros or nothing for the rest.
//     Likewise the size of a new file.
//   * The presence or absence of a name in a directory is on disk if the directory was synced
//     afterwards. Before, each creation, renaming and removal is on disk or not, independently of
//     the others. Syncing a file does not sync its name.
//
// The states of each point are: first all operations that are not durable lost, then all kept, then
// each alone lost or torn, then each alone kept, then all after one of them lost; then random
// mixes, until max_states are used up, equally many for each point. `look` returns true to
// continue.
CrashCounts for_each_crash_state(const std::vector<FileOperation>& operations,
                                 const CrashOptions& options,
                                 const std::function<bool(const CrashState&)>& look);

}  // namespace millrace

#endif  // MILLRACE_CHECKPOINT_TESTING_CRASH_STATES_TESTING_H_
