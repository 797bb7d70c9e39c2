// Mistakes that a writer or reader of checkpoints could make, planted to see which test finds them.
#ifndef MILLRACE_TESTS_CAMPAIGNS_PLANTED_FAULT_H_
#define MILLRACE_TESTS_CAMPAIGNS_PLANTED_FAULT_H_

#include <memory>
#include <vector>

#include "base/file_system.h"

namespace millrace {

enum class PlantedFault {
  kNone,
  // The protocol of a save.
  kNoFileSync,
  kNoManifestSync,
  kNoTemporarySync,
  kNoFolderSync,
  kNoParentSync,
  kManifestSyncAfterRename,
  kAcknowledgedBeforeRename,
  kOldRemovedFirst,
  // Writing.
  kCloseErrorIgnored,
  kWriteErrorIgnored,
  kShortWriteIgnored,
  kSecondSync,
  kPiecesSwapped,
  // Reading.
  kNoManifestDigest,
  kNoChunkDigests,
  kCursorOneBatchOff,
  // The folder.
  kRetentionTakesNewest,
  kLockForEverybody,
  kStaleLockBlocks,
  kNoCleanUp,
  kNoRoomCheck,
  kFullDiskLeavesFiles,
};

struct PlantedFaultEntry {
  PlantedFault fault;
  const char* what;       // for people
  const char* campaign;   // that finds it
  const char* call = "";  // of campaign syscalls: the system call that is disturbed
};

// All but kNone.
const std::vector<PlantedFaultEntry>& planted_faults();

// A file system that makes this mistake; it borrows `under`. kNone, and kCursorOneBatchOff, which
// is none of a file system, pass everything on. Errors are those of `under`.
std::unique_ptr<FileSystem> plant(PlantedFault fault, FileSystem& under);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_PLANTED_FAULT_H_
