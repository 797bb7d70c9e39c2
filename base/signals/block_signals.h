// Signals of threads.
#ifndef MILLRACE_BASE_SIGNALS_BLOCK_SIGNALS_H_
#define MILLRACE_BASE_SIGNALS_BLOCK_SIGNALS_H_

namespace millrace {

// Blocks all signals in the calling thread; other threads of the program receive them.
void block_signals();

}  // namespace millrace

#endif  // MILLRACE_BASE_SIGNALS_BLOCK_SIGNALS_H_
