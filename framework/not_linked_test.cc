#include "framework/not_linked.h"

#include "absl/strings/str_cat.h"
#include "base/status_matchers.h"

namespace millrace {
namespace {

constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;
constexpr char kRemedy[] =
    " To add one, put the cc_library that registers it, with alwayslink = True, into the deps of "
    "the program's BUILD rule";

TEST(NotLinkedTest, ListsTheNamesOnceAndNamesNoTargetThatMayNotExist) {
  EXPECT_THAT(
      not_linked("model", "deepfn", {"deepfm", "mlp"}),
      StatusIs(kInvalid, absl::StrCat("no model \"deepfn\" is linked into this program; did "
                                      "you mean \"deepfm\"? Linked in: deepfm, mlp.",
                                      kRemedy)));
  EXPECT_THAT(not_linked("hook", "wholly_other", {"a", "b"}),
              StatusIs(kInvalid, absl::StrCat("no hook \"wholly_other\" is linked into this "
                                              "program. Linked in: a, b.",
                                              kRemedy)));
  EXPECT_THAT(not_linked("hook", "x", {}),
              StatusIs(kInvalid, absl::StrCat("no hook \"x\" is linked into this program. Linked "
                                              "in: none.",
                                              kRemedy)));
}

}  // namespace
}  // namespace millrace
