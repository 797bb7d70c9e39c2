#include "tools/model_script.h"

#include <ATen/ops/allclose.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/serialization/export.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "embedding/embedding_collection.h"
#include "framework/guarded.h"

namespace millrace {
namespace {

using nlohmann::json;

// Of the examples that are traced. 1 would hide what broadcasts.
constexpr int64_t kTracedSize = 3;
// Of those that are compared.
constexpr int64_t kComparedSizes[] = {1, 2, 3, 64};
constexpr double kRelativeTolerance = 1e-5, kAbsoluteTolerance = 1e-6;

bool holds_tensors(const torch::nn::Module& module) {
  return !module.parameters().empty() || !module.buffers().empty();
}

// The same tree of modules, parameters and buffers, which share their memory with the model's.
torch::jit::Module mirror(const torch::nn::Module& module, const std::string& name,
                          const std::shared_ptr<torch::jit::CompilationUnit>& unit) {
  torch::jit::Module result(c10::QualifiedName(name), unit, /*shouldMangle=*/true);
  for (const auto& parameter : module.named_parameters(/*recurse=*/false)) {
    result.register_parameter(parameter.key(), parameter.value(), /*is_buffer=*/false);
  }
  for (const auto& buffer : module.named_buffers(/*recurse=*/false)) {
    result.register_buffer(buffer.key(), buffer.value());
  }
  for (const auto& child : module.named_children()) {
    if (!holds_tensors(*child.value())) continue;
    result.register_module(child.key(), mirror(*child.value(), "__torch__.millrace.Part", unit));
  }
  return result;
}

// What the model predicts for a batch of this size with `inputs` in place of what it holds.
absl::StatusOr<at::Tensor> predict(Model& model, const std::vector<ScriptInput>& inputs,
                                   Batch batch, const std::vector<at::Tensor>& tensors) {
  const StandIns stand_ins(model, inputs, tensors);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].kind == ScriptInput::Kind::kDense) batch.dense = tensors[i];
  }
  ASSIGN_OR_RETURN(ModelOutput output, model.evaluate(batch));
  if (output.predictions.defined() && output.predictions.dim() == 2 &&
      output.predictions.size(0) == batch.size) {
    return output.predictions;
  }
  return absl::InvalidArgumentError("its predictions are not [batch, tasks]");
}

absl::StatusOr<torch::jit::Module> trace(Model& model, const std::vector<ScriptInput>& inputs,
                                         const ScriptExample& example) {
  torch::jit::Module module =
      mirror(model, "__torch__.millrace.Model", std::make_shared<torch::jit::CompilationUnit>());
  torch::jit::Stack stack(example.inputs.begin(), example.inputs.end());
  std::vector<std::string> names;
  for (const ScriptInput& input : inputs) names.push_back(input.name);
  absl::Status status;
  const auto run = [&](torch::jit::Stack traced) -> torch::jit::Stack {
    // What a trace cannot follow shows when it is compared.
    const torch::jit::tracer::NoWarn no_warnings;
    std::vector<at::Tensor> tensors;
    for (const c10::IValue& value : traced) tensors.push_back(value.toTensor());
    absl::StatusOr<at::Tensor> predictions = predict(model, inputs, example.batch, tensors);
    status = predictions.status();
    return {status.ok() ? *std::move(predictions) : tensors[0]};
  };
  const auto state =
      torch::jit::tracer::trace(
          std::move(stack), run, [](const at::Tensor&) { return ""; }, /*strict=*/true,
          /*force_outplace=*/false, &module, names)
          .first;
  RETURN_IF_ERROR(status);
  torch::jit::EliminateDeadCode(state->graph);  // the loss
  const auto type = module.type();
  type->addMethod(module._ivalue()->compilation_unit()->create_function(
      c10::QualifiedName(*type->name(), "forward"), state->graph));
  return module;
}

absl::Status not_what_the_model_gives(int64_t size, const std::string& how) {
  return absl::InvalidArgumentError(absl::StrCat(
      "it ", how, " for a batch of ", size,
      " examples: the model's evaluate() depends on something else than the dense features and "
      "what its "
      "embedding collections give. Take sizes from tensors (unflatten, flatten, narrow), not from "
      "batch.size, ids from no batch, and no branch from values"));
}

// Whether the script is the model, at other sizes and values than it was traced with.
absl::Status compare(Model& model, torch::jit::Module& module,
                     const std::vector<ScriptInput>& inputs, const FeatureSchema& schema) {
  uint64_t seed = 2;
  for (const int64_t size : kComparedSizes) {
    const ScriptExample example = make_script_example(inputs, schema, size, seed++);
    ASSIGN_OR_RETURN(const at::Tensor expected,
                     predict(model, inputs, example.batch, example.inputs));
    at::Tensor scripted;
    const absl::Status ran = guarded("running it", [&] {
      scripted = module.forward({example.inputs.begin(), example.inputs.end()}).toTensor();
      return absl::OkStatus();
    });
    if (!ran.ok()) return not_what_the_model_gives(size, "fails");
    if (scripted.sizes() != expected.sizes() ||
        !at::allclose(scripted, expected, kRelativeTolerance, kAbsoluteTolerance,
                      /*equal_nan=*/true)) {
      return not_what_the_model_gives(size, "predicts something else");
    }
  }
  return absl::OkStatus();
}

const TableConfig& table_of(const EmbeddingCollectionOptions& options, const std::string& feature) {
  const EmbeddingFeature* named = nullptr;
  for (const EmbeddingFeature& other : options.features) {
    if (other.name == feature) named = &other;
  }
  for (const TableConfig& table : options.tables) {
    if (named != nullptr && table.name() == named->table) return table;
  }
  return TableConfig::default_instance();
}

json feature_json(const EmbeddingCollection& collection, size_t f) {
  const EmbeddingFeature& feature = collection.options().features[f];
  const FeaturePlace& place = collection.places()[f];
  const DefaultValueConfig& missing = table_of(collection.options(), feature.name).default_value();
  json result = {{"feature", feature.name},
                 {"table", feature.table},
                 {"dim", place.dim},
                 {"pooling", absl::AsciiStrToLower(Pooling_Name(feature.pooling))},
                 {"max_ids", feature.max_ids}};
  if (missing.has_constant()) {
    result["default_value"] = missing.constant().value();
  } else {
    result["default_value"] = "initial";
  }
  if (place.column >= 0) result["first_column"] = place.column;
  return result;
}

json input_json(const ScriptInput& input, const FeatureSchema& schema) {
  json result = {{"name", input.name}, {"type", input.type_text()}};
  switch (input.kind) {
    case ScriptInput::Kind::kDense:
      result["columns"] = schema.dense();
      break;
    case ScriptInput::Kind::kPooled:
      result["features"] = json::array();
      for (size_t f = 0; f < input.collection->places().size(); ++f) {
        if (input.collection->places()[f].column < 0) continue;
        result["features"].push_back(feature_json(*input.collection, f));
      }
      break;
    case ScriptInput::Kind::kRows:
    case ScriptInput::Kind::kOffsets:
      result["features"] = {feature_json(*input.collection, input.feature)};
      break;
  }
  if (input.collection != nullptr) result["collection"] = input.module;
  return result;
}

std::string describe(const std::vector<ScriptInput>& inputs, const ModelScriptOptions& options) {
  const FeatureSchema& schema = options.schema;
  json result = {{"format", "millrace script 1"},
                 {"model", options.model},
                 {"step", options.progress.step},
                 {"examples", options.progress.examples},
                 {"inputs", json::array()},
                 {"output",
                  {{"type", absl::StrCat("float32 [batch, ", schema.labels().size(), "]")},
                   {"columns", schema.labels()}}}};
  for (const ScriptInput& input : inputs) result["inputs"].push_back(input_json(input, schema));
  return result.dump(2);
}

absl::Status save(const torch::jit::Module& module, const std::string& description,
                  WritableFile& file) {
  absl::Status status;
  const auto append = [&](const void* bytes, size_t size) -> size_t {
    if (status.ok()) status = file.append({static_cast<const char*>(bytes), size});
    return status.ok() ? size : 0;  // LibTorch then throws
  };
  const absl::Status written = guarded("writing the script", [&] {
    torch::jit::ExportModule(module, append, {{"millrace.json", description}});
    return absl::OkStatus();
  });
  RETURN_IF_ERROR(status);
  return written;
}

absl::Status trace_and_save(Model& model, const std::vector<ScriptInput>& inputs,
                            const ModelScriptOptions& options, WritableFile& file) {
  const FeatureSchema& schema = options.schema;
  ASSIGN_OR_RETURN(torch::jit::Module module,
                   trace(model, inputs, make_script_example(inputs, schema, kTracedSize, 1)));
  RETURN_IF_ERROR(compare(model, module, inputs, schema));
  return save(module, describe(inputs, options), file);
}

}  // namespace

absl::StatusOr<std::vector<ScriptInput>> write_model_script(Model& model,
                                                            const ModelScriptOptions& options,
                                                            WritableFile& file) {
  const std::vector<ScriptInput> inputs = script_inputs(model, options.schema);
  if (inputs.empty()) {
    return absl::InvalidArgumentError(
        "a model without dense features and embeddings has nothing to make a script of");
  }
  const at::NoGradGuard no_grad;
  model.eval();
  constexpr char kDoing[] = "making a script of the model";
  RETURN_IF_ERROR(guarded(kDoing, [&] {
    model.begin_step(options.progress, Phase::kEvaluate);
    return annotate(trace_and_save(model, inputs, options, file), kDoing);
  }));
  return inputs;
}

}  // namespace millrace
