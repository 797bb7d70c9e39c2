#include "framework/model/model_parts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/model/model.h"
#include "framework/trainer.h"
#include "tests/fakes/tiny_trainer.h"

namespace millrace {
namespace {

TEST(ModelParts, FindsParametersAndCollections) {
  TinyTrainerOptions options;
  options.train.sparse = 1;
  const std::unique_ptr<Trainer> trainer = tiny_trainer(options);
  std::vector<std::string> names;
  for (const NamedParameter& parameter : parameters_of(trainer->model())) {
    names.push_back(parameter.name);
  }
  EXPECT_THAT(names, testing::ElementsAre("weight", "bias"));
  EXPECT_EQ(collections_of(trainer->model()).size(), 1u);
}

TEST(ModelParts, AModelWithoutTablesHasNoCollection) {
  EXPECT_TRUE(collections_of(tiny_trainer()->model()).empty());
}

}  // namespace
}  // namespace millrace
