// As cublas_v2.h, for the dense part of cuSOLVER.
#ifndef MILLRACE_THIRD_PARTY_CUDA_HANDLES_CUSOLVERDN_H_
#define MILLRACE_THIRD_PARTY_CUDA_HANDLES_CUSOLVERDN_H_

#include "cusolver_common.h"

typedef struct cusolverDnContext* cusolverDnHandle_t;

#endif  // MILLRACE_THIRD_PARTY_CUDA_HANDLES_CUSOLVERDN_H_
