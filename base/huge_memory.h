// Memory straight from the system, aligned for huge pages.
#ifndef MILLRACE_BASE_HUGE_MEMORY_H_
#define MILLRACE_BASE_HUGE_MEMORY_H_

#include <cstdint>

namespace millrace {

inline constexpr int64_t kHugePageBytes = 2 << 20;

// Address space of zeros, aligned to a huge page; memory appears page by page as it is touched.
// `bytes` is a multiple of kHugePageBytes. Ends as operator new does if there is none
// (std::bad_alloc).
char* map_memory(int64_t bytes);
void unmap_memory(char* memory, int64_t bytes);

// Asks for huge pages where memory is not there yet. Where the system has none, nothing happens:
// the memory is slower, not wrong.
void use_huge_pages(char* memory, int64_t bytes);
// Asks for small ones, which appear as they are touched.
void use_small_pages(char* memory, int64_t bytes);
// Makes huge pages of those that are there, too. The addresses stay.
void collapse_pages(char* memory, int64_t bytes);
// Gives the memory back and keeps the addresses; it holds zeros again.
void forget_memory(char* memory, int64_t bytes);

}  // namespace millrace

#endif  // MILLRACE_BASE_HUGE_MEMORY_H_
