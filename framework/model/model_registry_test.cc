#include "framework/model/model_registry.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/rand.h>
#include <torch/nn/module.h>

#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/parts/part_family.h"
#include "base/status_matchers.h"
#include "framework/model/model.h"

namespace millrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// A model with one random parameter.
class NoiseModel : public Model {
 public:
  static absl::StatusOr<std::shared_ptr<Model>> create(const ModelConfig&, const ModelResources&) {
    return std::make_shared<NoiseModel>();
  }
  NoiseModel() { noise = register_parameter("noise", at::rand({4})); }
  absl::StatusOr<ModelOutput> forward(const Batch&) override { return ModelOutput(); }
  at::Tensor noise;
};

absl::StatusOr<std::shared_ptr<Model>> refuse(const ModelConfig&, const ModelResources&) {
  return absl::InvalidArgumentError("no dense features");
}
absl::StatusOr<std::shared_ptr<Model>> throw_up(const ModelConfig&, const ModelResources&) {
  throw std::runtime_error("out of paper");
}
absl::StatusOr<std::shared_ptr<Model>> make_none(const ModelConfig&, const ModelResources&) {
  return std::shared_ptr<Model>();
}

MILLRACE_REGISTER_MODEL(noise, "one random parameter", &NoiseModel::create,
                        ModelLabels::kProbabilities);
MILLRACE_REGISTER_MODEL(refuse, &refuse);
MILLRACE_REGISTER_MODEL(throw_up, &throw_up);
MILLRACE_REGISTER_MODEL(make_none, &make_none);

absl::StatusOr<std::shared_ptr<Model>> create(const std::string& name, uint64_t seed = 1) {
  ModelConfig config;
  config.set_name(name);
  return create_model(config, ModelResources(), seed);
}

TEST(ModelRegistryTest, NamesAreSorted) {
  EXPECT_THAT(registered_models(), ElementsAre("make_none", "noise", "refuse", "throw_up"));
}

TEST(ModelRegistryTest, SeedDecidesTheParameters) {
  const auto noise = [](uint64_t seed) {
    return std::static_pointer_cast<NoiseModel>(*create("noise", seed))->noise;
  };
  EXPECT_TRUE(at::equal(noise(7), noise(7)));
  EXPECT_FALSE(at::equal(noise(7), noise(8)));
}

TEST(ModelRegistryTest, ThreadsThatCreateAtOnceGetTheSameParameters) {
  const auto create_noise = [] {
    return std::static_pointer_cast<NoiseModel>(*create("noise", 7))->noise;
  };
  const at::Tensor expected = create_noise();
  std::vector<int> different(2, 0);
  std::vector<std::thread> threads;
  for (int& count : different) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) count += at::equal(create_noise(), expected) ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(different, ElementsAre(0, 0));
}

TEST(ModelRegistryTest, ModelsAreListedWithTheirDescriptionIfAny) {
  std::map<std::string, std::string> descriptions;
  for (const PartFamily* family : PartFamily::all()) {
    if (family->name() != "model") continue;
    for (const PartEntry& part : family->parts()) descriptions[part.name] = part.description;
  }
  EXPECT_EQ(descriptions["noise"], "one random parameter");
  EXPECT_EQ(descriptions["refuse"], "");
}

TEST(ModelRegistryTest, AnUnknownNameLeavesTheGeneratorsAsTheyAre) {
  const at::Tensor expected = std::static_pointer_cast<NoiseModel>(*create("noise", 7))->noise;
  const at::Tensor next = at::rand({4});
  EXPECT_OK(create("noise", 7).status());
  EXPECT_FALSE(create("nois", 7).ok());
  EXPECT_TRUE(at::equal(at::rand({4}), next));
  EXPECT_FALSE(at::equal(expected, next));
}

TEST(ModelRegistryTest, UnknownNameListsWhatIsThereAndSaysHowToAddOne) {
  EXPECT_THAT(create("nois"),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("no model \"nois\""), HasSubstr("did you mean \"noise\"?"),
                             HasSubstr("make_none, noise, refuse, throw_up"), HasSubstr("deps"),
                             Not(HasSubstr("//models")))));
  EXPECT_THAT(create(""), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ModelRegistryTest, ModelsSayWhichLabelsTheyTake) {
  EXPECT_EQ(labels_of_model("noise"), ModelLabels::kProbabilities);
  EXPECT_EQ(labels_of_model("refuse"), ModelLabels::kAny);
  EXPECT_EQ(labels_of_model("nobody"), ModelLabels::kAny);
}

TEST(ModelRegistryTest, ErrorsNameTheModel) {
  EXPECT_THAT(create("refuse"),
              StatusIs(absl::StatusCode::kInvalidArgument, "model \"refuse\": no dense features"));
  EXPECT_THAT(create("throw_up"),
              StatusIs(absl::StatusCode::kInternal, "model \"throw_up\": out of paper"));
  EXPECT_THAT(create("make_none"),
              StatusIs(absl::StatusCode::kInternal, HasSubstr("model \"make_none\"")));
}

TEST(ModelRegistryTest, TwoModelsOfOneNameMakeNone) {
  register_model("twins", &refuse);
  register_model("twins", &make_none);
  EXPECT_THAT(create("twins"), StatusIs(absl::StatusCode::kInvalidArgument,
                                        AllOf(HasSubstr("registered more than once"),
                                              HasSubstr("model_registry_test.cc:"))));
}

}  // namespace
}  // namespace millrace
