// A line of figures for people, as wide as the terminal allows.
#ifndef MILLRACE_HOOKS_CONSOLE_CONSOLE_LINE_H_
#define MILLRACE_HOOKS_CONSOLE_CONSOLE_LINE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace millrace {

// Collects the items of a line, such as "step 200" and "loss 0.4733".
//
//   ConsoleLine line;
//   line.add("step 200", 9);
//   line.add("rows 1.25 k", 1);
//   line.text(12);  // "step 200"
class ConsoleLine {
 public:
  // Appends an item. Items of higher importance are kept if not all fit.
  void add(std::string text, int importance);
  // Appends the items of `other`.
  void add(const ConsoleLine& other);
  bool empty() const { return items_.empty(); }

  // Returns the items in the order of add(), separated by two spaces. While the text exceeds
  // `width` characters, omits the least important item, and among equals the last. Cuts the text of
  // an item only if no other item is left.
  std::string text(int64_t width) const;
  // Returns all items.
  std::string text() const;

 private:
  struct Item {
    std::string text;
    int importance;
  };
  std::vector<Item> items_;
};

}  // namespace millrace

#endif  // MILLRACE_HOOKS_CONSOLE_CONSOLE_LINE_H_
