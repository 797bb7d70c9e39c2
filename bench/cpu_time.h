// CPU time.
#ifndef MILLRACE_BENCH_CPU_TIME_H_
#define MILLRACE_BENCH_CPU_TIME_H_

namespace millrace {

// Return the CPU time in seconds of the calling thread, and of all threads of this process, since
// their start.
double thread_cpu_seconds();
double process_cpu_seconds();

}  // namespace millrace

#endif  // MILLRACE_BENCH_CPU_TIME_H_
