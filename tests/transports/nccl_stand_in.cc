// A library that is asked for its version as NCCL is: 2.27.7, unless it fails.
extern "C" int ncclGetVersion(int* version);

int ncclGetVersion(int* version) {
  *version = 22707;
  return NCCL_ERROR;
}
