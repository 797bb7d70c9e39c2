// Capacity of vectors, for additions that must not fail.
#ifndef MILLRACE_BASE_MEMORY_MAKE_ROOM_H_
#define MILLRACE_BASE_MEMORY_MAKE_ROOM_H_

#include <vector>

namespace millrace {

// Reserves capacity, so that the next element is added without an allocation. Throws
// std::bad_alloc, and then changes nothing.
template <typename T>
void make_room_for_one(std::vector<T>& all) {
  if (all.size() == all.capacity()) all.reserve(2 * all.size() + 1);
}

}  // namespace millrace

#endif  // MILLRACE_BASE_MEMORY_MAKE_ROOM_H_
