#include "embedding/output_buffers.h"

#include <utility>
#include <vector>

#include "base/status_matchers.h"

namespace millrace {
namespace {

TEST(OutputBuffersTest, LargeTensorsUseTheSameMemoryAgain) {
  const std::shared_ptr<OutputBuffers> buffers = OutputBuffers::create();
  at::Tensor first = buffers->take(1000, 1600);
  EXPECT_EQ(first.sizes(), at::IntArrayRef({1000, 1600}));
  EXPECT_TRUE(first.is_contiguous());
  first.fill_(3);
  const void* memory = first.const_data_ptr();
  // A view keeps the memory in use.
  at::Tensor part = first.narrow(0, 1, 2);
  first.reset();
  at::Tensor second = buffers->take(1000, 1600);
  EXPECT_NE(second.const_data_ptr(), memory);
  second.fill_(4);
  EXPECT_EQ(part.sum().item<float>(), 3 * 3200);
  part.reset();
  EXPECT_EQ(buffers->take(900, 1600).const_data_ptr(), memory);
  // A much smaller tensor does not use the spare memory.
  EXPECT_NE(buffers->take(200, 1600).const_data_ptr(), memory);
}

TEST(OutputBuffersTest, SmallAndEmptyTensorsAreOrdinary) {
  const std::shared_ptr<OutputBuffers> buffers = OutputBuffers::create();
  EXPECT_EQ(buffers->take(0, 600).numel(), 0);
  EXPECT_EQ(buffers->take(3, 2).fill_(1).sum().item<float>(), 6);
}

TEST(OutputBuffersTest, TensorsOutliveTheBuffersAndMemoryIsBounded) {
  std::vector<at::Tensor> tensors;
  {
    const std::shared_ptr<OutputBuffers> buffers = OutputBuffers::create();
    for (int i = 0; i < 6; ++i) tensors.push_back(buffers->take(512, 1024).fill_(i));
    tensors.resize(1);
  }
  EXPECT_EQ(tensors[0].sum().item<float>(), 0);
  tensors.clear();
}

}  // namespace
}  // namespace millrace
