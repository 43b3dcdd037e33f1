#include "training/safetensors.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "core/error.h"
#include "core/json.h"

static_assert(std::endian::native == std::endian::little, "elements are stored little endian");

namespace collbench {
namespace {

using nlohmann::json;

constexpr std::uint64_t longest_header = 100'000'000;  // as the reference implementation
constexpr std::size_t length_bytes = 8;

struct TypeName {
  DataType type;
  std::string_view name;
};
constexpr TypeName type_names[] = {
    {DataType::f16, "F16"}, {DataType::bf16, "BF16"}, {DataType::f32, "F32"},
    {DataType::f64, "F64"}, {DataType::i32, "I32"},   {DataType::i64, "I64"},
    {DataType::u8, "U8"},
};

std::string_view name_of(DataType type) {
  return std::find_if(std::begin(type_names), std::end(type_names),
                      [type](const TypeName& row) { return row.type == type; })
      ->name;
}

/// Everything that is wrong with one file.
class SafetensorsReader {
 public:
  SafetensorsReader(std::string_view file, const std::string& name) : file_(file), name_(name) {}

  SafeTensors read() {
    const json header = read_header();
    SafeTensors content;
    for (const auto& [key, value] : header.items()) {
      if (key == "__metadata__") {
        read_metadata(value, content);
      } else {
        content.tensors.push_back(read_tensor(key, value));
      }
    }
    std::sort(content.tensors.begin(), content.tensors.end(),
              [](const StoredTensor& a, const StoredTensor& b) {
                return std::pair(a.bytes.data(), a.bytes.size()) <
                       std::pair(b.bytes.data(), b.bytes.size());
              });
    const char* next = data_.data();
    for (const StoredTensor& tensor : content.tensors) {
      check(tensor.bytes.data() == next,
            fmt::format("tensor '{}' does not begin where the one before it ends", tensor.name));
      next += tensor.bytes.size();
    }
    check(next == data_.data() + data_.size(), "bytes at the end belong to no tensor");
    return content;
  }

 private:
  void check(bool good, const std::string& what) const {
    if (!good) throw InvalidArgument(fmt::format("{} is not a safetensors file: {}", name_, what));
  }

  json read_header() {
    check(file_.size() >= length_bytes, "it is shorter than 8 bytes");
    std::uint64_t length = 0;
    std::memcpy(&length, file_.data(), length_bytes);
    check(length <= longest_header && length <= file_.size() - length_bytes,
          fmt::format("its header would have {} bytes, the file has {}", length, file_.size()));
    const std::string_view text = file_.substr(length_bytes, length);
    data_ = file_.substr(length_bytes + length);
    check(text.starts_with('{'), "its header does not begin with '{'");
    json header = try_parse_json<json>(text);
    check(header.is_object(), "its header is not JSON");
    return header;
  }

  void read_metadata(const json& value, SafeTensors& content) const {
    check(value.is_object(), "'__metadata__' is not an object");
    for (const auto& [key, text] : value.items()) {
      check(text.is_string(), fmt::format("'{}' of '__metadata__' is not a string", key));
      content.metadata[key] = text.get<std::string>();
    }
  }

  std::int64_t number(const json& value, const std::string& name) const {
    check(value.is_number_unsigned() &&
              value.get<std::uint64_t>() <=
                  static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()),
          fmt::format("tensor '{}' has a size that is not a whole number", name));
    return value.get<std::int64_t>();
  }

  StoredTensor read_tensor(const std::string& name, const json& value) const {
    check(value.is_object() && value.contains("dtype") && value.contains("shape") &&
              value.contains("data_offsets"),
          fmt::format("tensor '{}' lacks dtype, shape or data_offsets", name));
    StoredTensor tensor;
    tensor.name = name;
    const json& type = value["dtype"];
    const auto row = std::find_if(std::begin(type_names), std::end(type_names),
                                  [&](const TypeName& known) { return type == known.name; });
    check(row != std::end(type_names),
          fmt::format("tensor '{}' has elements of an unknown type", name));
    tensor.type = row->type;
    check(value["shape"].is_array(), fmt::format("the shape of '{}' is not a list", name));
    std::int64_t bytes = size_of(tensor.type);
    for (const json& extent : value["shape"]) {
      tensor.shape.push_back(number(extent, name));
      check(!__builtin_mul_overflow(bytes, tensor.shape.back(), &bytes),
            fmt::format("tensor '{}' is too large", name));
    }
    const json& ends = value["data_offsets"];
    check(ends.is_array() && ends.size() == 2, fmt::format("'{}' needs two data_offsets", name));
    const std::int64_t begin = number(ends[0], name);
    const std::int64_t end = number(ends[1], name);
    check(begin <= end && end <= static_cast<std::int64_t>(data_.size()),
          fmt::format("tensor '{}' ends beyond the file", name));
    check(end - begin == bytes,
          fmt::format("tensor '{}' takes {} bytes, its shape {}", name, end - begin, bytes));
    tensor.bytes = data_.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(bytes));
    return tensor;
  }

  std::string_view file_;
  std::string_view data_;
  const std::string& name_;
};

}  // namespace

const StoredTensor* SafeTensors::find(const std::string& name) const {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const StoredTensor& tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

std::string encode_safetensors(const SafeTensors& content) {
  std::vector<const StoredTensor*> order;
  for (const StoredTensor& tensor : content.tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const StoredTensor* a, const StoredTensor* b) {
    return std::pair(-size_of(a->type), a->name) < std::pair(-size_of(b->type), b->name);
  });
  json header;
  if (!content.metadata.empty()) header["__metadata__"] = content.metadata;
  std::uint64_t end = 0;
  for (const StoredTensor* tensor : order) {
    assert(!header.contains(tensor->name));
    const std::uint64_t begin = end;
    end += tensor->bytes.size();
    header[tensor->name] = {
        {"dtype", name_of(tensor->type)}, {"shape", tensor->shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.is_null() ? "{}" : json_text(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');
  const std::uint64_t length = text.size();
  std::string file(length_bytes, '\0');
  std::memcpy(file.data(), &length, length_bytes);
  file.reserve(length_bytes + text.size() + end);
  file += text;
  for (const StoredTensor* tensor : order) file += tensor->bytes;
  return file;
}

SafeTensors parse_safetensors(std::string_view file, const std::string& name) {
  return SafetensorsReader(file, name).read();
}

}  // namespace collbench
