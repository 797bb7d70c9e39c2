#include "io/transform/vocabulary_transform.h"

#include <charconv>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/path/path_check.h"
#include "base/status_macros.h"
#include "io/file_start.h"
#include "io/transform/id_lists.h"

namespace millrace {

absl::StatusOr<std::unique_ptr<const Vocabulary>> Vocabulary::load(FileSystem& files,
                                                                   const std::string& path,
                                                                   int64_t other_ids) {
  RETURN_IF_ERROR(check_rereadable(files, path));
  std::unique_ptr<Vocabulary> vocabulary(new Vocabulary(other_ids));
  ASSIGN_OR_RETURN(vocabulary->text_, read_file(files, path));
  absl::string_view rest = vocabulary->text_;
  ASSIGN_OR_RETURN(const TextStart start,
                   find_text_start(rest.substr(0, kTextStartBytes), /*separator_line=*/false),
                   path);
  rest.remove_prefix(start.begin);
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    absl::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (absl::EndsWith(word, "\r")) word.remove_suffix(1);
    const int64_t id = static_cast<int64_t>(vocabulary->ids_.size());
    // The id of a word is its line, so a repeated word would have two ids.
    const auto [place, is_new] = vocabulary->ids_.try_emplace(word, id);
    if (!is_new) {
      return absl::DataLossError(absl::StrCat(path, ", line ", id + 1, ": \"",
                                              absl::CEscape(word.substr(0, 80)),
                                              "\" stands in line ", place->second + 1, " too"));
    }
  }
  if (vocabulary->ids_.empty()) return absl::DataLossError(absl::StrCat(path, " has no lines"));
  return vocabulary;
}

int64_t Vocabulary::find(absl::string_view word) const {
  const auto found = ids_.find(word);
  if (found != ids_.end()) return found->second;
  if (other_ids_ == 0) return -1;
  return static_cast<int64_t>(ids_.size()) +
         static_cast<int64_t>(xxh3(word) % static_cast<uint64_t>(other_ids_));
}

int64_t Vocabulary::find(int64_t number) const {
  char digits[24];
  const auto result = std::to_chars(digits, digits + sizeof digits, number);
  return find(absl::string_view(digits, result.ptr - digits));
}

namespace {

class VocabularyLookup : public Transform {
 public:
  explicit VocabularyLookup(const VocabularyTransform& config) : config_(config) {}

  Takes takes() const override { return Takes::kTextOrIntegers; }

  // Integers are looked up as they are written in decimal.
  bool distinguishes_text() const override { return false; }

  std::vector<std::string> files() const override { return {config_.path()}; }

  absl::Status prepare(FileSystem& files) override {
    ASSIGN_OR_RETURN(vocabulary_, Vocabulary::load(files, config_.path(), config_.other_ids()));
    return absl::OkStatus();
  }

  absl::Status apply(const FeatureInput& input, FeatureValues* values) const override {
    if (values->are_ids) {
      for (int64_t& id : values->list.values) id = vocabulary_->find(id);
    } else {
      const StringValues& texts = input.column.strings;
      const absl::Span<int64_t> ids = values->make_ids(texts.size());
      for (size_t i = 0; i < ids.size(); ++i) ids[i] = vocabulary_->find(texts[i]);
    }
    if (config_.other_ids() > 0) return absl::OkStatus();
    const std::vector<int64_t>& ids = values->list.values;
    std::vector<uint8_t> known(ids.size());
    for (size_t i = 0; i < ids.size(); ++i) known[i] = ids[i] >= 0;
    keep_values(known, &values->list);
    return absl::OkStatus();
  }

 private:
  const VocabularyTransform config_;
  std::unique_ptr<const Vocabulary> vocabulary_;  // once prepared
};

}  // namespace

std::unique_ptr<Transform> make_vocabulary_transform(const VocabularyTransform& config) {
  return std::make_unique<VocabularyLookup>(config);
}

}  // namespace millrace
