// Memory directly from the system, aligned for huge pages.
#ifndef MILLRACE_BASE_MEMORY_HUGE_MEMORY_H_
#define MILLRACE_BASE_MEMORY_HUGE_MEMORY_H_

#include <cstdint>

namespace millrace {

inline constexpr int64_t kHugePageBytes = 2 << 20;

// Returns address space that reads as zeros; memory is allocated page by page as it is touched.
// Throws std::bad_alloc if no address space is left. REQUIRES: `bytes` is a multiple of
// `alignment`, a power of two of at least a page.
char* map_memory(int64_t bytes, int64_t alignment = kHugePageBytes);
void unmap_memory(char* memory, int64_t bytes);

// Requests huge pages for memory that is not allocated yet. Has no effect if the system does not
// support them: the memory is only slower.
void use_huge_pages(char* memory, int64_t bytes);
// Requests small pages, which are allocated as they are touched.
void use_small_pages(char* memory, int64_t bytes);
// Converts allocated small pages to huge pages. Addresses stay the same.
void collapse_pages(char* memory, int64_t bytes);
// Allocates memory that was not touched yet.
void touch_memory(char* memory, int64_t bytes);
// Returns the memory to the system, or overwrites it if it is locked, and keeps the addresses. The
// memory reads as zeros afterwards.
void forget_memory(char* memory, int64_t bytes);

}  // namespace millrace

#endif  // MILLRACE_BASE_MEMORY_HUGE_MEMORY_H_
