// Every system call of saving, replacing and loading killed at and failed.
#ifndef MILLRACE_TESTS_CAMPAIGNS_SYSCALL_CAMPAIGN_H_
#define MILLRACE_TESTS_CAMPAIGNS_SYSCALL_CAMPAIGN_H_

#include "tests/campaigns/campaign.h"

namespace millrace {

// Three things are done, in a process of their own, on the local disk, in a folder with two
// checkpoints:
//
//   * save: take the lock, clean up what a dead writer left, save the next step, and apply
//     retention, which removes one checkpoint and reduces another;
//   * replace: save the newest step once more with another content;
//   * load: restore the newest.
//
// For each of their system calls that have to do with files: SIGKILL at its entry; at its exit;
// each of EIO, ENOSPC, EDQUOT, EROFS, EMFILE and EINTR once, each but EINTR from there on; and for
// reading and writing half the bytes. `options.stride` thins these out.
//
// Checked: nothing crashes or hangs; an error names the place; what was acknowledged before, or the
// new one whole, comes back to the last bit, and the new one if it was acknowledged; a failed sync,
// write, renaming or close on the way to the acknowledgement is an error; the next save works and
// leaves nothing of the one before.
// Skipped where processes cannot be traced. REQUIRES: this process has one thread.
CampaignResult run_syscalls(const CampaignOptions& options);

}  // namespace millrace

#endif  // MILLRACE_TESTS_CAMPAIGNS_SYSCALL_CAMPAIGN_H_
