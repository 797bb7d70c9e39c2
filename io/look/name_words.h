// The words of the name of a column.
#ifndef MILLRACE_IO_LOOK_NAME_WORDS_H_
#define MILLRACE_IO_LOOK_NAME_WORDS_H_

#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace millrace {

// Returns the words of a name in small letters: "adUserID2" and "ad_user_id" have "id" and "user".
std::vector<std::string> words_of_name(absl::string_view name);

// Returns true if a word of the name is one of `wanted`.
bool name_has_word(absl::string_view name, std::initializer_list<absl::string_view> wanted);

// Returns true if a word of the name is one for a point in time, such as "date", "day" or "ts".
bool is_name_of_time(absl::string_view name);

// Returns true for is_name_of_time() and for names of what comes once, such as "hour", "month" or
// "snapshot", after which files are put into directories.
bool is_name_of_load(absl::string_view name);

}  // namespace millrace

#endif  // MILLRACE_IO_LOOK_NAME_WORDS_H_
