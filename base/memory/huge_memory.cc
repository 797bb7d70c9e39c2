#include "base/memory/huge_memory.h"

#include <sys/mman.h>

#include <cstring>
#include <new>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1
#endif

namespace millrace {

char* map_memory(int64_t bytes, int64_t alignment) {
  // More than asked for; the ends that are too much go back.
  void* mapped = mmap(nullptr, bytes + alignment, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  const uintptr_t excess = -reinterpret_cast<uintptr_t>(mapped) & (alignment - 1);
  char* memory = static_cast<char*>(mapped) + excess;
  if (excess > 0) munmap(mapped, excess);
  munmap(memory + bytes, alignment - excess);
  return memory;
}

void unmap_memory(char* memory, int64_t bytes) { munmap(memory, bytes); }

void use_huge_pages(char* memory, int64_t bytes) { madvise(memory, bytes, MADV_HUGEPAGE); }

void use_small_pages(char* memory, int64_t bytes) { madvise(memory, bytes, MADV_NOHUGEPAGE); }

void collapse_pages(char* memory, int64_t bytes) {
  use_huge_pages(memory, bytes);
  madvise(memory, bytes, MADV_COLLAPSE);
}

void touch_memory(char* memory, int64_t bytes) {
  constexpr int64_t kPageBytes = 4096;
  for (int64_t at = 0; at < bytes; at += kPageBytes) static_cast<volatile char*>(memory)[at] = 0;
}

void forget_memory(char* memory, int64_t bytes) {
  if (madvise(memory, bytes, MADV_DONTNEED) != 0) std::memset(memory, 0, bytes);
}

}  // namespace millrace
