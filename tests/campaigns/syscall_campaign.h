// Kills at, and failures of, every system call of saving, replacing and loading.
#ifndef MILLRACE_TESTS_CAMPAIGNS_SYSCALL_CAMPAIGN_H_
#define MILLRACE_TESTS_CAMPAIGNS_SYSCALL_CAMPAIGN_H_

#include "tests/campaigns/campaign.h"

namespace millrace {

// Runs three actions, in a separate process, on the local disk, in a folder with two checkpoints:
//
//   * save: acquires the lock, cleans up the remains of a dead writer, saves the next step, and
//     applies retention, which removes one checkpoint and reduces another;
//   * replace: saves the newest step once more with other content;
//   * load: restores the newest checkpoint.
//
// Disturbs each of their system calls on files: SIGKILL at its entry; at its exit; each of EIO,
// ENOSPC, EDQUOT, EROFS, EMFILE and EINTR once, and, except EINTR, for all later calls too; and,
// for reading and writing, half the bytes. `options.stride` selects a part of the cases.
//
// Checks: nothing crashes or hangs; an error names the place; the checkpoint acknowledged before,
// or the whole new checkpoint, restores to the last bit, and the new one if it was acknowledged; a
// failed sync, write, rename or close before the acknowledgement is an error; the next save
// succeeds and leaves nothing of the save before. Skipped where processes cannot be traced.
// REQUIRES: the process has one thread.
CampaignResult run_syscalls(const CampaignOptions& options);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_SYSCALL_CAMPAIGN_H_
