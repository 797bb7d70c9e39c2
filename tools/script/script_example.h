// The inputs of a model's dense part, and random examples of them.
#ifndef MILLRACE_TOOLS_SCRIPT_SCRIPT_EXAMPLE_H_
#define MILLRACE_TOOLS_SCRIPT_SCRIPT_EXAMPLE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/model/model.h"
#include "io/batch.h"
#include "io/feature_schema.h"

namespace millrace {

class EmbeddingCollection;
class RowLookup;

// A tensor that the dense part of a model takes.
struct ScriptInput {
  // For an unpooled feature, kRows has the rows of all lists, and kOffsets the bounds of each list.
  enum class Kind { kDense, kPooled, kRows, kOffsets };

  std::string name;  // an identifier: "dense", "embeddings", "FEATURE_rows", "FEATURE_offsets"
  Kind kind = Kind::kDense;
  int64_t columns = 0;                              // of kOffsets: 0
  const EmbeddingCollection* collection = nullptr;  // borrowed from the model; kDense: null
  std::string module;                               // the path of `collection` in the model
  int64_t feature = -1;  // for kRows and kOffsets: index among the features of `collection`

  // Returns a text such as "float32 [batch, 13]".
  std::string type_text() const;
};

// Returns inputs for the dense features, if any, and the output of each embedding collection, in
// the order of the model's modules.
std::vector<ScriptInput> script_inputs(const Model& model, const FeatureSchema& schema);

// A batch, and the tensors that replace its content for a model.
struct ScriptExample {
  Batch batch;                     // labels are 0
  std::vector<at::Tensor> inputs;  // of script_inputs
};

struct ScriptExampleShape {
  int64_t size = 0;      // examples
  int64_t most_ids = 0;  // of a list, unless limited by max_ids
  uint64_t seed = 0;     // seed of all numbers
};

// Returns an example. Dense features are in [0, 1), rows are normal with a deviation of 0.1, lists
// have random lengths.
ScriptExample make_script_example(const std::vector<ScriptInput>& inputs,
                                  const FeatureSchema& schema, const ScriptExampleShape& shape);

// Makes the collections of a model return these tensors, without lookups, during its lifetime.
// Content of a batch without such an input (dense features or pooled rows without columns) is
// derived from the other tensors, so that a trace takes its size from them.
class StandIns {
 public:
  // Borrows the model. Changes batch.dense.
  StandIns(Model& model, const std::vector<ScriptInput>& inputs,
           const std::vector<at::Tensor>& tensors, Batch& batch);
  ~StandIns();
  StandIns(const StandIns&) = delete;
  StandIns& operator=(const StandIns&) = delete;

 private:
  const std::vector<EmbeddingCollection*> collections_;
  std::vector<std::unique_ptr<RowLookup>> lookups_;  // of collections_
};

}  // namespace millrace

#endif  // MILLRACE_TOOLS_SCRIPT_SCRIPT_EXAMPLE_H_
