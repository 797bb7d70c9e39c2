#include "base/signals/block_signals.h"

#include <pthread.h>
#include <signal.h>

namespace millrace {

void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace millrace
