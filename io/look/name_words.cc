#include "io/look/name_words.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"

namespace millrace {

std::vector<std::string> words_of_name(absl::string_view name) {
  std::string spaced;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool starts = i > 0 && absl::ascii_isupper(name[i]) && absl::ascii_islower(name[i - 1]);
    if (starts) spaced += '_';
    spaced += absl::ascii_isalpha(name[i]) ? absl::ascii_tolower(name[i]) : '_';
  }
  return absl::StrSplit(spaced, '_', absl::SkipEmpty());
}

bool name_has_word(absl::string_view name, std::initializer_list<absl::string_view> wanted) {
  const std::vector<std::string> words = words_of_name(name);
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(wanted.begin(), wanted.end(), word) != wanted.end();
  });
}

bool is_name_of_time(absl::string_view name) {
  return name_has_word(name, {"date", "day", "dt", "ds", "time", "timestamp", "ts", "datetime",
                              "epoch", "birthday", "dob", "since", "until", "at"});
}

bool is_name_of_load(absl::string_view name) {
  return is_name_of_time(name) ||
         name_has_word(name, {"minute", "hour", "hr", "week", "month", "year", "batch", "snapshot",
                              "version", "load"});
}

}  // namespace millrace
