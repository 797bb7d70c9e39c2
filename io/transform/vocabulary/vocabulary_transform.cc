#include "io/transform/vocabulary/vocabulary_transform.h"

#include <vector>

#include "base/status_macros.h"
#include "io/transform/id_lists.h"
#include "io/transform/vocabulary/vocabulary.h"

namespace millrace {
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
