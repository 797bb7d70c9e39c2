// As cublas_v2.h, for cuBLASLt.
#ifndef MILLRACE_THIRD_PARTY_CUDA_HANDLES_CUBLASLT_H_
#define MILLRACE_THIRD_PARTY_CUDA_HANDLES_CUBLASLT_H_

typedef struct cublasLtContext* cublasLtHandle_t;

#endif  // MILLRACE_THIRD_PARTY_CUDA_HANDLES_CUBLASLT_H_
