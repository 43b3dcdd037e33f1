// Files of tensors in the safetensors format.
//
//   u64 N, little endian | N bytes of JSON, padded with spaces | the elements of all tensors
//
// The JSON gives each tensor's "dtype", "shape" and "data_offsets" (begin and end in what follows
// it), and "__metadata__", a map of strings. Tensors cover the rest of the file without holes or
// overlap, elements are packed, row-major and little endian.
// Source: https://github.com/huggingface/safetensors, README.md and safetensors/src/tensor.rs.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/data_type.h"

namespace collbench {

struct StoredTensor {
  std::string name;
  DataType type = DataType::f32;
  std::vector<std::int64_t> shape;
  std::string_view bytes;  // not owned
};

struct SafeTensors {
  std::map<std::string, std::string> metadata;
  std::vector<StoredTensor> tensors;  // in the order of the file

  /// The tensor of that name, or null.
  const StoredTensor* find(const std::string& name) const;
};

/// The content of a file; larger elements come first, then names decide. Requires bytes that fit
/// the shapes, and distinct names.
std::string encode_safetensors(const SafeTensors& content);

/// Reads the content of a file; the result points into `file`. Throws InvalidArgument, led by
/// `name`, for anything that is not such a file, and for element types that core/data_type.h lacks.
SafeTensors parse_safetensors(std::string_view file, const std::string& name);

}  // namespace collbench
