#include "tools/script/script_example.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/random/philox.h"
#include "embedding/embedding_collection.h"
#include "framework/model/model_parts.h"

namespace millrace {
namespace {

// Returns the same output whatever the features are.
class FixedOutput : public RowLookup {
 public:
  explicit FixedOutput(EmbeddingOutput output) : output_(std::move(output)) {}
  absl::StatusOr<EmbeddingOutput> look_up(const KeyedJagged&) override { return output_; }

 private:
  const EmbeddingOutput output_;
};

// Returns `name` as an identifier that differs from all names in `inputs`.
std::string identifier(std::string name, const std::vector<ScriptInput>& inputs) {
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  if (name.empty() || absl::ascii_isdigit(static_cast<unsigned char>(name[0]))) name = "_" + name;
  std::string unique = name;
  const auto taken = [&] {
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const ScriptInput& input) { return input.name == unique; });
  };
  for (int i = 2; taken(); ++i) unique = absl::StrCat(name, "_", i);
  return unique;
}

void add_inputs_of(const EmbeddingCollection& collection, const std::string& module,
                   std::vector<ScriptInput>& inputs) {
  // A module may be registered under several names.
  for (const ScriptInput& input : inputs) {
    if (input.collection == &collection) return;
  }
  const auto add = [&](ScriptInput::Kind kind, const std::string& name, int64_t columns,
                       int64_t feature) {
    inputs.push_back({identifier(name, inputs), kind, columns, &collection, module, feature});
  };
  if (collection.pooled_dim() > 0) {
    add(ScriptInput::Kind::kPooled, module, collection.pooled_dim(), -1);
  }
  const std::vector<FeaturePlace>& places = collection.places();
  for (size_t f = 0; f < places.size(); ++f) {
    if (places[f].unpooled < 0) continue;
    const auto feature = static_cast<int64_t>(f);
    add(ScriptInput::Kind::kRows, places[f].name + "_rows", places[f].dim, feature);
    add(ScriptInput::Kind::kOffsets, places[f].name + "_offsets", 0, feature);
  }
}

// Returns lists for each sparse feature of a schema.
KeyedJagged make_lists(const FeatureSchema& schema, const ScriptExampleShape& shape) {
  std::vector<int64_t> offsets = {0};
  for (size_t f = 0; f < schema.sparse().size(); ++f) {
    const int64_t max_ids = schema.sparse()[f].max_ids;
    for (int64_t e = 0; e < shape.size; ++e) {
      const int64_t ids = philox(shape.seed, f, e)[0] % (shape.most_ids + 1);
      offsets.push_back(offsets.back() + (max_ids > 0 ? std::min(ids, max_ids) : ids));
    }
  }
  KeyedJagged lists;
  lists.values = at::arange(offsets.back(), at::kLong);
  lists.offsets = at::tensor(offsets, at::kLong);
  return lists;
}

// Returns the bounds of the lists of a feature: int64 [size + 1]. A collection may have features
// that the job lacks.
at::Tensor offsets_of(const std::string& feature, const FeatureSchema& schema, const Batch& batch) {
  const absl::StatusOr<int64_t> index = schema.sparse_index(feature);
  if (!index.ok()) return at::arange(batch.size + 1, at::kLong);
  const at::Tensor all = batch.sparse.offsets.narrow(0, *index * batch.size, batch.size + 1);
  return all - all[0];
}

// Returns float32 [batch, 0], by operations on the first tensor, or for kRows on its offsets, which
// come next.
at::Tensor without_columns(const ScriptInput& first, const std::vector<at::Tensor>& tensors) {
  if (first.kind != ScriptInput::Kind::kRows) return tensors[0].narrow(1, 0, 0);
  return tensors[1].slice(0, 1).unsqueeze(1).narrow(1, 0, 0).to(at::kFloat);
}

}  // namespace

std::string ScriptInput::type_text() const {
  switch (kind) {
    case Kind::kDense:
    case Kind::kPooled: return absl::StrCat("float32 [batch, ", columns, "]");
    case Kind::kRows: return absl::StrCat("float32 [ids, ", columns, "]");
    case Kind::kOffsets: return "int64 [batch + 1]";
  }
  return "";
}

std::vector<ScriptInput> script_inputs(const Model& model, const FeatureSchema& schema) {
  std::vector<ScriptInput> inputs;
  const auto dense = static_cast<int64_t>(schema.dense().size());
  if (dense > 0) inputs.push_back({"dense", ScriptInput::Kind::kDense, dense, nullptr, "", -1});
  for (const auto& module : model.named_modules(/*name_prefix=*/"", /*include_self=*/false)) {
    const auto* collection = dynamic_cast<const EmbeddingCollection*>(module.value().get());
    if (collection != nullptr) add_inputs_of(*collection, module.key(), inputs);
  }
  return inputs;
}

ScriptExample make_script_example(const std::vector<ScriptInput>& inputs,
                                  const FeatureSchema& schema, const ScriptExampleShape& shape) {
  const int64_t size = shape.size;
  ScriptExample example;
  Batch& batch = example.batch;
  batch.size = size;
  batch.sparse = make_lists(schema, shape);
  batch.dense = at::empty({size, 0}, at::kFloat);
  batch.labels = at::zeros({size, static_cast<int64_t>(schema.labels().size())}, at::kFloat);
  batch.example_ids = at::arange(size, at::kLong);
  const at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(shape.seed);
  const auto rows = [&](int64_t count, int64_t columns) {
    return at::randn({count, columns}, generator, at::kFloat) * 0.1;
  };
  at::Tensor offsets;  // of the last kRows
  for (const ScriptInput& input : inputs) {
    switch (input.kind) {
      case ScriptInput::Kind::kDense:
        batch.dense = at::rand({size, input.columns}, generator, at::kFloat);
        example.inputs.push_back(batch.dense);
        break;
      case ScriptInput::Kind::kPooled: example.inputs.push_back(rows(size, input.columns)); break;
      case ScriptInput::Kind::kRows:
        offsets = offsets_of(input.collection->places()[input.feature].name, schema, batch);
        example.inputs.push_back(rows(offsets[size].item<int64_t>(), input.columns));
        break;
      case ScriptInput::Kind::kOffsets: example.inputs.push_back(offsets); break;
    }
  }
  return example;
}

StandIns::StandIns(Model& model, const std::vector<ScriptInput>& inputs,
                   const std::vector<at::Tensor>& tensors, Batch& batch)
    : collections_(collections_of(model)) {
  const at::Tensor no_columns = without_columns(inputs[0], tensors);
  batch.dense = no_columns;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind == ScriptInput::Kind::kDense) batch.dense = tensors[i];
  }
  for (EmbeddingCollection* collection : collections_) {
    at::Tensor pooled = no_columns;
    std::vector<JaggedRows> unpooled;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].collection != collection) continue;
      if (inputs[i].kind == ScriptInput::Kind::kPooled) pooled = tensors[i];
      if (inputs[i].kind == ScriptInput::Kind::kRows) unpooled.push_back({tensors[i], {}});
      if (inputs[i].kind == ScriptInput::Kind::kOffsets) unpooled.back().offsets = tensors[i];
    }
    auto places = std::make_shared<const std::vector<FeaturePlace>>(collection->places());
    lookups_.push_back(std::make_unique<FixedOutput>(
        EmbeddingOutput(std::move(pooled), std::move(unpooled), std::move(places))));
    collection->set_lookup(lookups_.back().get());
  }
}

StandIns::~StandIns() {
  for (EmbeddingCollection* collection : collections_) collection->set_lookup(nullptr);
}

}  // namespace millrace
