// Memory straight from the system, aligned for huge pages.
#ifndef MILLRACE_BASE_MEMORY_HUGE_MEMORY_H_
#define MILLRACE_BASE_MEMORY_HUGE_MEMORY_H_

#include <cstdint>

namespace millrace {

inline constexpr int64_t kHugePageBytes = 2 << 20;

// Address space of zeros; memory appears page by page as it is touched. `bytes` is a multiple of
// `alignment`, a power of two that is at least a page. Throws std::bad_alloc if there is none.
char* map_memory(int64_t bytes, int64_t alignment = kHugePageBytes);
void unmap_memory(char* memory, int64_t bytes);

// Asks for huge pages where memory is not there yet. Where the system has none, nothing happens:
// the memory is slower, not wrong.
void use_huge_pages(char* memory, int64_t bytes);
// Asks for small ones, which appear as they are touched.
void use_small_pages(char* memory, int64_t bytes);
// Makes huge pages of those that are there, too. The addresses stay.
void collapse_pages(char* memory, int64_t bytes);
// Makes memory appear that is all zeros yet.
void touch_memory(char* memory, int64_t bytes);
// Gives the memory back, or overwrites what is locked, and keeps the addresses; it holds zeros
// again.
void forget_memory(char* memory, int64_t bytes);

}  // namespace millrace

#endif  // MILLRACE_BASE_MEMORY_HUGE_MEMORY_H_
