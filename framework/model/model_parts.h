// The parts of a model that optimizers and checkpoints work on.
#ifndef MILLRACE_FRAMEWORK_MODEL_MODEL_PARTS_H_
#define MILLRACE_FRAMEWORK_MODEL_MODEL_PARTS_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "framework/model/model.h"
#include "optim/dense/dense_optimizer.h"

namespace millrace {

// Returns every dense parameter, by name. The tensors share memory with the model's.
std::vector<NamedParameter> parameters_of(Model& model);

// Parameters and collections of a model. Valid as long as the model.
struct ModelParts {
  explicit ModelParts(Model& model)
      : parameters(parameters_of(model)), collections(collections_of(model)) {}

  // Returns the number and a digest of the parameters, for comparing ranks: "2 parameters of digest
  // 0123…".
  std::string describe_parameters() const;
  // Returns the number of tables in all collections.
  int64_t tables() const;
  // Returns table → rows.
  std::map<std::string, int64_t> table_rows() const;

  const std::vector<NamedParameter> parameters;
  const std::vector<EmbeddingCollection*> collections;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_MODEL_MODEL_PARTS_H_
