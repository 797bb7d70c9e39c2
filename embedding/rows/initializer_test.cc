#include "embedding/rows/initializer.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/hash.h"
#include "base/random/philox.h"
#include "base/status_matchers.h"
#include "embedding/rows/initializer_registry.h"

namespace millrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

std::vector<float> row_of(const InitializerConfig& config, uint64_t seed, absl::string_view table,
                          int64_t id, int64_t dim) {
  InitializerOptions options;
  options.config = config;
  options.seed = seed;
  options.table = table;
  options.dim = dim;
  absl::StatusOr<Initializer> initializer = Initializer::create(options);
  EXPECT_OK(initializer);
  std::vector<float> row(dim);
  initializer->fill(id, absl::MakeSpan(row));
  return row;
}

InitializerConfig normal(double mean, double stddev) {
  InitializerConfig config;
  config.mutable_normal()->set_mean(mean);
  config.mutable_normal()->set_stddev(stddev);
  return config;
}

InitializerConfig parse(const std::string& text) {
  InitializerConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return config;
}

// Golden values from an independent program, also in docs/embedding.md. They never change.
TEST(InitializerTest, UniformGoldenValues) {
  InitializerConfig config;
  config.mutable_uniform();
  EXPECT_THAT(row_of(config, 7, "items", 0, 5),
              ElementsAre(0x1.2d528cp-7f, -0x1.dd6952p-9f, -0x1.14bcecp-9f, -0x1.87d4ccp-10f,
                          -0x1.2c4378p-7f));
  EXPECT_THAT(row_of(config, 7, "items", -1, 5),
              ElementsAre(0x1.e45b9ep-8f, 0x1.286b34p-8f, 0x1.d8ee7ap-10f, 0x1.2f30a4p-10f,
                          0x1.192148p-13f));
  EXPECT_THAT(row_of(config, 7, "items", kLowest, 3),
              ElementsAre(0x1.80fcp-11f, -0x1.48e876p-8f, 0x1.d0cc5cp-9f));
  EXPECT_THAT(
      row_of(config, 7, "items", 123456789, 5),
      ElementsAre(0x1.10337p-9f, 0x1.10ef2ep-7f, 0x1.3998fp-8f, -0x1.2cda4cp-7f, -0x1.fc6b28p-8f));
}

TEST(InitializerTest, NormalGoldenValues) {
  // The independent program computed the quantile by another method, with an error of 1e-9.
  const std::vector<float> expected = {0.00263290014f, 0.0138167804f, 0.00641052937f,
                                       -0.0173993539f, -0.0121539673f};
  EXPECT_THAT(row_of(normal(0, 0.01), 7, "items", 123456789, 5),
              testing::Pointwise(testing::FloatEq(), expected));
}

// Golden values from an independent program with the library's logarithm and bisection of the
// distribution function.
TEST(InitializerTest, GoldenValuesOfTheOthers) {
  struct Golden {
    const char* config;
    int64_t id;
    std::vector<float> columns;  // columns 0 to 3 of 16
  };
  const std::vector<Golden> all = {
      {"truncated_normal {}",
       0,
       {0.0154528581f, -0.00450518122f, -0.00255324575f, -0.00179774826f}},
      {"truncated_normal {}", -1, {0.0104817841f, 0.00570585672f, 0.00217524543f, 0.00138804608f}},
      {"truncated_normal {}",
       123456789,
       {0.0025104899f, 0.012675209f, 0.00607889611f, -0.0153965075f}},
      {"truncated_normal {}",
       kLowest,
       {0.000879567058f, -0.00641863933f, 0.00437812787f, 0.00766222272f}},
      {"truncated_normal { low: 1 high: 3 }",
       0,
       {0.0102649704f, 0.0163186044f, 0.01526873f, 0.0148898065f}},
      {"truncated_normal { low: 1 high: 3 }",
       -1,
       {0.0108874794f, 0.0119739091f, 0.0131537328f, 0.0134632178f}},
      {"truncated_normal { low: 1 high: 3 }",
       123456789,
       {0.0130271167f, 0.0105586601f, 0.011868733f, 0.0241864491f}},
      {"truncated_normal { low: 1 high: 3 }",
       kLowest,
       {0.0136722084f, 0.0174458176f, 0.0123780686f, 0.0114620263f}},
      {"xavier {}", 0, {0.398182541f, -0.157718807f, -0.0914238393f, -0.0647231713f}},
      {"xavier {}", -1, {0.320027351f, 0.195851266f, 0.0781194195f, 0.0500812978f}},
      {"xavier {}", 123456789, {0.0899249762f, 0.360668987f, 0.207201645f, -0.397561818f}},
      {"xavier {}", kLowest, {0.0317960978f, -0.217317745f, 0.153551906f, 0.252438486f}},
      {"xavier { distribution: NORMAL }",
       0,
       {0.437039346f, -0.118407406f, -0.0669459403f, -0.0471110828f}},
      {"xavier { distribution: NORMAL }",
       -1,
       {0.281049848f, 0.150302246f, 0.057017792f, 0.0363667756f}},
      {"xavier { distribution: NORMAL }",
       123456789,
       {0.0658225045f, 0.345419526f, 0.16026324f, -0.43498385f}},
      {"xavier { distribution: NORMAL }",
       kLowest,
       {0.0230402891f, -0.169360265f, 0.115045011f, 0.202901289f}},
      {"kaiming {}", 0, {0.56311512f, -0.223048091f, -0.129292831f, -0.0915323868f}},
      {"kaiming {}", -1, {0.452587008f, 0.276975513f, 0.110477544f, 0.0708256513f}},
      {"kaiming {}", 123456789, {0.127173126f, 0.510062993f, 0.293027371f, -0.562237322f}},
      {"kaiming {}", kLowest, {0.0449664742f, -0.307333708f, 0.217155188f, 0.35700193f}},
      {"kaiming { distribution: NORMAL }",
       0,
       {0.618066967f, -0.167453349f, -0.0946758613f, -0.0666251332f}},
      {"kaiming { distribution: NORMAL }",
       -1,
       {0.397464484f, 0.212559476f, 0.080635339f, 0.0514303856f}},
      {"kaiming { distribution: NORMAL }",
       123456789,
       {0.0930870697f, 0.488496959f, 0.226646438f, -0.615160048f}},
      {"kaiming { distribution: NORMAL }",
       kLowest,
       {0.0325838886f, -0.239511579f, 0.162698209f, 0.28694576f}},
  };
  for (const Golden& golden : all) {
    std::vector<float> row = row_of(parse(golden.config), 7, "items", golden.id, 16);
    row.resize(4);
    EXPECT_EQ(row, golden.columns) << golden.config << ", id " << golden.id;
  }
}

TEST(InitializerTest, UniformIsTheDefault) {
  InitializerConfig uniform;
  uniform.mutable_uniform();
  EXPECT_EQ(row_of(InitializerConfig(), 1, "t", 5, 8), row_of(uniform, 1, "t", 5, 8));
}

TEST(InitializerTest, ConstantIsConstant) {
  InitializerConfig config;
  config.mutable_constant()->set_value(-0.25);
  EXPECT_THAT(row_of(config, 1, "t", 99, 3), testing::Each(-0.25f));
}

TEST(InitializerTest, DependsOnSeedTableAndId) {
  const InitializerConfig config = normal(0, 1);
  const std::vector<float> row = row_of(config, 1, "a", 5, 4);
  EXPECT_EQ(row, row_of(config, 1, "a", 5, 4));
  EXPECT_NE(row, row_of(config, 2, "a", 5, 4));
  EXPECT_NE(row, row_of(config, 1, "b", 5, 4));
  EXPECT_NE(row, row_of(config, 1, "a", 6, 4));
}

TEST(InitializerTest, AColumnDoesNotDependOnTheWidth) {
  const std::vector<float> wide = row_of(normal(0, 1), 1, "a", 5, 11);
  for (int64_t dim = 1; dim < 11; ++dim) {
    EXPECT_EQ(row_of(normal(0, 1), 1, "a", 5, dim),
              std::vector<float>(wide.begin(), wide.begin() + dim));
  }
}

TEST(InitializerTest, EqualToTheLastBitOnEveryInstructionSet) {
  for (const char* text :
       {"uniform {}", "normal { mean: 0.1 stddev: 3 }", "truncated_normal {}",
        "truncated_normal { low: 1 high: 4 }", "xavier {}", "kaiming { distribution: NORMAL }"}) {
    for (int64_t dim = 1; dim <= 200; ++dim) {
      std::vector<float> first;
      for (const InstructionSet set : kInstructionSets) {
        if (!has_instruction_set(set)) continue;
        const Initializer initializer = *Initializer::create({parse(text), 5, "t", dim, set});
        std::vector<float> rows;
        for (const int64_t id : {int64_t{0}, int64_t{-1}, int64_t{1} << 40, kLowest}) {
          rows.resize(rows.size() + dim);
          initializer.fill(id, absl::MakeSpan(rows).last(dim));
        }
        if (first.empty()) first = rows;
        ASSERT_EQ(std::memcmp(rows.data(), first.data(), rows.size() * sizeof(float)), 0)
            << text << ", dim " << dim << ", " << name_of(set);
      }
    }
  }
}

TEST(InitializerTest, IsTheDocumentedFormula) {
  const uint64_t key = xxh3("t", 3);
  for (const int64_t id : {int64_t{7}, int64_t{-7}}) {
    const std::vector<float> uniform =
        row_of(parse("uniform { low: -1 high: 3 }"), 3, "t", id, 130);
    const std::vector<float> gaussian = row_of(normal(1, 2), 3, "t", id, 130);
    for (int64_t c = 0; c < 130; ++c) {
      const uint32_t bits = philox(key, static_cast<uint64_t>(id), c / 4)[c % 4];
      EXPECT_EQ(uniform[c], static_cast<float>(-1 + 4.0 * uniform24(bits)));
      EXPECT_EQ(gaussian[c], static_cast<float>(1 + 2 * normal_quantile(bits)));
    }
  }
}

TEST(InitializerTest, XavierAndKaimingAreScaledByTheWidth) {
  const auto bound = [](double limit) {
    return parse(absl::StrCat("uniform { low: ", -limit, " high: ", limit, " }"));
  };
  // dim 12: √(3 / 12) = 0.5; dim 16: 1 / √16 = 0.25. The gain of Kaiming is 1 with slope 1, else
  // √2.
  EXPECT_EQ(row_of(parse("xavier {}"), 1, "t", 5, 12), row_of(bound(0.5), 1, "t", 5, 12));
  EXPECT_EQ(row_of(parse("xavier { gain: 3 }"), 1, "t", 5, 12), row_of(bound(1.5), 1, "t", 5, 12));
  EXPECT_EQ(row_of(parse("xavier { distribution: NORMAL gain: 2 }"), 1, "t", 5, 16),
            row_of(normal(0, 0.5), 1, "t", 5, 16));
  EXPECT_EQ(row_of(parse("kaiming { negative_slope: 1 }"), 1, "t", 5, 12),
            row_of(bound(0.5), 1, "t", 5, 12));
  EXPECT_EQ(row_of(parse("kaiming { distribution: NORMAL }"), 1, "t", 5, 16),
            row_of(normal(0, std::sqrt(2.0) / 4), 1, "t", 5, 16));
}

// Returns 100,000 values in ascending order.
std::vector<double> sample(const InitializerConfig& config, int64_t dim = 100) {
  std::vector<double> values;
  for (int64_t id = 0; values.size() < 100000; ++id) {
    for (const float value : row_of(config, 3, "t", id, dim)) values.push_back(value);
  }
  std::sort(values.begin(), values.end());
  return values;
}

double probability_below(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

// Returns the Kolmogorov-Smirnov statistic: the largest distance to the distribution function.
template <typename Distribution>
double distance(const std::vector<double>& values, const Distribution& below) {
  double largest = 0;
  const auto count = static_cast<double>(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const double p = below(values[i]);
    largest = std::max({largest, p - i / count, (i + 1) / count - p});
  }
  return largest;
}

// The bound that one seed in a thousand exceeds: 1.95 / √n.
const double kDistance = 1.95 / std::sqrt(100000.0);

void expect_moments(const std::vector<double>& values, double mean, double stddev) {
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, mean, 4 * stddev / std::sqrt(count));
  EXPECT_NEAR(std::sqrt(squares / count), stddev, 4 * stddev / std::sqrt(count));
}

TEST(InitializerTest, UniformIsUniform) {
  const std::vector<double> values = sample(parse("uniform { low: -3 high: 1 }"));
  EXPECT_GE(values.front(), -3);
  EXPECT_LT(values.front(), -2.999);
  EXPECT_LT(values.back(), 1);
  EXPECT_GT(values.back(), 0.999);
  EXPECT_LT(distance(values, [](double x) { return (x + 3) / 4; }), kDistance);
  expect_moments(values, -1, 4 / std::sqrt(12.0));
}

TEST(InitializerTest, NormalIsNormalWithItsTails) {
  const std::vector<double> values = sample(normal(2, 0.5));
  EXPECT_LT(distance(values, [](double x) { return probability_below((x - 2) / 0.5); }), kDistance);
  expect_moments(values, 2, 0.5);
  // 270 of 100,000 values are expected beyond three deviations, with a largest near 4.4.
  const auto beyond =
      std::count_if(values.begin(), values.end(), [](double x) { return std::fabs(x - 2) > 1.5; });
  EXPECT_NEAR(static_cast<double>(beyond), 270, 4 * std::sqrt(270.0));
  EXPECT_GT(values.back(), 2 + 0.5 * 3.7);
  EXPECT_LT(values.front(), 2 - 0.5 * 3.7);
}

TEST(InitializerTest, TruncatedNormalIsWhatRemains) {
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{
           {-2, 2}, {-1, 3}, {0, 1}, {-9, 9}, {1.5, 6}, {-6, -1.5}, {5, 7}, {-0.001, 0.001}}) {
    SCOPED_TRACE(absl::StrCat(low, " to ", high));
    const std::vector<double> values = sample(parse(
        absl::StrCat("truncated_normal { mean: 0 stddev: 2 low: ", low, " high: ", high, "}")));
    EXPECT_GE(values.front(), static_cast<float>(2 * low));
    EXPECT_LE(values.back(), static_cast<float>(2 * high));
    // Compares in the lower tail, which is more precise.
    const double sign = low > 0 ? -1 : 1;
    const double from = probability_below(sign * low),
                 width = probability_below(sign * high) - from;
    EXPECT_LT(distance(values,
                       [&](double x) { return (probability_below(sign * x / 2) - from) / width; }),
              kDistance);
  }
  const std::vector<double> values = sample(parse("truncated_normal { mean: 1 stddev: 1 }"));
  expect_moments(values, 1, 0.8796256610342398);  // √(1 − 4 φ(2) / (Φ(2) − Φ(−2)))
}

TEST(InitializerTest, XavierAndKaimingHaveTheirVariance) {
  // Gain² / dim for either distribution.
  expect_moments(sample(parse("xavier {}"), 64), 0, 1 / 8.0);
  expect_moments(sample(parse("xavier { distribution: NORMAL }"), 64), 0, 1 / 8.0);
  expect_moments(sample(parse("kaiming {}"), 50), 0, 0.2);
  expect_moments(sample(parse("kaiming { distribution: NORMAL negative_slope: 2 }"), 10), 0, 0.2);
}

TEST(InitializerTest, RefusesBadNumbers) {
  for (const char* text :
       {"uniform { low: 1 high: 0 }", "constant { value: nan }", "normal { stddev: -1 }",
        "normal { mean: inf }", "truncated_normal { low: 1 high: 1 }", "xavier { gain: -1 }",
        "kaiming { negative_slope: nan }", "normal { stddev: 1e38 }",
        "normal { mean: -3.4e38 stddev: 1e36 }"}) {
    EXPECT_THAT(Initializer::create({parse(text), 1, "users", 4}),
                StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("table users")))
        << text;
  }
  EXPECT_OK(Initializer::create({parse("uniform { low: -3.4e38 high: 3.4e38 }"), 1, "users", 4}));
  EXPECT_OK(Initializer::create({parse("truncated_normal { stddev: 1e38 }"), 1, "users", 4}));
}

// Sets all columns to the id.
class IdInitializer : public RowInitializer {
 public:
  void fill(int64_t id, absl::Span<float> row) const override {
    std::fill(row.begin(), row.end(), static_cast<float>(id));
  }
};
MILLRACE_REGISTER_INITIALIZER(id, "the id itself",
                              [](const CustomConfig&, const RowInitializerInput& input)
                                  -> absl::StatusOr<std::unique_ptr<RowInitializer>> {
                                if (input.table != "users")
                                  return absl::InvalidArgumentError("is for users");
                                EXPECT_EQ(input.seed, 7);
                                EXPECT_EQ(input.dim, 4);
                                return std::make_unique<IdInitializer>();
                              });

TEST(InitializerTest, ARegisteredInitializerIsMadeByName) {
  ASSERT_OK_AND_ASSIGN(const Initializer initializer,
                       Initializer::create({parse("custom { name: 'id' }"), 7, "users", 4}));
  std::vector<float> row(3);
  const Initializer copy = initializer;
  copy.fill(5, absl::MakeSpan(row));
  EXPECT_THAT(row, testing::ElementsAre(5, 5, 5));
  EXPECT_THAT(Initializer::create({parse("custom { name: 'id' }"), 7, "items", 4}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       HasSubstr("table items: initializer \"id\": is for users")));
  EXPECT_THAT(Initializer::create({parse("custom { name: 'it' }"), 7, "users", 4}),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("no initializer \"it\"")));
}

// Checks an initializer. `text` is part of a TableConfig.
absl::Status check(const std::string& text) {
  TableConfig config;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &config)) << text;
  return check_initializer("t.initializer", config.initializer());
}

TEST(InitializerCheckTest, AcceptsTheEndsOfBounds) {
  for (const char* text : {
           "",
           "initializer {}",
           "initializer { uniform { low: 1 high: 1 } }",
           "initializer { truncated_normal { low: 7.9 high: 100 } }",
           "initializer { truncated_normal { low: -9 high: -7.9 stddev: 0 } }",
       }) {
    EXPECT_OK(check(text)) << text;
  }
}

using Case = std::tuple<const char*, const char*>;
class InitializerCheckRefusedTest : public testing::TestWithParam<Case> {};

TEST_P(InitializerCheckRefusedTest, NamesPlaceAndField) {
  const auto [text, error] = GetParam();
  EXPECT_THAT(check(text), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(error)));
}

INSTANTIATE_TEST_SUITE_P(
    All, InitializerCheckRefusedTest,
    testing::Values(
        Case{"initializer { constant { value: 1e39 } }",
             "t.initializer.constant: value is 1e+39; must be finite"},
        Case{"initializer { uniform { low: 1 high: 0 } }",
             "t.initializer.uniform: low 1 is above high 0"},
        Case{"initializer { normal { mean: inf } }", "t.initializer.normal: mean is inf"},
        Case{"initializer { truncated_normal { mean: inf } }",
             "t.initializer.truncated_normal: mean is inf"},
        Case{"initializer { truncated_normal { low: 2 high: 2 } }",
             "t.initializer.truncated_normal: low 2 is not below high 2"},
        Case{"initializer { truncated_normal { high: inf } }", "high is inf; must be finite"},
        Case{"initializer { truncated_normal { low: 8 high: 9 } }", "low is 8; must be below 8"},
        Case{"initializer { truncated_normal { low: -9 high: -8 } }",
             "high is -8; must be above -8"},
        Case{"initializer { xavier { gain: -1 } }", "t.initializer.xavier: gain is -1"},
        Case{"initializer { kaiming { negative_slope: inf } }",
             "t.initializer.kaiming: negative_slope is inf"}));

}  // namespace
}  // namespace millrace
