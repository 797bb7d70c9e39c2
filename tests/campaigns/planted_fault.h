// Faults of writers and readers of checkpoints, planted to show that a campaign finds each.
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
  const char* what;       // for messages
  const char* campaign;   // the campaign that finds the fault
  const char* call = "";  // for campaign syscalls: the disturbed system call
};

// Returns all faults except kNone.
const std::vector<PlantedFaultEntry>& planted_faults();

// Returns a file system with this fault; borrows `under`. kNone, and kCursorOneBatchOff, which is
// not a fault of a file system, forward every call. Errors: as `under`.
std::unique_ptr<FileSystem> plant(PlantedFault fault, FileSystem& under);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_PLANTED_FAULT_H_
