#include "hooks/console/console_line.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_join.h"
#include "base/utf8/characters.h"

namespace millrace {

void ConsoleLine::add(std::string text, int importance) {
  items_.push_back({std::move(text), importance});
}

void ConsoleLine::add(const ConsoleLine& other) {
  items_.insert(items_.end(), other.items_.begin(), other.items_.end());
}

std::string ConsoleLine::text(int64_t width) const {
  const auto joined = [](const std::vector<Item>& items) {
    return absl::StrJoin(items, "  ",
                         [](std::string* out, const Item& item) { out->append(item.text); });
  };
  const size_t limit = static_cast<size_t>(std::max<int64_t>(width, 0));
  std::vector<Item> items = items_;
  std::string text = joined(items);
  while (count_characters(text) > limit && items.size() > 1) {
    const auto least =
        std::min_element(items.rbegin(), items.rend(),
                         [](const Item& a, const Item& b) { return a.importance < b.importance; });
    items.erase(std::next(least).base());
    text = joined(items);
  }
  return std::string(first_characters(text, limit));
}

std::string ConsoleLine::text() const { return text(std::numeric_limits<int64_t>::max()); }

}  // namespace millrace
