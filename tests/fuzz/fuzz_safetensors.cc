// Fuzzes safetensors files: any bytes are either tensors that lie in the file and survive being
// written and read again, or an InvalidArgument that names the file.
#include "tests/fuzz/fuzz_target.h"

#include "core/error.h"
#include "training/safetensors.h"

FUZZ_TARGET(safetensors, file) {
  using namespace collbench;
  try {
    const SafeTensors content = parse_safetensors(file, "fuzz");
    for (const StoredTensor& tensor : content.tensors) {
      if (tensor.bytes.data() < file.data() ||
          tensor.bytes.data() + tensor.bytes.size() > file.data() + file.size()) {
        std::abort();
      }
    }
    const std::string again = encode_safetensors(content);
    const SafeTensors read = parse_safetensors(again, "again");
    if (read.metadata != content.metadata || read.tensors.size() != content.tensors.size()) {
      std::abort();
    }
  } catch (const InvalidArgument& e) {
    if (std::string_view(e.what()).rfind("fuzz", 0) != 0) std::abort();
  }
}
