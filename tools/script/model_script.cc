#include "tools/script/model_script.h"

#include <ATen/ops/allclose.h>
#include <ATen/ops/isfinite.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/tracer.h>
#include <torch/csrc/jit/passes/dead_code_elimination.h>
#include <torch/csrc/jit/serialization/export.h>
#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "base/catch_exceptions.h"
#include "base/status_macros.h"
#include "embedding/embedding_collection.h"
#include "framework/model/model_output.h"
#include "proto/config.pb.h"

namespace millrace {
namespace {

using Json = nlohmann::ordered_json;
using Tensors = std::vector<at::Tensor>;

// Shape of the traced example. A single example would hide broadcasting.
constexpr ScriptExampleShape kTraced = {.size = 3, .most_ids = 3, .seed = 1};
// Shapes of the compared examples: other sizes, longer lists and empty lists.
constexpr ScriptExampleShape kCompared[] = {{.size = 1, .most_ids = 9, .seed = 2},
                                            {.size = 2, .most_ids = 0, .seed = 3},
                                            {.size = 3, .most_ids = 12, .seed = 4},
                                            {.size = 64, .most_ids = 20, .seed = 5}};
constexpr double kRelativeTolerance = 1e-5, kAbsoluteTolerance = 1e-6;

bool holds_tensors(const torch::nn::Module& module) {
  return !module.parameters().empty() || !module.buffers().empty();
}

// Returns the same tree of modules, parameters and buffers, which share their memory with the
// model's.
torch::jit::Module mirror(const torch::nn::Module& module, const std::string& name,
                          const std::shared_ptr<torch::jit::CompilationUnit>& unit) {
  torch::jit::Module result(c10::QualifiedName(name), unit, /*shouldMangle=*/true);
  result.register_attribute("training", c10::BoolType::get(), false);
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

// Detaches parameters, so that results of the script have no gradients. Done after tracing, since
// the tracer knows parameters by identity.
void detach_parameters(const torch::jit::Module& module) {
  for (torch::jit::Module part : module.modules()) {
    for (const auto& parameter : part.named_parameters(/*recurse=*/false)) {
      part.setattr(parameter.name, parameter.value.detach());
    }
  }
}

Tensors copies_of(const Tensors& tensors) {
  Tensors copies;
  for (const at::Tensor& tensor : tensors) copies.push_back(tensor.clone());
  return copies;
}

// Returns the model's predictions for a batch with its content replaced by `tensors`.
absl::StatusOr<at::Tensor> predict(Model& model, const std::vector<ScriptInput>& inputs,
                                   Batch batch, const Tensors& tensors) {
  const StandIns stand_ins(model, inputs, tensors, batch);
  ASSIGN_OR_RETURN(const std::vector<int64_t> targets, count_targets(model, batch));
  ASSIGN_OR_RETURN(ModelOutput output, model.evaluate(batch));
  RETURN_IF_ERROR(check_model_output(output, batch, targets.size()));
  if (output.predictions.scalar_type() == at::kFloat) return output.predictions;
  return absl::InvalidArgumentError(absl::StrCat("its predictions are of type ",
                                                 c10::toString(output.predictions.scalar_type()),
                                                 ", not float32"));
}

// Returns true if the model changes its input tensors, which a script must not do.
absl::StatusOr<bool> writes_to_inputs(Model& model, const std::vector<ScriptInput>& inputs,
                                      const ScriptExample& example) {
  const Tensors tensors = copies_of(example.inputs);
  std::vector<uint32_t> versions;
  for (const at::Tensor& tensor : tensors) versions.push_back(tensor._version());
  RETURN_IF_ERROR(predict(model, inputs, example.batch, tensors).status());
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i]._version() != versions[i]) return true;
  }
  return false;
}

absl::StatusOr<torch::jit::Module> trace(Model& model, const std::vector<ScriptInput>& inputs,
                                         const ScriptExample& example) {
  ASSIGN_OR_RETURN(const bool copies, writes_to_inputs(model, inputs, example));
  torch::jit::Module module =
      mirror(model, "__torch__.millrace.Model", std::make_shared<torch::jit::CompilationUnit>());
  std::vector<std::string> names;
  for (const ScriptInput& input : inputs) names.push_back(input.name);
  absl::Status status;
  const auto run = [&](torch::jit::Stack traced) -> torch::jit::Stack {
    // A comparison finds operations that a trace cannot follow.
    const torch::jit::tracer::NoWarn no_warnings;
    Tensors tensors;
    for (const c10::IValue& value : traced) tensors.push_back(value.toTensor());
    if (copies) tensors = copies_of(tensors);
    absl::StatusOr<at::Tensor> predictions = predict(model, inputs, example.batch, tensors);
    status = predictions.status();
    return {status.ok() ? *std::move(predictions) : tensors[0]};
  };
  const auto state =
      torch::jit::tracer::trace(
          {example.inputs.begin(), example.inputs.end()}, run, [](const at::Tensor&) { return ""; },
          /*strict=*/true, /*force_outplace=*/false, &module, names)
          .first;
  RETURN_IF_ERROR(status);
  torch::jit::EliminateDeadCode(state->graph);  // the loss
  const auto type = module.type();
  type->addMethod(module._ivalue()->compilation_unit()->create_function(
      c10::QualifiedName(*type->name(), "forward"), state->graph));
  detach_parameters(module);
  return module;
}

// Serializes in memory, since LibTorch ends the process if a write to a file fails.
std::string serialize(const torch::jit::Module& module, const std::string& description) {
  std::string bytes;
  const auto append = [&](const void* piece, size_t size) {
    bytes.append(static_cast<const char*>(piece), size);
    return size;
  };
  torch::jit::ExportModule(module, append, {{"millrace.json", description}});
  return bytes;
}

// Returns the reason in a message of LibTorch, whose other lines are places in a script.
std::string reason_in(absl::string_view message) {
  constexpr absl::string_view kReason = "RuntimeError: ";
  const size_t at = message.rfind(kReason);
  if (at != absl::string_view::npos) message.remove_prefix(at + kReason.size());
  message = absl::StripLeadingAsciiWhitespace(message);
  return std::string(message.substr(0, message.find('\n')));
}

// Loads the script. Module names may be invalid in its text.
absl::StatusOr<torch::jit::Module> load(const std::string& bytes,
                                        const std::vector<ScriptInput>& inputs) {
  torch::jit::Module module;
  try {
    std::istringstream stream(bytes);
    module = torch::jit::load(stream);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("it cannot be read back; modules and parameters must have names that Python "
                     "takes, and none of its keywords: ",
                     reason_in(error.what())));
  }
  const auto& arguments = module.get_method("forward").function().getSchema().arguments();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (arguments.at(i + 1).name() == inputs[i].name) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", inputs[i].name, "\" cannot be the name of an input; rename the module \"",
        inputs[i].module, "\" or its feature"));
  }
  return module;
}

absl::Status not_what_the_model_gives(int64_t size, const std::string& how) {
  return absl::InvalidArgumentError(absl::StrCat(
      "it ", how, " for a batch of ", size,
      " examples: evaluate() depends on more than tensor operations on the dense features and the "
      "outputs of its collections. No number that is read from the batch or from a tensor "
      "(batch.size, size(), numel(), item()) may enter, nor ids: use -1, unflatten, flatten, "
      "narrow"));
}

absl::Status compare(const at::Tensor& expected, torch::jit::Module& module,
                     const Tensors& inputs) {
  const int64_t size = expected.size(0);
  at::Tensor scripted;
  try {
    scripted = module.forward({inputs.begin(), inputs.end()}).toTensor();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return not_what_the_model_gives(size, absl::StrCat("fails (", reason_in(error.what()), ")"));
  }
  if (scripted.sizes() == expected.sizes() &&
      at::allclose(scripted, expected, kRelativeTolerance, kAbsoluteTolerance)) {
    return absl::OkStatus();
  }
  return not_what_the_model_gives(size, "predicts something else");
}

// Checks that script and model agree, at other sizes and values than the traced ones.
absl::Status compare_all(Model& model, torch::jit::Module& module,
                         const std::vector<ScriptInput>& inputs, const FeatureSchema& schema) {
  for (const ScriptExampleShape& shape : kCompared) {
    const ScriptExample example = make_script_example(inputs, schema, shape);
    ASSIGN_OR_RETURN(const at::Tensor expected,
                     predict(model, inputs, example.batch, copies_of(example.inputs)));
    if (!expected.isfinite().all().item<bool>()) {
      return absl::InvalidArgumentError(
          "the model predicts what is no finite number: it may have diverged");
    }
    RETURN_IF_ERROR(compare(expected, module, example.inputs));
  }
  return absl::OkStatus();
}

const TableConfig& table_of(const EmbeddingCollectionOptions& options, const std::string& name) {
  const auto table = std::find_if(options.tables.begin(), options.tables.end(),
                                  [&](const TableConfig& table) { return table.name() == name; });
  return table == options.tables.end() ? TableConfig::default_instance() : *table;
}

bool is_weighted(const FeatureSchema& schema, const std::string& name) {
  const auto& features = schema.features();
  return std::any_of(features.begin(), features.end(), [&](const FeatureConfig& feature) {
    return feature.name() == name && feature.has_weight_column();
  });
}

Json feature_json(const ScriptInput& input, size_t f, const FeatureSchema& schema) {
  const EmbeddingCollectionOptions& options = input.collection->options();
  const EmbeddingFeature& feature = options.features[f];
  const FeaturePlace& place = input.collection->places()[f];
  const TableConfig& table = table_of(options, feature.table);
  const int64_t side_by_side = feature.pooling == FIRST_N ? feature.max_ids : 1;
  Json result = {
      {"feature", feature.name}, {"table", feature.table}, {"dim", place.dim / side_by_side}};
  if (place.column >= 0) result["first_column"] = place.column;
  result["pooling"] = absl::AsciiStrToLower(Pooling_Name(feature.pooling));
  result["weighted"] = is_weighted(schema, feature.name);
  result["max_ids"] = feature.max_ids;
  if (table.default_value().has_constant()) {
    result["default_value"] = table.default_value().constant().value();
  } else {
    result["default_value"] = "initial";
    result["initializer"] = table.initializer().ShortDebugString();
    result["seed"] = options.seed;
  }
  return result;
}

Json input_json(const ScriptInput& input, const FeatureSchema& schema) {
  Json result = {{"name", input.name}, {"type", input.type_text()}};
  if (input.kind == ScriptInput::Kind::kDense) {
    result["columns"] = schema.dense();
    return result;
  }
  result["collection"] = input.module;
  Json& features = result["features"] = Json::array();
  const std::vector<FeaturePlace>& places = input.collection->places();
  for (size_t f = 0; f < places.size(); ++f) {
    const bool pooled = input.kind == ScriptInput::Kind::kPooled;
    if (pooled ? places[f].column >= 0 : static_cast<int64_t>(f) == input.feature) {
      features.push_back(feature_json(input, f, schema));
    }
  }
  return result;
}

std::string describe(const std::vector<ScriptInput>& inputs, const ModelScriptOptions& options) {
  const FeatureSchema& schema = options.schema;
  Json result = {{"format", "millrace script 1"},
                 {"model", options.model},
                 {"step", options.progress.step},
                 {"examples", options.progress.examples}};
  Json& described = result["inputs"] = Json::array();
  for (const ScriptInput& input : inputs) described.push_back(input_json(input, schema));
  Json& output = result["output"] = Json::object();
  output["type"] = absl::StrCat("float32 [batch, ", schema.labels().size(), "]");
  output["columns"] = schema.labels();
  return result.dump(2, ' ', false, Json::error_handler_t::replace);
}

absl::Status trace_and_save(Model& model, const std::vector<ScriptInput>& inputs,
                            const ModelScriptOptions& options, WritableFile& file) {
  const FeatureSchema& schema = options.schema;
  ASSIGN_OR_RETURN(const torch::jit::Module traced,
                   trace(model, inputs, make_script_example(inputs, schema, kTraced)));
  const std::string bytes = serialize(traced, describe(inputs, options));
  // Compares the form that other programs will read.
  ASSIGN_OR_RETURN(torch::jit::Module module, load(bytes, inputs));
  RETURN_IF_ERROR(compare_all(model, module, inputs, schema));
  return file.append(bytes);
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
  RETURN_IF_ERROR(catch_exceptions(kDoing, [&] {
    model.begin_step(options.progress, Phase::kEvaluate);
    return annotate(trace_and_save(model, inputs, options, file), kDoing);
  }));
  return inputs;
}

}  // namespace millrace
