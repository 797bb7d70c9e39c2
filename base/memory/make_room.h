// Room in a vector, for where adding must not fail.
#ifndef MILLRACE_BASE_MEMORY_MAKE_ROOM_H_
#define MILLRACE_BASE_MEMORY_MAKE_ROOM_H_

#include <vector>

namespace millrace {

// After it one more is added without allocating. Or throws std::bad_alloc, and nothing changed.
template <typename T>
void make_room_for_one(std::vector<T>& all) {
  if (all.size() == all.capacity()) all.reserve(2 * all.size() + 1);
}

}  // namespace millrace

#endif  // MILLRACE_BASE_MEMORY_MAKE_ROOM_H_
