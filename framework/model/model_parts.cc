#include "framework/model/model_parts.h"

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "embedding/embedding_collection.h"

namespace millrace {

std::vector<NamedParameter> parameters_of(Model& model) {
  std::vector<NamedParameter> parameters;
  for (const auto& parameter : model.named_parameters()) {
    parameters.push_back({parameter.key(), parameter.value()});
  }
  return parameters;
}

std::string ModelParts::describe_parameters() const {
  uint64_t digest = 0;
  for (const NamedParameter& parameter : parameters) {
    const at::Tensor value = parameter.value.detach().to(at::kCPU).contiguous();
    digest = xxh3(parameter.name, digest);
    digest = xxh3({static_cast<const char*>(value.const_data_ptr()), value.nbytes()}, digest);
  }
  return absl::StrCat(parameters.size(), " parameters of digest ",
                      absl::Hex(digest, absl::kZeroPad16));
}

int64_t ModelParts::tables() const {
  int64_t count = 0;
  for (const EmbeddingCollection* collection : collections) {
    count += static_cast<int64_t>(collection->tables().size());
  }
  return count;
}

std::map<std::string, int64_t> ModelParts::table_rows() const {
  std::map<std::string, int64_t> rows;
  for (const EmbeddingCollection* collection : collections) {
    for (const auto& table : collection->tables()) {
      rows[std::string(table->name())] = table->maintenance().statistics().rows;
    }
  }
  return rows;
}

}  // namespace millrace
