// The transform that maps words of a file to numbers.
#ifndef MILLRACE_IO_TRANSFORM_VOCABULARY_TRANSFORM_H_
#define MILLRACE_IO_TRANSFORM_VOCABULARY_TRANSFORM_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/file_system.h"
#include "io/transform/transform.h"
#include "proto/config.pb.h"

namespace millrace {

// The lines of a text file, without LF or CR LF: line n, from 0, is the word with id n. An empty
// last line does not count. Immutable; thread-safe.
class Vocabulary {
 public:
  // `other_ids`: how many ids stand for words that are no line.
  // Errors: as reading files; InvalidArgument for a pipe or a device, since a later start reads the
  // file again; DataLoss for a file without lines, for a repeated line and for text that
  // find_text_start() refuses (io/file_start.h), whose byte order mark is omitted.
  static absl::StatusOr<std::unique_ptr<const Vocabulary>> load(FileSystem& files,
                                                                const std::string& path,
                                                                int64_t other_ids);

  // The id of a word: its line; of another word, with n lines, n + XXH3(word) modulo other_ids, or
  // with other_ids 0 -1.
  int64_t find(absl::string_view word) const;
  // The same for a number, which is written in decimal.
  int64_t find(int64_t number) const;

 private:
  explicit Vocabulary(int64_t other_ids) : other_ids_(other_ids) {}

  const int64_t other_ids_;
  std::string text_;
  // Words lie in text_.
  absl::flat_hash_map<absl::string_view, int64_t> ids_;
};

// Makes each text, or each integer written in decimal, the id that it has in a vocabulary. Leaves
// out what is no line of it, if `other_ids` is 0. prepare() reads the vocabulary.
std::unique_ptr<Transform> make_vocabulary_transform(const VocabularyTransform& config);

}  // namespace millrace

#endif  // MILLRACE_IO_TRANSFORM_VOCABULARY_TRANSFORM_H_
